"""How ``LlamaIndexProvider`` waits, is cancelled and uses threads."""

import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import llama_index_subjects as subjects
import pytest
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.llms import MockLLM
from llama_index.core.retrievers import QueryFusionRetriever, TransformRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle
from llama_index.core.vector_stores import SimpleVectorStore
from llama_index_subjects import ask, context, ids, over, scored

from knowledge_fakes.vendors.llama_index_retriever import AsyncHandbookRetriever, SyncHandbookRetriever
from knowledge_provider import RetrievalRequest, errors

REQUEST = RetrievalRequest(query="release policy")


@pytest.fixture
def hanging() -> Iterator[SyncHandbookRetriever]:
    """Synchronous, and does not return before the test has ended."""
    _wait_for_threads()
    retriever = SyncHandbookRetriever("held")
    yield retriever
    retriever.release()
    _wait_for_threads()


def _wait_for_threads() -> None:
    for thread in _calls_under_way():
        thread.join(5)


def _calls_under_way() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "knowledge-call"]


# Time and cancellation


def test_a_cancelled_signal_starts_no_work() -> None:
    """Clause 7.3."""
    retriever, told = AsyncHandbookRetriever(), context()
    told.signal.cancel()
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(over(retriever).retrieve(REQUEST, told))
    assert retriever.asked == []


def test_the_hosts_deadline_ends_the_wait_and_the_search() -> None:
    """``context.signal.deadline``: also without a host that cancels."""
    retriever = AsyncHandbookRetriever("held")

    async def main() -> None:
        await asyncio.wait_for(over(retriever).retrieve(REQUEST, context(seconds=0.02)), 60)

    with pytest.raises(errors.KnowledgeTimeoutError):
        asyncio.run(main())
    assert retriever.gone.is_set()


def test_cancellation_reaches_an_asynchronous_retriever_and_comes_out() -> None:
    """Clauses 7.1 and 7.2: and the provider still works afterwards."""
    retriever = AsyncHandbookRetriever("held")

    async def main() -> list[str]:
        provider = over(retriever)
        task = asyncio.create_task(provider.retrieve(REQUEST, context()))
        await asyncio.to_thread(retriever.held.wait, 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert retriever.gone.is_set()
        assert asyncio.all_tasks() == {asyncio.current_task()}
        retriever.answer("sound")
        return ids(await provider.retrieve(REQUEST, context()))

    assert asyncio.run(main())[0] == "release-handbook#approvals"


def test_cancelling_a_synchronous_one_ends_the_wait(hanging: SyncHandbookRetriever) -> None:
    """Clause 7.1: the thread is LlamaIndex's until its call returns, and nobody waits for it."""

    async def main() -> None:
        task = asyncio.create_task(over(hanging).retrieve(REQUEST, context()))
        await asyncio.to_thread(hanging.held.wait, 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert len(_calls_under_way()) == 1


def test_forty_hung_calls_in_a_row_end_and_leave_a_bounded_number_of_threads(hanging: SyncHandbookRetriever) -> None:
    """Clause 7.1: each call ends with its deadline, and when all threads hang the next are refused at once.

    The refused calls have no deadline, so that they would wait for ever if they waited for a thread.
    """
    provider = over(hanging)

    async def code(seconds: float | None) -> str:
        with pytest.raises(errors.KnowledgeError) as caught:
            await asyncio.wait_for(provider.retrieve(REQUEST, context(seconds=seconds)), 60)
        return caught.value.code

    async def main() -> list[str]:
        return [await code(seconds) for seconds in [0.02] * 32 + [None] * 8]

    assert asyncio.run(main()) == ["knowledge_timeout"] * 32 + ["knowledge_unavailable"] * 8
    assert len(_calls_under_way()) == 32


def test_a_hung_retriever_does_not_hold_back_the_process() -> None:
    """Clause 2.3: neither ``asyncio.run`` nor the interpreter waits for the thread."""
    program = """
import asyncio, threading, time
from knowledge_adapters.llama_index_provider import LlamaIndexProvider
from knowledge_provider import CancelSignal, KnowledgeError, RetrievalContext, RetrievalRequest
class Hanging:
    def retrieve(self, query): threading.Event().wait()
provider = LlamaIndexProvider(Hanging(), key="k", label="L")
context = RetrievalContext(owner_id="o", signal=CancelSignal(deadline=time.monotonic() + 0.1))
try: asyncio.run(provider.retrieve(RetrievalRequest(query="q"), context))
except KnowledgeError as error: print(error.code)
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert (ended.stdout, ended.stderr) == ("knowledge_timeout\n", "")


def test_a_synchronous_retriever_leaves_the_event_loop_free() -> None:
    """Field case 9 (run-llama/llama_index#21934): LlamaIndex's own asynchronous method would hold it throughout.

    What shows it is the order of events: the search returns only once the loop has gone on beside it.
    """
    went_on = threading.Event()

    class Waiting(BaseRetriever):
        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            return [scored("free" if went_on.wait(10) else "blocked")]

    async def main() -> list[str]:
        task = asyncio.create_task(over(Waiting()).retrieve(REQUEST, context()))
        while not task.done():
            await asyncio.sleep(0)
            went_on.set()
        return ids(task.result())

    assert asyncio.run(main()) == ["free"]


# Which method is called where


class Sync(BaseRetriever):
    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [scored(threading.current_thread().name)]


class Async(Sync):
    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return self._retrieve(query_bundle)


class AsyncStore(SimpleVectorStore):
    """A store with a search of its own that is asynchronous."""

    async def aquery(self, query: Any, **kwargs: Any) -> Any:
        return self.query(query, **kwargs)


class Where(subjects.BagOfWords):
    """Says in which thread it embeds."""

    seen: list[str]

    def _get_query_embedding(self, query: str) -> list[float]:
        self.seen.append(threading.current_thread().name)
        return super()._get_query_embedding(query)


class Unchanged:
    """A transformation of queries that leaves them as they are."""

    def run(self, query_bundle: QueryBundle, metadata: object = None) -> QueryBundle:
        return query_bundle


def fusion(*retrievers: BaseRetriever) -> QueryFusionRetriever:
    return QueryFusionRetriever(list(retrievers), llm=MockLLM(), num_queries=1)


@pytest.mark.parametrize(("retriever", "options"), [
    (Sync(), {}),
    (Async(), {"in_thread": True}),
    (TransformRetriever(Async(), Unchanged()), {}),  # type: ignore[arg-type]  # a duck
    (fusion(Sync(), Sync()), {}),
    (SimpleNamespace(retrieve=lambda _: [scored(threading.current_thread().name)]), {}),
], ids=["retriever", "asked-for", "wrapper", "fusion", "duck"])  # fmt: skip
def test_what_is_synchronous_runs_in_our_daemon_threads(retriever: Any, options: dict[str, Any]) -> None:
    """The answer names the thread: for the fusion, whose children are asked by a loop in it, too."""
    assert ids(ask(over(retriever, **options))) == ["knowledge-call"]


@pytest.mark.parametrize(("retriever", "options"), [
    (Async(), {}),
    (Sync(), {"in_thread": False}),
    (fusion(Async(), Sync()), {}),
], ids=["retriever", "asked-for", "fusion"])  # fmt: skip
def test_what_is_asynchronous_runs_on_the_event_loop(retriever: Any, options: dict[str, Any]) -> None:
    """An asynchronous search is cancelled for good; a thread never is."""
    assert ids(ask(over(retriever, **options))) == ["MainThread"]


@pytest.mark.parametrize(("store", "thread"), [(SimpleVectorStore, "knowledge-call"), (AsyncStore, "MainThread")])
def test_an_index_is_as_asynchronous_as_its_store(store: Any, thread: str) -> None:
    """``VectorIndexRetriever`` has an asynchronous method, but most stores' searches are the synchronous ones."""
    index = subjects.index_of([subjects.node("a", text="release policy")], store())
    model = Where(seen=[])
    assert ids(ask(over(index.as_retriever(embed_model=model)))) == ["a"]
    assert model.seen == [thread]


def test_a_retriever_that_cannot_be_asked_so_is_refused_when_it_is_made() -> None:
    """An index is no retriever, and a synchronous duck has nothing to await."""
    for target, options in ((subjects.handbook_index(), {}), (SimpleNamespace(retrieve=len), {"in_thread": False})):
        with pytest.raises(TypeError, match="no retriever of LlamaIndex's"):
            over(target, **options)


# Many calls


def test_calls_at_once_do_not_mix_and_the_users_retriever_stays_as_it_is() -> None:
    """Clauses 2.4 and 7.5: 32 calls for different numbers give what they give one after another, on two loops."""
    asked = [
        (query, top_k) for query in ("release policy", "sick leave", "报销", "lost laptop") for top_k in range(1, 9)
    ]

    async def at_once(provider: Any) -> list[list[str]]:
        calls = [provider.retrieve(RetrievalRequest(query=query, top_k=k), context()) for query, k in asked]
        return [ids(results) for results in await asyncio.gather(*calls)]

    retriever: Any = subjects.handbook_index().as_retriever(similarity_top_k=3)
    for provider in (over(retriever), subjects.asynchronous(), subjects.synchronous()):
        one_after_another = [ids(ask(provider, query, top_k=k)) for query, k in asked]
        assert asyncio.run(at_once(provider)) == one_after_another
    assert [len(found) for found in asyncio.run(at_once(over(retriever)))] == [*range(1, 9)] * 4
    assert retriever.similarity_top_k == 3


def test_a_number_set_on_the_shared_retriever_would_reach_other_calls() -> None:
    """Why each call has a copy: the other call's number stands there by the time that the first one is asked."""
    retriever = AsyncHandbookRetriever()

    async def careless(top_k: int) -> None:
        retriever.similarity_top_k = top_k
        await asyncio.sleep(0)
        await retriever.aretrieve("release policy")

    async def both(*calls: Any) -> list[int]:
        await asyncio.gather(*calls)
        return sorted(search.top_k for search in retriever.asked)

    assert asyncio.run(both(careless(1), careless(8))) == [8, 8]
    retriever.asked.clear()
    provider = over(retriever)
    requests = [RetrievalRequest(query="release policy", top_k=top_k) for top_k in (1, 8)]
    assert asyncio.run(both(*(provider.retrieve(request, context()) for request in requests))) == [1, 8]


def test_after_closing_it_raises_and_the_retriever_stays_open() -> None:
    """Clause 2.2: twice is fine, and what the caller passed in is the caller's."""
    closed: list[str] = []
    retriever: Any = AsyncHandbookRetriever()
    retriever.close = retriever.aclose = lambda: closed.append("retriever")
    provider = over(retriever)
    assert provider.health().status == "ready"
    provider.close()
    provider.close()
    with pytest.raises(errors.KnowledgeFailedError, match="closed"):
        ask(provider)
    assert provider.health().status == "unavailable"
    assert closed == []
