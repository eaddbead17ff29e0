"""``CompositeProvider`` between others: a composite inside it, which reports itself, and a host with its settings."""

import asyncio
from typing import Any

import pytest

from knowledge_fakes.scripted import ScriptedProvider
from knowledge_provider import (
    CompositeProvider,
    KnowledgeHost,
    KnowledgeSourcesIncompleteError,
    KnowledgeUnavailableError,
    RetrievalContext,
    RetrievalRequest,
)


def context() -> RetrievalContext:
    return RetrievalContext(owner_id="alice")


def saying(*ids: str) -> ScriptedProvider:
    return ScriptedProvider([[{"id": name, "content": "x"} for name in ids]])


def ask(provider: CompositeProvider) -> dict[str, Any]:
    return asyncio.run(provider.retrieve(RetrievalRequest(query="release policy"), context()))


def down(key: str) -> CompositeProvider:
    """A composite inside that finds nothing in one source, and cannot ask the other."""
    return CompositeProvider({"wiki": saying(), "shop": ScriptedProvider([KnowledgeUnavailableError])}, key=key)


def test_what_failed_inside_a_child_is_seen_outside() -> None:
    """Clause 5.11: through two composites and a host, beside what others found."""
    outer = CompositeProvider({"mid": CompositeProvider({"in": down("inner"), "c": saying("1")}), "d": saying("1")})
    outcome = asyncio.run(KnowledgeHost(outer).search("policy", context=context()))
    assert [(report.key, report.status) for report in outcome.sources] == [
        ("mid", "hit"),
        ("d", "hit"),
        ("mid.in", "failed"),
        ("mid.in.shop", "failed"),
        ("mid.c", "hit"),
        ("mid.in.wiki", "no_hit"),
    ]


def test_an_empty_answer_of_a_child_with_a_failure_is_not_complete() -> None:
    """Clause 9.4: also where the child itself did not raise, but only says so."""
    partial = ScriptedProvider([{"results": [], "sources": [{"key": "shop", "status": "failed"}]}])
    for child, key in ((partial, "in.shop"), (down("inner"), "in.shop")):
        with pytest.raises(KnowledgeSourcesIncompleteError) as caught:
            ask(CompositeProvider({"in": child, "c": saying()}))
        assert key in {report.key for report in caught.value.sources}


def test_a_hosts_settings_reach_behind_it() -> None:
    """Contents and links are read once here, with what the host has."""
    source = {"id": "s", "uri": "https://wiki.corp/x"}
    child = ScriptedProvider([[{"id": "1", "content": "x" * 9000, "source": source}]])
    both: dict[str, Any] = {"allow_hosts": ["wiki.corp"], "max_content_chars": 8000}
    host = KnowledgeHost(CompositeProvider({"a": child}, **both), **both)
    (result,) = asyncio.run(host.search("policy", context=context())).results
    assert (len(result.content), result.url) == (8000, "https://wiki.corp/x")
