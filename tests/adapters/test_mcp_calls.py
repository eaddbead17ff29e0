"""How ``MCPProvider`` waits, is cancelled and closed, and how its sessions keep to tasks and event loops."""

import asyncio
import gc
import time
from typing import Any

import httpx2
import mcp_subjects as subjects
import pytest
from mcp import stdio_client
from mcp_subjects import asked, ids, over

from knowledge_adapters.mcp_provider import MCPProvider
from knowledge_fakes.vendors.mcp_service import ToolService
from knowledge_fakes.vendors.serving import serving
from knowledge_provider import CancelSignal, RetrievalRequest, errors

REQUEST = RetrievalRequest(query="release policy")


def ended(provider: MCPProvider, signal: CancelSignal) -> errors.KnowledgeError:
    async def main() -> errors.KnowledgeError:
        try:
            with pytest.raises(errors.KnowledgeError) as caught:
                await provider.retrieve(REQUEST, subjects.context(signal=signal))
            return caught.value
        finally:
            await provider.close()

    return asyncio.run(main())


# Time


def test_the_hosts_deadline_ends_a_call() -> None:
    """Clause 8.6; the server is told."""
    service = ToolService(way="silent")
    error = ended(over(service), CancelSignal(deadline=time.monotonic() + 0.1))
    assert (error.code, error.retryable) == ("knowledge_timeout", True)
    assert service.cancelled.wait(5)


def test_its_own_limit_is_an_ordinary_failure() -> None:
    """Field case 31, clause 7.6: where it is earlier than the host's deadline, it says that it was this one."""
    error = ended(over(ToolService(way="silent"), timeout=0.1), CancelSignal(deadline=time.monotonic() + 60))
    assert (error.code, error.retryable) == ("knowledge_provider_failed", True)
    assert "0.1 s" in str(error)


def test_connecting_is_within_the_limit_and_goes_on_for_the_next_call() -> None:
    """A server that is slow to start would otherwise never be there."""
    made: list[int] = []

    async def main() -> list[str]:
        may_go_on = asyncio.Event()

        async def held(request: httpx2.Request) -> None:
            await may_go_on.wait()

        def client() -> httpx2.AsyncClient:
            made.append(1)
            return httpx2.AsyncClient(event_hooks={"request": [held]})

        provider = over(f"{url}/mcp", http_client=client)
        soon = subjects.context(signal=CancelSignal(deadline=time.monotonic() + 0.05))
        with pytest.raises(errors.KnowledgeTimeoutError):
            await provider.retrieve(REQUEST, soon)
        may_go_on.set()
        found = await asked(provider, top_k=1)
        await provider.close()
        return ids(found)

    with serving(ToolService().app()) as url:
        assert asyncio.run(main()) == ["release-handbook#approvals"]
    assert made == [1]


def test_a_cancelled_signal_starts_no_work() -> None:
    """Clause 7.3."""
    service, signal = ToolService(), CancelSignal()
    signal.cancel()
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(over(service).retrieve(REQUEST, subjects.context(signal=signal)))
    assert service.seen == []


# Cancellation


def others() -> set[Any]:
    return asyncio.all_tasks() - {asyncio.current_task()}


@pytest.mark.parametrize("how", ["in process", "http", "http with sessions"])
def test_cancellation_reaches_the_server(how: str) -> None:
    """Clauses 7.1 and 7.2: and leaves no task but the session's own, which answers the next call."""
    kind = subjects.OlderService if how == "http with sessions" else ToolService
    service = kind(way="silent", times=1)

    async def main(place: Any) -> list[str]:
        provider = over(place)
        task = asyncio.create_task(asked(provider))
        assert await asyncio.to_thread(service.called.wait, 20)
        before = others() - {task}
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(service.cancelled.wait, 20)
        await asyncio.sleep(0.1)
        assert others() <= before
        found = await asked(provider, top_k=1)
        await provider.close()
        return ids(found)

    if how == "in process":
        assert asyncio.run(main(service)) == ["release-handbook#approvals"]
    else:
        with serving(service.app()) as url:
            assert asyncio.run(main(f"{url}/mcp")) == ["release-handbook#approvals"]


def test_cancelled_while_it_connects_it_leaves_nothing() -> None:
    """Clause 7.2, unless somebody else waits for the same session."""

    async def main(url: str) -> list[bool]:
        came, go = asyncio.Event(), asyncio.Event()

        async def held(request: httpx2.Request) -> None:
            came.set()
            await go.wait()

        provider = over(f"{url}/mcp", http_client=lambda: httpx2.AsyncClient(event_hooks={"request": [held]}))
        alone = asyncio.create_task(asked(provider))
        await came.wait()
        alone.cancel()
        await asyncio.wait({alone})
        await asyncio.sleep(0.1)
        left = bool(others())
        came.clear()
        one, two = (asyncio.create_task(asked(provider)) for _ in range(2))
        await came.wait()
        one.cancel()
        await asyncio.wait({one})
        go.set()
        found = await two
        await provider.close()
        return [alone.cancelled(), left, one.cancelled(), len(found) == 5, bool(others())]

    with serving(ToolService().app()) as url:
        assert asyncio.run(main(url)) == [True, False, True, True, False]


# Tasks, loops and processes


@pytest.mark.parametrize("how", ["in process", "http"])
def test_it_is_used_and_closed_from_any_task(how: str) -> None:
    """Field case 29: two providers, a task for each call, closed in turn from a third; the loop hears no complaint."""

    async def main(place: Any) -> list[Any]:
        complaints: list[Any] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, told: complaints.append(told))
        first, second = over(place), over(place)
        for provider in (first, second):
            await asyncio.wait_for(asked(provider), 20)
        for provider in (first, second):
            await asyncio.create_task(asked(provider))
        for provider in (first, second):
            await asyncio.create_task(provider.close())
        assert others() == set()
        gc.collect()
        return complaints

    if how == "in process":
        assert asyncio.run(main(ToolService())) == []
    else:
        with serving(ToolService().app()) as url:
            assert asyncio.run(main(f"{url}/mcp")) == []


def test_another_loop_has_another_session() -> None:
    """Clause 2.4: also where the first loop ended without a close."""
    provider = over(ToolService())
    for _ in range(2):
        assert len(asyncio.run(asked(provider))) == 5


def test_calls_at_once_do_not_mix() -> None:
    """Clause 7.5: over one session."""
    queries = ["release policy", "lost laptop", "expense receipts", "sick leave"] * 8

    async def main(url: str) -> tuple[Any, Any]:
        provider = over(f"{url}/mcp")
        one_by_one = [ids(await asked(provider, query)) for query in queries[:4]]
        at_once = await asyncio.gather(*(asked(provider, query) for query in queries))
        await provider.close()
        return one_by_one * 8, [ids(results) for results in at_once]

    with serving(ToolService().app()) as url:
        one_by_one, at_once = asyncio.run(main(url))
    assert one_by_one == at_once


def test_closing_while_a_call_is_under_way_ends_it() -> None:
    """With a failure, and not with an empty answer."""
    service = ToolService(way="silent")

    async def main(url: str) -> str:
        provider = over(f"{url}/mcp")
        task = asyncio.create_task(asked(provider))
        assert await asyncio.to_thread(service.called.wait, 20)
        await provider.close()
        with pytest.raises(errors.KnowledgeError) as caught:
            await task
        return caught.value.code

    with serving(service.app()) as url:
        assert asyncio.run(main(url)) == "knowledge_unavailable"


def test_over_stdio_one_process_answers_is_cancelled_and_ends_with_close() -> None:
    """Clause 2.3: no child process is left."""
    started: list[Any] = []

    async def main() -> list[str]:
        spawn = asyncio.get_running_loop().subprocess_exec

        async def noted(*arguments: Any, **options: Any) -> Any:
            transport, protocol = await spawn(*arguments, **options)
            started.append(transport)
            return transport, protocol

        asyncio.get_running_loop().subprocess_exec = noted  # type: ignore[method-assign] # to see the process
        provider = over(lambda: stdio_client(ToolService("split", "silent", times=1).stdio), timeout=60)
        warm = await provider.health()
        while warm.status != "ready":
            warm = await provider.health()
        task = asyncio.create_task(asked(provider))
        # The server hears what is written in its order, so that it need not have begun.
        for _ in range(100):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        found = await asked(provider, top_k=1)
        await asyncio.create_task(provider.close())
        assert others() == set()
        return ids(found)

    assert asyncio.run(main()) == ["release-handbook#approvals"]
    assert [transport.get_returncode() is not None for transport in started] == [True]


def test_a_provider_that_was_never_asked_has_nothing_to_close() -> None:
    """Nothing is opened before the first call."""
    asyncio.run(over(ToolService().stdio).close())


def test_many_calls_leave_nothing() -> None:
    """One session, one task, whatever comes."""

    async def main() -> set[int]:
        provider = over(ToolService())
        await asked(provider)
        counts = set()
        for _ in range(300):
            await asked(provider, top_k=1)
            counts.add(len(others()))
        await provider.close()
        return counts

    assert len(asyncio.run(main())) == 1
