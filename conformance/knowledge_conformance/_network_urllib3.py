"""The hook of urllib3 2, and so of requests: at a pool's single request, below its retries and redirects.

Knows this library's pool and exceptions, no provider and no check.
"""

import contextlib
import email.message
import io
import socket
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from knowledge_conformance.network import (
    DRIP_SECONDS,
    EVENTS,
    OVER_TIME_SECONDS,
    PAUSE_SECONDS,
    Break,
    Call,
    Hook,
    Network,
    Reply,
    heard,
)


def hooks(module: Any, network: Network) -> Iterator[Hook]:
    """One, for every pool."""
    if str(getattr(module, "__version__", "")).startswith("2."):
        yield Hook(module.connectionpool.HTTPConnectionPool, "_make_request", partial(_requesting, module, network))


def _requesting(module: Any, network: Network, original: Callable[..., Any]) -> Callable[..., Any]:
    def make_request(pool: Any, conn: Any, method: str, url: str, *rest: Any, **options: Any) -> Any:
        address = f"{pool.scheme}://{pool.host}:{pool.port}{url}"
        call = network.met(method, address, dict(options.get("headers") or {}), options.get("body"))
        if call.fate is None:
            return _listened(module, call, original(pool, conn, method, url, *rest, **options), method, url, options)
        time.sleep(PAUSE_SECONDS)
        if isinstance(call.fate, Reply):
            line = io.BufferedReader(_Line(call, call.fate, network.patience))
            held = {"pool": pool, "connection": options.get("response_conn"), "original_response": _Original()}
            return _response(module, line, call.fate.status, call.fate.fields, method, url, options, **held)
        if call.fate is Break.SILENT and not network.skips(_read_seconds(options.get("timeout"))):
            network.hold(call)
            raise ConnectionResetError(104, "Connection reset by peer")
        raise _error(module, call, call.fate, pool, conn, url)

    return make_request


def _read_seconds(timeout: Any) -> float | None:
    with contextlib.suppress(Exception):
        timeout.start_connect()
    with contextlib.suppress(Exception):
        seconds = timeout.read_timeout
        return seconds if isinstance(seconds, int | float) else None
    return None


def _error(module: Any, call: Call, how: Break, pool: Any, conn: Any, url: str) -> Exception:
    made, host = module.exceptions, call.host
    refused = "Failed to establish a new connection: [Errno 111] Connection refused"
    unknown = socket.gaierror(-2, "Name or service not known")
    errors: dict[Break, Callable[[], Exception]] = {
        Break.REFUSED: lambda: made.NewConnectionError(conn, refused),
        Break.NO_SUCH_NAME: lambda: made.NameResolutionError(host, conn, unknown),
        Break.LATE: lambda: made.ConnectTimeoutError(conn, f"Connection to {host} timed out."),
        Break.RESET: lambda: ConnectionResetError(104, "Connection reset by peer"),
        Break.SILENT: lambda: made.ReadTimeoutError(pool, url, "Read timed out."),
        Break.UNRECORDED: lambda: made.NewConnectionError(conn, Break.UNRECORDED.value),
    }
    return errors[how]()


class _Line(io.RawIOBase):
    """A reply's body as it comes: a slow one ends, too, when the network is whole again, or nobody waits any more."""

    def __init__(self, call: Call, reply: Reply, patience: float) -> None:
        self._call = call
        self._reply = reply
        self._left = bytearray(reply.sent)
        self._until = time.monotonic() + patience + OVER_TIME_SECONDS

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        slow, broken = self._reply.way == "slow", self._reply.way == "broken" and not self._left
        if broken or (slow and (self._call.over.wait(DRIP_SECONDS) or time.monotonic() > self._until)):
            raise ConnectionResetError(104, "Connection reset by peer")
        piece = bytes(self._left[: 1 if slow else len(buffer)])
        del self._left[: len(piece)]
        buffer[: len(piece)] = piece
        return len(piece)


class _Original:
    """What urllib3 looks at to give a connection back to its pool, and requests for cookies."""

    def __init__(self) -> None:
        self.msg = email.message.Message()

    def isclosed(self) -> bool:
        return True

    def close(self) -> None:
        """It is."""


def _response(
    module: Any, body: Any, status: int, headers: Any, method: str, url: str, options: dict[str, Any], **held: Any
) -> Any:
    names = ("preload_content", "decode_content", "enforce_content_length", "retries")
    kept = {name: options[name] for name in names if name in options}
    return module.HTTPResponse(
        body=body, headers=headers, status=status, version=11, request_method=method, request_url=url, **kept, **held
    )


def _listened(module: Any, call: Call, response: Any, method: str, url: str, options: dict[str, Any]) -> Any:
    """The response, read as a whole and made anew, since its own can be read only once."""
    headers, status = response.headers, response.status
    if EVENTS in headers.get("content-type", ""):
        return response
    if options.get("preload_content", True):
        plain = {name: text for name, text in headers.items() if name.lower() != "content-encoding"}
        call.heard = lambda: heard(status, plain, response.data)
        return response
    raw = response.read(decode_content=False)
    call.heard = lambda: heard(status, dict(headers), raw)
    of = getattr(response, "_original_response", None)
    return _response(module, io.BytesIO(raw), status, headers, method, url, options, original_response=of)
