"""A LangChain retriever over the handbook, and the provider over it; knows LangChain, and none of the other adapters.

``subject`` is the counterpart of the ``subject`` of ``http_subjects`` and the other modules of that kind.
"""

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Final

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict, Field

from knowledge_adapters.langchain_provider import LangChainProvider
from knowledge_fakes.handbook import load_handbook
from knowledge_fakes.search import search

SECRET: Final = "sk-hunter2-4d81b6"


class ServiceError(Exception):
    """What a client of a remote store raises: with the HTTP status, and a response with headers."""

    def __init__(self, status: int, **headers: str) -> None:
        super().__init__(f"the service's own words, and {SECRET}")
        self.status_code = status
        named = {name.replace("_", "-"): text for name, text in headers.items()}
        self.response = SimpleNamespace(status_code=status, headers=named)


class HandbookRetriever(BaseRetriever):
    """The handbook's passages in the order of its own search; where it is told to, its first searches fail or hang.

    ``ways`` has one for each of the searches: an exception that is raised, or None for one that never ends. ``held`` is
    set once a search waits, ``gone`` once it has given up waiting.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)
    ways: list[Callable[[], Exception] | None] = Field(default_factory=list)
    held: threading.Event = Field(default_factory=threading.Event)
    gone: threading.Event = Field(default_factory=threading.Event)

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        handbook = load_handbook()
        return [_document(hit.id) for hit in search(handbook.index, query)]

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun
    ) -> list[Document]:
        if self.ways:
            await self._fail(self.ways.pop(0))
        return self._get_relevant_documents(query, run_manager=run_manager.get_sync())

    async def _fail(self, way: Callable[[], Exception] | None) -> None:
        if way is not None:
            raise way()
        self.held.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.gone.set()


def _document(name: str) -> Document:
    passage = load_handbook().passages[name]
    own = {"source": passage.source["uri"], "title": passage.source["title"]}
    return Document(id=name, page_content=passage.content, metadata={**passage.metadata, **own})


def _broken_record() -> Exception:
    # As LangChain raises it for a record of a store that has no text under the key for it.
    try:
        Document(page_content=None, metadata={"key": SECRET})  # type: ignore[arg-type]  # this is the fault
    except ValueError as error:
        return error
    return AssertionError("LangChain takes a document without a text")


_WAYS: Final[dict[str, Callable[[], Exception]]] = {
    "unauthorized": lambda: ServiceError(401),
    "rate_limited": lambda: ServiceError(429, retry_after="7"),
    "unavailable": lambda: ServiceError(503),
    "timeout": lambda: TimeoutError(f"no answer to {SECRET} within 5 s"),
    "invalid_response": _broken_record,
}


def over(retriever: BaseRetriever) -> LangChainProvider:
    return LangChainProvider(retriever, key="handbook", label="Handbook", citations=True)


@asynccontextmanager
async def subject(fault: str | None = None) -> AsyncGenerator[LangChainProvider]:
    """A provider over the handbook that is sound, or fails as named: for what all adapters do alike."""
    provider = over(HandbookRetriever(ways=[] if fault is None else [_WAYS[fault]]))
    try:
        yield provider
    finally:
        provider.close()
