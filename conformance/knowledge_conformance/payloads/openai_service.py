"""Hypothesis strategies for what a vector-store search answers over OpenAI's API, soundly or not; knows its JSON alone.

Everything is JSON, or bytes on the wire: no vendor is needed. A failure shrinks to a page with one small row in it.
"""

import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from hypothesis import event
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from knowledge_conformance._text_strategies import hostile_text
from knowledge_conformance._uri_strategies import uris
from knowledge_conformance.payloads._values import HIDDEN_JSON, LINKS, NUMBERS, PLANTED, SCALARS, TEXT

__all__ = ["PLANTED", "Reply", "bodies", "pages", "replies", "rows"]


class Reply(NamedTuple):
    """An HTTP response: status, headers and body."""

    status: int
    headers: Mapping[str, str]
    body: bytes


_ANYTHING: Final = st.recursive(
    SCALARS | HIDDEN_JSON,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(hostile_text(), inner, max_size=3),
    max_leaves=8,
)

_PARTS: Final = st.one_of(
    TEXT.map(lambda text: {"type": "text", "text": text}),
    st.sampled_from(
        [
            {"type": "image", "image_url": f"https://example.org/a?sig={PLANTED}&sv=1"},
            {"type": "text", "text": None},
            {"type": "text"},
            {"text": {"value": "nested", "annotations": [PLANTED]}},
            None,
            0,
            [PLANTED],
        ]
    ),
    TEXT,
)
_CONTENT: Final = st.lists(_PARTS, max_size=3) | TEXT | HIDDEN_JSON | st.none() | NUMBERS
_SCORES: Final = (
    NUMBERS | st.sampled_from(["0.9", "1e-3", "nan", "high", "", " 1", "1_0", "९", "9" * 5000, PLANTED]) | st.none()
)
_ATTRIBUTE: Final = SCALARS | LINKS | uris("public") | uris("private") | HIDDEN_JSON
_ATTRIBUTES: Final = st.one_of(
    st.dictionaries(
        st.sampled_from(["source", "title", "id", "a" * 200, "", " "]) | hostile_text(), _ATTRIBUTE, max_size=4
    ),
    st.integers(17, 40).map(lambda size: {f"key {n}": n for n in range(size)}),
    st.sampled_from([None, PLANTED, [PLANTED], 0]),
)

_SOUND_ROW: Final[SearchStrategy[dict[str, Any]]] = st.fixed_dictionaries(
    {
        "file_id": st.integers(0, 3).map(lambda number: f"file-{number}"),
        "filename": st.just("handbook.md"),
        "score": st.floats(0, 1),
        "attributes": st.just({}),
        "content": st.integers(0, 3).map(lambda number: [{"type": "text", "text": f"passage {number}"}]),
    }
)
_FIELDS: Final[Mapping[str, SearchStrategy[Any]]] = {
    "file_id": SCALARS | LINKS | HIDDEN_JSON,
    "filename": SCALARS | LINKS | HIDDEN_JSON,
    "score": _SCORES,
    "attributes": _ATTRIBUTES,
    "content": _CONTENT,
    # What the API does not have.
    "id": SCALARS | HIDDEN_JSON,
    "source": _ANYTHING,
    "api_key": st.just(PLANTED),
}


@st.composite
def _broken_row(draw: DrawFn) -> object:
    row: dict[str, Any] = draw(_SOUND_ROW)
    for name in draw(st.lists(st.sampled_from(sorted(_FIELDS)), min_size=1, max_size=3, unique=True)):
        event(f"broken row: {name}")
        row[name] = draw(_FIELDS[name])
    for name in draw(st.lists(st.sampled_from(sorted(row)), max_size=1)):
        del row[name]
    return row


def rows() -> SearchStrategy[object]:
    """One search result: as the API has it, with some fields of other types or hostile values, or no result at all."""
    none: tuple[object, ...] = (None, PLANTED, [], 0, [PLANTED], {})
    return st.one_of(_SOUND_ROW, _broken_row(), st.sampled_from(none))


def pages() -> SearchStrategy[object]:
    """A whole answer as a JSON value, NaN and lone surrogates included: a page of rows, a broken page, anything."""
    page = st.lists(rows(), max_size=12).map(lambda data: {"object": "list", "data": data, "next_page": PLANTED})
    listed = st.lists(rows(), max_size=3)
    broken = st.one_of(
        listed,
        st.just({}),
        _ANYTHING.map(lambda value: {"data": value}),
        listed.map(lambda data: {"results": data}),
        listed.map(lambda data: {"data": data, "error": {"message": PLANTED, "code": PLANTED}}),
        listed.map(lambda data: {"data": {"data": data}}),
        st.just({"error": {"message": f"Incorrect API key provided: {PLANTED}", "code": "invalid_api_key"}}),
        _ANYTHING,
    )
    return page | broken


_NOT_JSON: Final = st.sampled_from(
    [
        b"",
        b"<!doctype html><title>Sign in</title>",
        f"<html>{PLANTED}</html>".encode(),
        b'{"data": [',
        b'{"data": "\xff"}',
        b'{"data": [1e]}',
        b"[" * 20_000,
        b'{"a":' * 20_000,
        b'{"data": [{"score": ' + b"9" * 5000 + b"}]}",
        '{"data": []}'.encode("utf-16"),
        b'\xef\xbb\xbf{"data": []}',
        b'data: {"data": []}\n\n',
    ]
)


def bodies() -> SearchStrategy[bytes]:
    """A body on the wire: a page as JSON, cut off or not, or something that is not JSON."""
    written = pages().map(lambda page: json.dumps(page).encode())
    return written | st.builds(_cut, written, st.integers(1, 40)) | _NOT_JSON


def _cut(body: bytes, kept: int) -> bytes:
    return body[:kept]


_HEADERS: Final = st.fixed_dictionaries(
    {"content-type": st.sampled_from(["application/json", "text/html", "application/json; charset=latin-1", "x"])},
    optional={
        "retry-after": st.sampled_from(
            ["7", "0", "-1", "1e999", "soon", "9" * 50, "Wed, 21 Oct 2015 07:28:00 GMT", PLANTED]
        ),
        "x-should-retry": st.sampled_from(["true", "false"]),
        "x-request-id": st.just(PLANTED),
        "location": st.sampled_from(
            ["/login", f"https://example.org/?key={PLANTED}", "http://[", "", "file:///etc/passwd"]
        ),
        "content-encoding": st.sampled_from(["gzip", "deflate", "identity", "unknown"]),
        "set-cookie": st.just(f"session={PLANTED}"),
    },
)
_STATUSES: Final = st.sampled_from(
    [200, 200, 200, 201, 202, 204, 301, 302, 304, 307, 400, 401, 403, 404, 408, 409, 418, 422, 429, 500, 502, 503, 599]
)


def replies() -> SearchStrategy[Reply]:
    """A whole HTTP response, most of them with status 200."""
    plain = bodies().map(lambda body: Reply(200, {"content-type": "application/json"}, body))
    return plain | st.builds(Reply, _STATUSES, _HEADERS, bodies())
