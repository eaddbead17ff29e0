"""The one way in which a host and a composite call a provider; knows no query, result, owner or outcome.

This file awaits. Whatever a provider does on the loop or in a thread, its call has an end, and the end is a value.
"""

import asyncio
import contextlib
import contextvars
import functools
import inspect
from collections.abc import Callable
from types import CoroutineType
from typing import Any, Final, NamedTuple

from knowledge_provider import limits
from knowledge_provider._calls import in_daemon_thread
from knowledge_provider.cancel import CancelSignal, linked_signal
from knowledge_provider.errors import KnowledgeUnavailableError
from knowledge_provider.models import RetrievalContext, RetrievalRequest
from knowledge_provider.text import is_a

__all__ = ["GRACE", "Ending", "ProviderCalls", "is_async", "linked_signal", "takes_argument"]

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
    """One call, known by identity: what to call, at most how many may hang beside it, and what a thread ``made``."""

    __slots__ = ("limit", "made", "method")

    def __init__(self, method: Callable[[CancelSignal], _Method], limit: int) -> None:
        self.method = method
        self.limit = limit
        self.made: object = None


class ProviderCalls:
    """Calls one provider's methods so that each call ends by its deadline, and none ends its caller.

    A coroutine function is called on the loop, in a task of its own. Any other callable might block, so it is called
    in a daemon thread; what it returns may still be awaitable, and is then awaited on the loop.

    Whatever the method raises is ``Ending.error``, a ``SystemExit`` and a ``CancelledError`` that nobody asked for
    included. A ``KeyboardInterrupt`` is the user's and goes through.

    A call that does not end when it is cancelled is given up: it is counted in ``abandoned`` until it ends, and its
    late answer is dropped. At most ``limit`` calls are given up or in a thread at a time. Beyond that a call ends at
    once, with a ``KnowledgeUnavailableError`` as its error.

    Belongs to no event loop, so it serves several, one after another or at once (clause 2.4).
    """

    def __init__(self, provider: Any, *, limit: int = limits.CONCURRENCY_MAX) -> None:
        self._provider = provider
        self._limit = limit
        self._in_thread: set[_Call] = set()
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
        then the provider's signal and task are cancelled too, and have ``GRACE`` to end (clause 8.7).
        """

        def method(signal: CancelSignal) -> _Method:
            return self._provider.retrieve, (request, context.model_copy(update={"signal": signal}))

        return await self._end_of(_Call(method, self._limit), context.signal, seconds)

    async def health(self, seconds: float) -> Ending:
        """Ask for the provider's health, with a signal where it takes one; one without ``health`` is ready (2.1)."""

        def method(signal: CancelSignal) -> _Method:
            function = getattr(self._provider, "health", None)
            if function is None:
                return _ready, ()
            return function, (signal,) if takes_argument(function) else ()

        return await self._end_of(_Call(method, self._limit), CancelSignal(), seconds)

    async def close(self, seconds: float) -> Ending:
        """Close the provider where it can be closed (clause 1.1), also when ``limit`` calls are given up."""

        def method(_: CancelSignal) -> _Method:
            function = getattr(self._provider, "close", None)
            return _nothing if function is None else function, ()

        return await self._end_of(_Call(method, self._limit + 1), CancelSignal(), seconds)

    async def _end_of(self, call: _Call, parent: CancelSignal, seconds: float | None) -> Ending:
        # Clause 8.7: cancelled before the call, the provider is not invoked; nor is it where no time is left.
        await _cancellation_under_way()
        parent.raise_if_cancelled()
        with linked_signal(parent, seconds) as signal:
            if signal.remaining() == 0.0:
                return Ending(timed_out=True)
            task = asyncio.create_task(self._ending(call, signal))
            try:
                await _done_or_told(task, parent, signal.remaining())
                parent.raise_if_cancelled()
            except asyncio.CancelledError:
                signal.cancel()
                self._give_up(call, task)
                await asyncio.wait({task}, timeout=GRACE)
                raise
            return _ended(task) if task.done() else await self._late(call, task, signal)

    async def _late(self, call: _Call, task: "asyncio.Task[Ending]", signal: CancelSignal) -> Ending:
        # Clause 8.6: the deadline ends the wait, also when the provider ignores it. What comes later goes nowhere.
        signal.cancel("timeout")
        self._give_up(call, task)
        for _ in range(_LAST_TURNS):
            if task.done():
                break
            await asyncio.sleep(0)
        return Ending(timed_out=True)

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
        context = contextvars.copy_context()

        def make() -> None:
            call.made = context.run(work)

        def ended() -> None:
            self._in_thread.discard(call)
            self._forget_ended()

        self._in_thread.add(call)
        (await in_daemon_thread(make, ended)).result()
        return call.made

    def _give_up(self, call: _Call, task: "asyncio.Task[Ending]") -> None:
        task.cancel()
        self._given_up[call] = task
        task.add_done_callback(lambda _: self._forget_ended())

    def _require_room(self, limit: int) -> None:
        if self._given_up:
            self._forget_ended()
        if len(self._in_thread | self._given_up.keys()) >= limit:
            raise KnowledgeUnavailableError("earlier calls of the provider hang, or come too fast: try again later")

    def _forget_ended(self) -> None:
        # Copied at once: threads and other loops come and go.
        for call, task in tuple(self._given_up.items()):
            if call not in self._in_thread and (task.done() or task.get_loop().is_closed()):
                self._given_up.pop(call, None)
                _drop(call)


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


def _ended(task: "asyncio.Task[Ending]") -> Ending:
    # A provider may cancel its own task and return before that takes effect.
    return Ending(error=asyncio.CancelledError()) if task.cancelled() else task.result()


def _drop(call: _Call) -> None:
    # A coroutine that a thread made too late would say, when it is collected, that it was never awaited.
    if is_a(call.made, _COROUTINE) and inspect.getcoroutinestate(call.made) == inspect.CORO_CREATED:
        call.made.close()
