"""Scenes on an event loop that must hear of nothing, for the tests of calls and hosts."""

import asyncio
import gc
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from knowledge_provider import CancelSignal, RetrievalContext

T = TypeVar("T")


def context(signal: CancelSignal | None = None, **ids: str) -> RetrievalContext:
    """Alice's context in one turn, or with other ids."""
    named = {"owner_id": "alice", "session_id": "s", "turn_id": "t", "trace_id": "x", **ids}
    return RetrievalContext(**named, signal=signal or CancelSignal())


def run(scene: Coroutine[Any, Any, T], *, collect: bool = False) -> T:
    """What the scene gives, on a loop of its own; five seconds are more than any takes.

    Nothing may reach the loop's exception handler, such as a task whose error nobody asked for. With ``collect``, also
    not when all that is left over is collected.
    """
    heard: list[dict[str, Any]] = []

    async def watched() -> T:
        asyncio.get_running_loop().set_exception_handler(lambda _loop, told: heard.append(told))
        return await asyncio.wait_for(scene, 5)

    value = asyncio.run(watched())
    if collect:
        gc.collect()
    assert heard == []
    return value


async def until(happened: Callable[[], object]) -> None:
    """Let others run until it has happened, which a thread may not be able to say to this loop."""
    while not happened():  # noqa: ASYNC110 - as above
        await asyncio.sleep(0.001)
