"""Strategies for what a service may send over HTTP, sound, nearly so and hostile; knows JSON and HTTP, no adapter.

Use them to fuzz an adapter of your own: for any payload it should answer with conforming results or raise a
``KnowledgeError``, and never show the ``secret``, which stands wherever a service might repeat a credential.
"""

import gzip
import json
import math
from collections.abc import Callable, Collection
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeVar

from hypothesis import event
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from knowledge_conformance.strategies import hostile_text

__all__ = ["HTTPPayload", "http_payloads", "json_answers"]

_Name = TypeVar("_Name")


class HTTPPayload(NamedTuple):
    """A status, headers in printable ASCII, and a body, for ``httpx.Response`` or any other client's mock."""

    status: int
    headers: dict[str, str]
    body: bytes


@lru_cache(maxsize=8)
def json_answers(secret: str) -> SearchStrategy[Any]:
    """JSON as ``json.loads`` gives it, in the contract's shape or nearly: what a service may answer with status 200.

    ``secret`` stands in links, names and error texts; in a result's content it does not, which is data.
    """
    values = _values(secret)
    # The broken ones first, so that a sound one shows whether they cost themselves only.
    broken = st.lists(values, max_size=2), st.lists(_records(values), max_size=2)
    records = st.builds(_joined, *broken, st.lists(_sound(values), max_size=3))
    return st.builds(_formed, _mostly("a mapping", _FORMS), records, values)


@lru_cache(maxsize=8)
def http_payloads(secret: str) -> SearchStrategy[HTTPPayload]:
    """A whole reply: mostly a JSON answer with status 200, sound or spoilt on its way."""
    ways, statuses, places = _mostly("as it is", _ON_THE_WAY), _mostly(200, _STATUSES), st.integers(0, 64)
    return st.builds(_sent, json_answers(secret), ways, places, statuses, _headers(secret), ascii_only=st.booleans())


def _mostly(usual: _Name, others: Collection[_Name]) -> SearchStrategy[_Name]:
    # Spoilt in every way at once, nothing would ever come through to be read.
    return st.sampled_from([usual] * 3 * len(others) + list(others))


def _joined(*lists: list[Any]) -> list[Any]:
    return [record for each in lists for record in each]


def _formed(form: str, records: list[Any], value: Any) -> Any:
    event(f"form: {form}")
    return _FORMS[form](records, value)


def _sent(answer: Any, way: str, at: int, status: int, headers: dict[str, str], *, ascii_only: bool) -> HTTPPayload:
    event(f"on the way: {way}")
    body = json.dumps(answer, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    packed = {"content-encoding": "gzip"} if way.startswith("gzip") else {}
    return HTTPPayload(status, headers | packed, _ON_THE_WAY[way](body, at))


# Values

_NUMBERS: Final = st.integers(-1, 1) | st.sampled_from(
    [0.5, -0.0, 10**400, -(10**20), 1e308, math.nan, math.inf, -math.inf]
)
_SCALARS: Final = st.none() | st.booleans() | _NUMBERS


def _repeated(text: str, size: int) -> str:
    return text * size


_LONG: Final = st.builds(_repeated, st.sampled_from("a知\u200d\u202e\ud800"), st.integers(1, 9_000))


def _links(secret: str) -> SearchStrategy[str]:
    return st.sampled_from(
        [
            f"https://user:{secret}@files.example.org/a.pdf",
            f"https://files.example.org/a.pdf?X-Amz-Signature={secret}",
            f"https://files.example.org/a?token={secret}#top",
            f"postgres://user:{secret}@db.internal/docs",
            f"see https://user:{secret}@files.example.org/a.pdf for more",
            f"//user:{secret}@files.example.org/a",
            f"http:\\\\user:{secret}@files.example.org/",
        ]
    )


def _values(secret: str) -> SearchStrategy[Any]:
    """Any JSON value, mostly a text."""
    texts: SearchStrategy[str] = st.one_of(
        _links(secret), hostile_text(), _LONG, st.sampled_from(["", " ", "<b>html</b>", "null", "0"])
    )
    flat: SearchStrategy[Any] = texts | _SCALARS
    nested: SearchStrategy[Any] = st.lists(flat, max_size=2) | st.dictionaries(texts, flat, max_size=2)
    return st.one_of(_SCALARS, texts, nested, nested.map(_in_a_list))


def _in_a_list(value: Any) -> list[Any]:
    return [value]


# Answers in the contract's shape


def _records(values: SearchStrategy[Any]) -> SearchStrategy[dict[str, Any]]:
    content: SearchStrategy[Any] = st.one_of(st.just("a passage"), hostile_text(), _LONG, _SCALARS)
    inner = ["id", "title", "uri", "mimeType", "locator", "more"]
    source = st.fixed_dictionaries({}, optional=dict.fromkeys(inner, values))
    metadata = st.dictionaries(values.filter(_is_text), values, max_size=3)
    optional = {"id": values, "score": values, "source": source | values, "metadata": metadata | values}
    return st.fixed_dictionaries({}, optional={"content": content, **optional})


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _sound(values: SearchStrategy[Any]) -> SearchStrategy[dict[str, Any]]:
    """Records that have what a result needs, beside whatever else is wrong with them."""
    needed = st.fixed_dictionaries(
        {"id": st.sampled_from("abc"), "content": st.just("a passage"), "score": st.integers(0, 3)}
    )
    return st.builds(_with, _records(values), needed)


def _with(record: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    return record | more


# What is drawn beside the records stands wherever the form has room for it.
_FORMS: Final[dict[str, Callable[[list[Any], Any], Any]]] = {
    "a mapping": lambda records, _: {"results": records},
    "a list": lambda records, _: records,
    "a mapping with more": lambda records, value: {"results": records, "took": value, "next": value},
    "an error beside results": lambda records, value: {"results": records, "error": value},
    "an error with a code": lambda _, value: {"error": {"code": value, "message": value}},
    "an error in the contract's words": lambda _, value: {"error": {"code": "knowledge_unauthorized", "more": value}},
    "a problem": lambda _, value: {"type": "about:blank", "title": value, "status": 500, "detail": value},
    "a mapping for a list": lambda records, _: {"results": {str(n): record for n, record in enumerate(records)}},
    "a list in a list": lambda records, _: {"results": [records]},
    "another name": lambda records, _: {"documents": records},
    "one record": lambda records, value: records[0] if records else value,
    "any value": lambda _, value: value,
}


# On the way

_ON_THE_WAY: Final[dict[str, Callable[[bytes, int], bytes]]] = {
    "as it is": lambda body, _: body,
    "cut off": lambda body, at: body[: len(body) * at // 64],
    "a byte order mark": lambda body, _: b"\xef\xbb\xbf" + body,
    "a guard against scripts": lambda body, _: b")]}',\n" + body,
    "twice": lambda body, _: body + body,
    "as text in JSON": lambda body, _: json.dumps(body.decode("utf-8", "replace")).encode(),
    "another charset": lambda body, _: body.decode("utf-8", "replace").encode("gb18030"),
    "wide characters": lambda body, _: body.decode("utf-8", "replace").encode("utf-16"),
    "a page": lambda body, _: b"<!doctype html><title>Sign in</title>" + body,
    "one byte changed": lambda body, at: body[:at] + b"\xff" + body[at + 1 :],
    "nested deep": lambda body, at: b"[" * (at * 1_000) + body,
    "nothing at all": lambda _body, _: b"",
    "gzip": lambda body, _: gzip.compress(body),
    "gzip, cut off": lambda body, at: gzip.compress(body)[:at],
    "gzip, by name only": lambda body, _: body,
    "gzip of much": lambda _, at: gzip.compress(b" " * (at * 100_000)),
}
_STATUSES: Final = (
    200, 201, 204, 206, 299, 301, 302, 304, 307, 308, 400, 401, 403, 404, 408, 422, 429, 500, 502, 503, 504, 599
)  # fmt: skip


def _headers(secret: str) -> SearchStrategy[dict[str, str]]:
    types = ["application/json", "application/json; charset=latin-1", "text/html", f"text/plain; key={secret}", "", "?"]
    places = ["/", "?again", f"https://user:{secret}@kb.example.com/", "http://169.254.169.254/", "https://[", "", "::"]
    waits = ["0", "0.5", "-1", "soon", "3600", "9" * 400, "Wed, 21 Oct 2015 07:28:00 GMT", secret]
    return st.fixed_dictionaries(
        {},
        optional={
            "content-type": st.sampled_from(types),
            "location": st.sampled_from(places),
            "retry-after": st.sampled_from(waits),
            "set-cookie": st.just(f"session={secret}; Path=/"),
            "www-authenticate": st.just(f'Bearer realm="{secret}"'),
        },
    )
