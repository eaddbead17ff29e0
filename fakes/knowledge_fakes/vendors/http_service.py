"""A scripted knowledge service over HTTP: the handbook behind ``POST /search``; knows the contract and no adapter.

It answers as it is told, soundly or in one of the ways in which real services fail. ``app`` serves it over a real
connection and needs the extra ``fakes``; ``respond`` is for respx and ``httpx.MockTransport`` and needs ``http``.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Collection, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from pydantic import ValidationError

from knowledge_fakes.handbook import Handbook, load_handbook
from knowledge_fakes.vendors._http_replies import FAULTS, HTML, LOGIN, SOUND, Reply, failed, json_reply
from knowledge_provider import RetrievalRequest
from knowledge_provider.answers import AnswerFields
from knowledge_provider.errors import KnowledgeFiltersUnsupportedError

if TYPE_CHECKING:
    import httpx
    from starlette.applications import Starlette

__all__ = ["FAULTS", "NESTED_FIELDS", "SOUND", "TENANT", "KnowledgeService", "Reply", "Seen"]

TENANT: Final = "x-tenant"
"""The header that names the tenant, where the service keeps tenants apart."""

NESTED_FIELDS: Final = AnswerFields(
    results="data.items",
    id="key",
    content="text",
    score="rank.score",
    uri="doc.url",
    title="doc.name",
    source_id="doc.key",
    mime_type="doc.type",
    locator="doc.place",
    metadata="labels",
)
"""Where the shape ``nested`` holds what."""


class Seen(NamedTuple):
    """A question as it came: headers with names in lower case, and the body."""

    headers: Mapping[str, str]
    body: bytes

    @property
    def request(self) -> dict[str, Any]:
        """The body as JSON."""
        return dict(json.loads(self.body))


class KnowledgeService:
    """The handbook as a service. ``way`` is how it answers: a name of ``SOUND`` or ``FAULTS``, or None for plainly.

    ``times`` says for how many questions, after which it answers plainly. ``location`` is where the redirects of
    ``FAULTS`` lead. ``shape`` is what an answer looks like: the contract's mapping, its bare list, or ``nested``, for
    ``NESTED_FIELDS``; the ways that change single values in an answer are for the first. With a ``token`` it wants
    ``Authorization: Bearer TOKEN``. With ``tenants``, the header ``TENANT`` has to name one of them, and only that
    tenant's documents are searched.

    ``seen`` has every question in order. Raises ``ValueError`` for a way that there is not.
    """

    def __init__(
        self,
        way: str | None = None,
        *,
        times: int | None = None,
        location: str = "/login",
        shape: Literal["contract", "list", "nested"] = "contract",
        token: str | None = None,
        tenants: Mapping[str, Collection[str]] | None = None,
    ) -> None:
        ways = {**SOUND, **FAULTS}
        if way is not None and way not in ways:
            raise ValueError(f"{way!r} is no way to answer; choose from {', '.join(ways)}")
        self.seen: list[Seen] = []
        self._change, self._times = None if way is None else ways[way], times
        self._location, self._shape, self._token, self._tenants = location, _SHAPES[shape], token, tenants

    def answer(self, headers: Mapping[str, str], body: bytes) -> Reply:
        """The reply to one question; ``headers`` have their names in lower case."""
        self.seen.append(Seen(dict(headers), body))
        reply = self._answer(headers, body)
        over = self._times is not None and len(self.seen) > self._times
        if self._change is None or over or reply.status != 200:
            return reply
        changed = self._change(reply)
        return replace(changed, headers=_led(changed.headers, self._location))

    async def respond(self, request: "httpx.Request") -> "httpx.Response":
        """The reply for respx (``side_effect=service.respond``) or for ``httpx.MockTransport(service.respond)``.

        It is streamed, as over a connection, where a test can see how it is read.
        """
        import httpx

        reply = await _begun(self.answer(request.headers, await request.aread()))
        return httpx.Response(reply.status, headers=dict(reply.headers), content=_sent(reply))

    @property
    def app(self) -> "Starlette":
        """The service as an ASGI app, for ``knowledge_fakes.vendors.serving``; asked at ``/search``."""
        from starlette.applications import Starlette
        from starlette.requests import Request
        from starlette.responses import Response, StreamingResponse
        from starlette.routing import Route

        async def search(request: Request) -> Response:
            reply = await _begun(self.answer(request.headers, await request.body()))
            return StreamingResponse(_sent(reply), reply.status, headers=dict(reply.headers))

        async def login(_: Request) -> Response:
            return Response(LOGIN, headers=HTML)

        return Starlette(
            routes=[Route("/search", search, methods=["POST"]), Route("/login", login, methods=["GET", "POST"])]
        )

    def _answer(self, headers: Mapping[str, str], body: bytes) -> Reply:
        if self._token is not None and headers.get("authorization") != f"Bearer {self._token}":
            return failed(401)
        documents = None if self._tenants is None else self._tenants.get(headers.get(TENANT, ""), ())
        if documents is not None and not documents:
            return failed(403)
        try:
            return self._found(load_handbook(documents), RetrievalRequest.model_validate_json(body))
        except ValidationError:
            return failed(400)
        except KnowledgeFiltersUnsupportedError as error:
            return json_reply({"error": {"code": error.code, "message": str(error)}})

    def _found(self, handbook: Handbook, request: RetrievalRequest) -> Reply:
        return json_reply(self._shape(handbook.search(request)))


async def _begun(reply: Reply) -> Reply:
    if reply.ending == "silent" and not reply.pieces:
        await asyncio.Event().wait()
    return reply


async def _sent(reply: Reply) -> AsyncGenerator[bytes]:
    for piece in reply.pieces:
        yield piece
        await asyncio.sleep(reply.pause)
    if reply.ending == "silent":
        await asyncio.Event().wait()
    if reply.ending == "reset":
        raise ConnectionResetError("broken off, as it was told to")


def _led(headers: Mapping[str, str], location: str) -> Mapping[str, str]:
    return {**headers, "location": location} if "location" in headers else headers


# Shapes of an answer.


def _nested(results: list[dict[str, Any]]) -> dict[str, Any]:
    return {"code": 0, "data": {"total": len(results), "items": [_item(result) for result in results]}}


def _item(result: dict[str, Any]) -> dict[str, Any]:
    source = result["source"]
    return {
        "key": result["id"],
        "text": result["content"],
        "rank": {"score": result["score"]},
        "doc": {
            "url": source["uri"],
            "name": source["title"],
            "key": source["id"],
            "type": source["mimeType"],
            "place": source["locator"],
        },
        "labels": result["metadata"],
    }


_SHAPES: Final[Mapping[str, Callable[[list[dict[str, Any]]], object]]] = MappingProxyType(
    {"contract": lambda results: {"results": results}, "list": lambda results: results, "nested": _nested}
)
