"""Mistakes with synchronous providers; knows clauses 7.1 and 8.6 to 8.12, no way of catching them."""

import asyncio
import inspect
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, Final

from knowledge_fakes import _plain_reading as read
from knowledge_fakes._plain_calls import Ending
from knowledge_fakes.host_faults._host_fault import host_fault
from knowledge_fakes.plain_host import PlainHost
from knowledge_provider import CancelSignal, RetrievalContext

_A_DAY: Final = 86_400.0


def is_async(provider: Any) -> bool:
    """Whether its retrieve is a coroutine function."""
    return inspect.iscoroutinefunction(read.method_of(provider, "retrieve"))


def _ended(method: Callable[..., Any], *arguments: object) -> Ending:
    try:
        return Ending(method(*arguments))
    except BaseException as error:
        return Ending(error=error)


async def _value_of(found: Ending) -> Any:
    if found.error is not None:
        raise found.error
    return await found.value if inspect.iscoroutine(found.value) else found.value


@host_fault("KP-835", fragment="that it stood still")
class SyncOnTheLoop(PlainHost):
    """A synchronous provider is called on the event loop, and everybody waits for it."""

    async def call(self, method: Callable[..., Any], *arguments: object) -> Ending:
        async def on_the_loop(*arguments: object) -> Any:
            found = method(*arguments)
            return await found if asyncio.iscoroutine(found) else found

        return await super().call(on_the_loop, *arguments)


@host_fault("KP-810", fragment="no end")
class ThreadsWithoutADeadline(PlainHost):
    """Only coroutines have a deadline: a synchronous provider is waited for as long as it takes."""

    def __init__(self, provider: Any, *, timeout: float = 10.0, **settings: Any) -> None:
        super().__init__(provider, timeout=timeout if is_async(provider) else _A_DAY, **settings)


@host_fault("KP-858", "KP-855", fragment="no cancelled signal")
class ThreadsUntold(PlainHost):
    """A thread cannot be cancelled, so nothing is told to it, and it works on for nobody."""

    def abandon(self, running: "asyncio.Future[Ending]", signal: CancelSignal, reason: str) -> None:
        super().abandon(running, signal if is_async(self.provider) else CancelSignal(), reason)


@host_fault("KP-836", fragment="a thread that Python waits for")
class ThreadsOfAnExecutor(PlainHost):
    """Threads are those of an executor, which Python waits for at the end, so one that hangs keeps the process."""

    async def call(self, method: Callable[..., Any], *arguments: object) -> Ending:
        if inspect.iscoroutinefunction(method):
            return await super().call(method, *arguments)

        token = object()

        def work() -> Ending:
            found = _ended(method, *arguments)
            self.left.discard(token)
            return found

        async def in_the_executor() -> Any:
            self.left.add(token)
            pool = ThreadPoolExecutor(1)
            found = await asyncio.get_running_loop().run_in_executor(pool, work)
            pool.shutdown(wait=False)
            return await _value_of(found)

        return await super().call(in_the_executor)


@host_fault("KP-834", fragment="300 calls")
class ThreadPerSearch(PlainHost):
    """Each search of a synchronous provider has a thread of its own, however many of them hang already."""

    async def call(self, method: Callable[..., Any], *arguments: object) -> Ending:
        self.left = set()
        return await super().call(method, *arguments)


@host_fault("KP-858", fragment="no cancelled signal")
class CancelledThreadsUntold(PlainHost):
    """A thread hears of the deadline, and not that its turn is over."""

    def abandon(self, running: "asyncio.Future[Ending]", signal: CancelSignal, reason: str) -> None:
        told = reason == "timeout" or is_async(self.provider)
        super().abandon(running, signal if told else CancelSignal(), reason)


@host_fault("KP-856", fragment="['late']")
class LateThreadsServedNext(PlainHost):
    """What a thread answers too late is kept, so that its work was not for nothing, and given to whoever asks next."""

    kept: Any = None

    async def answer(self, request: Any, context: RetrievalContext) -> Any:
        if self.kept is not None:
            kept, self.kept = self.kept, None
            return kept
        return await super().answer(request, context)

    async def call(self, method: Callable[..., Any], *arguments: object) -> Ending:
        def noted(*arguments: Any) -> Any:
            value = method(*arguments)
            if len(arguments) > 1 and arguments[1].signal.cancelled:
                self.kept = value
            return value

        return await super().call(method if inspect.iscoroutinefunction(method) else noted, *arguments)


@host_fault("KP-857", fragment=" reports")
class LateThreadsReported(PlainHost):
    """A thread gives its result to a future that was given up, which is an error in the loop's log each time."""

    async def call(self, method: Callable[..., Any], *arguments: object) -> Ending:
        if inspect.iscoroutinefunction(method):
            return await super().call(method, *arguments)
        token = object()

        async def in_a_thread() -> Any:
            told: asyncio.Future[Ending] = asyncio.get_running_loop().create_future()

            def work() -> None:
                found = _ended(method, *arguments)
                self.left.discard(token)
                with suppress(RuntimeError):
                    told.get_loop().call_soon_threadsafe(told.set_result, found)

            self.left.add(token)
            threading.Thread(target=work, daemon=True).start()
            return await _value_of(await told)

        return await super().call(in_a_thread)


@host_fault("KP-860", fragment="the status ready")
class AwaitsWhateverItCalls(PlainHost):
    """health() and close() are awaited without a look at what they give, and a synchronous provider seems broken."""

    async def call(self, method: Callable[..., Any], *arguments: object) -> Ending:
        async def awaited(*arguments: object) -> Any:
            return await method(*arguments)

        told = method == read.method_of(self.provider, "retrieve") or inspect.iscoroutinefunction(method)
        return await super().call(method if told else awaited, *arguments)
