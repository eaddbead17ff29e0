"""Clause 10.8: what a source writes into logs while it is asked. Knows what may not stand there."""

import re
from collections.abc import Coroutine, Iterator
from typing import Any, Final

from knowledge_conformance.channels import Search
from knowledge_conformance.check import Check, Inconclusive, Level, Violation, check
from knowledge_conformance.declared import searchable
from knowledge_conformance.exchange import text_of
from knowledge_conformance.listening import WARNINGS, Listener, listening
from knowledge_conformance.plain import copied
from knowledge_conformance.source_subject import LEVEL, SourceExchange, SourceSubject, show_asked, show_refs
from knowledge_conformance.taint import canary
from knowledge_provider.sources import screening

_LONG: Final = 24
"""Code points of a content by which it is known again."""
_CONTENTS_MAX: Final = 16
_WORDS: Final = re.compile(r"\s+")
_PIECE: Final = 40
"""Code points of each piece by which the rest of a content is known again."""
_QUOTES: Final = "\"'`,;()[]{}<>"
_KEY: Final = re.compile(r"[A-Za-z0-9_.+/-]{16,}")
_HEADER: Final = re.compile(r"\b(?:bearer|basic)\s+[A-Za-z0-9._~+/=-]{16,}", re.IGNORECASE)


# Clause 10.8
@check("KP-1024", clause="10.8", level=Level.MUST, needs=("KP-1004",), calls=4, surveyed=True)
async def nothing_of_the_task_is_written(subject: SourceSubject) -> None:
    """While it is asked it writes no query, content, raw URL or credential into logs, warnings or its output.

    Logs are kept for years and read by more people than may see the task. They hold ids, a status, a reason and counts.
    Every logger is listened to at every level: what a client library writes at DEBUG is written as well. Declared
    secrets are searched for, too.
    """
    found = await subject.found()
    search = _Written(_secrets(subject, found), canary("control", subject.settings.seed))
    search.pieces = tuple(piece for text in _contents(found) for piece in _pieces(text))
    with listening(search) as listener:
        listener.control()
        await _ask(subject, found[0], search, listener)
    if search.wrote or search.leaks:
        raise Violation(
            wanted="no query, content, raw URL or credential in what is written",
            saw=search.wrote or f"{search.leaks[0].found}, in {search.leaks[0].channel}",
            where=search.wrote_by or search.leaks[0].call,
            hint="log the source's name, ids, a status, a slug and counts; quieten a client that logs its requests",
        )
    if listener.deaf:
        raise Inconclusive(
            f"what goes to {', '.join(listener.deaf)} could not be heard",
            hint="leave logging, warnings and the file descriptors 1 and 2 of the process to the host",
        )


async def _ask(subject: SourceSubject, known: SourceExchange, search: Search, listener: Listener) -> None:
    async def heard(name: str, call: Coroutine[Any, Any, object]) -> None:
        search.call = name
        await call
        listener.settle()
        subject.observe()

    if subject.member("validate_refs") is not None:
        await heard(f"validate_refs({show_refs(known.refs)}, {LEVEL!r})", subject.validate(known.refs))
    for query in (known.request.query, _query(subject)):
        await heard(show_asked(query, known.refs), subject.attempt(query, known.refs))
    if subject.can_list:
        await heard(f"list_documents({show_refs(known.refs)}, context, 1, 0)", subject.list(known.refs, 1, 0))


def _query(subject: SourceSubject) -> str:
    # No word of a corpus, so that it stands nowhere but where it was put.
    return canary("query", subject.settings.seed)


def _secrets(subject: SourceSubject, found: list[SourceExchange]) -> dict[str, str]:
    contents = {f"content {at}": text[:_LONG] for at, text in enumerate(_contents(found))}
    return {"the query": _query(subject), **searchable(subject.settings.secrets), **contents}


def _contents(found: list[SourceExchange]) -> list[str]:
    texts = (copied(text_of(entry, "content")) or "" for exchange in found for _, entry in exchange.entries)
    return [text for text in dict.fromkeys(texts) if len(text) >= _LONG][:_CONTENTS_MAX]


class _Written(Search):
    """Looks for raw URLs, and the credentials in them, beside what it is told."""

    wrote: str | None = None
    wrote_by: str | None = None
    pieces: tuple[str, ...] = ()

    def hear(self, channel: str, text: str) -> None:
        """Search one text that was written meanwhile."""
        super().hear(channel, text)
        # A warning may name the page that explains it.
        if self.wrote is None and any(piece in text for piece in self.pieces):
            self.wrote, self.wrote_by = f"a part of a content, in {channel}", self.call
        if self.wrote is None and channel != WARNINGS and (found := next(_faults(text), None)):
            self.wrote, self.wrote_by = f"{found}, in {channel}", self.call


def _faults(text: str) -> Iterator[str]:
    if _HEADER.search(text):
        yield "a credential"
    # Links, and keys by the form of their vendor: max_token=512 is none. Word by word, since only the beginning of a
    # text is looked at.
    words = [word.strip(_QUOTES) for word in _WORDS.split(text)]
    yield from (fault for word in words if "://" in word or _KEY.fullmatch(word) if (fault := screening.fault(word)))


def _pieces(text: str) -> Iterator[str]:
    return (text[at : at + _PIECE] for at in range(_LONG, len(text) - _PIECE, _PIECE))


CHECKS: Final[tuple[Check, ...]] = (nothing_of_the_task_is_written,)
