"""How a vendor's calls and clients keep to event loops and threads; knows no vendor, request or result.

Public through ``adapting``.
"""

import asyncio
import contextvars
from collections.abc import Callable
from functools import partial
from typing import Any, Generic, ParamSpec, TypeVar

from knowledge_provider._failures import failure
from knowledge_provider._threads import ThreadCall, Threads
from knowledge_provider.cancel import CancelSignal
from knowledge_provider.errors import KnowledgeTimeoutError, KnowledgeUnavailableError
from knowledge_provider.limits import CONCURRENCY_MAX

_P = ParamSpec("_P")
_T = TypeVar("_T")


class DaemonThreads:
    """Runs a vendor's synchronous calls in at most ``limit`` threads that end with the process, whatever they do.

    A thread cannot be stopped. One that hangs outlives the call that gave up on it and stays counted until it returns,
    but holds back neither the loop's shutdown nor the interpreter's exit; ``asyncio.to_thread`` would hold back both.
    Belongs to no event loop, so it serves several, one after another or at once (clause 2.4).
    """

    def __init__(self, limit: int = CONCURRENCY_MAX) -> None:
        if limit < 1:
            raise ValueError(f"limit is {limit}: a call needs at least one thread to run in")
        self._limit = limit
        self._threads = Threads(limit)
        self._hung: set[ThreadCall[Any]] = set()

    async def run(self, signal: CancelSignal, function: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """The call's result, made with the caller's context variables; its exception is raised as it is.

        Waits until the signal's deadline at most, also for a thread while all are busy. Raises
        ``KnowledgeTimeoutError`` when that has passed, and ``KnowledgeUnavailableError`` at once when every thread
        hangs in a call that was given up.
        """
        if len(self._hung) >= self._limit:
            raise KnowledgeUnavailableError("no thread is free: earlier calls hang; try later")
        work = partial(contextvars.copy_context().run, function, *args, **kwargs)
        call: ThreadCall[_T] = ThreadCall(work, self._hung.discard)
        try:
            async with asyncio.timeout(signal.remaining()):
                outcome = await self._threads.outcome(call)
        except TimeoutError:
            raise KnowledgeTimeoutError("the deadline passed first; the late answer is dropped") from None
        finally:
            self._count(call)
        return outcome.result()

    def _count(self, call: ThreadCall[Any]) -> None:
        # In this order: a thread that ends meanwhile takes it out again.
        self._hung.add(call)
        if not call.running:
            self._hung.discard(call)


def made(make: Callable[[], _T], what: str) -> _T:
    """What ``make()`` gives, for a function of the user's; ``what`` names it.

    Raises ``KnowledgeFailedError`` when that raises, with fixed words (clause 6.4): its own may hold the very key that
    it makes a client with.
    """
    try:
        return make()
    except Exception as error:
        raise failure(error, what) from error


class PerLoop(Generic[_T]):
    """One client for each event loop, made when first asked for: a connection works on its own loop alone (2.4)."""

    def __init__(self, make: Callable[[], _T]) -> None:
        self._make = make
        self._clients: dict[asyncio.AbstractEventLoop, _T] = {}

    def get(self) -> _T:
        """The running loop's client; those of loops that have ended are forgotten.

        Raises ``KnowledgeFailedError`` when the function that makes them raises, which may be the user's.
        """
        loop = asyncio.get_running_loop()
        for ended in [known for known in self._clients if known.is_closed()]:
            self._clients.pop(ended, None)
        if loop not in self._clients:
            self._clients[loop] = made(self._make, "what makes the client")
        return self._clients[loop]

    def take(self) -> _T | None:
        """Hand the running loop's client over for closing, or None when there is none; ``get`` makes a new one."""
        return self._clients.pop(asyncio.get_running_loop(), None)
