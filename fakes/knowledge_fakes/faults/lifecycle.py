"""Mistakes in health and closing; knows section 2 of the contract, no way of catching them."""

import asyncio
import traceback
from itertools import count
from typing import Any

from knowledge_fakes.faults._changing import Changed, ask, settled
from knowledge_fakes.faults._fault import fault
from knowledge_provider import RetrievalContext, RetrievalRequest


@fault("KP-201", fragment="status 'ok'")
def health_says_ok(sound: Any) -> Any:
    """health() answers "ok", which is none of the four words, so a host reads it as a failure."""
    return Changed(sound, health=lambda: {"status": "ok"})


@fault("KP-201", fragment="status 'READY'")
def health_in_capitals(sound: Any) -> Any:
    """health() answers the name of an enumeration's member instead of its value."""
    return Changed(sound, health=lambda: {"status": "READY"})


@fault("KP-201", fragment="True")
def health_is_a_boolean(sound: Any) -> Any:
    """health() answers True, as the vendor's ping does."""
    return Changed(sound, health=lambda: True)


@fault("KP-202", fragment="ConnectionRefusedError")
def health_raises(sound: Any) -> Any:
    """health() lets the back end's exception out, and a status page shows a broken host instead."""

    def health() -> Any:
        raise ConnectionRefusedError(111, "Connection refused")

    return Changed(sound, health=health)


@fault("KP-202", fragment="no answer", settings={"timeout": 0.5}, waits=True)
def health_hangs(sound: Any) -> Any:
    """health() waits for a back end that never answers, and the whole status page with it."""

    async def health() -> Any:
        await asyncio.Event().wait()

    return Changed(sound, health=health)


@fault("KP-203", fragment="a string of at most 500 characters")
def health_message_is_a_traceback(sound: Any) -> Any:
    """The health message is a whole traceback, with file names and arguments in it."""

    def health() -> Any:
        try:
            raise ConnectionRefusedError(111, "Connection refused")
        except OSError:
            return {"status": "unavailable", "message": traceback.format_exc() * 5}

    return Changed(sound, health=health)


@fault("KP-203", fragment="ConnectionRefusedError object")
def health_message_is_an_exception(sound: Any) -> Any:
    """The health message is the exception itself, which no status page can send on."""
    return Changed(sound, health=lambda: {"status": "unavailable", "message": ConnectionRefusedError("refused")})


@fault("KP-204", fragment="RuntimeError: the pool is closed already")
def second_close_raises(sound: Any) -> Any:
    """close() raises when it is called again, and hides the error for which a host closed early."""
    closings = count(1)

    async def close() -> None:
        if next(closings) > 1:
            raise RuntimeError("the pool is closed already")
        await _closed(sound)

    return Changed(sound, close=close)


@fault("KP-204", "KP-205", fragment="AttributeError")
def close_raises(sound: Any) -> Any:
    """close() uses a client that is made at the first search, and raises when there was none."""

    async def close() -> None:
        raise AttributeError("'NoneType' object has no attribute 'aclose'")

    return Changed(sound, close=close)


@fault("KP-204", fragment="no answer", settings={"timeout": 0.5}, waits=True)
def second_close_hangs(sound: Any) -> Any:
    """close() waits for a worker to end, and the second time it waits for one that ended already."""
    closings = count(1)

    async def close() -> None:
        if next(closings) == 2:
            await asyncio.Event().wait()
        await _closed(sound)

    return Changed(sound, close=close)


@fault("KP-205", fragment="an empty answer to a query that had results before close()")
def closed_finds_nothing(sound: Any) -> Any:
    """A closed provider has an empty index, and answers that there is nothing about anything."""
    closings = count()
    state = {"open": True}

    async def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        return await ask(sound, request, context) if state["open"] else []

    async def close() -> None:
        state["open"] = False
        if next(closings) == 0:
            await _closed(sound)

    return Changed(sound, retrieve=retrieve, close=close)


@fault("KP-205", fragment="in a different task than it was entered in")
def session_of_its_first_task(sound: Any) -> Any:
    """Only the task that made the first search may close its session, as a task group has it, and another does."""
    opened: list[asyncio.Task[Any] | None] = []

    async def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        opened.append(asyncio.current_task())
        return await ask(sound, request, context)

    async def close() -> None:
        if opened and asyncio.current_task() is not opened[0]:
            raise RuntimeError("Attempted to exit cancel scope in a different task than it was entered in")
        await _closed(sound)

    return Changed(sound, retrieve=retrieve, close=close)


async def _closed(sound: Any) -> None:
    if hasattr(sound, "close"):
        await settled(sound.close())
