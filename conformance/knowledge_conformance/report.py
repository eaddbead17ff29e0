"""The report: a run as data that is the same for the same provider, without times or paths. Knows its JSON shape."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, ClassVar, Final

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from knowledge_conformance.catalogue import BY_ID
from knowledge_conformance.check import REQUIREMENTS, Facet, Level
from knowledge_conformance.kinds import KINDS, PROVIDER, Kind, KindName
from knowledge_conformance.manner import Manner
from knowledge_conformance.profiles import fast_checks, left_out_lines
from knowledge_conformance.proof import Proof
from knowledge_conformance.results import CheckOutcome, CheckResult
from knowledge_conformance.settings import Profile, Settings
from knowledge_conformance.verdict import FacetState, Verdict, facet_states, not_established, sentence, verdict
from knowledge_provider import PROTOCOL_VERSION

RECORDED: Final = "network recording: "
"""How the line begins that says what a run without a network cannot see."""


class CheckReport(BaseModel):
    """One check with its outcome and evidence; texts are one line, or null."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True)

    id: str
    level: Level
    clause: str
    facet: Facet
    title: str
    outcome: CheckOutcome
    observations: int
    calls: int
    wanted: str | None
    saw: str | None
    hint: str | None
    where: str | None
    input: dict[str, JsonValue] | None
    transcript: tuple[str, ...]
    # For the tests that are written beside a report; of no use to who reads one, so it is not in its JSON.
    manner: Manner | None = Field(default=None, exclude=True)
    fingerprint: str | None
    replay: str | None
    known: str | None


class Report(BaseModel):
    """A run on one target. The same provider gives the same bytes. ``proof`` is what ``--prove`` found, or null."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, json_schema_serialization_defaults_required=True)

    kit: str
    protocol: int
    requirements: str
    kind: KindName
    target: str
    # A report that was written before there were profiles says none, and all of its checks were run.
    profile: Profile = Profile.DEFAULT
    verdict: Verdict
    facets: dict[Facet, FacetState]
    counts: dict[CheckOutcome, int]
    checks: tuple[CheckReport, ...]
    not_established: tuple[str, ...]
    proof: Proof | None

    @property
    def conformant(self) -> bool:
        """Whether the verdict is ``conformant``; nothing else is."""
        return self.verdict is Verdict.CONFORMANT

    @property
    def noun(self) -> str:
        """What people call such a target."""
        return KINDS[self.kind].words

    @property
    def exit_code(self) -> int:
        """0 when conformant, or when every failure is one that the settings accept; 1 otherwise."""
        return 0 if self.accepted else 1

    @property
    def accepted(self) -> bool:
        """Whether the run succeeds: conformant, or not so only by known failures."""
        return self.verdict in (Verdict.CONFORMANT, Verdict.KNOWN_FAILURES)

    @property
    def good(self) -> bool:
        """Whether what was run is as it should be: accepted, or a part of the checks of which none is open or failed.

        The whole fast profile is as it should be where the same outcomes of a whole run would be accepted.
        Of a part: one that is blocked did not pass, although the check that it needs may not have been selected.
        """
        if self.verdict is not Verdict.PARTIAL:
            return self.accepted
        if self.profile is Profile.FAST and fast_checks(KINDS[self.kind]) <= {check.id for check in self.checks}:
            # Then the verdict is partial only where nothing failed and each required facet was covered.
            return True
        open_ones = self.counts[CheckOutcome.INCONCLUSIVE] + self.counts[CheckOutcome.BLOCKED]
        return bool(self.counts[CheckOutcome.PASSED] + self.counts[CheckOutcome.KNOWN]) and not open_ones

    @property
    def sentence(self) -> str:
        """The verdict with the facets that it is about, on one line."""
        return sentence(self.verdict, self.facets, len(self.checks), KINDS[self.kind], self._but(), self.profile)

    def _but(self) -> list[str]:
        stale = self.verdict is Verdict.OUT_OF_DATE
        wanted = CheckOutcome.STALE if stale else CheckOutcome.KNOWN
        named = ", ".join(check.id for check in self.checks if check.outcome is wanted)
        blocked = self.counts[CheckOutcome.BLOCKED]
        behind = f"{blocked} blocked by {'them' if ',' in named else 'it'}"
        return [named, behind] if blocked and not stale else [named]

    def to_json(self) -> str:
        """The report as JSON text."""
        return json.dumps(self.model_dump(mode="json"), ensure_ascii=False, indent=1) + "\n"


def make_report(
    target: str,
    results: Iterable[CheckResult],
    settings: Settings,
    kind: Kind = PROVIDER,
    proof: Proof | None = None,
) -> Report:
    """The report of the results of one target, in the catalogue's order."""
    by_id = {result.id: result for result in results}
    ordered = [by_id[check.id] for check in kind.checks if check.id in by_id]
    states = facet_states(ordered, settings, kind)
    return Report(
        kit=kit_version(),
        protocol=PROTOCOL_VERSION,
        requirements=REQUIREMENTS,
        kind=kind.name,
        target=target,
        profile=settings.profile,
        verdict=verdict(ordered, settings, kind),
        facets=states,
        counts=_counts(ordered),
        checks=tuple(_check_report(result) for result in ordered),
        not_established=(
            *not_established(states, settings.required, kind),
            *left_out_lines(kind, settings),
            *_recorded(kind, settings),
            *_accepted(ordered),
        ),
        proof=proof,
    )


def write_reports(path: Path, reports: Sequence[Report]) -> None:
    """Write a report to ``path``, or several beside it with their targets in the names; raises ``OSError``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    for report in reports:
        slug = re.sub(r"[^A-Za-z0-9.]+", "-", report.target)
        place = path if len(reports) == 1 else path.with_stem(f"{path.stem}-{slug}")
        place.write_text(report.to_json(), encoding="utf-8")


def _recorded(kind: Kind, settings: Settings) -> list[str]:
    if kind is not PROVIDER or settings.played is None:
        return []
    return [f"{RECORDED}nothing is said of connections (clauses 1.8, 2.3, 2.4), nor of how long a back end takes"]


def _accepted(results: Iterable[CheckResult]) -> list[str]:
    return [
        f"{result.id} (clause {BY_ID[result.id].clause}): a known failure: {result.known}"
        for result in results
        if result.outcome is CheckOutcome.KNOWN
    ]


def _counts(results: Iterable[CheckResult]) -> dict[CheckOutcome, int]:
    counted = Counter(result.outcome for result in results)
    return {outcome: counted[outcome] for outcome in CheckOutcome}


def _check_report(result: CheckResult) -> CheckReport:
    check = BY_ID[result.id]
    declared = {"level": check.level, "clause": check.clause, "facet": check.facet, "title": check.title}
    return CheckReport(**declared, **result.model_dump())


def kit_version() -> str:
    """The installed version of the kit, or ``unknown`` where only its files are there."""
    try:
        return version("knowledge-provider-kit")
    except PackageNotFoundError:
        return "unknown"


def report_schema() -> dict[str, Any]:
    """The report's JSON Schema, as the documentation publishes it."""
    return Report.model_json_schema(mode="serialization")
