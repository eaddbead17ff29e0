"""Strategies for what a tool of an MCP server may answer, sound, nearly so and hostile; knows MCP's JSON, no adapter.

Everything is plain JSON as on the wire: no vendor is needed. Use it to fuzz an adapter of your own: for any result it
should answer with conforming results or raise a ``KnowledgeError``, and never show the ``secret``.
"""

import json
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

from hypothesis import event
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from knowledge_conformance.payloads.http_service import json_answers
from knowledge_conformance.strategies import hostile_text

__all__ = ["tool_results"]


@lru_cache(maxsize=8)
def tool_results(secret: str) -> SearchStrategy[dict[str, Any]]:
    """A tool's result: ``content``, and mostly ``structuredContent``, ``isError`` or neither; some break the protocol.

    ``secret`` stands in links, names and error texts, and in JSON beside its contents. In the text of a document it
    does not, which is data.
    """
    # The usual ones several times, or nothing would ever come through to be read.
    ways = st.sampled_from([*_CARRIED, *_CARRIED, *_CARRIED, *_BROKEN])
    return st.builds(_result, ways, json_answers(secret), st.lists(_others(secret), max_size=2), _flags(secret))


def _result(way: str, answer: Any, others: list[Any], flags: dict[str, Any]) -> dict[str, Any]:
    event(f"carried: {way}")
    carried = {**_CARRIED, **_BROKEN}[way](answer)
    content = carried.get("content")
    beside = {"content": [*others[:1], *content, *others[1:]]} if isinstance(content, list) else {}
    return {**carried, **beside, **flags}


def _text(written: object) -> dict[str, Any]:
    return {"type": "text", "text": written}


def _written(answer: Any) -> str:
    # As servers write it, NaN and all; a lone surrogate cannot be sent, so it is escaped.
    return json.dumps(answer)


def _split(answer: Any) -> dict[str, Any]:
    records = answer.get("results") if isinstance(answer, dict) else answer
    return {"content": [_text(_written(record)) for record in records] if isinstance(records, list) else []}


def _document(answer: Any) -> dict[str, Any]:
    held = {"uri": "kb://found", "mimeType": "application/json", "text": _written(answer)}
    return {"content": [{"type": "resource", "resource": held}]}


_CARRIED: Final[dict[str, Callable[[Any], dict[str, Any]]]] = {
    "as text": lambda answer: {"content": [_text(_written(answer))]},
    "as structure": lambda answer: {"content": [], "structuredContent": answer},
    "as both": lambda answer: {"content": [_text(_written(answer))], "structuredContent": answer},
    "wrapped": lambda answer: {"content": [], "structuredContent": {"result": answer}},
    "wrapped as text": lambda answer: {"content": [], "structuredContent": {"result": _written(answer)}},
    "encoded twice": lambda answer: {"content": [_text(_written(_written(answer)))]},
    "split over blocks": _split,
    "as a document": _document,
}
_BROKEN: Final[dict[str, Callable[[Any], dict[str, Any]]]] = {
    "not at all": lambda _: {"content": []},
    "cut off": lambda answer: {"content": [_text(_written(answer)[:-3])]},
    "encoded many times": lambda answer: {"content": [_text(_written(_written(_written(_written(_written(answer))))))]},
    "in many wrappings": lambda answer: {
        "content": [],
        "structuredContent": {"result": {"result": {"result": answer}}},
    },
    "as Python writes it": lambda answer: {"content": [_text(repr(answer))]},
    "without content": lambda answer: {"structuredContent": answer},
    "under the names of old": lambda answer: {"content": [], "structured_content": answer, "is_error": True},
    "as a block of no type": lambda answer: {"content": [{"text": _written(answer)}]},
    "as a block of a new type": lambda answer: {"content": [{"type": "records", "records": answer}]},
    "as text that is none": lambda answer: {"content": [_text(answer)]},
    "with content that is no list": lambda answer: {"content": _text(_written(answer))},
    "nested deep": lambda _: {"content": [_text("[" * 50_000)]},
}


def _others(secret: str) -> SearchStrategy[dict[str, Any]]:
    """Blocks beside the answer: remarks, documents, images, links, and what is none of these."""
    uris = st.sampled_from(
        [
            "kb://doc/7",
            "https://handbook.example.com/a#b",
            f"https://user:{secret}@files.example.org/a.pdf",
            f"https://files.example.org/a.pdf?X-Amz-Signature={secret}",
            f"file://user:{secret}@nas/a",
            "",
            "\ud800",
        ]
    )
    kinds = st.sampled_from(["text/plain", "application/json", "", f"text/plain; key={secret}", None])
    # A document that says it is JSON is read as such, and may be JSON by chance.
    texts = hostile_text() | st.sampled_from(["", " ", "a document", "text " * 2_000, '{"content": "one"}', "[]", "7"])
    document = st.fixed_dictionaries({"uri": uris, "mimeType": kinds, "text": texts})
    blob = st.fixed_dictionaries({"uri": uris, "mimeType": kinds, "blob": st.just("AA==")})
    return st.one_of(
        st.sampled_from([_text("Found these."), _text(f"My key is {secret}."), _text("null"), _text("")]),
        document.map(lambda held: {"type": "resource", "resource": held}),
        blob.map(lambda held: {"type": "resource", "resource": held}),
        st.just({"type": "image", "data": secret, "mimeType": "image/png"}),
        uris.map(lambda uri: {"type": "resource_link", "uri": uri, "name": secret, "description": secret}),
    )


def _flags(secret: str) -> SearchStrategy[dict[str, Any]]:
    sound: list[dict[str, Any]] = [{}, {"isError": False}, {"_meta": {"token": secret}}]
    return st.sampled_from([*sound, *sound, {"isError": True}, {"isError": "true"}, {"isError": None}])
