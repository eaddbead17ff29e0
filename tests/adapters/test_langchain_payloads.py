"""Hostile answers: whatever LangChain gives, the adapter makes conforming results or raises a ``KnowledgeError``."""

import asyncio
import traceback
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_subjects import context

from knowledge_adapters.langchain_provider import LangChainProvider
from knowledge_conformance.catalogue import CHECKS
from knowledge_conformance.exchange import Exchange
from knowledge_conformance.payloads.langchain_documents import PLANTED, answers, scored_answers
from knowledge_fakes.vendors.langchain_retriever import AsyncHandbookRetriever
from knowledge_provider import KnowledgeError, RetrievalRequest, RetrievalResult

# All rules for a single answer, but for KP-509: a store that ranks against its own scores keeps its order.
_JUDGES = [check for check in CHECKS if check.judge is not None and check.id != "KP-509"]


class Store:
    """A vector store as the adapter sees one: its search with scores gives the drawn answer."""

    embeddings = None

    def __init__(self, answer: Any) -> None:
        self._answer = answer

    async def asimilarity_search_with_score(self, query: str, k: int = 4, **arguments: Any) -> Any:
        return self._answer


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    """One event loop for all examples: a new one for each would take longer than the example."""
    with asyncio.Runner() as running:
        yield running


async def came_of(provider: LangChainProvider, request: RetrievalRequest) -> list[RetrievalResult] | KnowledgeError:
    # Everything in an example answers at once, so the deadline is for what hangs.
    try:
        return await asyncio.wait_for(provider.retrieve(request, context()), 20)
    except KnowledgeError as error:
        return error


def assert_conforms_or_says_so(came: list[RetrievalResult] | KnowledgeError, request: RetrievalRequest) -> None:
    if isinstance(came, KnowledgeError):
        assert PLANTED not in "".join(traceback.format_exception(came))
        return
    assert PLANTED not in repr(came)
    assert len(came) <= request.top_k
    exchange = Exchange(request, context(), came)
    for check in _JUDGES:
        check.judge(exchange)  # type: ignore[misc] # only those that have one


each = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@given(answer=answers(), top_k=st.integers(1, 8))
@each
def test_a_retrievers_answer_conforms_or_is_an_error(runner: asyncio.Runner, answer: Any, top_k: int) -> None:
    """No planted secret is in either, causes included."""
    request = RetrievalRequest(query="release", top_k=top_k)
    retriever = AsyncHandbookRetriever(lambda _hits, _key: answer)
    provider = LangChainProvider(retriever, key="acme", label="Acme")
    assert_conforms_or_says_so(runner.run(came_of(provider, request)), request)


@given(answer=scored_answers(), top_k=st.integers(1, 8), score_kind=st.sampled_from(["similarity", "distance"]))
@each
def test_a_stores_answer_conforms_or_is_an_error(
    runner: asyncio.Runner, answer: Any, top_k: int, score_kind: Any
) -> None:
    """Whatever the pairs are made of, and whatever the numbers mean."""
    request = RetrievalRequest(query="release", top_k=top_k)
    store: Any = Store(answer)
    provider = LangChainProvider(store, key="acme", label="Acme", score_kind=score_kind)
    assert_conforms_or_says_so(runner.run(came_of(provider, request)), request)
