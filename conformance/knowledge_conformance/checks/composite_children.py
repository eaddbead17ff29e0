"""Children that checks hand to a composite, and how their passages are found again in its answers; knows no composite.

It judges one thing: whether the passages of a child that did nothing wrong came.
"""

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Self

from knowledge_conformance.check import Violation
from knowledge_conformance.composite_subject import contents
from knowledge_conformance.exchange import Exchange
from knowledge_conformance.render import show
from knowledge_fakes.scripted import Flag, ScriptedProvider, SyncScriptedProvider
from knowledge_provider import RetrievalContext, RetrievalRequest

PATIENCE_SECONDS: Final = 1.0
"""How long a child waits for another one that should have been asked at the same time."""
BRIEF_SECONDS: Final = 0.15
"""How long one waits where it is no matter if the other is not asked yet."""
WORK_SECONDS: Final = 3.0
"""How long a child works in a thread at most, told to stop or not."""
GIVEN_UP_SECONDS: Final = 0.4
"""The deadline of each child or source where one never answers, since a check waits until it has passed."""

REQUEST: Final = RetrievalRequest(query="release policy", top_k=8)


def passage(name: str, **fields: Any) -> dict[str, Any]:
    """A result whose content tells which it is."""
    return {"id": name, "content": text(name), **fields}


def text(name: str) -> str:
    """The content of the passage of that name."""
    return f"What the passage {name} says."


def nothing(*_: object) -> dict[str, Any]:
    """An answer of no results."""
    return {"results": []}


def finding(key: str, *names: str, **described: Any) -> ScriptedProvider:
    """A child that finds these passages, fresh each time."""
    return ScriptedProvider([lambda *_: {"results": [passage(name) for name in names]}], key=key, **described)


def require_passages(exchange: Exchange, names: Iterable[str], *, hint: str) -> None:
    """Raise ``Violation`` unless each of these passages came."""
    missing = [name for name in names if text(name) not in contents(exchange)]
    if missing:
        raise Violation(
            wanted=f"the passage {missing[0]} of a child that did nothing wrong",
            saw=f"{exchange.came} without it",
            hint=hint,
        )


def names_in(exchange: Exchange, names: Sequence[str]) -> list[str]:
    """Which of these passages came, in the answer's order; what is none of them as it is shown."""
    known = {text(name): name for name in names}
    return [known.get(content, show(content)) for content in contents(exchange)]


class Closeless:
    """A child of the two methods alone that a provider must have, which finds nothing."""

    def __init__(self, key: str) -> None:
        self._key = key

    def describe(self) -> dict[str, Any]:
        """As it must be."""
        return {"protocolVersion": 1, "key": self._key, "label": "Two methods"}

    async def retrieve(self, _request: RetrievalRequest, _context: RetrievalContext) -> dict[str, Any]:
        """Nothing."""
        return nothing()


class Order:
    """Lets children answer in the order of ``keys``: each waits, briefly, for the one before it to have answered.

    Briefly, since who is asked one after another may never come.
    """

    def __init__(self, keys: Sequence[str]) -> None:
        self._answered = {key: Flag() for key in keys}
        self._before = dict(zip(keys[1:], keys, strict=False))

    async def wait(self, key: str) -> None:
        """Return when it is this child's turn."""
        before = self._before.get(key)
        if before is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(BRIEF_SECONDS):
                    await self._answered[before].wait()
            # So that what the other one answered, or raised, has come to the composite before.
            for _ in range(4):
                await asyncio.sleep(0)

    def answered(self, key: str) -> None:
        """It is the next one's turn."""
        self._answered[key].set()


def in_order(
    order: Order, key: str, act: Callable[[RetrievalRequest, RetrievalContext], Any], **described: Any
) -> ScriptedProvider:
    """A child that answers, or raises, with ``act`` when it is its turn."""

    async def answer(request: RetrievalRequest, context: RetrievalContext) -> Any:
        await order.wait(key)
        try:
            return act(request, context)
        finally:
            order.answered(key)

    return ScriptedProvider([answer], key=key, **described)


class Meeting:
    """Where so many children meet before any of them answers; ``together`` is how many did."""

    def __init__(self, expected: int) -> None:
        self.together: int = 0
        self._expected = expected
        self._arrived = 0
        self._over = Flag()
        self._lock = threading.Lock()

    async def wait(self, *_: object) -> dict[str, Any]:
        """Wait for the others; an answer of nothing."""
        self._arrive()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE_SECONDS):
                await self._over.wait()
        self._end()
        return nothing()

    def wait_in_thread(self, *_: object) -> dict[str, Any]:
        """The same for a synchronous child."""
        self._arrive()
        self._over.wait_in_thread(PATIENCE_SECONDS)
        self._end()
        return nothing()

    def _arrive(self) -> None:
        with self._lock:
            self._arrived += 1
            full = self._arrived == self._expected
        if full:
            self._end()

    def _end(self) -> None:
        with self._lock:
            # The first to leave ends it: who comes later was not asked at the same time.
            if not self._over.is_set():
                self.together = self._arrived
        self._over.set()


class Working(SyncScriptedProvider):
    """A synchronous child that is at work until its signal is cancelled, or, ``deaf``, until it is released.

    ``started``, ``told`` and ``ended`` say how far it is. It never works for ever: where a composite calls it on the
    event loop, the check could not go on.
    """

    def __init__(self, key: str, *, deaf: bool = False) -> None:
        super().__init__([self._work], key=key)
        self.started: Flag = Flag()
        self.told: Flag = Flag()
        self.ended: Flag = Flag()
        self._deaf = deaf
        self._over = Flag()

    def release(self) -> None:
        """Let it go on, whatever its signal says."""
        self._over.set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def _work(self, _request: RetrievalRequest, context: RetrievalContext) -> dict[str, Any]:
        context.signal.add_callback(self.told.set)
        if not self._deaf:
            context.signal.add_callback(self.release)
        self.started.set()
        self._over.wait_in_thread(WORK_SECONDS)
        self.ended.set()
        return nothing()


async def all_set(flags: Iterable[Flag], seconds: float) -> bool:
    """Whether all of them are set within so many seconds."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            for flag in flags:
                await flag.wait()
            return True
    return False
