"""All checks in the order in which they run, and what is not tested, because. Knows nothing of running them."""

from collections.abc import Mapping
from typing import Final

from knowledge_conformance.check import Check, Phase
from knowledge_conformance.checks import (
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
    owners,
    passages,
    plainness,
    repeating,
    requests,
    secrets,
    shapes,
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
    *composite_requests.CHECKS,
    *composite_lifecycle.CHECKS,
)
"""Every check of what puts several providers behind one."""

BY_ID: Final[Mapping[str, Check]] = {check.id: check for check in (*CHECKS, *HOST_CHECKS, *COMPOSITE_CHECKS)}
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
