"""How a provider is called: whatever it is, answers and raises, its call has an end that is a value."""

import asyncio
import contextvars
import functools
import gc
import threading
from collections.abc import Callable, Generator
from types import SimpleNamespace
from typing import Any

import pytest
from host_scenes import context, run

from knowledge_fakes.scripted import RAISING, ScriptedProvider, SyncScriptedProvider
from knowledge_provider import CancelSignal, RetrievalContext, RetrievalRequest
from knowledge_provider.provider_calls import Ending, ProviderCalls, is_async, takes_argument

REQUEST = RetrievalRequest(query="release policy")
FOUND = [{"id": "a", "content": "one"}]

each_kind = pytest.mark.parametrize("kind", [ScriptedProvider, SyncScriptedProvider])


def calling(retrieve: object) -> ProviderCalls:
    return ProviderCalls(SimpleNamespace(retrieve=retrieve))


async def ending_of(retrieve: object) -> Ending:
    return await calling(retrieve).retrieve(REQUEST, context(), 5)


# What can be called


async def waiting(_request: object, _context: object, *_: object) -> Any:
    await asyncio.sleep(0)
    return FOUND


def plain(_request: object, _context: object, *_: object) -> Any:
    return FOUND


def returning_a_coroutine(request: object, context: object) -> Any:
    return waiting(request, context)


class AsyncObject:
    async def __call__(self, _request: object, _context: object) -> Any:
        return FOUND


class PlainObject:
    def __call__(self, _request: object, _context: object) -> Any:
        return FOUND


class Later:
    def __await__(self) -> Generator[None, None, Any]:
        yield
        return FOUND


@pytest.mark.parametrize(
    "retrieve",
    [
        waiting,
        plain,
        returning_a_coroutine,
        functools.partial(waiting),
        functools.partial(plain),
        functools.partial(AsyncObject()),
        AsyncObject(),
        PlainObject(),
        lambda _request, _context: Later(),
    ],
    ids=[
        "async",
        "sync",
        "sync that gives a coroutine",
        "partial of async",
        "partial of sync",
        "partial of an async object",
        "async object",
        "sync object",
        "sync that gives an awaitable",
    ],
)
def test_anything_that_can_be_called_gives_its_answer(retrieve: object) -> None:
    """Clause 1.1: a coroutine function, a plain one, and whatever wraps either."""
    assert run(ending_of(retrieve)) == Ending(FOUND)


def test_only_what_is_async_runs_on_the_loop() -> None:
    """Anything else might block it."""

    async def threads() -> tuple[Any, Any]:
        async def on_loop(_request: object, _context: object) -> Any:
            return threading.current_thread()

        def elsewhere(_request: object, _context: object) -> Any:
            return threading.current_thread()

        return (await ending_of(on_loop)).value, (await ending_of(elsewhere)).value

    on_loop, elsewhere = run(threads())
    assert on_loop is threading.main_thread()
    assert elsewhere is not threading.main_thread()
    assert elsewhere.daemon


_WHO = contextvars.ContextVar("_WHO", default="nobody")


@each_kind
def test_a_call_sees_its_callers_context_variables(kind: type[Any]) -> None:
    """Such as the current span of a trace, in a thread too; what it sets there is its own."""

    def look(*_: object) -> str:
        seen = _WHO.get()
        _WHO.set("the provider")
        return seen

    async def scene() -> tuple[Any, str]:
        _WHO.set("the caller")
        return (await ending_of(kind([look]).retrieve)).value, _WHO.get()

    assert run(scene()) == ("the caller", "the caller")


class Refusing:
    """Raises when anything about it is asked."""

    def __getattribute__(self, name: str) -> Any:
        raise SystemExit


class Lookalike(type):
    def __getattr__(cls, name: str) -> Any:
        return lambda *_: None


class Answer(metaclass=Lookalike):
    """Its class has every attribute, ``__await__`` too, when it is asked."""


@pytest.mark.parametrize("make", [lambda: None, int, list, tuple, dict, Refusing, Answer])
@pytest.mark.parametrize("is_sync", [False, True])
def test_any_answer_is_the_value_and_is_not_asked_what_it_is(make: Callable[[], object], is_sync: bool) -> None:
    """An answer is foreign data: reading it is the normalisation's work."""
    answer = make()

    async def on_loop(_request: object, _context: object) -> object:
        return answer

    retrieve = (lambda _request, _context: answer) if is_sync else on_loop
    assert run(ending_of(retrieve)).value is answer


# What it raises


@each_kind
@pytest.mark.parametrize("name", sorted(RAISING))
def test_whatever_is_raised_is_the_ending(kind: type[Any], name: str) -> None:
    """A CancelledError that nobody asked for, SystemExit, GeneratorExit, StopIteration and groups end no caller."""
    ending = run(ending_of(kind([RAISING[name]()]).retrieve))
    assert ending.error is not None
    assert (ending.value, ending.timed_out) == (None, False)


@each_kind
def test_a_keyboard_interrupt_goes_through(kind: type[Any], caplog: pytest.LogCaptureFixture) -> None:
    """It is the user's, whoever happens to be running, and is not told a second time."""
    with pytest.raises(KeyboardInterrupt) as it:
        asyncio.run(ending_of(kind([KeyboardInterrupt()]).retrieve))
    del it
    gc.collect()
    assert caplog.records == []


def test_a_method_that_cannot_be_looked_up_is_an_error() -> None:
    """Also a SystemExit of a property's."""

    class Broken:
        @property
        def retrieve(self) -> Any:
            raise SystemExit("no configuration")

    ending = run(ProviderCalls(Broken()).retrieve(REQUEST, context(), 5))
    assert isinstance(ending.error, SystemExit)


def test_a_call_that_cancels_its_own_task_has_failed() -> None:
    """Whether it notices or not: nobody else is cancelled."""

    async def at_the_next_await(_request: object, _context: object) -> Any:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(0)

    async def without_one(_request: object, _context: object) -> Any:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        return FOUND

    for retrieve in (at_the_next_await, without_one):
        assert isinstance(run(ending_of(retrieve)).error, asyncio.CancelledError)


def test_a_call_that_cancels_its_own_signal_cancels_nobody_else() -> None:
    """The signal is this call's alone; the caller's is another."""
    signal = CancelSignal()

    async def retrieve(_request: object, given: RetrievalContext) -> Any:
        given.signal.cancel("mine")
        await asyncio.sleep(0)
        return FOUND

    assert run(calling(retrieve).retrieve(REQUEST, context(signal), 5)) == Ending(FOUND)
    assert not signal.cancelled


# Looking at functions


class Odd:
    @property
    def __signature__(self) -> Any:
        raise ValueError("odd")

    def __call__(self, *_: object) -> None:
        return None


@pytest.mark.parametrize(
    ("function", "is_it"),
    [(waiting, True), (plain, False), (functools.partial(AsyncObject()), True), (Refusing, False)],
)
def test_what_is_async_is_seen_through_wrappers(function: object, is_it: bool) -> None:
    """Partials and callable objects too."""
    assert is_async(function) is is_it


@pytest.mark.parametrize(("function", "takes"), [(lambda _: 0, True), (lambda: 0, False), (Odd(), True), (len, True)])
def test_a_function_takes_an_argument_or_not(function: object, takes: bool) -> None:
    """One that cannot be inspected is taken to."""
    assert takes_argument(function) is takes
