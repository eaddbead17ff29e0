"""Pictures of values: equal for equal plain data, bounded, and never by running the value's code."""

import itertools
import unittest.mock
from typing import Any

import hostile_values as hostile
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knowledge_conformance.plain import DEPTH_MAX, ENTRIES_MAX, copied, is_exactly, model_fields, plain
from knowledge_provider import RetrievalRequest, Source

_DATA = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=5)
    | st.binary(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=10,
)


@given(_DATA)
@settings(deadline=None, max_examples=100)
def test_equal_data_has_equal_pictures(value: Any) -> None:
    """A copy is pictured as the original is, and a picture can be compared and hashed."""
    import copy

    assert plain(copy.deepcopy(value)) == plain(value)
    hash(plain(value))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([1], [2]),
        ([1], [1, 1]),
        ({"a": 1}, {"a": 2}),
        ({"a": 1}, {"b": 1}),
        ([], {}),
        ({"a": [1, {"b": 2}]}, {"a": [1, {"b": 3}]}),
        (RetrievalRequest(query="a"), RetrievalRequest(query="b")),
        (RetrievalRequest(query="a"), {"query": "a"}),
        (Source(id="a"), object()),
    ],
)
def test_other_data_has_another_picture(one: object, other: object) -> None:
    """A change anywhere shows."""
    assert plain(one) != plain(other)


def test_a_list_and_a_tuple_are_the_same_and_order_in_a_mapping_means_nothing() -> None:
    """As in JSON."""
    assert plain([1, 2]) == plain((1, 2))
    assert plain({"a": 1, "b": 2}) == plain({"b": 2, "a": 1})


@pytest.mark.parametrize(
    "value",
    [hostile.Hostile(), hostile.Liar(), unittest.mock.Mock(spec=dict), {hostile.Hostile(): 1}, object()],
    ids=itertools.count(),
)
def test_a_foreign_object_is_pictured_by_its_type(value: object) -> None:
    """Nothing of it is called."""
    assert plain(value) == plain(value)


def test_pictures_are_bounded() -> None:
    """A container that holds itself, deep nesting, and a million entries all have an end."""
    knot: list[Any] = []
    knot.append(knot)
    deep: Any = "x"
    for _ in range(10_000):
        deep = [deep]
    assert plain(knot) == plain(deep)
    assert len(repr(plain(knot))) < 20 * DEPTH_MAX
    picture = plain(list(range(100_000)))
    assert isinstance(picture, tuple)
    assert len(picture) == ENTRIES_MAX + 1
    assert len(str(plain({str(at): at for at in range(100_000)}))) < 100 * ENTRIES_MAX


def test_only_a_type_itself_is_exactly_that_type() -> None:
    """Not a subclass, and not a class that says it is equal to every other."""

    class Sly(type):
        def __eq__(cls, other: object) -> bool:
            return True

        __hash__ = type.__hash__

    class Like(metaclass=Sly):
        pass

    assert is_exactly("text", int, str)
    assert not is_exactly(True, int)
    assert not is_exactly(Like(), str)
    assert plain(Like()) != plain("")


def test_the_fields_of_a_model_are_read_past_its_own_code() -> None:
    """A subclass may define its __dict__ anew."""

    class Odd(Source):
        def __getattribute__(self, name: str) -> Any:
            if name == "__dict__":
                raise RuntimeError("do not look")
            return super().__getattribute__(name)

    assert model_fields(Odd(id="a"))["id"] == "a"
    assert plain(Odd(id="a")) == plain(Odd(id="a")) != plain(Odd(id="b"))


def test_a_string_is_copied_past_its_own_code() -> None:
    """A subclass becomes the text that it holds, and anything else nothing."""

    class Text(str):
        __slots__ = ()

        def __str__(self) -> str:
            raise RuntimeError("do not look")

    assert copied(Text("held")) == "held"
    assert type(copied(Text("held"))) is str
    assert copied(hostile.Liar()) is copied(b"held") is None


def test_a_number_too_long_to_write_is_pictured() -> None:
    """Python refuses to write it in decimals, and pictures of mappings are sorted as they are written."""
    huge = 10**5000
    assert plain({"a": huge, "b": 1}) == plain({"b": 1, "a": huge})
    assert plain({"a": huge}) != plain({"a": huge + 1})
