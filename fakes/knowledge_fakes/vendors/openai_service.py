"""A vector-store search service with OpenAI's API, over the handbook; knows HTTP and the handbook, no adapter or kit.

``VectorStoreService().app`` is an ASGI app: for ``knowledge_fakes.vendors.serving``, for ``httpx2.ASGITransport``, or
for respx, where ``ASGIHandler(service.app)`` is the side effect of a route. Each store can be told to answer in any way
of ``openai_answers.ANSWERS``. Needs the extra ``fakes``.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from knowledge_fakes.handbook import load_handbook
from knowledge_fakes.search import build_index, search
from knowledge_fakes.vendors.openai_answers import ANSWERS, Answerer, Reply, Row, as_json, refusal

# What the API allows for max_num_results.
_RESULTS_MAX: Final = 50


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a file in a store; queries are compared with ``found_by``. The API shows no ``key`` or other id."""

    key: str
    found_by: str
    file_id: str
    filename: str
    text: str
    attributes: Mapping[str, str | float | bool]


@dataclass(frozen=True, slots=True)
class Search:
    """A search that came: ``body`` is its JSON, ``retry`` counts from 0 as the client does, ``key`` is its API key."""

    store: str
    body: Mapping[str, Any]
    retry: int
    key: str


class VectorStoreService:
    """The service: ``stores`` maps ids of vector stores to their chunks; by default those of ``handbook_stores()``.

    ``api_key`` is the only key that it accepts; without one it accepts any. ``searches`` are those that came, in their
    order. ``held`` is set once a search has come to a store that keeps its client waiting, and ``gone`` once such a
    client went.
    """

    def __init__(self, stores: Mapping[str, Sequence[Chunk]] | None = None, *, api_key: str | None = None) -> None:
        self.searches: list[Search] = []
        self.held: threading.Event = threading.Event()
        self.gone: threading.Event = threading.Event()
        self._stores = handbook_stores() if stores is None else stores
        self._chunks = {chunk.key: chunk for chunks in self._stores.values() for chunk in chunks}
        self._index = build_index({key: chunk.found_by for key, chunk in self._chunks.items()})
        self._api_key = api_key
        self._answers: dict[str, Answerer] = {}
        self.app: Starlette = Starlette(
            routes=[
                Route("/v1/vector_stores/{store}/search", self._search, methods=["POST"]),
                Route("/v1/vector_stores/{store}", self._retrieve),
                Route("/login", _login),
            ]
        )

    def answer(self, how: str | Answerer, *stores: str) -> None:
        """Let ``stores``, or every store when none is named, answer as one of ``ANSWERS`` does, or by a function."""
        answerer = ANSWERS[how] if isinstance(how, str) else how
        self._answers |= dict.fromkeys(stores or self._stores, answerer)

    async def _search(self, request: Request) -> "_Sending":
        store, body = request.path_params["store"], await request.json()
        retry = int(request.headers.get("x-stainless-retry-count", 0))
        self.searches.append(Search(store, body, retry, _key(request)))
        return _Sending(self._refused(request) or self._found(store, body), _key(request), self)

    async def _retrieve(self, request: Request) -> "_Sending":
        reply = self._refused(request) or self._state(request.path_params["store"])
        return _Sending(reply, _key(request), self)

    def _refused(self, request: Request) -> Reply | None:
        if self._api_key is not None and _key(request) != self._api_key:
            return ANSWERS["unauthorized"]([], 0)
        return None if request.path_params["store"] in self._stores else ANSWERS["deleted"]([], 0)

    def _answerer(self, store: str) -> Answerer:
        return self._answers.get(store, ANSWERS["sound"])

    def _state(self, store: str) -> Reply:
        expired = self._answerer(store) is ANSWERS["expired"]
        reply = self._answerer(store)([], 0)
        if not expired and (reply.status >= 300 or reply.ending != "whole"):
            return reply
        return as_json({"id": store, "object": "vector_store", "status": "expired" if expired else "completed"})

    def _found(self, store: str, body: Mapping[str, Any]) -> Reply:
        query, limit, wanted = body.get("query"), body.get("max_num_results", 10), body.get("filters")
        if not isinstance(query, str) or type(limit) is not int or not 1 <= limit <= _RESULTS_MAX:
            return refusal(400, "Wanted a query, and max_num_results from 1 to 50.")
        keys = {chunk.key for chunk in self._stores[store]}
        hits = [(self._chunks[hit.id], hit.score) for hit in search(self._index, query) if hit.id in keys]
        try:
            rows = [_row(chunk, score) for chunk, score in hits if wanted is None or _fits(wanted, chunk.attributes)]
        except (KeyError, TypeError):
            return refusal(400, "The filter cannot be read.")
        return self._answerer(store)(rows, limit)


@dataclass(frozen=True, slots=True)
class _Sending:
    """A reply under way, as Starlette takes a response."""

    reply: Reply
    key: str
    service: VectorStoreService

    async def __call__(self, _scope: Scope, receive: Receive, send: Send) -> None:
        waits = self.reply.ending in ("held", "drip")
        if waits:
            self.service.held.set()
        try:
            await self.reply.send(receive, send, self.key)
        finally:
            if waits:
                self.service.gone.set()


def handbook_stores() -> dict[str, tuple[Chunk, ...]]:
    """The handbook as ``vs_handbook``, and its bases as ``vs_engineering``, ``vs_people`` and ``vs_support``.

    A document is a file, and a section one chunk of it. The attributes are the handbook's metadata, and ``source``.
    """
    chunks: dict[str, list[Chunk]] = {"vs_handbook": []}
    for key, passage in load_handbook().passages.items():
        document, title = passage.source["id"], passage.source["title"]
        attributes = {**passage.metadata, "source": passage.source["uri"]}
        found_by = f"{title} {passage.heading} {passage.content}"
        chunk = Chunk(key, found_by, f"file-{document}", f"{document}.md", passage.content, attributes)
        chunks["vs_handbook"].append(chunk)
        chunks.setdefault(f"vs_{passage.base}", []).append(chunk)
    return {store: tuple(held) for store, held in chunks.items()}


async def _login(_request: Request) -> HTMLResponse:
    return HTMLResponse("<!doctype html><title>Sign in</title>")


def _key(request: Request) -> str:
    return request.headers.get("authorization", "").removeprefix("Bearer ")


def _row(chunk: Chunk, score: float) -> Row:
    content = [{"type": "text", "text": chunk.text}]
    told = {"file_id": chunk.file_id, "filename": chunk.filename, "score": score, "content": content}
    return {**told, "attributes": dict(chunk.attributes)}


def _fits(wanted: Mapping[str, Any], attributes: Mapping[str, Any]) -> bool:
    """Whether attributes fit a comparison or compound filter; raises ``KeyError`` or ``TypeError`` for any other."""
    if wanted["type"] in ("and", "or"):
        fit = [_fits(each, attributes) for each in wanted["filters"]]
        return all(fit) if wanted["type"] == "and" else any(fit)
    held = attributes.get(wanted["key"])
    return held is not None and _COMPARISONS[wanted["type"]](held, wanted["value"])


def _equal(held: object, value: object) -> bool:
    # JSON keeps true and 1 apart, Python does not.
    return isinstance(held, bool) == isinstance(value, bool) and held == value


def _among(held: object, values: Sequence[object]) -> bool:
    # The API's schema has no booleans in a list.
    if not isinstance(values, list) or any(isinstance(value, bool) for value in values):
        raise TypeError("the value of 'in' and 'nin' is a list of texts and numbers")
    return held in values and not isinstance(held, bool)


_COMPARISONS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "eq": _equal,
    "ne": lambda held, value: not _equal(held, value),
    "gt": lambda held, value: bool(held > value),
    "gte": lambda held, value: bool(held >= value),
    "lt": lambda held, value: bool(held < value),
    "lte": lambda held, value: bool(held <= value),
    "in": _among,
    "nin": lambda held, values: not _among(held, values),
}
