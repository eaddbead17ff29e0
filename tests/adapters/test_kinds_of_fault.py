"""Kinds of fault that people met with one system or another, each tried on all six adapters.

Here of whole answers, of questions, and of what a user gives; ``test_kinds_of_record`` has those of single records.
Faults that only one system can have are in that adapter's own tests.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Any
from unittest.mock import Mock

import haystack_subjects
import http_subjects
import httpx
import llama_index_subjects
import mcp_subjects
import openai_subjects
import pytest
from equivalence import asked, found, opened, said
from faulty import PLANTED, SOUND, each_adapter, failure_of, results_of, texts
from langchain_core.vectorstores import InMemoryVectorStore
from six_vendors import NOBODY_LISTENS, Record, answering, giving, hanging

from knowledge_adapters.http_provider import HTTPProvider
from knowledge_adapters.langchain_provider import LangChainProvider
from knowledge_fakes.vendors import haystack_retriever
from knowledge_fakes.vendors.http_service import KnowledgeService
from knowledge_fakes.vendors.mcp_service import ToolService
from knowledge_fakes.vendors.openai_service import VectorStoreService
from knowledge_provider import KnowledgeFailedError

# Empty answers, and answers that are none


@each_adapter
def test_nothing_found_is_an_empty_list(name: str) -> None:
    """Clause 3.7: and no failure."""
    assert results_of(name) == []


@each_adapter
@pytest.mark.parametrize("text", [None, "", " \n", "\u200b", []])
def test_a_record_without_text_costs_itself_only(text: Any, name: str) -> None:
    """Field case 1: the good records are not lost with it."""
    assert texts(results_of(name, Record(text, "broken"), SOUND, Record(text, "other"))) == [SOUND.text]


@each_adapter
def test_records_without_any_text_are_a_failure(name: str) -> None:
    """Clause 5.10: an index that is read by a wrong key must not look like one that found nothing."""
    failure = failure_of(answering(name, [Record(None, PLANTED), Record("", "b", metadata={"key": PLANTED})]))
    assert failure.code == "knowledge_invalid_response"
    assert PLANTED not in said(failure)


NO_LISTS = {
    "null": None,
    "a text": f"The service is down for maintenance. {PLANTED}",
    "a page": f"<!doctype html><title>Sign in</title>{PLANTED}",
    "a number": 42,
    "true": True,
    "a record alone": {"id": "a", "content": PLANTED},
    "records by name": {"0": {"id": "a", "content": PLANTED}},
    "an error": [{"error": {"code": 500, "message": PLANTED}}],
    "nulls": [None, None],
    "texts": [PLANTED, "another"],
    "lists": [[], [PLANTED]],
    "an empty text": "",
    "an empty object": {},
}


@each_adapter
@pytest.mark.parametrize("what", NO_LISTS)
def test_what_is_no_list_of_records_is_a_failure(what: str, name: str) -> None:
    """Clause 5.10, field cases 21, 25, 33 and 41: never an empty answer, and never a passage."""
    failure = failure_of(giving(name, lambda: NO_LISTS[what]))
    assert failure.code == "knowledge_invalid_response"
    assert PLANTED not in said(failure)


@pytest.mark.parametrize("name", ["LangChain", "LlamaIndex", "Haystack"])
@pytest.mark.parametrize(
    ("raised", "code"),
    [
        (httpx.ConnectError(PLANTED), "knowledge_unavailable"),
        (httpx.ReadTimeout(PLANTED), "knowledge_provider_failed"),
    ],
)
def test_what_a_stores_http_client_raises_can_be_tried_again(raised: Exception, code: str, name: str) -> None:
    """Clause 7.6: a store far away lets its client's errors through, and none of them is Python's own."""
    failure = failure_of(giving(name, Mock(side_effect=raised)))
    assert (failure.code, failure.retryable) == (code, True)
    assert PLANTED not in said(failure)


# Questions and calls


@each_adapter
@pytest.mark.parametrize(
    "filters", [{"year": {"gt": 2020}}, {"operator": "XOR", "conditions": [{"field": "year"}]}, {"owner": None}]
)
def test_a_filter_that_cannot_be_kept_never_reaches_the_vendor(filters: dict[str, Any], name: str) -> None:
    """Clause 3.5, field case 15: it is refused by its code, since leaving it out would widen the answer."""
    searches = Mock(return_value=[])
    assert failure_of(giving(name, searches), filters=filters).code == "knowledge_filters_unsupported"
    searches.assert_not_called()


SCOPED: dict[str, Callable[[Any], Any]] = {
    "LangChain": lambda scope: LangChainProvider(
        Mock(spec=InMemoryVectorStore), key="k", label="L", score_kind="similarity", scope=scope
    ),
    "LlamaIndex": lambda scope: llama_index_subjects.over(
        llama_index_subjects.owned_index().as_retriever(), filter_keys=["owner"], scope=scope
    ),
    "Haystack": lambda scope: haystack_subjects.over(
        haystack_retriever.AsyncHandbookRetriever(), filter_keys=["owner"], scope=scope
    ),
    "OpenAI": lambda scope: openai_subjects.over(VectorStoreService(), scope=scope),
    "MCP": lambda scope: mcp_subjects.over(ToolService(), scope=scope),
    "HTTP": lambda scope: http_subjects.over(KnowledgeService(), scope=scope),
}
NARROWED = ["LlamaIndex", "Haystack", "OpenAI"]


@pytest.mark.parametrize("name", NARROWED)
@pytest.mark.parametrize("given", [None, [], "", {"gte": 3}, ["alice", None]])
def test_what_scope_cannot_say_is_no_refusal_of_the_requests_filters(given: Any, name: str) -> None:
    """Clause 4.2: a composite passes over who refuses filters, and would not tell that this provider is broken."""
    assert type(failure_of(SCOPED[name](lambda _: {"owner": given}))) is KnowledgeFailedError


def test_an_owner_that_llamaindex_cannot_be_told_is_no_refusal_of_filters_either() -> None:
    """It has no booleans; the same value in a request is one."""
    assert type(failure_of(SCOPED["LlamaIndex"](lambda _: {"owner": True}))) is KnowledgeFailedError
    asked_for = failure_of(SCOPED["LlamaIndex"](lambda _: {"owner": "alice"}), filters={"owner": True})
    assert asked_for.code == "knowledge_filters_unsupported"


def raising(*_: Any, **__: Any) -> Any:
    raise RuntimeError(f"no session for {PLANTED}")


class RaisingAuth(httpx.Auth):
    auth_flow = raising


@each_adapter
def test_a_scope_that_raises_is_a_failure_without_its_words(name: str) -> None:
    """Clause 6.4: it may have looked up a key; and nothing is searched without it."""
    failure = failure_of(SCOPED[name](raising))
    assert type(failure) is KnowledgeFailedError
    assert str(failure).startswith("scope raised RuntimeError")
    assert PLANTED not in str(failure)


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda: openai_subjects.over(VectorStoreService(), client=raising), "client"),
        (lambda: mcp_subjects.over(raising), "server"),
        (lambda: mcp_subjects.over(f"{NOBODY_LISTENS}/mcp", http_client=raising), "http_client"),
        (lambda: HTTPProvider(f"{NOBODY_LISTENS}/search", key="k", label="L", auth=RaisingAuth()), "call"),
    ],
)
def test_a_client_of_the_users_that_cannot_be_made_is_a_failure_without_its_words(make: Any, what: str) -> None:
    """Clause 6.4: the key is what it is made with; and it is not the vendor that has failed."""
    failure = failure_of(make())
    assert type(failure) is KnowledgeFailedError
    assert f"{what} raised RuntimeError" in str(failure)
    assert PLANTED not in str(failure)


@each_adapter
def test_a_cancelled_call_ends_everywhere_and_the_next_one_works(name: str) -> None:
    """Clauses 7.1 and 7.2: the cancellation comes out, the vendor's part ends, no task is left, nothing is broken."""
    vendor = hanging(name)

    async def main() -> None:
        async with opened(vendor.provider) as provider:
            call = asyncio.create_task(asked(provider, seconds=60))
            assert await asyncio.to_thread(vendor.held.wait, 10)
            began = time.monotonic()
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            assert time.monotonic() - began < 1
            assert await asyncio.to_thread(vendor.gone.wait, 1)
            assert len(await found(provider)) == 5
        await asyncio.sleep(0)
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())
