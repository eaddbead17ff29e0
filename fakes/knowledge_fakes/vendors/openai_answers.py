"""The ways in which a vector-store search answers over OpenAI's API; knows bytes on the wire, no store and no query."""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, Literal

from starlette.types import Receive, Send

__all__ = ["ANSWERS", "Answerer", "Reply", "Row", "as_json", "refusal"]

Row = dict[str, Any]
"""One search result as the API has it: ``file_id``, ``filename``, ``score``, ``attributes`` and ``content``."""

_DRIP_SECONDS: Final = 0.02


@dataclass(frozen=True, slots=True)
class Reply:
    """What goes over the wire. ``{key}`` in the body becomes the API key that came, as some services echo it.

    ``ending``: the body is sent ``whole``; ``cut`` breaks the connection within it; ``held`` sends nothing and ``drip``
    sends blanks, both until the client goes.
    """

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    ending: Literal["whole", "cut", "held", "drip"] = "whole"

    async def send(self, receive: Receive, send: Send, key: str) -> None:
        """Send it as an ASGI app does."""
        if self.ending == "held":
            await _until_gone(receive)
            return
        body = self.body.replace(b"{key}", key.encode())
        headers = {"content-type": "application/json", **self.headers}
        if self.ending == "cut":
            headers["content-length"] = str(len(body) + 1000)
        written = [(name.encode(), value.encode()) for name, value in headers.items()]
        await send({"type": "http.response.start", "status": self.status, "headers": written})
        if self.ending == "drip":
            dripping = asyncio.create_task(_drip(send))
            await _until_gone(receive)
            dripping.cancel()
            return
        await send({"type": "http.response.body", "body": body, "more_body": self.ending == "cut"})


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _drip(send: Send) -> None:
    while True:
        await send({"type": "http.response.body", "body": b" ", "more_body": True})
        await asyncio.sleep(_DRIP_SECONDS)


Answerer = Callable[[Sequence[Row], int], Reply]
"""Makes a reply from all rows that match, best first, and the number of rows that was asked for."""


def as_json(value: object, status: int = 200, **headers: str) -> Reply:
    """A reply with ``value`` as its JSON; NaN and lone surrogates go through as Python writes them."""
    written = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(status, json.dumps(value).encode(), written)


def refusal(status: int, message: str, code: str | None = None, **headers: str) -> Reply:
    """An error as the API writes it."""
    kind = "server_error" if status >= 500 else "invalid_request_error"
    return as_json({"error": {"message": message, "type": kind, "param": None, "code": code}}, status, **headers)


def _page(rows: Sequence[object]) -> Reply:
    page = {"object": "vector_store.search_results.page", "data": rows}
    return as_json({**page, "has_more": False, "next_page": None})


def _with_rows(change: Callable[[Row], object]) -> Answerer:
    return lambda rows, limit: _page([change(row) for row in rows[:limit]])


def _always(reply: Reply) -> Answerer:
    return lambda _rows, _limit: reply


def _in_parts(row: Row) -> Row:
    # Some services give a text in pieces, with pieces between them that are not text.
    first, dot, rest = row["content"][0]["text"].partition(". ")
    image = {"type": "image", "image_url": None}
    return {**row, "content": [{"type": "text", "text": first + dot.strip()}, image, {"type": "text", "text": rest}]}


def _without_text(row: Row) -> Row:
    return {**row, "content": []}


_HTML: Final = b"<!doctype html><html><title>Sign in</title><form action=/login></form></html>"
_LOGIN: Final = {"location": "/login"}

ANSWERS: Final[Mapping[str, Answerer]] = MappingProxyType(
    {
        # As it should be.
        "sound": lambda rows, limit: _page(rows[:limit]),
        "nothing": _always(_page([])),
        # What the API allows, or other services with the same API do.
        "nulls": _with_rows(lambda row: {**row, "filename": None, "score": None, "attributes": None}),
        "score as text": _with_rows(lambda row: {**row, "score": str(row["score"])}),
        "content as text": _with_rows(lambda row: {**row, "content": row["content"][0]["text"]}),
        "content in parts": _with_rows(_in_parts),
        "more than asked for": lambda rows, _limit: _page(rows),
        "a row without text": lambda rows, limit: _page([*map(_without_text, rows[:1]), *rows][:limit]),
        # Answers that are none.
        "no text": _with_rows(_without_text),
        "no score": _with_rows(lambda row: {name: value for name, value in row.items() if name != "score"}),
        "html": _always(Reply(200, _HTML, {"content-type": "text/html"})),
        "array": lambda rows, limit: as_json(rows[:limit]),
        "no data": _always(as_json({"object": "list"})),
        "null for data": _always(as_json({"object": "list", "data": None})),
        "error with status 200": _always(as_json({"data": [], "error": {"message": "overloaded"}})),
        "truncated": lambda rows, limit: Reply(200, _page(rows[:limit]).body[:-20]),
        "empty": _always(Reply(200)),
        "no content": _always(Reply(204)),
        "wrong encoding": lambda rows, limit: Reply(200, _page(rows[:limit]).body, {"content-encoding": "gzip"}),
        "redirect": _always(Reply(302, b"", _LOGIN)),
        # Refusals.
        "unauthorized": _always(refusal(401, "Incorrect API key provided: {key}.", "invalid_api_key")),
        "forbidden": _always(refusal(403, "The key {key} may not read this store.")),
        "deleted": _always(refusal(404, "No vector store found with id 'vs_…'.")),
        "expired": _always(refusal(400, "Vector store vs_… is expired.", "expired")),
        "rate limited": _always(refusal(429, "Rate limit reached.", "rate_limit_exceeded", retry_after="7")),
        "conflict": _always(refusal(409, "Conflict.")),
        "request timeout": _always(refusal(408, "Request timed out.")),
        "server error": _always(refusal(500, "The server had an error.")),
        "unavailable": _always(refusal(503, "The engine is overloaded.")),
        "bad gateway": _always(Reply(502, _HTML, {"content-type": "text/html"})),
        # Time and connections.
        "held": _always(Reply(ending="held")),
        "drip": _always(Reply(ending="drip")),
        "cut": _always(Reply(200, b'{"data": [', ending="cut")),
    }
)
"""Every way to answer, by its name. ``unauthorized`` and ``forbidden`` echo the key that came."""
