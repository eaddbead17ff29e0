"""Calls that get in each other's way on purpose: a provider whose awaits take as many turns of the loop as a plan says.

Knows coroutines and the event loop; no check, no owner and no answer.
"""

import inspect
from collections.abc import Awaitable, Generator, Iterator
from contextlib import contextmanager
from itertools import repeat
from random import Random
from typing import Any, Final

from knowledge_conformance.calls import is_async
from knowledge_conformance.subject import Subject

TURNS_MAX: Final = 3
"""How many turns of the loop an await may take beyond its own."""


@contextmanager
def interleaved(subject: Subject, seed: int) -> Iterator[None]:
    """Let each await inside the provider take some turns more; the same ``seed`` gives the same turns.

    What a synchronous provider does in its thread is left as it is.
    """
    sound = subject.provider
    subject.provider = _Interleaved(subject.member("retrieve"), Random(seed))  # noqa: S311 - a plan, no secret
    try:
        yield
    finally:
        subject.provider = sound


class _Interleaved:
    def __init__(self, retrieve: Any, plans: Random) -> None:
        # Each call gets a plan of its own when it begins, so that the turns do not depend on how the calls meet.
        def slowed(value: Any, seed: int) -> Any:
            return _finished(value, seed) if inspect.isawaitable(value) else value

        async def later(request: Any, context: Any) -> Any:
            return await slowed(retrieve(request, context), plans.getrandbits(32))

        def sooner(request: Any, context: Any) -> Any:
            return slowed(retrieve(request, context), 0)

        self.retrieve = later if is_async(retrieve) else sooner


async def _finished(awaited: Awaitable[Any], seed: int) -> Any:
    return await Suspending(awaited, iter(_turns(seed)))


def _turns(seed: int) -> Iterator[int]:
    plan = Random(seed)  # noqa: S311 - as above
    return (plan.randint(0, TURNS_MAX) for _ in repeat(None))


class Suspending:
    """An awaitable as it is, but for further turns of the loop before it begins and after each of its awaits.

    ``turns`` gives how many. What is thrown into it, as a cancellation is, reaches what it waits for.
    """

    def __init__(self, awaited: Awaitable[Any], turns: Iterator[int]) -> None:
        self._awaited = awaited
        self._turns = turns

    def __await__(self) -> Generator[Any, None, Any]:
        """Go through it, step by step, as ``await`` does."""
        # A coroutine itself: one that is cancelled before it began has to hear of it.
        inner: Any = self._awaited if inspect.iscoroutine(self._awaited) else _as_coroutine(self._awaited)
        thrown: BaseException | None = None
        while True:
            for _ in range(next(self._turns, 0)):
                thrown = thrown or (yield from _step(None))
            try:
                waiting = inner.send(None) if thrown is None else inner.throw(thrown)
            except StopIteration as end:
                return end.value
            thrown = yield from _step(waiting)


def _step(waiting: Any) -> Generator[Any, None, BaseException | None]:
    try:
        yield waiting
    except BaseException as error:
        return error
    return None


async def _as_coroutine(awaited: Awaitable[Any]) -> Any:
    return await awaited
