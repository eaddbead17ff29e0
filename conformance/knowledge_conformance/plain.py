"""Values of a provider's, copied into plain ones that can be compared without running the provider's code."""

from typing import Any, Final

from pydantic import BaseModel

from knowledge_provider.text import is_a

DEPTH_MAX: Final = 20
ENTRIES_MAX: Final = 1000
_INT_BITS_MAX: Final = 1024
# A subclass may define a ``__dict__`` of its own.
_MODEL_FIELDS: Final = BaseModel.__dict__["__dict__"]

Plain = str | int | float | bool | bytes | None | tuple["Plain", ...]


def plain(value: object, depth: int = DEPTH_MAX) -> Plain:
    """A bounded, immutable picture of ``value``: equal pictures mean equal plain data.

    Containers become tuples; an object that is not plain data is pictured by its type alone.
    """
    if type(value) is int:
        # Python writes no int of more than 4,300 digits in decimals, and pictures are sorted as they are written.
        return value if value.bit_length() <= _INT_BITS_MAX else ("int", hex(value))
    if value is None or is_exactly(value, str, float, bool, bytes):
        return value  # type: ignore[return-value] # the exact types were just looked at
    if depth == 0:
        return "..."
    if is_exactly(value, list, tuple):
        return ("list", *(plain(item, depth - 1) for item in value[:ENTRIES_MAX]))  # type: ignore[index] # as above
    if is_a(value, dict):
        return ("dict", *_entries(value, depth))
    if is_a(value, BaseModel):
        return ("model", type(value).__name__, *_entries(model_fields(value), depth))
    return ("object", type(value).__module__, type(value).__qualname__)


def _entries(fields: dict[Any, Any], depth: int) -> list[Plain]:
    pairs = [(plain(key, depth - 1), plain(value, depth - 1)) for key, value in list(dict.items(fields))[:ENTRIES_MAX]]
    return sorted(pairs, key=repr)  # the order of a mapping's entries is no part of its value


def is_exactly(value: object, *kinds: type) -> bool:
    """Whether the type of ``value`` is one of ``kinds`` itself; a metaclass may define how its classes compare."""
    of = type(value)
    for kind in kinds:  # noqa: SIM110 - asked for each part of each answer, and any() takes three times as long
        if of is kind:
            return True
    return False


def model_fields(model: object) -> dict[str, Any]:
    """The fields of a pydantic model by Python name, as they are, the null ones and the wrong ones too."""
    fields: dict[str, Any] = _MODEL_FIELDS.__get__(model)
    return fields


def copied(value: object) -> str | None:
    """The text of a string, a subclass's too, as an exact ``str``; None of anything else."""
    return str.__str__(value) if is_a(value, str) else None
