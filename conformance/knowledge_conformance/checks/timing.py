"""Clauses 7.3 and 7.5: what a cancelled call starts, and calls at once. Judges no answer's content."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from knowledge_conformance.audit import watch_io
from knowledge_conformance.check import Blocked, Check, Inapplicable, Inconclusive, Level, Phase, Violation, check
from knowledge_conformance.checks.requests import MADE_UP_QUERY
from knowledge_conformance.exchange import Exchange, as_dict
from knowledge_conformance.plain import Plain, plain
from knowledge_conformance.settings import Settings
from knowledge_conformance.subject import Subject
from knowledge_conformance.survey import answered
from knowledge_provider import CancelSignal, RetrievalRequest, limits

_DISTINCT_MAX: Final = 8
_KNOWN_MAX: Final = 3
_OTHER_SIZE: Final = limits.TOP_K_MAX - 1


# Clause 7.3
@check("KP-703", clause="7.3", level=Level.SHOULD, needs=("KP-301",), calls=2, surveyed=True, phase=Phase.INTERLEAVINGS)
async def a_cancelled_call_starts_nothing(subject: Subject) -> None:
    """With a signal that is cancelled already, retrieve starts no work.

    The user has gone on: work that nobody waits for costs money and delays the next turn.
    """
    (request,) = await subject.unasked(1)
    signal = CancelSignal()
    signal.cancel("cancelled before the call")
    with watch_io() as opened:
        exchange = await subject.attempt(request, subject.context(signal=signal))
    if exchange.error is None or opened:
        raise Violation(
            wanted="no work: the call raises at once",
            saw=exchange.size if exchange.error is None else f"the events {', '.join(sorted(set(opened)))}",
            hint="begin retrieve with context.signal.raise_if_cancelled()",
        )
    # A provider that refuses this request always says nothing about its signal; after it, or a cache would answer.
    if (await subject.attempt(request.model_copy(deep=True))).error is not None:
        raise Inconclusive(
            "the same request failed with a signal that is not cancelled, too",
            hint="see what KP-302 says of requests that fail",
        )
    subject.observe()


def _concurrent_calls(settings: Settings) -> int:
    return 2 * _DISTINCT_MAX + settings.concurrency


# Clause 7.5
@check(
    "KP-705",
    clause="7.5",
    level=Level.MUST,
    needs=("KP-501",),
    calls=_concurrent_calls,
    surveyed=True,
    phase=Phase.INTERLEAVINGS,
)
async def answers_are_not_mixed_up(subject: Subject) -> None:
    """Concurrent calls never get each other's answers.

    State that a call keeps on the provider belongs to the last caller: one user hears what another asked.
    """
    rounds = await _rounds(subject)
    known = _known(await subject.survey())
    for _, exchange in rounds.together:
        # Against what was answered before anything met: a cache keeps a mixed-up answer, and repeats it.
        if _is_anothers(exchange, known):
            raise _mixed_up(exchange)
    tell, steady = rounds.telling()
    for at, exchange in rounds.together:
        answer, alone = tell(exchange), tell(rounds.alone[at])
        # Nothing is not told from a call that was turned away: that is KP-706's matter. Too many are KP-304's, when
        # the same request gets them alone, too.
        grown = answer != alone and exchange.count > exchange.request.top_k
        if at in steady and (grown or answer in {tell(rounds.alone[other]) for other in steady} - {alone, ()}):
            raise _mixed_up(exchange)
        subject.observe()


def _mixed_up(exchange: Exchange) -> Violation:
    return Violation(
        wanted="each call to get its own answer",
        saw="the answer to another of the calls that ran at the same time",
        hint="keep a call's state in local variables, not on the provider; one client call for each request",
        where=str(exchange),
    )


@dataclass(frozen=True, slots=True)
class _Known:
    """The ids that a query found when it was asked alone; ``whole``: the answer had room for more."""

    ids: set[Plain]
    whole: bool

    def is_foreign(self, found: set[Plain]) -> bool:
        """Whether such ids cannot be this query's: of a whole answer none may be new, of a cut one some must be."""
        return not found <= self.ids if self.whole else not found & self.ids


def _known(survey: Sequence[Exchange]) -> dict[str, _Known]:
    known: dict[str, _Known] = {}
    for query in dict.fromkeys(each.request.query for each in answered(survey)):
        asked = [each for each in survey if each.request.query == query]
        largest = max(asked, key=lambda each: each.request.top_k)
        if any(each.count and not {*_ids(each)} & {*_ids(largest)} for each in asked):
            return {}  # ids that are new each time are nobody's
        # As many as a smaller request was given may be that one's answer, kept without its top_k.
        before = {each.request.top_k for each in asked[: asked.index(largest) + 1]}
        whole = largest.count < largest.request.top_k and largest.count not in before
        known[query] = _Known({*_ids(largest)}, whole)
    return known


def _is_anothers(exchange: Exchange, known: Mapping[str, _Known]) -> bool:
    """Whether an answer cannot be its query's, and has something of what another query found."""
    query, found = exchange.request.query, {*_ids(exchange)}
    if query not in known or exchange.error is not None or not found:
        return False
    return known[query].is_foreign(found) and any(found & each.ids for name, each in known.items() if name != query)


# Clause 7.5
@check(
    "KP-706",
    clause="7.5",
    level=Level.SHOULD,
    needs=("KP-705",),
    calls=_concurrent_calls,
    surveyed=True,
    phase=Phase.INTERLEAVINGS,
)
async def together_is_as_alone(subject: Subject) -> None:
    """Concurrent calls give what the same calls give one after another.

    A provider that fails or thins out its answers under load does so when most people talk to it.
    """
    rounds = await _rounds(subject)
    try:
        tell, steady = rounds.telling()
    except Inconclusive as error:
        raise Blocked(f"3.6 has to hold first: {error}") from None
    for at, exchange in rounds.together:
        if at in steady and tell(exchange) != tell(rounds.alone[at]):
            raise Violation(
                wanted="the answer that the same request gets alone",
                saw=_came(exchange),
                hint=_STATE if exchange.error is None else _CROWD,
                where=str(exchange),
            )
        subject.observe()


_CROWD: Final = "bound the number of calls inside the provider and let the others wait"
_STATE: Final = f"keep nothing of one call for the next, build each answer in local variables; {_CROWD}"


def _came(exchange: Exchange) -> str:
    if exchange.error is None:
        return "another one"
    return exchange.came


@dataclass(frozen=True, slots=True)
class _Rounds:
    """The same requests at once, each with its place, and then twice one after another."""

    together: Sequence[tuple[int, Exchange]]
    alone: Sequence[Exchange]
    again: Sequence[Exchange]

    def telling(self) -> tuple[Callable[[Exchange], Plain], set[int]]:
        """By what answers can be told apart, and the places of the requests whose answer alone held still.

        That is what they say, or their ids where what they say changes each time. Raises ``Inapplicable`` where all
        are equal, and ``Inconclusive`` where hardly any holds still.
        """
        tell, steady = max(((tell, self._steady(tell)) for tell in (_said, _ids)), key=lambda each: len(each[1]))
        if len({tell(exchange) for exchange in (*self.alone, *self.again)}) < 2:
            raise Inapplicable("every request gets the same answer, so none can be taken for another")
        if len({tell(self.alone[at]) for at in steady}) < 2:
            raise Inconclusive(
                "the same request gave other results when it was asked again, so no answer can be told from another",
                hint="make the answers of a test the same each time (clause 3.6), as with a fixed seed or corpus",
            )
        return tell, steady

    def _steady(self, tell: Callable[[Exchange], Plain]) -> set[int]:
        return {at for at, exchange in enumerate(self.alone) if tell(exchange) == tell(self.again[at])}


async def _rounds(subject: Subject) -> _Rounds:
    known = [exchange.request.query for exchange in answered(await subject.survey())]
    # A size that the survey did not ask, and as large as may be: results of equal score may swap at the cut.
    sized = [RetrievalRequest(query=query, top_k=_OTHER_SIZE) for query in list(dict.fromkeys(known))[:_KNOWN_MAX]]
    fresh = await subject.unasked(_DISTINCT_MAX - 1 - len(sized))
    # Nonsense first: where the last request wins, its empty answer would look like one that was turned away.
    requests = [RetrievalRequest(query=MADE_UP_QUERY), *fresh, *sized]
    places = [at % len(requests) for at in range(subject.settings.concurrency)]
    # Copies: whether a provider changes a request is KP-308's matter. At once before one after another: afterwards a
    # cache would answer, and no two calls would meet.
    together = await asyncio.gather(*(subject.attempt(requests[at].model_copy(deep=True)) for at in places))
    alone = [await subject.attempt(request.model_copy(deep=True)) for request in requests]
    again = [await subject.attempt(request.model_copy(deep=True)) for request in requests]
    return _Rounds(list(zip(places, together, strict=True)), alone, again)


def _said(exchange: Exchange) -> Plain:
    return _picture(exchange, "id", "content")


def _ids(exchange: Exchange) -> tuple[Plain, ...]:
    return _picture(exchange, "id")


def _picture(exchange: Exchange, *names: str) -> tuple[Plain, ...]:
    """Which results came, whatever their order: results of equal score may swap (clause 3.6)."""
    if exchange.error is not None:
        return ("raised", type(exchange.error).__qualname__)
    fields = [as_dict(item) or {} for item in exchange.items]
    return tuple(sorted((plain(tuple(entry.get(name) for name in names)) for entry in fields), key=repr))


CHECKS: Final[tuple[Check, ...]] = (
    a_cancelled_call_starts_nothing,
    answers_are_not_mixed_up,
    together_is_as_alone,
)
