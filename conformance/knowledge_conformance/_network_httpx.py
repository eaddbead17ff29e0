"""Hooks of httpx and httpx2, which have the same names: at the transports, below redirects, cookies and retries.

Knows these libraries' transports and exceptions, no provider and no check.
"""

import asyncio
import contextlib
import socket
import time
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from typing import Any, Final

from knowledge_conformance.network import (
    DRIP_SECONDS,
    EVENTS,
    PAUSE_SECONDS,
    Break,
    Call,
    Hook,
    Network,
    Reply,
    heard,
)

_ASYNC: Final = ("AsyncHTTPTransport", "ASGITransport", "MockTransport")
_SYNC: Final = ("HTTPTransport", "WSGITransport", "MockTransport")


def hooks(module: Any, network: Network) -> Iterator[Hook]:
    """One for each transport that asks a back end, or stands for one in a test."""
    for name in _ASYNC:
        yield Hook(getattr(module, name, None), "handle_async_request", partial(_asynchronous, module, network))
    for name in _SYNC:
        yield Hook(getattr(module, name, None), "handle_request", partial(_synchronous, module, network))


def _asynchronous(module: Any, network: Network, original: Callable[..., Any]) -> Callable[..., Any]:
    async def handle_async_request(transport: Any, request: Any) -> Any:
        call = _met(network, request)
        if call.fate is None:
            return _listening(module, call, await original(transport, request))
        await asyncio.sleep(PAUSE_SECONDS)
        if isinstance(call.fate, Reply):
            return _response(module, call, call.fate, request)
        silent = call.fate is Break.SILENT and not network.skips(_read_seconds(request))
        if silent:
            await call.held()
        raise _error(module, Break.RESET if silent else call.fate, request)

    return handle_async_request


def _synchronous(module: Any, network: Network, original: Callable[..., Any]) -> Callable[..., Any]:
    def handle_request(transport: Any, request: Any) -> Any:
        call = _met(network, request)
        if call.fate is None:
            return _listening(module, call, original(transport, request))
        time.sleep(PAUSE_SECONDS)
        if isinstance(call.fate, Reply):
            return _response(module, call, call.fate, request, until=time.monotonic() + network.patience)
        silent = call.fate is Break.SILENT and not network.skips(_read_seconds(request))
        if silent:
            network.hold(call)
        raise _error(module, Break.RESET if silent else call.fate, request)

    return handle_request


def _met(network: Network, request: Any) -> Call:
    # What is streamed cannot be read twice.
    body = getattr(request, "_content", None)
    return network.met(request.method, str(request.url), dict(request.headers), body)


def _read_seconds(request: Any) -> float | None:
    seconds = request.extensions.get("timeout", {}).get("read")
    return seconds if isinstance(seconds, int | float) else None


def _error(module: Any, how: Break, request: Any) -> Exception:
    kind, cause = _ERRORS[how]
    error: Exception = getattr(module, kind)(str(cause), request=request)
    error.__cause__ = cause
    return error


_ERRORS: Final[dict[Break, tuple[str, OSError]]] = {
    Break.REFUSED: ("ConnectError", ConnectionRefusedError(111, "Connection refused")),
    Break.NO_SUCH_NAME: ("ConnectError", socket.gaierror(-2, "Name or service not known")),
    Break.LATE: ("ConnectTimeout", TimeoutError("timed out")),
    Break.RESET: ("ReadError", ConnectionResetError(104, "Connection reset by peer")),
    Break.SILENT: ("ReadTimeout", TimeoutError("The read operation timed out")),
    Break.UNRECORDED: ("ConnectError", ConnectionError(Break.UNRECORDED.value)),
}


# Replies


def _response(module: Any, call: Call, reply: Reply, request: Any, until: float = 0.0) -> Any:
    broken = _error(module, Break.RESET, request)

    async def each_async() -> AsyncIterator[bytes]:
        for piece in _pieces(reply):
            if reply.way == "slow":
                await asyncio.sleep(DRIP_SECONDS)
                if call.over.is_set():
                    raise broken
            yield piece
        if reply.way == "broken":
            raise broken

    def each() -> Iterator[bytes]:
        for piece in _pieces(reply):
            if reply.way == "slow" and (call.over.wait(DRIP_SECONDS) or time.monotonic() > until):
                raise broken
            yield piece
        if reply.way == "broken":
            raise broken

    return module.Response(
        reply.status, headers=reply.fields, stream=_stream(module, each, each_async), request=request
    )


def _pieces(reply: Reply) -> list[bytes]:
    return [bytes([byte]) for byte in reply.sent] if reply.way == "slow" else [reply.sent]


def _stream(
    module: Any, each: Callable[[], Iterator[bytes]], each_async: Callable[[], AsyncIterator[bytes]], held: Any = None
) -> Any:
    async def aclose(_stream: object) -> None:
        if held is not None:
            await held.aclose()

    def close(_stream: object) -> None:
        if held is not None:
            held.close()

    members = {"__iter__": lambda _: each(), "__aiter__": lambda _: each_async(), "close": close, "aclose": aclose}
    return type("Stream", (module.AsyncByteStream, module.SyncByteStream), members)()


# Listening


def _listening(module: Any, call: Call, response: Any) -> Any:
    """The response, which is written down as its client reads it."""
    status, headers = response.status_code, dict(response.headers)
    with contextlib.suppress(Exception):
        if response.is_stream_consumed:  # a mock's: it is unpacked already
            body = bytes(response.content)
            headers.pop("content-encoding", None)
            call.heard = lambda: heard(status, headers, body)
            return response
        held, read = response.stream, bytearray()
        # Nobody reads a stream of events to its end.
        call.complete = EVENTS in headers.get("content-type", "")
        call.heard = lambda: heard(status, headers, read)
        response.stream = _stream(
            module, partial(_each, held, read, call), partial(_each_async, held, read, call), held
        )
    return response


async def _each_async(held: Any, read: bytearray, call: Call) -> AsyncIterator[bytes]:
    async for piece in held:
        read.extend(piece)
        yield piece
    call.complete = True


def _each(held: Any, read: bytearray, call: Call) -> Iterator[bytes]:
    for piece in held:
        read.extend(piece)
        yield piece
    call.complete = True
