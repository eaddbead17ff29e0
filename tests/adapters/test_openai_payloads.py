"""Hostile answers: whatever the service sends, the adapter gives conforming results or raises a ``KnowledgeError``."""

import asyncio
import traceback
from collections.abc import Iterator
from typing import Any

import httpx2
import openai
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openai_subjects import BASES, HANDBOOK, context

from knowledge_adapters.openai_file_search_provider import OpenAIFileSearchProvider
from knowledge_conformance.catalogue import CHECKS
from knowledge_conformance.exchange import Exchange
from knowledge_conformance.payloads.openai_service import PLANTED, Reply, replies
from knowledge_provider import KnowledgeError, RetrievalRequest

# All rules for a single answer, but for KP-509: a service that ranks against its own scores keeps its order.
_JUDGES = [check for check in CHECKS if check.judge is not None and check.id != "KP-509"]


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    """One event loop for all examples: a new one for each would take longer than the example."""
    with asyncio.Runner() as running:
        yield running


def provider_over(answers: list[Reply], stores: dict[str, str], *, scores: bool) -> OpenAIFileSearchProvider:
    waiting = iter(answers)

    def respond(request: httpx2.Request) -> httpx2.Response:
        # A redirect is followed here, to the same answer again, which the client ends after some.
        reply = next(waiting, answers[-1])
        return httpx2.Response(reply.status, headers=dict(reply.headers), content=reply.body, request=request)

    http = httpx2.AsyncClient(transport=httpx2.MockTransport(respond), follow_redirects=True)
    client = openai.AsyncOpenAI(api_key=PLANTED, base_url="http://service/v1", max_retries=0, http_client=http)
    return OpenAIFileSearchProvider(stores, key="k", label="L", client=client, scores=scores)


async def came_of(provider: OpenAIFileSearchProvider, request: RetrievalRequest) -> dict[str, Any] | KnowledgeError:
    # Everything in an example answers at once, so the deadline is for what hangs.
    try:
        return await asyncio.wait_for(provider.retrieve(request, context()), 20)
    except KnowledgeError as error:
        return error


@given(
    answers=st.lists(replies(), min_size=1, max_size=3),
    top_k=st.integers(1, 8),
    scores=st.booleans(),
    stores=st.sampled_from([HANDBOOK, BASES]),
)
@settings(max_examples=100, deadline=None)
def test_results_conform_or_a_knowledge_error_is_raised(
    runner: asyncio.Runner, answers: list[Reply], top_k: int, scores: bool, stores: dict[str, str]
) -> None:
    """And no planted secret is in either, causes included: it is the API key as well."""
    request = RetrievalRequest(query="release", top_k=top_k)
    came = runner.run(came_of(provider_over(answers, stores, scores=scores), request))
    if isinstance(came, KnowledgeError):
        assert PLANTED not in "".join(traceback.format_exception(came))
        return
    assert PLANTED not in repr(came)
    assert len(came["results"]) <= top_k
    exchange = Exchange(request, context(), came)
    for check in _JUDGES:
        check.judge(exchange)  # type: ignore[misc] # only those that have one
