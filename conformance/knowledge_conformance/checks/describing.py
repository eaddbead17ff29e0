"""Clauses 1.7 and 1.8: how ``describe()`` behaves when it is called again. What it says is ``identity``'s matter."""

import time
from typing import Final

from knowledge_conformance.audit import watch_io
from knowledge_conformance.check import Check, Level, Violation, check
from knowledge_conformance.plain import plain
from knowledge_conformance.subject import Subject
from knowledge_provider import limits

_TIMED_CALLS: Final = 3


# Clause 1.7
@check("KP-111", clause="1.7", level=Level.MUST, needs=("KP-102",), calls=3)
async def description_is_stable(subject: Subject) -> None:
    """The description is equal each time, whatever the caller did to an earlier answer.

    Hosts cache it or ask again as they like; a shared dictionary would let one caller change what others see.
    """
    first = await subject.describe()
    before = plain(first)
    _scribble(first)
    for _ in range(2):
        if plain(await subject.describe()) != before:
            raise Violation(
                wanted="the same description again",
                saw="a different one, after the caller had changed the first answer",
                hint="build the answer anew in each call, from values that do not change",
            )
        subject.observe()


def _scribble(answer: object) -> None:
    if not isinstance(answer, dict):
        return
    for value in list(dict.values(answer)):
        _scribble(value)
    dict.update(answer, dict.fromkeys(list(answer), "changed by the caller"), added="by the caller")


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
