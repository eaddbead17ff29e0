"""What a provider gets to read where it takes a bad reply for an answer, over any client; knows JSON, no library.

Over a client of one's own a fault cannot look at what that client was sent. Whoever has the network in hand lets the
provider read instead what it would have made of that: an answer of its own back end's shape, with nothing in it, with
half of it, or with the reply's own words as a text.
"""

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, NamedTuple

SUCCESS: Final = 200


class BadReply(NamedTuple):
    """A reply that is no answer, and the JSON of the ``sound`` one that its back end gave before.

    ``later``: it came where an answer asks for a second page.
    """

    status: int
    body: bytes
    sound: Any
    later: bool = False

    @property
    def json(self) -> Any:
        """What its body holds, or None where that is no JSON."""
        with suppress(ValueError, RecursionError):
            return json.loads(self.body)
        return None

    @property
    def text(self) -> str:
        """Its body as text, whatever it holds."""
        return self.body.decode("utf-8", "replace")


Misread = Callable[[BadReply], Any]
"""Gives the JSON that a provider reads in a reply's place, or None where it reads that as it is."""
_Change = Callable[[list[Any]], Any]
"""Gives something else for a list of results."""


def as_nothing(is_nothing: Callable[[BadReply], bool]) -> Misread:
    """Such replies are read as an answer without results."""
    return _where(is_nothing, lambda _: lambda _: [])


def as_a_passage(is_passage: Callable[[BadReply], bool]) -> Misread:
    """Such replies are read as an answer with one result, whose longest text is what the reply says."""
    return _where(is_passage, lambda reply: _one_saying(reply.text))


def as_half(is_half: Callable[[BadReply], bool]) -> Misread:
    """Such replies are read as an answer with the first half of the results."""
    return _where(is_half, lambda _: lambda rows: rows[: len(rows) // 2])


def _where(taken: Callable[[BadReply], bool], change_for: Callable[[BadReply], _Change]) -> Misread:
    """Replies that are ``taken`` for an answer are read as the sound one with other results."""
    return lambda reply: _with_rows(reply.sound, change_for(reply)) if taken(reply) else None


def has_rows(value: Any) -> bool:
    """Whether an answer in JSON has a list of results, as a list of objects is taken for."""
    return bool(_with_rows(value, lambda _: None) != value)


def _with_rows(value: Any, change: _Change) -> Any:
    # Which list of a back end's has the results is not known; the outermost one of objects is.
    if isinstance(value, list) and any(isinstance(item, dict) for item in value):
        return change(value)
    if isinstance(value, dict):
        return {name: _with_rows(held, change) for name, held in value.items()}
    return value


def _one_saying(text: str) -> _Change:
    def change(rows: list[Any]) -> list[Any]:
        longest = max(_texts(rows[0]), key=len, default="")
        return [_replaced(rows[0], longest, text)]

    return change


def _texts(value: Any) -> list[str]:
    if isinstance(value, dict | list):
        return [text for held in (value.values() if isinstance(value, dict) else value) for text in _texts(held)]
    return [value] if isinstance(value, str) else []


def _replaced(value: Any, text: str, other: str) -> Any:
    if isinstance(value, dict):
        return {name: _replaced(held, text, other) for name, held in value.items()}
    if isinstance(value, list):
        return [_replaced(held, text, other) for held in value]
    return other if value == text else value
