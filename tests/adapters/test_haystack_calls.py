"""How ``HaystackProvider`` waits, is cancelled and uses threads."""

import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import haystack_subjects as subjects
import pytest
from haystack_subjects import ask, context, document, ids, over

# isort: split
from haystack import Document, SuperComponent, component
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever, InMemoryEmbeddingRetriever

from knowledge_fakes.vendors.haystack_retriever import AsyncHandbookRetriever, SyncHandbookRetriever, pipeline_of
from knowledge_provider import RetrievalRequest, errors

REQUEST = RetrievalRequest(query="release policy")


@pytest.fixture
def hanging() -> Iterator[SyncHandbookRetriever]:
    """Synchronous, and does not return before the test has ended."""
    retriever = SyncHandbookRetriever("held")
    yield retriever
    retriever.release()
    for thread in _calls_under_way():
        thread.join(5)


def _calls_under_way() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "knowledge-call"]


def _with_and_without_pipeline(retriever: Any) -> list[Any]:
    return [over(retriever), over(pipeline_of(retriever), **subjects.IN_PIPELINE)]


# Time and cancellation


def test_a_cancelled_signal_starts_no_work() -> None:
    """Clause 7.3."""
    retriever, told = AsyncHandbookRetriever(), context()
    told.signal.cancel()
    for provider in _with_and_without_pipeline(retriever):
        with pytest.raises(asyncio.CancelledError):
            asyncio.run(provider.retrieve(REQUEST, told))
    assert retriever.asked == []


def test_the_hosts_deadline_ends_the_wait_and_the_search() -> None:
    """``context.signal.deadline``: also without a host that cancels, and through a pipeline."""
    for place in (0, 1):
        retriever = AsyncHandbookRetriever("held")
        provider = _with_and_without_pipeline(retriever)[place]
        with pytest.raises(errors.KnowledgeTimeoutError):
            asyncio.run(asyncio.wait_for(provider.retrieve(REQUEST, context(seconds=0.05)), 30))
        assert retriever.gone.is_set()


@pytest.mark.parametrize("place", [0, 1])
def test_cancellation_reaches_an_asynchronous_component_and_comes_out(place: int) -> None:
    """Clauses 7.1 and 7.2: and the provider still works afterwards."""
    retriever = AsyncHandbookRetriever("held")

    async def main() -> list[str]:
        provider = _with_and_without_pipeline(retriever)[place]
        task = asyncio.create_task(provider.retrieve(REQUEST, context()))
        assert await asyncio.to_thread(retriever.held.wait, 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert retriever.gone.is_set()
        assert asyncio.all_tasks() == {asyncio.current_task()}
        retriever.answer("sound")
        return ids(await provider.retrieve(REQUEST, context()))

    assert asyncio.run(main())[0] == "release-handbook#approvals"


@pytest.mark.parametrize("place", [0, 1])
def test_cancelling_a_synchronous_one_ends_the_wait(hanging: SyncHandbookRetriever, place: int) -> None:
    """Clause 7.1: the thread is Haystack's until its call returns, and nobody waits for it."""

    async def main() -> None:
        task = asyncio.create_task(_with_and_without_pipeline(hanging)[place].retrieve(REQUEST, context()))
        assert await asyncio.to_thread(hanging.held.wait, 10)
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


def test_a_hung_pipeline_does_not_hold_back_the_process() -> None:
    """Clause 2.3: neither ``asyncio.run`` nor the interpreter waits for a thread, as both would for Haystack's own."""
    program = """
import asyncio, time
from knowledge_adapters.haystack_provider import HaystackProvider
from knowledge_fakes.vendors.haystack_retriever import SyncHandbookRetriever, pipeline_of
from knowledge_provider import CancelSignal, KnowledgeError, RetrievalContext, RetrievalRequest
pipeline = pipeline_of(SyncHandbookRetriever("held"))
where = {"query_to": "retriever.query", "documents_from": "retriever.documents"}
provider = HaystackProvider(pipeline, key="k", label="L", **where)
context = RetrievalContext(owner_id="o", signal=CancelSignal(deadline=time.monotonic() + 0.2))
try: asyncio.run(provider.retrieve(RetrievalRequest(query="q"), context))
except KnowledgeError as error: print(error.code)
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert ended.stdout == "knowledge_timeout\n"


# Threads


@component
class Sync:
    """Names the thread that it runs in."""

    @component.output_types(documents=list[Document])
    def run(self, query: str) -> dict[str, list[Document]]:
        return {"documents": [document(threading.current_thread().name)]}


@component
class Async:
    """The same, and asynchronous."""

    @component.output_types(documents=list[Document])
    def run(self, query: str) -> dict[str, list[Document]]:
        return {"documents": [document(threading.current_thread().name)]}

    @component.output_types(documents=list[Document])
    async def run_async(self, query: str) -> dict[str, list[Document]]:
        return {"documents": [document(threading.current_thread().name)]}


@component
class OverMemory(Async):
    """The same over a store in memory."""

    def __init__(self, store: Any) -> None:
        self.document_store = store

    @component.output_types(documents=list[Document])
    def run(self, query: str) -> dict[str, list[Document]]:
        return {"documents": [document(threading.current_thread().name)]}


def mixed() -> Any:
    """A pipeline in which one part alone is synchronous."""
    pipeline = pipeline_of(Async())
    pipeline.add_component("other", Sync())
    return pipeline


def wrapped(inner: Any) -> Any:
    outputs = {"retriever.documents": "documents"}
    return SuperComponent(pipeline_of(inner), input_mapping={"query": ["retriever.query"]}, output_mapping=outputs)


BOTH = {**subjects.IN_PIPELINE, "query_to": ("retriever.query", "other.query")}


@pytest.mark.parametrize(
    ("target", "options"),
    [
        (Sync(), {}),
        (pipeline_of(Sync()), subjects.IN_PIPELINE),
        (mixed(), BOTH),
        (OverMemory(subjects.in_memory_store()), {}),
        (pipeline_of(OverMemory(subjects.in_memory_store())), subjects.IN_PIPELINE),
        (Async(), {"in_thread": True}),
        (wrapped(Async()), {"in_thread": True}),
    ],
    ids=["component", "pipeline", "mixed", "memory", "memory in a pipeline", "asked for", "wrapped"],
)
def test_what_is_synchronous_runs_in_our_daemon_threads(target: Any, options: dict[str, Any]) -> None:
    """Not in the event loop's executor, whose threads hold back its end; the answer names the thread."""
    assert ids(ask(over(target, **options))) == ["knowledge-call"]


@pytest.mark.parametrize(
    ("target", "options"),
    [
        (Async(), {}),
        (pipeline_of(Async()), subjects.IN_PIPELINE),
        (wrapped(Async()), {}),
        (OverMemory(subjects.in_memory_store()), {"in_thread": False}),
    ],
    ids=["component", "pipeline", "wrapped", "asked for"],
)
def test_what_is_asynchronous_runs_on_the_event_loop(target: Any, options: dict[str, Any]) -> None:
    """An asynchronous search is cancelled for good; a thread never is."""
    assert ids(ask(over(target, **options))) == ["MainThread"]


def test_haystacks_own_store_starts_no_thread_of_its_own() -> None:
    """Clause 2.3: its asynchronous methods would, and the thread would outlive the loop."""
    assert ask(over(InMemoryBM25Retriever(subjects.in_memory_store())))
    pipeline = subjects.embedding_pipeline_of(InMemoryEmbeddingRetriever(subjects.in_memory_store()))
    assert ask(over(pipeline, **subjects.EMBEDDED))
    assert not [thread.name for thread in threading.enumerate() if "docstore" in thread.name]


def test_it_works_on_a_second_loop_and_for_many_calls_at_once() -> None:
    """Clauses 2.4 and 7.5: 32 calls at once give what the same calls give one after another."""
    queries = ["release policy", "lost laptop", "expense receipts", "incident review"] * 8

    async def at_once(provider: Any) -> list[list[str]]:
        calls = [provider.retrieve(RetrievalRequest(query=query), context()) for query in queries]
        return [ids(results) for results in await asyncio.gather(*calls)]

    for make in (subjects.bm25, subjects.embedding_pipeline, subjects.asynchronous_pipeline):
        provider = make()
        one_after_another = [ids(ask(provider, query)) for query in queries]
        assert asyncio.run(at_once(provider)) == one_after_another
