"""What is asked of a filter's field so that no document has it."""

from typing import Any

import pytest

from knowledge_conformance.impossible import NO_SUCH_VALUE, impossible
from knowledge_conformance.ranges import beyond

LOW, HIGH = beyond(3) or (None, None)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("people", (NO_SUCH_VALUE,)),
        (3, (LOW, HIGH)),
        (True, ()),
        (None, ()),
        ([], ()),
        (["a", "b"], ([NO_SUCH_VALUE, NO_SUCH_VALUE],)),
        ([3, "a"], ([LOW, NO_SUCH_VALUE], [HIGH, NO_SUCH_VALUE])),
        (["a", True], ()),
        ([["a"]], ()),
        ({}, ()),
        ({"$gte": 3}, ({"$gte": LOW}, {"$gte": HIGH})),
        ({"Min": 3, "max": 3}, ({"Min": LOW, "max": LOW}, {"Min": HIGH, "max": HIGH})),
        ({"between": [3, 3]}, ({"between": [LOW, LOW]}, {"between": [HIGH, HIGH]})),
        ({"_in": ["a"]}, ({"_in": [NO_SUCH_VALUE]},)),
        ({"eq": "a", "gt": 3}, ({"eq": NO_SUCH_VALUE, "gt": LOW}, {"eq": NO_SUCH_VALUE, "gt": HIGH})),
        ({"$gt": "m"}, ()),
        ({"$ne": 3}, ()),
        ({"$gte": 3, "$ne": 4}, ()),
        ({"$not": {"$eq": "a"}}, ()),
        ({"match": {"eq": "a"}}, ()),
        ({"city": "a"}, ()),
    ],
)
def test_it_keeps_the_shape_of_what_is_known(value: Any, expected: tuple[Any, ...]) -> None:
    """A value of its own, or both ends; nothing of what is not known, or selects what is not there."""
    assert impossible(value) == expected
