"""Haystack providers over the handbook, each from a zero-argument factory: ``haystack_subjects:embedding_pipeline``.

Below them, what the tests of the adapter share. The adapter is imported before Haystack, which would write a file into
the home folder of whoever runs the tests. Qdrant is imported by those who need it.
"""

import asyncio
import time
import warnings
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import lru_cache
from importlib.util import find_spec
from typing import Any, Final

from knowledge_adapters.haystack_provider import HaystackProvider

# isort: split
from haystack import Document, Pipeline, component
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever, InMemoryEmbeddingRetriever
from haystack.document_stores.in_memory import InMemoryDocumentStore

from knowledge_fakes.search import index_terms
from knowledge_fakes.vendors.haystack_retriever import (
    AsyncHandbookRetriever,
    PlainHandbookRetriever,
    SyncHandbookRetriever,
    handbook_documents,
    pipeline_of,
)
from knowledge_provider import CancelSignal, RetrievalContext, RetrievalRequest, RetrievalResult

HAS_QDRANT: Final = find_spec("haystack_integrations") is not None
SECRET: Final = "sk-hunter2-7c20e9"
OWNERS: Final = {"alice": ("release-handbook", "incident-response"), "bob": ("holidays", "travel-and-expenses")}
FILTERS: Final = ("department", "language", "revision", "binding")
IN_PIPELINE: Final[dict[str, Any]] = {"query_to": "retriever.query", "documents_from": "retriever.documents"}
EMBEDDED: Final[dict[str, Any]] = {"query_to": "embedder.text", "documents_from": "retriever.documents"}
_HOW: Final = {
    None: "sound",
    "unauthorized": "unauthorized",
    "rate_limited": "rate limited",
    "unavailable": "unavailable",
    "timeout": "time-out",
    "invalid_response": "no text",
}


@lru_cache
def _vocabulary() -> tuple[str, ...]:
    holders = Counter(term for document in handbook_documents() for term in {*index_terms(document.content or "")})
    return tuple(sorted(term for term, count in holders.items() if count > 1))


def bag_of_words(text: str) -> list[float]:
    """One dimension for each term that passages share; a text with none of them has a vector of zeros."""
    counts = Counter(index_terms(text))
    return [float(counts[term]) for term in _vocabulary()]


@component
class TextEmbedder:
    """Embeds a query as its words are counted."""

    @component.output_types(embedding=list[float])
    def run(self, text: str) -> dict[str, list[float]]:
        return {"embedding": bag_of_words(text)}


def documents() -> list[Document]:
    """The handbook with its embeddings, and with the owner of each document."""
    found = handbook_documents()
    return [replace(it, meta=it.meta | _owned(it), embedding=bag_of_words(it.content or "")) for it in found]


def _owned(found: Document) -> dict[str, str]:
    return {"owner": next((who for who, held in OWNERS.items() if found.meta["source_id"] in held), "nobody")}


@lru_cache
def in_memory_store() -> InMemoryDocumentStore:
    """Haystack's own store with the handbook; BM25 as Haystack 3.0 has it too, without matches for nothing."""
    store = InMemoryDocumentStore(embedding_similarity_function="cosine", bm25_algorithm="BM25Okapi")
    store.write_documents(documents())
    return store


def embedding_pipeline_of(retriever: Any) -> Pipeline:
    pipeline = pipeline_of(retriever)
    pipeline.add_component("embedder", TextEmbedder())
    pipeline.connect("embedder.embedding", "retriever.query_embedding")
    return pipeline


def bm25() -> HaystackProvider:
    """Haystack's own BM25, a component by itself, in daemon threads."""
    options: dict[str, Any] = {"filter_keys": FILTERS, "knowledge_base": "handbook", "zero_is_no_match": True}
    return over(InMemoryBM25Retriever(in_memory_store()), score_kind="relevance", citations=True, **options)


def embedding_pipeline() -> HaystackProvider:
    """A text embedder and the retriever of Haystack's own store, in a pipeline."""
    pipeline = embedding_pipeline_of(InMemoryEmbeddingRetriever(in_memory_store()))
    options: dict[str, Any] = {"filter_keys": FILTERS, "zero_is_no_match": True, "score_kind": "similarity"}
    return over(pipeline, citations=True, **EMBEDDED, **options)


@lru_cache
def qdrant_store() -> Any:
    """A local Qdrant with the handbook."""
    from haystack_integrations.document_stores.qdrant import QdrantDocumentStore

    size = len(_vocabulary())
    with warnings.catch_warnings():
        # That a local Qdrant has no index of its payloads.
        warnings.simplefilter("ignore", UserWarning)
        store = QdrantDocumentStore(":memory:", embedding_dim=size, similarity="cosine", progress_bar=False)
        store.write_documents(documents())
    return store


def qdrant_retriever() -> Any:
    """The retriever of the local Qdrant."""
    from haystack_integrations.components.retrievers.qdrant import QdrantEmbeddingRetriever

    return QdrantEmbeddingRetriever(document_store=qdrant_store())


def qdrant() -> HaystackProvider:
    """The retriever of a local Qdrant in a pipeline, in daemon threads: its other client is another, empty store."""
    options: dict[str, Any] = {"filter_keys": FILTERS, "zero_is_no_match": True, "score_kind": "similarity"}
    return over(embedding_pipeline_of(qdrant_retriever()), citations=True, **EMBEDDED, **options)


def asynchronous() -> HaystackProvider:
    """A scripted retriever with ``run_async``, so that its calls run on the event loop."""
    return over(AsyncHandbookRetriever(), score_kind="relevance", citations=True, filter_keys=FILTERS)


def asynchronous_pipeline() -> HaystackProvider:
    """The same in a pipeline."""
    return over(pipeline_of(AsyncHandbookRetriever()), score_kind="relevance", citations=True, **IN_PIPELINE)


def synchronous() -> HaystackProvider:
    """A scripted retriever that is synchronous alone, and has no scores."""
    return over(SyncHandbookRetriever("no score"), citations=True)


def plain() -> HaystackProvider:
    """A scripted retriever that takes the query alone."""
    return over(PlainHandbookRetriever(), citations=True)


def owners() -> HaystackProvider:
    """A store that keeps owners apart by their name in the meta."""
    options: dict[str, Any] = {"zero_is_no_match": True, "scope": lambda context: {"owner": context.owner_id}}
    return over(InMemoryBM25Retriever(in_memory_store()), citations=True, **options)


@asynccontextmanager
async def subject(fault: str | None = None) -> AsyncGenerator[HaystackProvider]:
    """A provider over the handbook that is sound, or fails as named: for what all adapters do alike."""
    pipeline = pipeline_of(AsyncHandbookRetriever(_HOW[fault], api_key=SECRET))
    provider = over(pipeline, score_kind="relevance", citations=True, **IN_PIPELINE)
    try:
        yield provider
    finally:
        provider.close()


# What the tests share


def over(target: Any, **options: Any) -> HaystackProvider:
    return HaystackProvider(target, **{"key": "handbook", "label": "Handbook", **options})


def context(owner: str = "alice", seconds: float | None = None) -> RetrievalContext:
    deadline = None if seconds is None else time.monotonic() + seconds
    return RetrievalContext(owner_id=owner, signal=CancelSignal(deadline=deadline))


def ask(
    provider: HaystackProvider, query: str = "release policy", *, owner: str = "alice", **fields: Any
) -> list[RetrievalResult]:
    return asyncio.run(provider.retrieve(RetrievalRequest(query=query, **fields), context(owner)))


def ids(results: list[RetrievalResult]) -> list[str]:
    return [result.id for result in results]


def scores(results: list[RetrievalResult]) -> list[tuple[str, float | None]]:
    return [(result.id, result.score) for result in results]


def document(name: str, score: float | None = None, **fields: Any) -> Document:
    """A document with a text of its own."""
    return Document(**{"id": name, "content": f"text of {name}", "score": score, **fields})


def answering(*found: Any, **options: Any) -> HaystackProvider:
    """A provider over a retriever that gives these documents for everything."""
    return over(AsyncHandbookRetriever(lambda _hits, _key: {"documents": list(found)}), **options)
