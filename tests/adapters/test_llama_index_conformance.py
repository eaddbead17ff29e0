"""The kit over the LlamaIndex adapter: real indexes and the scripted retrievers, offline."""

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final
from uuid import NAMESPACE_URL, uuid5

import pytest

from knowledge_conformance.results import CheckOutcome
from knowledge_conformance.running import Run
from knowledge_conformance.settings import Settings

APPROVALS: Final = "release-handbook#approvals"
SICK_LEAVE: Final = "holidays#sick-leave"
IN_QDRANT: Final = str(uuid5(NAMESPACE_URL, APPROVALS))
COMMON: Final[dict[str, Any]] = {
    "queries": ["release policy", "lost laptop", "expense receipts", "报销需要收据"],
    "no_hit_query": "zzqx nonsense 9731",
}


def filtered(selected: str) -> dict[str, Any]:
    expected = {"query": "release policy", "filter": {"department": "engineering"}, "selects": [selected]}
    return {**COMMON, "filters": [expected]}


ALICE: Final = {"query": "release policy", "sees": [APPROVALS], "never": [SICK_LEAVE]}
# A word of one document: Okapi's weight of a word that most of a few documents have is not above zero.
BOB: Final = {"query": "ill", "sees": [SICK_LEAVE], "never": [APPROVALS]}
SUBJECTS: Final[dict[str, dict[str, Any]]] = {
    "vector_index": {**filtered(APPROVALS), "bases": {"handbook": [APPROVALS]}},
    "bm25": COMMON,
    "qdrant": filtered(IN_QDRANT),
    "qdrant_async": filtered(IN_QDRANT),
    "asynchronous": COMMON,
    "synchronous": COMMON,
    "owners": {"queries": ["release policy", "incident review"], "owners": {"alice": ALICE, "bob": BOB}},
}


def needing(subject: str) -> Any:
    """The subject, skipped where what it needs beside LlamaIndex is not installed."""
    package = {"bm25": "bm25s", "qdrant": "qdrant_client", "qdrant_async": "qdrant_client"}.get(subject, "llama_index")
    return pytest.param(subject, marks=pytest.mark.skipif(find_spec(package) is None, reason=f"needs {package}"))


@pytest.mark.parametrize("subject", [needing(subject) for subject in SUBJECTS])
def test_the_adapter_is_conformant(subject: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every check passes or does not concern the adapter; it takes no advice either."""
    monkeypatch.setattr(sys, "path", [str(Path(__file__).parent), *sys.path])
    report = Run(f"llama_index_subjects:{subject}", Settings.model_validate(SUBJECTS[subject])).all()
    assert report.conformant, report.sentence
    rest = [check for check in report.checks if check.outcome not in (CheckOutcome.PASSED, CheckOutcome.INAPPLICABLE)]
    # The adapter's one base has no other to be kept apart from.
    expected = {("KP-309", CheckOutcome.INCONCLUSIVE)} if "bases" in SUBJECTS[subject] else set()
    assert {(check.id, check.outcome) for check in rest} == expected, rest
