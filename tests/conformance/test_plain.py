"""Pictures of values: equal for equal plain data, bounded, and never by running the value's code."""

import itertools
import unittest.mock
from typing import Any

import hostile_providers as hostile
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knowledge_conformance.plain import DEPTH_MAX, ENTRIES_MAX, is_a, is_finite, plain
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


def test_a_lie_about_the_type_is_not_believed() -> None:
    """The function isinstance asks the object; its type does not."""
    assert isinstance(hostile.Liar(), dict)
    assert not is_a(hostile.Liar(), dict)
    assert is_a([], object)
    assert is_a(True, int)


@pytest.mark.parametrize(
    ("number", "finite"),
    [(0, True), (-1.5, True), (True, True), (10**400, False), (float("nan"), False), (float("-inf"), False)],
)
def test_a_number_is_finite_when_a_float_can_hold_it(number: float, finite: bool) -> None:
    """An integer of five thousand digits is not, and raises nothing."""
    assert is_finite(number) is finite
