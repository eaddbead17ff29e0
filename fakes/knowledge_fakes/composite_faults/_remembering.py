"""Mistakes with answers that are kept or shared; knows clauses 4.3 and 7.5, no way of catching them."""

import asyncio
from collections.abc import Hashable, Mapping
from typing import Any

from knowledge_fakes.composite_faults._declared import fault
from knowledge_fakes.plain_composite import PlainComposite
from knowledge_provider import RetrievalContext, RetrievalRequest


class _Remembering(PlainComposite):
    """An answer to which every child gave something is kept, by a key that a fault gets wrong."""

    def __init__(self, children: Mapping[str, Any], *, timeout: float = 5.0) -> None:
        super().__init__(children, timeout=timeout)
        self.kept: dict[Hashable, Any] = {}

    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
        context.signal.raise_if_cancelled()
        key = self.key_of(request, context)
        if key in self.kept:
            return self.kept[key]
        answer = await super().retrieve(request, context)
        if all(report["status"] == "hit" for report in answer["sources"]):
            self.kept[key] = answer
        return answer

    def key_of(self, request: RetrievalRequest, context: RetrievalContext) -> Hashable:
        """All that an answer depends on."""
        return context.owner_id, *_asked(request)


def _asked(request: RetrievalRequest) -> tuple[Hashable, ...]:
    return request.query, request.top_k, request.knowledge_base_ids, str(request.filters)


@fault("KP-929", fragment="a result for 'alice")
class CachesByQuestion(_Remembering):
    """Answers are remembered by the request, and whoever asks the same gets what another owner may see."""

    def key_of(self, request: RetrievalRequest, context: RetrievalContext) -> Hashable:  # noqa: ARG002 - the mistake
        return _asked(request)


@fault("KP-929", fragment="bases []")
class CachesByOwnerAndQuery(_Remembering):
    """Answers are remembered by owner and query, and a search in one base gets what was found in all of them."""

    def key_of(self, request: RetrievalRequest, context: RetrievalContext) -> Hashable:
        return context.owner_id, request.query, request.top_k


@fault("KP-929", fragment="a result for 'alice")
class SingleFlight(PlainComposite):
    """The same request at the same time is asked once, for whoever waits for it."""

    def __init__(self, children: Mapping[str, Any], *, timeout: float = 5.0) -> None:
        super().__init__(children, timeout=timeout)
        self.flights: dict[Hashable, asyncio.Future[Any]] = {}

    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
        context.signal.raise_if_cancelled()
        key = _asked(request)
        if flight := self.flights.get(key):
            return await asyncio.shield(flight)
        self.flights[key] = asyncio.ensure_future(super().retrieve(request, context))
        self.flights[key].add_done_callback(lambda _: self.flights.pop(key, None))
        return await self.flights[key]
