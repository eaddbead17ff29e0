"""A provider's method is called and always comes to an end."""

import asyncio
import functools
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from knowledge_conformance import calls
from knowledge_conformance.calls import Ending, Raised, call, is_async, shielded, takes_argument
from knowledge_conformance.threads import Caller, HostThread


class Awaited:
    async def __call__(self, value: object) -> object:
        return value


class Called:
    def __call__(self, value: object) -> object:
        return value


async def coroutine(value: object) -> object:
    await asyncio.sleep(0)
    return value


def plain(value: object) -> object:
    return value


async def generator(value: object) -> Any:
    yield value


def future_of(value: object) -> Any:
    return coroutine(value)


METHODS: dict[str, tuple[Any, bool]] = {
    "coroutine": (coroutine, True),
    "partial": (functools.partial(coroutine), True),
    "nested partial": (functools.partial(functools.partial(coroutine)), True),
    "callable object": (Awaited(), True),
    "partial of one": (functools.partial(Awaited()), True),
    "plain": (plain, False),
    "plain object": (Called(), False),
    "lambda": (lambda value: value, False),
    "gives an awaitable": (future_of, False),
    "builtin": (str, False),
}


@pytest.mark.parametrize(("method", "expected"), METHODS.values(), ids=METHODS)
def test_an_async_method_is_told_from_a_plain_one(method: Callable[..., Any], expected: bool) -> None:
    """Through partials and callable objects."""
    assert is_async(method) is expected


def test_an_async_generator_and_nothing_at_all_are_not_async() -> None:
    """They cannot be awaited."""
    assert not is_async(generator)
    assert not is_async(None)  # type: ignore[arg-type] # a missing method


@pytest.mark.parametrize("method", [row[0] for row in METHODS.values()], ids=METHODS)
def test_a_call_ends_with_its_value(method: Callable[..., Any]) -> None:
    """Whatever kind of method it is."""
    ending = asyncio.run(call(method, "value", seconds=5))
    assert (ending.value, ending.error, ending.hung, ending.left_running) == ("value", None, False, False)
    assert ending.seconds >= 0


def test_a_plain_method_runs_beside_the_loop() -> None:
    """In a thread of the kit's own, which nothing waits for (``test_threads``)."""
    thread = asyncio.run(call(threading.current_thread, seconds=5)).value
    assert thread is not threading.current_thread()
    assert isinstance(thread, HostThread)


@pytest.mark.parametrize(
    "error",
    [ValueError("x"), SystemExit(0), KeyboardInterrupt(), GeneratorExit(), asyncio.CancelledError(), BaseException()],
)
@pytest.mark.parametrize("kind", ["async", "plain", "late"])
def test_a_call_ends_with_its_error(error: BaseException, kind: str) -> None:
    """Nothing that a provider raises gets past it, from the loop or from a thread."""

    def raises() -> None:
        raise error

    async def raises_late() -> None:
        await asyncio.sleep(0)
        raise error

    async def raises_at_once() -> None:
        raise error

    method = {"async": raises_at_once, "plain": raises, "late": raises_late}[kind]
    assert asyncio.run(call(method, seconds=5)).error is error


def test_stop_iteration_is_an_error_like_any_other() -> None:
    """A future would refuse it, and hang."""

    def raises() -> None:
        raise StopIteration

    assert isinstance(asyncio.run(call(raises, seconds=5)).error, StopIteration)


@pytest.fixture
def no_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "GRACE_SECONDS", 0.05)


def test_a_call_that_hangs_is_cancelled_and_told_first(no_grace: None) -> None:
    """The signal comes before the cancellation, so that both ways of stopping are tried."""
    told: list[str] = []

    async def hangs() -> None:
        try:
            await asyncio.sleep(1000)
        finally:
            told.append("cancelled")

    ending = asyncio.run(call(hangs, seconds=0.01, on_timeout=lambda: told.append("signal")))
    assert (ending.hung, ending.left_running, told) == (True, False, ["signal", "cancelled"])


def test_a_call_that_swallows_its_cancellation_is_left_running(no_grace: None) -> None:
    """That is a worse thing, and said."""
    release = asyncio.Event()

    async def swallows() -> None:
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue

    async def run() -> Ending:
        ending = await call(swallows, seconds=0.01)
        release.set()
        return ending

    ending = asyncio.run(run())
    assert (ending.hung, ending.left_running) == (True, True)


def test_a_thread_that_does_not_end_is_left_behind(no_grace: None) -> None:
    """The wait ends all the same."""
    release = threading.Event()
    began = time.monotonic()
    ending = asyncio.run(call(release.wait, seconds=0.01))
    release.set()
    assert (ending.hung, ending.left_running) == (True, False)
    assert time.monotonic() - began < 30


def test_a_thread_that_answers_after_its_loop_is_gone_disturbs_nobody(no_grace: None) -> None:
    """A host may have ended by then."""
    release = threading.Event()
    threads: list[threading.Thread] = []

    def waits() -> None:
        threads.append(threading.current_thread())
        release.wait()

    assert asyncio.run(call(waits, seconds=0.05)).hung
    thread = threads[0]
    assert isinstance(thread, Caller)
    # Or it would wait for the next work.
    thread.given.put(None)
    release.set()
    thread.join(timeout=10)
    assert not thread.is_alive()


def test_a_thread_that_answers_after_it_was_given_up_disturbs_nobody(no_grace: None) -> None:
    """Its future was cancelled with the call."""

    async def run() -> None:
        release = threading.Event()
        assert (await call(release.wait, seconds=0.01)).hung
        release.set()
        await asyncio.sleep(0.05)

    asyncio.run(run())


def test_the_callers_own_cancellation_comes_out() -> None:
    """A check that is cancelled ends."""

    async def run() -> bool:
        task = asyncio.ensure_future(shielded(asyncio.sleep, 1000))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait({task})
        return task.cancelled()

    assert asyncio.run(run())


def test_a_cancellation_that_nobody_asked_for_is_the_providers_error() -> None:
    """Else the check would be the one that is cancelled."""

    async def cancels() -> None:
        raise asyncio.CancelledError("mine")

    outcome = asyncio.run(shielded(cancels))
    assert isinstance(outcome, Raised)
    assert str(outcome.error) == "mine"


def test_a_provider_that_cancels_its_own_task_ends_with_that() -> None:
    """The task was cancelled, though not by its caller."""

    async def cancels() -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(0)

    assert isinstance(asyncio.run(call(cancels, seconds=5)).error, asyncio.CancelledError)


def _none() -> None: ...
def _one(signal: object) -> None: ...
def _optional(signal: object = None) -> None: ...
def _keyword(*, signal: object) -> None: ...
def _two(one: object, two: object) -> None: ...
def _any(*arguments: object) -> None: ...


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (_none, False),
        (_one, True),
        (_optional, True),
        (_keyword, False),
        (_two, False),
        (_any, True),
        (dict.get, False),
    ],
)
def test_health_gets_a_signal_when_it_takes_one(function: Callable[..., Any], expected: bool) -> None:
    """Clause 2.1: health(signal) or health()."""
    assert takes_argument(function) is expected


def test_a_method_that_cannot_be_inspected_is_given_the_argument() -> None:
    """The call itself will tell."""

    class Odd:
        @property
        def __signature__(self) -> object:
            raise RuntimeError("do not look")

        def __call__(self, *arguments: object) -> None: ...

    assert takes_argument(Odd())
    assert takes_argument(max)
