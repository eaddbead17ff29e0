"""Clause 8.7: cancelled before the call, no provider is invoked; during it, its signal and its task are cancelled."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
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
from knowledge_provider import CancelSignal, KnowledgeHost, KnowledgeQueryRequiredError

FOUND = [{"id": "a", "content": "one"}]


@pytest.mark.parametrize("kind", [ScriptedProvider, SyncScriptedProvider])
def test_cancelled_before_the_provider_is_not_invoked(kind: type[Any]) -> None:
    """By its signal, or by its task."""

    async def scene() -> None:
        provider, signal = kind(), CancelSignal()
        host = KnowledgeHost(provider)
        signal.cancel("the turn is over")
        with pytest.raises(asyncio.CancelledError, match="the turn is over"):
            await host.search("policy", context=context(signal))
        task = asyncio.create_task(host.search("policy", context=context()))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert provider.calls == []

    run(scene())


def test_cancelled_before_there_is_no_outcome_either() -> None:
    """Also where no provider would be asked."""
    signal = CancelSignal()
    signal.cancel()
    host = KnowledgeHost(ScriptedProvider(), knowledge_bases=[])
    with pytest.raises(asyncio.CancelledError):
        run(host.search("policy", context=context(signal), knowledge_base_ids=["hr"]))


def test_a_request_that_can_be_mended_is_refused_before_a_cancellation() -> None:
    """The order of refusals is fixed, so that a mistake is seen whenever it is made."""
    signal = CancelSignal()
    signal.cancel()
    with pytest.raises(KnowledgeQueryRequiredError):
        run(KnowledgeHost(ScriptedProvider()).search("", context=context(signal)))


async def by_task(task: "asyncio.Task[Any]", _signal: CancelSignal) -> None:
    task.cancel()


async def by_signal(_task: object, signal: CancelSignal) -> None:
    signal.cancel("the turn is over")


async def from_a_thread(_task: object, signal: CancelSignal) -> None:
    # Later, when the loop sleeps and has to be woken.
    threading.Timer(0.05, signal.cancel, args=("the turn is over",)).start()


@pytest.mark.parametrize("cancelling", [by_task, by_signal, from_a_thread])
@pytest.mark.parametrize("kind", [HeldProvider, DeafProvider, BlockingProvider])
def test_cancelled_during_the_call_signal_and_task_are_cancelled(
    kind: type[Any], cancelling: Callable[["asyncio.Task[Any]", CancelSignal], Awaitable[None]]
) -> None:
    """Field case 73: whatever the provider does about it, a real one comes out, and the host works afterwards."""

    async def scene() -> None:
        with kind([FOUND], held=1) as provider:
            host, signal = KnowledgeHost(provider), CancelSignal()
            task = asyncio.create_task(host.search("policy", context=context(signal)))
            await provider.started.wait()
            await cancelling(task, signal)
            with pytest.raises(asyncio.CancelledError):
                await task
            assert provider.told.is_set()
            assert provider.cancelled.is_set() is (kind is not BlockingProvider)
            assert (await host.search("policy", context=context())).status == "ok"
        await until(lambda: not host.abandoned)

    run(scene())


def test_a_search_under_a_time_limit_of_the_callers_is_cancelled_by_it() -> None:
    """``asyncio.timeout`` around a search is an ordinary cancellation, and raises the caller's TimeoutError."""

    async def scene() -> None:
        with HeldProvider() as provider:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.02):
                    await KnowledgeHost(provider).search("policy", context=context())
            assert provider.cancelled.is_set()

    run(scene())


def test_a_search_may_be_cancelled_twice() -> None:
    """Who has no patience for the grace of a provider need not have any."""

    async def scene() -> None:
        with DeafProvider() as provider:
            host = KnowledgeHost(provider)
            task = asyncio.create_task(host.search("policy", context=context()))
            await provider.started.wait()
            task.cancel()
            await provider.cancelled.wait()
            task.cancel()
            done, _ = await asyncio.wait([task], timeout=0.1)
            assert done
            assert task.cancelled()
        await until(lambda: not host.abandoned)

    run(scene())


def test_one_search_is_cancelled_and_the_others_go_on() -> None:
    """Each call has a signal of its own."""

    async def scene() -> None:
        with HeldProvider([FOUND]) as provider:
            host = KnowledgeHost(provider)
            tasks = [asyncio.create_task(host.search("policy", context=context())) for _ in range(3)]
            await until(lambda: len(provider.calls) == 3)
            tasks[1].cancel()
            await asyncio.wait([tasks[1]])
            assert [call.context.signal.cancelled for call in provider.calls] == [False, True, False]
            provider.release()
            assert [(await tasks[at]).status for at in (0, 2)] == ["ok", "ok"]

    run(scene())


def test_a_search_in_the_clean_up_of_a_cancelled_task_works() -> None:
    """A cancellation that has arrived is over: what follows is not cancelled by it."""

    async def scene() -> None:
        host = KnowledgeHost(ScriptedProvider([FOUND]))
        statuses: list[str] = []

        async def cleaning() -> None:
            try:
                await asyncio.Event().wait()
            finally:
                statuses.append((await host.search("policy", context=context())).status)

        task = asyncio.create_task(cleaning())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert statuses == ["ok"]

    run(scene())


@pytest.mark.parametrize("kind", [HeldProvider, DeafProvider, BlockingProvider])
def test_a_search_whose_coroutine_is_closed_is_cancelled_and_counted(kind: type[Any]) -> None:
    """As a framework does that drops a generator: the provider must not go on unattended."""

    async def scene() -> None:
        with kind() as provider:
            host = KnowledgeHost(provider)
            coroutine = host.search("policy", context=context())
            coroutine.send(None)
            await provider.started.wait()
            coroutine.close()
            assert provider.told.is_set()
            assert host.abandoned == 1
        await until(lambda: not host.abandoned)

    run(scene())
