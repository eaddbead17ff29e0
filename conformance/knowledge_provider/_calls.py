"""How a vendor's calls and clients keep to event loops and threads; knows no vendor, request or result.

Public through ``adapting``.
"""

import asyncio
import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from typing import Generic, ParamSpec, TypeVar

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
        self._free = threading.Semaphore(limit)

    async def run(self, signal: CancelSignal, function: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """The call's result, made with the caller's context variables; its exception is raised as it is.

        Waits until the signal's deadline at most. Raises ``KnowledgeTimeoutError`` when that has passed, and
        ``KnowledgeUnavailableError`` at once when every thread is busy.
        """
        if not self._free.acquire(blocking=False):
            raise KnowledgeUnavailableError("no thread is free: earlier calls hang, or come too fast; try later")
        done = in_daemon_thread(partial(contextvars.copy_context().run, function, *args, **kwargs), self._free.release)
        try:
            async with asyncio.timeout(signal.remaining()):
                outcome = await done
        except TimeoutError:
            raise KnowledgeTimeoutError("the deadline passed first; the late answer is dropped") from None
        return outcome.result()


def in_daemon_thread(call: Callable[[], _T], ended: Callable[[], object]) -> "asyncio.Future[Future[_T]]":
    """How ``call()`` ends in a daemon thread, as a future of the running loop; ``ended()`` runs in the thread then.

    Where the system starts no thread, ``ended()`` runs too, and ``KnowledgeUnavailableError`` is raised.
    """
    done: asyncio.Future[Future[_T]] = asyncio.get_running_loop().create_future()
    try:
        threading.Thread(target=_work, args=(call, ended, done), name="knowledge-call", daemon=True).start()
    except RuntimeError as error:
        ended()
        raise KnowledgeUnavailableError("the system starts no more threads; try again later") from error
    return done


def _work(call: Callable[[], _T], ended: Callable[[], object], done: "asyncio.Future[Future[_T]]") -> None:
    outcome = _outcome(call)
    ended()
    # A closed loop refuses, and then nobody waits any more.
    with suppress(RuntimeError):
        done.get_loop().call_soon_threadsafe(_settle, done, outcome)


def _outcome(call: Callable[[], _T]) -> "Future[_T]":
    # Handed over whole: asyncio's own future refuses a StopIteration and leaves its waiter waiting for ever.
    outcome: Future[_T] = Future()
    try:
        outcome.set_result(call())
    except BaseException as error:
        outcome.set_exception(error)
    return outcome


def _settle(done: "asyncio.Future[Future[_T]]", outcome: "Future[_T]") -> None:
    if not done.done():
        done.set_result(outcome)


class PerLoop(Generic[_T]):
    """One client for each event loop, made when first asked for: a connection works on its own loop alone (2.4)."""

    def __init__(self, make: Callable[[], _T]) -> None:
        self._make = make
        self._clients: dict[asyncio.AbstractEventLoop, _T] = {}

    def get(self) -> _T:
        """The running loop's client; those of loops that have ended are forgotten."""
        loop = asyncio.get_running_loop()
        for ended in [known for known in self._clients if known.is_closed()]:
            self._clients.pop(ended, None)
        if loop not in self._clients:
            self._clients[loop] = self._make()
        return self._clients[loop]

    def take(self) -> _T | None:
        """Hand the running loop's client over for closing, or None when there is none; ``get`` makes a new one."""
        return self._clients.pop(asyncio.get_running_loop(), None)
