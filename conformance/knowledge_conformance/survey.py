"""The survey: a few ordinary requests whose answers many checks look at, so that a provider is asked once for all.

Knows how to find queries that a strange corpus answers. It judges nothing.
"""

import re
from collections.abc import Sequence
from typing import Final

from knowledge_conformance.exchange import Exchange
from knowledge_conformance.subject import OutOfCallsError, Subject
from knowledge_provider import RetrievalRequest, limits

QUERIES_WANTED: Final = 3
PROBES: Final = (
    "policy", "how does it work", "release", "help", "guide", "team", "data", "what is this about",
    "政策", "规则", "information",
)  # fmt: skip
"""Asked in turn when the settings name no query, until enough of them are answered."""
SURVEY_CALLS: Final = len(PROBES) + QUERIES_WANTED + 2
"""The most calls that a survey makes."""

_WORD: Final = re.compile(r"[^\W\d_]{5,}")


class Survey:
    """The survey of one process, made by the first check that asks for it."""

    def __init__(self) -> None:
        self._made: tuple[Exchange, ...] | None = None

    @property
    def made(self) -> bool:
        """Whether it was made already, so that asking again costs no call."""
        return self._made is not None

    async def __call__(self, subject: Subject) -> Sequence[Exchange]:
        """The exchanges, made with ``subject`` the first time; raises what ``Subject.retrieve`` raises."""
        if self._made is None:
            self._made = tuple(await _survey(subject))
        return self._made


async def _survey(subject: Subject) -> list[Exchange]:
    exchanges: list[Exchange] = []
    try:
        await _ask_queries(subject, exchanges)
        await _ask_other_sizes(subject, exchanges)
    except OutOfCallsError:
        # What was answered so far can still be looked at; each check says itself when that is too little.
        return exchanges
    return exchanges


async def _ask_queries(subject: Subject, exchanges: list[Exchange]) -> None:
    for query in configured_queries(subject) or PROBES:
        exchanges.append(await subject.retrieve(RetrievalRequest(query=query)))
        if not configured_queries(subject) and len(answered(exchanges)) >= QUERIES_WANTED:
            return
    # A small corpus may answer one probe only: its own words make further queries that it can answer.
    for query in _words_of(exchanges)[: QUERIES_WANTED - len(answered(exchanges))]:
        exchanges.append(await subject.retrieve(RetrievalRequest(query=query)))


async def _ask_other_sizes(subject: Subject, exchanges: list[Exchange]) -> None:
    for exchange in answered(exchanges)[:1]:
        for top_k in (limits.TOP_K_MAX, limits.TOP_K_MIN):
            exchanges.append(await subject.retrieve(RetrievalRequest(query=exchange.request.query, top_k=top_k)))


def configured_queries(subject: Subject) -> tuple[str, ...]:
    """The queries that the settings promise an answer to, at most eight."""
    settings = subject.settings
    owners = tuple(owner.query for owner in settings.owners.values())[:1]
    return tuple(dict.fromkeys((*settings.queries, *owners)))[: len(PROBES)]


def answered(exchanges: Sequence[Exchange]) -> list[Exchange]:
    """The exchanges that gave at least one item."""
    return [exchange for exchange in exchanges if exchange.count]


def _words_of(exchanges: Sequence[Exchange]) -> list[str]:
    contents = (entry.get("content") for exchange in exchanges for _, entry in exchange.entries)
    words = (word for content in contents if type(content) is str for word in _WORD.findall(content[:2000]))
    asked = {exchange.request.query for exchange in exchanges}
    return [word for word in dict.fromkeys(words) if word not in asked]
