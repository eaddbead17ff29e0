"""The six adapters side by side, each over a scripted vendor; knows how they are opened and asked, no wanted code.

``equivalence:six`` is all of them behind one ``CompositeProvider``, for the kit.
"""

import inspect
import re
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import haystack_subjects
import http_subjects
import langchain_equivalence
import llama_index_subjects
import mcp_subjects
import openai_subjects

from knowledge_fakes.vendors.http_service import KnowledgeService
from knowledge_fakes.vendors.mcp_service import ToolService
from knowledge_fakes.vendors.openai_service import VectorStoreService
from knowledge_provider import (
    CancelSignal,
    CompositeProvider,
    KnowledgeError,
    RetrievalContext,
    RetrievalRequest,
    RetrievalResult,
)

PAGE: Final = Path(__file__).parents[2] / "docs" / "adapters.md"
Subject = Callable[[str | None], AbstractAsyncContextManager[Any]]

SUBJECTS: Final[Mapping[str, Subject]] = MappingProxyType(
    {
        "LangChain": langchain_equivalence.subject,
        "LlamaIndex": llama_index_subjects.subject,
        "Haystack": haystack_subjects.subject,
        "OpenAI": openai_subjects.subject,
        "MCP": mcp_subjects.subject,
        "HTTP": http_subjects.subject,
    }
)
"""The ``subject`` of each adapter, by the name that it has in the page's tables."""

SECRETS: Final = (
    langchain_equivalence.SECRET,
    llama_index_subjects.SECRET,
    haystack_subjects.SECRET,
    openai_subjects.SECRET,
    mcp_subjects.SECRET,
    http_subjects.SECRET,
)
# Less than a service in the tests asks to wait for, so that no adapter does.
_SECONDS: Final = 5.0


async def asked(
    provider: Any, query: str = "release policy", *, seconds: float = _SECONDS, **fields: Any
) -> list[RetrievalResult] | KnowledgeError:
    """What comes of one search: its results, or its failure. Any other exception goes through."""
    signal = CancelSignal(deadline=time.monotonic() + seconds)
    try:
        answer = await provider.retrieve(
            RetrievalRequest(query=query, **fields), RetrievalContext(owner_id="alice", signal=signal)
        )
    except KnowledgeError as error:
        return error
    return list(answer["results"] if isinstance(answer, Mapping) else answer)


async def found(provider: Any, query: str = "release policy", **fields: Any) -> list[RetrievalResult]:
    """The results of a search that does not fail."""
    answer = await asked(provider, query, **fields)
    assert not isinstance(answer, KnowledgeError), answer
    return answer


@asynccontextmanager
async def opened(provider: Any) -> AsyncGenerator[Any]:
    """The provider, which is closed at the end."""
    try:
        yield provider
    finally:
        ending = provider.close()
        if inspect.isawaitable(ending):
            await ending


def said(error: BaseException | None) -> str:
    """All that an error's own message and notes would show; its causes are the vendor's."""
    return "\n".join([str(error), repr(error), *getattr(error, "__notes__", ())])


def table(first: str) -> dict[str, dict[str, str]]:
    """The table of the page whose first row begins with the cell ``first``: by the first cell, then by the column's."""
    text = PAGE.read_text(encoding="utf-8")
    lines = re.search(rf"^\| {re.escape(first)} \|.*(?:\n\|.*)+", text, re.MULTILINE)
    assert lines is not None, first
    head, _, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines[0].splitlines())
    return {row[0]: dict(zip(head[1:], row[1:], strict=True)) for row in rows}


# All behind one


def in_this_process() -> dict[str, Any]:
    """A provider of each adapter by a composite's key for it; none of them needs a server beside it."""
    return {
        "langchain": langchain_equivalence.over(langchain_equivalence.HandbookRetriever()),
        "llama-index": llama_index_subjects.asynchronous(),
        "haystack": haystack_subjects.asynchronous_pipeline(),
        "openai": openai_subjects.over(VectorStoreService()),
        "mcp": mcp_subjects.over(ToolService("text")),
        "http": http_subjects.over(KnowledgeService(), citations=True),
    }


def six() -> CompositeProvider:
    """The six adapters behind one, each over the same handbook."""
    return CompositeProvider(in_this_process())
