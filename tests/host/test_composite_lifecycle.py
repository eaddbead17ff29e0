"""``CompositeProvider`` from beginning to end: what it refuses, what it says it is, its health and its closing."""

import asyncio
import logging
import math
from pathlib import Path
from typing import Any

import pytest

from knowledge_fakes.scripted import UNFIT, ScriptedProvider, SyncScriptedProvider, returning
from knowledge_provider import (
    CancelSignal,
    CompositeProvider,
    KnowledgeProviderInvalidError,
    KnowledgeUnavailableError,
    RetrievalContext,
    RetrievalRequest,
)


def saying(*ids: str, **described: Any) -> ScriptedProvider:
    return ScriptedProvider([[{"id": name, "content": "x"} for name in ids]], **described)


def ask(provider: CompositeProvider) -> list[str]:
    """The ids of its results."""
    context = RetrievalContext(owner_id="alice")
    answer = asyncio.run(provider.retrieve(RetrievalRequest(query="release policy", top_k=8), context))
    return [result["id"] for result in answer["results"]]


@pytest.mark.parametrize(
    "key", ["", "Docs", "my docs", "docs\n", "-docs", "docs:1", "bücher", "d" * 65, 1, None], ids=ascii
)
def test_a_childs_key_follows_the_rule_for_keys(key: Any) -> None:
    """Clause 1.4: ids and reports hold it as it is."""
    with pytest.raises(KnowledgeProviderInvalidError, match=r"Wanted children's keys of at most 64"):
        CompositeProvider({key: saying()})


def test_a_key_may_be_as_long_as_a_provider_may_have_it() -> None:
    """Clause 5.2: ids stay within 160 characters."""
    long, short = ask(CompositeProvider({"k" * 64: saying("n" * 160, "1")}))
    assert len(long) <= 160
    assert short == "k" * 64 + ":1"


@pytest.mark.parametrize("name", UNFIT)
def test_a_child_that_is_no_provider_is_refused_and_named(name: str) -> None:
    """Clause 1.3: when it is composed, never at the first turn."""
    with pytest.raises(KnowledgeProviderInvalidError, match=r"The child wiki cannot be used\. The provider is refused"):
        CompositeProvider({"docs": saying(), "wiki": UNFIT[name]()})


def test_no_child_is_no_composite() -> None:
    """Clause 5.10: it could only ever say that nothing is known."""
    with pytest.raises(KnowledgeProviderInvalidError, match="at least one child"):
        CompositeProvider({})


@pytest.mark.parametrize("children", [None, [saying()], saying(), "docs"], ids=lambda given: type(given).__name__)
def test_children_are_a_mapping(children: Any) -> None:
    """A key is a part of every id, so the caller chooses it."""
    with pytest.raises(TypeError, match="children must be a mapping"):
        CompositeProvider(children)


@pytest.mark.parametrize(
    ("timeout", "error"),
    [
        *((given, ValueError) for given in (0, 0.0, -1)),
        *((given, TypeError) for given in (None, "5", True, math.inf, math.nan)),
    ],
)
def test_a_timeout_is_a_positive_number(timeout: Any, error: type[Exception]) -> None:
    """Clause 9.1: each child has a deadline."""
    with pytest.raises(error, match="timeout must be"):
        CompositeProvider({"docs": saying()}, timeout=timeout)


@pytest.mark.parametrize(("given", "error"), [(0, ValueError), (None, TypeError), (True, TypeError), (4e3, TypeError)])
def test_max_content_chars_is_a_count(given: Any, error: type[Exception]) -> None:
    """Told here, and not at the first search."""
    with pytest.raises(error, match="max_content_chars must be"):
        CompositeProvider({"docs": saying()}, max_content_chars=given)


@pytest.mark.parametrize("own", [{"key": "My Composite"}, {"label": " "}, {"label": None}], ids=str)
def test_its_own_key_and_label_follow_the_rules(own: Any) -> None:
    """Clauses 1.4 and 1.5: a host would refuse it."""
    with pytest.raises(KnowledgeProviderInvalidError, match="a composite with a key"):
        CompositeProvider({"docs": saying()}, **own)


@pytest.mark.parametrize(
    ("first", "second", "claimed"),
    [
        (None, None, (False, False)),
        ({"filters": True}, {"filters": True, "scores": True}, (True, False)),
        ({"filters": True, "citations": True}, {"citations": False}, (False, True)),
        ({"filters": False}, {"filters": True, "citations": True}, (False, True)),
    ],
)
def test_it_claims_what_its_answers_show(first: Any, second: Any, claimed: tuple[bool, bool]) -> None:
    """Clause 9.5: scores never, filters when every child does, citations when any does."""
    composite = CompositeProvider({"a": saying(capabilities=first), "b": saying(capabilities=second)})
    filters, citations = claimed
    assert composite.describe() == {
        "protocolVersion": 1,
        "key": "composite",
        "label": "Several knowledge sources",
        "capabilities": {"filters": filters, "scores": False, "citations": citations},
    }


def test_a_description_is_the_callers_own() -> None:
    """Clause 1.7: whatever was done to an earlier one."""
    composite = CompositeProvider({"a": saying()}, key="both", label="Both")
    composite.describe()["capabilities"].clear()
    assert composite.describe()["capabilities"] == {"filters": False, "scores": False, "citations": False}
    assert (composite.describe()["key"], composite.describe()["label"]) == ("both", "Both")


@pytest.mark.parametrize(
    ("first", "second", "status", "others"),
    [
        ({"status": "ready"}, None, "ready", None),
        ({"status": "unavailable", "message": "hunter2"}, None, "degraded", "a (unavailable)"),
        (RuntimeError, {"status": "ok"}, "unavailable", "a (unavailable), b (unavailable)"),
        ({"status": "unconfigured"}, {"status": "degraded"}, "degraded", "a (unconfigured), b (degraded)"),
        (returning(None), None, "degraded", "a (unavailable)"),
    ],
)
@pytest.mark.parametrize("kind", [ScriptedProvider, SyncScriptedProvider])
def test_health_says_who_is_not_ready(kind: Any, first: Any, second: Any, status: str, others: str | None) -> None:
    """Clause 2.1: without their own messages; one without health counts as ready."""
    composite = CompositeProvider({"a": kind(health=first), "b": kind(health=second)})
    health = asyncio.run(composite.health(CancelSignal()))
    assert health == ({"status": status, "message": f"not ready: {others}"} if others else {"status": status})


def test_a_health_that_hangs_is_bounded() -> None:
    """Clause 2.1: and the other child's is known."""

    async def hang(_signal: CancelSignal) -> None:
        await asyncio.Event().wait()

    composite = CompositeProvider({"a": ScriptedProvider(health=hang), "b": saying()}, timeout=0.1)
    assert asyncio.run(composite.health(CancelSignal()))["status"] == "degraded"


def test_every_child_is_closed_whatever_another_does(caplog: pytest.LogCaptureFixture) -> None:
    """Clause 9.2: one that raises or hangs is named in the log, with the place and without what it raised."""

    def closing() -> None:
        raise RuntimeError("hunter2")

    async def hang() -> None:
        await asyncio.Event().wait()

    children = {
        "raises": ScriptedProvider(closing=closing),
        "exits": SyncScriptedProvider(closing=SystemExit(1)),
        "hangs": ScriptedProvider(closing=hang),
        "good": saying(),
        "sync": SyncScriptedProvider(),
    }
    with caplog.at_level(logging.WARNING, "knowledge_provider"):
        asyncio.run(CompositeProvider(children, timeout=0.1).close())
    assert [child.closed for child in children.values()] == [1] * 5
    exits, hangs, raises = sorted(caplog.messages)
    assert exits.startswith("close() of the knowledge source exits raised SystemExit at scripted.py:")
    assert hangs == "close() of the knowledge source hangs did not end in time"
    place = f"{Path(__file__).name}:{closing.__code__.co_firstlineno + 1} in closing"
    assert raises == f"close() of the knowledge source raises raised RuntimeError at {place}"


def test_a_closed_composite_says_so() -> None:
    """Clause 2.2: it never answers as if nothing was found, and closing it again is nothing new."""

    async def run() -> dict[str, Any]:
        composite = CompositeProvider({"a": saying("1")})
        await composite.close()
        await composite.close()
        with pytest.raises(KnowledgeUnavailableError, match="this composite was closed"):
            await composite.retrieve(RetrievalRequest(query="q"), RetrievalContext(owner_id="alice"))
        return await composite.health(CancelSignal())

    assert asyncio.run(run()) == {"status": "unavailable", "message": "closed"}


def test_it_works_on_one_loop_after_another() -> None:
    """Clause 2.4: nothing is kept of the first."""
    composite = CompositeProvider({"a": saying("1"), "b": SyncScriptedProvider([[]])})
    assert ask(composite) == ask(composite) == ["a:1"]
