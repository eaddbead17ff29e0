"""The survey: a few ordinary requests whose answers many checks look at, so that a provider is asked once for all.

Knows how to find queries that a strange corpus answers. It judges nothing.
"""

import re
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Final

from knowledge_conformance.exchange import Exchange
from knowledge_conformance.subject import Subject
from knowledge_conformance.watched import OutOfCallsError
from knowledge_provider import RetrievalRequest, limits

QUERIES_WANTED: Final = 3
QUERIES_MAX: Final = 8
"""How many of the queries that the settings promise are asked."""
PROBES: Final = (
    "policy", "how does it work", "release", "help", "guide", "team", "data", "what is this about",
    "政策", "规则", "information",
)  # fmt: skip
"""Asked in turn when the settings name no query, until enough of them are answered."""
SURVEY_CALLS: Final = max(len(PROBES), QUERIES_MAX) + QUERIES_WANTED + 3
"""The most calls that a survey makes."""

_WORDS_MAX: Final = 48
_WORD: Final = re.compile(r"[^\W\d_]{5,}")


class Survey:
    """The survey of one process, made by the first check that asks for it."""

    calls: int = SURVEY_CALLS

    def __init__(self) -> None:
        self._made: tuple[Exchange, ...] | None = None
        self._unasked: deque[RetrievalRequest] = deque()

    @property
    def made(self) -> bool:
        """Whether it was made already, so that asking again costs no call."""
        return self._made is not None

    async def __call__(self, subject: Subject) -> Sequence[Exchange]:
        """The exchanges, made with ``subject`` the first time; raises what ``Subject.retrieve`` raises."""
        if self._made is None:
            before = subject.calls
            self._made = tuple(await _survey(subject))
            subject.shared += subject.calls - before
            # Which check makes it is chance where processes share the checks: what a check looks at, it writes down.
            subject.transcript.clear()
            self._unasked.extend(_others(self._made))
        return self._made

    def rest(self) -> list[RetrievalRequest]:
        """What another survey of the same provider may ask, and the checks after it, where this one was made."""
        made = self._made or ()
        probes = [RetrievalRequest(query=query) for query in PROBES] if answered(made) else []
        return [*probes, *_others(made)]

    def unasked(self, count: int) -> list[RetrievalRequest]:
        """At most ``count`` requests of this corpus that were never asked in this process, and now count as asked.

        A provider that caches behaves well on whatever it was asked before.
        """
        return [self._unasked.popleft() for _ in range(min(count, len(self._unasked)))]


async def _survey(subject: Subject) -> list[Exchange]:
    exchanges: list[Exchange] = []
    try:
        await _ask_queries(subject, exchanges)
        await _ask_words(subject, exchanges)
        await _ask_for_several(subject, exchanges)
        await _ask_other_sizes(subject, exchanges)
    except OutOfCallsError:
        # What was answered so far can still be looked at; with nothing, the budget is the reason, not the queries.
        if not answered(exchanges):
            raise
    return exchanges


async def _ask_queries(subject: Subject, exchanges: list[Exchange]) -> None:
    for query in configured_queries(subject) or PROBES:
        exchanges.append(await subject.retrieve(RetrievalRequest(query=query)))
        if not configured_queries(subject) and len(answered(exchanges)) >= QUERIES_WANTED:
            return


async def _ask_words(subject: Subject, exchanges: list[Exchange]) -> None:
    # A small corpus may answer one probe only: its own words make further queries that it can answer.
    queries = {exchange.request.query for exchange in answered(exchanges)}
    for query in _words_of(exchanges)[: max(0, QUERIES_WANTED - len(queries))]:
        exchanges.append(await subject.retrieve(RetrievalRequest(query=query)))


async def _ask_for_several(subject: Subject, exchanges: list[Exchange]) -> None:
    # Where every query finds one result, what orders, cuts and numbers several of them was not looked at.
    found = answered(exchanges)
    queries = dict.fromkeys(exchange.request.query for exchange in found)
    if len(queries) > 1 and all(exchange.count == 1 for exchange in found):
        query = " ".join([*queries][:QUERIES_WANTED])
        if len(query) <= limits.QUERY_MAX:
            exchanges.append(await subject.retrieve(RetrievalRequest(query=query)))


async def _ask_other_sizes(subject: Subject, exchanges: list[Exchange]) -> None:
    # Of one that finds a single result, the answer to top_k = 1 is the same whether top_k is kept or not.
    fullest = max(answered(exchanges), key=lambda exchange: exchange.count, default=None)
    if fullest is not None:
        for top_k in (limits.TOP_K_MAX, limits.TOP_K_MIN):
            exchanges.append(await subject.retrieve(RetrievalRequest(query=fullest.request.query, top_k=top_k)))


def configured_queries(subject: Subject) -> tuple[str, ...]:
    """The first eight queries that the settings promise an answer to."""
    settings = subject.settings
    owners = tuple(owner.query for owner in settings.owners.values())[:1]
    return tuple(dict.fromkeys((*settings.queries, *owners)))[:QUERIES_MAX]


def answered(exchanges: Sequence[Exchange]) -> list[Exchange]:
    """The exchanges that gave at least one item."""
    return [exchange for exchange in exchanges if exchange.count]


def _words_of(exchanges: Sequence[Exchange]) -> list[str]:
    contents = (entry.get("content") for exchange in exchanges for _, entry in exchange.entries)
    words = (word for content in contents if type(content) is str for word in _WORD.findall(content[:2000]))
    asked = {exchange.request.query for exchange in exchanges}
    return [word for word in dict.fromkeys(words) if word not in asked]


def _others(exchanges: Sequence[Exchange]) -> Iterator[RetrievalRequest]:
    """Requests beside those of a survey: words of the corpus that were not asked, then other sizes of known queries."""
    # As many as there may be: where results of equal score swap at the cut, a short answer is another each time.
    for word in _words_of(exchanges)[:_WORDS_MAX]:
        yield RetrievalRequest(query=word, top_k=limits.TOP_K_MAX)
    queries = dict.fromkeys(exchange.request.query for exchange in answered(exchanges))
    asked = {(exchange.request.query, exchange.request.top_k) for exchange in exchanges}
    for top_k in range(limits.TOP_K_MIN, limits.TOP_K_MAX + 1):
        yield from (RetrievalRequest(query=query, top_k=top_k) for query in queries if (query, top_k) not in asked)
