"""The hook of aiohttp: at the connector, where a session gets its connections, below redirects, cookies and retries.

Knows this library's connections and exceptions, no provider and no check.
"""

import asyncio
import contextlib
import http.client
import io
import socket
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final
from weakref import WeakKeyDictionary

from knowledge_conformance.network import DRIP_SECONDS, PAUSE_SECONDS, Break, Call, Hook, Network, Reply, heard

_Wires = WeakKeyDictionary[Any, bytearray]
_sending: Final[set[asyncio.Task[None]]] = set()


def hooks(module: Any, network: Network) -> Iterator[Hook]:
    """One for every connector, and one that hears what comes over a connection."""
    wires: _Wires = WeakKeyDictionary()
    yield Hook(module.BaseConnector, "connect", partial(_connecting, module, network, wires))
    yield Hook(module.client_proto.ResponseHandler, "data_received", partial(_receiving, wires))


def _connecting(module: Any, network: Network, wires: _Wires, original: Callable[..., Any]) -> Callable[..., Any]:
    async def connect(connector: Any, req: Any, traces: Any, timeout: Any) -> Any:  # noqa: ASYNC109 - as it is called
        call = network.met(req.method, str(req.url), dict(req.headers), getattr(req.body, "_value", req.body))
        if call.fate is None:
            connection = await original(connector, req, traces, timeout)
            wires[connection.protocol] = wire = bytearray()
            call.heard = partial(_reply, wire, req.method)
            return connection
        await asyncio.sleep(PAUSE_SECONDS)
        if isinstance(call.fate, Reply):
            return _connection(module, connector, req, call, call.fate)
        silent = call.fate is Break.SILENT and not network.skips(_read_seconds(timeout))
        if silent:
            await call.held()
        raise _error(module, Break.RESET if silent else call.fate, req)

    return connect


def _receiving(wires: _Wires, original: Callable[..., Any]) -> Callable[..., Any]:
    def data_received(protocol: Any, data: bytes, *rest: Any) -> Any:
        if (wire := wires.get(protocol)) is not None:
            wire.extend(data)
        return original(protocol, data, *rest)

    return data_received


def _read_seconds(timeout: Any) -> float | None:
    given = (getattr(timeout, name, None) for name in ("total", "sock_read"))
    return min((seconds for seconds in given if isinstance(seconds, int | float)), default=None)


def _error(module: Any, how: Break, req: Any) -> Exception:
    key, nowhere = req.connection_key, getattr(module, "ClientConnectorDNSError", module.ClientConnectorError)
    errors: dict[Break, Callable[[], Exception]] = {
        Break.REFUSED: lambda: module.ClientConnectorError(key, ConnectionRefusedError(111, "Connection refused")),
        Break.NO_SUCH_NAME: lambda: nowhere(key, socket.gaierror(-2, "Name or service not known")),
        Break.LATE: lambda: module.ServerTimeoutError(f"Connection timeout to host {req.url}"),
        Break.RESET: lambda: module.ClientOSError(104, "Connection reset by peer"),
        Break.SILENT: lambda: module.ServerTimeoutError("Timeout on reading data from socket"),
        Break.UNRECORDED: lambda: module.ClientConnectorError(key, OSError(0, Break.UNRECORDED.value)),
    }
    return errors[how]()


# Replies


class _Line(asyncio.Transport):
    """The other end of a connection on which only the back end speaks."""

    def __init__(self) -> None:
        super().__init__()
        self._closed = False

    def write(self, data: Any) -> None:
        """Take what the client asks; it was seen before."""

    def writelines(self, list_of_data: Any) -> None:
        """As ``write``."""

    def is_closing(self) -> bool:
        return self._closed

    def close(self) -> None:
        self._closed = True

    def abort(self) -> None:
        self._closed = True

    def pause_reading(self) -> None:
        """Nothing more comes than what fits."""

    def resume_reading(self) -> None:
        """As ``pause_reading``."""


def _connection(module: Any, connector: Any, req: Any, call: Call, reply: Reply) -> Any:
    loop, line = asyncio.get_running_loop(), _Line()
    protocol = module.client_proto.ResponseHandler(loop=loop)
    protocol.connection_made(line)
    task = loop.create_task(_send(protocol, line, call, reply))
    _sending.add(task)
    task.add_done_callback(_sending.discard)
    return module.connector.Connection(connector, req.connection_key, protocol, loop)


async def _send(protocol: Any, line: _Line, call: Call, reply: Reply) -> None:
    # Not at once: what comes before the client has sent its question belongs to no answer.
    await asyncio.sleep(PAUSE_SECONDS)
    fields = "".join(f"{name}: {text}\r\n" for name, text in reply.fields.items())
    phrase = http.client.responses.get(reply.status, "")
    head = f"HTTP/1.1 {reply.status} {phrase}\r\n{fields}connection: close\r\n\r\n".encode("latin-1", "replace")
    whole = [head, *(bytes([byte]) for byte in reply.sent)] if reply.way == "slow" else [head + reply.sent]
    for piece in whole:
        if line.is_closing():
            return
        protocol.data_received(piece)
        if reply.way == "slow":
            await asyncio.sleep(DRIP_SECONDS)
            if call.over.is_set():
                break
    if reply.way != "whole" and not line.is_closing():
        protocol.connection_lost(ConnectionResetError(104, "Connection reset by peer"))


# Listening


class _Wire:
    def __init__(self, data: bytes) -> None:
        self._data = data

    def makefile(self, *_arguments: object) -> io.BytesIO:
        return io.BytesIO(self._data)


def _reply(wire: bytearray, method: str) -> Reply | None:
    """The first reply in what came over a connection, or None where there is none."""
    with contextlib.suppress(Exception):
        response = http.client.HTTPResponse(_Wire(bytes(wire)), method=method)  # type: ignore[arg-type] # all it needs
        response.begin()
        return heard(response.status, dict(response.getheaders()), response.read())
    return None
