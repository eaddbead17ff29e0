"""Hostile answers: whatever a component gives, the adapter makes conforming results or raises a ``KnowledgeError``."""

import asyncio
import traceback
from collections.abc import Iterator
from typing import Any

import haystack_subjects as subjects
import pytest
from haystack_subjects import context
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from knowledge_adapters.haystack_provider import HaystackProvider
from knowledge_conformance.catalogue import CHECKS
from knowledge_conformance.exchange import Exchange
from knowledge_conformance.payloads.haystack_documents import PLANTED, outputs
from knowledge_fakes.vendors.haystack_retriever import AsyncHandbookRetriever, pipeline_of
from knowledge_provider import KnowledgeError, RetrievalRequest, RetrievalResult

# All rules for a single answer, but for KP-509: a store that ranks against its own scores keeps its order.
_JUDGES = [check for check in CHECKS if check.judge is not None and check.id != "KP-509"]


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    """One event loop for all examples: a new one for each would take longer than the example."""
    with asyncio.Runner() as running:
        yield running


def provider_over(answer: Any, *, piped: bool, **options: Any) -> HaystackProvider:
    retriever = AsyncHandbookRetriever(lambda _hits, _key: answer)
    if piped:
        return subjects.over(pipeline_of(retriever), **subjects.IN_PIPELINE, **options)
    return subjects.over(retriever, **options)


async def came_of(provider: HaystackProvider, request: RetrievalRequest) -> list[RetrievalResult] | KnowledgeError:
    # Everything in an example answers at once, so the deadline is for what hangs.
    try:
        return await asyncio.wait_for(provider.retrieve(request, context()), 20)
    except KnowledgeError as error:
        return error


@given(
    answer=outputs(),
    top_k=st.integers(1, 8),
    score_kind=st.sampled_from([None, "similarity", "distance"]),
    scoped=st.booleans(),
    piped=st.booleans(),
)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_results_conform_or_a_knowledge_error_is_raised(
    runner: asyncio.Runner, answer: Any, top_k: int, score_kind: Any, scoped: bool, piped: bool
) -> None:
    """No planted secret is in either, causes included, and no owner gets what is not theirs."""
    request = RetrievalRequest(query="release", top_k=top_k)
    scope = (lambda known: {"owner": known.owner_id}) if scoped else None
    came = runner.run(came_of(provider_over(answer, piped=piped, score_kind=score_kind, scope=scope), request))
    if isinstance(came, KnowledgeError):
        assert PLANTED not in "".join(traceback.format_exception(came))
        return
    assert PLANTED not in repr(came)
    assert len(came) <= top_k
    assert not scoped or all(result.metadata["owner"] == "alice" for result in came if result.metadata)
    exchange = Exchange(request, context(), came)
    for check in _JUDGES:
        check.judge(exchange)  # type: ignore[misc] # only those that have one
