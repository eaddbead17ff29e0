"""Clause 8.12: a host closes its provider once, whoever asks for it, and waits no longer than it must."""

import asyncio
import logging
import threading
from functools import partial
from typing import Any

import pytest
from host_scenes import context, run, until

from knowledge_fakes.scripted import (
    RAISING,
    SECRET,
    Flag,
    HeldProvider,
    ScriptedProvider,
    SyncScriptedProvider,
)
from knowledge_provider import KnowledgeHost, KnowledgeUnconfiguredError

FOUND = [{"id": "a", "content": "one"}]

each_kind = pytest.mark.parametrize("kind", [ScriptedProvider, SyncScriptedProvider])


@each_kind
def test_a_provider_is_closed_once(kind: type[Any]) -> None:
    """Called again, at the same time, or on another loop."""
    provider = kind()
    host = KnowledgeHost(provider)

    async def at_the_same_time() -> None:
        await asyncio.gather(*(host.close() for _ in range(5)))
        await host.close()

    run(at_the_same_time())
    run(host.close())
    assert provider.closed == 1


def test_all_callers_wait_for_the_same_close() -> None:
    """And one who is cancelled does not leave the provider half closed."""
    may_end, ended = Flag(), Flag()

    async def closing() -> None:
        await may_end.wait()
        ended.set()

    async def scene() -> None:
        provider = ScriptedProvider(closing=closing)
        host = KnowledgeHost(provider)
        first, second = asyncio.create_task(host.close()), asyncio.create_task(host.close())
        await until(lambda: provider.closed)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        assert not second.done()
        may_end.set()
        await second
        assert ended.is_set()
        assert provider.closed == 1

    run(scene())


def test_who_closes_on_another_loop_waits_for_the_same_close() -> None:
    """Or it would take down what the provider still needs."""
    may_end = Flag()
    ended: list[bool] = []

    async def closing() -> None:
        await may_end.wait()
        ended.append(True)

    provider = ScriptedProvider(closing=closing)
    host = KnowledgeHost(provider)
    first = threading.Thread(target=asyncio.run, args=(host.close(),))
    first.start()
    run(until(lambda: provider.closed))

    async def second() -> None:
        task = asyncio.create_task(host.close())
        await asyncio.wait({task}, timeout=0.05)
        assert not task.done()
        may_end.set()
        await task
        assert ended == [True]

    run(second())
    first.join(5)
    assert provider.closed == 1


def test_threads_with_loops_of_their_own_close_it_once() -> None:
    """All at the same moment."""
    for _ in range(20):
        provider = ScriptedProvider(closing=partial(asyncio.sleep, 0.001))
        host, together = KnowledgeHost(provider), threading.Barrier(4)

        async def close(host: KnowledgeHost = host, together: threading.Barrier = together) -> None:
            together.wait(5)
            await host.close()

        threads = [threading.Thread(target=asyncio.run, args=(close(),)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(5)
        assert provider.closed == 1


async def begin_to_close(host: KnowledgeHost, provider: ScriptedProvider) -> None:
    task = asyncio.create_task(host.close())
    await until(lambda: provider.closed)
    assert not task.done()


def test_a_close_that_its_loop_cut_off_is_begun_again() -> None:
    """The loop of a first close ended before it did: the next close closes, and waits for it."""
    ended: list[bool] = []

    async def closing() -> None:
        await asyncio.sleep(0.02)
        ended.append(True)

    provider = ScriptedProvider(closing=closing)
    host = KnowledgeHost(provider)
    run(begin_to_close(host, provider))
    assert (ended, host.configured) == ([], False)
    run(host.close())
    run(host.close())
    assert (ended, provider.closed) == ([True], 2)


def test_a_close_whose_loop_was_closed_under_it_is_begun_again() -> None:
    """Without a word to its task, so that it can never end."""
    seconds = [0, 60]

    async def closing() -> None:
        await asyncio.sleep(seconds.pop())

    provider = ScriptedProvider(closing=closing)
    host = KnowledgeHost(provider)
    loop = asyncio.new_event_loop()
    loop.set_exception_handler(lambda _loop, _told: None)  # it would say that tasks were pending
    loop.run_until_complete(begin_to_close(host, provider))
    loop.close()
    run(host.close())
    assert provider.closed == 2


def test_who_waits_for_a_close_that_is_cut_off_begins_again() -> None:
    """Its loop ends while another one waits for it."""
    may_end = Flag()
    hangs = [False, True]

    async def closing() -> None:
        if hangs.pop():
            await asyncio.Event().wait()

    provider = ScriptedProvider(closing=closing)
    host = KnowledgeHost(provider)

    async def first() -> None:
        task = asyncio.create_task(host.close())
        await may_end.wait()
        assert not task.done()

    async def second() -> None:
        await until(lambda: provider.closed)
        task = asyncio.create_task(host.close())
        await asyncio.sleep(0.01)
        may_end.set()
        await task

    thread = threading.Thread(target=asyncio.run, args=(first(),))
    thread.start()
    run(second())
    thread.join(5)
    assert provider.closed == 2


def test_the_wait_for_a_close_on_a_loop_that_stands_still_is_bounded() -> None:
    """By the timeout: the loop may run again some day, so nothing is begun a second time."""
    provider = ScriptedProvider(closing=partial(asyncio.sleep, 60))
    host = KnowledgeHost(provider, timeout=0.05)
    loop = asyncio.new_event_loop()
    loop.run_until_complete(begin_to_close(host, provider))
    run(host.close())
    assert provider.closed == 1
    # It goes on, and ends at its own deadline.
    loop.run_until_complete(host.close())
    loop.close()


@each_kind
def test_a_closed_host_has_no_knowledge(kind: type[Any]) -> None:
    """A search would find nothing, which is not what is known."""
    provider = kind([FOUND])

    async def scene() -> None:
        async with KnowledgeHost(provider) as host:
            assert (await host.search("policy", context=context())).status == "ok"
        assert (host.configured, host.describe(), host.capabilities()) == (False, {"configured": False}, [])
        assert host.tool_definition() is None
        assert await host.health() == {"status": "unconfigured"}
        with pytest.raises(KnowledgeUnconfiguredError):
            await host.search("policy", context=context())

    run(scene())
    assert (provider.closed, len(provider.calls)) == (1, 1)


def test_a_search_under_way_ends_as_the_provider_ends_it() -> None:
    """Closing does not wait for it, and does not take its answer away."""

    async def scene() -> None:
        with HeldProvider([FOUND]) as provider:
            host = KnowledgeHost(provider)
            task = asyncio.create_task(host.search("policy", context=context()))
            await provider.started.wait()
            await host.close()
            assert provider.closed == 1
            provider.release()
            assert (await task).status == "ok"

    run(scene())


def test_a_close_that_hangs_is_bounded(caplog: pytest.LogCaptureFixture) -> None:
    """By the host's timeout; the log names the provider."""

    async def hang() -> None:
        await asyncio.Event().wait()

    run(KnowledgeHost(ScriptedProvider(key="slow", closing=hang), timeout=0.02).close())
    assert [record.getMessage() for record in caplog.records] == [
        "close() of the knowledge provider slow did not end in time"
    ]


@each_kind
@pytest.mark.parametrize("name", sorted(RAISING))
def test_a_close_that_raises_hides_nothing(kind: type[Any], name: str, caplog: pytest.LogCaptureFixture) -> None:
    """Neither for what the host is closed, nor the others that are closed with it; its text stays out of the log."""

    async def scene() -> None:
        async with KnowledgeHost(kind(closing=RAISING[name]())):
            raise LookupError("what the host is closed for")

    with caplog.at_level(logging.WARNING), pytest.raises(LookupError):
        run(scene())
    (record,) = caplog.records
    assert record.getMessage().startswith("close() of the knowledge provider scripted raised ")
    assert SECRET not in caplog.text


def test_the_log_says_where_a_close_raised(caplog: pytest.LogCaptureFixture) -> None:
    """By file, line and function: that is where to mend it."""

    def closing() -> None:
        raise OSError(SECRET)

    run(KnowledgeHost(ScriptedProvider(closing=closing)).close())
    (said,) = caplog.messages
    assert said.startswith("close() of the knowledge provider scripted raised OSError at test_host_close.py:")
    assert said.endswith(" in closing")


def test_a_provider_without_close_is_closed() -> None:
    """Clause 1.1: it is optional."""
    provider = ScriptedProvider()
    provider.close = None  # type: ignore[method-assign, assignment]  # None counts as absent
    host = KnowledgeHost(provider)
    run(host.close())
    assert not host.configured
