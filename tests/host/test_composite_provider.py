"""``CompositeProvider``: how its children are asked, and what becomes of their answers."""

import asyncio
import time
from collections.abc import Mapping
from typing import Any

import pytest

from knowledge_fakes.handbook import HandbookProvider
from knowledge_fakes.scripted import BlockingProvider, HeldProvider, ScriptedProvider, SyncScriptedProvider
from knowledge_provider import (
    CancelSignal,
    CompositeProvider,
    KnowledgeAllSourcesFailedError,
    KnowledgeBaseUnknownError,
    KnowledgeFailedError,
    KnowledgeFiltersUnsupportedError,
    KnowledgeHost,
    KnowledgeSourcesIncompleteError,
    KnowledgeUnavailableError,
    RetrievalContext,
    RetrievalRequest,
)

REQUEST = RetrievalRequest(query="release policy", top_k=8)


def context(**fields: Any) -> RetrievalContext:
    return RetrievalContext(**{"owner_id": "alice", "session_id": "s", "turn_id": "t", "trace_id": "x", **fields})


def found(*ids: str) -> list[dict[str, Any]]:
    return [{"id": name, "content": f"what {name} says", "score": 0.5} for name in ids]


def saying(*ids: str, **described: Any) -> ScriptedProvider:
    return ScriptedProvider([found(*ids)], **described)


def ask(provider: CompositeProvider, request: RetrievalRequest = REQUEST) -> dict[str, Any]:
    return asyncio.run(provider.retrieve(request, context()))


def ids(answer: Mapping[str, Any]) -> list[str]:
    return [result["id"] for result in answer["results"]]


def test_results_come_in_turn_and_reports_beside_them() -> None:
    """Clauses 9.3 and 9.5: in the children's order, whoever answered first."""
    composite = CompositeProvider({"a": saying("1", "2"), "b": SyncScriptedProvider([found("1")]), "c": saying()})
    answer = ask(composite)
    assert ids(answer) == ["a:1", "b:1", "a:2"]
    assert answer["results"][0] == {"id": "a:1", "content": "what 1 says", "provider": "a"}
    assert answer["sources"] == [
        {"key": "a", "status": "hit", "count": 2},
        {"key": "b", "status": "hit", "count": 1},
        {"key": "c", "status": "no_hit", "count": 0},
    ]


def test_results_come_one_child_after_another_by_choice() -> None:
    """Clause 9.5: concatenated."""
    children = {"a": saying("1", "2"), "b": saying("1")}
    assert ids(ask(CompositeProvider(children, concatenate=True))) == ["a:1", "a:2", "b:1"]


@pytest.mark.parametrize("concatenate", [False, True])
def test_at_most_top_k_results_come(concatenate: bool) -> None:
    """Clause 3.3: of all children together, and of one that gives too many."""
    children = {"a": saying(*"12345678"), "b": saying(*"12345678")}
    composite = CompositeProvider(children, concatenate=concatenate)
    answer = ask(composite, RetrievalRequest(query="q", top_k=3))
    assert ids(answer) == (["a:1", "a:2", "a:3"] if concatenate else ["a:1", "b:1", "a:2"])
    assert [source["count"] for source in answer["sources"]] == [3, 3]


@pytest.mark.parametrize("slow", ["A", "B"])
def test_the_same_id_of_two_children_is_two_results_whoever_is_first(slow: str) -> None:
    """Field case 51: the result does not depend on the order of completion."""
    scripts = {
        "A": [{"id": "1", "content": "Same", "score": 0.95, "source": {"title": "A"}}],
        "B": [
            {"id": "1", "content": "Same", "score": 0.2, "source": {"title": "B"}},
            {"id": "1", "content": "Other", "score": 0.9},
        ],
    }

    async def run() -> dict[str, Any]:
        with HeldProvider([scripts[slow]]) as held:
            children = {"a": ScriptedProvider([scripts["A"]]), "b": ScriptedProvider([scripts["B"]])}
            composite = CompositeProvider({**children, slow.lower(): held})
            call = asyncio.create_task(composite.retrieve(REQUEST, context()))
            await held.started.wait()
            held.release()
            return await call

    assert [(result["id"], result["content"], result["source"]) for result in asyncio.run(run())["results"]] == [
        ("a:1", "Same", {"title": "A"}),
        ("b:1", "Same", {"title": "B"}),
    ]


def test_a_composite_is_a_child_like_another() -> None:
    """Clause 9: itself a version-1 provider."""
    inner = CompositeProvider({"a": saying("1"), "b": saying("1")})
    answer = ask(CompositeProvider({"inner": inner, "c": saying("1")}))
    assert ids(answer) == ["inner:a:1", "c:1", "inner:b:1"]
    assert {result["provider"] for result in answer["results"]} == {"inner", "c"}


@pytest.mark.parametrize(
    ("first", "second", "outcome"),
    [
        ([], [], []),
        (OSError, found("1"), ["b:1"]),
        (OSError, [], KnowledgeSourcesIncompleteError),
        (OSError, OSError, KnowledgeAllSourcesFailedError),
    ],
)
def test_an_outage_never_looks_like_nothing_known(first: Any, second: Any, outcome: Any) -> None:
    """Field case 71: no hits, a partial failure and a total one are three things, and each is visible."""
    composite = CompositeProvider({"a": ScriptedProvider([first]), "b": ScriptedProvider([second])}, key="both")
    if isinstance(outcome, list):
        answer = ask(composite)
        assert ids(answer) == outcome
        assert ("failed" in {source["status"] for source in answer["sources"]}) is (first is OSError)
        return
    with pytest.raises(outcome) as caught:
        ask(composite)
    assert caught.value.provider_key == "both"
    assert [report.status for report in caught.value.sources] == ["failed", "failed" if second is OSError else "no_hit"]


def test_what_a_failed_child_raised_is_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """By its class and place: where another one found something, nothing else says what happened."""
    ask(CompositeProvider({"a": ScriptedProvider([OSError("https://example.com/?key=hunter2")]), "b": saying("1")}))
    assert [message.partition(".py:")[0] for message in caplog.messages] == [
        "knowledge source a: failed, error: OSError at scripted"
    ]
    assert "hunter2" not in caplog.text


def test_a_host_hands_on_how_each_child_fared() -> None:
    """Clauses 5.11 and 8.11: in the outcome where something was found, and in the cause where all failed."""
    half = CompositeProvider({"a": ScriptedProvider([OSError]), "b": saying("1")})
    outcome = asyncio.run(KnowledgeHost(half).search("policy", context=context()))
    assert [(source.key, source.status) for source in outcome.sources] == [("a", "failed"), ("b", "hit")]
    none = CompositeProvider({"a": ScriptedProvider([KnowledgeUnavailableError])}, key="none")
    with pytest.raises(KnowledgeFailedError) as caught:
        asyncio.run(KnowledgeHost(none).search("policy", context=context()))
    assert (caught.value.provider_key, caught.value.retryable) == ("none", True)
    assert isinstance(caught.value.__cause__, KnowledgeAllSourcesFailedError)
    assert [source.reason for source in caught.value.__cause__.sources] == ["error"]


def test_a_refusal_is_no_failure() -> None:
    """Clause 9.3: a child that does not hold the base that was asked for is ignored."""
    composite = CompositeProvider({"a": ScriptedProvider([KnowledgeBaseUnknownError]), "b": saying("1")})
    answer = ask(composite, RetrievalRequest(query="q", knowledge_base_ids=("b",)))
    assert ids(answer) == ["b:1"]
    assert answer["sources"][0] == {"key": "a", "status": "ignored", "reason": "not_registered", "count": 0}


def test_each_child_gets_the_request_and_the_same_caller() -> None:
    """Clauses 4.2 and 9: the four fields and the four ids as they came."""
    children = {"a": saying("1", capabilities={"filters": True}), "b": saying("1", capabilities={"filters": True})}
    request = RetrievalRequest(query="q", top_k=3, knowledge_base_ids=("x",), filters={"tags": ["a", {"b": 1}]})
    asked = context()
    asyncio.run(CompositeProvider(children).retrieve(request, asked))
    for child in children.values():
        (call,) = child.calls
        assert call.request == request
        assert call.context.model_dump() == asked.model_dump()


def test_a_child_that_changes_what_it_got_changes_nobody_elses() -> None:
    """Clauses 3.8 and 9.2: the caller's request and the other child's stay as they are."""

    async def scribble(request: RetrievalRequest, given: RetrievalContext) -> list[dict[str, Any]]:
        request.filters["tags"].append("mine")  # type: ignore[union-attr]  # it is a list
        request.filters["more"] = True
        object.__setattr__(request, "query", "something else")
        object.__setattr__(given, "owner_id", "mallory")
        given.signal.cancel("mine")
        return found("1")

    claims = {"filters": True}
    children = {"bad": ScriptedProvider([scribble], capabilities=claims), "good": saying("1", capabilities=claims)}
    request, asked = RetrievalRequest(query="q", filters={"tags": ["a"]}), context()
    answer = asyncio.run(CompositeProvider(children).retrieve(request, asked))
    assert ids(answer) == ["bad:1", "good:1"]
    assert request == children["good"].calls[0].request == RetrievalRequest(query="q", filters={"tags": ["a"]})
    assert asked.owner_id == children["good"].calls[0].context.owner_id == "alice"
    assert not asked.signal.cancelled


def test_filters_that_not_every_child_claims_are_refused_before_any_is_asked() -> None:
    """Clause 3.5: refused, not ignored; the message names who cannot honour them, and no filter."""
    children = {"a": saying("1", capabilities={"filters": True}), "b": saying("1")}
    with pytest.raises(KnowledgeFiltersUnsupportedError, match=r"2 sources, 1 cannot honour them \(b\)") as caught:
        ask(CompositeProvider(children), RetrievalRequest(query="q", filters={"owner": "hunter2"}))
    assert "hunter2" not in str(caught.value)
    assert caught.value.provider_key == "composite"
    assert not children["a"].calls


def test_filters_that_every_child_refuses_are_refused() -> None:
    """Clause 3.5: nothing was searched, so "nothing found" would be a lie."""
    children = {"a": HandbookProvider(), "b": HandbookProvider()}
    with pytest.raises(KnowledgeFiltersUnsupportedError, match="each of them refused these"):
        ask(CompositeProvider(children), RetrievalRequest(query="policy", filters={"no-such-field": 1}))


def test_refusals_of_two_kinds_are_no_empty_answer() -> None:
    """Clause 3.5: one refused the filters and the other the bases, so nothing was searched."""
    claims = {"filters": True}
    bases = ScriptedProvider([KnowledgeBaseUnknownError], capabilities=claims)
    filters = ScriptedProvider([KnowledgeFiltersUnsupportedError], capabilities=claims)
    request = RetrievalRequest(query="q", filters={"a": 1}, knowledge_base_ids=("x",))
    with pytest.raises(KnowledgeFiltersUnsupportedError, match="1 refused these and the others the knowledge bases"):
        ask(CompositeProvider({"a": bases, "b": filters}), request)
    answer = ask(CompositeProvider({"a": bases}), request)
    assert answer["results"] == []
    assert [report["status"] for report in answer["sources"]] == ["ignored"]


def test_children_are_asked_at_the_same_time() -> None:
    """Clause 9.1: all of them are under way before any has answered, threads too."""

    async def run() -> dict[str, Any]:
        children: dict[str, HeldProvider | BlockingProvider] = {"s": BlockingProvider([found("1")])}
        children |= {f"a{at}": HeldProvider([found("1")]) for at in range(7)}
        call = asyncio.create_task(CompositeProvider(children).retrieve(REQUEST, context()))
        for child in children.values():
            await child.started.wait()
        for child in children.values():
            child.release()
        return await call

    assert len(asyncio.run(run())["results"]) == 8


async def _hang(_request: RetrievalRequest, _context: RetrievalContext) -> None:
    await asyncio.Event().wait()


@pytest.mark.parametrize("hanging", [1, 100])
def test_who_never_answers_costs_its_own_deadline(hanging: int) -> None:
    """Clause 9.1, field case 75: once, however many they are, and the others' results are there."""
    children = {"good": saying("1")} | {f"h{at}": ScriptedProvider([_hang]) for at in range(hanging)}
    composite = CompositeProvider(children, timeout=0.2)
    began = time.monotonic()
    answer = ask(composite)
    assert 0.2 <= time.monotonic() - began < 1.2
    assert ids(answer) == ["good:1"]
    assert answer["sources"][-1] == {"key": f"h{hanging - 1}", "status": "failed", "reason": "timeout", "count": 0}
    assert composite.abandoned == 0


class Clock:
    """Time that stands still."""

    def __call__(self) -> float:
        return 100.0


@pytest.mark.parametrize(("left", "seconds"), [(None, 4.0), (1.0, 0.9), (30.0, 4.0)])
def test_a_callers_deadline_leaves_time_for_the_answer(left: float | None, seconds: float) -> None:
    """Clause 9.1: nine tenths of it, so that one child cannot use up what is left."""
    child = saying("1")
    signal = CancelSignal(deadline=None if left is None else 100.0 + left, clock=Clock())
    asyncio.run(CompositeProvider({"a": child}, timeout=4.0).retrieve(REQUEST, context(signal=signal)))
    assert child.calls[0].context.signal.remaining() == pytest.approx(seconds)
