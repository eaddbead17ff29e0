"""``adapting``: what makes results of a vendor's parts, and what refuses a request."""

from collections.abc import Iterator
from typing import Any

import pytest

from knowledge_provider import RetrievalContext, RetrievalRequest, RetrievalResult, Source, adapting, errors

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


# Refusals


def _request(**fields: Any) -> RetrievalRequest:
    return RetrievalRequest(query="q", **fields)


def test_filters_are_refused_not_ignored() -> None:
    """Clause 3.5."""
    adapting.refuse_filters(_request())
    with pytest.raises(errors.KnowledgeFiltersUnsupportedError):
        adapting.refuse_filters(_request(filters={"a": 1}))


@pytest.mark.parametrize(("held", "asked", "refused"), [
    (None, (), False), ("hr", (), False), ("hr", ("hr",), False), ("hr", ("x", "hr"), False),
    ("hr", ("x",), True), (None, ("hr",), True), ("hr", ("HR",), True),
])  # fmt: skip
def test_a_base_that_is_not_held_is_refused(held: str | None, asked: tuple[str, ...], refused: bool) -> None:
    """Clause 3.4: never another base's content."""
    request = _request(knowledge_base_ids=asked)
    if not refused:
        adapting.refuse_other_bases(request, held)
        return
    with pytest.raises(errors.KnowledgeBaseUnknownError):
        adapting.refuse_other_bases(request, held)


def test_the_owners_arguments_come_from_the_context() -> None:
    """Clause 4.2."""
    context = RetrievalContext(owner_id="alice")
    assert adapting.owner_arguments(lambda known: {"filter": known.owner_id}, context) == {"filter": "alice"}


def test_no_owner_and_no_arguments_are_refused() -> None:
    """Clauses 4.3 and 4.4: no restriction at all would search everybody's documents."""
    with pytest.raises(errors.KnowledgeOwnerRequiredError):
        adapting.owner_arguments(lambda _: {"filter": 1}, RetrievalContext.model_construct(owner_id=" "))
    with pytest.raises(errors.KnowledgeFailedError, match="would search everything"):
        adapting.owner_arguments(lambda _: {}, RetrievalContext(owner_id="alice"))
