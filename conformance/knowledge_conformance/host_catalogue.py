"""Every check of hosts in the order of a run, and how they see one. Runs nothing."""

from collections.abc import Mapping
from typing import Final

from knowledge_conformance.check import Check, in_phases
from knowledge_conformance.checks import hosts
from knowledge_conformance.host_subject import HostSubject

CHECKS: Final[tuple[Check, ...]] = in_phases(*hosts.CHECKS)
"""Every check of a host, prerequisites first."""

SUBJECT: Final = HostSubject
"""What a check looks at."""

NOT_TESTED: Final[Mapping[str, str]] = {
    "8.6 (counted)": "how many calls a host has given up is not told by its interface",
    "8.6 (10 s)": "the kit sets a deadline of its own, so it does not see which one holds without",
}
"""Clauses about hosts, or lines of them, that no check stands for, with the reason."""
