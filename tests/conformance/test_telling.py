"""What two searches tell differently: every value by its place, and nothing that differs by chance."""

from itertools import count
from typing import Any

import pytest

from knowledge_conformance.access_subject import new_context
from knowledge_conformance.exchange import Exchange
from knowledge_conformance.telling import Told, differences, told_by
from knowledge_provider import RetrievalRequest, RetrievalResult
from knowledge_provider.errors import KnowledgeFailedError


def told(response: Any = None, error: BaseException | None = None) -> Told:
    return told_by(Exchange(RetrievalRequest(query="policy"), new_context(), response, error))


def found(one: Any, other: Any) -> list[str]:
    return list(differences([told(one)] * 2, [told(other)] * 2))


def noted(error: BaseException, note: str) -> BaseException:
    error.add_note(note)
    return error


def test_the_same_tells_nothing() -> None:
    """Mappings in another order, and tuples for lists, are the same."""
    assert found({"results": [], "total": 2}, {"total": 2, "results": ()}) == []


@pytest.mark.parametrize(
    ("one", "other", "said"),
    [
        ({"total": 2}, {"total": 5}, "total: 5, and 2 without them,"),
        ({"a": [{"b": 1}]}, {"a": [{"b": True}]}, "a[0].b: True, and 1 without them,"),
        ([], [7], "[0]: 7, and nothing without them,"),
        ({"withheld": 3}, {}, "withheld: nothing, and 3 without them,"),
        (
            [RetrievalResult(id="a", content="one")],
            [RetrievalResult(id="a", content="two")],
            "[0].content: 'two', and 'one' without them,",
        ),
    ],
)
def test_each_value_is_named_by_its_place(one: Any, other: Any, said: str) -> None:
    """Numbers, booleans, what is there on one side alone, and a model's fields."""
    assert said in found(one, other)


def test_what_differs_by_chance_tells_nothing() -> None:
    """A number that is another in each search, though nothing else is, is the search's own."""
    numbers = count()
    runs = [[told({"took": next(numbers), "total": total}) for _ in range(2)] for total in (2, 5)]
    assert list(differences(*runs)) == ["total: 5, and 2 without them,"]


def test_an_error_tells_by_its_text_its_notes_and_its_fields() -> None:
    """Whatever a caller can read of it."""
    one = told(error=noted(KnowledgeFailedError("none", provider_key="a"), "of 3"))
    other = told(error=noted(KnowledgeFailedError("2 withheld", provider_key="b"), "of 5"))
    assert one.raised
    said = " ".join(differences([one], [other]))
    assert "message: '2 withheld', and 'none'" in said
    assert "notes[0]: 'of 5', and 'of 3'" in said
    assert "provider_key: 'b', and 'a'" in said


def test_texts_are_places_and_values() -> None:
    """A name that must not come out may be a key, too."""
    assert set(told({"hiddenkey": ["hiddenvalue", 3]}).texts()) == {"hiddenkey[0]", "hiddenkey[1]", "hiddenvalue"}
