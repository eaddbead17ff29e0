"""Clause 3.5: filters hold where they are claimed, else they are refused. Knows no filter language."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple

from knowledge_conformance.check import Check, Facet, Inapplicable, Inconclusive, Level, Violation, check
from knowledge_conformance.checks.identity import claims
from knowledge_conformance.checks.requests import require_decided
from knowledge_conformance.exchange import Exchange, as_dict, place
from knowledge_conformance.exclusions import excluded_value, fields_with, reads_as_exclusion
from knowledge_conformance.impossible import NO_SUCH_VALUE, impossible
from knowledge_conformance.ownership import ids_of
from knowledge_conformance.plain import copied, is_exactly
from knowledge_conformance.ranges import Ends, beyond
from knowledge_conformance.render import show, show_error
from knowledge_conformance.settings import FilterExpectation, Settings
from knowledge_conformance.subject import Subject
from knowledge_provider import RetrievalRequest, error_code, limits

FILTERS_MAX: Final = 4
"""How many of the filters that the settings name are asked."""
_IMPOSSIBLE_MAX: Final = 3
_UNSUPPORTED: Final = "knowledge_filters_unsupported"
_SET: Final = (
    "[[filters]] with a query, a filter, and ids that it selects, as "
    'filter = { department = "engineering" }, selects = ["release-handbook#approvals"]'
)
_HONOUR: Final = (
    "translate each filter into the back end's own, and refuse what you cannot translate; do not drop it, from "
    "the key of a cache neither"
)


async def ask_filtered(
    subject: Subject, query: str, filters: Mapping[str, Any], bases: tuple[str, ...] = ()
) -> Exchange:
    """One call with filters and the largest ``top_k``, whether it answers or raises."""
    return await subject.attempt(
        RetrievalRequest(query=query, top_k=limits.TOP_K_MAX, knowledge_base_ids=bases, filters=dict(filters))
    )


def metadata_of(entry: Mapping[str, Any]) -> dict[str, Any]:
    """A result's metadata by their names; nothing of what is no mapping."""
    return as_dict(entry.get("metadata")) or {}


def contradicts(held: object, wanted: object) -> bool:
    """Whether a value that a result shows cannot be what a filter on its field selects.

    A text that holds the wanted one does not contradict it: a field may hold several values in one text.
    """
    one, two = copied(held), copied(wanted)
    if one is not None and two is not None:
        return two.casefold() not in one.casefold()
    if not (is_exactly(held, bool, int, float) and is_exactly(wanted, bool, int, float)):
        return False
    return (type(held) is bool) == (type(wanted) is bool) and held != wanted


def _is_flat(wanted: object) -> bool:
    return is_exactly(wanted, str, bool, int, float)


def _calls(settings: Settings) -> int:
    filters = min(len(settings.filters), FILTERS_MAX)
    return filters and 4 + filters * (1 + 3 * _IMPOSSIBLE_MAX)


# Clause 3.5
@check(
    "KP-312",
    clause="3.5",
    level=Level.MUST,
    facet=Facet.FILTERS,
    needs=("KP-102", "KP-307"),
    calls=_calls,
    surveyed=True,
)
async def filters_hold(subject: Subject) -> None:
    """With capabilities.filters, every result satisfies the filters.

    A filter that is dropped answers more than was asked for, and nobody sees it. Each filter of the settings selects
    what they say; where a result shows the field, with the value; and with a value that no document has, nothing. A
    number or a date may be a bound: it is asked for below and above all that documents have, of which one gives nothing
    with a bound, and both with equality. So is what an operator of a known name is given, as in {"$gte": 3}. A filter
    that leaves out what has the value has to leave something out. With a field more, that no document has, nothing
    comes or the call is refused; and a filter holds beside knowledge bases.
    """
    named = _named(subject.settings)
    if not await claims(subject, "filters"):
        raise Inconclusive(
            "the settings name filters, and capabilities.filters is not claimed",
            hint="claim it where filters are honoured, or take [[filters]] out of the settings",
        )
    answers: list[Exchange] = []
    for each in named:
        exchange = await ask_filtered(subject, each.query, each.filter)
        answers.append(exchange)
        _refuse_refusal(exchange)
        _refuse_others(exchange, each, named, {})
        _require_selected(exchange, each)
        subject.observe()
    ends = await _ends(subject, named, answers)
    for exchange, each in zip(answers, named, strict=True):
        _refuse_others(exchange, each, named, ends)
    await _refuse_unknown(subject, named)
    await _require_served(subject, named[0])


async def _ends(subject: Subject, named: tuple[FilterExpectation, ...], answers: Sequence[Exchange]) -> dict[str, Ends]:
    """What filters on ordered fields select beyond all documents; raises ``Violation`` for one that is dropped."""
    nowhere: list[Exchange] = []
    ends: dict[str, Ends] = {}
    excluding: dict[str, bool] = {}
    for probe in _impossible(named):
        asked = [await ask_filtered(subject, probe.query, {**probe.filter, probe.name: each}) for each in probe.values]
        nowhere += asked
        if all(exchange.count for exchange in asked):
            if probe.name not in excluding:
                with_it = next(pair for pair in zip(named, answers, strict=True) if probe.name in pair[0].filter)
                excluding[probe.name] = await _leaves_out(subject, probe.name, *with_it)
            if not excluding[probe.name]:
                raise _dropped(asked)
        subject.observe(sum(exchange.error is None for exchange in asked))
        if len(asked) > 1 and _is_flat(probe.values[0]):
            # What was refused may be a bound that is checked.
            below, above = (exchange.error is not None or exchange.count > 0 for exchange in asked)
            ends[probe.name] = ends.get(probe.name, Ends()).joined(Ends(below, above))
    require_decided(nowhere, "for a value that no document has")
    await _refuse_beside_bases(subject, nowhere)
    return ends


async def _refuse_beside_bases(subject: Subject, asked: Sequence[Exchange]) -> None:
    """Refuse a filter that gives nothing alone, and something where knowledge bases are named beside it."""
    bases = tuple(subject.settings.bases)[: limits.BASES_MAX]
    empty = next((each.request for each in asked if each.error is None and each.count == 0), None)
    if empty is None or not bases:
        return
    exchange = await ask_filtered(subject, empty.query, empty.filters, bases)
    if exchange.count:
        raise Violation(
            wanted="nothing for a value that no document has, in no knowledge base either",
            saw=exchange.size,
            hint=_HONOUR,
            where=str(exchange),
        )


async def _refuse_unknown(subject: Subject, named: Sequence[FilterExpectation]) -> None:
    """Refuse a filter's second field that is dropped because nobody knows it."""
    # What is no field and a value may be a language of its own, in which a name more is nothing to refuse.
    for each in [each for each in named if all(map(_is_flat, each.filter.values()))][:1]:
        exchange = await ask_filtered(subject, each.query, {**each.filter, NO_SUCH_VALUE: NO_SUCH_VALUE})
        if exchange.count:
            raise Violation(
                wanted="nothing, or an exception, for a field that no document has",
                saw=f"{exchange.size}, as if only the fields beside it had been asked for",
                hint=_HONOUR,
                where=str(exchange),
            )


async def _leaves_out(subject: Subject, name: str, each: FilterExpectation, answer: Exchange) -> bool:
    """Whether the filter's field ``name`` leaves out what has its value; raises ``Inconclusive`` where it may."""
    value = each.filter[name]
    rest = {other: held for other, held in each.filter.items() if other != name}
    without = await ask_filtered(subject, each.query, rest)
    kept = {*ids_of(answer)}
    gone = (entry for key, (_, entry) in zip(ids_of(without), without.entries, strict=True) if key not in kept)
    left_out = list(map(metadata_of, gone))
    shown = fields_with(map(metadata_of, (entry for _, entry in answer.entries)), value)
    if fields_with(left_out, value) - shown:
        return True
    if left_out or shown or not reads_as_exclusion(name, value):
        return bool(left_out) and reads_as_exclusion(name, value)
    raise Inconclusive(
        f"{show(each.filter)} reads as if it left something out, and leaves nothing out of {show(each.query)}",
        hint="name a query in [[filters]] whose answer without the filter has something that it leaves out",
    )


def _dropped(asked: Sequence[Exchange]) -> Violation:
    at_one_end = ", and as many or more at the other end, where a bound gives nothing" if len(asked) > 1 else ""
    return Violation(
        wanted="nothing for a value that no document has",
        saw=f"{min(asked, key=lambda each: each.count).size}{at_one_end}",
        hint=_HONOUR,
        where=str(asked[-1]),
    )


async def _require_served(subject: Subject, each: FilterExpectation) -> None:
    """The control of what was kept out: the first filter again; raises ``Inconclusive`` when it is not answered."""
    exchange = await ask_filtered(subject, each.query, each.filter)
    if not exchange.count:
        raise Inconclusive(
            f"{show(each.query)} with {show(each.filter)} was answered before and not at the end: {exchange.came}",
            hint="what fails for every filter says nothing about one; see what KP-302 says of failures",
        )


def _named(settings: Settings) -> tuple[FilterExpectation, ...]:
    if not settings.filters:
        raise Inapplicable(f"the settings name no filters: {_SET}")
    return settings.filters[:FILTERS_MAX]


def _refuse_refusal(exchange: Exchange) -> None:
    if exchange.error is not None:
        raise Violation(
            wanted="an answer to a filter of the settings, since capabilities.filters is claimed",
            saw=exchange.came,
            hint="do not claim what is refused; or correct the filter in the settings",
        )


def _refuse_others(
    exchange: Exchange, asked: FilterExpectation, named: tuple[FilterExpectation, ...], ends: Mapping[str, Ends]
) -> None:
    for at, entry in exchange.entries:
        for name, held in metadata_of(entry).items():
            wanted = asked.filter.get(name)
            if _is_flat(wanted) and _refutes(held, wanted, ends.get(name)):
                where = place(exchange, f"results[{at}].metadata[{show(name, limit=40)}]")
                raise Violation(wanted=show(wanted), saw=show(held), hint=_HONOUR, where=where)
    others = {key for other in named if _excludes(other.filter, asked.filter, ends) for key in other.selects}
    found = [name for name in ids_of(exchange) if name in others.difference(asked.selects)]
    if found:
        raise Violation(
            wanted="only what the filter selects",
            saw=f"{show(found[0])}, which the settings place under another value of the same field",
            hint=_HONOUR,
            where=str(exchange),
        )


def _refutes(held: object, wanted: object, ends: Ends | None) -> bool:
    left_out = excluded_value(wanted)
    if left_out is not None:
        return held == left_out
    if beyond(wanted) is None:
        return contradicts(held, wanted)
    # An ordered field of which nothing was tried may be a bound.
    return ends is not None and ends.refutes(held, wanted)


def _excludes(one: Mapping[str, Any], two: Mapping[str, Any], ends: Mapping[str, Ends]) -> bool:
    """Whether both ask for another value of the same single field, which a document has one of."""
    values = (*one.values(), *two.values())
    if any(reads_as_exclusion(name, value) for each in (one, two) for name, value in each.items()):
        return False
    single = one.keys() == two.keys() and len(one) == 1 and all(map(_is_flat, values)) and one != two
    return single and (all(beyond(value) is None for value in values) or ends.get(next(iter(one))) == Ends())


def _require_selected(exchange: Exchange, each: FilterExpectation) -> None:
    missing = set(each.selects).difference(ids_of(exchange))
    if missing or not exchange.count:
        what = show(min(missing)) if missing else "any result"
        raise Inconclusive(
            f"the settings promise {what} for {show(each.query)} with {show(each.filter)}, and it did not come",
            hint=f"name under selects what comes among the first {limits.TOP_K_MAX}",
        )


class _Probe(NamedTuple):
    """A filter of the settings whose field ``name`` is asked for values that no document has."""

    query: str
    filter: Mapping[str, Any]
    name: str
    values: tuple[Any, ...]


def _impossible(named: tuple[FilterExpectation, ...]) -> Iterator[_Probe]:
    """Each filter with one field after the other asked for what no document has, or with a field more that is."""
    values = {name: ends for each in named for name, value in each.filter.items() if (ends := impossible(value))}
    for each in named:
        # A field may be asked in another shape here than elsewhere.
        here = {**values, **{name: impossible(value) for name, value in each.filter.items()}}
        own = sorted((name for name in here if here[name]), key=lambda name: (name not in each.filter, name))
        for name in islice(own, _IMPOSSIBLE_MAX):
            yield _Probe(each.query, each.filter, name, here[name])


# Clause 3.5
@check("KP-313", clause="3.5", level=Level.SHOULD, needs=("KP-102", "KP-307"), calls=2, surveyed=True)
async def unclaimed_filters_are_refused(subject: Subject) -> None:
    """Without capabilities.filters, filters are refused with knowledge_filters_unsupported, not ignored.

    A host that hears of it can ask without them and say so; otherwise a person believes that an answer was narrowed.
    The same query is answered without filters.
    """
    if await claims(subject, "filters"):
        raise Inapplicable("capabilities.filters is claimed")
    query = (await subject.found())[0].request.query
    exchange = await ask_filtered(subject, query, {NO_SUCH_VALUE: NO_SUCH_VALUE})
    refused = exchange.error is not None and error_code(exchange.error) == _UNSUPPORTED
    # An empty answer is what honouring it would give; KP-114 says that it is not claimed.
    if not refused and (exchange.error is not None or exchange.count):
        raise Violation(
            wanted=f"an exception with the code {_UNSUPPORTED}",
            saw=exchange.size if exchange.error is None else f"raised {show_error(exchange.error)}",
            hint="if request.filters: raise KnowledgeFiltersUnsupportedError(...) of knowledge_provider.errors",
        )
    subject.observe()


CHECKS: Final[tuple[Check, ...]] = (filters_hold, unclaimed_filters_are_refused)
