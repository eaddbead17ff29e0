"""Providers that do what a test tells them to, for whoever tests a host; knows the contract, no host, kit or clock.

Nothing in here sleeps: who is slow waits for the test, and the test waits for it::

    with HeldProvider([[{"id": "a", "content": "one"}]]) as provider:
        search = asyncio.create_task(host.search("policy", context=context))
        await provider.started.wait()
        provider.release()
        outcome = await search

Beside them stand ``MALFORMED`` (answers that are no answers), ``RAISING`` (whatever a provider may raise) and
``UNFIT`` (objects that are no providers), each a mapping of names to functions that make a fresh one.
"""

import asyncio
import inspect
import itertools
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, Self, TypeGuard

from knowledge_fakes._malformed import MALFORMED
from knowledge_fakes._raising import RAISING, SECRET
from knowledge_fakes._unfit import UNFIT
from knowledge_provider import PROTOCOL_VERSION, CancelSignal, RetrievalContext, RetrievalRequest
from knowledge_provider.text import is_a

__all__ = [
    "MALFORMED",
    "RAISING",
    "SECRET",
    "UNFIT",
    "BlockingProvider",
    "Call",
    "DeafProvider",
    "Flag",
    "HeldProvider",
    "ScriptedProvider",
    "SyncScriptedProvider",
    "returning",
]


class Call(NamedTuple):
    """One call of ``retrieve``, with the very objects that came."""

    request: RetrievalRequest
    context: RetrievalContext


class Flag:
    """Something that has happened or not: any thread may set it, any thread and any event loop may wait for it."""

    def __init__(self) -> None:
        # The signal of the contract already wakes waiters on other loops.
        self._signal = CancelSignal()
        self._event = threading.Event()

    def set(self) -> None:
        """It has happened; a second time changes nothing."""
        self._event.set()
        self._signal.cancel("set")

    def is_set(self) -> bool:
        """Whether it has happened."""
        return self._event.is_set()

    async def wait(self) -> None:
        """Return once it has happened."""
        await self._signal.wait()

    def wait_in_thread(self, seconds: float | None = None) -> bool:
        """Block this thread until it has happened, at most ``seconds``; whether it has."""
        return self._event.wait(seconds)


def returning(value: object) -> Callable[..., object]:
    """An answer for a script that gives ``value`` itself, also where that is an exception or can be called."""
    return lambda *_arguments: value


class _Script:
    """What all of them share: the description, the answers in order, and what came."""

    health: Callable[..., Any]

    def __init__(
        self,
        answers: Iterable[object] = (),
        *,
        key: str = "scripted",
        label: str = "A scripted provider",
        capabilities: Mapping[str, bool] | None = None,
        health: object = None,
        closing: object = None,
    ) -> None:
        self.calls: list[Call] = []
        self.closed = 0
        self._answers = tuple(answers) or ([],)
        self._places = itertools.count()
        self._description = {"protocolVersion": PROTOCOL_VERSION, "key": key, "label": label}
        self._capabilities = capabilities
        self._closing = closing
        if health is not None:
            self.health = self._health_of(health)

    def describe(self) -> dict[str, Any]:
        """Key and label as given, and the capabilities where some were; fresh each time (clause 1.7)."""
        claims = {} if self._capabilities is None else {"capabilities": dict(self._capabilities)}
        return {**self._description, **claims}

    def _health_of(self, answer: object) -> Callable[..., Any]:
        raise NotImplementedError

    def _next(self, request: RetrievalRequest, context: RetrievalContext) -> object:
        # A counter, since calls may come from several threads.
        self.calls.append(Call(request, context))
        return self._answers[min(next(self._places), len(self._answers) - 1)]


class ScriptedProvider(_Script):
    """Answers each ``retrieve`` with the next of ``answers``, and with the last one again when there are no more.

    An exception or a class of exceptions is raised; what can be called is called with the request and the context,
    and awaited where it is an ``async def``; anything else is returned as it is. Without answers it finds nothing.

    ``calls`` holds what came, in order, and ``closed`` counts the calls of ``close``. There is a ``health`` only where
    one is given, which is scripted like an answer and called with the signal; so is ``closing``, called without one.
    """

    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext, /) -> Any:
        """The next answer."""
        return await _played(self._next(request, context), request, context)

    async def close(self) -> None:
        """Count it, and do what ``closing`` says."""
        self.closed += 1
        await _played(self._closing)

    def _health_of(self, answer: object) -> Callable[..., Any]:
        async def health(signal: CancelSignal) -> Any:
            return await _played(answer, signal)

        return health


class SyncScriptedProvider(_Script):
    """A ``ScriptedProvider`` whose methods are synchronous; the answer of an ``async def`` is its awaitable."""

    def retrieve(self, request: RetrievalRequest, context: RetrievalContext, /) -> Any:
        """The next answer."""
        return _play(self._next(request, context), request, context)

    def close(self) -> None:
        """Count it, and do what ``closing`` says."""
        self.closed += 1
        _play(self._closing)

    def _health_of(self, answer: object) -> Callable[..., Any]:
        def health(signal: CancelSignal) -> Any:
            return _play(answer, signal)

        return health


class _Held(_Script):
    """What happened to the calls that are held, and their release; as a context manager it releases at the end."""

    def __init__(self, answers: Iterable[object] = (), *, held: int | None = None, **described: Any) -> None:
        super().__init__(answers, **described)
        self.started: Flag = Flag()
        self.told: Flag = Flag()
        self.cancelled: Flag = Flag()
        self.ended: Flag = Flag()
        self._released = Flag()
        self._left = itertools.repeat(None) if held is None else itertools.repeat(None, held)

    def release(self) -> None:
        """Let every held call go on, those that are still to come too; from any thread."""
        self._released.set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def _is_held(self, context: RetrievalContext) -> bool:
        for _ in self._left:
            context.signal.add_callback(self.told.set)
            self.started.set()
            return True
        return False


class HeldProvider(_Held, ScriptedProvider):
    """Each call waits until the test calls ``release()``: a slow provider, and a hanging one if it never does.

    With ``held``, so many calls wait, and those after them are answered at once. What has happened to the held ones:
    ``started``; ``told``, the call's signal was cancelled; ``cancelled``, the task was, which comes out of it; and
    ``ended``, whichever way.
    """

    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext, /) -> Any:
        """The next answer, once it is released."""
        answer = self._next(request, context)
        if self._is_held(context):
            await self._hold()
        return await _played(answer, request, context)

    async def _hold(self) -> None:
        try:
            await self._until_released()
        finally:
            self.ended.set()

    async def _until_released(self) -> None:
        try:
            await self._released.wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise


class DeafProvider(HeldProvider):
    """A ``HeldProvider`` that swallows its cancellation, says so in ``cancelled``, and goes on until it is released.

    An event loop does not shut down before its tasks have ended, so release it before the loop ends.
    """

    async def _until_released(self) -> None:
        while not self._released.is_set():
            try:
                await self._released.wait()
            except asyncio.CancelledError:
                self.cancelled.set()


class BlockingProvider(_Held, SyncScriptedProvider):
    """Its ``retrieve`` is synchronous and blocks the thread until it is released, whatever its signal says.

    ``started``, ``told``, ``ended`` and ``held`` are those of a ``HeldProvider``. A process waits at its end for
    threads that are no daemons, so release it.
    """

    def retrieve(self, request: RetrievalRequest, context: RetrievalContext, /) -> Any:
        """The next answer, once it is released."""
        answer = self._next(request, context)
        if self._is_held(context):
            self._released.wait_in_thread()
            self.ended.set()
        return _play(answer, request, context)


async def _played(answer: object, *arguments: object) -> Any:
    played = _play(answer, *arguments)
    return await played if callable(answer) and inspect.iscoroutinefunction(answer) else played


def _play(answer: object, *arguments: object) -> Any:
    # Asked of the types alone: an answer may lie about its class, or raise when it is looked at.
    if is_a(answer, BaseException) or _is_exception_class(answer):
        raise answer
    return answer(*arguments) if callable(answer) else answer


def _is_exception_class(answer: object) -> TypeGuard[type[BaseException]]:
    return is_a(answer, type) and type.__subclasscheck__(BaseException, answer)
