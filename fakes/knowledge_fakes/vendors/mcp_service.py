"""A scripted MCP server: the handbook behind one retrieval tool; knows MCP, and no adapter.

It answers as it is told, in each shape that servers give, or in one of the ways in which they fail: in process, over
stdio (``python -m knowledge_fakes.vendors.mcp_service --shape list``) or over HTTP. Needs the extra ``mcp``.
"""

import argparse
import asyncio
import json
import os
import sys
import threading
from collections.abc import Collection, Mapping
from functools import cached_property
from typing import Any, Final

from mcp import MCPError, StdioServerParameters
from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp.types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    Tool,
)
from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from knowledge_fakes.handbook import load_handbook
from knowledge_fakes.vendors._mcp_results import HTTP_FAULTS, RESULT_FAULTS, SCHEMAS, SHAPES, WORDS, HTTPReply, Result
from knowledge_provider import RetrievalRequest
from knowledge_provider.errors import KnowledgeError

__all__ = ["CALL_FAULTS", "HTTP_FAULTS", "RESULT_FAULTS", "SHAPES", "TOOL", "ToolService"]

TOOL: Final = "search"
"""The tool's name; it takes ``query``, ``top_k``, ``knowledge_base_ids``, ``filters`` and ``tenant``."""

CALL_FAULTS: Final = ("mcp_error", "mcp_timeout", "raises", "silent", "dies")
"""Ways to fail without a result: an error of the protocol's, an exception, no answer ever, the end of the process."""

_INPUT: Final = {
    "type": "object",
    "properties": {
        "query": {"type": "string"},
        "top_k": {"type": "integer", "default": 5},
        "knowledge_base_ids": {"type": "array", "items": {"type": "string"}},
        "filters": {"type": "object"},
        "tenant": {"type": "string"},
    },
    "required": ["query"],
}


class ToolService:
    """The handbook behind the tool ``search``. ``shape`` is a name of ``SHAPES``, and what an answer looks like.

    ``way`` is how it fails: a name of ``RESULT_FAULTS``, ``CALL_FAULTS`` or ``HTTP_FAULTS``, the last over HTTP alone;
    or None, for soundly. ``times`` says for how many calls, after which it answers soundly. A fault of HTTP meets calls
    of the tool, or with ``while_connecting`` everything that is posted. With a ``token`` it wants, over HTTP,
    ``Authorization: Bearer TOKEN``. With ``tenants``, the argument ``tenant`` has to name one of them, and only that
    tenant's documents are searched.

    ``seen`` has the arguments of every call that reached the tool. ``called`` is set when a silent call has come, and
    ``cancelled`` when its caller has gone. Raises ``ValueError`` for a shape or a way that there is not.
    """

    def __init__(
        self,
        shape: str = "model",
        way: str | None = None,
        *,
        times: int | None = None,
        while_connecting: bool = False,
        token: str | None = None,
        tenants: Mapping[str, Collection[str]] | None = None,
    ) -> None:
        for name, known in ((shape, SHAPES), (way, [None, *RESULT_FAULTS, *CALL_FAULTS, *HTTP_FAULTS])):
            if name not in known:
                raise ValueError(f"{name!r} is not there; choose from {', '.join(map(str, known))}")
        self.seen: list[dict[str, Any]] = []
        self.called: threading.Event = threading.Event()
        self.cancelled: threading.Event = threading.Event()
        self._shape, self._way, self._left = shape, way, times
        self._while_connecting, self._token, self._tenants = while_connecting, token, tenants

    @cached_property
    def server(self) -> Server[Any]:
        """The server, for a client in this process."""
        return Server("handbook", on_list_tools=self._listed, on_call_tool=self._called)

    @property
    def stdio(self) -> StdioServerParameters:
        """How to start the same in a process of its own, with the same shape, way and times."""
        told = {"--shape": self._shape, "--way": self._way, "--times": self._left}
        options = [word for name, value in told.items() if value is not None for word in (name, str(value))]
        return StdioServerParameters(
            command=sys.executable, args=["-m", "knowledge_fakes.vendors.mcp_service", *options]
        )

    def app(self, *, json_response: bool = False, stateless: bool = False) -> Starlette:
        """The same as an ASGI app, for ``knowledge_fakes.vendors.serving``; asked at ``/mcp``."""
        app = self.server.streamable_http_app(json_response=json_response, stateless_http=stateless)
        app.user_middleware.insert(0, Middleware(_InFront, service=self))
        return app

    def run(self) -> None:
        """Serve over this process's standard input and output, until the input ends."""

        async def serve() -> None:
            async with stdio_server() as (read, write):
                await self.server.run(read, write, self.server.create_initialization_options())

        asyncio.run(serve())

    def posted(self, headers: Mapping[str, str], body: bytes) -> HTTPReply | None:
        """What answers a POST in the server's place, or None."""
        if self._token is not None and headers.get("authorization") != f"Bearer {self._token}":
            return HTTP_FAULTS["unauthorized"]
        message, reply = json.loads(body), HTTP_FAULTS.get(self._way or "")
        concerned = self._while_connecting or message["method"] == "tools/call"
        if reply is None or not concerned or not self._fails_now():
            return None
        return reply._replace(body=reply.body.replace("{id}", json.dumps(message.get("id"))))

    def _fails_now(self) -> bool:
        if self._left is None:
            return True
        self._left -= 1
        return self._left >= 0

    async def _listed(self, _context: object, _params: object) -> ListToolsResult:
        schema = SCHEMAS.get(self._shape)
        return ListToolsResult(tools=[Tool(name=TOOL, input_schema=_INPUT, output_schema=schema)])

    async def _called(self, _context: object, params: CallToolRequestParams) -> CallToolResult:
        self.seen.append(dict(params.arguments or {}))
        fails = self._way is not None and self._way not in HTTP_FAULTS and self._fails_now()
        if params.name != TOOL:
            return _failed("Unknown tool")
        if fails and self._way in CALL_FAULTS:
            await self._fail_without_result()
        result = self._found(params.arguments or {})
        change = RESULT_FAULTS.get(self._way or "") if fails else None
        return CallToolResult.model_validate(change(result) if change else result)

    async def _fail_without_result(self) -> None:
        if self._way == "dies":
            # As when the system ends it for its memory: nothing is said any more.
            os._exit(3)
        if self._way == "raises":
            raise LookupError(WORDS)
        if self._way != "silent":
            raise MCPError(-32001 if self._way == "mcp_timeout" else -32603, WORDS)
        self.called.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.cancelled.set()

    def _found(self, arguments: Mapping[str, Any]) -> Result:
        own = dict(arguments)
        tenant = own.pop("tenant", None)
        documents = None if self._tenants is None else self._tenants.get(tenant, ())
        if documents is not None and not documents:
            return {"content": [], "structuredContent": {"error": {"code": "knowledge_unauthorized"}}, "isError": True}
        try:
            return SHAPES[self._shape](load_handbook(documents).search(RetrievalRequest(**own)))
        except (KnowledgeError, ValidationError) as error:
            declared = {"error": {"code": getattr(error, "code", "invalid_arguments")}}
            return {"content": [], "structuredContent": declared, "isError": True}


def _failed(words: str) -> CallToolResult:
    return CallToolResult.model_validate({"content": [{"type": "text", "text": words}], "isError": True})


class _InFront:
    """Answers in the server's place where the service says so."""

    def __init__(self, app: ASGIApp, service: ToolService) -> None:
        self._app, self._service = app, service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            return await self._app(scope, receive, send)
        request = Request(scope, receive)
        body = await request.body()
        reply = self._service.posted(request.headers, body)
        if reply is not None:
            return await Response(reply.body, reply.status, headers=dict(reply.headers))(scope, receive, send)
        unread: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def again() -> Message:
            return unread.pop() if unread else await receive()

        return await self._app(scope, again, send)


def main(arguments: list[str] | None = None) -> None:
    """Serve over stdio, as the command line says."""
    parser = argparse.ArgumentParser(description="A scripted MCP server over stdio.")
    parser.add_argument("--shape", default="model", choices=SHAPES)
    parser.add_argument("--way", choices=[*RESULT_FAULTS, *CALL_FAULTS])
    parser.add_argument("--times", type=int)
    told = parser.parse_args(arguments)
    ToolService(told.shape, told.way, times=told.times).run()


if __name__ == "__main__":
    main()
