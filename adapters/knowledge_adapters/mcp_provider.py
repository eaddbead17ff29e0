"""One retrieval tool of an MCP server as a knowledge provider; knows MCP's shapes, and no host or adapter.

Made to be copied alone. ``mcp``, from 2.1 on, is imported when a provider is made.
"""

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from contextvars import ContextVar
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal

from knowledge_provider import CancelSignal, adapting, answers, errors, limits, services
from knowledge_provider.keeping import KeptOpen
from knowledge_provider.models import Health, ProviderDescription, RetrievalContext, RetrievalRequest, RetrievalResult

if TYPE_CHECKING:
    import httpx2
    from mcp import Client, StdioServerParameters
    from mcp.server import MCPServer, Server
    from mcp.types import CallToolResult

_HEALTH_SECONDS, _LAYERS, _LOOKED_AT = 4.0, 4, limits.CANDIDATES_PER_RESULT
_JSON: Final = "application/json"
_CLOSED, _TIMED_OUT, _INVALID_REQUEST, _UNREADABLE = -32000, -32001, -32600, -32700
_DOCUMENT: Final = answers.AnswerFields(results="", content="text", uri="uri", mime_type="type")
_UNREPEATED: Final = "its text may hold data, so it is not repeated"
# The last response of HTTP in this context: the SDK sends from tasks of its own, and keeps neither status nor headers.
_Heard = list["httpx2.Response"]
_HEARD: ContextVar[_Heard] = ContextVar("heard")


class MCPProvider:
    """Answers from ``tool`` of ``server``: a URL, a ``StdioServerParameters``, a server object, or one that is made.

    What makes one is a function that gives a transport for each session. ``arguments`` has the tool's name for each
    part of a request that it takes: ``query``, ``top_k``, ``filters``, which it then has to keep to, and
    ``knowledge_base_ids``, with the server's id for each base in ``knowledge_bases``. ``scope`` gives more, for the
    context's owner. ``fields`` says where the tool's JSON holds what, by default as in the contract. ``score_kind``
    says what the number at ``fields.score`` means: without it there are no scores, and a ``distance`` is negated.
    ``text_as="passage"`` makes a result of each text, and reads none as JSON. ``citations`` says that URLs are public.
    ``headers`` go with every request to a URL, and ``http_client`` makes the client of each session there. ``timeout``
    is in seconds for a whole call, connecting included.

    Raises ``ValueError`` for a URL, header or options that cannot be used, and a key or label against 1.4 or 1.5.
    """

    def __init__(
        self,
        server: "str | StdioServerParameters | MCPServer | Server[Any] | Callable[[], Any]",
        *,
        tool: str,
        key: str,
        label: str,
        arguments: Mapping[str, str] | None = None,
        fields: answers.AnswerFields | None = None,
        score_kind: answers.ScoreKind | None = None,
        text_as: Literal["passage"] | None = None,
        citations: bool = False,
        knowledge_bases: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        http_client: "Callable[[], httpx2.AsyncClient] | None" = None,
        scope: Callable[[RetrievalContext], Mapping[str, Any]] | None = None,
        timeout: float = 10.0,
    ) -> None:
        self._arguments, self._bases = dict(arguments or {"query": "query"}), dict(knowledge_bases or {})
        if "query" not in self._arguments or not self._arguments.keys() <= RetrievalRequest.model_fields.keys():
            raise ValueError(f"arguments: wanted names for 'query' and others of {[*RetrievalRequest.model_fields]}")
        if bool(self._bases) != ("knowledge_base_ids" in self._arguments):
            raise ValueError("wanted knowledge_bases with a name for 'knowledge_base_ids' in arguments, or neither")
        if (text_as and score_kind) or ((headers or http_client) and not isinstance(server, str)):
            raise ValueError("wanted no score_kind with text_as, and headers and http_client with a URL alone")
        connect = _connector(server, services.sendable(headers or {}), http_client)
        self._sessions = adapting.PerLoop(lambda: KeptOpen(connect))
        claims = {"filters": "filters" in self._arguments, "scores": score_kind is not None, "citations": citations}
        self._description = ProviderDescription(protocol_version=1, key=key, label=label, capabilities=claims)
        self._fields, self._read = fields or answers.AnswerFields(), partial(answers.results_in, score_kind=score_kind)
        self._first, self._closed = self._fields.results.partition(".")[0], False
        self._tool, self._scope, self._text_as, self._timeout = tool, scope, text_as, timeout

    def describe(self) -> ProviderDescription:
        """The same description each time (clause 1.7)."""
        return self._description.model_copy(deep=True)

    async def health(self) -> Health:
        """``unavailable`` when the server cannot be asked within 4 s, ``unconfigured`` when it has no such tool."""
        if self._closed:
            return Health(status="unavailable")
        with suppress(Exception):
            limit, session = services.time_limit(CancelSignal(), _HEALTH_SECONDS), self._sessions.get()
            async with limit as signal, session.used(signal) as client:
                known = await client.list_tools(cache_mode="bypass")
            found = known.next_cursor or any(tool.name == self._tool for tool in known.tools)
            return Health(status="ready" if found else "unconfigured")
        return Health(status="unavailable")

    async def close(self) -> None:
        """Refuse further calls, and end this event loop's session and the process behind it (clauses 2.2, 2.3)."""
        self._closed = True
        if session := self._sessions.take():
            await session.close()

    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> list[RetrievalResult]:
        """At most ``request.top_k`` results in the tool's order; every failure is a ``KnowledgeError``."""
        if self._closed:
            raise errors.KnowledgeFailedError("this provider is closed; make a new one to search again")
        context.signal.raise_if_cancelled()
        arguments, heard = self._asked(request, context), _Heard()
        try:
            async with services.time_limit(context.signal, self._timeout):
                result = await self._call(arguments, context.signal, heard)
            # Clause 5.10: of a failure, no more is read than which one of the contract's the tool declares.
            if result.is_error:
                with suppress(errors.KnowledgeInvalidResponseError):
                    self._results(result, request.top_k)
                raise errors.KnowledgeFailedError(f"the tool says that it failed; {_UNREPEATED}")
            return self._results(result, request.top_k)
        except errors.KnowledgeError:
            raise
        except Exception as error:
            failed = _failure(error, heard)
        # Clause 6.4: without a cause, since the SDK's exceptions hold what the server wrote, which may be a key.
        raise failed

    def _asked(self, request: RetrievalRequest, context: RetrievalContext) -> dict[str, Any]:
        if "filters" not in self._arguments:
            adapting.refuse_filters(request)
        parts = {**dict(request), "knowledge_base_ids": adapting.bases_asked_for(request, self._bases)}
        # For many a tool, an empty object would be a restriction to nothing.
        asked = {name: parts[part] for part, name in self._arguments.items() if parts[part]}
        # Clause 4.2: what is the owner's stands, whatever the request has.
        return asked if self._scope is None else asked | adapting.owner_arguments(self._scope, context)

    async def _call(self, arguments: dict[str, Any], signal: CancelSignal, heard: _Heard) -> "CallToolResult":
        from mcp import MCPError

        async with self._sessions.get().used(signal) as client:
            token = _HEARD.set(heard)
            try:
                return await client.call_tool(self._tool, arguments)
            except MCPError as error:
                # 404 within a session: the server has started anew, or dropped it. The next call opens another.
                if (error.code == _INVALID_REQUEST and heard and heard[-1].status_code == 404) or error.code == _CLOSED:
                    raise ConnectionResetError from None
                raise
            finally:
                _HEARD.reset(token)

    def _results(self, result: "CallToolResult", top_k: int) -> list[RetrievalResult]:
        # Rule N2.
        documents = [_document(block) for block in result.content[: top_k * _LOOKED_AT]]
        if self._text_as:
            return self._read(documents, top_k, fields=_DOCUMENT)
        if result.structured_content is not None:
            return self._in_value(self._opened(result.structured_content), top_k)
        texts = [each["text"] for each in documents if each and (not each["uri"] or each["type"] == _JSON)]
        found = [value for value in map(self._opened, texts) if isinstance(value, list | dict)]
        if found:
            # Many servers split a list over blocks, and then one of them is a list of one.
            split = [item for value in found for item in (value if isinstance(value, list) else [value])]
            return self._in_value(found[0] if len(found) == 1 else split, top_k)
        placed = [each if each and each["uri"] else None for each in documents]
        if any(placed) or not placed:
            return self._read(placed, top_k, fields=_DOCUMENT)
        raise errors.KnowledgeInvalidResponseError("wanted JSON or documents; for texts, say text_as='passage'")

    def _in_value(self, value: Any, top_k: int) -> list[RetrievalResult]:
        if isinstance(value, dict) and value.keys().isdisjoint((self._first, self._fields.error)):
            value = [value]
        if not isinstance(value, list):
            return self._read(value, top_k, fields=self._fields)
        items = [self._opened(item) if isinstance(item, str) else item for item in value[: top_k * _LOOKED_AT]]
        return self._read(items, top_k, fields=replace(self._fields, results=""))

    def _opened(self, value: Any) -> Any:
        """The JSON in it, or what it is: out of the SDK's wrapping, and decoded as often as it was encoded."""
        with suppress(errors.KnowledgeInvalidResponseError):
            for _ in range(_LAYERS):
                if isinstance(value, str):
                    value = answers.read_json(value.encode("utf-8", "replace"))
                elif isinstance(value, dict) and [*value] == ["result"] != [self._first]:
                    value = value["result"]
        return value


def _connector(
    server: Any, headers: Mapping[str, str], make: "Callable[[], httpx2.AsyncClient] | None"
) -> "Callable[[], AbstractAsyncContextManager[Client]]":
    import httpx2
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    # Clause 6.4: the SDK logs the text of a message that it cannot read.
    services.log_without_tracebacks("mcp", "client", "mcp.client.stdio", "mcp.client.streamable_http")
    if not isinstance(server, str):
        made: Callable[[], Any] = server if callable(server) else lambda: server
        return lambda: Client(adapting.made(made, "what makes the server"))
    # The call's limit ends a wait for an answer, however long it is.
    url, waits = services.plain_url(server), httpx2.Timeout(30, read=None)
    make = make or partial(httpx2.AsyncClient, verify=httpx2.create_ssl_context(), timeout=waits)

    @asynccontextmanager
    async def connect() -> "AsyncGenerator[Client]":
        _HEARD.set(heard := _Heard())
        opened = adapting.made(make, "http_client")
        try:
            async with opened as http:
                http.headers.update(headers)
                http.event_hooks["response"].append(_listen)
                async with Client(streamable_http_client(url, http_client=http)) as client:
                    yield client
                    return
        except Exception as error:
            failed = _failure(error, heard)
        raise failed

    return connect


async def _listen(response: "httpx2.Response") -> None:
    _HEARD.get([])[:] = [response]


def _failure(error: Exception, heard: _Heard) -> errors.KnowledgeFailedError:
    import httpx2
    from mcp import MCPError

    # What fails while it connects comes in a group in a group.
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, RuntimeError):
        return errors.KnowledgeInvalidResponseError(f"the answer breaks the tool's own output schema; {_UNREPEATED}")
    if not isinstance(error, MCPError) or error.code == _CLOSED:
        late, lost = (TimeoutError, httpx2.TimeoutException), (OSError, httpx2.TransportError, MCPError)
        return services.failure(error, "the server", late=late, lost=lost)
    if heard and heard[-1].status_code >= 300:
        return services.refusal(heard[-1].status_code, heard[-1].headers.get("retry-after"))
    kind = heard[-1].headers.get("content-type", "").lower() if heard else _JSON
    if error.code == _UNREADABLE or not kind.startswith((_JSON, "text/event-stream")):
        return errors.KnowledgeInvalidResponseError(f"the server's answer is no message of MCP; {_UNREPEATED}")
    return errors.KnowledgeFailedError(f"MCP error {error.code}; {_UNREPEATED}", retryable=error.code == _TIMED_OUT)


def _document(block: Any) -> dict[str, Any] | None:
    """A text, with its place if it has one, or None for what has no text, such as an image or a link."""
    held = block.resource if block.type == "resource" else block
    kind, text = getattr(held, "mime_type", None), getattr(held, "text", None)
    return None if text is None else {"text": text, "uri": str(getattr(held, "uri", "")), "type": kind}
