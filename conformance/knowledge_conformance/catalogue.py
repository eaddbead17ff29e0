"""All checks in the order in which they run, and what is not tested, because. Knows nothing of running them."""

from collections.abc import Mapping
from typing import Final

from knowledge_conformance.check import Check
from knowledge_conformance.checks import (
    composite_ending,
    composite_isolation,
    composite_lifecycle,
    composite_merging,
    composite_raising,
    composite_requests,
    composite_timing,
    describing,
    fuzzing,
    hosts,
    identity,
    lifecycle,
    links,
    passages,
    plainness,
    requests,
    shapes,
    sources,
    survival,
    timing,
)

CHECKS: Final[tuple[Check, ...]] = (
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
    *fuzzing.CHECKS,
    *timing.CHECKS,
    # Last: on a provider that lives for the whole run nothing can be asked after these.
    *lifecycle.CLOSING_CHECKS,
)
"""Every check of a provider once, prerequisites first."""

HOST_CHECKS: Final[tuple[Check, ...]] = hosts.CHECKS
"""Every check of a host, prerequisites first."""

COMPOSITE_CHECKS: Final[tuple[Check, ...]] = (
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
    "1.9": "whether capabilities are claimed truly is not compared with behaviour yet, but for scores and citations",
    "2.3": "what is left after close() is not looked for yet",
    "2.4": "a second event loop is not tried on one provider yet",
    "3.1": "requests are made by the kit's own model, which keeps it",
    "3.4": "whether knowledge_base_ids restrict an answer is not tested yet",
    "3.5": "whether filters hold is not tested yet",
    "3.6": "whether an answer is the same in another process is not tested yet",
    "4.1": "contexts are made by the host",
    "4.2": "whether a request can reach another owner's content is not tested yet",
    "4.3": "whether content crosses between owners is not tested yet",
    "4.4": "whether a blank owner is refused is not tested yet; the contract's context refuses it",
    "4.5": "whether session, turn and trace ids come back is not tested yet",
    "5.10": "failures of the back end are not provoked yet",
    "6.4": "secrets given to the provider are not searched for yet",
    "7.1 (synchronous)": "that a thread is told, counted and bounded is the host's part",
    "7.2": "cancellation at each await is not tried yet",
    "7.6": "a time-out inside the provider is not provoked yet",
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
