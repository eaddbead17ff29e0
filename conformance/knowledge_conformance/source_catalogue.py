"""Every check of retrieval sources in the order of a run, and how they see one. Runs nothing."""

from collections.abc import Mapping
from typing import Final

from knowledge_conformance.check import Check, in_phases
from knowledge_conformance.checks import (
    source_answers,
    source_asking,
    source_calls,
    source_documents,
    source_identity,
    source_listing,
    source_logs,
    source_owners,
    source_permissions,
    source_references,
    source_secrets,
    source_timing,
)
from knowledge_conformance.source_subject import SourceSubject
from knowledge_conformance.source_survey import SourceSurvey

CHECKS: Final[tuple[Check, ...]] = in_phases(
    *source_identity.CHECKS,
    *source_answers.CHECKS,
    *source_asking.CHECKS,
    *source_listing.CHECKS,
    *source_references.CHECKS,
    *source_timing.CHECKS,
    *source_logs.CHECKS,
    *source_documents.CHECKS,
    *source_calls.CHECKS,
    *source_secrets.CHECKS,
    *source_owners.CHECKS,
    *source_permissions.CHECKS,
)
"""Every check of a retrieval source, prerequisites first."""

SUBJECT: Final = SourceSubject
"""What a check looks at."""

SURVEY: Final = SourceSurvey
"""What keeps the ordinary answers that several checks look at."""

NOT_TESTED: Final[Mapping[str, str]] = {
    "10.2 (sources)": "what a host stores of a reference is not seen from a source",
    "10.3 (sources)": "a source does not know the registry that it stands in",
    "10.4 (sources)": "what is bound to a task is the host's to keep",
    "10.5 (sources)": "a source is merged by the host, and does not see the others",
    "5.10 (sources)": "the kit does not take a source's back end away",
    "7.6 (sources)": "the kit cannot make a source's back end slow",
    "2.3 (sources)": "a source has no close, so nothing ends what it keeps",
    "3.6 (another process)": "the same question is asked again in this process alone",
    "7.2 (every await)": "a source's call is cancelled after a few turns of the event loop, not at each await",
    "7.4 (validate_refs)": "how long it takes is the host's to bound, which calls a synchronous one in a thread",
    "10.8 (later)": "what a source writes when its call has long ended is not waited for",
    "10.7 (long lists)": "documents behind the first hundred are passed over by those checks that ask for all at once",
    "10.7 (bounds)": "a host refuses a limit or an offset out of range itself, and the source is not asked",
}
"""Clauses about retrieval sources, or lines of them, that no check stands for, with the reason."""
