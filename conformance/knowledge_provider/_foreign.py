"""Looking into a foreign answer without calling it; knows Python's containers and models, no rule and no source.

Total and bounded on any value: containers and models are read through the base types' own methods, so nothing of an
answer is called, iterated, compared or asked for its truth but a key that claims the hash of a known name.
"""

from collections.abc import Sequence
from typing import Final

from pydantic import BaseModel

from knowledge_provider.text import is_a

Fields = dict[object, object]

_NO_FIELDS: Final[Fields] = {}
_DICT: Final[type[Fields]] = dict
_LIST: Final[type[list[object]]] = list
_TUPLE: Final[type[tuple[object, ...]]] = tuple

# A model's fields, also where a subclass has put something else in the way.
_MODEL_FIELDS: Final = BaseModel.__dict__["__dict__"]


def is_listed(value: object) -> bool:
    """Whether it is a list or tuple, the only containers of answers (rule N1)."""
    return is_a(value, _LIST) or is_a(value, _TUPLE)


def head(values: object, count: int) -> Sequence[object]:
    """The first ``count`` items of a list or tuple; none of anything else."""
    # A slice, not an iterator: it is taken at once, whatever the container's class or another thread does.
    if is_a(values, _LIST):
        return _LIST.__getitem__(values, slice(count))
    return _TUPLE.__getitem__(values, slice(count)) if is_a(values, _TUPLE) else ()


def listed(response: object, name: str, model: type[BaseModel]) -> object:
    """The response itself where it is a list or tuple, or what a dict or ``model`` has under ``name`` (rule N1)."""
    return response if is_listed(response) else entry(fields_of(response, model), name)


def fields_of(value: object, model: type[BaseModel]) -> Fields:
    """The entries of a dict, or the fields of a ``model``; none of anything else."""
    held: object = _MODEL_FIELDS.__get__(value) if is_a(value, model) else value
    return held if is_a(held, _DICT) else _NO_FIELDS


def entry(fields: Fields, name: str) -> object:
    """What stands under ``name``, or None."""
    # A foreign key with the same hash is asked whether it equals the name, and may raise anything. A real Ctrl-C is the
    # user's and goes through.
    try:
        return _DICT.get(fields, name)
    except KeyboardInterrupt:
        raise
    except BaseException:
        return None
