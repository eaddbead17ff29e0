"""LangChain providers over a small handbook, each from a zero-argument factory: ``langchain_subjects:vector_store``.

Below them, what the tests of the adapter share.
"""

import asyncio
import re
import time
from collections import Counter
from typing import Any, Final

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import InMemoryVectorStore

from knowledge_adapters.langchain_provider import LangChainProvider
from knowledge_provider import CancelSignal, RetrievalContext, RetrievalRequest, RetrievalResult

SECRET: Final = "sk-hunter2"
_PASSAGES: Final = (
    ("release-policy", "A release needs two approvals, and one of them comes from the team that runs it."),
    ("release-calendar", "Releases go out on Tuesdays and Thursdays; nothing is released on a Friday."),
    ("rollback", "Roll back first and look for the cause later: the previous release stays ready for a day."),
    ("on-call", "The person on call answers within fifteen minutes and may wake the release manager."),
    ("incident-review", "Every incident gets a review within five days, and the review blames nobody."),
    ("refunds", "Refunds take 14 days, and a refund over 500 needs a second signature."),
    ("travel", "Travel is booked through the portal; train before plane for trips under five hours."),
    ("expenses", "Expense claims need a receipt, and are paid with the next salary."),
    ("data-retention", "Customer data is deleted 90 days after the contract ends."),
    ("release-policy-zh", "发布需要两个批准，其中一个来自负责运行的团队。"),
    ("expenses-zh", "报销需要收据，报销款与下个月的工资一起支付。"),
    ("search-zh", "知识检索只返回当前用户有权查看的内容。"),
)


def documents() -> list[Document]:
    """The handbook: pages with a public address, and the Chinese ones with a path."""
    return [Document(id=name, page_content=text, metadata=_metadata(name)) for name, text in _PASSAGES]


def _metadata(name: str) -> dict[str, str]:
    place = f"handbook/{name}.md" if name.endswith("-zh") else f"https://handbook.example.org/{name}"
    return {"source": place, "title": name.replace("-", " "), "language": "zh" if name.endswith("-zh") else "en"}


def words(text: str) -> list[str]:
    """Lower-case words of Latin text, and single characters of Chinese."""
    return re.findall(r"[a-z0-9]+|[\u4e00-\u9fff]", text.lower())


_VOCABULARY: Final = sorted({word for _, text in _PASSAGES for word in words(text)})


class BagOfWords(Embeddings):
    """One dimension for each word of the handbook; a text with none of them has a vector of zeros."""

    def embed_query(self, text: str) -> list[float]:
        counts = Counter(words(text))
        return [float(counts[word]) for word in _VOCABULARY]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]


def _by_shared_words(query: str, corpus: list[Document]) -> list[Document]:
    wanted = set(words(query))
    shared = [(len(wanted.intersection(words(document.page_content))), document) for document in corpus]
    return [document for count, document in sorted(shared, key=lambda pair: -pair[0]) if count]


class KeywordRetriever(BaseRetriever):
    """Synchronous alone, as many retrievers are; takes no search arguments."""

    corpus: list[Document]

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        return _by_shared_words(query, self.corpus)


class AsyncKeywordRetriever(KeywordRetriever):
    """The same with an asynchronous method of its own."""

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun
    ) -> list[Document]:
        return _by_shared_words(query, self.corpus)


def in_memory_store() -> InMemoryVectorStore:
    """LangChain's own store, filled with the handbook."""
    store = InMemoryVectorStore(BagOfWords())
    store.add_documents(documents())
    return store


def vector_store() -> LangChainProvider:
    """A vector store with scores."""
    return LangChainProvider(
        in_memory_store(), key="handbook-store", label="Handbook", score_kind="similarity", citations=True
    )


def keyword_retriever() -> LangChainProvider:
    """A retriever that is synchronous alone, so that its calls run in daemon threads."""
    retriever = KeywordRetriever(corpus=documents())
    return LangChainProvider(retriever, key="handbook-keywords", label="Handbook", citations=True)


def async_retriever() -> LangChainProvider:
    """A retriever with an asynchronous method of its own, so that its calls run on the event loop."""
    retriever = AsyncKeywordRetriever(corpus=documents())
    return LangChainProvider(retriever, key="handbook-async", label="Handbook", citations=True)


# What the tests share


def context(owner: str = "alice", seconds: float | None = None) -> RetrievalContext:
    deadline = None if seconds is None else time.monotonic() + seconds
    return RetrievalContext(owner_id=owner, signal=CancelSignal(deadline=deadline))


def ask(provider: LangChainProvider, query: str = "release policy", **fields: Any) -> list[RetrievalResult]:
    return asyncio.run(provider.retrieve(RetrievalRequest(query=query, **fields), context()))


def ids(results: list[RetrievalResult]) -> list[str]:
    return [result.id for result in results]


def over(target: Any, **options: Any) -> LangChainProvider:
    return LangChainProvider(target, key="k", label="L", **options)


class Answering:
    """A duck: gives whatever it was made with, and remembers how it was asked."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.asked: list[dict[str, Any]] = []

    async def ainvoke(self, _query: str, **arguments: Any) -> Any:
        self.asked.append(arguments)
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer

    # A store of the same kind: pairs of a document and a number.
    asimilarity_search_with_score = ainvoke


def scored(*pairs: Any, kind: str = "similarity") -> LangChainProvider:
    return over(Answering(list(pairs)), score_kind=kind)


def document(name: str, **fields: Any) -> Document:
    return Document(id=name, page_content=f"text of {name}", **fields)
