"""Mistakes with knowledge bases, filters and claims; knows clauses 1.9, 3.4 and 3.5, no way of catching them."""

from collections.abc import Mapping
from typing import Any, Final

from knowledge_fakes.faults._changing import (
    Asked,
    Changed,
    Row,
    ask,
    asking,
    claiming,
    described,
    put_rows,
    rows_of,
    with_rows,
    with_source,
)
from knowledge_fakes.faults._expected import BASES, FILTERS
from knowledge_fakes.faults._fault import fault
from knowledge_fakes.faults._learning import Bases, ahead, found, holds, ids_of
from knowledge_provider import RetrievalContext, RetrievalRequest
from knowledge_provider.errors import KnowledgeFiltersUnsupportedError

_BOTH: Final = {**BASES, **FILTERS}
_FAR: Final = 1e9


# What settings may not have, so that a fault does nothing there that a check could see.


def _one_base(settings: Mapping[str, Any]) -> str | None:
    return "the settings name one knowledge base, and no other to keep out" if len(settings["bases"]) < 2 else None


def _no_number(settings: Mapping[str, Any]) -> str | None:
    values = [value for each in settings["filters"] for value in each["filter"].values()]
    return None if any(map(_is_number, values)) else "the settings name no filter on a number, such as { year = 2024 }"


def _no_condition(settings: Mapping[str, Any]) -> str | None:
    values = [value for each in settings["filters"] for value in each["filter"].values()]
    asked = any(isinstance(value, Mapping) for value in values)
    return None if asked else 'the settings name no filter with an operator, such as { year = { "$gte" = 2024 } }'


def _no_filter_beside_a_base(settings: Mapping[str, Any]) -> str | None:
    bases = [{*ids} for ids in settings["bases"].values()]
    elsewhere = [
        {*each["selects"]} & (other - base) for each in settings["filters"] for base in bases for other in bases
    ]
    return None if any(elsewhere) else "the settings name no filter that selects what they place in one of two bases"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _without(*fields: str) -> dict[str, Any]:
    empty: dict[str, Any] = {"knowledge_base_ids": (), "filters": {}}
    return {name: empty[name] for name in fields}


@fault("KP-309", fragment="in another base", settings=BASES)
def bases_are_ignored(sound: Any) -> Any:
    """knowledge_base_ids are not passed on, and every base is searched."""
    return asking(sound, lambda request, context: (request.model_copy(update=_without("knowledge_base_ids")), context))


@fault("KP-309", fragment="in another base", settings=BASES)
def a_default_base_is_always_there(sound: Any) -> Any:
    """The base for everybody is searched beside those that were asked for."""
    # The first from which something comes.
    default: list[tuple[str, ...]] = []

    async def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        answer = await ask(sound, request, context)
        bases = request.knowledge_base_ids
        if not bases or not default:
            default.extend([bases[:1]] * bool(bases and rows_of(answer)))
            return answer
        beside = await found(sound, request.model_copy(update={"knowledge_base_ids": default[0]}), context)
        return put_rows(answer, ahead(beside, rows_of(answer), request.top_k))

    return Changed(sound, retrieve=retrieve)


@fault("KP-309", fragment="in another base", settings=BASES)
def nothing_in_a_base_searches_all(sound: Any) -> Any:
    """Where a base has no hit, or a better one is elsewhere, the search is repeated without it, to be helpful."""

    async def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        return (
            await _helpful(sound, request, context)
            if request.knowledge_base_ids
            else await ask(sound, request, context)
        )

    return Changed(sound, retrieve=retrieve)


async def _helpful(sound: Any, request: RetrievalRequest, context: RetrievalContext) -> Any:
    """The answer of all bases where their best hit is not among those of the bases that were asked for."""
    answer = await ask(sound, request, context)
    everywhere = await found(sound, request.model_copy(update=_without("knowledge_base_ids")), context)
    elsewhere = ids_of(everywhere[:1]) - ids_of(rows_of(answer))
    return put_rows(answer, everywhere) if elsewhere else answer


@fault("KP-309", fragment="the other way round", settings=BASES, lacks=_one_base)
def first_base_alone(sound: Any) -> Any:
    """The back end searches one collection at a time, so the first of the bases is searched, and the others are not."""

    def change(request: RetrievalRequest, context: RetrievalContext) -> Asked:
        return request.model_copy(update={"knowledge_base_ids": request.knowledge_base_ids[:1]}), context

    return asking(sound, change)


@fault("KP-310", fragment="result", settings=BASES)
def unknown_base_is_no_restriction(sound: Any) -> Any:
    """Ids that are not known are dropped from the selection, and an empty selection selects everything."""

    async def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        known = [base for base in request.knowledge_base_ids if await holds(sound, base, request, context)]
        return await ask(sound, request.model_copy(update={"knowledge_base_ids": tuple(known)}), context)

    return Changed(sound, retrieve=retrieve)


@fault("KP-310", fragment="result", settings=BASES)
def base_by_its_beginning(sound: Any) -> Any:
    """Bases are collections with a common prefix, and one is found by the beginning of its name."""
    seen: dict[str, None] = {}

    def whole(name: str) -> str:
        alike = (base for base in seen if base.startswith(name) or name.startswith(base))
        return name if name in seen else next(alike, name)

    def change(request: RetrievalRequest, context: RetrievalContext) -> Asked:
        bases = tuple(map(whole, request.knowledge_base_ids))
        seen.update(dict.fromkeys(request.knowledge_base_ids))
        return request.model_copy(update={"knowledge_base_ids": bases}), context

    return asking(sound, change)


@fault("KP-310", fragment="result", settings=BASES)
def base_as_a_pattern(sound: Any) -> Any:
    """The id goes into a LIKE, in which a percent sign stands for anything."""

    def change(request: RetrievalRequest, context: RetrievalContext) -> Asked:
        everything = "%" in request.knowledge_base_ids
        return (request.model_copy(update=_without("knowledge_base_ids")) if everything else request), context

    return asking(sound, change)


@fault("KP-310", fragment="result", settings=BASES)
def several_unknown_bases_are_all(sound: Any) -> Any:
    """One unknown id is refused, and of a list the known ones are taken, which may be none: then all are searched."""

    async def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        bases = request.knowledge_base_ids
        if len(bases) < 2 or any([await holds(sound, base, request, context) for base in bases]):
            return await ask(sound, request, context)
        return await ask(sound, request.model_copy(update=_without("knowledge_base_ids")), context)

    return Changed(sound, retrieve=retrieve)


@fault("KP-311", fragment="as well", settings=BASES, lacks=_one_base)
def one_unknown_base_opens_all(sound: Any) -> Any:
    """A selection that cannot be made as a whole is not made at all: one unknown id beside a known one opens all."""
    bases = Bases(sound)

    async def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        mixed = await bases.mixed(request, context)
        given_up = request.model_copy(update=_without("knowledge_base_ids"))
        return await ask(sound, given_up if mixed else request, context)

    return Changed(sound, retrieve=retrieve)


@fault("KP-311", fragment="in another base", settings=_BOTH, lacks=_no_filter_beside_a_base)
def base_and_filter_give_way(sound: Any) -> Any:
    """Where base and filter together leave nothing, or not the best, the base is given up."""

    async def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        both = request.filters and request.knowledge_base_ids
        return await _helpful(sound, request, context) if both else await ask(sound, request, context)

    return Changed(sound, retrieve=retrieve)


@fault("KP-312", fragment="department", settings=FILTERS)
def filters_are_ignored(sound: Any) -> Any:
    """Filters are claimed and not passed on."""
    return asking(sound, _unfiltered)


def _unfiltered(request: RetrievalRequest, context: RetrievalContext) -> Asked:
    return request.model_copy(update=_without("filters")), context


@fault("KP-312", fragment="a value that no document has", settings=FILTERS)
def first_filter_alone(sound: Any) -> Any:
    """The back end takes one condition, so the first of the filters is passed on, and the others are not."""

    def change(request: RetrievalRequest, context: RetrievalContext) -> Asked:
        first = dict([*request.filters.items()][:1])
        return request.model_copy(update={"filters": first}), context

    return asking(sound, change)


@fault("KP-312", fragment="a value that no document has", settings=FILTERS)
def filtered_to_nothing_is_unfiltered(sound: Any) -> Any:
    """Where no document satisfies the filters, they are left out."""

    async def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        answer = await ask(sound, request, context)
        if rows_of(answer) or not request.filters:
            return answer
        return await ask(sound, request.model_copy(update=_without("filters")), context)

    return Changed(sound, retrieve=retrieve)


_REVISIONS: Final = {
    "filters": (
        {"query": "release policy", "filter": {"revision": 7}, "selects": ("release-handbook#approvals",)},
        {
            "query": "release policy",
            "filter": {"department": "engineering"},
            "selects": ("release-handbook#approvals",),
        },
    )
}


@fault("KP-312", fragment="at the other end", settings=_REVISIONS, lacks=_no_number)
def number_filters_are_dropped(sound: Any) -> Any:
    """Only texts are translated into the back end's filter, and a number is left out."""

    def change(request: RetrievalRequest, context: RetrievalContext) -> Asked:
        others = {name: value for name, value in request.filters.items() if not _is_number(value)}
        return request.model_copy(update={"filters": others}), context

    return asking(sound, change)


_CONDITIONS: Final = {
    "filters": (
        {"query": "release policy", "filter": {"revision": {"$gte": 7}}, "selects": ("release-handbook#approvals",)},
        {
            "query": "release policy",
            "filter": {"department": {"$in": ["engineering"]}},
            "selects": ("release-handbook#approvals",),
        },
    )
}


@fault("KP-312", fragment="a value that no document has", settings=_CONDITIONS, lacks=_no_condition)
def conditions_are_dropped(sound: Any) -> Any:
    """Only a field's value is translated into the back end's filter, and a condition with an operator is left out."""

    def change(request: RetrievalRequest, context: RetrievalContext) -> Asked:
        plain = {name: value for name, value in request.filters.items() if not isinstance(value, Mapping)}
        return request.model_copy(update={"filters": plain}), context

    return asking(sound, change)


@fault("KP-312", fragment="'revision'", settings=_REVISIONS, lacks=_no_number)
def bound_that_is_off(sound: Any) -> Any:
    """A filter on a number is a bound, and it is off by one: what is a little beyond it comes, too."""

    async def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        answer = await ask(sound, request, context)
        *rows, last = rows_of(answer) or [{}]
        numbers: dict[str, Any] = {name: value for name, value in request.filters.items() if _is_number(value)}
        if not last or not numbers:
            return answer
        near = {name: value + await _outside(sound, request, context, {name: value}) for name, value in numbers.items()}
        return put_rows(answer, [*rows, {**last, "metadata": {**(last.get("metadata") or {}), **near}}])

    return Changed(sound, retrieve=retrieve)


async def _outside(sound: Any, request: RetrievalRequest, context: RetrievalContext, number: dict[str, Any]) -> int:
    """On which side of a number in a filter nothing may be: above an upper bound, and below any other."""
    far = {name: abs(value) * 10 + _FAR for name, value in number.items()}
    above = request.model_copy(update={"filters": {**request.filters, **far}})
    return 1 if await found(sound, above, context) else -1


@fault("KP-312", fragment="KnowledgeFiltersUnsupportedError", settings=FILTERS)
def claimed_filters_are_refused(sound: Any) -> Any:
    """Filters are claimed, and every one is refused."""

    def change(request: RetrievalRequest, context: RetrievalContext) -> Asked:
        if request.filters:
            raise KnowledgeFiltersUnsupportedError("Wanted no filters; leave them out.")
        return request, context

    return asking(sound, change)


@fault("KP-313", fragment="knowledge_filters_unsupported")
def unclaimed_filters_are_ignored(sound: Any) -> Any:
    """Filters are not claimed, and left out without a word."""
    return _not_claiming(asking(sound, _unfiltered), "filters")


def _not_claiming(sound: Any, capability: str) -> Changed:
    def describe() -> dict[str, Any]:
        said = described(sound)
        return {**said, "capabilities": {**said["capabilities"], capability: False}}

    return Changed(sound, describe=describe)


@fault("KP-113", fragment="value that no document has")
def claimed_filters_do_nothing(sound: Any) -> Any:
    """Filters are claimed because the back end has them, and the provider never passes them on."""
    return claiming(asking(sound, _unfiltered), "filters")


@fault("KP-114", fragment="capabilities.filters")
def filters_without_a_claim(sound: Any) -> Any:
    """Filters are honoured and not claimed, so no host uses them."""
    return _not_claiming(sound, "filters")


@fault("KP-115", fragment="capabilities.scores")
def scores_without_a_claim(sound: Any) -> Any:
    """Every result has a score, in order, and scores are not claimed."""

    def scored(rows: list[Row]) -> list[Row]:
        # Single results have different ones, too.
        return [{**row, "score": 1 - at / 100 - len(row["content"]) % 97 / 1e5} for at, row in enumerate(rows)]

    return _not_claiming(with_rows(sound, scored), "scores")


@fault("KP-115", fragment="capabilities.citations")
def citations_without_a_claim(sound: Any) -> Any:
    """Every result has a public link, and citations are not claimed."""
    return _not_claiming(with_source(sound, uri="https://docs.example.com/handbook"), "citations")
