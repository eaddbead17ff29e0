"""The verdict: what all results together say, facet by facet. Pure; knows no provider and no way of showing it."""

from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum
from typing import Final

from knowledge_conformance.catalogue import BY_ID
from knowledge_conformance.check import Facet
from knowledge_conformance.kinds import PROVIDER, Kind
from knowledge_conformance.profiles import selected
from knowledge_conformance.results import BROKEN, CheckOutcome, CheckResult
from knowledge_conformance.settings import Profile, Settings


class Verdict(StrEnum):
    """What a whole run says.

    ``partial``: some checks were not selected, or are not in the fast profile, so nothing is said of the provider.
    ``known failures``: conformant but for failures that the settings accept, which is not conformant.
    ``out of date``: nothing else is wrong, but the settings speak of a failure that is not there, or not any more.
    """

    CONFORMANT = "conformant"
    NOT_CONFORMANT = "not conformant"
    INCONCLUSIVE = "inconclusive"
    PARTIAL = "partial"
    KNOWN_FAILURES = "known failures"
    OUT_OF_DATE = "out of date"


class FacetState(StrEnum):
    """What a run saw of a facet."""

    EXERCISED = "exercised"
    ABSENT = "declared absent"
    NOT_EXERCISED = "not exercised"


_SEEN: Final = frozenset(
    {CheckOutcome.PASSED, CheckOutcome.ADVISORY, CheckOutcome.FAILED, CheckOutcome.ERRORED, CheckOutcome.KNOWN}
)


def facet_states(results: Iterable[CheckResult], settings: Settings, kind: Kind = PROVIDER) -> dict[Facet, FacetState]:
    """The state of each facet that a target of this kind has, in the order of ``Facet``."""
    outcomes: dict[Facet, set[CheckOutcome]] = {facet: set() for facet in kind.facets}
    for result in results:
        outcomes.setdefault(BY_ID[result.id].facet, set()).add(result.outcome)
    return {facet: _state(facet, outcomes[facet], settings) for facet in kind.facets}


def _state(facet: Facet, outcomes: set[CheckOutcome], settings: Settings) -> FacetState:
    if facet in settings.absent:
        return FacetState.ABSENT
    # What is known to be broken was seen; otherwise one check that saw too little leaves the facet open. The core's
    # own inconclusive checks are the verdict.
    closed = facet is Facet.CORE or CheckOutcome.INCONCLUSIVE not in outcomes or outcomes & BROKEN
    return FacetState.EXERCISED if outcomes & _SEEN and closed else FacetState.NOT_EXERCISED


def verdict(results: Iterable[CheckResult], settings: Settings, kind: Kind = PROVIDER) -> Verdict:
    """The verdict on everything that was run; nothing run, or nothing observed, is never conformant."""
    by_id = {result.id: result for result in results}
    if any(result.outcome in BROKEN for result in by_id.values()):
        return Verdict.NOT_CONFORMANT
    outcomes = {result.outcome for result in by_id.values()}
    if CheckOutcome.STALE in outcomes:
        return Verdict.OUT_OF_DATE
    # One that was selected beside those of the profile does not make up for one of them that was not.
    if not {check.id for check in selected(kind, settings)} <= by_id.keys():
        return Verdict.PARTIAL
    required = settings.required.intersection(kind.facets)
    if not all(_covered(facet, by_id) for facet in required):
        return Verdict.INCONCLUSIVE
    if settings.profile is Profile.FAST:
        return Verdict.PARTIAL
    return Verdict.KNOWN_FAILURES if CheckOutcome.KNOWN in outcomes else Verdict.CONFORMANT


def _covered(facet: Facet, by_id: Mapping[str, CheckResult]) -> bool:
    outcomes = {result.outcome for check_id, result in by_id.items() if BY_ID[check_id].facet is facet}
    # A known failure was looked at as well as a pass; but of a provider of which nothing at all passes, no run is good.
    enough = {CheckOutcome.PASSED} if facet is Facet.CORE else {CheckOutcome.PASSED, CheckOutcome.KNOWN}
    return bool(outcomes & enough) and CheckOutcome.INCONCLUSIVE not in outcomes


def not_established(
    states: Mapping[Facet, FacetState], required: Collection[Facet], kind: Kind = PROVIDER
) -> list[str]:
    """What a reader must not take from the verdict, one sentence each."""
    facets = [
        f"{facet}: {state}{', though it is required' if facet in required else ''}"
        for facet, state in states.items()
        if state is not FacetState.EXERCISED
    ]
    clauses = [f"clause {clause}: {reason}" for clause, reason in kind.not_tested.items()]
    return facets + clauses


def sentence(
    found: Verdict,
    states: Mapping[Facet, FacetState],
    run: int,
    kind: Kind = PROVIDER,
    but: Iterable[str] = (),
    profile: Profile = Profile.DEFAULT,
) -> str:
    """The verdict with the facets that it is about, on one line; ``run`` is how many checks were run.

    ``but`` says which checks a verdict of known failures, or of ones that are out of date, is about.
    """
    if found is Verdict.PARTIAL:
        which = " in the fast profile" if profile is Profile.FAST else ""
        ran = f"{run} of {len(kind.checks)} checks were run{which}"
        return f"{found}: {ran}, which says nothing about the whole {kind.words}"
    covered = [facet for facet, state in states.items() if state is FacetState.EXERCISED]
    unseen = [facet for facet, state in states.items() if state is FacetState.NOT_EXERCISED]
    absent = [facet for facet, state in states.items() if state is FacetState.ABSENT]
    notes = [
        f"{label}: {', '.join(facets)}" for label, facets in (("not exercised", unseen), ("absent", absent)) if facets
    ]
    about = ", ".join(covered) or "nothing"
    if found in (Verdict.KNOWN_FAILURES, Verdict.OUT_OF_DATE):
        about += f", but for {' and '.join(but)}"
    return f"{found}: {about}" + (f" ({'; '.join(notes)})" if notes else "")
