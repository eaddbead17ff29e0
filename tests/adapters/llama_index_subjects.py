"""LlamaIndex providers over the handbook, each from a zero-argument factory: ``llama_index_subjects:vector_index``.

Below them, what the tests of the adapter share. BM25 and Qdrant are imported by those who need them: the kit loads
this module for every subject, and they take seconds.
"""

import asyncio
import time
import warnings
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import lru_cache
from types import SimpleNamespace
from typing import Any, Final
from uuid import NAMESPACE_URL, uuid5

from llama_index.core import StorageContext, VectorStoreIndex
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.schema import MetadataMode, NodeRelationship, NodeWithScore, RelatedNodeInfo, TextNode
from llama_index.core.vector_stores import SimpleVectorStore

from knowledge_adapters.llama_index_provider import LlamaIndexProvider
from knowledge_fakes.search import index_terms
from knowledge_fakes.vendors.llama_index_retriever import (
    AsyncHandbookRetriever,
    SyncHandbookRetriever,
    handbook_nodes,
)
from knowledge_provider import CancelSignal, RetrievalContext, RetrievalRequest, RetrievalResult

SECRET: Final = "sk-hunter2-51ce0a"
OWNERS: Final = {"alice": ("release-handbook", "incident-response"), "bob": ("holidays", "travel-and-expenses")}
_FILTERS: Final = ("department", "language", "revision")
_CHINESE_TOO: Final = r"[\u4e00-\u9fff]|\w+"
_HOW: Final = {
    None: "sound",
    "unauthorized": "unauthorized",
    "rate_limited": "rate limited",
    "unavailable": "unavailable",
    "timeout": "time-out",
    "invalid_response": "broken record",
}


@lru_cache
def _vocabulary() -> tuple[str, ...]:
    return tuple(sorted({term for node in handbook_nodes() for term in index_terms(node.text)}))


class BagOfWords(BaseEmbedding):
    """One dimension for each term of the handbook; a text with none of them has a vector of zeros."""

    def _get_query_embedding(self, query: str) -> list[float]:
        counts = Counter(index_terms(query))
        return [float(counts[term]) for term in _vocabulary()]

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_query_embedding(text)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)


def index_of(nodes: Sequence[TextNode], store: Any = None) -> VectorStoreIndex:
    """A real index with our embedding, in memory unless a store is given."""
    where = None if store is None else StorageContext.from_defaults(vector_store=store)
    return VectorStoreIndex(nodes, storage_context=where, embed_model=BagOfWords())


@lru_cache
def handbook_index() -> VectorStoreIndex:
    """The handbook in LlamaIndex's own store."""
    return index_of(handbook_nodes())


def vector_index() -> LlamaIndexProvider:
    """LlamaIndex's own store: synchronous, so that its calls run in daemon threads."""
    claims: dict[str, Any] = {"score_kind": "similarity", "zero_is_no_match": True, "citations": True}
    return over(handbook_index().as_retriever(), filter_keys=_FILTERS, knowledge_base="handbook", **claims)


def bm25() -> LlamaIndexProvider:
    """BM25, which pads its answers, over English words and Chinese characters."""
    from llama_index.retrievers.bm25 import BM25Retriever

    retriever = BM25Retriever(nodes=list(handbook_nodes()), token_pattern=_CHINESE_TOO)
    return over(retriever, score_kind="relevance", citations=True)


def qdrant_nodes() -> list[TextNode]:
    """The handbook with ids that Qdrant takes."""
    nodes = handbook_nodes()
    for node in nodes:
        node.id_ = str(uuid5(NAMESPACE_URL, node.id_))
    return nodes


@lru_cache
def _qdrant_index(asynchronous: bool) -> VectorStoreIndex:
    from llama_index.vector_stores.qdrant import QdrantVectorStore
    from qdrant_client import AsyncQdrantClient, QdrantClient

    with warnings.catch_warnings():
        # That a local Qdrant has no index of its payloads.
        warnings.simplefilter("ignore", UserWarning)
        if not asynchronous:
            return index_of(qdrant_nodes(), QdrantVectorStore("handbook", client=QdrantClient(":memory:")))
        store = QdrantVectorStore("handbook", aclient=AsyncQdrantClient(":memory:"))
        # In a thread, as there may be a loop here already; LlamaIndex's own way leaves one open.
        with ThreadPoolExecutor(1) as thread:
            thread.submit(asyncio.run, _fill(store)).result()
        return VectorStoreIndex.from_vector_store(store, embed_model=BagOfWords())


async def _fill(store: Any) -> None:
    nodes = qdrant_nodes()
    for node in nodes:
        node.embedding = BagOfWords().get_text_embedding(node.get_content(MetadataMode.EMBED))
    await store.async_add(nodes)


def qdrant() -> LlamaIndexProvider:
    """A local Qdrant with its synchronous client, in daemon threads."""
    retriever = _qdrant_index(False).as_retriever()
    claims: dict[str, Any] = {"score_kind": "similarity", "zero_is_no_match": True, "citations": True}
    return over(retriever, in_thread=True, filter_keys=_FILTERS, **claims)


def qdrant_async() -> LlamaIndexProvider:
    """The same with its asynchronous client, on the event loop."""
    retriever = _qdrant_index(True).as_retriever()
    return over(retriever, score_kind="similarity", zero_is_no_match=True, citations=True, filter_keys=_FILTERS)


def asynchronous() -> LlamaIndexProvider:
    """A scripted retriever with an asynchronous method of its own, so that its calls run on the event loop."""
    return over(AsyncHandbookRetriever(), score_kind="relevance", citations=True)


def synchronous() -> LlamaIndexProvider:
    """A scripted retriever that is synchronous alone, and has no scores."""
    return over(SyncHandbookRetriever("no score"), citations=True)


@lru_cache
def owned_index() -> VectorStoreIndex:
    """The documents of two owners in one index."""
    nodes = handbook_nodes()
    for node in nodes:
        node.metadata["owner"] = next((who for who, held in OWNERS.items() if node.ref_doc_id in held), "nobody")
    return index_of(nodes)


def owners() -> LlamaIndexProvider:
    """An index that keeps owners apart by their name in the metadata."""
    options: dict[str, Any] = {"zero_is_no_match": True, "scope": lambda context: {"owner": context.owner_id}}
    return over(owned_index().as_retriever(), citations=True, **options)


@asynccontextmanager
async def subject(fault: str | None = None) -> AsyncGenerator[LlamaIndexProvider]:
    """A provider over the handbook that is sound, or fails as named: for what all adapters do alike."""
    provider = over(AsyncHandbookRetriever(_HOW[fault], api_key=SECRET), score_kind="relevance", citations=True)
    try:
        yield provider
    finally:
        provider.close()


# What the tests share


def over(retriever: Any, **options: Any) -> LlamaIndexProvider:
    return LlamaIndexProvider(retriever, **{"key": "handbook", "label": "Handbook", **options})


def context(owner: str = "alice", seconds: float | None = None) -> RetrievalContext:
    deadline = None if seconds is None else time.monotonic() + seconds
    return RetrievalContext(owner_id=owner, signal=CancelSignal(deadline=deadline))


def ask(
    provider: LlamaIndexProvider, query: str = "release policy", *, owner: str = "alice", **fields: Any
) -> list[RetrievalResult]:
    return asyncio.run(provider.retrieve(RetrievalRequest(query=query, **fields), context(owner)))


def ids(results: list[RetrievalResult]) -> list[str]:
    return [result.id for result in results]


def scores(results: list[RetrievalResult]) -> list[tuple[str, float | None]]:
    return [(result.id, result.score) for result in results]


def node(name: str, document: str | None = None, **fields: Any) -> TextNode:
    """A node with a text of its own, of a document where one is named."""
    known = {NodeRelationship.SOURCE: RelatedNodeInfo(node_id=document)} if document else {}
    return TextNode(**{"id_": name, "text": f"text of {name}", "relationships": known, **fields})


def scored(found: TextNode | str, score: float | None = None) -> NodeWithScore:
    return NodeWithScore(node=node(found) if isinstance(found, str) else found, score=score)


class Answering(BaseRetriever):
    """Gives whatever it was made with, on the event loop."""

    def __init__(self, *answer: Any) -> None:
        self.answer: Any = list(answer)
        super().__init__()

    def _retrieve(self, query_bundle: Any) -> Any:
        return self.answer

    async def _aretrieve(self, query_bundle: Any) -> Any:
        return self.answer


class Counting(SimpleVectorStore):
    """Remembers how many nodes each search was for."""

    numbers: list[int] = []  # noqa: RUF012 - pydantic copies a default

    def query(self, query: Any, **kwargs: Any) -> Any:
        self.numbers.append(query.similarity_top_k)
        return super().query(query, **kwargs)


def duck(answer: Any) -> Any:
    """What gives its answer as it is, without LlamaIndex looking at it."""

    async def aretrieve(_query: str) -> Any:
        return answer

    return SimpleNamespace(aretrieve=aretrieve)
