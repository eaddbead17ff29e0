"""``adapting``: what an adapter makes of a request, and what it refuses."""

from typing import Any

import pytest

from knowledge_provider import RetrievalContext, RetrievalRequest, adapting, errors


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


def test_filters_are_names_with_the_values_that_they_may_have() -> None:
    """A scalar is one value; a list is any of them."""
    request = _request(filters={"team": "hr", "year": [2025, 2026], "public": True})
    assert adapting.equal_filters(request) == [("team", ["hr"]), ("year", [2025, 2026]), ("public", [True])]
    assert adapting.equal_filters(_request()) == []


@pytest.mark.parametrize("value", [None, [], {}, {"gte": 3}, ["a", None], [["a"]], [{"a": 1}]])
def test_a_filter_of_another_shape_is_refused(value: Any) -> None:
    """Clause 3.5: half of it would show what the other half excludes."""
    with pytest.raises(errors.KnowledgeFiltersUnsupportedError, match="a text, number or boolean"):
        adapting.equal_filters(_request(filters={"team": "hr", "other": value}))


@pytest.mark.parametrize(("asked", "found"), [
    ((), ["store-1", "store-2"]), (("hr",), ["store-1"]), (("it", "hr"), ["store-1", "store-2"]),
    (("other", "it"), ["store-2"]),
])  # fmt: skip
def test_bases_map_to_what_is_held_for_them(asked: tuple[str, ...], found: list[str]) -> None:
    """Clause 3.4: in the table's order, and all of them when none is asked for."""
    assert adapting.bases_asked_for(_request(knowledge_base_ids=asked), {"hr": "store-1", "it": "store-2"}) == found


def test_an_empty_choice_never_widens_to_everything() -> None:
    """Clause 3.4."""
    with pytest.raises(errors.KnowledgeBaseUnknownError):
        adapting.bases_asked_for(_request(knowledge_base_ids=("other",)), {"hr": "store-1"})
