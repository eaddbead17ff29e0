"""All checks in the order in which they run, and what is not tested, because. Knows nothing of running them."""

from collections.abc import Mapping
from typing import Final

from knowledge_conformance.check import Check, Phase
from knowledge_conformance.checks import (
    access,
    awaits,
    back_end,
    bases,
    claims,
    composite_ending,
    composite_isolation,
    composite_lifecycle,
    composite_merging,
    composite_raising,
    composite_requests,
    composite_secrets,
    composite_timing,
    describing,
    filtering,
    fuzzing,
    holding,
    hosts,
    identity,
    impersonation,
    leaving,
    lifecycle,
    links,
    loops,
    merging_asking,
    merging_calls,
    merging_ending,
    merging_isolation,
    merging_records,
    merging_said,
    owners,
    passages,
    plainness,
    renderers,
    repeating,
    requests,
    secrets,
    shapes,
    source_answers,
    source_asking,
    source_identity,
    source_listing,
    source_logs,
    source_owners,
    source_timing,
    sources,
    survival,
    timing,
    turn_ids,
)

_PHASES: Final = list(Phase)


def _in_phases(*checks: Check) -> tuple[Check, ...]:
    """Phase by phase, and in each as they are given; those that close what is checked last."""
    return tuple(sorted(checks, key=lambda check: (check.closes, _PHASES.index(check.phase))))


CHECKS: Final[tuple[Check, ...]] = _in_phases(
    *identity.CHECKS,
    *describing.CHECKS,
    *lifecycle.CHECKS,
    *requests.CHECKS,
    *shapes.CHECKS,
    *passages.CHECKS,
    *sources.CHECKS,
    *plainness.CHECKS,
    *survival.CHECKS,
    *links.CHECKS,
    *secrets.CHECKS,
    *bases.CHECKS,
    *filtering.CHECKS,
    *claims.CHECKS,
    *repeating.CHECKS,
    *owners.CHECKS,
    *turn_ids.CHECKS,
    *impersonation.CHECKS,
    *fuzzing.CHECKS,
    *timing.CHECKS,
    *holding.CHECKS,
    *awaits.CHECKS,
    *back_end.CHECKS,
    # Last: on a provider that lives for the whole run nothing can be asked after these.
    *secrets.CLOSING_CHECKS,
    *lifecycle.CLOSING_CHECKS,
    *leaving.CLOSING_CHECKS,
    *loops.CLOSING_CHECKS,
)
"""Every check of a provider once, phase by phase, prerequisites first."""

HOST_CHECKS: Final[tuple[Check, ...]] = _in_phases(*hosts.CHECKS)
"""Every check of a host, prerequisites first."""

COMPOSITE_CHECKS: Final[tuple[Check, ...]] = _in_phases(
    *composite_isolation.CHECKS,
    *composite_raising.CHECKS,
    *composite_timing.CHECKS,
    *composite_merging.CHECKS,
    *composite_ending.CHECKS,
    *composite_secrets.CHECKS,
    *composite_requests.CHECKS,
    *composite_lifecycle.CHECKS,
)
"""Every check of what puts several providers behind one."""

SOURCE_CHECKS: Final[tuple[Check, ...]] = _in_phases(
    *source_identity.CHECKS,
    *source_answers.CHECKS,
    *source_asking.CHECKS,
    *source_listing.CHECKS,
    *source_timing.CHECKS,
    *source_logs.CHECKS,
    *source_owners.CHECKS,
)
"""Every check of a retrieval source, prerequisites first."""

MERGING_CHECKS: Final[tuple[Check, ...]] = _in_phases(
    *merging_records.CHECKS,
    *merging_isolation.CHECKS,
    *merging_ending.CHECKS,
    *merging_calls.CHECKS,
    *merging_asking.CHECKS,
    *merging_said.CHECKS,
)
"""Every check of what merges a task's sources with what a host knows itself."""

ACCESS_CHECKS: Final[tuple[Check, ...]] = _in_phases(*access.CHECKS)
"""Every check of an access rule, prerequisites first."""

RENDERER_CHECKS: Final[tuple[Check, ...]] = _in_phases(*renderers.CHECKS)
"""Every check of what puts retrieved text in front of a model, prerequisites first."""

BY_ID: Final[Mapping[str, Check]] = {
    check.id: check
    for checks in (
        CHECKS,
        HOST_CHECKS,
        COMPOSITE_CHECKS,
        SOURCE_CHECKS,
        MERGING_CHECKS,
        ACCESS_CHECKS,
        RENDERER_CHECKS,
    )
    for check in checks
}
"""All checks by their permanent ids."""

NOT_TESTED: Final[Mapping[str, str]] = {
    "3.1": "requests are made by the kit's own model, which keeps it",
    "4.1": "contexts are made by the host",
    "7.1 (synchronous)": "that a thread is told, counted and bounded is the host's part",
}
"""Clauses about providers that no check stands for, with the reason."""

HOST_NOT_TESTED: Final[Mapping[str, str]] = {
    "8.6 (counted)": "how many calls a host has given up is not told by its interface",
    "8.6 (10 s)": "the kit sets a deadline of its own, so it does not see which one holds without",
}
"""Clauses about hosts, or lines of them, that no check stands for, with the reason."""

COMPOSITE_NOT_TESTED: Final[Mapping[str, str]] = {
    "9.2 (process)": "a child that ends or holds the process that it shares with the composite is not tried",
    "9.5 (stable)": "whether ids are the same in another process is not tested yet",
}
"""The same about composites."""

SOURCE_NOT_TESTED: Final[Mapping[str, str]] = {
    "10.2 (sources)": "references are read by the host's own model, before a source sees one",
    "10.3 (sources)": "a source does not know the registry that it stands in",
    "10.4 (sources)": "what is bound to a task is the host's to keep",
    "10.5 (sources)": "a source is merged by the host, and does not see the others",
    "5.10 (sources)": "the kit does not take a source's back end away",
    "7.6 (sources)": "the kit cannot make a source's back end slow",
    "10.7 (bounds)": "a host refuses a limit or an offset out of range itself, and the source is not asked",
}
"""The same about retrieval sources."""

MERGING_NOT_TESTED: Final[Mapping[str, str]] = {
    "10.2 (storing)": "what a task stores is not seen through a call that merges",
    "10.4 (storing)": "adding and removing bindings is another interface than merging",
    "10.6 (openers)": "how a reference is drawn is the client's",
    "10.7 (pages)": "listing is another interface than merging, and optional",
}
"""The same about merging hosts."""

ACCESS_NOT_TESTED: Final[Mapping[str, str]] = {
    "11.1 (every policy)": "the default of the rule that is given is looked at, not that of others beside it",
    "11.5 (tools)": "a tool's arguments go to a host, of which KP-824 says what it makes of them",
}
"""The same about access rules."""

RENDERER_NOT_TESTED: Final[Mapping[str, str]] = {
    "12.1 (the override)": "what a host has asked for in so many words is its own decision",
    "12.1 (at a cut)": "data are given room for all of them, so that both ends of each field are seen",
    "12.1 (other templates)": "models read chat templates in more ways than those of the thirteen that are tried",
}
"""The same about renderers."""
