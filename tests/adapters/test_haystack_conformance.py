"""The kit over the Haystack adapter: real engines and the scripted retrievers, alone and in pipelines, offline."""

import sys
from pathlib import Path
from typing import Any, Final

import haystack_subjects as subjects
import pytest

from knowledge_conformance.results import CheckOutcome
from knowledge_conformance.running import Run
from knowledge_conformance.settings import Settings

QUERIES: Final = ["release policy", "lost laptop", "expense receipts", "报销需要收据"]
# BM25 of Haystack 3.0 knows no words of a language that puts no space between them.
ENGLISH: Final[dict[str, Any]] = {"queries": QUERIES[:3], "no_hit_query": "zzqx nonsense 9731"}
COMMON: Final[dict[str, Any]] = {**ENGLISH, "queries": QUERIES}
APPROVALS: Final = "release-handbook#approvals"
SICK_LEAVE: Final = "holidays#sick-leave"
FILTERED: Final[dict[str, Any]] = {
    "filters": [{"query": "release policy", "filter": {"department": "engineering"}, "selects": [APPROVALS]}]
}
ALICE: Final = {"query": "release policy", "sees": [APPROVALS], "never": [SICK_LEAVE]}
# A word of one document: Okapi's weight of a word that most of a few documents have is not above zero.
BOB: Final = {"query": "ill", "sees": [SICK_LEAVE], "never": [APPROVALS]}
SUBJECTS: Final[dict[str, dict[str, Any]]] = {
    "bm25": {**ENGLISH, **FILTERED, "bases": {"handbook": [APPROVALS]}},
    "embedding_pipeline": {**COMMON, **FILTERED},
    "qdrant": {**COMMON, **FILTERED},
    "asynchronous": {**COMMON, **FILTERED},
    "asynchronous_pipeline": COMMON,
    "synchronous": COMMON,
    "plain": COMMON,
    "owners": {"queries": ["release policy", "incident review"], "owners": {"alice": ALICE, "bob": BOB}},
}


NEEDS_QDRANT = pytest.mark.skipif(not subjects.HAS_QDRANT, reason="needs qdrant-haystack")


@pytest.mark.parametrize(
    "subject", [pytest.param(name, marks=NEEDS_QDRANT if name == "qdrant" else ()) for name in SUBJECTS]
)
def test_the_adapter_is_conformant(subject: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every check passes or does not concern the adapter; it takes no advice either."""
    monkeypatch.setattr(sys, "path", [str(Path(__file__).parent), *sys.path])
    report = Run(f"haystack_subjects:{subject}", Settings.model_validate(SUBJECTS[subject])).all()
    assert report.conformant, report.sentence
    rest = [check for check in report.checks if check.outcome not in (CheckOutcome.PASSED, CheckOutcome.INAPPLICABLE)]
    # The adapter's one base has no other to be kept apart from.
    expected = {("KP-309", CheckOutcome.INCONCLUSIVE)} if "bases" in SUBJECTS[subject] else set()
    assert {(check.id, check.outcome) for check in rest} == expected, rest
