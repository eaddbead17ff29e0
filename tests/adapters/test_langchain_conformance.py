"""The kit over the LangChain adapter: real retrievers and a real vector store over real documents, offline."""

import sys
from pathlib import Path

import pytest

from knowledge_conformance.results import CheckOutcome
from knowledge_conformance.running import Run
from knowledge_conformance.settings import Settings

SUBJECTS = ("vector_store", "keyword_retriever", "async_retriever")


@pytest.mark.parametrize("subject", SUBJECTS)
def test_the_adapter_is_conformant(subject: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every check passes or does not concern the adapter; it takes no advice either."""
    monkeypatch.setattr(sys, "path", [str(Path(__file__).parent), *sys.path])
    report = Run(f"langchain_subjects:{subject}", Settings()).all()
    assert report.conformant, report.sentence
    assert {check.outcome for check in report.checks} == {CheckOutcome.PASSED, CheckOutcome.INAPPLICABLE}
