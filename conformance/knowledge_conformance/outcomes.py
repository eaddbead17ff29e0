"""What a host answered, read as plain data whichever way it is written, and where two of them differ; calls no host.

An ``Outcome`` and a plain mapping are read the same way, and an optional field that is null counts as absent. Numbers
are compared by value, and a boolean is no number.
"""

from collections.abc import Mapping
from itertools import islice
from typing import Any, Final, NamedTuple

from knowledge_conformance.check import Violation
from knowledge_conformance.plain import model_fields
from knowledge_conformance.render import show
from knowledge_provider import Citation, Outcome, OutcomeResult, Source, SourceReport
from knowledge_provider.text import is_a

_COMPARED: Final = ("status", "query", "results", "citations", "sources")
# Rule N13: what is left out where it is not known. ``source`` is not among them: rule N9 wants an empty one gone.
_LEFT_OUT_WHEN_EMPTY: Final = ("metadata", "sources")
# By identity: a metaclass may define how its classes are hashed and compared.
_SCALARS: Final = frozenset(map(id, (str, int, float, bool, type(None))))
_MAPPINGS: Final = (dict, OutcomeResult, Source, Citation, SourceReport)
# An outcome is five levels deep; a host that hands on what came may have one that contains itself.
_DEPTH_MAX: Final = 8
_ENTRIES_MAX: Final = 1000
_ABSENT: Final = object()


class _Foreign(NamedTuple):
    """What an outcome may not hold, as it is shown."""

    text: str


class Difference(NamedTuple):
    """The first place where an outcome is not as wanted, with both values."""

    path: str
    wanted: object
    saw: object

    def violation(self, of: str, hint: str) -> Violation:
        """The difference as a finding about ``of``."""
        return Violation(wanted=f"{self.path} {_shown(self.wanted)}", saw=_shown(self.saw), hint=hint, where=of)


def read_outcome(value: object, where: str) -> dict[str, Any]:
    """An outcome's fields as plain data, present and not null; ``Violation`` when it is neither form of an outcome."""
    if not (is_a(value, dict) or is_a(value, Outcome)):
        raise Violation(
            wanted="an Outcome, or a mapping with its fields",
            saw=show(value),
            hint="return the Outcome of normalize_response, or its to_dict()",
            where=where,
        )
    return _fields(_entries(value), _DEPTH_MAX)


def entries(outcome: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    """The ``results``, ``citations`` or ``sources`` of an outcome that was read; what is no mapping is an empty one."""
    listed = outcome.get(name)
    return [each if type(each) is dict else {} for each in listed] if type(listed) is list else []


def is_not_found(outcome: Mapping[str, Any]) -> bool:
    """Whether an outcome says that nothing was found, and has nothing either."""
    return outcome.get("status") == "not_found" and not entries(outcome, "results")


def first_difference(wanted: Mapping[str, Any], saw: Mapping[str, Any]) -> Difference | None:
    """Where two outcomes that were read differ first, or None; the notice aside, and a host's own further fields."""
    return _difference("outcome", _compared(wanted), _compared(saw))


def _compared(outcome: Mapping[str, Any]) -> dict[str, Any]:
    return {name: outcome[name] for name in _COMPARED if name in outcome}


def _entries(value: Any) -> list[tuple[Any, Any]]:
    # The model's own fields and not ``to_dict``: what a host constructed without validation may not be written.
    items = dict.items(value if is_a(value, dict) else model_fields(value))
    return list(islice(items, _ENTRIES_MAX))


def _fields(value: list[tuple[Any, Any]], depth: int, *, nulls: bool = False) -> dict[str, Any]:
    read = {_key(name): each for name, each in value if nulls or each is not None}
    # Rule N11: metadata have no field that may be null.
    copied = {name: _copied(each, depth, nulls=name == "metadata") for name, each in read.items()}
    return {name: each for name, each in copied.items() if name not in _LEFT_OUT_WHEN_EMPTY or each not in ({}, [])}


def _copied(value: object, depth: int, *, nulls: bool = False) -> Any:
    # Into exact types, through the base types' own methods: a host may hand on what its provider gave it.
    if id(type(value)) in _SCALARS:
        return value
    if depth and any(is_a(value, kind) for kind in _MAPPINGS):
        return _fields(_entries(value), depth - 1, nulls=nulls)
    if depth and is_a(value, list):
        return [_copied(each, depth - 1) for each in list.__getitem__(value, slice(_ENTRIES_MAX))]
    if depth and is_a(value, tuple):
        return [_copied(each, depth - 1) for each in tuple.__getitem__(value, slice(_ENTRIES_MAX))]
    return _Foreign(show(value))


def _key(name: object) -> str:
    return name if type(name) is str else show(name)


def _difference(path: str, wanted: object, saw: object) -> Difference | None:
    if type(wanted) is dict and type(saw) is dict:
        # Rule N11 says in which order metadata stand.
        if path.endswith(".metadata") and [*wanted] != [*saw]:
            return Difference(f"{path} of the keys", [*wanted], [*saw])
        return _first(path, wanted, saw)
    if type(wanted) is list and type(saw) is list:
        return _first(path, dict(enumerate(wanted)), dict(enumerate(saw)))
    return None if _same(wanted, saw) else Difference(path, wanted, saw)


def _first(path: str, wanted: Mapping[Any, Any], saw: Mapping[Any, Any]) -> Difference | None:
    for name in (*wanted, *(name for name in saw if name not in wanted)):
        place = f"{path}[{name}]" if type(name) is int else f"{path}.{name}"
        found = _difference(place, wanted.get(name, _ABSENT), saw.get(name, _ABSENT))
        if found:
            return found
    return None


def _same(wanted: object, saw: object) -> bool:
    if type(wanted) in (int, float) and type(saw) in (int, float):
        return wanted == saw
    return type(wanted) is type(saw) and wanted == saw


def _shown(value: object) -> str:
    if value is _ABSENT:
        return "absent"
    return value.text if type(value) is _Foreign else show(value, limit=200)
