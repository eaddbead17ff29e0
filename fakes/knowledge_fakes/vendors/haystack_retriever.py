"""Scripted Haystack retrievers over the handbook; knows Haystack's documents and the handbook, no adapter or kit.

``AsyncHandbookRetriever`` has ``run_async`` beside ``run``, ``SyncHandbookRetriever`` has ``run`` alone, and
``PlainHandbookRetriever`` takes neither a number nor filters. Each can be told to answer in any way of ``ANSWERS``, and
stands in a pipeline as well. Needs ``haystack-ai``.
"""

import asyncio
import threading
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final
from uuid import uuid4

from haystack import Document, GeneratedAnswer, Pipeline, component
from haystack.dataclasses import ByteStream
from haystack.utils.filters import document_matches_filter

from knowledge_fakes.handbook import load_handbook
from knowledge_fakes.search import search
from knowledge_fakes.vendors._scripted import FAILURES, always, raising

Hits = list[Document]
Answerer = Callable[[Hits, str], Any]
"""What a retriever makes of its hits, all its outputs; gets its API key too, which some back ends repeat. May raise."""

_TOP_K: Final = 8


@dataclass(frozen=True, slots=True)
class Asked:
    """A search that came: with which words, for how many documents, by which filters, in which thread."""

    query: str
    top_k: int | None
    filters: Mapping[str, Any] | None
    thread: str


def handbook_documents() -> list[Document]:
    """Every passage of the handbook as a document with the passage's id, made anew each time.

    The meta are the handbook's, with ``url`` and ``title``, and ``source_id`` for what a splitter made it from.
    """
    return [
        Document(
            id=passage.id,
            content=passage.content,
            meta={
                **passage.metadata,
                "url": passage.source["uri"],
                "title": passage.source["title"],
                "source_id": passage.source["id"],
            },
        )
        for passage in load_handbook().passages.values()
    ]


class _Script:
    """What a retriever was asked, how it answers, and who waits in it.

    ``api_key`` is what a failing back end repeats, ``filters`` and ``top_k`` are those of a call that brings none.
    ``asked`` are the searches that came, in their order. ``held`` is set once a search waits, ``gone`` once one has
    given up waiting; ``release`` ends the waiting, which a synchronous search has no other way out of.
    """

    def __init__(
        self,
        how: "str | Answerer" = "sound",
        *,
        filters: dict[str, Any] | None = None,
        top_k: int = _TOP_K,
        api_key: str = "",
    ) -> None:
        self.filters: dict[str, Any] | None = filters
        self.top_k: int = top_k
        self.asked: list[Asked] = []
        self.held: threading.Event = threading.Event()
        self.gone: threading.Event = threading.Event()
        self._released = threading.Event()
        self._documents, self._api_key = {document.id: document for document in handbook_documents()}, api_key
        self.answer(how)

    def answer(self, how: "str | Answerer") -> None:
        """From now on answer as one of ``ANSWERS``, ``"held"`` among them, or by a function."""
        self._answerer = ANSWERS[how] if isinstance(how, str) else how

    def release(self) -> None:
        """Let every search go that waits or will wait."""
        self._released.set()

    def _answered(self, query: str, filters: dict[str, Any] | None = None, top_k: int | None = None) -> Any:
        self.asked.append(Asked(query, top_k, deepcopy(filters), threading.current_thread().name))
        # As Haystack's own: filters of a call take the place of the retriever's.
        wanted = filters or self.filters
        found = [(self._documents[hit.id], hit.score) for hit in search(load_handbook().index, query)]
        fitting = [
            replace(it, score=score, meta={**it.meta})
            for it, score in found
            if not wanted or document_matches_filter(wanted, it)
        ]
        return self._answerer(fitting[: self.top_k if top_k is None else top_k], self._api_key)

    def _waited(self, answer: Any) -> Any:
        if answer is not _HELD:
            return answer
        self.held.set()
        self._released.wait()
        return {"documents": []}

    async def _awaited(self, answer: Any) -> Any:
        if answer is not _HELD:
            # A cancellation can arrive here.
            await asyncio.sleep(0)
            return answer
        self.held.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.gone.set()


@component
class SyncHandbookRetriever(_Script):
    """Answers with the handbook's passages in the order of its own search, each with the search's score."""

    @component.output_types(documents=list[Document])
    def run(self, query: str, filters: dict[str, Any] | None = None, top_k: int | None = None) -> dict[str, Any]:
        """What was told for what is found, as ``{"documents": […]}`` where that is sound."""
        return self._waited(self._answered(query, filters, top_k))  # type: ignore[no-any-return]  # whatever was told


@component
class AsyncHandbookRetriever(_Script):
    """The same, also asynchronous: a search that waits there is cancelled with its task."""

    @component.output_types(documents=list[Document])
    def run(self, query: str, filters: dict[str, Any] | None = None, top_k: int | None = None) -> dict[str, Any]:
        """As ``SyncHandbookRetriever``."""
        return self._waited(self._answered(query, filters, top_k))  # type: ignore[no-any-return]  # whatever was told

    @component.output_types(documents=list[Document])
    async def run_async(
        self, query: str, filters: dict[str, Any] | None = None, top_k: int | None = None
    ) -> dict[str, Any]:
        """The same on the event loop."""
        return await self._awaited(self._answered(query, filters, top_k))  # type: ignore[no-any-return]  # as above


@component
class PlainHandbookRetriever(_Script):
    """Takes the query alone."""

    @component.output_types(documents=list[Document])
    def run(self, query: str) -> dict[str, Any]:
        """As ``SyncHandbookRetriever``."""
        return self._waited(self._answered(query))  # type: ignore[no-any-return]  # whatever was told


def pipeline_of(retriever: Any) -> Pipeline:
    """A pipeline of a retriever alone, which is its part ``retriever``."""
    pipeline = Pipeline()
    pipeline.add_component("retriever", retriever)
    return pipeline


def _each(make: Callable[[Document], Any]) -> Answerer:
    return lambda hits, _: {"documents": [make(hit) for hit in hits]}


def _first(**fields: Any) -> Answerer:
    return lambda hits, _: {"documents": [replace(hits[0], **fields), *hits[1:]]}


def _in_numpy(document: Document) -> Document:
    # What scale_score=True and some stores give.
    import numpy

    return replace(document, score=numpy.float64(document.score or 0.0), meta={**document.meta, "n": numpy.int64(3)})


def _with_vectors(document: Document) -> Document:
    meta = {**document.meta, "vector_field": [0.02] * 1536, "note": "ok"}
    return replace(document, embedding=[0.01] * 1536, meta=meta)


def _blob(document: Document) -> Document:
    return replace(document, content=None, blob=ByteStream(b"%PDF-1.7", mime_type="application/pdf"))


def _all_documents(_: Hits, __: str) -> dict[str, Any]:
    return {"documents": [replace(document, score=0.5) for document in handbook_documents()]}


_HELD: Final = object()

ANSWERS: Final[Mapping[str, Answerer]] = MappingProxyType(
    {
        # As it should be.
        "sound": _each(lambda hit: hit),
        "nothing": always({"documents": []}),
        # What Haystack allows.
        "no score": _each(lambda hit: replace(hit, score=None)),
        "first without score": _first(score=None),
        "nan": _each(lambda hit: replace(hit, score=float("nan"))),
        "first nan": _first(score=float("nan")),
        "zero": _each(lambda hit: replace(hit, score=0.0)),
        "distance": _each(lambda hit: replace(hit, score=1 / (1 + (hit.score or 0.0)))),
        "numpy": _each(_in_numpy),
        "vectors": _each(_with_vectors),
        "blob first": lambda hits, _: {"documents": [_blob(hits[0]), *hits[1:]]},
        "twice": lambda hits, _: {"documents": [*hits, *hits]},
        "one id for all": _each(lambda hit: replace(hit, id="same")),
        "new ids": _each(lambda hit: replace(hit, id=str(uuid4()))),
        "no meta": _each(lambda hit: replace(hit, meta={})),
        "other outputs too": lambda hits, key: {"documents": hits, "raw": {"token": key}, "took": 3},
        # Neither the number nor the filters are kept to.
        "more than asked for": _all_documents,
        # Answers that are none.
        "blobs": _each(_blob),
        "no text": _each(lambda hit: replace(hit, content="")),
        "none": always(None),
        "no outputs": always({}),
        "no documents": always({"documents": None}),
        "another output": lambda hits, _: {"results": hits},
        "a list": lambda hits, _: hits,
        "dictionaries": _each(lambda hit: hit.to_dict()),
        "answers": _each(lambda hit: GeneratedAnswer(data="yes", query="?", documents=[hit])),
        "text": always({"documents": "The service is down for maintenance."}),
        # Refusals and failures, as clients of remote stores and models raise them.
        **FAILURES,
        "wrong filter": raising(lambda key: ValueError(f"cannot read {key}")),
        # Time.
        "held": always(_HELD),
    }
)
"""Every way to answer, by its name. Refusals and failures repeat the API key in their words."""
