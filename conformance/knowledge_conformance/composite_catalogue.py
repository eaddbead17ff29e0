"""Every check of composites in the order of a run, and how they see one. Runs nothing."""

from collections.abc import Mapping
from typing import Final

from knowledge_conformance.check import Check, in_phases
from knowledge_conformance.checks import (
    composite_ending,
    composite_isolation,
    composite_lifecycle,
    composite_merging,
    composite_raising,
    composite_requests,
    composite_secrets,
    composite_timing,
)
from knowledge_conformance.composite_subject import CompositeSubject

CHECKS: Final[tuple[Check, ...]] = in_phases(
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

SUBJECT: Final = CompositeSubject
"""What a check looks at."""

NOT_TESTED: Final[Mapping[str, str]] = {
    "9.2 (process)": "a child that ends or holds the process that it shares with the composite is not tried",
    "9.5 (stable)": "whether ids are the same in another process is not tested yet",
}
"""Clauses about composites, or lines of them, that no check stands for, with the reason."""
