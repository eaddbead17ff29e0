"""The sources that checks hand to a merging host answer as their providers do, and are registered."""

import asyncio

from knowledge_conformance.checks.composite_children import text
from knowledge_conformance.checks.merging_sources import (
    answering,
    asked_by,
    built_in,
    finding,
    ref,
    refs_to,
    source_of,
)
from knowledge_conformance.merging_subject import new_context
from knowledge_fakes.scripted import ScriptedProvider, SyncScriptedProvider
from knowledge_provider.provider_calls import is_async
from knowledge_provider.sources import SourceRegistry


def test_each_kind_is_a_source_that_a_registry_takes() -> None:
    """Synchronous ones stay so, or a host would not put them into a thread."""
    sync = source_of(SyncScriptedProvider([[]], key="sync"))
    sources = [finding("wiki", "one"), sync, answering("down", ConnectionError("down"))]
    assert SourceRegistry(*sources).names == ("wiki", "sync", "down")
    assert [is_async(source.retrieve) for source in sources] == [True, False, True]
    assert sync.retrieve("q", (), new_context()) == []


def test_a_source_answers_from_its_provider_and_keeps_what_it_was_asked_for() -> None:
    """The references of each call, in order."""
    wiki, asked = finding("wiki", "one", source_id="kb-1"), (ref("wiki"),)
    found = asyncio.run(wiki.retrieve("q", asked, new_context()))
    assert found == [{"id": "one", "content": text("one"), "source_id": "kb-1"}]
    assert wiki.asked == [asked]
    assert len(wiki.provider.calls) == 1


def test_references_name_their_sources() -> None:
    """One to each, in their order."""
    sources = [finding("b"), finding("a")]
    assert [(each.provider, each.id) for each in refs_to(sources)] == [("b", "kb-1"), ("a", "kb-1")]
    assert ref("a", "kb-2", name="A").name == "A"


def test_a_hosts_own_search_is_awaited() -> None:
    """Scripted, or with these passages."""
    own = ScriptedProvider(["answer"])
    assert asyncio.run(asked_by(own)("q", new_context())) == "answer"
    found = asyncio.run(built_in("one", "two")("q", new_context()))
    assert [each["content"] for each in found] == [text("one"), text("two")]
