"""The kit over the HTTP adapter: the scripted service in this process, over a connection, and with owners apart."""

import sys
from pathlib import Path
from typing import Any

import http_subjects as subjects
import pytest

from knowledge_conformance.results import CheckOutcome
from knowledge_conformance.running import Run
from knowledge_conformance.settings import Settings
from knowledge_fakes.vendors.http_service import KnowledgeService
from knowledge_fakes.vendors.serving import serving

QUERIES = ["release policy", "lost laptop", "expense receipts", "sick leave"]
NO_HIT = "zzqx nonsense 9731"
ALL: dict[str, Any] = {
    "queries": QUERIES,
    "no_hit_query": NO_HIT,
    "bases": {"engineering": ["release-handbook#approvals"], "staff": ["holidays#sick-leave"]},
    "filters": [
        {
            "query": "release policy",
            "filter": {"department": "engineering"},
            "selects": ["release-handbook#approvals"],
        }
    ],
    "secrets": [subjects.KEY],
}
OWNERS: dict[str, Any] = {
    "queries": ["release policy", "incident review"],
    "owners": {
        "alice": {"query": "release policy", "sees": ["release-handbook#approvals"], "never": ["holidays#sick-leave"]},
        "bob": {"query": "sick leave", "sees": ["holidays#sick-leave"], "never": ["release-handbook#approvals"]},
    },
}


def check(subject: str, monkeypatch: pytest.MonkeyPatch, **settings: Any) -> None:
    monkeypatch.setattr(sys, "path", [str(Path(__file__).parent), *sys.path])
    report = Run(f"http_subjects:{subject}", Settings.model_validate(settings)).all()
    assert report.conformant, report.sentence
    outcomes = {(result.id, result.outcome, result.saw) for result in report.checks}
    assert {each for each in outcomes if each[1] not in (CheckOutcome.PASSED, CheckOutcome.INAPPLICABLE)} == set()


def test_with_all_that_it_can_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores, filters, bases, citations and a key; it takes no advice either."""
    monkeypatch.setenv(subjects.KEY, subjects.SECRET)
    check("contract", monkeypatch, **ALL)


def test_with_a_shape_of_the_services_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without scores, filters and bases."""
    check("nested", monkeypatch, queries=QUERIES, no_hit_query=NO_HIT)


def test_with_owners_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """The header by which the service tells them comes from the context."""
    check("tenants", monkeypatch, **OWNERS)


def test_over_a_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """The service is in another process than the provider."""
    with serving(KnowledgeService().app) as url:
        monkeypatch.setenv(subjects.SERVED_AT, f"{url}/search")
        check("served", monkeypatch, queries=QUERIES, no_hit_query=NO_HIT)
