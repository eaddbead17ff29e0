"""Mistakes with the ids of results; knows clause 9.5, no way of catching them."""

import itertools
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from knowledge_fakes._plain_calls import Ending
from knowledge_fakes.composite_faults._declared import fault
from knowledge_fakes.plain_composite import PlainComposite, Row
from knowledge_provider import RetrievalContext, RetrievalRequest, limits


@fault("KP-909", fragment="a different id for each")
class IdsAsTheyAre(PlainComposite):
    """Ids are left as each child has them, and a host drops the later of two that are equal."""

    def id_of(self, key: str, own: str) -> str:  # noqa: ARG002 - the mistake
        return own


@fault("KP-909", fragment="a different id for each")
class KeyAndIdByAHyphen(PlainComposite):
    """The child's key and the id are joined by a hyphen, which both may hold."""

    def id_of(self, key: str, own: str) -> str:
        joined = f"{key}-{own}"
        return joined if len(joined) <= limits.RESULT_ID_MAX else super().id_of(key, own)


@fault("KP-909", fragment="a different id for each")
class LongIdsCut(PlainComposite):
    """The child's key stands before an id that is as long as it may be, and a host cuts away what tells it apart."""

    def id_of(self, key: str, own: str) -> str:
        return f"{key}/{own}"


@fault("KP-909", "KP-903", "KP-925", fragment="for the same result asked again")
class RandomIds(PlainComposite):
    """Each result gets a new random id each time."""

    def id_of(self, key: str, own: str) -> str:  # noqa: ARG002 - the mistake
        return uuid.uuid4().hex


@fault("KP-909", fragment="when the children answer the other way round")
class IdsByArrival(PlainComposite):
    """Ids begin with the number of the child in the order in which they answered."""

    async def ask(self, key: str, request: RetrievalRequest, context: RetrievalContext) -> Ending:
        found = await super().ask(key, request, context)
        self.__dict__.setdefault("arrived", {}).setdefault(key, len(self.__dict__["arrived"]))
        return found

    def id_of(self, key: str, own: str) -> str:
        return super().id_of(str(self.__dict__["arrived"][key]), own)


@fault("KP-909", fragment="when a child lists its results the other way round")
class IdsByPlace(PlainComposite):
    """A result's id is its place in its child's list."""

    def merged(self, found: Sequence[Sequence[Row]], request: RetrievalRequest) -> list[Row]:
        placed = [
            [{**row, "id": f"{child}/{place}"} for place, row in enumerate(rows)] for child, rows in enumerate(found)
        ]
        return super().merged(placed, request)


@fault("KP-909", fragment="when another child fails")
class IdsOnlyWhereTheyMeet(PlainComposite):
    """An id is changed only where another child has the same, so what it is depends on who answered."""

    def id_of(self, key: str, own: str) -> str:  # noqa: ARG002 - the mistake
        return own

    def merged(self, found: Sequence[Sequence[Row]], request: RetrievalRequest) -> list[Row]:
        taken: dict[str, int] = {}
        return [self._apart(row, taken) for row in super().merged(found, request)]

    def _apart(self, row: Row, taken: dict[str, int]) -> Row:
        count = taken[row["id"]] = taken.get(row["id"], 0) + 1
        return row if count == 1 else {**row, "id": f"{count}/{row['id']}"}


@fault("KP-909", fragment="children are given the other way round")
class IdsByConfiguration(PlainComposite):
    """Ids begin with the number of the child in the configuration, and change when one is put before it."""

    def __init__(self, children: Mapping[str, Any], *, timeout: float = 5.0) -> None:
        super().__init__(children, timeout=timeout)
        self._numbers = dict(zip(children, itertools.count()))

    def id_of(self, key: str, own: str) -> str:
        return super().id_of(str(self._numbers[key]), own)
