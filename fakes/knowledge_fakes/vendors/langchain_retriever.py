"""Scripted LangChain retrievers over the handbook; knows LangChain's documents and the handbook, no adapter or kit.

``AsyncHandbookRetriever`` has an asynchronous method of its own; ``SyncHandbookRetriever`` only the one that LangChain
gives to everybody, which uses a thread. Each can be told to answer in any way of ``ANSWERS``. Needs ``langchain-core``.
"""

import asyncio
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final
from uuid import uuid4

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import Field, PrivateAttr

from knowledge_fakes.handbook import load_handbook
from knowledge_fakes.search import search
from knowledge_fakes.vendors._scripted import FAILURES, always, raising

Hits = list[Document]
Answerer = Callable[[Hits, str], Any]
"""What a retriever makes of its hits; gets its API key too, which some back ends repeat. May raise."""

_TOP_K: Final = 8


@dataclass(frozen=True, slots=True)
class Asked:
    """A search that came: with which words, and in which thread."""

    query: str
    thread: str


def handbook_documents() -> list[Document]:
    """Every passage of the handbook as a document with the passage's id, made anew each time.

    The metadata are the handbook's, and ``source`` and ``title``.
    """
    return [
        Document(
            id=passage.id,
            page_content=passage.content,
            metadata={**passage.metadata, "source": passage.source["uri"], "title": passage.source["title"]},
        )
        for passage in load_handbook().passages.values()
    ]


class SyncHandbookRetriever(BaseRetriever):
    """Answers with at most ``k`` passages of the handbook, in the order of its own search.

    ``api_key`` is what a failing back end repeats. ``asked`` are the searches that came, in their order. ``held`` is
    set once a search waits, ``gone`` once one has given up waiting; ``release`` ends the waiting, which a synchronous
    search has no other way out of.
    """

    k: int = _TOP_K
    asked: list[Asked] = Field(default_factory=list)
    held: threading.Event = Field(default_factory=threading.Event)
    gone: threading.Event = Field(default_factory=threading.Event)
    _released: threading.Event = PrivateAttr(default_factory=threading.Event)
    _documents: dict[str, Document] = PrivateAttr(default_factory=dict)
    _api_key: str = PrivateAttr()
    _answerer: Answerer = PrivateAttr()

    def __init__(self, how: "str | Answerer" = "sound", *, k: int = _TOP_K, api_key: str = "") -> None:
        super().__init__()
        self.k = k
        self._documents = {document.id or "": document for document in handbook_documents()}
        self._api_key = api_key
        self.answer(how)

    def answer(self, how: "str | Answerer") -> None:
        """From now on answer as one of ``ANSWERS``, ``"held"`` among them, or by a function."""
        self._answerer = ANSWERS[how] if isinstance(how, str) else how

    def release(self) -> None:
        """Let every search go that waits or will wait."""
        self._released.set()

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> Any:
        del run_manager  # it comes in every call
        answer = self._answered(query)
        if answer is _HELD:
            self.held.set()
            self._released.wait()
            return []
        return answer

    def _answered(self, query: str) -> Any:
        self.asked.append(Asked(query, threading.current_thread().name))
        hits = search(load_handbook().index, query)[: self.k]
        # Copies: what is done to an answer does not show in the next.
        return self._answerer([self._documents[hit.id].model_copy(deep=True) for hit in hits], self._api_key)


class AsyncHandbookRetriever(SyncHandbookRetriever):
    """The same, asynchronous: a search that waits is cancelled with its task."""

    # Pydantic's plugin for mypy would make one up.
    def __init__(self, how: "str | Answerer" = "sound", *, k: int = _TOP_K, api_key: str = "") -> None:
        super().__init__(how, k=k, api_key=api_key)

    async def _aget_relevant_documents(self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun) -> Any:
        del run_manager  # it comes in every call
        answer = self._answered(query)
        if answer is not _HELD:
            # A cancellation can arrive here.
            await asyncio.sleep(0)
            return answer
        self.held.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.gone.set()


def _each(make: Callable[[Document], Any]) -> Answerer:
    return lambda hits, _: [make(hit) for hit in hits]


def _with(**fields: Any) -> Answerer:
    return _each(lambda hit: hit.model_copy(update=fields))


def _id_in_metadata(hit: Document) -> Document:
    # As langchain-qdrant gives it.
    return hit.model_copy(update={"id": None, "metadata": {**hit.metadata, "_id": hit.id}})


def _objects_in_metadata(hit: Document) -> Document:
    return hit.model_copy(update={"metadata": {**hit.metadata, "parent": hit, "handle": object()}})


_HELD: Final = object()

ANSWERS: Final[Mapping[str, Answerer]] = MappingProxyType(
    {
        # As it should be.
        "sound": lambda hits, _: hits,
        "nothing": always([]),
        # What LangChain allows.
        "no id": _with(id=None),
        "id in the metadata": _each(_id_in_metadata),
        "one id for all": _with(id="same"),
        "new ids": _each(lambda hit: hit.model_copy(update={"id": str(uuid4())})),
        "no metadata": _with(metadata={}),
        "objects in the metadata": _each(_objects_in_metadata),
        "first without text": lambda hits, _: [hits[0].model_copy(update={"page_content": " "}), *hits[1:]],
        "twice": lambda hits, _: [*hits, *hits],
        "more than asked for": lambda _hits, _key: handbook_documents(),
        # Answers that are none.
        "no text": _with(page_content=""),
        "none": always(None),
        "dictionaries": _each(lambda hit: hit.model_dump()),
        "text": always("The service is down for maintenance."),
        # Refusals and failures, as clients of remote stores and models raise them.
        **FAILURES,
        "wrong argument": raising(lambda key: ValueError(f"cannot read {key}")),
        # Time.
        "held": always(_HELD),
    }
)
"""Every way to answer, by its name. Refusals and failures repeat the API key in their words."""
