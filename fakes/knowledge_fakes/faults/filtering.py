"""Mistakes with filters, and with what is claimed; knows clauses 1.9 and 3.5, no way of catching them."""

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
from knowledge_fakes.faults._expected import FILTERS
from knowledge_fakes.faults._fault import fault
from knowledge_fakes.faults._learning import found
from knowledge_provider import RetrievalContext, RetrievalRequest
from knowledge_provider.errors import KnowledgeFiltersUnsupportedError

_FAR: Final = 1e9


# What settings may not have, so that a fault does nothing there that a check could see.


def _asked_values(settings: Mapping[str, Any]) -> list[Any]:
    return [value for each in settings["filters"] for value in each["filter"].values()]


def _no_number(settings: Mapping[str, Any]) -> str | None:
    asked = any(map(_is_number, _asked_values(settings)))
    return None if asked else "the settings name no filter on a number, such as { year = 2024 }"


def _no_condition(settings: Mapping[str, Any]) -> str | None:
    asked = any(isinstance(value, Mapping) for value in _asked_values(settings))
    return None if asked else 'the settings name no filter with an operator, such as { year = { "$gte" = 2024 } }'


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


@fault("KP-312", fragment="department", settings=FILTERS)
def filters_are_ignored(sound: Any) -> Any:
    """Filters are claimed and not passed on."""
    return asking(sound, _unfiltered)


def _unfiltered(request: RetrievalRequest, context: RetrievalContext) -> Asked:
    return request.model_copy(update={"filters": {}}), context


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
        return await ask(sound, *_unfiltered(request, context))

    return Changed(sound, retrieve=retrieve)


def _selecting_approvals(*filters: dict[str, Any]) -> dict[str, Any]:
    approvals = {"query": "release policy", "selects": ("release-handbook#approvals",)}
    return {"filters": tuple({**approvals, "filter": each} for each in filters)}


_REVISIONS: Final = _selecting_approvals({"revision": 7}, {"department": "engineering"})


@fault("KP-312", fragment="at the other end", settings=_REVISIONS, lacks=_no_number)
def number_filters_are_dropped(sound: Any) -> Any:
    """Only texts are translated into the back end's filter, and a number is left out."""

    def change(request: RetrievalRequest, context: RetrievalContext) -> Asked:
        others = {name: value for name, value in request.filters.items() if not _is_number(value)}
        return request.model_copy(update={"filters": others}), context

    return asking(sound, change)


_CONDITIONS: Final = _selecting_approvals({"revision": {"$gte": 7}}, {"department": {"$in": ["engineering"]}})


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
