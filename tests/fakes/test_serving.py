"""An app behind a real port: what a client sees, and that nothing of it stays."""

import asyncio
import socket
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from knowledge_fakes.vendors.serving import serving


async def hello(request: Request) -> Response:
    return PlainTextResponse(f"hello {threading.current_thread().name}")


async def broken(request: Request) -> Response:
    raise ValueError("on purpose")


def app(**options: object) -> Starlette:
    return Starlette(routes=[Route("/", hello), Route("/broken", broken)], **options)  # type: ignore[arg-type]


def refuses(url: str) -> bool:
    try:
        socket.create_connection((urlsplit(url).hostname or "", urlsplit(url).port or 0), timeout=1.0).close()
    except ConnectionRefusedError:
        return True
    return False


def server_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "fake-server"]


def test_it_answers_until_the_block_ends() -> None:
    """From a thread of its own, on an address of this machine alone; then port and thread are gone."""
    with serving(app()) as url:
        assert url.startswith("http://127.0.0.1:")
        assert httpx.get(url).text == "hello fake-server"
        assert all(thread.daemon for thread in server_threads())
    assert refuses(url)
    assert server_threads() == []


def test_two_at_once_have_ports_of_their_own() -> None:
    """No port is chosen by anybody."""
    with serving(app()) as first, serving(app()) as second:
        assert first != second
        assert httpx.get(first).status_code == httpx.get(second).status_code == 200


def test_an_app_that_raises_is_a_status_and_no_noise(
    capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    """A fake that fails on purpose would else fill the output with tracebacks."""
    with serving(app()) as url:
        assert httpx.get(f"{url}/broken").status_code == 500
    assert capfd.readouterr() == ("", "")
    assert [record.message for record in caplog.records if record.name.startswith("uvicorn")] == []


def test_a_request_that_hangs_is_cut_off_when_the_block_ends() -> None:
    """Leaving waits for nobody: the handler is cancelled, and the client's connection breaks or gets a failure."""
    asked, ended = threading.Event(), threading.Event()
    seen: list[object] = []

    async def hang(request: Request) -> Response:
        asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return PlainTextResponse("never")

    def ask(url: str) -> None:
        try:
            seen.append(httpx.get(url, timeout=30).status_code)
        except httpx.TransportError as error:
            seen.append(error)

    with serving(Starlette(routes=[Route("/", hang)])) as url:
        client = threading.Thread(target=ask, args=(url,))
        client.start()
        assert asked.wait(10)
    assert ended.is_set()
    client.join(10)
    assert len(seen) == 1
    assert seen == [500] or isinstance(seen[0], httpx.TransportError)


def test_the_lifespan_spans_the_block() -> None:
    """An app that opens something opens it before the first request, and closes it."""
    told: list[str] = []

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[None]:
        told.append("opened")
        yield
        told.append("closed")

    with serving(app(lifespan=lifespan)) as url:
        assert told == ["opened"]
        httpx.get(url)
    assert told == ["opened", "closed"]


def test_an_app_that_does_not_start_is_an_error_at_once() -> None:
    """Not a client that waits for an answer."""

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[None]:
        raise ValueError("on purpose")
        yield

    with pytest.raises(RuntimeError, match="did not start"), serving(app(lifespan=lifespan)):
        pytest.fail("entered")
    assert server_threads() == []


def test_an_error_in_the_block_comes_out_and_the_server_stops() -> None:
    """It is the test's own."""
    with pytest.raises(ZeroDivisionError), serving(app()) as url:
        raise ZeroDivisionError
    assert refuses(url)
