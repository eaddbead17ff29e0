"""Providers over the scripted knowledge service, each by another client library, as ``network_subjects:name``.

The service is at the URL that the environment names, in another process than the provider. Each provider is sound: it
bounds the whole call, and raises for all that is no answer.
"""

import asyncio
import json
import os
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, NamedTuple

from knowledge_provider import KnowledgeError, RetrievalContext, RetrievalRequest
from knowledge_provider.answers import read_json, results_in
from knowledge_provider.services import failure, refusal, time_limit

SERVED_AT: Final = "KNOWLEDGE_SERVICE_URL"
JSON: Final = {"content-type": "application/json", "authorization": "Bearer sk-hunter2-9f3b7c"}


class Came(NamedTuple):
    """A status, headers by their names in lower case, and a body."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Asking:
    """A provider that asks by ``ask``, which gets the question and how many seconds it has."""

    def __init__(self, ask: Callable[[bytes, float], Awaitable[Came]], close: Callable[[], Awaitable[None]]) -> None:
        self._ask = ask
        self._close = close
        self._closed = False

    def describe(self) -> dict[str, Any]:
        claims = {"filters": True, "scores": True, "citations": True}
        return {"protocolVersion": 1, "key": "asking", "label": "Asking", "capabilities": claims}

    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
        context.signal.raise_if_cancelled()
        if self._closed:
            raise RuntimeError("closed")
        try:
            async with time_limit(context.signal):
                came = await self._ask(
                    request.model_dump_json(by_alias=True).encode(), context.signal.remaining() or 5.0
                )
            if not 200 <= came.status < 300:
                raise refusal(came.status, came.headers.get("retry-after"))
            return results_in(read_json(came.body), request.top_k, score_kind="similarity")
        except KnowledgeError:
            raise
        except Exception as error:
            raise failure(error, "the service") from error

    async def close(self) -> None:
        self._closed = True
        await self._close()


def url() -> str:
    return os.environ[SERVED_AT]


def closing(close: Callable[[], object]) -> Callable[[], Awaitable[None]]:
    """A synchronous ``close`` as a coroutine function."""

    async def closed() -> None:
        close()

    return closed


def with_httpx() -> Asking:
    """A client that is made when the provider is, and for one loop."""
    import httpx

    client = httpx.AsyncClient()

    async def ask(question: bytes, seconds: float) -> Came:
        response = await client.post(url(), content=question, headers=JSON, timeout=seconds)
        return Came(response.status_code, response.headers, response.content)

    return Asking(ask, client.aclose)


def with_httpx2() -> Asking:
    """The same by the successor's names."""
    import httpx2

    client = httpx2.AsyncClient()

    async def ask(question: bytes, seconds: float) -> Came:
        response = await client.post(url(), content=question, headers=JSON, timeout=seconds)
        return Came(response.status_code, response.headers, response.content)

    return Asking(ask, client.aclose)


def with_httpx_in_a_thread() -> Asking:
    """A synchronous client."""
    import httpx

    client = httpx.Client()

    def ask(question: bytes, seconds: float) -> Came:
        response = client.post(url(), content=question, headers=JSON, timeout=seconds)
        return Came(response.status_code, response.headers, response.content)

    return Asking(in_a_thread(ask), closing(client.close))


def with_requests() -> Asking:
    """A session, in a thread."""
    import requests

    session = requests.Session()

    def ask(question: bytes, seconds: float) -> Came:
        response = session.post(url(), data=question, headers=JSON, timeout=seconds)
        return Came(response.status_code, {k.lower(): v for k, v in response.headers.items()}, response.content)

    return Asking(in_a_thread(ask), closing(session.close))


def with_urllib3() -> Asking:
    """A pool without retries, in a thread."""
    import urllib3

    pool = urllib3.PoolManager(retries=False)

    def ask(question: bytes, seconds: float) -> Came:
        response = pool.request("POST", url(), body=question, headers=JSON, timeout=seconds)
        return Came(response.status, {k.lower(): v for k, v in response.headers.items()}, response.data)

    return Asking(in_a_thread(ask), closing(pool.clear))


def with_aiohttp() -> Asking:
    """A session for each loop, made at the first call."""
    import aiohttp

    sessions: dict[Any, aiohttp.ClientSession] = {}

    async def ask(question: bytes, seconds: float) -> Came:
        loop = asyncio.get_running_loop()
        session = sessions[loop] = sessions.get(loop) or aiohttp.ClientSession()
        limit = aiohttp.ClientTimeout(total=seconds)
        async with session.post(url(), data=question, headers=JSON, timeout=limit) as response:
            return Came(response.status, {k.lower(): v for k, v in response.headers.items()}, await response.read())

    async def close() -> None:
        for session in sessions.values():
            await session.close()

    return Asking(ask, close)


def in_a_thread(ask: Callable[[bytes, float], Came]) -> Callable[[bytes, float], Awaitable[Came]]:
    """As a coroutine function, in daemon threads: an executor's would hold up the exit."""

    async def asked(question: bytes, seconds: float) -> Came:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Came] = loop.create_future()

        def settle(came: Came | None, error: Exception | None) -> None:
            if future.done():
                return
            if came is None:
                future.set_exception(error or RuntimeError("neither an answer nor an error"))
            else:
                future.set_result(came)

        def work() -> None:
            came, raised = None, None
            try:
                came = ask(question, seconds)
            except Exception as error:
                raised = error
            if not loop.is_closed():
                loop.call_soon_threadsafe(settle, came, raised)

        threading.Thread(target=work, daemon=True).start()
        return await future

    return asked


def two_steps() -> Asking:
    """A question first, as for an embedding, and then the search."""
    import httpx

    client = httpx.AsyncClient()

    async def ask(question: bytes, seconds: float) -> Came:
        first = await client.post(url().replace("/search", "/login"), content=question, timeout=seconds)
        first.raise_for_status()
        response = await client.post(url(), content=question, headers=JSON, timeout=seconds)
        return Came(response.status_code, response.headers, response.content)

    return Asking(ask, client.aclose)


def in_pages() -> Asking:
    """Three results first, and then all, which must come as well."""
    inner = with_httpx()

    async def ask(question: bytes, seconds: float) -> Came:
        wanted = json.loads(question)
        first = await inner._ask(json.dumps({**wanted, "topK": min(3, wanted["topK"])}).encode(), seconds)
        more = first.status == 200 and wanted["topK"] > 3
        return await inner._ask(question, seconds) if more else first

    return Asking(ask, inner.close)


def later_page_is_not_looked_at() -> Asking:
    """A second page that fails is taken for the end of the answer."""
    inner = with_httpx()

    async def ask(question: bytes, seconds: float) -> Came:
        wanted = json.loads(question)
        first = await inner._ask(json.dumps({**wanted, "topK": min(3, wanted["topK"])}).encode(), seconds)
        if first.status != 200 or wanted["topK"] <= 3:
            return first
        try:
            second = await inner._ask(question, seconds)
        except Exception:
            return first
        return second if second.status == 200 else first

    return Asking(ask, inner.close)


def beside_each_other() -> Asking:
    """Asks for three and for all at the same time, and does without the three."""
    inner = with_httpx()

    async def ask(question: bytes, seconds: float) -> Came:
        few = json.dumps({**json.loads(question), "topK": 3}).encode()
        _, whole = await asyncio.gather(inner._ask(few, seconds), inner._ask(question, seconds), return_exceptions=True)
        if isinstance(whole, BaseException):
            raise whole
        return whole

    return Asking(ask, inner.close)


class Blocking(Asking):
    """Holds the event loop while it asks, as an async provider over a synchronous client does."""

    def __init__(self) -> None:
        import httpx

        client = httpx.Client()

        async def ask(question: bytes, _seconds: float) -> Came:
            response = client.post(url(), content=question, headers=JSON, timeout=None)  # noqa: ASYNC212 - the mistake
            return Came(response.status_code, response.headers, response.content)

        super().__init__(ask, closing(client.close))


def blocking() -> Blocking:
    """No time-out, and on the loop."""
    return Blocking()


def caching() -> Asking:
    """Keeps every answer that is one, and gives it again."""
    inner, kept = with_httpx(), dict[bytes, Came]()

    async def ask(question: bytes, seconds: float) -> Came:
        if question not in kept:
            came = await inner._ask(question, seconds)
            if came.status != 200 or b'"results"' not in came.body:
                return came
            kept[question] = came
        return kept[question]

    return Asking(ask, inner.close)


def with_a_breaker() -> Asking:
    """After three failures in a row it refuses for a while, without asking."""
    inner, state = with_httpx(), {"failed": 0, "until": 0.0}

    async def ask(question: bytes, seconds: float) -> Came:
        if time.monotonic() < state["until"]:
            raise ConnectionError("not asked: it failed three times in a row")
        try:
            came = await inner._ask(question, seconds)
        except Exception:
            state["failed"] += 1
            if state["failed"] >= 3:
                state.update(failed=0, until=time.monotonic() + 30)
            raise
        state["failed"] = 0
        return came

    return Asking(ask, inner.close)


def with_a_lasting_breaker() -> Asking:
    """After three failures, however far apart, it refuses without asking."""
    inner, state = with_httpx(), {"failed": 0}

    async def ask(question: bytes, seconds: float) -> Came:
        if state["failed"] >= 3:
            raise ConnectionError("not asked: it failed three times")
        try:
            came = await inner._ask(question, seconds)
        except Exception:
            state["failed"] += 1
            raise
        state["failed"] += came.status != 200
        return came

    return Asking(ask, inner.close)


def with_patience() -> Asking:
    """Asks no more for as long as the service wants to be left alone."""
    inner, state = with_httpx(), {"until": 0.0}

    async def ask(question: bytes, seconds: float) -> Came:
        if time.monotonic() < state["until"]:
            raise ConnectionError("not asked: the service said to wait")
        came = await inner._ask(question, seconds)
        state["until"] = time.monotonic() + float(came.headers.get("retry-after", 0))
        return came

    return Asking(ask, inner.close)


def key_behind_a_breaker() -> Asking:
    """Prints its key where there is no such index, and asks no more for a while after five failures in a row."""
    inner, state = with_httpx(), {"failed": 0}

    async def ask(question: bytes, seconds: float) -> Came:
        if state["failed"] >= 5:
            raise ConnectionError("not asked: it failed five times in a row")
        state["failed"] += 1
        came = await inner._ask(question, seconds)
        if came.status == 404:
            print("no such index for", JSON["authorization"])  # noqa: T201 - the mistake
        if came.status == 200:
            state["failed"] = 0
        return came

    return Asking(ask, inner.close)


class Probing(Asking):
    """Asks the service for its health, too, and makes of it what it is told to; a ``fallback`` answers without it."""

    def __init__(self, said: Mapping[str, str], *, fallback: bool) -> None:
        inner = with_a_fallback() if fallback else with_httpx()
        super().__init__(inner._ask, inner._close)
        self._said = said

    async def health(self) -> Mapping[str, str]:
        try:
            # What it is asked for there is refused, which says that it is there.
            down = (await self._ask(b"{}", 0.2)).status >= 500
        except Exception:
            down = True
        return self._said if down else {"status": "ready"}


def tells_an_outage() -> Probing:
    """As it has to."""
    return Probing({"status": "unavailable"}, fallback=False)


def ready_in_an_outage() -> Probing:
    """Whatever came."""
    return Probing({"status": "ready"}, fallback=False)


def ready_with_a_fallback() -> Probing:
    """It answers without the service, so it is."""
    return Probing({"status": "ready"}, fallback=True)


def second_step_is_not_looked_at() -> Asking:
    """Two steps, of which the second may fail and be taken for an answer without results."""
    inner = two_steps()

    async def ask(question: bytes, seconds: float) -> Came:
        came = await inner._ask(question, seconds)
        return came if came.status == 200 else Came(200, {}, b'{"results": []}')

    return Asking(ask, inner.close)


def with_a_fallback() -> Asking:
    """Where the service does not answer, the handbook that it has with it does."""
    from knowledge_fakes.handbook import load_handbook

    inner = with_httpx()

    async def ask(question: bytes, seconds: float) -> Came:
        try:
            came = await inner._ask(question, seconds)
        except Exception:
            came = Came(503, {}, b"")
        if came.status == 200:
            return came
        found = load_handbook().search(RetrievalRequest.model_validate_json(question))
        return Came(200, {}, json.dumps({"results": found}).encode())

    return Asking(ask, inner.close)
