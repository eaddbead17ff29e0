"""The handbook by HTTP: the same answers as without, and every failure of its client an error of the contract."""

import asyncio
from typing import Any

import httpx
import pytest

from knowledge_fakes.handbook import HandbookProvider
from knowledge_fakes.over_http import HTTPHandbookProvider, provider
from knowledge_provider import RetrievalContext, RetrievalRequest, errors

CONTEXT = RetrievalContext(owner_id="alice")
REQUEST = RetrievalRequest(query="release policy", top_k=3)


def asked(made: Any, request: RetrievalRequest = REQUEST) -> Any:
    async def ask() -> Any:
        try:
            return await made.retrieve(request, CONTEXT)
        finally:
            await made.close()

    return asyncio.run(ask())


def meeting(answer: Any) -> HTTPHandbookProvider:
    """A provider whose client gets this response, or exception, for everything."""

    def handle(_request: httpx.Request) -> httpx.Response:
        if isinstance(answer, Exception):
            raise answer
        return httpx.Response(*answer[:1], **answer[1])

    made = provider()
    made.client = httpx.AsyncClient(transport=httpx.MockTransport(handle))
    return made


def test_it_finds_what_the_handbook_finds() -> None:
    """In the same order."""
    found = [result.id for result in asked(provider())["results"]]
    assert found == [result["id"] for result in asked(HandbookProvider())["results"]]
    assert len(found) == 3


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ((401, {}), errors.KnowledgeUnauthorizedError),
        ((429, {"headers": {"retry-after": "7"}}), errors.KnowledgeRateLimitedError),
        ((503, {}), errors.KnowledgeUnavailableError),
        ((200, {"text": "<html>"}), errors.KnowledgeInvalidResponseError),
        ((200, {"json": {"error": "down"}}), errors.KnowledgeFailedError),
        (httpx.ConnectError("refused"), errors.KnowledgeUnavailableError),
        (httpx.ReadTimeout("late"), errors.KnowledgeFailedError),
    ],
)
def test_a_failure_is_an_error_of_the_contract(answer: Any, kind: type[Exception]) -> None:
    """Clause 5.10."""
    with pytest.raises(kind) as caught:
        asked(meeting(answer))
    assert type(caught.value) is kind


def test_filters_that_the_service_refuses_are_refused() -> None:
    """Clause 3.5: by their own code."""
    with pytest.raises(errors.KnowledgeFiltersUnsupportedError):
        asked(provider(), RetrievalRequest(query="release policy", filters={"colour": "blue"}))


def test_a_closed_one_says_so() -> None:
    """Clause 2.2: by its description still, by its health, and by an exception."""

    async def closed() -> Any:
        made = provider()
        await made.close()
        await made.close()
        with pytest.raises(errors.KnowledgeUnavailableError):
            await made.retrieve(REQUEST, CONTEXT)
        return made.describe()["key"], (await made.health(CONTEXT.signal))["status"]

    assert asyncio.run(closed()) == ("handbook-http", "unavailable")
