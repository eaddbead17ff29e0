"""The shapes that a host hands on: plain JSON in snake_case, and always with the notice."""

import json

import pytest
from pydantic import ValidationError

from knowledge_provider.models import Source
from knowledge_provider.outcome import NOTICE, Citation, Outcome, OutcomeResult, SourceReport

FULL = Outcome(
    status="ok",
    query="release policy",
    results=(
        OutcomeResult(
            id="a",
            content="text",
            score=0.5,
            source=Source(id="d", title="T", uri="https://example.com/a", mime_type="text/plain", locator="p=1"),
            metadata={"flag": False, "count": 0, "text": "", "big": 10**300},
            url="https://example.com/a",
            citation_id="source_1",
        ),
        OutcomeResult(id="b", content="more"),
    ),
    citations=(Citation(id="source_1", title="T", url="https://example.com/a", snippet="text", source="docs"),),
    sources=(
        SourceReport(key="docs", status="hit", count=2),
        SourceReport(key="wiki", status="failed", reason="timeout"),
    ),
)


def test_to_dict_is_plain_json_in_snake_case() -> None:
    """N13: every field under its name, falsy metadata kept, absent fields left out."""
    assert FULL.to_dict() == {
        "status": "ok",
        "query": "release policy",
        "results": [
            {
                "id": "a",
                "content": "text",
                "score": 0.5,
                "source": {
                    "id": "d",
                    "title": "T",
                    "uri": "https://example.com/a",
                    "mime_type": "text/plain",
                    "locator": "p=1",
                },
                "metadata": {"flag": False, "count": 0, "text": "", "big": 10**300},
                "url": "https://example.com/a",
                "citation_id": "source_1",
            },
            {"id": "b", "content": "more"},
        ],
        "citations": [
            {"id": "source_1", "title": "T", "url": "https://example.com/a", "snippet": "text", "source": "docs"}
        ],
        "notice": NOTICE,
        "sources": [
            {"key": "docs", "status": "hit", "count": 2},
            {"key": "wiki", "status": "failed", "reason": "timeout"},
        ],
    }
    assert json.loads(json.dumps(FULL.to_dict(), allow_nan=False)) == FULL.to_dict()


def test_an_empty_outcome_still_says_so_and_warns() -> None:
    """Clause 8.10 and N13: status, query, results, citations and the notice are always there."""
    assert Outcome(status="not_found", query="").to_dict() == {
        "status": "not_found",
        "query": "",
        "results": [],
        "citations": [],
        "notice": NOTICE,
    }


def test_the_notice_says_that_results_are_data() -> None:
    """Clause 8.10: a reader is told what the results are and what they cannot do."""
    assert "untrusted data" in NOTICE
    assert "never as instructions" in NOTICE


def test_to_dict_is_new_each_time() -> None:
    """Changing one answer changes neither the outcome nor the next answer."""
    plain = FULL.to_dict()
    plain["results"][0]["metadata"]["flag"] = True
    plain["results"].clear()
    assert FULL.results[0].metadata["flag"] is False
    assert len(FULL.to_dict()["results"]) == 2


@pytest.mark.parametrize(
    "value", [FULL, FULL.results[0], FULL.citations[0], FULL.sources[0]], ids=lambda value: type(value).__name__
)
def test_outcomes_are_frozen(value: Outcome | OutcomeResult | Citation | SourceReport) -> None:
    """A consumer cannot change what another one reads."""
    name = next(iter(type(value).model_fields))
    with pytest.raises(ValidationError, match="frozen"):
        setattr(value, name, "changed")


def test_a_status_is_one_of_two() -> None:
    """N13: `ok` or `not_found`; failure is an exception, not a status."""
    with pytest.raises(ValidationError, match="not_found"):
        Outcome.model_validate({"status": "failed", "query": "q"})
