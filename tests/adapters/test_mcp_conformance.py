"""The kit over the MCP adapter: in process, over HTTP, over stdio, with owners apart, and with bare texts."""

import sys
from pathlib import Path
from typing import Any

import mcp_subjects as subjects
import pytest

from knowledge_conformance.results import CheckOutcome
from knowledge_conformance.running import Run
from knowledge_conformance.settings import Settings
from knowledge_fakes.vendors.mcp_service import ToolService
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
    report = Run(f"mcp_subjects:{subject}", Settings.model_validate(settings)).all()
    assert report.conformant, report.sentence
    outcomes = {(result.id, result.outcome, result.saw) for result in report.checks}
    assert {each for each in outcomes if each[1] not in (CheckOutcome.PASSED, CheckOutcome.INAPPLICABLE)} == set()


def test_with_all_that_a_tool_can_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores, filters, bases and citations, in process; it takes no advice either."""
    check("model", monkeypatch, **ALL)


def test_with_a_list_split_over_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without structure, scores, filters and bases."""
    check("split", monkeypatch, queries=QUERIES, no_hit_query=NO_HIT)


def test_with_bare_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ids are made from them."""
    check("passages", monkeypatch, queries=QUERIES, no_hit_query=NO_HIT)


def test_with_owners_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """The argument by which the tool tells them comes from the context."""
    check("tenants", monkeypatch, **OWNERS)


def test_over_http_with_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server is in another process than the provider, and the key in no place that the kit sees."""
    monkeypatch.setenv(subjects.KEY, subjects.SECRET)
    with serving(ToolService("list", token=subjects.SECRET).app()) as url:
        monkeypatch.setenv(subjects.SERVED_AT, f"{url}/mcp")
        check("served", monkeypatch, queries=QUERIES[:1], no_hit_query=NO_HIT, secrets=[subjects.KEY])


def test_over_stdio(monkeypatch: pytest.MonkeyPatch) -> None:
    """One provider for all checks but the last ones, since each start of a server takes seconds."""
    check("in_a_process", monkeypatch, queries=QUERIES[:1], no_hit_query=NO_HIT)
