"""The kit over the LlamaIndex adapter: real indexes and the scripted retrievers, offline."""

import sys
from pathlib import Path
from typing import Any, Final

import pytest

from knowledge_conformance.results import CheckOutcome
from knowledge_conformance.running import Run
from knowledge_conformance.settings import Settings

QUERIES: Final = ["release policy", "lost laptop", "expense receipts", "报销需要收据"]
COMMON: Final[dict[str, Any]] = {"queries": QUERIES, "no_hit_query": "zzqx nonsense 9731"}
APPROVALS: Final = "release-handbook#approvals"
# The same passage where ids have to be UUIDs.
IN_QDRANT: Final = "b364d83d-2be4-5969-93f9-"
SICK_LEAVE: Final = "holidays#sick-leave"


def filtered(selects: str) -> dict[str, Any]:
    return {"filters": [{"query": "release policy", "filter": {"department": "engineering"}, "selects": [selects]}]}


ALICE: Final = {"query": "release policy", "sees": [APPROVALS], "never": [SICK_LEAVE]}
BOB: Final = {"query": "sick leave", "sees": [SICK_LEAVE], "never": [APPROVALS]}
SUBJECTS: Final[dict[str, dict[str, Any]]] = {
    "vector_index": {**COMMON, **filtered(APPROVALS), "bases": {"handbook": [APPROVALS]}},
    "bm25": COMMON,
    "qdrant": {**COMMON},
    "qdrant_async": {**COMMON},
    "asynchronous": COMMON,
    "synchronous": COMMON,
    "owners": {"queries": ["release policy", "incident review"], "owners": {"alice": ALICE, "bob": BOB}},
}


@pytest.mark.parametrize("subject", SUBJECTS)
def test_the_adapter_is_conformant(subject: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every check passes or does not concern the adapter; it takes no advice either."""
    monkeypatch.setattr(sys, "path", [str(Path(__file__).parent), *sys.path])
    report = Run(f"llama_index_subjects:{subject}", Settings.model_validate(SUBJECTS[subject])).all()
    assert report.conformant, report.sentence
    outcomes = {(check.id, check.outcome, check.saw) for check in report.checks}
    assert {each for each in outcomes if each[1] not in (CheckOutcome.PASSED, CheckOutcome.INAPPLICABLE)} == set()
