"""OpenAI file search over the scripted service, each from a zero-argument factory: ``openai_subjects:served``.

Below them, what the tests of the adapter share.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final

import httpx2
from openai import AsyncOpenAI
from starlette.types import ASGIApp

from knowledge_adapters.openai_file_search_provider import OpenAIFileSearchProvider
from knowledge_fakes.vendors.openai_answers import as_json
from knowledge_fakes.vendors.openai_service import VectorStoreService
from knowledge_fakes.vendors.serving import serving
from knowledge_provider import CancelSignal, RetrievalContext, RetrievalRequest, RetrievalResult

SECRET: Final = "sk-hunter2-9f3b7c1d"
HANDBOOK: Final = {"handbook": "vs_handbook"}
BASES: Final = {"engineering": "vs_engineering", "people": "vs_people", "support": "vs_support"}
_ANSWERS: Final = {
    None: "sound",
    "unauthorized": "unauthorized",
    "rate_limited": "rate limited",
    "unavailable": "unavailable",
    "timeout": "held",
    "invalid_response": "html",
}


def client_of(app: ASGIApp, **options: Any) -> AsyncOpenAI:
    """A real client whose requests go to an app in this process."""
    http = httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app))
    chosen: dict[str, Any] = {"base_url": "http://service/v1", "max_retries": 0, "http_client": http}
    return AsyncOpenAI(api_key=SECRET, **chosen | options)


def over(service: VectorStoreService, stores: Mapping[str, str] = HANDBOOK, **options: Any) -> OpenAIFileSearchProvider:
    """A provider that makes a client of the service for each loop."""
    chosen: dict[str, Any] = {"client": lambda: client_of(service.app), "citations": True}
    return OpenAIFileSearchProvider(stores, key="handbook", label="Handbook", **chosen | options)


def over_url(url: str, **options: Any) -> OpenAIFileSearchProvider:
    """A provider that makes its own client of a service at ``url``."""
    chosen: dict[str, Any] = {"api_key": SECRET, "base_url": f"{url}/v1", "citations": True}
    return OpenAIFileSearchProvider(HANDBOOK, key="handbook", label="Handbook", **chosen | options)


def three_stores() -> OpenAIFileSearchProvider:
    """A store for each base of the handbook, merged by score."""
    return over(VectorStoreService(), BASES)


def in_turn() -> OpenAIFileSearchProvider:
    """The same without scores."""
    return over(VectorStoreService(), BASES, scores=False)


@contextmanager
def served() -> Generator[OpenAIFileSearchProvider]:
    """The whole handbook in one store, over a real connection and a client that the provider makes itself."""
    with serving(VectorStoreService(api_key=SECRET).app) as url:
        yield over_url(url)


@asynccontextmanager
async def subject(fault: str | None = None) -> AsyncGenerator[OpenAIFileSearchProvider]:
    """A provider over the handbook that is sound, or fails as named: for what all adapters do alike."""
    service = VectorStoreService()
    service.answer(_ANSWERS[fault])
    with serving(service.app) as url:
        # A time-out is the client's own here: the host's deadline is the context's matter.
        seconds = 0.05 if fault == "timeout" else 10.0

        def make() -> AsyncOpenAI:
            return AsyncOpenAI(
                api_key=SECRET, base_url=f"{url}/v1", max_retries=0, timeout=seconds, http_client=httpx2.AsyncClient()
            )

        provider = over(service, client=make)
        try:
            yield provider
        finally:
            await provider.close()


# What the tests share


def context(owner: str = "alice", seconds: float | None = None) -> RetrievalContext:
    deadline = None if seconds is None else time.monotonic() + seconds
    return RetrievalContext(owner_id=owner, signal=CancelSignal(deadline=deadline))


async def answer_of(
    provider: OpenAIFileSearchProvider, query: str = "release policy", *, seconds: float | None = None, **fields: Any
) -> dict[str, Any]:
    # For what hangs, and does not end by itself.
    async with asyncio.timeout(60):
        return await provider.retrieve(RetrievalRequest(query=query, **fields), context(seconds=seconds))


def answer(provider: OpenAIFileSearchProvider, query: str = "release policy", **fields: Any) -> dict[str, Any]:
    """One call on a loop of its own. Not for real connections: nothing is closed."""
    return asyncio.run(answer_of(provider, query, **fields))


def ask(provider: OpenAIFileSearchProvider, query: str = "release policy", **fields: Any) -> list[RetrievalResult]:
    return list(answer(provider, query, **fields)["results"])


def row(text: object = "Refunds take 14 days.", **fields: Any) -> dict[str, Any]:
    """A row of the API's answer, with these fields in place of what it would have."""
    content = [{"type": "text", "text": text}]
    whole = {"file_id": "file-1", "filename": "refunds.md", "score": 0.5, "attributes": {}, "content": content}
    return whole | fields


def answering(*rows: object, **options: Any) -> OpenAIFileSearchProvider:
    """A provider over a service that answers these rows to everything."""
    service = VectorStoreService()
    service.answer(lambda _rows, _limit: as_json({"object": "list", "data": rows}))
    return over(service, **options)
