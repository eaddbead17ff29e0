"""How a provider's method is called without letting it escape: on the loop or in a thread, and always with an end.

Knows nothing of requests, checks or results. This file awaits; what its callers make of an ending is decided elsewhere.
"""

import asyncio
import contextlib
import functools
import inspect
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from knowledge_conformance.blame import (
    SAMPLE_SECONDS,
    SAMPLES,
    Stack,
    agreed,
    authors,
    stack_of_awaitable,
    stack_of_thread,
)
from knowledge_conformance.threads import run_in_thread
from knowledge_provider import CancelSignal, limits

GRACE_SECONDS: Final = limits.CANCEL_SECONDS
"""How long a cancelled call may take to end (clause 7.1)."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How a call ended: with a ``value``, with an ``error``, or not within its time.

    ``hung`` means that the time was up; ``left_running`` that it then did not end when it was cancelled either.
    ``awaited``: calling the method gave something to await.
    ``held`` says where in the author's code it stood then, as " in …", and ``goes_on`` where it stands now, or "".
    """

    value: Any = None
    error: BaseException | None = None
    seconds: float = 0.0
    hung: bool = False
    left_running: bool = False
    awaited: bool = False
    held: str = ""
    goes_on: str = ""

    @property
    def instead(self) -> str:
        """What came of a call that hung, in words."""
        waits = f": it waits{self.held}" if self.held else ""
        if not self.left_running:
            return f"no answer{waits}"
        goes_on = f", and goes on{self.goes_on}" if self.held and self.goes_on not in ("", self.held) else ""
        return f"it was still running after it was cancelled, too{waits}{goes_on}"


def is_async(function: Callable[..., Any]) -> bool:
    """Whether calling it gives a coroutine, through partials and callable objects; raises nothing."""
    with contextlib.suppress(BaseException):  # a callable object may be anything
        while isinstance(function, functools.partial):
            function = function.func
        method = getattr(type(function), "__call__", None)  # noqa: B004 - it is looked at, not called
        return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(method)
    return False


async def call(
    function: Callable[..., Any], *arguments: object, seconds: float, on_timeout: Callable[[], None] | None = None
) -> Ending:
    """Call a provider's method and come back within ``seconds`` plus the grace, whatever it does on the loop.

    A synchronous method runs in a daemon thread, which is left behind when it does not end. ``on_timeout`` runs before
    the call is cancelled. A method that blocks the loop itself ends only with its process, by the supervisor.
    """
    began = time.perf_counter()
    threads: list[threading.Thread] = []
    awaited = False

    async def run() -> Any:
        nonlocal awaited
        begun = await begin(function, *arguments, threads=threads)
        with contextlib.suppress(BaseException):  # what a call gave may be anything
            awaited = inspect.isawaitable(begun)
        return await finish(begun)

    task = asyncio.ensure_future(run())
    done, _ = await asyncio.wait({task}, timeout=seconds)
    if done:
        return replace(_ended(task, began), awaited=awaited)
    held = await where_it_waits(task, threads)
    if on_timeout is not None:
        on_timeout()
    task.cancel()
    done, _ = await asyncio.wait({task}, timeout=GRACE_SECONDS)
    goes_on = "" if done else await where_it_waits(task, threads)
    seconds = time.perf_counter() - began
    return Ending(seconds=seconds, hung=True, left_running=not done, awaited=awaited, held=held, goes_on=goes_on)


def on_loop(function: Callable[..., Any], *arguments: object, **named: object) -> Callable[[], Awaitable[Any]]:
    """The call as ``call`` and ``shielded`` make it on the loop's own thread, whether it is synchronous or not.

    For what lives on its loop, as hosts and what makes them: it may bind itself to the loop that it is called on.
    """

    async def run() -> Any:
        value = function(*arguments, **named)
        return await value if inspect.isawaitable(value) else value

    return run


async def where_it_waits(task: "asyncio.Future[Any]", threads: Sequence[threading.Thread] = ()) -> str:
    """Where in the author's code a task is suspended, or a thread that it waits for works, as " in …", or ""."""
    stacks: list[Stack] = []
    # A call that polls is somewhere else each time.
    for _ in range(SAMPLES):
        suspended = stack_of_awaitable(task)
        stacks.append(suspended if authors(suspended) or not threads else stack_of_thread(threads[-1].ident))
        await asyncio.sleep(SAMPLE_SECONDS)
    return agreed(stacks)


@dataclass(frozen=True, slots=True)
class Raised:
    """An exception that came out of provider code, carried as a value."""

    error: BaseException


async def shielded(function: Callable[..., Any], *arguments: object) -> Any:
    """The method's value, or ``Raised``; only this task's own cancellation comes out.

    ``SystemExit`` and ``KeyboardInterrupt`` must not reach asyncio: it would stop the loop, and the kit with it.
    A ``CancelledError`` that nobody asked for is the provider's own error.
    """
    return await finish(await begin(function, *arguments))


async def begin(function: Callable[..., Any], *arguments: object, threads: list[threading.Thread] | None = None) -> Any:
    """What calling the method gives: something to await, or its value, or ``Raised``.

    A coroutine function is called on the loop. Any other might block, so it is called in a thread, which ``threads``
    gets; what it returns may still be a coroutine, as a decorated method's is.
    """
    if not is_async(function):
        return await in_thread(function, *arguments, threads=threads)
    try:
        return function(*arguments)
    except BaseException as error:  # as in ``finish``
        return Raised(error)


async def finish(begun: Any) -> Any:
    """The value of what ``begin`` gave, or ``Raised``; the rest is as in ``shielded``."""
    try:
        return await begun if inspect.isawaitable(begun) else begun
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        return Raised(error)
    except BaseException as error:  # whatever comes out of a provider is a finding, not an accident
        return Raised(error)


def _ended(task: "asyncio.Future[Any]", began: float) -> Ending:
    seconds = time.perf_counter() - began
    if task.cancelled():
        return Ending(error=asyncio.CancelledError(), seconds=seconds)
    value = task.result()
    if type(value) is Raised:
        return Ending(error=value.error, seconds=seconds)
    return Ending(value=value, seconds=seconds)


def in_thread(
    function: Callable[..., Any], *arguments: object, threads: list[threading.Thread] | None = None
) -> Awaitable[Any]:
    """A future of ``function(*arguments)``, run in a thread that is used again, as an executor's, and holds up no exit.

    ``threads`` gets that thread.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()

    def settle(value: object) -> None:
        if not future.done():
            future.set_result(value)

    def work() -> Callable[[], None]:
        try:
            value = function(*arguments)
        except BaseException as error:  # as in ``shielded``
            value = Raised(error)
        return functools.partial(tell, value)

    def tell(value: object) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is gone: nobody waits for this any more
            loop.call_soon_threadsafe(settle, value)

    thread = run_in_thread(work)
    if threads is not None:
        threads.append(thread)
    return future


def takes_argument(function: Callable[..., Any]) -> bool:
    """Whether a method can be called with one positional argument; one that cannot be inspected is taken to."""
    try:
        inspect.signature(function).bind(None)
    except TypeError:
        return False
    except BaseException:  # ``__signature__`` is the provider's code
        return True
    return True


async def cancelled_by_the_host(task: "asyncio.Task[Any]", signal: CancelSignal) -> None:
    """Cancel a call as a host does, its task and its signal, and wait ``GRACE_SECONDS`` for its end at most."""
    task.cancel()
    signal.cancel("cancelled by the host")
    await asyncio.wait({task}, timeout=GRACE_SECONDS)
