"""HTTP providers over the scripted knowledge service, each from a zero-argument factory: ``http_subjects:contract``.

Below them, what the tests of the adapter share.
"""

import asyncio
import os
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any, Final

import httpx
import pytest

from knowledge_adapters.http_provider import HTTPProvider
from knowledge_fakes.vendors.http_service import NESTED_FIELDS, TENANT, KnowledgeService
from knowledge_provider import CancelSignal, KnowledgeError, RetrievalContext, RetrievalRequest, RetrievalResult

URL: Final = "https://kb.example.com/search"
SECRET: Final = "sk-hunter2-9f3b7c"
BASES: Final = {"engineering": "engineering", "staff": "people"}
OWNERS: Final = {"alice": ("release-handbook", "incident-response"), "bob": ("holidays", "travel-and-expenses")}
SERVED_AT: Final = "KNOWLEDGE_SERVICE_URL"
KEY: Final = "KNOWLEDGE_SERVICE_KEY"
_WAYS: Final = {
    None: None,
    "unauthorized": "unauthorized",
    "rate_limited": "rate_limited",
    "unavailable": "unavailable",
    "timeout": "silent",
    "invalid_response": "truncated",
}


def over(service: KnowledgeService | Callable[..., Any], url: str = URL, **options: Any) -> HTTPProvider:
    """A provider over a service in this process; ``service`` may be a handler of httpx's, too."""
    handler = service.respond if isinstance(service, KnowledgeService) else service
    client = httpx.AsyncClient(transport=httpx.MockTransport(handler))
    return HTTPProvider(url, **{"key": "http", "label": "Service", "client": client, **options})


def contract() -> HTTPProvider:
    """The contract's own shape, with scores, filters, bases and a key."""
    claims: dict[str, Any] = {"score_kind": "similarity", "filters": True, "citations": True, "knowledge_bases": BASES}
    token = os.environ.get(KEY, SECRET)
    return over(KnowledgeService(token=token), headers={"Authorization": f"Bearer {token}"}, **claims)


def nested() -> HTTPProvider:
    """A shape of the service's own, without scores."""
    return over(KnowledgeService(shape="nested"), fields=NESTED_FIELDS, citations=True)


def tenants() -> HTTPProvider:
    """A service that keeps owners apart by a header."""
    return over(KnowledgeService(tenants=OWNERS), citations=True, scope=lambda context: {TENANT: context.owner_id})


def served() -> HTTPProvider:
    """A service over a real connection, at the URL that the environment names."""
    return HTTPProvider(os.environ[SERVED_AT], key="http", label="Service", score_kind="similarity", citations=True)


@asynccontextmanager
async def subject(fault: str | None = None) -> AsyncGenerator[HTTPProvider]:
    """A provider over the handbook that is sound, or fails as named: for what all adapters do alike."""
    provider = over(KnowledgeService(_WAYS[fault]), timeout=0.05 if fault == "timeout" else 10.0)
    try:
        yield provider
    finally:
        await provider.close()


# What the tests share


def context(owner: str = "alice", signal: CancelSignal | None = None) -> RetrievalContext:
    return RetrievalContext(owner_id=owner, signal=signal or CancelSignal())


async def asked(
    provider: HTTPProvider, query: str = "release policy", *, owner: str = "alice", **fields: Any
) -> list[RetrievalResult]:
    return await provider.retrieve(RetrievalRequest(query=query, **fields), context(owner))


def ask(provider: HTTPProvider, query: str = "release policy", **fields: Any) -> list[RetrievalResult]:
    """One answer, on a loop of its own, after which the provider is closed."""

    async def main() -> list[RetrievalResult]:
        try:
            return await asked(provider, query, **fields)
        finally:
            await provider.close()

    return asyncio.run(main())


def failed(provider: HTTPProvider, **fields: Any) -> KnowledgeError:
    with pytest.raises(KnowledgeError) as caught:
        ask(provider, **fields)
    return caught.value


def ids(results: list[RetrievalResult]) -> list[str]:
    return [result.id for result in results]


def said(error: BaseException | None) -> str:
    """All that an error would show: its words, its notes, and those of its causes."""
    words: list[str] = []
    while error is not None:
        words += [str(error), repr(error), *getattr(error, "__notes__", ())]
        error = error.__cause__ or error.__context__
    return "\n".join(words)
