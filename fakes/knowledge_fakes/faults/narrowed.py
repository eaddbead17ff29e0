"""Mistakes that only a request with bases or filters meets; knows sections 3 and 4, no way of catching them."""

from collections.abc import Mapping
from typing import Any, Final

from knowledge_fakes.faults._changing import Asked, Changed, answering, ask, asking, put_rows, rows_of
from knowledge_fakes.faults._expected import BASES, FILTERS, OWNERS
from knowledge_fakes.faults._fault import fault
from knowledge_fakes.faults._keeping import keeping, one_flight
from knowledge_fakes.faults._learning import found
from knowledge_provider import RetrievalContext, RetrievalRequest

_IN_A_BASE: Final = {**OWNERS, **BASES}
_FILTERED: Final = {**OWNERS, **FILTERS}
_LISTED: Final = {
    "filters": (
        {
            "query": "release policy",
            "filter": {"department": ["engineering", "people"]},
            "selects": ("release-handbook#approvals",),
        },
    )
}


def _seen_alone(settings: Mapping[str, Any]) -> set[str]:
    return {name for owner in settings["owners"].values() for name in owner["sees"]}


def _no_base(settings: Mapping[str, Any]) -> str | None:
    held = {name for names in settings["bases"].values() for name in names}
    return None if held & _seen_alone(settings) else "no base of the settings holds what an owner sees"


def _no_filter(settings: Mapping[str, Any]) -> str | None:
    selected = {name for each in settings["filters"] for name in each["selects"]}
    return None if selected & _seen_alone(settings) else "no filter of the settings selects what an owner sees"


def _none_understood(settings: Mapping[str, Any]) -> str | None:
    return None if settings["filters"] else "the settings name no filters"


def _no_base_beside(settings: Mapping[str, Any]) -> str | None:
    return None if settings["bases"] else "the settings name no knowledge base, beside which a filter could be dropped"


def _no_list(settings: Mapping[str, Any]) -> str | None:
    values = (value for each in settings["filters"] for value in each["filter"].values())
    return None if any(map(_is_listed, values)) else "no filter of the settings has a list of values"


def _is_listed(value: object) -> bool:
    return isinstance(value, list | tuple) and len(value) > 1 and all(isinstance(each, str) for each in value)


def _whole(request: RetrievalRequest, context: RetrievalContext) -> str:
    return f"{context.owner_id} {request.model_dump_json()}"


@fault("KP-404", fragment="notes-", settings=_IN_A_BASE, lacks=_no_base)
def base_cache_without_the_owner(sound: Any) -> Any:
    """Each knowledge base has a cache of its own, by the request alone, since bases were once for everybody."""

    def key(request: RetrievalRequest, context: RetrievalContext) -> str:
        return request.model_dump_json() if request.knowledge_base_ids else _whole(request, context)

    return keeping(sound, key)


@fault("KP-404", fragment="notes-", settings=_FILTERED, lacks=_no_filter)
def filter_cache_without_the_owner(sound: Any) -> Any:
    """Filtered searches are slow, and cached by another layer, which never hears of the owner."""

    def key(request: RetrievalRequest, context: RetrievalContext) -> str:
        return request.model_dump_json() if request.filters else _whole(request, context)

    return keeping(sound, key)


@fault("KP-405", fragment="notes-", settings=_IN_A_BASE, lacks=_no_base)
def one_flight_into_a_base(sound: Any) -> Any:
    """Equal requests into a knowledge base share one call while it runs, whoever makes them."""
    return one_flight(sound, lambda request: bool(request.knowledge_base_ids))


@fault("KP-405", fragment="notes-", settings=_FILTERED, lacks=_no_filter)
def one_flight_through_a_filter(sound: Any) -> Any:
    """Equal requests with filters share one call while it runs, whoever makes them."""
    return one_flight(sound, lambda request: bool(request.filters))


@fault("KP-312", fragment="in no knowledge base either", settings={**BASES, **FILTERS}, lacks=_no_base_beside)
def bases_in_place_of_filters(sound: Any) -> Any:
    """A base is translated into the back end's one filter, over the filter that was there."""

    def change(request: RetrievalRequest, context: RetrievalContext) -> Asked:
        both = request.knowledge_base_ids and request.filters
        return (request.model_copy(update={"filters": {}}) if both else request), context

    return asking(sound, change)


@fault("KP-312", fragment="a field that no document has", settings=FILTERS)
def unknown_fields_are_left_out(sound: Any) -> Any:
    """Of the filters those on fields of the index are passed on, and a misspelt one is dropped without a word."""

    async def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        everything = await found(sound, request.model_copy(update={"filters": {}}), context)
        fields = {name for row in everything for name in row.get("metadata") or {}}
        known = {name: value for name, value in request.filters.items() if name in fields}
        # With one field the back end says itself what it does not know.
        filters = known if len(request.filters) > 1 else request.filters
        return await ask(sound, request.model_copy(update={"filters": filters}), context)

    return Changed(sound, retrieve=retrieve)


@fault("KP-308", fragment="another request", settings=FILTERS, lacks=_none_understood)
def language_put_into_the_filters(sound: Any) -> Any:
    """Filters that were understood get the language that was searched in, for the next search; others are refused."""

    def change(answer: Any, request: RetrievalRequest) -> Any:
        if request.filters:
            request.filters.setdefault("language", "en")
        return answer

    return answering(sound, change)


@fault("KP-308", fragment="another request", settings=_LISTED, lacks=_no_list)
def listed_values_sorted_in_place(sound: Any) -> Any:
    """A field may be one of a list of values, which is sorted where it stands, to make one key of it."""

    async def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        for value in request.filters.values():
            if isinstance(value, list) and _is_listed(value):
                value.sort(key=str)
        listed = request.filters.get("department")
        if not isinstance(listed, list):
            return await ask(sound, request, context)
        # The embedded provider takes one value alone.
        each = [request.model_copy(update={"filters": {**request.filters, "department": value}}) for value in listed]
        answers = [await ask(sound, one, context) for one in each]
        rows = sorted((row for answer in answers for row in rows_of(answer)), key=lambda row: -row["score"])
        return put_rows(answers[0], rows[: request.top_k])

    return Changed(sound, retrieve=retrieve)
