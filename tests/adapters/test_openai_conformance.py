"""The kit over the OpenAI adapter: the real client over the scripted service, in this process and over a connection."""

import sys
from pathlib import Path

import pytest

from knowledge_conformance.results import CheckOutcome
from knowledge_conformance.running import Run
from knowledge_conformance.settings import Settings

SUBJECTS = ("served", "three_stores", "in_turn")


@pytest.mark.parametrize("subject", SUBJECTS)
def test_the_adapter_is_conformant(subject: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every check passes or does not concern the adapter; it takes no advice either."""
    monkeypatch.setattr(sys, "path", [str(Path(__file__).parent), *sys.path])
    report = Run(f"openai_subjects:{subject}", Settings()).all()
    assert report.conformant, report.sentence
    assert {check.outcome for check in report.checks} == {CheckOutcome.PASSED, CheckOutcome.INAPPLICABLE}
