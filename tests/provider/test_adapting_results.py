"""``adapting``: what makes results of a vendor's parts."""

from collections.abc import Iterator
from typing import Any

import pytest

from knowledge_provider import RetrievalResult, Source, adapting, errors

# Results


def test_a_result_takes_its_source_from_the_metadata_and_leaves_those_keys_out() -> None:
    """``uri_key`` and ``title_key`` become the source, ``left_out`` nothing."""
    metadata = {"url": "https://docs.example.org/a", "name": "A", "_id": "x", "page": 3}
    result = adapting.result_of(
        "text", metadata, {}, vendor_id="i", score=1, uri_key="url", title_key="name", left_out=["_id"]
    )
    assert result == RetrievalResult(
        id="i",
        content="text",
        score=1,
        source=Source(uri="https://docs.example.org/a", title="A"),
        metadata={"page": 3},
    )


@pytest.mark.parametrize(
    ("given", "metadata", "source"),
    [
        ("doc", {"source": "https://docs.example.org/a"}, Source(id="doc", uri="https://docs.example.org/a")),
        ("doc", {"source": "docs/a.md"}, Source(id="doc", locator="docs/a.md")),
        ("doc", {}, Source(id="doc")),
        (None, {"source": "docs/a.md"}, Source(id="docs/a.md", locator="docs/a.md")),
    ],
)
def test_a_vendors_id_of_the_document_is_the_sources(given: Any, metadata: dict[str, Any], source: Source) -> None:
    """Clause 6.2: otherwise a place that is no public URI is its id."""
    result = adapting.result_of("text", metadata, {}, source_id=given)
    assert result is not None
    assert result.source == source


@pytest.mark.parametrize("score", [float("nan"), float("inf"), 10**400, True, "0.5"])
def test_a_score_that_is_none_is_refused(score: Any) -> None:
    """Clause 5.4: results are made without validation, so the one part that the caller gives is looked at."""
    with pytest.raises(errors.KnowledgeInvalidResponseError, match="wanted a finite score"):
        adapting.result_of("text", {}, {}, score=score)


def test_a_result_is_what_the_model_would_have_made() -> None:
    """In types too: it is made without validation."""
    metadata = {"source": "docs/a.md", "title": "A", "page": 3, "new": True, "share": 0.5, "lang": "en"}
    result = adapting.result_of("text", metadata, {}, score=1)
    assert result is not None
    assert RetrievalResult.model_validate(result.model_dump()) == result
    assert type(result.score) is float


def _result(name: str) -> RetrievalResult:
    return RetrievalResult(id=name, content=name)


def test_usable_stops_at_top_k_and_skips_what_is_none() -> None:
    """Clause 3.3; nothing beyond the limit is even made."""
    asked: list[str] = []

    def candidates() -> Iterator[RetrievalResult | None]:
        for name in ("a", "", "b", "c"):
            asked.append(name)
            yield _result(name) if name else None

    assert [result.id for result in adapting.usable(candidates(), 2)] == ["a", "b"]
    assert asked == ["a", "", "b"]


def test_no_candidate_is_no_result_but_none_usable_is_a_failure() -> None:
    """Clause 5.10: nonsense never looks like an empty answer."""
    assert adapting.usable([], 3) == []
    with pytest.raises(errors.KnowledgeInvalidResponseError, match="none of them has what a result needs"):
        adapting.usable([None, None], 3)


def test_eight_candidates_for_each_result_are_looked_at() -> None:
    """Rule N2: whatever comes after them, they are all that counts."""
    candidates = iter([*[None] * 15, _result("a"), _result("b")])
    assert [result.id for result in adapting.usable(candidates, 2)] == ["a"]
    with pytest.raises(errors.KnowledgeInvalidResponseError):
        adapting.usable([*[None] * 16, _result("a")], 2)


@pytest.mark.parametrize("records", [[], (), [1], (None,)])
def test_a_list_or_tuple_of_records_stays_as_it_is(records: Any) -> None:
    """Empty or not, and whatever the records are."""
    assert adapting.records_of(records, "Acme") is records


@pytest.mark.parametrize("answer", [None, "", "hunter2", b"", {}, {"hunter2": 1}, 0, set(), iter([])])
def test_what_is_no_list_of_records_is_a_failure(answer: Any) -> None:
    """Clause 5.10: some of it can be gone through, and would look like an empty answer."""
    with pytest.raises(errors.KnowledgeInvalidResponseError, match=r"^wanted a list of records from Acme") as caught:
        adapting.records_of(answer, "Acme")
    assert "hunter2" not in str(caught.value)
