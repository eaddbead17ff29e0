"""Clauses 1.7 and 1.8: how ``describe()`` behaves when it is called again. What it says is ``identity``'s matter."""

import contextlib
import operator
import time
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from pydantic import BaseModel

from knowledge_conformance.audit import watch_io
from knowledge_conformance.check import Check, Level, Violation, check
from knowledge_conformance.checks.identity import entries, is_mapping
from knowledge_conformance.plain import Plain, is_exactly, plain
from knowledge_conformance.subject import Subject
from knowledge_provider import limits
from knowledge_provider.text import is_a

_TIMED_CALLS: Final = 3
_DEPTH_MAX: Final = 4
_SCRIBBLE: Final = "changed by the caller"

_Undo = Callable[[], object]


# Clause 1.7
@check("KP-111", clause="1.7", level=Level.MUST, needs=("KP-102",), calls=3)
async def description_is_stable(subject: Subject) -> None:
    """The description is equal each time, whatever the caller did to an earlier answer.

    Hosts cache it or ask again as they like; a shared dictionary would let one caller change what others see.
    """
    first = await subject.describe()
    before = _picture(first)
    undo: list[_Undo] = []
    _scribble(first, undo)
    try:
        for _ in range(2):
            if _picture(await subject.describe()) != before:
                raise Violation(
                    wanted="the same description again",
                    saw="a different one, after the caller had changed the first answer",
                    hint="build the answer anew in each call, from values that do not change",
                )
            subject.observe()
    finally:
        # What is shared may be the module's, and every other check's, too: those must not see what this one did.
        for step in reversed(undo):
            with contextlib.suppress(BaseException):  # as where it was changed
                step()


def _picture(answer: object) -> Plain:
    return plain(_opened(answer))


def _opened(value: object, depth: int = _DEPTH_MAX) -> object:
    """The value with each mapping and model in it, of whatever type, as a dictionary that can be compared."""
    if depth == 0:
        return value
    if _has_entries(value):
        return {name: _opened(held, depth - 1) for name, held in entries(value).items()}
    return [_opened(held, depth - 1) for held in _items(value)] if is_exactly(value, list, tuple) else value


def _has_entries(value: object) -> bool:
    return is_a(value, BaseModel) or is_mapping(value)


def _items(value: Any) -> list[Any]:
    return list(value) if is_exactly(value, list, tuple) else []


def _scribble(value: Any, undo: list[_Undo], depth: int = _DEPTH_MAX) -> None:
    """Change whatever a caller could change, all the way down; what cannot be changed is none the worse for it.

    ``undo`` gets what puts each change back; taken from its end, all of them do.
    """
    fields = entries(value) if _has_entries(value) else {}
    for held in (*fields.values(), *_items(value)) if depth else ():
        _scribble(held, undo, depth - 1)
    put, take = (setattr, delattr) if is_a(value, BaseModel) else (operator.setitem, operator.delitem)
    for name in (*fields, _SCRIBBLE) if _has_entries(value) else ():
        with contextlib.suppress(BaseException):  # a mapping is the provider's code, and a frozen one refuses
            put(value, name, _SCRIBBLE)
            undo.append(partial(put, value, name, fields[name]) if name in fields else partial(take, value, name))
    if is_exactly(value, list):
        value.append(_SCRIBBLE)
        undo.append(value.pop)


# Clause 1.8
@check("KP-112", clause="1.8", level=Level.SHOULD, needs=("KP-102",), calls=1 + _TIMED_CALLS)
async def describing_is_cheap(subject: Subject) -> None:
    """From the second call on, describe() opens nothing and takes under 50 ms.

    Hosts call it on their event loop, while audio is playing.
    """
    await subject.describe()
    seconds = [await _timed(subject) for _ in range(_TIMED_CALLS)]
    # The least of a few: a busy machine may delay one call, a slow describe delays all.
    if min(seconds) >= limits.DESCRIBE_SECONDS:
        raise Violation(
            wanted=f"an answer in under {limits.DESCRIBE_SECONDS * 1000:g} ms",
            saw=f"at least that in each of {_TIMED_CALLS} calls",
            hint="make the description when the provider is made, and keep it",
        )


async def _timed(subject: Subject) -> float:
    with watch_io() as opened:
        began = time.perf_counter()
        await subject.describe()
        seconds = time.perf_counter() - began
    if opened:
        raise Violation(
            wanted="no file or socket to be opened",
            saw=f"the events {', '.join(sorted(set(opened)))}",
            hint="make the description when the provider is made, and keep it",
        )
    subject.observe()
    return seconds


CHECKS: Final[tuple[Check, ...]] = (
    description_is_stable,
    describing_is_cheap,
)
