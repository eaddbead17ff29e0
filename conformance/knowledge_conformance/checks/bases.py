"""Clause 3.4: knowledge bases restrict an answer. Knows the ids that the settings name; judges no answer's quality."""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from knowledge_conformance.check import (
    Check,
    Facet,
    Inapplicable,
    Inconclusive,
    Level,
    Phase,
    Violation,
    calls_where,
    check,
)
from knowledge_conformance.checks.requests import is_decided, require_decided
from knowledge_conformance.exchange import Exchange
from knowledge_conformance.ownership import ids_of
from knowledge_conformance.render import show
from knowledge_conformance.settings import FilterExpectation, Settings
from knowledge_conformance.subject import Subject
from knowledge_conformance.survey import QUERIES_MAX
from knowledge_provider import RetrievalRequest, limits
from knowledge_provider.text import is_blank

BASES_MAX: Final = 4
"""How many of the bases that the settings name are asked."""
_FILTERS_MAX: Final = 2
_ORDERS: Final = 3
_UNKNOWN: Final = "conformance-kit-no-such-base"
_NOT_BASES: Final = ((_UNKNOWN,), ("*",), ("%",), ("' OR '1'='1",), (_UNKNOWN, f"{_UNKNOWN}-either", f"{_UNKNOWN}-too"))
_SET: Final = '[bases] with two of them and ids that each holds, as engineering = ["release-handbook#approvals"]'
_NO_FILTERS: Final[Mapping[str, Any]] = MappingProxyType({})
_RESTRICT: Final = (
    "select by knowledge_base_ids in the back end's own query, and keep them in the key of every cache; "
    "an empty selection is an empty answer"
)


class _Base(NamedTuple):
    """A base of the settings: ``held`` ids it holds, ``others`` only another of them does."""

    name: str
    held: frozenset[str]
    others: frozenset[str]


def _bases(settings: Settings) -> tuple[_Base, ...]:
    if not settings.bases:
        raise Inapplicable(f"the settings name no knowledge bases: {_SET}")
    named = {name: frozenset(ids) for name, ids in [*settings.bases.items()][:BASES_MAX]}
    everything = frozenset().union(*named.values())
    return tuple(_Base(name, held, everything - held) for name, held in named.items())


async def _queries(subject: Subject) -> list[str]:
    """Queries that are answered without bases: the control of all that follows."""
    return list(dict.fromkeys(exchange.request.query for exchange in await subject.found()))[:QUERIES_MAX]


async def _ask(subject: Subject, query: str, *bases: str, filters: Mapping[str, Any] = _NO_FILTERS) -> Exchange:
    request = RetrievalRequest(query=query, top_k=limits.TOP_K_MAX, knowledge_base_ids=bases, filters=dict(filters))
    return await subject.attempt(request)


async def _asked(subject: Subject, base: _Base, query: str) -> Exchange:
    """A known base's answer; raises ``Violation`` for an exception, and for what only another base holds."""
    exchange = await _ask(subject, query, base.name)
    if exchange.error is not None:
        raise Violation(
            wanted="an answer from a knowledge base that the settings name",
            saw=exchange.came,
            hint="correct the base's id in [bases], or let the provider look it up as the settings spell it",
        )
    _refuse_others(exchange, base.others, f"only what {show(base.name)} holds")
    return exchange


def _refuse_others(exchange: Exchange, others: frozenset[str], wanted: str) -> None:
    found = [name for name in ids_of(exchange) if name in others]
    if found:
        raise Violation(
            wanted=wanted,
            saw=f"{show(found[0])}, which the settings place in another base",
            hint=f"{_RESTRICT}; where both hold it, name it under both",
            where=str(exchange),
        )


def _calls(settings: Settings) -> int:
    bases = min(len(settings.bases), BASES_MAX)
    return bases and bases * (QUERIES_MAX + bases - 1) + _ORDERS


# Clause 3.4
@check("KP-309", clause="3.4", level=Level.MUST, facet=Facet.BASES, needs=("KP-301",), calls=_calls, surveyed=True)
async def bases_restrict_the_answer(subject: Subject) -> None:
    """An answer for a knowledge base holds what is in that base, and nothing of another.

    A person who may search one base is shown another's documents otherwise. Each base that the settings name is asked a
    query that finds something in it, and each other one's: what those find is what it has to keep out. Of one base
    alone nobody knows that. Two of them are asked together, too, whichever is named first: one that is left out looks
    like one that holds nothing.
    """
    bases, queries = _bases(subject.settings), await _queries(subject)
    finding = {base.name: await _finding(subject, base, queries) for base in bases}
    for base in bases:
        for other, found in finding.items():
            if other != base.name:
                await _asked(subject, base, found.request.query)
                subject.observe(not base.others.isdisjoint(ids_of(found)))
    if len(bases) > 1:
        one, two, *_ = finding
        await _refuse_order(subject, finding[one].request.query, one, two)
    if not subject.observations:
        raise Inconclusive(
            "no base found what the settings place in another one alone, so there was nothing to keep out",
            hint=f"name {_SET}; one base alone shows no more than that it is answered",
        )


async def _refuse_order(subject: Subject, query: str, one: str, two: str) -> None:
    """Refuse two bases of which only the first or the last that is named is asked: the order means nothing."""
    first = await _ask(subject, query, one, two)
    second = await _ask(subject, query, two, one)
    # Of an answer that was cut nothing can be said, nor of what was refused.
    if any(each.error is not None or each.count >= each.request.top_k for each in (first, second)):
        return
    found = {*ids_of(first)}
    differing = found ^ {*ids_of(second)}
    # A provider that gives something else each time is what KP-314 is about.
    if differing and {*ids_of(await _ask(subject, query, one, two))} == found:
        with_it = first if min(differing) in found else second
        raise Violation(
            wanted="what both knowledge bases hold, whichever of them is named first",
            saw=f"{show(min(differing))} where {show(with_it.request.knowledge_base_ids[0])} is named first, and "
            "not the other way round",
            hint="ask each base that the request names, and take the results together before they are cut",
            where=str(second if with_it is first else first),
        )


async def _finding(subject: Subject, base: _Base, queries: Sequence[str]) -> Exchange:
    """The answer to the first of the queries that finds what the settings place in a base; raises ``Inconclusive``."""
    for query in queries:
        exchange = await _asked(subject, base, query)
        found = {*ids_of(exchange)}
        if found & base.held or (found and not base.held):
            return exchange
    raise Inconclusive(
        f"nothing that the settings place in {show(base.name)} came to any of {len(queries)} queries",
        hint="name queries that find documents of each base (queries = [...]), and what they find in [bases]",
    )


# Clause 3.4
@check(
    "KP-310",
    clause="3.4",
    level=Level.MUST,
    facet=Facet.BASES,
    needs=("KP-309",),
    calls=calls_where("bases", QUERIES_MAX + len(_NOT_BASES) + 3),
    surveyed=True,
    phase=Phase.BOUNDARIES,
)
async def an_unknown_base_holds_nothing(subject: Subject) -> None:
    """An unknown base id gives nothing or an error, never content.

    An id that is misspelt, or that was taken away, must not open everything else, nor must several of them at once. The
    same query is answered for a known base in the same run, before and after. Of errors only knowledge_base_unknown
    counts: any other may have another reason.
    """
    base, query = await _answering(subject, _bases(subject.settings))
    near = (f"{base.name}' OR '1'='1"[: limits.BASE_ID_MAX], base.name[:-1])
    tried: list[Exchange] = []
    nearly = [(each,) for each in near if not (is_blank(each) or each in subject.settings.bases)]
    for names in (*_NOT_BASES, *nearly):
        exchange = await _ask(subject, query, *names)
        tried.append(exchange)
        if exchange.count:
            raise Violation(
                wanted="nothing, or an exception, for a base that is not there",
                saw=exchange.size,
                hint=f"{_RESTRICT}; raise KnowledgeBaseUnknownError where you know which there are",
            )
        subject.observe(is_decided(exchange))
    require_decided(tried, "for what is no base")
    await _require_served(subject, base, query)


async def _require_served(subject: Subject, base: _Base, query: str) -> None:
    """The control of what was kept out; raises ``Inconclusive`` when the known base is not answered any more."""
    exchange = await _ask(subject, query, base.name)
    if not exchange.count:
        raise Inconclusive(
            f"{show(base.name)} answered {show(query)} before and not at the end: {exchange.came}",
            hint="what fails for every base says nothing about one; see what KP-302 says of failures",
        )


async def _answering(subject: Subject, bases: Sequence[_Base]) -> tuple[_Base, str]:
    """The first base with a query that it answers; raises ``Inconclusive`` when none of the queries is."""
    for query in await _queries(subject):
        if (await _asked(subject, bases[0], query)).count:
            return bases[0], query
    raise Inconclusive(
        f"no query is answered from {show(bases[0].name)}", hint="name one that is: --provider-query 'text'"
    )


# Clause 3.4
@check(
    "KP-311",
    clause="3.4",
    level=Level.MUST,
    facet=Facet.BASES,
    needs=("KP-310",),
    calls=calls_where("bases", QUERIES_MAX + 7 + _FILTERS_MAX * BASES_MAX),
    surveyed=True,
    phase=Phase.BOUNDARIES,
)
async def nothing_left_is_not_everything(subject: Subject) -> None:
    """A known base beside an unknown one, or beside a filter, gives no more than the known one alone.

    Where nothing is left of a selection, a program that takes an empty list for "no restriction" opens everything.
    """
    bases = _bases(subject.settings)
    base, query = await _answering(subject, bases)
    mixed: list[Exchange] = []
    for asked in [query, *await _elsewhere(subject, base, query)]:
        whole = await _asked(subject, base, asked)
        for names in ((base.name, _UNKNOWN), (_UNKNOWN, base.name)):
            exchange = await _ask(subject, asked, *names)
            mixed.append(exchange)
            _refuse_others(exchange, base.others, f"no more than {show(base.name)} holds")
            _refuse_more(exchange, whole)
            subject.observe(is_decided(exchange))
    require_decided(mixed, "for a known base beside an unknown one")
    filtered: list[Exchange] = []
    for each, about in _beside_filters(bases, subject.settings):
        exchange = await _ask(subject, about.query, each.name, filters=about.filter)
        filtered.append(exchange)
        _refuse_others(exchange, each.others, f"no more than {show(each.name)} holds, whatever the filter selects")
        subject.observe(is_decided(exchange))
    require_decided(filtered, "for a base beside a filter")
    await _require_served(subject, base, query)


async def _elsewhere(subject: Subject, base: _Base, query: str) -> list[str]:
    """A query that finds what only another base holds, where there is one: its own may find nothing anywhere else."""
    found = (each for each in await subject.found() if base.others & {*ids_of(each)})
    return [each.request.query for each in found if each.request.query != query][:1]


def _refuse_more(exchange: Exchange, whole: Exchange) -> None:
    # Of an answer that was cut nothing can be said: others may have come up.
    more = {*ids_of(exchange)} - {*ids_of(whole)}
    if more and whole.count < whole.request.top_k:
        raise Violation(
            wanted="no more than the known base alone gives",
            saw=f"{show(min(more))} as well",
            hint=_RESTRICT,
            where=str(exchange),
        )


def _beside_filters(bases: Sequence[_Base], settings: Settings) -> Iterator[tuple[_Base, FilterExpectation]]:
    """Each base with a filter of the settings that selects what another base holds."""
    for each in settings.filters[:_FILTERS_MAX]:
        yield from ((base, each) for base in bases if base.others & {*each.selects})


CHECKS: Final[tuple[Check, ...]] = (
    bases_restrict_the_answer,
    an_unknown_base_holds_nothing,
    nothing_left_is_not_everything,
)
