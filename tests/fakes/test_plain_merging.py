"""The plain way of merging, and the reference's, do what clause 10.5 says, seen without the kit."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from knowledge_fakes import merging, plain_merging
from knowledge_fakes.scripted import HeldProvider
from knowledge_fakes.sources import HandbookSource, ScriptedSource, reference
from knowledge_provider import KnowledgeOwnerRequiredError, RetrievalContext
from knowledge_provider.errors import KnowledgeUnauthorizedError

ALICE = RetrievalContext(owner_id="alice")
FOUND = [{"id": "2", "content": "two"}, {"id": "1", "content": "one"}]
OWN = [{"id": "b", "content": "own"}]
each = pytest.mark.parametrize("factory", [plain_merging.factory, merging.reference], ids=["plain", "reference"])


async def own(query: str, context: RetrievalContext) -> Any:
    return OWN


def merge(
    factory: Callable[..., Any],
    sources: Sequence[Any],
    refs: Sequence[Any] | None = None,
    *,
    context: RetrievalContext = ALICE,
    built_in: Any = own,
) -> dict[str, Any]:
    async def use() -> Any:
        bound = [reference(source.name) for source in sources] if refs is None else refs
        return await factory(built_in, sources, timeout=0.5)("release policy", context=context, refs=bound)

    found = asyncio.run(use())
    return found if isinstance(found, dict) else dict(found.model_dump())


def fared(merged: dict[str, Any]) -> dict[str, tuple[Any, ...]]:
    return {each["key"]: (each["status"], each["reason"], each["count"]) for each in merged["summary"]}


@each
def test_own_records_come_first_and_each_source_in_its_order(factory: Callable[..., Any]) -> None:
    """Ids tell the sources apart."""
    merged = merge(factory, [ScriptedSource("wiki", [FOUND]), ScriptedSource("tickets", [FOUND])])
    assert [record["content"] for record in merged["records"]] == ["own", "two", "one", "two", "one"]
    assert len({record["id"] for record in merged["records"]}) == 5
    assert [record["source_type"] for record in merged["records"][1:]] == ["wiki", "wiki", "tickets", "tickets"]


@each
def test_each_source_is_in_the_summary(factory: Callable[..., Any]) -> None:
    """What failed says why, in a word, and a missing one is ignored."""
    with HeldProvider() as hanging:
        sources = [
            ScriptedSource("wiki", [FOUND]),
            ScriptedSource("silent"),
            ScriptedSource("down", [ConnectionError("down")]),
            ScriptedSource("refused", [KnowledgeUnauthorizedError("no")]),
            ScriptedSource("nonsense", ["<html>"]),
            ScriptedSource("hanging", [lambda query, _, context: hanging.retrieve(query, context)]),
        ]
        refs = [*(reference(source.name) for source in sources), reference("gone")]
        found = fared(merge(factory, sources, refs))
    found.pop("knowledge_base", None)
    assert found == {
        "wiki": ("hit", None, 2),
        "silent": ("no_hit", None, 0),
        "down": ("failed", "error", 0),
        "refused": ("failed", "unauthorized", 0),
        "nonsense": ("failed", "invalid_response", 0),
        "hanging": ("failed", "timeout", 0),
        "gone": ("ignored", "not_registered", 0),
    }


@each
def test_only_what_stands_is_asked_for(factory: Callable[..., Any]) -> None:
    """As the source says; a base that is none does not stand."""
    merged = merge(factory, [HandbookSource()], [reference("handbook", "engineering"), reference("handbook", "none")])
    assert {record["source_id"] for record in merged["records"][1:]} == {"engineering"}
    merged = merge(factory, [HandbookSource()], [reference("handbook", "none")])
    assert fared(merged)["handbook"][0] == "failed"


@each
def test_without_an_owner_nobody_is_asked(factory: Callable[..., Any]) -> None:
    """Clause 10.9."""
    source = ScriptedSource("wiki", [FOUND])
    with pytest.raises(KnowledgeOwnerRequiredError):
        merge(factory, [source], context=RetrievalContext.model_construct(**{**dict(ALICE), "owner_id": " "}))
    assert not source.calls


@each
def test_an_own_search_that_fails_costs_itself_alone(factory: Callable[..., Any]) -> None:
    """The sources' records are there."""

    async def failing(query: str, context: RetrievalContext) -> Any:
        raise ConnectionError("down")

    merged = merge(factory, [ScriptedSource("wiki", [FOUND])], built_in=failing)
    assert [record["content"] for record in merged["records"]] == ["two", "one"]


@each
def test_links_and_other_sources_records_stay_out(factory: Callable[..., Any]) -> None:
    """A source_uri that is a link is replaced; a record of a source that nobody bound is dropped."""
    rows = [
        {
            "id": "1",
            "content": "one",
            "source_uri": "https://wiki.example.com/1",
            "title": "https://wiki.example.com/1",
        },
        {"id": "2", "content": "two", "source_id": "kb-9"},
        {"id": "3", "content": "three", "source_uri": "wiki:page/3", "title": "Three"},
    ]
    records = merge(factory, [ScriptedSource("wiki", [rows])])["records"][1:]
    assert [(each["content"], each["source_uri"], each.get("title")) for each in records] == [
        ("one", "wiki:kb-1", None),
        ("three", "wiki:page/3", "Three"),
    ]


@each
def test_the_callers_cancellation_reaches_every_source(factory: Callable[..., Any]) -> None:
    """And comes out."""

    async def use() -> bool:
        with HeldProvider() as held:
            source = ScriptedSource("wiki", [lambda query, _, context: held.retrieve(query, context)])
            call = factory(own, [source], timeout=5.0)("q", context=ALICE, refs=[reference("wiki")])
            task = asyncio.ensure_future(call)
            await held.started.wait()
            task.cancel()
            await asyncio.wait({task})
            return task.cancelled() and held.cancelled.is_set()

    assert asyncio.run(use())
