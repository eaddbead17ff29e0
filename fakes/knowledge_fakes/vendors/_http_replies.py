"""What the scripted HTTP service can be told to answer, as values; knows HTTP and JSON, no handbook and no request."""

import gzip
import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import repeat
from types import MappingProxyType
from typing import Any, Final, Literal

Ending = Literal["whole", "silent", "reset"]


@dataclass(frozen=True, slots=True)
class Reply:
    """What goes over the wire: ``pieces`` one after another, ``pause`` seconds after each, and how it ends.

    ``silent`` sends no more and keeps the connection, and nothing at all where there are no pieces; ``reset`` breaks
    the connection.
    """

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: {"content-type": "application/json"})
    pieces: Iterable[bytes] = ()
    pause: float = 0.0
    ending: Ending = "whole"

    @property
    def body(self) -> bytes:
        """All pieces as one."""
        return b"".join(self.pieces)


HTML: Final[Mapping[str, str]] = {"content-type": "text/html; charset=utf-8"}
LOGIN: Final = b"<!doctype html><title>Sign in</title><form action=/login><input name=password></form>"
_BLOCK: Final = b" " * 65_536


def json_reply(value: object, status: int = 200, **headers: str) -> Reply:
    """``value`` as JSON; in the names of ``headers``, "_" stands for "-"."""
    body = json.dumps(value, ensure_ascii=False).encode()
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    return Reply(status, {"content-type": "application/json", **named}, (body,))


def failed(status: int, **headers: str) -> Reply:
    """A status that is no success, and a text with it."""
    return json_reply({"error": {"message": "the service's own words"}}, status, **headers)


def _fails(status: int, **headers: str) -> Callable[[Reply], Reply]:
    return lambda _: failed(status, **headers)


def _says(body: bytes, **headers: str) -> Callable[[Reply], Reply]:
    return _body(lambda _: body, **headers)


def _body(change: Callable[[bytes], bytes], **headers: str) -> Callable[[Reply], Reply]:
    """The sound reply with another body."""
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    return lambda reply: replace(reply, headers={**reply.headers, **named}, pieces=(change(reply.body),))


def _value(change: Callable[[Any], object]) -> Callable[[Reply], Reply]:
    """The sound reply with another value in its JSON."""
    return _body(lambda body: json.dumps(change(json.loads(body))).encode())


def _each_with(**changed: object) -> Callable[[Reply], Reply]:
    return _value(lambda answer: {"results": [{**result, **changed} for result in answer["results"]]})


def _letter_by_letter(reply: Reply) -> Reply:
    return replace(reply, pieces=[bytes([byte]) for byte in reply.body])


def _bomb() -> Iterator[bytes]:
    packer = zlib.compressobj(wbits=zlib.MAX_WBITS | 16)
    for _ in range(2_000):
        yield packer.compress(_BLOCK) + packer.flush(zlib.Z_SYNC_FLUSH)


SOUND: Final[Mapping[str, Callable[[Reply], Reply]]] = MappingProxyType(
    {
        "byte_order_mark": _body(lambda body: b"\xef\xbb\xbf" + body),
        "cookie": lambda reply: replace(reply, headers={**reply.headers, "set-cookie": "session=abc; Path=/"}),
        "gzip": _body(gzip.compress, content_encoding="gzip"),
        "letter_by_letter": _letter_by_letter,
        "not_a_number": _each_with(score=float("nan")),
        "null_error": _value(lambda answer: {**answer, "error": None}),
        "wrong_charset_name": lambda reply: replace(reply, headers={"content-type": "text/plain; charset=iso-8859-1"}),
    }
)
"""Answers that are sound, though not everybody can read them."""

FAULTS: Final[Mapping[str, Callable[[Reply], Reply]]] = MappingProxyType(
    {
        # By status
        "bad_request": _fails(400),
        "unauthorized": _fails(401, www_authenticate="Bearer"),
        "forbidden": _fails(403),
        "not_found": _fails(404),
        "request_timeout": _fails(408),
        "rate_limited": _fails(429, retry_after="7"),
        "rate_limited_now": _fails(429, retry_after="0"),
        "broken": _fails(500),
        "bad_gateway": lambda _: Reply(502, HTML, (LOGIN,)),
        "unavailable": _fails(503),
        "unavailable_now": _fails(503, retry_after="0"),
        # By an answer that calls itself a success
        "error_envelope": _says(b'{"error": {"code": 500, "message": "the service\'s own words"}, "results": []}'),
        "error_text": _says(b'{"error": "the service\'s own words"}'),
        "error_code": _says(b'{"error": {"code": "knowledge_rate_limited"}}'),
        "login_page": lambda _: Reply(200, HTML, (LOGIN,)),
        "no_content": lambda _: Reply(204, {}),
        "empty": _says(b""),
        "no_results": _says(b"{}"),
        "null_results": _says(b'{"results": null}'),
        "results_by_name": _says(b'{"results": {"0": {"id": "a", "content": "text"}}}'),
        "no_text": _each_with(content=None),
        "truncated": _body(lambda body: body[: len(body) // 2]),
        "other_charset": _says(
            '{"results": [{"id": "1", "content": "知识库"}]}'.encode("gb18030"),
            content_type="application/json; charset=gb18030",
        ),
        "too_deep": _says(b"[" * 100_000),
        "too_long": lambda reply: replace(reply, pieces=repeat(_BLOCK)),
        "gzip_bomb": lambda _: Reply(headers={"content-encoding": "gzip"}, pieces=_bomb()),
        "no_gzip": _body(lambda body: body, content_encoding="gzip"),
        "other_packing": _body(zlib.compress, content_encoding="br"),
        # By time or connection
        "silent": lambda _: Reply(ending="silent"),
        "stalled": lambda reply: replace(reply, pieces=(reply.body[:50],), ending="silent"),
        "drip": lambda reply: replace(_letter_by_letter(reply), pause=0.01),
        "broken_off": lambda reply: replace(reply, pieces=(reply.body[:50],), ending="reset"),
        # By sending the caller elsewhere
        "moved": _fails(308, location=""),
        "moved_for_now": _fails(307, location=""),
        "found": _fails(302, location=""),
        "see_other": _fails(303, location=""),
    }
)
"""Answers that are a failure, whatever they call themselves."""
