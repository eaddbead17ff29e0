"""Every check of access rules in the order of a run, and how they see one. Runs nothing."""

from collections.abc import Mapping
from typing import Final

from knowledge_conformance.access_subject import AccessSubject
from knowledge_conformance.check import Check, in_phases
from knowledge_conformance.checks import access

CHECKS: Final[tuple[Check, ...]] = in_phases(*access.CHECKS)
"""Every check of an access rule, prerequisites first."""

SUBJECT: Final = AccessSubject
"""What a check looks at."""

NOT_TESTED: Final[Mapping[str, str]] = {
    "11.1 (every policy)": "the default of the rule that is given is looked at, not that of others beside it",
    "11.5 (tools)": "a tool's arguments go to a host, of which KP-824 says what it makes of them",
}
"""Clauses about access rules, or lines of them, that no check stands for, with the reason."""
