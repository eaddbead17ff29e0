"""At most so many calls in threads at a time, first come, first served; knows no provider, signal or request.

A thread cannot be stopped. So these are daemon threads, which hold back neither a loop's shutdown nor the
interpreter's exit; those of an executor would hold back both.
"""

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, Generic, TypeVar

from knowledge_provider.errors import KnowledgeUnavailableError

_T = TypeVar("_T")


class ThreadCall(Generic[_T]):
    """One call to be made in a thread for a waiter on the running loop; known by identity.

    ``running`` is whether a thread makes it, ``outcome`` how it ended once it has, also when nobody waits any more.
    ``ended(call)`` is called in the thread then, after ``running`` has changed.
    """

    __slots__ = ("_call", "_ended", "done", "outcome", "running")

    def __init__(self, call: Callable[[], _T], ended: "Callable[[ThreadCall[_T]], object]") -> None:
        self._call = call
        self._ended = ended
        self.running = False
        self.outcome: Future[_T] | None = None
        self.done: asyncio.Future[Future[_T]] = asyncio.get_running_loop().create_future()

    def make(self) -> None:
        """Make it, unless its waiter has gone; raises nothing."""
        # Asked while `running` is true: whoever gives a call up asks in the other order, and misses none that is made.
        if not (self.done.done() or self.done.get_loop().is_closed()):
            self.outcome = _outcome(self._call)
        self._tell()

    def refuse(self, why: RuntimeError) -> None:
        """Let it end with a ``KnowledgeUnavailableError``, since no thread can be started for it."""
        self.outcome = Future()
        refusal = KnowledgeUnavailableError("the system starts no more threads; try again later")
        refusal.__cause__ = why
        self.outcome.set_exception(refusal)
        self._tell()

    def _tell(self) -> None:
        self.running = False
        self._ended(self)
        # A closed loop refuses, and then nobody waits any more.
        with suppress(RuntimeError):
            self.done.get_loop().call_soon_threadsafe(_settle, self.done, self.outcome)


class Threads:
    """Makes at most ``limit`` calls at a time, each in a daemon thread; the others wait in the order of their coming.

    Belongs to no event loop: the waiters may be on several, and a waiter that goes leaves its place in the order.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._running = 0
        self._waiting: OrderedDict[ThreadCall[Any], None] = OrderedDict()
        # Reentrant: a collection of garbage under the lock may end a waiter, which takes it, too.
        self._lock = threading.RLock()

    async def outcome(self, call: ThreadCall[_T]) -> "Future[_T]":
        """How the call ended: with a ``KnowledgeUnavailableError`` where the system starts no thread."""
        self._begin(call)
        try:
            return await call.done
        finally:
            with self._lock:
                self._waiting.pop(call, None)

    def _begin(self, call: ThreadCall[Any]) -> None:
        with self._lock:
            if self._running >= self._limit:
                self._waiting[call] = None
                return
            call.running = True
            self._running += 1
        # Not under the lock: it waits for the thread's first step, and the thread may be through by then.
        try:
            threading.Thread(target=self._work, args=(call,), name="knowledge-call", daemon=True).start()
        except RuntimeError as error:
            self._refuse(call, error)

    def _refuse(self, call: ThreadCall[Any], why: RuntimeError) -> None:
        with self._lock:
            self._running -= 1
            # Those that began to wait meanwhile: without a thread, none would come to them.
            stranded = (
                [] if self._running else [self._waiting.popitem(last=False)[0] for _ in range(len(self._waiting))]
            )
        for each in (call, *stranded):
            each.refuse(why)

    def _work(self, call: ThreadCall[Any] | None) -> None:
        # A thread that is free takes the next call itself, so none waits while a thread has nothing to do.
        while call is not None:
            call.make()
            call = self._next()

    def _next(self) -> ThreadCall[Any] | None:
        with self._lock:
            if not self._waiting:
                self._running -= 1
                return None
            call, _ = self._waiting.popitem(last=False)
            call.running = True
            return call


def _outcome(call: Callable[[], _T]) -> "Future[_T]":
    # Handed over whole: asyncio's own future refuses a StopIteration and leaves its waiter waiting for ever.
    outcome: Future[_T] = Future()
    try:
        outcome.set_result(call())
    except BaseException as error:
        outcome.set_exception(error)
    return outcome


def _settle(done: "asyncio.Future[Future[_T]]", outcome: "Future[_T] | None") -> None:
    if outcome is not None and not done.done():
        done.set_result(outcome)
