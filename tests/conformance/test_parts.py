"""Walking through an answer: everything in it comes once, with the way to it, and what is left out is said."""

from collections import OrderedDict
from typing import Any

import pytest

from knowledge_conformance.check import Inconclusive
from knowledge_conformance.parts import PARTS_MAX, parts_of, show_path
from knowledge_provider import RetrievalResult, Source, SourceReport


def walked(root: object) -> list[tuple[str, object]]:
    return [(show_path(path), part) for path, part in parts_of(root) if type(part) in (str, int)]


def test_everything_comes_in_order_with_the_way_to_it() -> None:
    """Keys, values and items, as an author would write the place."""
    assert walked({"results": [{"id": "a"}], "n": (1,)}) == [
        ("answer['key']", "results"),
        ("answer['results'][0]['key']", "id"),
        ("answer['results'][0]['id']", "a"),
        ("answer['key']", "n"),
        ("answer['n'][0]", 1),
    ]


@pytest.mark.parametrize(
    ("root", "place"),
    [
        (RetrievalResult(id="a", content="b", source=Source(id="found")), "answer['source']['id']"),
        ({"sources": [SourceReport(key="found", status="hit")]}, "answer['sources'][0]['key']"),
        (OrderedDict(a=["found"]), "answer['a'][0]"),
        (type("List", (list,), {})(["found"]), "answer[0]"),
        (type("Tuple", (tuple,), {})(("found",)), "answer[0]"),
        ({3: {"found": 1}}, "answer[3]['key']"),
    ],
)
def test_models_and_subclasses_are_looked_into(root: object, place: str) -> None:
    """What a container is called does not hide what is in it."""
    assert (place, "found") in walked(root)


def test_a_knot_has_an_end() -> None:
    """A container that holds itself is looked into once."""
    knot: list[Any] = ["a"]
    knot.append(knot)
    assert [part for _, part in parts_of(knot)] == [knot, "a", knot]


@pytest.mark.parametrize("root", [["a"] * PARTS_MAX, {"a": ["b"] * (PARTS_MAX - 2)}, [["a"] * 150 for _ in range(150)]])
def test_too_much_to_look_at_is_not_sound(root: object) -> None:
    """What was left out is never counted as looked at."""
    with pytest.raises(Inconclusive, match=f"more than {PARTS_MAX:,} values"):
        list(parts_of(root))


def test_as_much_as_is_looked_at_is_whole() -> None:
    """The bound itself is no reason to stop."""
    assert len(list(parts_of(["a"] * (PARTS_MAX - 1)))) == PARTS_MAX


def test_a_long_way_is_cut() -> None:
    """One line is enough to find the place."""
    root: Any = "found"
    for _ in range(20):
        root = [root]
    assert walked(root) == [("answer" + "[0]" * 8 + "…", "found")]
