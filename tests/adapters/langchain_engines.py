"""LangChain providers over engines of their own, each from a factory: ``langchain_engines:qdrant``.

Beside ``langchain_subjects``, whose handbook and embedding they have. The engines are imported where they are needed.
"""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final
from uuid import NAMESPACE_URL, uuid5

from langchain_core.documents import Document
from langchain_subjects import BagOfWords, documents

from knowledge_adapters.langchain_provider import LangChainProvider

PGVECTOR_URL: Final = "KNOWLEDGE_TESTS_PGVECTOR_URL"
"""The environment variable that tells ``pgvector`` where its database is."""

TABLE: Final = "handbook"
WIDTH: Final = len(BagOfWords().embed_query(""))


def point_id(document: Document) -> str:
    """A document's id as Qdrant takes it."""
    return str(uuid5(NAMESPACE_URL, document.id or ""))


def qdrant_store(distance: str = "Cosine", held: list[Document] | None = None) -> Any:
    """A local Qdrant of its own with the handbook, or with the documents that are given."""
    from langchain_qdrant import QdrantVectorStore
    from qdrant_client import QdrantClient, models

    client, measure = QdrantClient(":memory:"), models.Distance(distance)
    client.create_collection(TABLE, vectors_config=models.VectorParams(size=WIDTH, distance=measure))
    store = QdrantVectorStore(client, TABLE, BagOfWords(), distance=measure)
    found = documents() if held is None else held
    store.add_documents(found, ids=[point_id(document) for document in found])
    return store


def qdrant() -> LangChainProvider:
    """A local Qdrant, synchronous, so that its calls run in daemon threads."""
    return LangChainProvider(
        qdrant_store(), key="handbook-qdrant", label="Handbook", score_kind="similarity", citations=True
    )


async def pgvector_table(engine: Any, table: str, held: list[Document]) -> None:
    """A table with the documents; their language has a column, without which nothing can be filtered by it."""
    from langchain_postgres import Column

    columns = {"id_column": Column("id", "TEXT", nullable=False), "metadata_columns": [Column("language", "TEXT")]}
    await engine.ainit_vectorstore_table(table, WIDTH, **columns)
    await (await pgvector_store(engine, table)).aadd_documents(held)


async def pgvector_store(engine: Any, table: str = TABLE, model: Any = None, **options: Any) -> Any:
    """The store of such a table."""
    from langchain_postgres import PGVectorStore

    options |= {"id_column": "id", "metadata_columns": ["language"]}
    return await PGVectorStore.create(engine, model or BagOfWords(), table, **options)


@asynccontextmanager
async def pgvector() -> AsyncIterator[LangChainProvider]:
    """A PostgreSQL that others started and filled, asked on the event loop."""
    from langchain_postgres import PGEngine

    engine = PGEngine.from_connection_string(os.environ[PGVECTOR_URL])
    try:
        store = await pgvector_store(engine)
        yield LangChainProvider(store, key="handbook-pgvector", label="Handbook", score_kind="distance", citations=True)
    finally:
        await engine.close()
