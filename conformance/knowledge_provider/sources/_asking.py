"""Many sources at the same time (clause 9.1, as clause 10.5 asks); knows endings and no answer.

This file awaits. How one source is called is in ``registry``.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import Final, TypeVar

from knowledge_provider.cancel import CancelSignal
from knowledge_provider.sources.references import ExternalKnowledgeRef, read_reference
from knowledge_provider.sources.registry import References

SOURCE_SECONDS: Final = 5.0
"""Seconds for each source unless another number is given."""

# A source that uses up the caller's time leaves some for the answers of the others.
_SHARE: Final = 0.9

# References that are read before the others on the loop have a turn.
_READ_AT_ONCE: Final = 32

_Asked = TypeVar("_Asked")
_Answer = TypeVar("_Answer")


async def of_each(
    asked: Sequence[_Asked],
    ask: Callable[[_Asked], Coroutine[None, None, _Answer]],
    cut_off: Callable[[_Asked], _Answer],
) -> list[_Answer]:
    """What ``ask`` gives for each, all at the same time, in their order; ``cut_off`` for one cancelled from within."""
    # Clause 9.6: the group waits for all of them, also when it is cancelled.
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(ask(each)) for each in asked]
    # Clause 9.2.
    return [cut_off(each) if task.cancelled() else task.result() for each, task in zip(asked, tasks, strict=True)]


async def by_provider(refs: Iterable[object]) -> list[tuple[str, References]]:
    """The references of each provider, in the order of their coming; raises as ``read_reference``."""
    read = []
    for place, each in enumerate(refs, 1):
        read.append(read_reference(each))
        # Clause 7.4: a task may have a thousand, and each is looked through.
        if place % _READ_AT_ONCE == 0:
            await asyncio.sleep(0)
    return grouped(read)


def grouped(refs: Iterable[ExternalKnowledgeRef]) -> list[tuple[str, References]]:
    """The same of what has been read."""
    groups: dict[str, list[ExternalKnowledgeRef]] = {}
    for ref in refs:
        groups.setdefault(ref.provider, []).append(ref)
    return [(name, tuple(held)) for name, held in groups.items()]


class Turns:
    """One answer is read in each turn of the loop, so that many that come at once do not hold it together (7.4)."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()

    async def read(self, read: Callable[[], _Answer]) -> _Answer:
        """What ``read`` gives, in a turn of its own."""
        async with self._lock:
            await asyncio.sleep(0)
            return read()


def share(signal: CancelSignal, seconds: float) -> float:
    """The seconds that a source may take of what the caller has left."""
    remaining = signal.remaining()
    return seconds if remaining is None else min(seconds, _SHARE * remaining)
