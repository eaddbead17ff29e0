"""Mistakes that mix up callers, or their values; knows clauses 8.5, 4.3 and 3.8, no way of catching them."""

import asyncio
from typing import Any

from knowledge_fakes.host_faults._asking import unchecked
from knowledge_fakes.host_faults._host_fault import host_fault
from knowledge_fakes.plain_host import PlainHost
from knowledge_provider import RetrievalContext


def _asked(request: Any) -> tuple[str, ...]:
    """What a request asks for, whoever asks."""
    return request.query, str(request.top_k), repr(request.knowledge_base_ids), repr(request.filters)


# Clauses 8.5 and 4.3: owners.


@host_fault("KP-861", fragment="[['owner_id-2'], ['owner_id-2'], ['owner_id-2']]")
class ContextOnTheHost(PlainHost):
    """The context is kept on the host while a token is fetched, and the latest caller's is used for all."""

    async def answer(self, request: Any, context: RetrievalContext) -> Any:
        self.context = context
        await asyncio.sleep(0)
        return await super().answer(request, self.context)


@host_fault("KP-861", "KP-852", fragment="the same at the same time")
class AnswerOnTheHost(PlainHost):
    """The answer is kept on the host while it is counted, and the latest one is everybody's."""

    async def answer(self, request: Any, context: RetrievalContext) -> Any:
        self.found = await super().answer(request, context)
        await asyncio.sleep(0)
        return self.found


@host_fault("KP-861", fragment="the same at the same time")
class SingleFlight(PlainHost):
    """Searches for the same at the same time are one call of the provider, whoever makes them."""

    async def answer(self, request: Any, context: RetrievalContext) -> Any:
        flights: dict[tuple[str, ...], asyncio.Future[Any]] = vars(self).setdefault("flights", {})
        asked = _asked(request)
        if asked not in flights:
            flights[asked] = asyncio.ensure_future(super().answer(request, context))
            flights[asked].add_done_callback(lambda _: flights.pop(asked, None))
        return await flights[asked]


@host_fault("KP-861", "KP-805", "KP-816", "KP-818", fragment="the same one after another")
class CachesByQuery(PlainHost):
    """An answer is kept by what was asked for, and given to every owner who asks the same."""

    async def answer(self, request: Any, context: RetrievalContext) -> Any:
        kept: dict[tuple[str, ...], Any] = vars(self).setdefault("kept", {})
        asked = _asked(request)
        if asked not in kept:
            kept[asked] = await super().answer(request, context)
        return kept[asked]


# Clause 3.8: what the caller gave.


@host_fault("KP-864", fragment="['filters']")
class FiltersShared(PlainHost):
    """The caller's own filters go to the provider, which may write into them."""

    def request(self, query: str, limit: int, bases: tuple[str, ...], filters: Any) -> Any:
        return unchecked(super().request(query, limit, bases, filters), filters=filters or {})


@host_fault("KP-864", fragment="['filters']")
class FiltersCopiedAtTheTop(PlainHost):
    """Filters are copied one level deep, and what is nested in them is the caller's still."""

    def request(self, query: str, limit: int, bases: tuple[str, ...], filters: Any) -> Any:
        return unchecked(super().request(query, limit, bases, filters), filters=dict(filters or {}))
