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


def test_threads_in_use_count_before_they_are_given_up() -> None:
    """Clause 8.6: a burst of synchronous calls does not start a thread each."""

    async def scene() -> None:
        with BlockingProvider([FOUND]) as provider:
            calls = ProviderCalls(provider, limit=3)
            tasks = [asyncio.create_task(calls.retrieve(REQUEST, context(), 5)) for _ in range(8)]
            await until(lambda: sum(task.done() for task in tasks) == 5)
            assert calls.abandoned == 0
            provider.release()
            endings = [await task for task in tasks]
        assert [each.error is None for each in endings] == [True] * 3 + [False] * 5

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


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    loop = asyncio.new_event_loop()
    # Its tasks will never end, and it would say so.
    loop.set_exception_handler(lambda _loop, _told: None)
    yield loop
    loop.close()


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
