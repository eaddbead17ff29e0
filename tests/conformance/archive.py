"""A conformant provider in which nothing is called as in the handbook: its readers, holdings, fields and queries.

Two of it: ``matching`` finds what has a word of the query in it, ``nearest`` always answers with as much as is allowed.
"""

import asyncio
import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from knowledge_provider import RetrievalContext, RetrievalRequest
from knowledge_provider.errors import (
    KnowledgeBaseUnknownError,
    KnowledgeFiltersUnsupportedError,
    KnowledgeOwnerRequiredError,
)


class Sheet(NamedTuple):
    """One document: ``holding`` is its base, ``reader`` who alone may see it."""

    id: str
    holding: str
    form: str
    year: int
    text: str
    reader: str | None = None


_TOWNS: Final = (
    "Aldermoor",
    "Brinkwater",
    "Cold Ashby",
    "Dunmere",
    "Eastholt",
    "Fenwick",
    "Garsdale",
    "Hexley",
    "Ivelet",
)


def _sheets() -> Iterator[Sheet]:
    for at, town in enumerate(_TOWNS):
        yield Sheet(f"m{at}", "7", "map", 1840 + at, f"Coloured map of {town} and its common fields, on two sheets.")
        yield Sheet(f"l{at}", "fonds.letters", "letter", 1860 + at, f"Letters from {town} on the price of barley.")
        yield Sheet(f"t{at}", "fonds.tides", "table", 1880 + at, f"Tide tables for the harbour below {town}, by hand.")
    yield Sheet("x1", "fonds.letters", "letter", 1866, "Confession of the ferryman about the sunken lantern.", EAST)
    yield Sheet("x2", "fonds.letters", "letter", 1867, "Testament of the widow with the silver compass.", ONEIL)
    yield Sheet("x3", "fonds.tides", "table", 1868, "Ledger of smuggled brandy under the chapel.", ROOM)


EAST: Final = "desk 4 (east)"
ONEIL: Final = "R.O'Neil@rivers.example"
ROOM: Final = "room:9/Юлия"
SHEETS: Final = tuple(_sheets())
HOLDINGS: Final = frozenset(sheet.holding for sheet in SHEETS)
SETTINGS: Final[dict[str, Any]] = {
    "queries": ("Fenwick", "barley prices", "coloured map of Hexley", "tide tables for the harbour below Dunmere"),
    "owners": {
        EAST: {"query": "sunken lantern confession", "sees": ["x1"]},
        ONEIL: {"query": "silver compass testament", "sees": ["x2"]},
        ROOM: {"query": "smuggled brandy ledger", "sees": ["x3"], "never": ["x1"]},
    },
    "bases": {"7": ["m5", "m7"], "fonds.letters": ["l5"], "fonds.tides": ["t3", "t5"]},
    "filters": [
        {"query": "Fenwick", "filter": {"form": "map"}, "selects": ["m5"]},
        {"query": "Fenwick", "filter": {"since": 1881}, "selects": ["t5"]},
        {"query": "Fenwick", "filter": {"form": ["letter", "table"], "since": 1865}, "selects": ["l5", "t5"]},
    ],
}


def matching() -> "Archive":
    """It finds nothing where no word of the query is known."""
    return Archive(nearest=False)


def nearest() -> "Archive":
    """It answers everything with what is nearest, however far that is."""
    return Archive(nearest=True)


class Archive:
    """Claims filters alone: on the form, or a list of them, and on the first year; no result has a score or a link."""

    def __init__(self, *, nearest: bool) -> None:
        self._nearest = nearest

    def describe(self) -> dict[str, Any]:
        return {"protocolVersion": 1, "key": "archive", "label": "Archive", "capabilities": {"filters": True}}

    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> list[dict[str, Any]]:
        context.signal.raise_if_cancelled()
        if not context.owner_id.strip():
            raise KnowledgeOwnerRequiredError("Wanted a reader.")
        if not HOLDINGS.issuperset(request.knowledge_base_ids):
            raise KnowledgeBaseUnknownError("Wanted a holding.")
        allowed = [sheet for sheet in SHEETS if _is_open(sheet, request, context)]
        await asyncio.sleep(0)
        ranked = sorted(allowed, key=lambda sheet: (-_likeness(sheet, request.query), sheet.id))
        hits = [sheet for sheet in ranked if self._nearest or _likeness(sheet, request.query)]
        # Under its own name, as the filter has it.
        return [
            {"id": each.id, "content": each.text, "metadata": {"form": each.form, "since": each.year}}
            for each in hits[: request.top_k]
        ]


def _is_open(sheet: Sheet, request: RetrievalRequest, context: RetrievalContext) -> bool:
    held = not request.knowledge_base_ids or sheet.holding in request.knowledge_base_ids
    tests = [_is_selected(sheet, name, wanted) for name, wanted in request.filters.items()]
    return sheet.reader in (None, context.owner_id) and held and all(tests)


def _is_selected(sheet: Sheet, name: str, wanted: object) -> bool:
    if name == "form" and isinstance(wanted, str | list):
        return sheet.form in ([wanted] if isinstance(wanted, str) else wanted)
    if name == "since" and isinstance(wanted, int | float) and not isinstance(wanted, bool):
        return sheet.year >= wanted
    raise KnowledgeFiltersUnsupportedError("Wanted a filter on form or since.")


def _likeness(sheet: Sheet, query: str) -> int:
    words = set(re.findall(r"\w{4,}", query.casefold()))
    return sum(word in words for word in re.findall(r"\w+", sheet.text.casefold()))
