"""What one answer of a provider took: its calls, what came back, and which credentials went with them.

Pure: knows calls and replies as values, no client library, provider or outage.
"""

import base64
import binascii
import contextlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qsl

from knowledge_conformance.network import Call, Reply
from knowledge_conformance.taint import unsearchable

_SECRET_NAME: Final = re.compile(r"authorization|cookie|key|pass|secret|signature|token|\bsig\b", re.IGNORECASE)


class Where(NamedTuple):
    """Which of a provider's calls meet an outage: all, those of one ``step``, or only the ``later`` pages."""

    step: tuple[str, str] | None = None
    later: bool = False


@dataclass(frozen=True, slots=True)
class Recording:
    """What one answer of the provider took: its calls, in order, with what the back end sent.

    ``results`` is how many the answer had.
    """

    calls: tuple[Call, ...]
    results: int = 0

    @property
    def answer(self) -> Reply | None:
        """The last reply with something in it, which the provider's answer was made of."""
        replies = [call.heard() for call in self.calls]
        return next((reply for reply in reversed(replies) if reply is not None and reply.body), None)

    @property
    def last_step(self) -> tuple[str, str] | None:
        """The address of the last call, where one before it went elsewhere; else None, which stands for all."""
        steps = [call.step for call in self.calls]
        return steps[-1] if len(set(steps)) > 1 else None

    @property
    def pages(self) -> bool:
        """Whether a call asked on where one before it had an answer."""
        return any(call.asks_on(self.calls[:at]) for at, call in enumerate(self.calls))

    @property
    def places(self) -> tuple[Where, ...]:
        """Where outages begin, in turn: at every call, at the second page, and at the last step."""
        pages = (Where(later=True),) if self.pages else ()
        return (Where(), *pages, *((Where(self.last_step),) if self.last_step is not None else ()))

    @property
    def json(self) -> Any:
        """The JSON in ``answer``, or None where it is none."""
        with contextlib.suppress(ValueError, RecursionError):
            return json.loads(self.answer.body) if self.answer is not None else None
        return None

    @property
    def credentials(self) -> dict[str, str]:
        """What went with the calls and names itself a credential, by its name: of headers and of queries."""
        return {name: value for call in self.calls for name, value in credentials_of(call).items()}


def credentials_of(call: Call) -> dict[str, str]:
    """What went with one call and names itself a credential, by its name: of headers and of the query."""
    return {name: value for name, text in _named(call) for value in _secrets(text) if not unsearchable(value)}


def _named(call: Call) -> Iterator[tuple[str, str]]:
    for name, text in (*call.headers.items(), *parse_qsl(call.url.partition("?")[2].partition("#")[0])):
        if _SECRET_NAME.search(name):
            yield name, text


def _secrets(text: str) -> Iterator[str]:
    scheme, _, value = text.partition(" ")
    if scheme.lower() == "basic":
        with contextlib.suppress(binascii.Error, UnicodeDecodeError):
            value = base64.b64decode(value).decode().partition(":")[2]
    yield value.strip() or scheme
