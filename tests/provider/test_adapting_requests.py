"""``adapting``: what an adapter makes of a request, and what it refuses."""

from typing import Any
from unittest.mock import Mock

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


@pytest.mark.parametrize("empty", [None, "", " ", [], (), {}, set()])
def test_an_owners_argument_without_a_value_is_refused(empty: Any) -> None:
    """Clause 4.3: many a vendor takes it for no argument at all; 0 and False are values."""
    context = RetrievalContext(owner_id="alice")
    for take in (adapting.owner_arguments, adapting.owner_filters):
        with pytest.raises(errors.KnowledgeFailedError, match="would search everything"):
            take(lambda _: {"tenant": "a", "owner": empty}, context)
        assert take(lambda _: {"level": 0, "shared": False}, context)


@pytest.mark.parametrize(
    "raised",
    [
        LookupError("hunter2"),
        errors.KnowledgeFiltersUnsupportedError("hunter2"),
        errors.KnowledgeBaseUnknownError("hunter2"),
    ],
)
def test_what_scope_raises_is_a_failure_with_a_cause(raised: Exception) -> None:
    """And none of the refusals that a composite passes over, nor its text."""
    with pytest.raises(errors.KnowledgeFailedError, match=f"^scope raised {type(raised).__name__}") as caught:
        adapting.owner_arguments(Mock(side_effect=raised), RetrievalContext(owner_id="alice"))
    assert (caught.value.code, caught.value.__cause__) == ("knowledge_provider_failed", raised)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("given", [None, "alice", 3])
def test_a_scope_that_gives_no_mapping_is_a_failure(given: Any) -> None:
    """Whatever else it is made of."""
    with pytest.raises(errors.KnowledgeFailedError, match=r"^scope raised"):
        adapting.owner_arguments(lambda _: given, RetrievalContext(owner_id="alice"))


@pytest.mark.parametrize(
    "raised", [errors.KnowledgeOwnerRequiredError("no tenant"), errors.KnowledgeUnauthorizedError("no token")]
)
def test_what_scope_says_in_the_contracts_words_stands(raised: Exception) -> None:
    """It may know of an owner who has no account here."""
    with pytest.raises(type(raised)) as caught:
        adapting.owner_filters(Mock(side_effect=raised), RetrievalContext(owner_id="alice"))
    assert caught.value is raised


def test_the_owners_filters_have_the_shape_of_the_requests() -> None:
    """Without a scope there are none, and no owner is needed."""
    context = RetrievalContext(owner_id="alice")
    own = adapting.owner_filters(lambda known: {"owner": known.owner_id, "year": [2025, 2026]}, context)
    assert own == [("owner", ["alice"]), ("year", [2025, 2026])]
    assert adapting.owner_filters(None, RetrievalContext.model_construct(owner_id=" ")) == []


@pytest.mark.parametrize("value", [{"gte": 3}, ["a", None], [["a"]], ("a",)])
def test_an_owners_filter_of_another_shape_is_a_failure_and_no_refusal(value: Any) -> None:
    """A composite passes over who refuses filters, though the request has none."""
    with pytest.raises(errors.KnowledgeFailedError, match="scope gives each name"):
        adapting.owner_filters(lambda _: {"owner": value}, RetrievalContext(owner_id="alice"))


@pytest.mark.parametrize(("metadata", "kept"), [
    ({"team": "hr", "year": 2025}, True), ({"team": ["it", "hr"], "year": 2026.0}, True), ({"team": "hr"}, False),
    ({"team": "it", "year": 2025}, False), ({"team": [], "year": 2025}, False),
    ({"team": [["hr"]], "year": 2025}, False), ({}, False),
])  # fmt: skip
def test_metadata_fit_when_all_names_have_one_of_their_values(metadata: Any, kept: bool) -> None:
    """Clause 3.5; a list in the metadata fits by any element."""
    assert adapting.fits(metadata, [("team", ["hr"]), ("year", [2025, 2026])]) is kept
    assert adapting.fits(metadata, [])


def test_a_boolean_is_no_number_when_metadata_are_compared() -> None:
    """To Python they are equal."""
    for held, value, kept in ((True, True, True), (1, True, False), (True, 1, False), ([0, True], 1, False)):
        assert adapting.fits({"new": held}, [("new", [value])]) is kept


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
