"""The one way in which a host and a composite call a provider; knows no query, result, owner or outcome.

This file awaits. Whatever a provider awaits on the loop or does in a thread, its call has an end, and the end is a
value; ``ProviderCalls`` says what is out of reach.
"""

import asyncio
import contextlib
import contextvars
import functools
import inspect
from collections.abc import Awaitable, Callable
from types import CoroutineType
from typing import Any, Final, NamedTuple

from knowledge_provider import limits
from knowledge_provider._threads import ThreadCall, Threads
from knowledge_provider.cancel import CancelSignal, linked_signal
from knowledge_provider.errors import KnowledgeUnavailableError
from knowledge_provider.models import RetrievalContext, RetrievalRequest
from knowledge_provider.text import is_a

GRACE: Final = 0.25
"""Seconds that a call which its caller has cancelled may take to end before it is given up."""

# Loop turns that a call may take to end once its deadline has passed: enough for a few nested `finally` blocks.
_LAST_TURNS: Final = 8

_COROUTINE: Final["type[CoroutineType[Any, Any, Any]]"] = CoroutineType
# Also where a metaclass has put something else in the way.
_MRO: Final = type.__dict__["__mro__"]
_NAMES: Final = type.__dict__["__dict__"]

_Method = tuple[Callable[..., Any], tuple[object, ...]]
"""What to call, and with what."""


class Ending(NamedTuple):
    """How a call ended: with a ``value``, with an ``error``, or ``timed_out`` when its deadline passed first."""

    value: Any = None
    error: BaseException | None = None
    timed_out: bool = False


class _Call:
    """One call, known by identity: what to call, beside how many that hang it may be made, and in which threads."""

    __slots__ = ("limit", "method", "thread", "threads")

    def __init__(self, method: Callable[[CancelSignal], _Method], limit: int, threads: Threads) -> None:
        self.method = method
        self.limit = limit
        self.threads = threads
        self.thread: ThreadCall[Any] | None = None

    def is_in_thread(self) -> bool:
        return self.thread is not None and self.thread.running

    def drop(self) -> None:
        # A coroutine that a thread made too late would say, when it is collected, that it was never awaited.
        outcome = self.thread and self.thread.outcome
        made = outcome.result() if outcome and outcome.exception() is None else None
        if is_a(made, _COROUTINE) and inspect.getcoroutinestate(made) == inspect.CORO_CREATED:
            made.close()


class ProviderCalls:
    """Calls one provider's methods so that each call ends by its deadline, and none ends its caller.

    A coroutine function is called on the loop, in a task of its own. Any other callable might block, so it is called
    in a daemon thread, where no loop runs; what it returns may still be awaitable, and is then awaited on the loop.

    A deadline is the loop's: it fires when the loop is free to look. Out of reach are a coroutine that holds the loop,
    code that holds the interpreter, as a loop inside C may, and what ends the process, as ``os._exit`` does. What has
    been answered by the time the loop looks is an answer, however late: a call that held the loop must not time out
    the others on it.

    Whatever the method raises is ``Ending.error``, a ``SystemExit`` and a ``CancelledError`` that nobody asked for
    included. A ``KeyboardInterrupt`` is the user's and goes through.

    A call that does not end when it is cancelled is given up: it is counted in ``abandoned`` until it ends, and its
    late answer is dropped. While ``limit`` calls are given up, a further one ends at once, with a
    ``KnowledgeUnavailableError`` as its error. At most ``limit`` calls are in threads at a time; those beyond wait for
    a free one, in the order of their coming, until their deadlines.

    Belongs to no event loop, so it serves several, one after another or at once (clause 2.4).
    """

    def __init__(self, provider: Any, *, limit: int = limits.CONCURRENCY_MAX) -> None:
        self._provider = provider
        self._limit = limit
        self._threads = Threads(limit)
        # Closing is the last call, and what might end the others.
        self._closing_thread = Threads(1)
        self._given_up: dict[_Call, asyncio.Task[Ending]] = {}

    @property
    def abandoned(self) -> int:
        """How many calls have been given up and still run (clause 8.6)."""
        self._forget_ended()
        return len(self._given_up)

    async def retrieve(
        self, request: RetrievalRequest, context: RetrievalContext, seconds: float | None = None
    ) -> Ending:
        """Ask the provider, and wait until the deadline of ``context.signal`` or ``seconds``, whichever is earlier.

        The provider gets the context with a signal of this call, linked to the context's own: one that it cancels
        itself cancels nobody else. Raises ``CancelledError`` when the caller's task or ``context.signal`` is cancelled;
        then the provider's signal and task are cancelled too, and have ``GRACE`` to end (clause 8.7). Where the
        caller's coroutine is closed, they are cancelled as well, and nobody waits.
        """

        def method(signal: CancelSignal) -> _Method:
            return self._provider.retrieve, (request, context.model_copy(update={"signal": signal}))

        return await self._end_of(_Call(method, self._limit, self._threads), context.signal, seconds)

    async def health(self, seconds: float) -> Ending:
        """Ask for the provider's health, with a signal where it takes one; one without ``health`` is ready (2.1)."""

        def method(signal: CancelSignal) -> _Method:
            function = getattr(self._provider, "health", None)
            if function is None:
                return _ready, ()
            return function, (signal,) if takes_argument(function) else ()

        return await self._end_of(_Call(method, self._limit, self._threads), CancelSignal(), seconds)

    async def close(self, seconds: float) -> Ending:
        """Close the provider where it can be closed (clause 1.1), also when ``limit`` calls are given up."""

        def method(_: CancelSignal) -> _Method:
            function = getattr(self._provider, "close", None)
            return _nothing if function is None else function, ()

        return await self._end_of(_Call(method, self._limit + 1, self._closing_thread), CancelSignal(), seconds)

    async def _end_of(self, call: _Call, parent: CancelSignal, seconds: float | None) -> Ending:
        # Clause 8.7: cancelled before the call, the provider is not invoked; nor is it where no time is left.
        await _cancellation_under_way()
        parent.raise_if_cancelled()
        with linked_signal(parent, seconds) as signal:
            if signal.remaining() == 0.0:
                return Ending(timed_out=True)
            return await self._waited_for(call, parent, signal)

    async def _waited_for(self, call: _Call, parent: CancelSignal, signal: CancelSignal) -> Ending:
        task = asyncio.create_task(self._ending(call, signal))
        task.add_done_callback(lambda _: self._forget_ended())
        try:
            await _done_or_told(task, parent, signal.remaining())
            parent.raise_if_cancelled()
        except asyncio.CancelledError:
            signal.cancel()
            await self._stopped(call, task, asyncio.wait({task}, timeout=GRACE))
            raise
        except GeneratorExit:
            self._leave(call, task, signal)
            raise
        if task.done():
            return _ended(task)
        # Clause 8.6: the deadline ends the wait, also when the provider ignores it. What comes later goes nowhere.
        signal.cancel("timeout")
        await self._stopped(call, task, _last_turns(task))
        return Ending(timed_out=True)

    async def _stopped(self, call: _Call, task: "asyncio.Task[Ending]", patience: Awaitable[object]) -> None:
        task.cancel()
        try:
            await patience
        finally:
            self._give_up(call, task)

    def _leave(self, call: _Call, task: "asyncio.Task[Ending]", signal: CancelSignal) -> None:
        # Who closes the caller's coroutine cannot be made to wait, and may be in another thread, or its loop closed.
        signal.cancel()
        with contextlib.suppress(RuntimeError):
            task.get_loop().call_soon_threadsafe(task.cancel)
        self._give_up(call, task)

    async def _ending(self, call: _Call, signal: CancelSignal) -> Ending:
        # As a value: a SystemExit that reached asyncio would stop the loop, and the host with it.
        try:
            return Ending(await self._value(call, *call.method(signal)))
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            return Ending(error=error)

    async def _value(self, call: _Call, function: Callable[..., Any], arguments: tuple[object, ...]) -> Any:
        self._require_room(call.limit)
        work = functools.partial(function, *arguments)
        made = work() if is_async(function) else await self._made_in_thread(call, work)
        return await made if _is_awaitable(made) else made

    async def _made_in_thread(self, call: _Call, work: Callable[[], Any]) -> Any:
        in_context = functools.partial(contextvars.copy_context().run, work)
        call.thread = ThreadCall(in_context, lambda _: self._forget_ended())
        return (await call.threads.outcome(call.thread)).result()

    def _give_up(self, call: _Call, task: "asyncio.Task[Ending]") -> None:
        # In this order: one that ends meanwhile is taken out by whichever looks last.
        self._given_up[call] = task
        self._forget_ended()

    def _require_room(self, limit: int) -> None:
        if self.abandoned >= limit:
            raise KnowledgeUnavailableError("earlier calls of the provider hang: try again later")

    def _forget_ended(self) -> None:
        # Copied at once: threads and other loops come and go.
        for call, task in tuple(self._given_up.items()):
            if not call.is_in_thread() and (task.done() or task.get_loop().is_closed()):
                self._given_up.pop(call, None)
                call.drop()


async def _ready() -> dict[str, str]:
    return {"status": "ready"}


async def _nothing() -> None:
    return


def is_async(function: object) -> bool:
    """Whether calling it gives a coroutine, through partials and callable objects; raises nothing."""
    with contextlib.suppress(Exception):  # a callable object may be anything
        while isinstance(function, functools.partial):
            function = function.func
        method = getattr(type(function), "__call__", None)  # noqa: B004 - it is looked at, not called
        return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(method)
    return False


def takes_argument(function: Any) -> bool:
    """Whether it can be called with one positional argument; one that cannot be inspected is taken to."""
    try:
        inspect.signature(function).bind(None)
    except TypeError:
        return False
    except Exception:  # `__signature__` is the provider's code
        return True
    return True


def _is_awaitable(value: object) -> bool:
    # Read from the class as the interpreter does. `inspect.isawaitable` asks the value, which may raise, and an
    # abstract class that would remember every class that it was asked about.
    return any("__await__" in _NAMES.__get__(base) for base in _MRO.__get__(type(value)))


async def _cancellation_under_way() -> None:
    """Let a cancellation of this task that was asked for, and has not arrived, arrive here."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        await asyncio.sleep(0)


async def _done_or_told(task: "asyncio.Task[Ending]", parent: CancelSignal, seconds: float | None) -> None:
    """Return when the task is done, the parent is cancelled, or the seconds are over; leave nothing behind.

    Never ``asyncio.wait_for``: it waits for a task that swallows its cancellation.
    """
    loop = asyncio.get_running_loop()
    waiter = loop.create_future()

    def wake(_: object = None) -> None:
        if not waiter.done():
            waiter.set_result(None)

    def wake_from_anywhere() -> None:
        loop.call_soon_threadsafe(wake)

    timer = None if seconds is None else loop.call_later(seconds, wake)
    task.add_done_callback(wake)
    parent.add_callback(wake_from_anywhere)
    try:
        await waiter
    finally:
        parent.remove_callback(wake_from_anywhere)
        if timer is not None:
            timer.cancel()


async def _last_turns(task: "asyncio.Task[Ending]") -> None:
    for _ in range(_LAST_TURNS):
        if task.done():
            break
        await asyncio.sleep(0)


def _ended(task: "asyncio.Task[Ending]") -> Ending:
    # A provider may cancel its own task and return before that takes effect.
    return Ending(error=asyncio.CancelledError()) if task.cancelled() else task.result()
