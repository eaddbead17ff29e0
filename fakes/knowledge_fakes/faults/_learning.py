"""What a fault learns of a strange provider from what comes by, and asks of it beyond that; knows no fault.

Nobody tells a fault whose documents there are, or in which bases: owners are those of the contexts that were seen,
bases those of the requests, and the sound provider says what either holds.
"""

from collections.abc import Iterable
from typing import Any

from knowledge_fakes.faults._changing import Row, ask, rows_of
from knowledge_provider import RetrievalContext, RetrievalRequest, limits


def unrestricted(request: RetrievalRequest) -> RetrievalRequest:
    """The same query, in all bases and without a filter."""
    return request.model_copy(update={"filters": {}, "knowledge_base_ids": ()})


def as_owner(context: RetrievalContext, owner: str) -> RetrievalContext:
    """The context of another owner."""
    return context.model_copy(update={"owner_id": owner})


async def found(sound: Any, request: RetrievalRequest, context: RetrievalContext) -> list[Row]:
    """What the sound provider answers beside what it was asked: nothing where it refuses or fails."""
    try:
        return rows_of(await ask(sound, request, context))
    except Exception:
        return []


def ids_of(rows: Iterable[Row]) -> set[Any]:
    """The ids of results."""
    return {row["id"] for row in rows}


def ahead(foreign: Iterable[Row], own: list[Row], top_k: int) -> list[Row]:
    """What would not have come, and behind it what would, each once and ``top_k`` at most.

    The foreign ones come first, or a full answer had no place for them; where all have scores, these give the order.
    """
    mine = ids_of(own)
    others = {row["id"]: row for row in foreign if row["id"] not in mine}
    rows = [*others.values(), *own][:top_k]
    if all(isinstance(row.get("score"), int | float) for row in rows):
        rows.sort(key=lambda row: -row["score"])
    return rows


class Owners:
    """The owners that asked a provider so far, in the order in which they came."""

    def __init__(self, sound: Any) -> None:
        self._sound = sound
        self._names: dict[str, None] = {}

    def see(self, context: RetrievalContext) -> None:
        """Remember who asks; nobody is called by a blank."""
        if context.owner_id.strip():
            self._names[context.owner_id] = None

    @property
    def names(self) -> list[str]:
        """All of them."""
        return [*self._names]

    @property
    def latest(self) -> str | None:
        """Who came last for the first time."""
        return next(reversed(self._names), None)

    def beside(self, context: RetrievalContext) -> list[RetrievalContext]:
        """The context in the names of all others."""
        return [as_owner(context, name) for name in self._names if name != context.owner_id]

    async def found(self, request: RetrievalRequest, context: RetrievalContext) -> list[Row]:
        """What all others get to a request: the first of each, then the second of each, and so on."""
        answers = [await found(self._sound, request, each) for each in self.beside(context)]
        places = range(max(map(len, answers), default=0))
        return [answer[place] for place in places for answer in answers if place < len(answer)]


async def is_private(sound: Any, row: Row, context: RetrievalContext) -> bool:
    """Whether a result does not come to the owner of this context, not even to its own words."""
    return row["id"] not in ids_of(await found(sound, _words_of([row]), context))


async def holds(sound: Any, base: str, request: RetrievalRequest, context: RetrievalContext) -> bool:
    """Whether a base has something in it: for this query, or for the words of what the query finds elsewhere."""
    within = {"knowledge_base_ids": (base,)}
    if await found(sound, unrestricted(request).model_copy(update=within), context):
        return True
    elsewhere = await found(sound, unrestricted(request), context)
    return bool(elsewhere and await found(sound, _words_of(elsewhere).model_copy(update=within), context))


class Bases:
    """The bases that were found to hold something, so that a query that finds nothing there does not hide them."""

    def __init__(self, sound: Any) -> None:
        self._sound = sound
        self._known: set[str] = set()

    async def mixed(self, request: RetrievalRequest, context: RetrievalContext) -> tuple[str, ...]:
        """Those asked for that hold something, where they stand beside one that does not; else none."""
        asked = {*request.knowledge_base_ids}
        if len(asked) > 1:
            self._known |= {base for base in asked - self._known if await holds(self._sound, base, request, context)}
        known = tuple(base for base in request.knowledge_base_ids if base in self._known)
        return known if len(asked) > 1 and not asked <= self._known else ()


def _words_of(rows: list[Row]) -> RetrievalRequest:
    """A query for what results say: some of each."""
    share = limits.QUERY_MAX // len(rows)
    said = " ".join(str(row["content"])[:share] for row in rows)
    return RetrievalRequest(query=said, top_k=limits.TOP_K_MAX)
