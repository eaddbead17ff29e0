"""Mistakes with knowledge bases, filters and claims; knows clauses 1.9, 3.4 and 3.5, no way of catching them."""

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
from knowledge_provider import RetrievalContext, RetrievalRequest
from knowledge_provider.errors import KnowledgeFiltersUnsupportedError

_KNOWN: Final = ("engineering", "people", "support")
_BOTH: Final = {**BASES, **FILTERS}


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

    def change(request: RetrievalRequest, context: RetrievalContext) -> Asked:
        bases = request.knowledge_base_ids
        known = bool(bases) and set(bases) <= set(_KNOWN)
        return (request.model_copy(update={"knowledge_base_ids": (*bases, "people")}) if known else request), context

    return asking(sound, change)


@fault("KP-309", fragment="in another base", settings=BASES)
def nothing_in_a_base_searches_all(sound: Any) -> Any:
    """Where a base has no hit, the search is repeated without it, to be helpful."""
    return _again(sound, "knowledge_base_ids")


def _again(sound: Any, *fields: str) -> Changed:
    """The provider that asks once more without these fields when nothing was found."""

    async def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        answer = await ask(sound, request, context)
        if rows_of(answer) or not all(getattr(request, name) for name in fields):
            return answer
        return await ask(sound, request.model_copy(update=_without(*fields)), context)

    return Changed(sound, retrieve=retrieve)


@fault("KP-310", fragment="result", settings=BASES)
def unknown_base_is_no_restriction(sound: Any) -> Any:
    """Ids that are not known are dropped from the selection, and an empty selection selects everything."""

    def change(request: RetrievalRequest, context: RetrievalContext) -> Asked:
        known = tuple(base for base in request.knowledge_base_ids if base in _KNOWN)
        return request.model_copy(update={"knowledge_base_ids": known}), context

    return asking(sound, change)


@fault("KP-310", fragment="result", settings=BASES)
def base_by_its_beginning(sound: Any) -> Any:
    """Bases are collections with a common prefix, and one is found by the beginning of its name."""

    def change(request: RetrievalRequest, context: RetrievalContext) -> Asked:
        found = {name: name for name in request.knowledge_base_ids}
        found.update({base[:-1]: base for base in _KNOWN})
        bases = tuple(found[name] for name in request.knowledge_base_ids)
        return request.model_copy(update={"knowledge_base_ids": bases}), context

    return asking(sound, change)


@fault("KP-310", fragment="result", settings=BASES)
def base_as_a_pattern(sound: Any) -> Any:
    """The id goes into a LIKE, in which a percent sign stands for anything."""

    def change(request: RetrievalRequest, context: RetrievalContext) -> Asked:
        everything = "%" in request.knowledge_base_ids
        return (request.model_copy(update=_without("knowledge_base_ids")) if everything else request), context

    return asking(sound, change)


@fault("KP-311", fragment="as well", settings=BASES)
def one_unknown_base_opens_all(sound: Any) -> Any:
    """A selection that cannot be made as a whole is not made at all: one unknown id beside a known one opens all."""

    def change(request: RetrievalRequest, context: RetrievalContext) -> Asked:
        known = [base in _KNOWN for base in request.knowledge_base_ids]
        mixed = any(known) and not all(known)
        return (request.model_copy(update=_without("knowledge_base_ids")) if mixed else request), context

    return asking(sound, change)


@fault("KP-311", fragment="in another base", settings=_BOTH)
def base_and_filter_give_way(sound: Any) -> Any:
    """Where base and filter together leave nothing, the base is given up."""

    async def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        answer = await ask(sound, request, context)
        if rows_of(answer) or not (request.filters and request.knowledge_base_ids):
            return answer
        return await ask(sound, request.model_copy(update=_without("knowledge_base_ids")), context)

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
    return _again(sound, "filters")


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


@fault("KP-312", fragment="at the other end", settings=_REVISIONS)
def number_filters_are_dropped(sound: Any) -> Any:
    """Only texts are translated into the back end's filter, and a number is left out."""

    def change(request: RetrievalRequest, context: RetrievalContext) -> Asked:
        texts = {name: value for name, value in request.filters.items() if isinstance(value, str)}
        return request.model_copy(update={"filters": texts}), context

    return asking(sound, change)


@fault("KP-312", fragment="'revision'", settings=_REVISIONS)
def bound_that_is_off(sound: Any) -> Any:
    """A filter on a number is a lower bound, and it is off by some: what is a little below comes, too."""

    async def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        least = request.filters.get("revision")
        if not isinstance(least, int):
            return await ask(sound, request, context)
        rest = {name: value for name, value in request.filters.items() if name != "revision"}
        answer = await ask(sound, request.model_copy(update={"filters": rest}), context)
        rows = rows_of(answer)
        return put_rows(answer, [row for row in rows if row["metadata"]["revision"] >= least - 4])

    return Changed(sound, retrieve=retrieve)


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
