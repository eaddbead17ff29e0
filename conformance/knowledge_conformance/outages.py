"""The ways in which a back end fails, as values: what each call meets, in words, and what it should become.

Pure: knows replies and what was recorded of a sound one, no client library, provider or check.
"""

import json
import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from knowledge_conformance.network import Break, Fate, Reply
from knowledge_conformance.recording import Recording

RETRY_AFTER: Final = 7
"""Seconds of the header ``Retry-After``."""

_JSON: Final = {"content-type": "application/json"}
_HTML: Final = {"content-type": "text/html; charset=utf-8"}
_VALUES_MAX: Final = 200
_OK: Final = 200


@dataclass(frozen=True, slots=True)
class Outage:
    """One way to fail: ``said`` goes on a sentence that begins with "with …", ``fate`` is what each call meets.

    ``code`` is the contract's code for it, where there is one that says more than "failed". ``partial``: it has a part
    of a sound answer, so that whatever is read out of it is half an answer.
    """

    said: str
    fate: Fate
    code: str | None = None
    partial: bool = False

    @property
    def calls_itself_sound(self) -> bool:
        """Whether it is a reply with the status of an answer."""
        return isinstance(self.fate, Reply) and self.fate.status == _OK


def of_later_pages(outage: Outage) -> Outage:
    """The same for what comes after a first page: whatever is found then is half an answer."""
    return replace(outage, said=f"{outage.said}, from the second page on", partial=True)


def connection() -> list[Outage]:
    """What goes wrong before, or instead of, an answer."""
    return [
        Outage("connections refused", Break.REFUSED, "knowledge_unavailable"),
        Outage("the host's name unknown", Break.NO_SUCH_NAME, "knowledge_unavailable"),
        Outage("connections not made in time", Break.LATE),
        Outage("connections reset", Break.RESET, "knowledge_unavailable"),
    ]


def broken_off(recording: Recording) -> Outage:
    """The recorded answer, whose connection breaks in the middle."""
    answer = recording.answer or Reply(headers=_JSON, body=_error_json("x"))
    return Outage("the connection reset in the middle of an answer", _like(answer, answer.body, "broken"), partial=True)


def silence(recording: Recording) -> list[Outage]:
    """An answer that does not come, and one that never ends."""
    answer = recording.answer or Reply(headers=_JSON, body=_error_json("x"))
    # Long enough that nobody sees its end: a short answer would come in time.
    dripping = _like(answer, answer.body + b" " * 10_000, "slow")
    return [
        Outage("a back end that accepts the call and says nothing", Break.SILENT),
        Outage("an answer that comes a byte at a time", dripping),
    ]


def statuses(text: str) -> list[Outage]:
    """Replies whose status says that they are none; ``text`` stands in their bodies.

    Last the one that says when to ask again: a provider that keeps to it asks no more for so long.
    """
    return [
        _status(401, text, "knowledge_unauthorized"),
        _status(403, text, "knowledge_unauthorized", html=True),
        _status(404, text),
        _status(408, text),
        _status(429, text, "knowledge_rate_limited", html=True),
        _status(500, text, "knowledge_unavailable"),
        _status(502, text, "knowledge_unavailable", html=True),
        unavailable(text),
        _status(429, text, "knowledge_rate_limited", retry_after=True),
    ]


def unavailable(text: str) -> Outage:
    """The reply of a back end that is down for now."""
    return _status(503, text, "knowledge_unavailable", html=True)


def _status(
    status: int, text: str, code: str | None = None, *, html: bool = False, retry_after: bool = False
) -> Outage:
    waiting = {"retry-after": str(RETRY_AFTER)} if retry_after else {}
    body = _page(text) if html else _error_json(text, status)
    said = f"HTTP status {status}" + (f" and Retry-After: {RETRY_AFTER}" if retry_after else "")
    # A header with it, too: services name a request, or the account, in one.
    headers = {**(_HTML if html else _JSON), **waiting, "x-error": text}
    return Outage(f"{said} for an answer", Reply(status, headers, body), code)


def bodies(recording: Recording, text: str) -> list[Outage]:
    """Replies with status 200 that are no answer; ``text`` stands in those that have words of their own."""
    answer = recording.answer or Reply(headers=_JSON)
    shaped = recording.json if recording.json is not None else {"results": []}
    return [
        Outage("an empty body", _like(answer, b"")),
        Outage("a page of HTML with status 200", Reply(200, _HTML, _page(text)), "knowledge_invalid_response"),
        Outage("the first half of an answer", _like(answer, answer.body[: len(answer.body) // 2]), partial=True),
        Outage("an error as JSON with status 200", Reply(200, _JSON, _error_json(text, 500))),
        Outage("a text where the answer has a list", _like(answer, _written(_without_lists(shaped, text)))),
    ]


def _like(answer: Reply, body: bytes, way: Any = "whole") -> Reply:
    return Reply(200, answer.headers, body, way)


def _page(text: str) -> bytes:
    return f"<!doctype html><title>Error</title><h1>Something went wrong</h1><p>{text}</p>".encode()


def _error_json(text: str, status: int = 500) -> bytes:
    return json.dumps({"error": {"code": status, "message": text}}).encode()


def _without_lists(value: Any, text: str) -> Any:
    if isinstance(value, list):
        return text
    return {name: _without_lists(held, text) for name, held in value.items()} if isinstance(value, dict) else value


# Damaged copies


@dataclass(frozen=True, slots=True)
class Damage:
    """A change of a JSON value's parts: ``at`` says which, ``change`` makes another one of it."""

    said: str
    at: Callable[[Any], bool]
    change: Callable[[Any], Any]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


_DAMAGES: Final = (
    Damage("null for each text", _is_text, lambda _: None),
    Damage("a number for each text", _is_text, lambda _: 17),
    Damage("a text for each number", _is_number, str),
    Damage("NaN for each number", _is_number, lambda _: float("nan")),
    Damage("half a character in each text", _is_text, lambda text: f"{text}\ud800"),
    Damage("a list for each text", _is_text, lambda text: [text]),
    Damage("each list twice over", _is_list, lambda items: items + items),
    Damage("null for each item of a list", _is_list, lambda items: [None for _ in items]),
)


@dataclass(frozen=True, slots=True)
class Damaged:
    """A damaged copy of the recording as an outage.

    ``whole``: it is damaged everywhere, and the answer had results, so that to find nothing is no answer.
    """

    outage: Outage
    whole: bool


def damaged(recording: Recording, *, seed: int, single: int) -> list[Damaged]:
    """Copies of the recorded JSON with one damage everywhere, then ``single`` with one in one place; seeded."""
    answer, value = recording.answer, recording.json
    if answer is None or not isinstance(value, dict | list):
        return []
    found = recording.results > 0
    everywhere = [_copy(answer, each.said, _changed(value, each), whole=found) for each in _DAMAGES]
    return [*everywhere, *_single(answer, value, random.Random(seed), single)]  # noqa: S311 - no secret is drawn


def _single(answer: Reply, value: Any, chance: random.Random, count: int) -> Iterator[Damaged]:
    for _ in range(count):
        each = chance.choice(_DAMAGES)
        places = [path for path, part in _parts(value) if path and each.at(part)][:_VALUES_MAX]
        if places:
            place = chance.choice(places)
            said = f"{each.said.replace('each', 'the')} at {'.'.join(map(str, place))}"
            yield _copy(answer, said, _changed(value, each, place), whole=False)


def _copy(answer: Reply, said: str, value: Any, *, whole: bool) -> Damaged:
    return Damaged(Outage(f"{said} in a copy of a sound answer", _like(answer, _written(value))), whole)


def _written(value: Any) -> bytes:
    return json.dumps(value).encode()


def _parts(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    yield path, value
    for name, held in _entries(value):
        yield from _parts(held, (*path, name))


def _entries(value: Any) -> Iterable[tuple[Any, Any]]:
    if isinstance(value, dict):
        return value.items()
    return enumerate(value) if isinstance(value, list) else ()


def _changed(value: Any, damage: Damage, place: tuple[Any, ...] | None = None, path: tuple[Any, ...] = ()) -> Any:
    """A copy with the damage at ``place``, or wherever it fits."""
    inner = {name: _changed(held, damage, place, (*path, name)) for name, held in _entries(value)}
    copy = inner if isinstance(value, dict) else list(inner.values()) if isinstance(value, list) else value
    wanted = damage.at(value) if place is None else path == place
    return damage.change(copy) if wanted and path else copy


def planted(recording: Recording, credentials: Mapping[str, str], *, every: bool = False) -> list[Outage]:
    """Each kind of failure once; its texts repeat the credentials that the back end was given, as of one it refuses.

    ``every``: also those that most clients tell as another of them.
    """
    text = "; ".join(f"invalid {name}: {value}" for name, value in credentials.items())
    refused, unknown, late, reset = connection()
    unauthorized, forbidden, absent, slow, limited, broken, gateway, down, limited_for = statuses(text)
    empty, page, half, error, shaped = bodies(recording, text)
    silent, dripping = silence(recording)
    copies = [copy.outage for copy in damaged(recording, seed=0, single=0)[:1]]
    kinds = [refused, unauthorized, down, reset, late, forbidden, absent, broken, gateway, page, error]
    alike = [unknown, broken_off(recording), slow, limited, empty, half, shaped, dripping]
    return [*kinds, *copies, silent, *(alike if every else ()), limited_for]
