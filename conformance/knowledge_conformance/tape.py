"""A recording of a provider's network as values: what was asked, and what was answered. Pure; knows no file or client.

No credential stands in it. What is asked is known by its method, its address and a digest of its body; what stays of an
answer is its status, a few headers and its body, with what may be a key masked.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qs, unquote_plus, urljoin, urlsplit, urlunsplit

from knowledge_conformance.network import Call, Reply
from knowledge_conformance.recording import credentials_of
from knowledge_conformance.redact import MASK, mask_known, names_parameter, names_secret, redact
from knowledge_conformance.taint import unsearchable

ANSWERS_MAX: Final = 8
"""How many answers to the same call are kept, where they differ."""

_FORM: Final = "application/x-www-form-urlencoded"
_DIGITS: Final = 24
_PASSING: Final = "~"
# What is another each time, though the same is asked: a UUID, a moment, and a count of seconds since 1970.
_OF_ONE_CALL: Final = re.compile(
    r"\b[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}\b"
    r"|\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?"
    r"|\b[12]\d{9}(?:\d{3}){0,3}(?:\.\d{1,9})?\b",
    re.IGNORECASE,
)
_TIME_LEFT: Final = re.compile(r"deadline|remaining|time_?out|ttl", re.IGNORECASE)
_DECIMALS: Final = 3

Known = tuple[str, ...]
"""Values that are masked wherever they stand."""


class Asked(NamedTuple):
    """A call as it is found again. ``url`` has no credential, and ``body`` is a digest of a body without them.

    ``alike`` is a digest of all of it without what is another each time, such as a UUID or the time.
    """

    method: str
    url: str
    body: str
    alike: str


Tape = dict[Asked, tuple[Reply, ...]]
"""The answers to each call, in the order in which they came."""


def asked(call: Call, secrets: Known) -> Asked:
    """What a call is known by; neither its own credentials nor ``secrets`` make a difference."""
    known = (*secrets, *credentials_in(call))
    url, body = clean_url(call.url, known), _Body.of(call)
    alike = _digest(call.method, _settled(url), body.written(_settled, known))
    return Asked(call.method, url, _digest(body.written(_as_it_is, known)), alike)


def credentials_in(call: Call) -> Known:
    """The values that a call sends as credentials: in headers, in the query, and in fields of its body named so."""
    sent = (*credentials_of(call).values(), *_Body.of(call).secrets())
    return tuple(value for value in sent if not unsearchable(value))


def stored(reply: Reply, url: str, known: Known) -> Reply:
    """What is kept of an answer that ``url`` gave; usable as the answer was, but for the keys in it."""
    kept = {name: reply.headers[name] for name in ("content-type", "retry-after") if name in reply.headers}
    if "location" in reply.headers:
        kept["location"] = clean_url(urljoin(url, reply.headers["location"]), known)
    return Reply(reply.status, {name: _masked(text, known) for name, text in kept.items()}, _body(reply.body, known))


def with_answer(tape: Tape, question: Asked, reply: Reply) -> None:
    """Add an answer, unless it says the same as the one before it, or there are enough."""
    before = tape.get(question, ())
    if len(before) < ANSWERS_MAX and (not before or _said(before[-1]) != _said(reply)):
        tape[question] = (*before, reply)


def clean_url(url: str, known: Iterable[str]) -> str:
    """An address without user-info, a fragment and parameters that hold a credential."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return _masked(url, known)
    query = "&".join(pair for pair in parts.query.split("&") if not names_parameter(_name_of(pair)))
    host = parts.netloc.rpartition("@")[2]
    return _masked(urlunsplit((parts.scheme, host, parts.path, query, "")), known)


def _name_of(pair: str) -> str:
    return unquote_plus(pair.partition("=")[0])


def _masked(text: str, known: Iterable[str]) -> str:
    return redact(text, known, limit=len(text), random=False)


def _digest(*texts: str) -> str:
    return hashlib.sha256("\n".join(texts).encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]


# What is asked.


class _Body(NamedTuple):
    """A request's body: JSON, the pairs of a form, or any text."""

    value: Any
    text: str | None = None

    @classmethod
    def of(cls, call: Call) -> "_Body":
        text = call.body.decode("utf-8", "surrogateescape")
        if _FORM in call.headers.get("content-type", ""):
            return cls(parse_qs(text, keep_blank_values=True))
        try:
            return cls(json.loads(text))
        except (ValueError, RecursionError):
            return cls(None, text)

    def written(self, settled: Callable[[Any], Any], known: Known) -> str:
        """As one text, always the same for the same; ``settled`` is what is made of each part."""
        if self.text is not None:
            return str(settled(_masked(self.text, known)))
        return json.dumps(_mapped(self.value, lambda part: settled(_without_key(part, known))), sort_keys=True)

    def secrets(self) -> Iterator[str]:
        """The texts in fields whose names say that they are secrets."""
        parts = _leaves(self.value)
        return (part.value for part in parts if names_secret(part.name) and isinstance(part.value, str))


class _Part(NamedTuple):
    """A leaf of JSON, such as a text, and the name of the field that it stands in."""

    name: str
    value: Any


def _leaves(value: Any, name: str = "") -> Iterator[_Part]:
    if isinstance(value, dict):
        for key, held in value.items():
            yield from _leaves(held, key)
    elif isinstance(value, list):
        for held in value:
            yield from _leaves(held, name)
    else:
        yield _Part(name, value)


def _mapped(value: Any, change: Callable[[_Part], Any], name: str = "") -> Any:
    if isinstance(value, dict):
        return {key: _mapped(held, change, key) for key, held in value.items()}
    if isinstance(value, list):
        return [_mapped(held, change, name) for held in value]
    return change(_Part(name, value))


def _without_key(part: _Part, known: Iterable[str]) -> _Part:
    name, value = part
    if isinstance(value, str) and value:
        return _Part(name, MASK if names_secret(name) else _masked(value, known))
    # A key may be a number, too.
    written = str(value)
    return part if mask_known(written, known) == written else _Part(name, MASK)


def _as_it_is(part: _Part | str) -> Any:
    return part.value if isinstance(part, _Part) else part


def _settled(part: _Part | str) -> Any:
    """Without what is another each time that the same is asked."""
    name, value = part if isinstance(part, _Part) else ("", part)
    if isinstance(value, str):
        return redact(_OF_ONE_CALL.sub(_PASSING, value), limit=len(value))
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    passing = _OF_ONE_CALL.fullmatch(str(value)) or round(value, _DECIMALS) != value or _TIME_LEFT.search(name)
    return _PASSING if passing else value


# What is answered.


def _body(body: bytes, known: Known) -> bytes:
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        text = body.decode("latin-1")
        return mask_known(text, known, limit=len(text)).encode("latin-1")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return _masked(text, known).encode("utf-8")
    masked = _mapped(value, lambda part: _without_key(part, known).value)
    # As it came, where there was nothing to mask: a number may have more digits than are read.
    if masked == value and mask_known(text, known, limit=len(text)) == text:
        return body
    # The names of fields are texts as well.
    written = json.dumps(masked)
    return mask_known(written, known, limit=len(written)).encode()


def _said(reply: Reply) -> tuple[int, Mapping[str, str], Any]:
    text = reply.body.decode("utf-8", "replace")
    try:
        return reply.status, reply.headers, _mapped(json.loads(text), _settled)
    except (ValueError, RecursionError):
        return reply.status, reply.headers, text
