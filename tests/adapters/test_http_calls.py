"""How ``HTTPProvider`` waits and is cancelled, and how its connections keep to event loops."""

import asyncio
import time
from collections.abc import AsyncGenerator
from typing import Any

import http_subjects as subjects
import httpx
import pytest
from http_subjects import URL, asked, ids, over
from starlette.types import ASGIApp, Receive, Scope, Send

from knowledge_adapters.http_provider import HTTPProvider
from knowledge_fakes.vendors.http_service import KnowledgeService
from knowledge_fakes.vendors.serving import serving
from knowledge_provider import CancelSignal, RetrievalRequest, errors

REQUEST = RetrievalRequest(query="release policy")


def ended(provider: HTTPProvider, deadline: float) -> errors.KnowledgeError:
    signal = CancelSignal(deadline=deadline)
    with pytest.raises(errors.KnowledgeError) as caught:
        asyncio.run(provider.retrieve(REQUEST, subjects.context(signal=signal)))
    return caught.value


# Time


@pytest.mark.parametrize("way", ["silent", "stalled", "drip"])
def test_the_hosts_deadline_ends_a_call_at_any_point_of_it(way: str) -> None:
    """Clauses 7.6 and 8.6: one limit for all of it, and not one for each byte, which a slow drip would never reach."""
    error = ended(over(KnowledgeService(way)), time.monotonic() + 0.1)
    assert (error.code, error.retryable) == ("knowledge_timeout", True)


@pytest.mark.parametrize("way", ["silent", "stalled", "drip"])
def test_its_own_limit_is_an_ordinary_failure(way: str) -> None:
    """Clause 7.6: where it is earlier than the host's deadline."""
    error = ended(over(KnowledgeService(way), timeout=0.1), time.monotonic() + 60)
    assert (error.code, error.retryable) == ("knowledge_provider_failed", True)


def test_tries_and_redirects_share_the_limit() -> None:
    """The time that the first take is not given again to the next."""
    seen: list[float] = []

    async def slow(request: httpx.Request) -> httpx.Response:
        seen.append(time.monotonic())
        await asyncio.sleep(0.04)
        return httpx.Response(307, headers={"location": f"/{len(seen)}"})

    assert ended(over(slow), time.monotonic() + 0.1).code == "knowledge_timeout"
    assert 1 < len(seen) < 4


def test_a_deadline_that_has_passed_sends_nothing_that_is_waited_for() -> None:
    """It ends at the first wait."""
    assert ended(over(KnowledgeService("silent")), time.monotonic() - 1).code == "knowledge_timeout"


def test_a_cancelled_signal_starts_no_work() -> None:
    """Clause 7.3."""
    service, signal = KnowledgeService(), CancelSignal()
    signal.cancel()
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(over(service).retrieve(REQUEST, subjects.context(signal=signal)))
    assert service.seen == []


# Cancellation


class Watched:
    """An app that says when a question has come, and when its caller has gone."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.came, self.gone = asyncio.Event(), asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            while (await receive())["type"] == "http.request":
                self.loop.call_soon_threadsafe(self.came.set)
            self.loop.call_soon_threadsafe(self.gone.set)


def test_cancellation_reaches_the_service_and_leaves_nothing_behind() -> None:
    """Clauses 7.1 and 7.2: the connection ends, no task is left, and the provider still works."""

    async def main() -> None:
        watched = Watched()
        with serving(watched) as url:
            provider = HTTPProvider(f"{url}/search", key="k", label="L")
            task = asyncio.create_task(asked(provider))
            await watched.came.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await asyncio.wait_for(watched.gone.wait(), 10)
            assert asyncio.all_tasks() == {asyncio.current_task()}
        await provider.close()

    asyncio.run(main())


@pytest.mark.parametrize("way", ["stalled", "drip"])
def test_cancelled_within_the_body_it_closes_the_response(way: str) -> None:
    """And is asked again soundly afterwards."""
    reading, closed = asyncio.Event(), []

    class Body(httpx.AsyncByteStream):
        async def __aiter__(self) -> AsyncGenerator[bytes]:
            yield b"["
            reading.set()
            await asyncio.Event().wait()

        async def aclose(self) -> None:
            closed.append(way)

    async def main() -> list[str]:
        answers = [httpx.Response(200, stream=Body()), httpx.Response(200, json=[{"id": "a", "content": "text"}])]
        provider = over(lambda _: answers.pop(0))
        task = asyncio.create_task(asked(provider))
        await reading.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return ids(await asked(provider))

    assert asyncio.run(main()) == ["a"]
    assert closed == [way]


def test_every_response_is_closed_whatever_comes_of_it() -> None:
    """A connection that is not given back is lost to the pool."""
    closed: list[int] = []

    class Body(httpx.AsyncByteStream):
        def __init__(self, status: int) -> None:
            self.status = status

        async def __aiter__(self) -> AsyncGenerator[bytes]:
            yield b"[]"

        async def aclose(self) -> None:
            closed.append(self.status)

    async def main() -> None:
        statuses = [429, 307, 200, 500, 401]
        headers = {"retry-after": "0", "location": "/again"}
        provider = over(lambda _: httpx.Response(statuses[0], headers=headers, stream=Body(statuses.pop(0))))
        assert await asked(provider) == []
        for _ in range(2):
            with pytest.raises(errors.KnowledgeError):
                await asked(provider)

    asyncio.run(main())
    assert closed == [429, 307, 200, 500, 401]


# Loops and connections


class Connections:
    """Counts the connections that a service's questions come from, by the port of the caller."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self.ports: list[int] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            self.ports.append(scope["client"][1])
        await self._app(scope, receive, send)


def test_a_loops_calls_share_connections_and_another_loop_has_its_own() -> None:
    """Clause 2.4: a connection works on its own loop alone."""
    counted = Connections(KnowledgeService().app)

    async def main(provider: HTTPProvider) -> None:
        for _ in range(2):
            assert await asked(provider)
        await provider._clients.get().aclose()
        provider._clients.take()

    with serving(counted) as url:
        provider = HTTPProvider(f"{url}/search", key="k", label="L")
        for _ in range(2):
            asyncio.run(main(provider))
    assert len(counted.ports) == 4
    assert len(set(counted.ports)) == 2


def test_calls_at_once_do_not_mix() -> None:
    """Clause 7.5."""
    queries = ["release policy", "lost laptop", "expense receipts", "sick leave"] * 8

    async def main(url: str) -> tuple[Any, Any]:
        provider = HTTPProvider(f"{url}/search", key="k", label="L")
        one_by_one = [ids(await asked(provider, query)) for query in queries[:4]]
        at_once = await asyncio.gather(*(asked(provider, query) for query in queries))
        await provider.close()
        return one_by_one * 8, [ids(results) for results in at_once]

    with serving(KnowledgeService().app) as url:
        one_by_one, at_once = asyncio.run(main(url))
    assert one_by_one == at_once


def test_closing_ends_the_connections_of_its_own_client() -> None:
    """Clause 2.3: closed on the loop that it was used on; without any call there is nothing to close."""

    async def main(url: str) -> list[bool]:
        provider = HTTPProvider(f"{url}/search", key="k", label="L")
        await asked(provider)
        client = provider._clients.get()
        await provider.close()
        return [client.is_closed, asyncio.all_tasks() == {asyncio.current_task()}]

    with serving(KnowledgeService().app) as url:
        assert asyncio.run(main(url)) == [True, True]
    asyncio.run(HTTPProvider(URL, key="k", label="L").close())
