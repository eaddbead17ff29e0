"""Values of a provider's, copied into plain ones that can be compared without running the provider's code."""

import math
from typing import Any, Final, TypeGuard, TypeVar

from pydantic import BaseModel

DEPTH_MAX: Final = 20
ENTRIES_MAX: Final = 1000

Kind = TypeVar("Kind")
Plain = str | int | float | bool | bytes | None | tuple["Plain", ...]


def plain(value: object, depth: int = DEPTH_MAX) -> Plain:
    """A bounded, immutable picture of ``value``: equal pictures mean equal plain data.

    Containers become tuples; an object that is not plain data is pictured by its type alone.
    """
    if value is None or type(value) in (str, int, float, bool, bytes):
        return value  # type: ignore[return-value] # the exact types were just looked at
    if depth == 0:
        return "..."
    if type(value) in (list, tuple):
        return ("list", *(plain(item, depth - 1) for item in value[:ENTRIES_MAX]))  # type: ignore[index] # as above
    if is_a(value, dict):
        return ("dict", *_entries(value, depth))
    if is_a(value, BaseModel):
        return ("model", type(value).__name__, *_entries(value.__dict__, depth))
    return ("object", type(value).__module__, type(value).__qualname__)


def _entries(fields: dict[Any, Any], depth: int) -> list[Plain]:
    pairs = [(plain(key, depth - 1), plain(value, depth - 1)) for key, value in list(dict.items(fields))[:ENTRIES_MAX]]
    return sorted(pairs, key=repr)  # the order of a mapping's entries is no part of its value


def is_a(value: object, kind: type[Kind]) -> TypeGuard[Kind]:
    """``isinstance`` by the real type: an object may say that it is a dictionary, as ``Mock(spec=dict)`` does."""
    return issubclass(type(value), kind)


def is_finite(number: int | float) -> bool:
    """Whether a float can hold a number that is no NaN and no infinity."""
    try:
        return math.isfinite(number)
    except OverflowError:
        return False
