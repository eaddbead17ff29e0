"""Mistakes with knowledge bases, beside filters, too; knows clause 3.4, no way of catching them."""

from collections.abc import Mapping
from typing import Any, Final

from knowledge_fakes.faults._changing import (
    Asked,
    Changed,
    ask,
    asking,
    put_rows,
    rows_of,
)
from knowledge_fakes.faults._expected import BASES, FILTERS
from knowledge_fakes.faults._fault import fault
from knowledge_fakes.faults._learning import Bases, ahead, found, holds, ids_of
from knowledge_provider import RetrievalContext, RetrievalRequest

_EVERYWHERE: Final[dict[str, Any]] = {"knowledge_base_ids": ()}
_BOTH: Final = {**BASES, **FILTERS}


# What settings may not have, so that a fault does nothing there that a check could see.


def _one_base(settings: Mapping[str, Any]) -> str | None:
    return "the settings name one knowledge base, and no other to keep out" if len(settings["bases"]) < 2 else None


def _no_filter_beside_a_base(settings: Mapping[str, Any]) -> str | None:
    bases = [{*ids} for ids in settings["bases"].values()]
    elsewhere = [
        {*each["selects"]} & (other - base) for each in settings["filters"] for base in bases for other in bases
    ]
    return None if any(elsewhere) else "the settings name no filter that selects what they place in one of two bases"


@fault("KP-309", fragment="in another base", settings=BASES)
def bases_are_ignored(sound: Any) -> Any:
    """knowledge_base_ids are not passed on, and every base is searched."""
    return asking(sound, lambda request, context: (request.model_copy(update=_EVERYWHERE), context))


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
    everywhere = await found(sound, request.model_copy(update=_EVERYWHERE), context)
    elsewhere = ids_of(everywhere[:1]) - ids_of(rows_of(answer))
    return put_rows(answer, everywhere) if elsewhere else answer


@fault("KP-309", fragment="the other way round", settings=BASES, lacks=_one_base)
def first_base_alone(sound: Any) -> Any:
    """Each of the bases is to give its share of the results, and the first is searched, and the others are not."""

    def change(request: RetrievalRequest, context: RetrievalContext) -> Asked:
        bases = request.knowledge_base_ids
        share = max(1, request.top_k // max(1, len(bases)))
        return request.model_copy(update={"knowledge_base_ids": bases[:1], "top_k": share}), context

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
        return (request.model_copy(update=_EVERYWHERE) if everything else request), context

    return asking(sound, change)


@fault("KP-310", fragment="result", settings=BASES)
def several_unknown_bases_are_all(sound: Any) -> Any:
    """One unknown id is refused, and of a list the known ones are taken, which may be none: then all are searched."""

    async def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        bases = request.knowledge_base_ids
        if len(bases) < 2 or any([await holds(sound, base, request, context) for base in bases]):
            return await ask(sound, request, context)
        return await ask(sound, request.model_copy(update=_EVERYWHERE), context)

    return Changed(sound, retrieve=retrieve)


@fault("KP-311", fragment="as well", settings=BASES, lacks=_one_base)
def one_unknown_base_opens_all(sound: Any) -> Any:
    """A selection that cannot be made as a whole is not made at all: one unknown id beside a known one opens all."""
    bases = Bases(sound)

    async def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        mixed = await bases.mixed(request, context)
        given_up = request.model_copy(update=_EVERYWHERE)
        return await ask(sound, given_up if mixed else request, context)

    return Changed(sound, retrieve=retrieve)


@fault("KP-311", fragment="in another base", settings=BASES, lacks=_one_base)
def known_base_gives_way(sound: Any) -> Any:
    """A known base beside an unknown one is given up where nothing is in it, or not the best."""
    bases = Bases(sound)

    async def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        known = await bases.mixed(request, context)
        if not known:
            return await ask(sound, request, context)
        # An unknown base may be refused.
        return await _helpful(sound, request.model_copy(update={"knowledge_base_ids": known}), context)

    return Changed(sound, retrieve=retrieve)


@fault("KP-311", fragment="in another base", settings=_BOTH, lacks=_no_filter_beside_a_base)
def base_and_filter_give_way(sound: Any) -> Any:
    """Where base and filter together leave nothing, or not the best, the base is given up."""

    async def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        both = request.filters and request.knowledge_base_ids
        return await _helpful(sound, request, context) if both else await ask(sound, request, context)

    return Changed(sound, retrieve=retrieve)
