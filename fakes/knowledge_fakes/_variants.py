"""The handbook behind other faces, for ``conformant``; knows the handbook and the contract, no kit and no fault."""

import asyncio
import math
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from knowledge_fakes.handbook import HandbookProvider, SyncHandbookProvider, load_handbook, refuse_all_filters
from knowledge_provider import (
    PROTOCOL_VERSION,
    CancelSignal,
    Health,
    ProviderDescription,
    RetrievalContext,
    RetrievalRequest,
)
from knowledge_provider.errors import KnowledgeFiltersUnsupportedError
from knowledge_provider.protocol import Response

_KNOWN: Final = ("filters", "scores", "citations")
_SLOW_SECONDS: Final = 0.05
_BASES: Final = frozenset({"engineering", "people", "support"})

Results = list[dict[str, Any]]


class Reshaped:
    """The handbook with another answer: ``shape`` makes of its results what this provider returns."""

    def __init__(
        self,
        key: str,
        shape: Callable[[Results], Response] = list,
        *,
        claims: Collection[str] = _KNOWN,
        documents: Collection[str] | None = None,
    ) -> None:
        self._key = key
        self._shape = shape
        self._claims = claims
        self._handbook = HandbookProvider(documents)

    def describe(self) -> Mapping[str, Any] | ProviderDescription:
        # Clauses 1.7 and 1.9: fresh each time, and it claims what the answers show.
        claims = {name: name in self._claims for name in _KNOWN}
        return {
            **self._handbook.describe(),
            "key": self._key,
            "label": f"Handbook, {self._key}",
            "capabilities": claims,
        }

    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> Response:
        answer = await self._handbook.retrieve(request, context)
        return self._shape(answer["results"])

    async def health(self, signal: CancelSignal) -> Mapping[str, Any] | Health:
        return await self._handbook.health(signal)

    async def close(self) -> None:
        await self._handbook.close()


class Slow(Reshaped):
    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> Response:
        # Clause 7.3.
        context.signal.raise_if_cancelled()
        await asyncio.sleep(_SLOW_SECONDS)
        return await super().retrieve(request, context)


class Models(Reshaped):
    def describe(self) -> ProviderDescription:
        return ProviderDescription.model_validate(super().describe())

    async def health(self, signal: CancelSignal) -> Health:
        return Health.model_validate(await super().health(signal))


class SnakeCase(Reshaped):
    def describe(self) -> dict[str, Any]:
        described = dict(super().describe())
        return {"protocol_version": described.pop("protocolVersion"), **described}


class UnknownBaseError(Exception):
    """A provider's own exception: its ``code`` alone ties it to the contract."""

    code = "knowledge_base_unknown"


class StrictBases(Reshaped):
    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> Response:
        # Clause 3.4: an unknown base may be an error.
        context.signal.raise_if_cancelled()
        if not set(request.knowledge_base_ids) <= _BASES:
            raise UnknownBaseError(f"Wanted knowledge bases out of {', '.join(sorted(_BASES))}; another one came.")
        return await super().retrieve(request, context)


class Slots:
    """No ``__dict__`` and no ``__weakref__``: neither an attribute nor a weak reference can be hung onto it."""

    __slots__ = ("_handbook",)

    def __init__(self) -> None:
        self._handbook = HandbookProvider()

    def describe(self) -> dict[str, Any]:
        return {**self._handbook.describe(), "key": "slots"}

    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> Response:
        return await self._handbook.retrieve(request, context)

    async def close(self) -> None:
        await self._handbook.close()


class Threaded:
    def __init__(self) -> None:
        self._handbook = SyncHandbookProvider()

    def describe(self) -> dict[str, Any]:
        return {**self._handbook.describe(), "key": "threaded"}

    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> Response:
        # Clause 7.3. Cancelled later, the wait ends at once; the thread has milliseconds left to work.
        context.signal.raise_if_cancelled()
        return await asyncio.to_thread(self._handbook.retrieve, request, context)

    async def health(self) -> dict[str, Any]:
        return self._handbook.health()

    def close(self) -> None:
        self._handbook.close()


class Minimal:
    """Two methods, and no word about capabilities."""

    def __init__(self) -> None:
        self._handbook = load_handbook()

    def describe(self) -> dict[str, Any]:
        return {"protocolVersion": PROTOCOL_VERSION, "key": "minimal", "label": "Minimal"}

    def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> Response:
        context.signal.raise_if_cancelled()
        refuse_all_filters(request)
        return [{"id": found["id"], "content": found["content"]} for found in self._handbook.search(request)]


class Bounds(Reshaped):
    """Filters on ``revision`` and ``max_revision`` are bounds, at least and at most; the others are equality."""

    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> Response:
        least, most = (_bound(request, name, missing) for name, missing in _REVISIONS.items())
        rest = {name: value for name, value in request.filters.items() if name not in _REVISIONS}
        # Clause 3.5: what the bounds leave out is no place lost, so they come before the cut.
        whole = request.model_copy(update={"filters": rest, "top_k": _EVERYTHING})
        answer = await self._handbook.retrieve(whole, context)
        return [each for each in answer["results"] if least <= each["metadata"]["revision"] <= most][: request.top_k]


_REVISIONS: Final[Mapping[str, float]] = {"revision": -math.inf, "max_revision": math.inf}
_EVERYTHING: Final = 1000


def _bound(request: RetrievalRequest, name: str, missing: float) -> float:
    value = request.filters.get(name, missing)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise KnowledgeFiltersUnsupportedError(
            f"Wanted a number as the bound {name}, and something else came. Nothing was searched, since leaving it out "
            f'would answer more than was asked for. Ask with a filter such as {{"{name}": 7}}.'
        )
    return value
