"""How ``plain_host`` calls a provider and how such a call ends; knows threads and tasks, no request and no clause 8."""

import asyncio
import inspect
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, NamedTuple

from knowledge_provider import KnowledgeUnavailableError
from knowledge_provider.text import is_a

_CALLS_MAX: Final = 32  # that run in threads, or run on although nobody waits for them


class Ending(NamedTuple):
    """What a call gave, or what it raised."""

    value: Any = None
    error: BaseException | None = None


async def ending(method: Callable[..., Any], *arguments: object, left: set[object]) -> Ending:
    """Call it, on this loop where it is an ``async def`` and in a thread otherwise; an awaitable is awaited.

    ``left`` holds the call while its thread runs, and what is in it is bounded. Raises nothing but its cancellation
    and ``KeyboardInterrupt``.
    """
    if len(left) >= _CALLS_MAX:
        return Ending(error=KnowledgeUnavailableError("too many calls still run; try again later"))
    if inspect.iscoroutinefunction(method):
        return await _awaited(method(*arguments))
    found = await in_thread(method, *arguments, left=left)
    if is_a(found.error, KeyboardInterrupt):
        raise found.error
    # Asked of the class: an answer may raise when it is asked for anything, or lie.
    return await _awaited(found.value) if hasattr(type(found.value), "__await__") else found


async def in_thread(method: Callable[..., Any], *arguments: object, left: set[object]) -> Ending:
    """How the call ends in a daemon thread; a thread cannot be stopped, and its late ending is dropped."""
    told: asyncio.Future[Ending] = asyncio.get_running_loop().create_future()
    token = object()

    def work() -> None:
        found = _called(method, *arguments)
        left.discard(token)
        # Nobody waits any more on a loop that is closed.
        with suppress(RuntimeError):
            told.get_loop().call_soon_threadsafe(_settle, told, found)

    left.add(token)
    threading.Thread(target=work, daemon=True).start()
    return await told


async def _awaited(awaitable: Any) -> Ending:
    try:
        return Ending(await awaitable)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return Ending(error=error)


def _called(method: Callable[..., Any], *arguments: object) -> Ending:
    try:
        return Ending(method(*arguments))
    except BaseException as error:
        return Ending(error=error)


def _settle(told: "asyncio.Future[Ending]", found: Ending) -> None:
    if not told.done():
        told.set_result(found)
