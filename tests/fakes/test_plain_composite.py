"""The plain composite does what clause 9 says, seen without the kit."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from knowledge_fakes.handbook import HandbookProvider, SyncHandbookProvider
from knowledge_fakes.plain_composite import concatenating, factory
from knowledge_fakes.scripted import DeafProvider, HeldProvider, ScriptedProvider
from knowledge_provider import (
    KnowledgeAllSourcesFailedError,
    KnowledgeBaseUnknownError,
    KnowledgeFiltersUnsupportedError,
    KnowledgeProviderInvalidError,
    KnowledgeSourcesIncompleteError,
    KnowledgeUnauthorizedError,
    RetrievalContext,
    RetrievalRequest,
)

REQUEST = RetrievalRequest(query="release policy", top_k=8)


def context() -> RetrievalContext:
    return RetrievalContext(owner_id="alice")


def finding(key: str, *names: str, **described: Any) -> ScriptedProvider:
    return ScriptedProvider([[{"id": name, "content": name, "score": 1.0} for name in names]], key=key, **described)


def ask(children: Mapping[str, Any], request: RetrievalRequest = REQUEST, make: Any = factory) -> Any:
    async def use() -> Any:
        return await make(children, timeout=0.5).retrieve(request, context())

    return asyncio.run(use())


def ids(answer: Any) -> list[str]:
    return [row["id"] for row in answer["results"]]


def test_results_stand_in_turn_or_one_after_another() -> None:
    """Ids have the child's key before them, and there is no score."""
    children = {"a": finding("a", "1", "2", "3"), "b": finding("b", "1")}
    assert ids(ask(children)) == ["a/1", "b/1", "a/2", "a/3"]
    assert ids(ask(children, make=concatenating)) == ["a/1", "a/2", "a/3", "b/1"]
    assert ids(ask(children, REQUEST.model_copy(update={"top_k": 2}))) == ["a/1", "b/1"]
    assert all("score" not in row for row in ask(children)["results"])


def test_a_real_child_and_its_synchronous_twin_answer() -> None:
    """The handbook twice, once on the loop and once in a thread."""
    answer = ask({"a": HandbookProvider(), "b": SyncHandbookProvider()})
    assert {row["id"].partition("/")[0] for row in answer["results"]} == {"a", "b"}


def test_each_child_is_reported() -> None:
    """One that is late is told to stop, and one that refuses a base has not failed."""
    hanging = HeldProvider(key="hanging")
    children = {
        "hit": finding("hit", "1"),
        "no-hit": finding("no-hit"),
        "hanging": hanging,
        "raising": ScriptedProvider([ConnectionError("down")], key="raising"),
        "refused": ScriptedProvider([KnowledgeUnauthorizedError("no")], key="refused"),
        "elsewhere": ScriptedProvider([KnowledgeBaseUnknownError("no")], key="elsewhere"),
        "nonsense": ScriptedProvider([None], key="nonsense"),
    }
    found = {report.pop("key"): tuple(report.values()) for report in ask(children)["sources"]}
    assert found == {
        "hit": ("hit", None, 1),
        "no-hit": ("no_hit", None, 0),
        "hanging": ("failed", "timeout", 0),
        "raising": ("failed", "error", 0),
        "refused": ("failed", "unauthorized", 0),
        "elsewhere": ("ignored", "not_registered", 0),
        "nonsense": ("failed", "invalid_response", 0),
    }
    assert hanging.ended.is_set()


def test_what_nobody_could_look_up_is_no_empty_answer() -> None:
    """Clause 9.4, and the other way round: nothing found is an answer."""
    down, empty = ScriptedProvider([ConnectionError("down")], key="down"), finding("empty")
    with pytest.raises(KnowledgeAllSourcesFailedError, match=r"down \(error\)"):
        ask({"down": down})
    with pytest.raises(KnowledgeSourcesIncompleteError, match=r"down \(error\)"):
        ask({"down": down, "empty": empty})
    assert ask({"empty": empty})["results"] == []


def test_claims_are_those_of_all() -> None:
    """Filters that one child cannot honour are refused before any is asked."""
    can, cannot = finding("can", "1", capabilities={"filters": True, "scores": True}), finding("cannot", "1")
    assert factory({"can": can}).describe()["capabilities"] == {"filters": True, "scores": False, "citations": False}
    filtered = RetrievalRequest(query="release policy", filters={"language": "en"})
    assert ids(ask({"can": can}, filtered)) == ["can/1"]
    can.calls.clear()
    with pytest.raises(KnowledgeFiltersUnsupportedError):
        ask({"can": can, "cannot": cannot}, filtered)
    assert not can.calls


def test_a_child_that_is_no_provider_is_refused() -> None:
    """Clause 1.3: when it is composed."""
    with pytest.raises(KnowledgeProviderInvalidError):
        factory({"none": object()})


def test_long_ids_stay_apart() -> None:
    """A host reads 160 characters."""
    long = "p" * 159
    found = ids(ask({"a": finding("a", f"{long}1", f"{long}2")}))
    assert len(set(found)) == 2
    assert all(len(id_) <= 160 for id_ in found)


def test_the_callers_cancellation_reaches_every_child() -> None:
    """And is waited for only a moment where a child is deaf to it."""

    async def use() -> bool:
        with HeldProvider(key="held") as held, DeafProvider(key="deaf") as deaf:
            composite = factory({"held": held, "deaf": deaf})
            search = asyncio.create_task(composite.retrieve(REQUEST, context()))
            await held.started.wait()
            search.cancel()
            await asyncio.wait({search})
            return search.cancelled() and held.cancelled.is_set() and deaf.cancelled.is_set()

    assert asyncio.run(use())


@pytest.mark.parametrize(
    ("statuses", "status"),
    [
        (["ready", "ready"], "ready"),
        (["ready", "unavailable"], "degraded"),
        (["unavailable", "unavailable"], "unavailable"),
        ([], "ready"),
    ],
)
def test_health_is_that_of_all(statuses: list[str], status: str) -> None:
    """A child without health counts as ready."""
    children = {f"c{at}": finding(f"c{at}", health={"status": said}) for at, said in enumerate(statuses)}
    assert asyncio.run(factory(children or {"c": finding("c")}).health()) == {"status": status}


def test_closing_reaches_every_child() -> None:
    """Whatever another one's does."""
    raising = ScriptedProvider(key="raising", closing=RuntimeError("closed already"))
    good = ScriptedProvider(key="good")
    asyncio.run(factory({"raising": raising, "good": good}).close())
    assert (raising.closed, good.closed) == (1, 1)
