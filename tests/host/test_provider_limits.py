"""Calls that hang are bounded and counted; health and closing end in time, and are optional."""

import asyncio
import threading
import weakref
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from host_scenes import context, run, until

from knowledge_fakes.scripted import BlockingProvider, DeafProvider, ScriptedProvider, SyncScriptedProvider
from knowledge_provider import CancelSignal, RetrievalRequest
from knowledge_provider.errors import KnowledgeUnavailableError
from knowledge_provider.provider_calls import Ending, ProviderCalls

REQUEST = RetrievalRequest(query="release policy")
FOUND = [{"id": "a", "content": "one"}]


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    loop = asyncio.new_event_loop()
    # Its tasks will never end, and it would say so.
    loop.set_exception_handler(lambda _loop, _told: None)
    yield loop
    loop.close()


# Limits


@pytest.mark.parametrize("kind", [DeafProvider, BlockingProvider])
def test_calls_that_hang_are_bounded(kind: type[Any]) -> None:
    """Clause 8.6: at the limit a call ends at once; when one ends there is room again."""

    async def scene() -> None:
        with kind([FOUND], held=2) as provider:
            calls = ProviderCalls(provider, limit=2)
            endings = [await calls.retrieve(REQUEST, context(), 0.02) for _ in range(4)]
            assert [each.timed_out for each in endings] == [True, True, False, False]
            assert all(isinstance(each.error, KnowledgeUnavailableError) for each in endings[2:])
            assert (calls.abandoned, len(provider.calls)) == (2, 2)
        await until(lambda: not calls.abandoned)
        assert await calls.retrieve(REQUEST, context(), 5) == Ending(FOUND)

    run(scene())


def test_a_healthy_synchronous_provider_serves_more_calls_than_there_are_threads() -> None:
    """Clause 7.5: a burst does not start a thread each; what comes beyond waits its turn, and is refused nothing."""

    async def scene() -> None:
        with BlockingProvider([FOUND]) as provider:
            calls = ProviderCalls(provider, limit=3)
            tasks = [asyncio.create_task(calls.retrieve(REQUEST, context(), 5)) for _ in range(20)]
            await until(lambda: len(provider.calls) == 3)
            assert calls.abandoned == 0
            assert not any(task.done() for task in tasks)
            provider.release()
            assert [await task for task in tasks] == [Ending(FOUND)] * 20
            assert len(provider.calls) == 20

    run(scene())


def test_calls_that_wait_for_a_thread_are_served_in_their_order() -> None:
    """Fair: who comes first is not overtaken for ever."""
    order: list[str] = []

    async def scene() -> None:
        with BlockingProvider([FOUND]) as provider:
            calls = ProviderCalls(provider, limit=1)
            tasks = [
                asyncio.create_task(calls.retrieve(RetrievalRequest(query=f"{number}"), context(), 5))
                for number in range(6)
            ]
            await until(lambda: len(provider.calls) == 1)
            provider.release()
            await asyncio.gather(*tasks)
            order.extend(call.request.query for call in provider.calls)

    run(scene())
    assert order == ["0", "1", "2", "3", "4", "5"]


def test_who_waits_for_a_thread_ends_at_its_deadline_and_takes_none() -> None:
    """Clause 8.6: it times out, hangs nowhere, and its place goes to the next."""

    async def scene() -> None:
        with BlockingProvider([FOUND]) as provider:
            calls = ProviderCalls(provider, limit=1)
            first = asyncio.create_task(calls.retrieve(REQUEST, context(), 5))
            await until(lambda: provider.calls)
            waited = [await calls.retrieve(REQUEST, context(), 0.02) for _ in range(3)]
            assert waited == [Ending(timed_out=True)] * 3
            assert (calls.abandoned, len(provider.calls)) == (0, 1)
            last = asyncio.create_task(calls.retrieve(REQUEST, context(), 5))
            provider.release()
            assert [await first, await last] == [Ending(FOUND)] * 2
            assert len(provider.calls) == 2

    run(scene())


def test_who_waits_for_a_thread_may_be_cancelled() -> None:
    """Clause 8.7: not invoked, and the next in the order is."""

    async def scene() -> None:
        with BlockingProvider([FOUND]) as provider:
            calls = ProviderCalls(provider, limit=1)
            tasks = [asyncio.create_task(calls.retrieve(REQUEST, context(), 5)) for _ in range(3)]
            await until(lambda: provider.calls)
            tasks[1].cancel()
            await asyncio.wait([tasks[1]])
            assert tasks[1].cancelled()
            provider.release()
            assert [await tasks[0], await tasks[2]] == [Ending(FOUND)] * 2
            assert len(provider.calls) == 2

    run(scene())


def test_threads_are_shared_between_loops() -> None:
    """Clause 2.4: a thread that is free on one loop serves who waits on another."""
    with BlockingProvider([FOUND]) as provider:
        calls, endings = ProviderCalls(provider, limit=1), list[Ending]()

        def elsewhere() -> None:
            endings.append(asyncio.run(calls.retrieve(REQUEST, context(), 5)))

        others = [threading.Thread(target=elsewhere) for _ in range(4)]
        for other in others:
            other.start()
        run(until(lambda: provider.calls))
        provider.release()
        endings.append(run(calls.retrieve(REQUEST, context(), 5)))
        for other in others:
            other.join(5)
    assert endings == [Ending(FOUND)] * 5


def test_who_waited_on_a_loop_that_has_gone_is_passed_over(loop: asyncio.AbstractEventLoop) -> None:
    """Clause 2.4: nobody would hear the answer, so nothing is called for it, and the next is."""
    with BlockingProvider([FOUND]) as provider:
        calls = ProviderCalls(provider, limit=1)
        tasks = [loop.create_task(calls.retrieve(REQUEST, context(), 5)) for _ in range(2)]
        loop.run_until_complete(until(lambda: provider.calls))
        loop.close()
        assert not any(task.done() for task in tasks)

        async def next_one() -> Ending:
            task = asyncio.create_task(calls.retrieve(REQUEST, context(), 5))
            await asyncio.sleep(0)
            provider.release()
            return await task

        assert run(next_one()) == Ending(FOUND)
        assert len(provider.calls) == 2


def test_many_calls_at_one_deadline_leave_no_more_than_hang() -> None:
    """Clause 8.6: eighty calls of a provider that blocks for ever; thirty-two threads, no answer, all of them ended."""

    async def scene() -> None:
        with BlockingProvider() as provider:
            calls = ProviderCalls(provider)
            endings = await asyncio.gather(*(calls.retrieve(REQUEST, context(), 0.1) for _ in range(80)))
            assert endings == [Ending(timed_out=True)] * 80
            assert (len(provider.calls), calls.abandoned) == (32, 32)
            refused = await calls.retrieve(REQUEST, context())
            assert isinstance(refused.error, KnowledgeUnavailableError)
        await until(lambda: not calls.abandoned)

    run(scene())


def test_a_provider_whose_calls_hang_is_still_closed() -> None:
    """Closing is the last call, and what might end the others."""

    async def scene() -> None:
        with BlockingProvider() as provider:
            calls = ProviderCalls(provider, limit=1)
            await calls.retrieve(REQUEST, context(), 0.02)
            assert await calls.close(5) == Ending()
            assert provider.closed == 1

    run(scene())


def test_where_no_thread_starts_that_is_the_ending(monkeypatch: pytest.MonkeyPatch) -> None:
    """When the system is out of threads, and the place is free again."""

    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    calls = ProviderCalls(SyncScriptedProvider([FOUND]), limit=1)
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        assert isinstance(run(calls.retrieve(REQUEST, context())).error, KnowledgeUnavailableError)
    assert run(calls.retrieve(REQUEST, context())) == Ending(FOUND)


@pytest.mark.parametrize("asked", [True, False])
def test_a_call_whose_loop_has_gone_is_counted_no_more(loop: asyncio.AbstractEventLoop, asked: bool) -> None:
    """Clause 2.4: it can never end, so it would keep its place for ever, whether anybody asks for the count or not."""
    with DeafProvider([FOUND], held=1) as provider:
        calls = ProviderCalls(provider, limit=1)
        loop.run_until_complete(calls.retrieve(REQUEST, context(), 0.02))
        assert calls.abandoned == 1
        loop.close()
        if asked:
            assert calls.abandoned == 0
        assert run(calls.retrieve(REQUEST, context(), 5)) == Ending(FOUND)


class Late:
    """An answer that is large."""


def test_a_late_answer_is_not_kept() -> None:
    """Clause 8.6: dropped when it comes, and not when somebody next looks."""

    async def scene(kept: "list[weakref.ref[Late]]") -> None:
        def late(*_: object) -> Late:
            answer = Late()
            kept.append(weakref.ref(answer))
            return answer

        with DeafProvider([late]) as deaf, BlockingProvider([late]) as blocking:
            for provider in (deaf, blocking):
                calls = ProviderCalls(provider)
                assert (await calls.retrieve(REQUEST, context(), 0.02)).timed_out
                provider.release()
                await until(lambda: kept and kept[-1]() is None)
                kept.clear()

    run(scene([]))


@pytest.mark.parametrize("kind", [ScriptedProvider, SyncScriptedProvider])
def test_two_loops_one_after_another_are_served(kind: type[Any]) -> None:
    """Clause 2.4."""
    calls = ProviderCalls(kind([FOUND]))
    assert [run(calls.retrieve(REQUEST, context(), 5)) for _ in range(2)] == [Ending(FOUND)] * 2


# Health and closing


def test_health_gets_the_signal_where_it_takes_one() -> None:
    """Clause 2.1: ``health(signal)`` or ``health()``, synchronous or not."""

    async def with_signal(signal: CancelSignal) -> Any:
        return signal

    def with_default(signal: object = None) -> Any:
        return signal

    async def without() -> Any:
        return "without"

    def health(function: object) -> Any:
        return run(ProviderCalls(SimpleNamespace(health=function)).health(5)).value

    assert isinstance(health(with_signal), CancelSignal)
    assert isinstance(health(with_default), CancelSignal)
    assert health(without) == "without"
    assert health(lambda: "plain") == "plain"


@pytest.mark.parametrize("provider", [SimpleNamespace(), SimpleNamespace(health=None, close=None)])
def test_optional_methods_may_be_absent(provider: object) -> None:
    """Clauses 1.1 and 2.1: without ``health`` a provider counts as ready."""
    calls = ProviderCalls(provider)
    assert run(calls.health(5)) == Ending({"status": "ready"})
    assert run(calls.close(5)) == Ending(None)


def test_health_and_close_end_in_time() -> None:
    """Whatever they do."""

    async def hang(*_: object) -> None:
        await asyncio.Event().wait()

    calls = ProviderCalls(SimpleNamespace(health=hang, close=hang))
    assert run(calls.health(0.02)).timed_out
    assert run(calls.close(0.02)).timed_out
