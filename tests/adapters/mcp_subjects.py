"""MCP providers over the scripted server, each from a zero-argument factory: ``mcp_subjects:model``.

Below them, what the tests of the adapter share.
"""

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import ExitStack, asynccontextmanager
from typing import Any, Final

from knowledge_adapters.mcp_provider import MCPProvider
from knowledge_fakes.vendors.mcp_service import HTTP_FAULTS, TOOL, ToolService
from knowledge_fakes.vendors.serving import serving
from knowledge_provider import CancelSignal, RetrievalContext, RetrievalRequest, RetrievalResult

SECRET: Final = "sk-hunter2-9f3b7c"
KEY: Final = "KNOWLEDGE_SERVICE_KEY"
SERVED_AT: Final = "KNOWLEDGE_SERVICE_URL"
NAMES: Final = {name: name for name in ("query", "top_k", "knowledge_base_ids", "filters")}
BASES: Final = {"engineering": "engineering", "staff": "people"}
OWNERS: Final = {"alice": ("release-handbook", "incident-response"), "bob": ("holidays", "travel-and-expenses")}
_HTTP: Final = {"unauthorized": "unauthorized", "rate_limited": "rate_limited", "unavailable": "unavailable"}
_WAYS: Final = {None: None, "timeout": "silent", "invalid_response": "truncated"}


def over(server: Any, **options: Any) -> MCPProvider:
    """A provider over a service in this process, or over anything that the adapter takes."""
    place = server.server if isinstance(server, ToolService) else server
    asked = {"query": "query", "top_k": "top_k"}
    return MCPProvider(place, **{"tool": TOOL, "key": "mcp", "label": "Tool", "arguments": asked, **options})


def model() -> MCPProvider:
    """All that a tool can do, in this process."""
    claims: dict[str, Any] = {"score_kind": "similarity", "citations": True, "knowledge_bases": BASES}
    return over(ToolService(), arguments=NAMES, **claims)


def split() -> MCPProvider:
    """A list in blocks of text, without structure."""
    return over(ToolService("split"), citations=True)


def passages() -> MCPProvider:
    """Bare texts."""
    return over(ToolService("passages"), text_as="passage")


def tenants() -> MCPProvider:
    """A tool that keeps owners apart by an argument."""
    return over(ToolService(tenants=OWNERS), citations=True, scope=lambda context: {"tenant": context.owner_id})


def served() -> MCPProvider:
    """A server over a real connection, at the URL that the environment names, with a key."""
    headers = {"Authorization": f"Bearer {os.environ.get(KEY, SECRET)}"}
    return over(os.environ[SERVED_AT], score_kind="similarity", citations=True, headers=headers)


in_a_process = over(ToolService("list").stdio, score_kind="similarity", citations=True)
"""A server over stdio. No factory but a provider, since each start of a server takes seconds."""


class OlderService(ToolService):
    """Speaks the protocol with sessions alone, and so refuses what a newer client asks first."""

    def posted(self, headers: Any, body: bytes) -> Any:
        return HTTP_FAULTS["not_found"] if b'"server/discover"' in body else super().posted(headers, body)


@asynccontextmanager
async def subject(fault: str | None = None) -> AsyncGenerator[MCPProvider]:
    """A provider over the handbook that is sound, or fails as named: for what all adapters do alike."""
    with ExitStack() as stack:
        if fault in _HTTP:
            provider = over(f"{stack.enter_context(serving(ToolService(way=_HTTP[fault]).app()))}/mcp")
        else:
            limit = 0.05 if fault == "timeout" else 10.0
            provider = over(ToolService("text", _WAYS[fault]), timeout=limit)
        try:
            yield provider
        finally:
            await provider.close()


# What the tests share


def context(owner: str = "alice", signal: CancelSignal | None = None) -> RetrievalContext:
    return RetrievalContext(owner_id=owner, signal=signal or CancelSignal())


async def asked(
    provider: MCPProvider, query: str = "release policy", *, owner: str = "alice", **fields: Any
) -> list[RetrievalResult]:
    return await provider.retrieve(RetrievalRequest(query=query, **fields), context(owner))


def ask(provider: MCPProvider, query: str = "release policy", **fields: Any) -> list[RetrievalResult]:
    """One answer, on a loop of its own, after which the provider is closed."""

    async def main() -> list[RetrievalResult]:
        try:
            return await asked(provider, query, **fields)
        finally:
            await provider.close()

    return asyncio.run(main())


def ids(results: list[RetrievalResult]) -> list[str]:
    return [result.id for result in results]


def said(error: BaseException | None) -> str:
    """All that an error would show: its words, its notes, and those of its causes."""
    words: list[str] = []
    while error is not None:
        words += [str(error), repr(error), *getattr(error, "__notes__", ())]
        error = error.__cause__ or error.__context__
    return "\n".join(words)
