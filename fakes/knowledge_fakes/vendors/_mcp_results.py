"""What the scripted MCP tool can be told to answer, as plain JSON; knows MCP's tool results, no handbook and no server.

A shape makes a whole result of records; a fault changes a sound result into another that is not.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

Result = dict[str, Any]
"""``content``, and where there are any ``structuredContent`` and ``isError``, as on the wire."""

WORDS: Final = "the server's own words"
# A picture of one pixel.
_PIXEL: Final = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
IMAGE: Final = {"type": "image", "data": _PIXEL, "mimeType": "image/png"}
LINK: Final = {"type": "resource_link", "uri": "https://handbook.example.com/", "name": "Handbook"}


def text(written: str) -> dict[str, Any]:
    """A block of text."""
    return {"type": "text", "text": written}


def _blocks(values: Iterable[object]) -> list[dict[str, Any]]:
    return [text(json.dumps(value, indent=2, ensure_ascii=False)) for value in values]


def _model(records: list[Any]) -> Result:
    answer = {"results": records}
    return {"content": _blocks([answer]), "structuredContent": answer}


def _list(records: list[Any]) -> Result:
    return {"content": _blocks(records), "structuredContent": {"result": records}}


def _string(records: list[Any]) -> Result:
    written = json.dumps({"results": records})
    return {"content": [text(written)], "structuredContent": {"result": written}}


def _resource(record: Mapping[str, Any]) -> dict[str, Any]:
    source = record["source"]
    held = {"uri": source["uri"], "mimeType": source["mimeType"], "text": record["content"]}
    return {"type": "resource", "resource": held}


SHAPES: Final[Mapping[str, Callable[[list[Any]], Result]]] = MappingProxyType(
    {
        # A pydantic model, or a dict: the structure, and the same as indented text.
        "model": _model,
        # A list: the SDK wraps it in "result", and has one block for each item.
        "list": _list,
        # A text with JSON in it, which the SDK wraps as well.
        "string": _string,
        # Without structure, as servers before 2025-06-18 answer.
        "text": lambda records: {"content": _blocks([{"results": records}])},
        "split": lambda records: {"content": _blocks(records)},
        "twice": lambda records: {"content": _blocks([json.dumps({"results": records})])},
        "images": lambda records: {"content": [IMAGE, *_blocks([{"results": records}]), LINK]},
        # Documents, with their places; and bare texts, which are passages only by somebody's word.
        "resources": lambda records: {"content": [text("Found these."), *map(_resource, records), IMAGE]},
        "passages": lambda records: {"content": [text(record["content"]) for record in records]},
    }
)
"""Sound results of each shape that servers give, by name."""

SCHEMAS: Final[Mapping[str, dict[str, Any]]] = MappingProxyType(
    {
        "model": {"type": "object", "properties": {"results": {"type": "array"}}, "required": ["results"]},
        "list": {"type": "object", "properties": {"result": {"type": "array"}}, "required": ["result"]},
        "string": {"type": "object", "properties": {"result": {"type": "string"}}, "required": ["result"]},
    }
)
"""The output schema that a tool of a shape declares."""


def _says(written: str) -> Callable[[Result], Result]:
    return lambda _: {"content": [text(written)]}


def _holds(value: object) -> Callable[[Result], Result]:
    return lambda _: {"content": _blocks([value])}


def _declared(code: str) -> Callable[[Result], Result]:
    error = {"error": {"code": code, "message": WORDS}}
    return lambda _: {"content": _blocks([error]), "structuredContent": error, "isError": True}


RESULT_FAULTS: Final[Mapping[str, Callable[[Result], Result]]] = MappingProxyType(
    {
        "is_error": lambda _: {"content": [text(f"Error executing tool search: {WORDS}")], "isError": True},
        "is_error_with_results": lambda result: {**result, "isError": True},
        "declared_unauthorized": _declared("knowledge_unauthorized"),
        "declared_rate_limited": _declared("knowledge_rate_limited"),
        "declared_unavailable": _declared("knowledge_unavailable"),
        "error_in_answer": _holds({"results": [], "error": {"message": WORDS}}),
        "prose": _says("I found nothing that would help."),
        "login_page": _says("<!doctype html><title>Sign in</title>"),
        "truncated": _says('{"results": [{"id": "a", "content": "half of'),
        "too_deep": _says("[" * 100_000),
        "null": _holds(None),
        "no_results": _holds({"answer": 42}),
        "null_results": _holds({"results": None}),
        "results_by_name": _holds({"results": {"a": {"content": "text"}}}),
        "no_text": _holds({"results": [{"id": "a"}, {"id": "b", "content": " "}]}),
        "only_an_image": lambda _: {"content": [IMAGE, LINK]},
        # Against the schema that the tool declares, where it declares one.
        "breaks_schema": lambda result: {**result, "structuredContent": {"results": WORDS}},
        "no_structure": lambda result: {"content": result["content"]},
    }
)
"""Results that are no knowledge, by name."""


class HTTPReply(NamedTuple):
    """What answers a POST in the server's place; ``{id}`` in the body stands for the message's own id."""

    status: int
    headers: Mapping[str, str]
    body: str = ""


_JSON: Final = {"content-type": "application/json"}
_HTML: Final = {"content-type": "text/html; charset=utf-8"}
_PAGE: Final = f"<!doctype html><title>Sign in</title>{WORDS}"

HTTP_FAULTS: Final[Mapping[str, HTTPReply]] = MappingProxyType(
    {
        "bad_request": HTTPReply(400, _JSON, "{}"),
        "unauthorized": HTTPReply(401, {"www-authenticate": "Bearer"}),
        "forbidden": HTTPReply(403, {}),
        "not_found": HTTPReply(404, _HTML, _PAGE),
        "request_timeout": HTTPReply(408, {}),
        "rate_limited": HTTPReply(429, {"retry-after": "7"}),
        "broken": HTTPReply(500, _HTML, _PAGE),
        "bad_gateway": HTTPReply(502, _HTML, _PAGE),
        "unavailable": HTTPReply(503, {"retry-after": "3"}),
        "redirected": HTTPReply(307, {"location": "https://elsewhere.example.com/mcp"}),
        "login_page_for_all": HTTPReply(200, _HTML, _PAGE),
        "accepted": HTTPReply(202, {}),
        "no_message": HTTPReply(200, _JSON, '{"results": []}'),
        "no_json": HTTPReply(200, _JSON, "<html>"),
        "no_events": HTTPReply(200, {"content-type": "text/event-stream"}, "data: {\n\n"),
        "stream_ended": HTTPReply(200, {"content-type": "text/event-stream"}, ": nothing\n\n"),
        "structure_alone": HTTPReply(
            200, _JSON, '{"jsonrpc": "2.0", "id": {id}, "result": {"structuredContent": {"results": []}}}'
        ),
    }
)
"""Answers of HTTP that are no result of the tool's, by name."""
