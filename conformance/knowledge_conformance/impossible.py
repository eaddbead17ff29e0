"""What no document has, in the shape in which a filter asks for what some have. Pure; asks no provider.

``{"rank": {"$gte": 3}}`` is asked for below and above everything, ``{"team": ["people"]}`` for a team that is nowhere.
An operator is read by its name, and where one is not known, or selects by what is not there, nothing is asked.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from knowledge_conformance.plain import is_exactly
from knowledge_conformance.ranges import beyond

NO_SUCH_VALUE: Final = "conformance-kit-no-such-value"
"""What no field of any document equals."""

# What a document that has the value satisfies, and one that has another does not.
_EQUAL: Final = frozenset(
    ["=", "==", "eq", "equal", "equals", "is", "in", "any", "contains", "like", "match", "matches", "term", "terms"]
)
_ORDERED: Final = frozenset([">", ">=", "gt", "gte", "ge", "min", "from", "since", "after", "between"]) | frozenset(
    ["<", "<=", "lt", "lte", "le", "max", "to", "until", "before", "range"]
)
# How languages mark an operator's name, or do not.
_MARKS: Final = "$_@"

Values = tuple[Any, ...]
"""Nothing, where none is known; one such value; or two, below all values of an ordered field and above them."""


def impossible(value: object) -> Values:
    """What no document has, instead of what a filter asks of a field, in its shape."""
    if is_exactly(value, dict):
        return _of_operators(value)  # type: ignore[arg-type] # the exact type was just looked at
    if is_exactly(value, list, tuple):
        return tuple(map(list, _together([_of_one(each) for each in value])))  # type: ignore[attr-defined] # as above
    return _of_one(value)


def _of_one(value: object) -> Values:
    # A boolean has no third value.
    return beyond(value) or ((NO_SUCH_VALUE,) if is_exactly(value, str) else ())


def _of_operators(asked: Mapping[str, Any]) -> Values:
    ends = _together([_operand(name, value) for name, value in asked.items()])
    return tuple(dict(zip(asked, each, strict=True)) for each in ends)


def _operand(name: str, value: object) -> Values:
    operator = name.strip(_MARKS).casefold()
    if is_exactly(value, dict) or operator not in _EQUAL | _ORDERED:
        return ()
    ends = impossible(value)
    # Where a text stands that is no date, nobody knows what comes before all others.
    return ends if operator in _EQUAL or len(ends) > 1 else ()


def _together(ends: Sequence[Values]) -> Sequence[Values]:
    """All below, then all above; what has one value only has it at both ends, and without any nothing is known."""
    most = max(map(len, ends), default=0)
    return list(zip(*(each * (most // len(each)) for each in ends), strict=True)) if all(ends) else []
