"""How ``LangChainProvider`` waits, is cancelled and uses threads."""

import asyncio
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import langchain_subjects as subjects
import pytest
from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore
from langchain_subjects import Answering, ask, context, document, ids, over

from knowledge_provider import RetrievalRequest, errors

# Time and cancellation


def test_a_cancelled_signal_starts_no_work() -> None:
    """Clause 7.3."""
    duck = Answering([document("a")])
    told = context()
    told.signal.cancel()
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(over(duck).retrieve(RetrievalRequest(query="q"), told))
    assert duck.asked == []


def test_cancellation_reaches_an_asynchronous_retriever_and_comes_out() -> None:
    """Clauses 7.1 and 7.2: and the provider still works afterwards."""
    asked, ended = asyncio.Event(), []

    class Waiting:
        async def ainvoke(self, query: str) -> list[Document]:
            if query == "wait":
                asked.set()
                try:
                    await asyncio.Event().wait()
                finally:
                    ended.append(query)
            return [document("a")]

    async def main() -> list[str]:
        provider = over(Waiting())
        task = asyncio.create_task(provider.retrieve(RetrievalRequest(query="wait"), context()))
        await asked.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return ids(await provider.retrieve(RetrievalRequest(query="again"), context()))

    assert asyncio.run(main()) == ["a"]
    assert ended == ["wait"]


class Hanging(BaseRetriever):
    """Synchronous, and does not return before it is told to."""

    until: Any

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        self.until.wait()
        return [document("late")]


@pytest.fixture
def hanging() -> Iterator[Hanging]:
    over_now = threading.Event()
    yield Hanging(until=over_now)
    over_now.set()
    for thread in _calls_under_way():
        thread.join(5)


def _calls_under_way() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "knowledge-call"]


def test_forty_hung_calls_in_a_row_end_and_leave_a_bounded_number_of_threads(hanging: Hanging) -> None:
    """Field case 5, clause 7.1: each call ends with its deadline, and when all threads hang the next are refused.

    What shows it is the order of events: the retriever is not released before all of them, loop included, have ended,
    and the refused calls have no deadline, so that they would wait for ever if they waited for a thread.
    """
    provider = over(hanging)
    request = RetrievalRequest(query="q")

    async def code(seconds: float | None) -> str:
        with pytest.raises(errors.KnowledgeError) as caught:
            await asyncio.wait_for(provider.retrieve(request, context(seconds=seconds)), 60)
        return caught.value.code

    async def main() -> list[str]:
        return [await code(seconds) for seconds in [0.02] * 32 + [None] * 8]

    assert asyncio.run(main()) == ["knowledge_timeout"] * 32 + ["knowledge_unavailable"] * 8
    assert len(_calls_under_way()) == 32
    assert not hanging.until.is_set()


def test_a_hung_retriever_does_not_hold_back_the_process() -> None:
    """Field case 5, clause 2.3: neither ``asyncio.run`` nor the interpreter waits for the thread."""
    program = """
import asyncio, threading, time
from knowledge_adapters.langchain_provider import LangChainProvider
from knowledge_provider import CancelSignal, KnowledgeError, RetrievalContext, RetrievalRequest
class Hanging:
    def invoke(self, query): threading.Event().wait()
provider = LangChainProvider(Hanging(), key="k", label="L")
context = RetrievalContext(owner_id="o", signal=CancelSignal(deadline=time.monotonic() + 0.1))
try: asyncio.run(provider.retrieve(RetrievalRequest(query="q"), context))
except KnowledgeError as error: print(error.code)
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=30)
    assert (ended.stdout, ended.stderr) == ("knowledge_timeout\n", "")


class SyncStore(VectorStore):
    """A store with LangChain's own asynchronous methods, which run the synchronous ones in the loop's executor."""

    def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        return [found for found, _ in self.similarity_search_with_score(query, k)]

    def similarity_search_with_score(self, *args: Any, **kwargs: Any) -> list[tuple[Document, float]]:
        return [(document(threading.current_thread().name), 0.5)]

    def max_marginal_relevance_search(self, *args: Any, **kwargs: Any) -> list[Document]:
        return self.similarity_search("")

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        return abs

    @classmethod
    def from_texts(cls, *args: Any, **kwargs: Any) -> "SyncStore":
        return cls()


class Sync(BaseRetriever):
    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        return [document(threading.current_thread().name)]


class AsyncStore(SyncStore):
    """A store with searches of its own that are asynchronous."""

    async def asimilarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        return [document(threading.current_thread().name)]

    async def asimilarity_search_with_score(self, *args: Any, **kwargs: Any) -> list[tuple[Document, float]]:
        return [(found, 0.5) for found in await self.asimilarity_search("")]

    async def amax_marginal_relevance_search(self, *args: Any, **kwargs: Any) -> list[Document]:
        return await self.asimilarity_search("")


class HalfAsyncStore(SyncStore):
    """Only the search that a retriever of the type ``similarity`` asks for is asynchronous."""

    asimilarity_search = AsyncStore.asimilarity_search


class Async(Sync):
    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun
    ) -> list[Document]:
        return [document(threading.current_thread().name)]


class OldStyle(BaseRetriever):
    """Before LangChain had run managers; it is given an asynchronous method when its class is made."""

    def _get_relevant_documents(self, query: str) -> list[Document]:  # type: ignore[override]
        return [document(threading.current_thread().name)]


@pytest.mark.parametrize(
    ("target", "options"),
    [
        (Sync(), {}),
        (OldStyle(), {}),
        (Sync().bind(), {}),
        (SyncStore(), {"score_kind": "similarity"}),
        (SyncStore().as_retriever(), {}),
        (SyncStore().as_retriever(search_type="mmr"), {}),
        (HalfAsyncStore().as_retriever(search_type="mmr"), {}),
        (RunnableLambda(Sync().invoke), {"in_thread": True}),
        (SimpleNamespace(invoke=lambda _: [document(threading.current_thread().name)]), {}),
    ],
    ids=["retriever", "old-style", "bound", "store", "store-retriever", "mmr", "half", "asked-for", "duck"],
)
def test_what_is_synchronous_runs_in_our_daemon_threads(target: Any, options: dict[str, Any]) -> None:
    """Not in the event loop's executor, whose threads hold back its end; the answer names the thread."""
    assert ids(ask(over(target, **options))) == ["knowledge-call"]


@pytest.mark.parametrize(
    ("target", "options"),
    [
        (Async(), {}),
        (Async().bind(), {}),
        (AsyncStore(), {"score_kind": "similarity"}),
        (AsyncStore().as_retriever(), {}),
        (AsyncStore(), {"score_kind": "relevance"}),
        (AsyncStore().as_retriever(search_type="mmr"), {}),
        (HalfAsyncStore().as_retriever(), {}),
        (AsyncStore(), {"score_kind": "distance", "in_thread": False}),
    ],
    ids=["retriever", "bound", "store", "store-retriever", "relevance", "mmr", "half", "asked-for"],
)
def test_what_is_asynchronous_runs_on_the_event_loop(target: Any, options: dict[str, Any]) -> None:
    """An asynchronous search is cancelled for good; a thread never is."""
    assert ids(ask(over(target, **options))) == ["MainThread"]


def test_langchains_own_store_runs_in_our_threads() -> None:
    """Its asynchronous search is one in name: it computes on the loop, and embeds in the loop's executor."""
    embedded: list[str] = []

    class Watching(subjects.BagOfWords):
        def embed_query(self, text: str) -> list[float]:
            embedded.append(threading.current_thread().name)
            return super().embed_query(text)

    store = InMemoryVectorStore(Watching())
    store.add_documents(subjects.documents())
    embedded.clear()
    for provider in (over(store, score_kind="similarity"), over(store.as_retriever())):
        assert ask(provider)
    assert embedded == ["knowledge-call"] * 2
