"""Outcomes of marked fields: each stands between its own marks, as a host gives it and as nobody has cleaned it."""

from collections.abc import Callable

import pytest

from knowledge_conformance.marking import (
    BESIDES,
    FIELDS,
    PROVENANCE,
    UNNORMALISED,
    has_marks,
    item,
    marked,
    outcome_of,
    place_of,
    raw_outcome_of,
    raw_reported_outcome_of,
    reported_outcome_of,
    unmarked,
)
from knowledge_provider import Outcome, normalize_response


@pytest.mark.parametrize("make", [outcome_of, raw_outcome_of])
def test_every_field_is_marked(make: Callable[..., Outcome]) -> None:
    """And has its text, where there is one."""
    outcome = make({"content": " x ", "title": " y "})
    (result,) = outcome.results
    assert result.source is not None
    held = (
        result.id,
        result.source.title,
        result.source.id,
        result.source.locator,
        result.url,
        result.source.mime_type,
        outcome.citations[0].source,
        list(result.metadata)[1],
        result.metadata["note"],
        result.content,
    )
    assert [text for field, text in zip(FIELDS, held, strict=True) if marked(field, 0)[:10] not in str(text)] == []
    assert (unmarked(result.content), unmarked(str(result.source.title))) == ("x", "y")


def test_what_is_besides_is_marked_too() -> None:
    """The query and every report; a failure is one, so that a renderer names it."""
    texts = {"query": " a\nb ", "report": " c ", "reason": " d ", "status": " e "}
    for make, query in ((reported_outcome_of, "a b"), (raw_reported_outcome_of, "a\nb")):
        outcome = make(texts, texts)
        assert unmarked(outcome.query) == query
        assert [unmarked(report.key) for report in outcome.sources] == ["c"] * 3
        assert [unmarked(str(report.reason)) for report in outcome.sources] == ["d"] * 3
        assert [unmarked(report.status) for report in outcome.sources] == ["failed", "failed", "e"]
        assert all(has_marks(str(text)) for report in outcome.sources for text in (report.key, report.reason))


def test_only_who_normalises_nothing_has_a_foreign_citation_and_notice() -> None:
    """A host makes both itself."""
    texts = {"citation": " a ", "notice": " b "}
    raw, usual = raw_outcome_of(texts, {}), outcome_of(texts, {})
    assert (unmarked(str(raw.results[0].citation_id)), unmarked(raw.notice)) == ("a", "b")
    assert (usual.results[0].citation_id, has_marks(usual.notice)) == ("source_1", False)
    assert normalize_response([item(0, {})], query="q").results[0].citation_id == "source_1"


def test_a_place_is_said_in_words() -> None:
    """By its result or its report, where there are several."""
    assert [place_of(field, 1) for field in ("title", "reason", "query")] == [
        "title of result 1",
        "reason of report 1",
        "query",
    ]
    assert frozenset(FIELDS) - {"metadata", "content", "mime", "provider", "key"} == PROVENANCE
    assert not {*FIELDS} & {*BESIDES, *UNNORMALISED}
