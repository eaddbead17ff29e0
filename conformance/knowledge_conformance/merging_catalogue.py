"""Every check of merging hosts in the order of a run, and how they see one. Runs nothing."""

from collections.abc import Mapping
from typing import Final

from knowledge_conformance.check import Check, in_phases
from knowledge_conformance.checks import (
    merging_again,
    merging_asking,
    merging_calls,
    merging_ending,
    merging_isolation,
    merging_order,
    merging_reading,
    merging_records,
    merging_said,
    merging_standing,
)
from knowledge_conformance.merging_subject import MergingSubject

CHECKS: Final[tuple[Check, ...]] = in_phases(
    *merging_order.CHECKS,
    *merging_records.CHECKS,
    *merging_reading.CHECKS,
    *merging_isolation.CHECKS,
    *merging_ending.CHECKS,
    *merging_again.CHECKS,
    *merging_calls.CHECKS,
    *merging_asking.CHECKS,
    *merging_standing.CHECKS,
    *merging_said.CHECKS,
)
"""Every check of what merges a task's sources with what a host knows itself."""

SUBJECT: Final = MergingSubject
"""What a check looks at."""

NOT_TESTED: Final[Mapping[str, str]] = {
    "7.1 (threads)": "how many sources that hang a merging host leaves behind, before it asks no more, is not counted",
    "10.2 (storing)": "what a task stores is not seen through a call that merges",
    "10.4 (storing)": "adding and removing bindings is another interface than merging",
    "10.6 (openers)": "how a reference is drawn is the client's",
    "10.7 (pages)": "listing is another interface than merging, and optional",
}
"""Clauses about merging hosts, or lines of them, that no check stands for, with the reason."""
