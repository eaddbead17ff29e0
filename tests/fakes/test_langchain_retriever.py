"""The scripted LangChain retriever: sound answers, copies of what it holds, each way to fail, and waiting."""

import asyncio
import threading
from typing import Any

import pytest

from knowledge_fakes.handbook import load_handbook
from knowledge_provider import RetrievalRequest

pytest.importorskip("langchain_core")

from langchain_core.documents import Document

from knowledge_fakes.vendors.langchain_retriever import (
    ANSWERS,
    AsyncHandbookRetriever,
    SyncHandbookRetriever,
)
from knowledge_fakes.vendors.service_error import ServiceError

QUERY = "release policy"
PLAIN = load_handbook().search(RetrievalRequest(query=QUERY, top_k=8))
BOTH = pytest.mark.parametrize("kind", [SyncHandbookRetriever, AsyncHandbookRetriever])
DOCUMENTS = [
    "sound",
    "no id",
    "id in the metadata",
    "one id for all",
    "new ids",
    "no metadata",
    "objects in the metadata",
    "first without text",
    "twice",
    "no text",
]


def ask(retriever: SyncHandbookRetriever, query: str = QUERY) -> Any:
    return asyncio.run(retriever.ainvoke(query))


@BOTH
def test_it_answers_with_the_handbook(kind: type[SyncHandbookRetriever]) -> None:
    """In the order of its own search, by either method, and remembers what it was asked."""
    retriever = kind()
    for found in (retriever.invoke(QUERY), ask(retriever)):
        assert [document.id for document in found] == [result["id"] for result in PLAIN]
        assert [document.page_content for document in found] == [result["content"] for result in PLAIN]
        assert [document.metadata["source"] for document in found] == [result["source"]["uri"] for result in PLAIN]
    assert [asked.query for asked in retriever.asked] == [QUERY, QUERY]
    assert ask(retriever, "zzqx nonsense 9731") == []


def test_it_gives_at_most_what_it_was_told() -> None:
    """By its own number, as LangChain's retrievers take it."""
    assert [document.id for document in ask(AsyncHandbookRetriever(k=2))] == [result["id"] for result in PLAIN[:2]]


def test_a_change_of_an_answer_does_not_show_in_the_next() -> None:
    """Each answer is a copy."""
    retriever = AsyncHandbookRetriever()
    ask(retriever)[0].metadata.clear()
    assert ask(retriever)[0].metadata["source"] == PLAIN[0]["source"]["uri"]


@pytest.mark.parametrize("how", DOCUMENTS)
def test_what_langchain_allows_is_made_of_documents(how: str) -> None:
    """Whatever is wrong with them."""
    found = ask(AsyncHandbookRetriever(how))
    assert found
    assert all(isinstance(document, Document) for document in found)


def test_a_refusal_repeats_the_key() -> None:
    """With its status and headers, as clients of services raise them."""
    with pytest.raises(ServiceError, match="sk-example") as caught:
        ask(AsyncHandbookRetriever("rate limited", api_key="sk-example"))
    assert (caught.value.status_code, caught.value.response.headers) == (429, {"retry-after": "7"})


def test_it_can_change_its_ways() -> None:
    """By a name, or by a function."""
    retriever = AsyncHandbookRetriever("nothing")
    assert ask(retriever) == []
    retriever.answer(lambda hits, _: hits[:1])
    assert [document.id for document in ask(retriever)] == [PLAIN[0]["id"]]
    with pytest.raises(KeyError):
        retriever.answer("no such way")
    assert "held" in ANSWERS


def test_a_synchronous_search_waits_until_it_is_let_go() -> None:
    """There is no other way out."""
    retriever = SyncHandbookRetriever("held")
    searching = threading.Thread(target=retriever.invoke, args=(QUERY,), daemon=True)
    searching.start()
    assert retriever.held.wait(10)
    assert searching.is_alive()
    retriever.release()
    searching.join(10)
    assert not searching.is_alive()


def test_an_asynchronous_search_goes_with_its_task() -> None:
    """And says so."""
    retriever = AsyncHandbookRetriever("held")

    async def main() -> None:
        task = asyncio.create_task(retriever.ainvoke(QUERY))
        await asyncio.to_thread(retriever.held.wait, 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert retriever.gone.is_set()
