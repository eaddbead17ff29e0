"""Which bases and filters of the settings are likely to let an owner get its own."""

import asyncio
from typing import Any

import pytest

from knowledge_conformance.exchange import Exchange
from knowledge_conformance.narrowing import PLAIN, Narrowing, narrowings_of, ways_of
from knowledge_conformance.ownership import Owner
from knowledge_conformance.settings import Settings
from knowledge_provider import RetrievalContext, limits

OWNER = Owner("mara", "dentist", frozenset({"note"}), frozenset())


def settings(**given: Any) -> Settings:
    return Settings.model_validate(given)


def own(*rows: dict[str, Any]) -> Exchange:
    async def made() -> Exchange:
        context = RetrievalContext(owner_id="mara")
        return Exchange(PLAIN.asking("dentist"), context, [{"content": "x", **row} for row in rows])

    return asyncio.run(made())


FILTERS: list[dict[str, Any]] = [
    {"query": "x", "filter": {"language": "en"}},
    {"query": "x", "filter": {"department": "hr"}},
]


def test_without_bases_and_filters_there_is_no_way() -> None:
    """A plain request is asked anyhow."""
    assert ways_of(settings()) == 0
    assert narrowings_of(settings(), OWNER, own({"id": "note"})) == ()


def test_bases_that_hold_the_owners_own_come_first() -> None:
    """A request can name eight."""
    bases: dict[str, Any] = {f"b{at}": ["other"] for at in range(9)} | {"last": ["note"]}
    given = settings(bases=bases)
    (one,) = narrowings_of(given, OWNER, own({"id": "note"}))
    assert ways_of(given) == 1
    assert one.bases == ("last", *(f"b{at}" for at in range(7)))
    assert len(one.asking("x").knowledge_base_ids) == limits.BASES_MAX


def test_a_filter_takes_the_value_that_the_owners_result_shows() -> None:
    """Of a field that the settings filter by, and of no other result."""
    rows: list[dict[str, Any]] = [
        {"id": "another", "metadata": {"language": "de"}},
        {"id": "note", "metadata": {"author": "mara", "department": "people"}},
    ]
    assert narrowings_of(settings(filters=FILTERS), OWNER, own(*rows)) == (Narrowing(filters={"department": "people"}),)


@pytest.mark.parametrize("value", [["hr"], "half \ud83d", float("nan"), 10**400, None])
def test_a_value_that_cannot_be_asked_for_is_not(value: Any) -> None:
    """The first filter of the settings is left."""
    (one,) = narrowings_of(settings(filters=FILTERS), OWNER, own({"id": "note", "metadata": {"department": value}}))
    assert one.asking("x").filters == {"language": "en"}


def test_a_request_gets_a_copy_of_the_filters() -> None:
    """A provider may change what it gets."""
    narrowing = Narrowing(filters={"department": {"$in": ["a"]}})
    asked: Any = narrowing.asking("x").filters
    asked["department"]["$in"].append("b")
    assert narrowing.filters == {"department": {"$in": ["a"]}}
