"""The deadline ends the wait, a cancellation reaches the provider and comes out, and what is late goes nowhere."""

import asyncio
import threading
import time
import warnings
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import pytest
from host_scenes import context, run, until

from knowledge_fakes.scripted import (
    BlockingProvider,
    DeafProvider,
    HeldProvider,
    ScriptedProvider,
    SyncScriptedProvider,
)
from knowledge_provider import CancelSignal, RetrievalContext, RetrievalRequest
from knowledge_provider.provider_calls import Ending, ProviderCalls

REQUEST = RetrievalRequest(query="release policy")
FOUND = [{"id": "a", "content": "one"}]

each_kind = pytest.mark.parametrize("kind", [ScriptedProvider, SyncScriptedProvider])


each_held = pytest.mark.parametrize("kind", [HeldProvider, DeafProvider, BlockingProvider])


def calling(retrieve: object) -> ProviderCalls:
    return ProviderCalls(SimpleNamespace(retrieve=retrieve))


# Deadlines


@pytest.mark.parametrize("kind", [HeldProvider, DeafProvider, BlockingProvider])
def test_the_deadline_ends_the_wait_whatever_the_call_does(kind: type[Any]) -> None:
    """Clause 8.6: hanging, swallowing its cancellation, or blocking a thread; the signal says so."""

    async def scene() -> None:
        with kind([FOUND]) as provider:
            calls = ProviderCalls(provider)
            assert await calls.retrieve(REQUEST, context(), 0.02) == Ending(timed_out=True)
            assert provider.told.is_set()
            assert provider.calls[0].context.signal.reason == "timeout"
            assert calls.abandoned == (0 if kind is HeldProvider else 1)
        await until(provider.ended.is_set)
        await until(lambda: not calls.abandoned)

    run(scene())


@pytest.mark.parametrize("answer", [FOUND, ValueError("late"), SystemExit(1)], ids=["value", "error", "SystemExit"])
@pytest.mark.parametrize("kind", [BlockingProvider, DeafProvider])
def test_what_comes_too_late_goes_nowhere(kind: type[Any], answer: object) -> None:
    """Clause 8.6: not into another call, and not into a log."""

    async def scene() -> None:
        with kind([answer]) as provider:
            calls = ProviderCalls(provider)
            assert await calls.retrieve(REQUEST, context(), 0.02) == Ending(timed_out=True)
        await until(lambda: not calls.abandoned)

    run(scene(), collect=True)


def test_a_coroutine_that_comes_too_late_goes_without_a_warning() -> None:
    """Python would say that nobody awaited it; nobody is to."""

    async def found(_request: object, _context: object) -> Any:
        return FOUND

    async def scene() -> None:
        with BlockingProvider([lambda request, given: found(request, given)]) as provider:
            calls = ProviderCalls(provider)
            assert await calls.retrieve(REQUEST, context(), 0.02) == Ending(timed_out=True)
        await until(lambda: not calls.abandoned)

    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        run(scene(), collect=True)
    assert heard == []


def test_a_time_out_of_the_providers_own_is_an_error() -> None:
    """Clause 7.6: told apart from the caller's deadline."""
    ending = run(ProviderCalls(ScriptedProvider([TimeoutError("socket")])).retrieve(REQUEST, context(), 5))
    assert isinstance(ending.error, TimeoutError)
    assert not ending.timed_out


@pytest.mark.parametrize(("seconds", "own"), [(0.02, None), (None, 0.02), (60.0, 0.02), (0.02, 60.0)])
def test_the_earlier_deadline_counts(seconds: float | None, own: float | None) -> None:
    """The caller's, in its signal, or the host's."""

    async def scene() -> Ending:
        with HeldProvider() as provider:
            signal = CancelSignal().within(own)
            return await ProviderCalls(provider).retrieve(REQUEST, context(signal), seconds)

    assert run(scene()).timed_out


def test_without_a_deadline_it_waits() -> None:
    """None is for ever."""

    async def scene() -> Ending:
        with HeldProvider([FOUND]) as provider:
            task = asyncio.create_task(ProviderCalls(provider).retrieve(REQUEST, context()))
            await provider.started.wait()
            assert provider.calls[0].context.signal.deadline is None
            provider.release()
            return await task

    assert run(scene()) == Ending(FOUND)


def test_where_no_time_is_left_nothing_is_called() -> None:
    """An answer could only come too late."""
    provider = ScriptedProvider()
    assert run(ProviderCalls(provider).retrieve(REQUEST, context(CancelSignal(deadline=0.0)))).timed_out
    assert provider.calls == []


# Cancellation


async def cancelled_by_task(task: "asyncio.Task[Ending]", _signal: CancelSignal) -> None:
    task.cancel()


async def cancelled_by_signal(_task: object, signal: CancelSignal) -> None:
    signal.cancel("the turn is over")


async def cancelled_from_a_thread(_task: object, signal: CancelSignal) -> None:
    # Later, when the loop sleeps and has to be woken.
    threading.Timer(0.05, signal.cancel, args=("the turn is over",)).start()


Cancelling = Callable[["asyncio.Task[Ending]", CancelSignal], Awaitable[None]]
each_way = pytest.mark.parametrize("cancelling", [cancelled_by_task, cancelled_by_signal, cancelled_from_a_thread])


@each_way
@pytest.mark.parametrize("kind", [HeldProvider, DeafProvider, BlockingProvider])
def test_a_cancellation_reaches_the_provider_and_comes_out(kind: type[Any], cancelling: Cancelling) -> None:
    """Clauses 7.1 and 8.7: signal and task are cancelled, and a call that will not end is given up and counted."""

    async def scene() -> None:
        with kind([FOUND]) as provider:
            calls, signal = ProviderCalls(provider), CancelSignal()
            task = asyncio.create_task(calls.retrieve(REQUEST, context(signal), 60))
            await provider.started.wait()
            began = time.monotonic()
            await cancelling(task, signal)
            with pytest.raises(asyncio.CancelledError):
                await task
            assert time.monotonic() - began < 2
            assert provider.told.is_set()
            assert calls.abandoned == (0 if kind is HeldProvider else 1)
            if kind is not BlockingProvider:
                assert provider.cancelled.is_set()
        await until(lambda: not calls.abandoned)

    run(scene())


@each_way
def test_an_answer_does_not_outweigh_a_cancellation(cancelling: Cancelling) -> None:
    """A provider that notices its signal and answers with nothing must not look as if nothing was known."""

    async def retrieve(_request: object, given: RetrievalContext) -> Any:
        await given.signal.wait()
        return []

    async def scene() -> None:
        signal = CancelSignal()
        task = asyncio.create_task(calling(retrieve).retrieve(REQUEST, context(signal), 60))
        await asyncio.sleep(0)
        await cancelling(task, signal)
        with pytest.raises(asyncio.CancelledError):
            await task

    run(scene())


def test_the_wait_for_a_cancelled_call_is_short_and_may_be_cancelled() -> None:
    """Who cancels twice has no patience left."""

    async def scene() -> None:
        with DeafProvider() as provider:
            calls = ProviderCalls(provider)
            task = asyncio.create_task(calls.retrieve(REQUEST, context(), 60))
            await provider.started.wait()
            task.cancel()
            await provider.cancelled.wait()
            assert not task.done()
            task.cancel()
            done, _ = await asyncio.wait([task], timeout=0.1)
            assert done
            assert task.cancelled()
            assert calls.abandoned == 1
        await until(lambda: not calls.abandoned)

    run(scene())


def test_a_call_that_ends_in_its_grace_is_waited_for() -> None:
    """Clause 7.2: a provider may clean up, and has done so when the cancellation comes out."""
    cleaned: list[bool] = []

    async def retrieve(_request: object, _context: object) -> Any:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.02)
            cleaned.append(True)

    async def scene() -> None:
        task = asyncio.create_task(calling(retrieve).retrieve(REQUEST, context(), 60))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert cleaned == [True]

    run(scene())


@each_kind
def test_cancelled_before_the_call_nothing_is_called(kind: type[Any]) -> None:
    """Clause 8.7: by its signal, or by a cancellation of the task that has not arrived yet."""

    async def scene() -> Any:
        provider, signal, task = kind(), CancelSignal(), asyncio.current_task()
        signal.cancel("over")
        with pytest.raises(asyncio.CancelledError, match="over"):
            await ProviderCalls(provider).retrieve(REQUEST, context(signal), 5)
        assert task is not None
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await ProviderCalls(provider).retrieve(REQUEST, context(), 5)
        return provider, await ProviderCalls(provider).retrieve(REQUEST, context(), 5)

    provider, ending = run(scene())
    # The third call was made: a cancellation that has arrived is over.
    assert ending == Ending([])
    assert len(provider.calls) == 1


def test_a_signal_forgets_the_calls_that_ended() -> None:
    """A turn's signal outlives its searches, and must not keep them."""
    added: list[object] = []

    class Counting(CancelSignal):
        def add_callback(self, callback: Callable[[], object]) -> None:
            added.append(callback)
            super().add_callback(callback)

        def remove_callback(self, callback: Callable[[], object]) -> None:
            added.remove(callback)
            super().remove_callback(callback)

    run(ProviderCalls(ScriptedProvider()).retrieve(REQUEST, context(Counting()), 5))
    assert added == []


@each_held
def test_a_coroutine_that_is_closed_leaves_no_call_unattended(kind: type[Any]) -> None:
    """Clause 8.7: nobody waits any more, so signal and task are cancelled, and what hangs is counted."""

    async def scene() -> None:
        with kind() as provider:
            calls = ProviderCalls(provider)
            coroutine = calls.retrieve(REQUEST, context(), 60)
            coroutine.send(None)
            await provider.started.wait()
            coroutine.close()
            assert provider.told.is_set()
            assert calls.abandoned == 1
            if kind is not BlockingProvider:
                await provider.cancelled.wait()
            if kind is HeldProvider:
                await until(lambda: not calls.abandoned)
        await until(lambda: not calls.abandoned)

    run(scene(), collect=True)


@pytest.mark.parametrize("deaf", [True, False])
def test_a_coroutine_that_is_closed_while_it_stops_a_call_counts_it(deaf: bool) -> None:
    """In the moment that a call has to end."""

    async def scene() -> None:
        with (DeafProvider if deaf else HeldProvider)() as provider:
            calls, signal = ProviderCalls(provider), CancelSignal()
            coroutine = calls.retrieve(REQUEST, context(signal), 60)
            waiter = coroutine.send(None)
            await provider.started.wait()
            signal.cancel()
            await until(waiter.done)
            coroutine.send(None)
            coroutine.close()
            assert calls.abandoned == 1
            await provider.cancelled.wait()
        await until(lambda: not calls.abandoned)

    run(scene(), collect=True)


def test_what_is_in_hand_when_the_deadline_fires_is_an_answer() -> None:
    """A call that holds the loop past everybody's deadline must not time out those that had long answered."""

    async def holding(_request: object, _context: object) -> Any:
        await asyncio.sleep(0)
        time.sleep(0.1)  # noqa: ASYNC251 - what such a provider does
        return FOUND

    async def answering(_request: object, _context: object) -> Any:
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return FOUND

    async def scene() -> list[Ending]:
        return await asyncio.gather(
            *(calling(each).retrieve(REQUEST, context(), 0.05) for each in (holding, answering))
        )

    assert run(scene()) == [Ending(FOUND)] * 2
