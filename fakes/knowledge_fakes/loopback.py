"""``LoopbackProvider``: the handbook behind a real TCP connection; knows sockets and the handbook, no kit, no fault."""

import asyncio
import json
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Any, NamedTuple

from knowledge_fakes.handbook import load_handbook, refuse_all_filters
from knowledge_provider import PROTOCOL_VERSION, CancelSignal, RetrievalContext, RetrievalRequest
from knowledge_provider.errors import KnowledgeUnavailableError


class _Listener(NamedTuple):
    loop: asyncio.AbstractEventLoop
    socket: socket.socket
    server: asyncio.Server
    exchanges: set[asyncio.Task[Any]]


class LoopbackProvider:
    """The handbook behind a TCP server on the loopback address: each call is one connection, ended by end of file."""

    def __init__(self) -> None:
        self._handbook = load_handbook()
        self._listener: _Listener | None = None
        self._closed = False

    def describe(self) -> dict[str, Any]:
        """Say so; ``filters`` is not claimed."""
        claims = {"filters": False, "scores": True, "citations": True}
        return {
            "protocolVersion": PROTOCOL_VERSION,
            "key": "socket-io",
            "label": "Handbook by TCP",
            "capabilities": claims,
        }

    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> dict[str, Any]:
        """Ask the server. Raises ``KnowledgeUnavailableError`` when it is closed or the connection breaks."""
        # Clause 7.3.
        context.signal.raise_if_cancelled()
        refuse_all_filters(request)
        # Clause 2.2.
        if self._closed:
            raise KnowledgeUnavailableError("Wanted an open provider; this one was closed. Make a new one.")
        try:
            return {"results": await asyncio.shield(_begin(await self._listening(), request))}
        except (OSError, ValueError) as error:
            # Clause 5.10: a connection that broke is not an empty answer.
            raise KnowledgeUnavailableError("Wanted an answer over TCP; the connection broke. Try again.") from error

    async def health(self, signal: CancelSignal) -> dict[str, Any]:
        """Ready until it is closed (clause 2.1)."""
        signal.raise_if_cancelled()
        return {"status": "unavailable" if self._closed else "ready"}

    async def close(self) -> None:
        """Stop the server, if there is one; a second time changes nothing (clauses 2.2, 2.3)."""
        self._closed = True
        await self._let_go()

    async def _listening(self) -> _Listener:
        # Clause 2.4: a server belongs to the loop that it was started on.
        loop, listener = asyncio.get_running_loop(), self._listener
        if listener is None or listener.loop is not loop:
            await self._let_go()
            listening = socket.create_server(("127.0.0.1", 0))
            # Clauses 7.2 and 7.5: nothing up to the assignment suspends, since the server is not yet started; so no
            # cancellation can lose it and no second call can start another.
            server = await asyncio.start_server(self._serve, sock=listening, start_serving=False)
            listener = self._listener = _Listener(loop, listening, server, set())
            await server.start_serving()
        return listener

    async def _let_go(self) -> None:
        listener, self._listener = self._listener, None
        if listener is None:
            return
        if listener.loop is asyncio.get_running_loop():
            while listener.exchanges:
                await asyncio.wait(listener.exchanges)
            listener.server.close()
            await listener.server.wait_closed()
        else:
            # Its loop is gone, and a server cannot be closed without one.
            listener.socket.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with _closing(writer):
            # A caller whose loop ended sends nothing and waits for nothing.
            if asked := await reader.read():
                found = self._handbook.search(RetrievalRequest.model_validate_json(asked))
                writer.write(json.dumps(found).encode())


def _begin(listener: _Listener, request: RetrievalRequest) -> asyncio.Task[Any]:
    # Clauses 2.3 and 7.2: asyncio loses a connection for good when its server closes while accepting it, so an exchange
    # that has begun goes on to its end, which takes a few milliseconds, also when nobody waits for it any more.
    exchange = asyncio.create_task(_exchange(listener.socket.getsockname(), request))
    listener.exchanges.add(exchange)
    exchange.add_done_callback(listener.exchanges.discard)
    return exchange


async def _exchange(address: tuple[str, int], request: RetrievalRequest) -> Any:
    reader, writer = await asyncio.open_connection(*address)
    async with _closing(writer):
        writer.write(request.model_dump_json(by_alias=True).encode())
        writer.write_eof()
        return json.loads(await reader.read())


@asynccontextmanager
async def _closing(writer: asyncio.StreamWriter) -> AsyncGenerator[None]:
    try:
        yield
    finally:
        writer.close()
        # The other side may have gone first.
        with suppress(OSError):
            await writer.wait_closed()
