"""Clause 9.2: whatever one child does, the other's results are byte for byte what they are without it."""

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from knowledge_fakes.faults import FAULTS, Fault
from knowledge_fakes.handbook import HandbookProvider, provider
from knowledge_fakes.scripted import (
    MALFORMED,
    RAISING,
    SECRET,
    ScriptedProvider,
    SyncScriptedProvider,
    returning,
)
from knowledge_provider import (
    CompositeProvider,
    KnowledgeProviderInvalidError,
    KnowledgeSourcesIncompleteError,
    RetrievalContext,
    RetrievalRequest,
    normalize_response,
)

HARMLESS = {name: fault for name, fault in FAULTS.items() if not fault.lethal}
# What a host may refuse when it is composed (clauses 1.1 to 1.6).
REFUSED = {"KP-101", "KP-102", "KP-103", "KP-104", "KP-105", "KP-107", "KP-109"}
QUERIES = ("release policy", "release policy", "lost laptop", "zzqx vlorptk")
# Twice as long as a fault holds the loop for, since nobody else runs then.
PATIENCE = 0.6

each_kind = pytest.mark.parametrize("kind", [ScriptedProvider, SyncScriptedProvider])


def context() -> RetrievalContext:
    return RetrievalContext(owner_id="alice", session_id="s", turn_id="t", trace_id="x")


async def answers(children: Mapping[str, Any], *, concatenate: bool = False) -> dict[str, list[bytes]]:
    """The good child's results as bytes, by call; the calls are made at the same time."""
    composite = CompositeProvider(children, timeout=PATIENCE, concatenate=concatenate)
    requests = [RetrievalRequest(query=query, top_k=8) for query in QUERIES]
    try:
        found = await asyncio.gather(*(results(composite, request) for request in requests))
    finally:
        await composite.close()
    return {f"{at} {request.query}": each for at, (request, each) in enumerate(zip(requests, found, strict=True))}


async def results(composite: CompositeProvider, request: RetrievalRequest) -> list[bytes]:
    try:
        answer = await composite.retrieve(request, context())
    except KnowledgeSourcesIncompleteError:
        return []
    return [json.dumps(each, ensure_ascii=False).encode() for each in answer["results"] if each["provider"] == "good"]


@pytest.fixture(scope="module")
def alone() -> dict[str, list[bytes]]:
    """What the good child says when there is no other."""
    return asyncio.run(answers({"good": HandbookProvider()}))


@pytest.mark.parametrize("fault", HARMLESS.values(), ids=HARMLESS)
def test_a_faulty_sibling_takes_nothing_and_changes_nothing(fault: Fault, alone: dict[str, list[bytes]]) -> None:
    """Or it is refused at composition. With the good child first all of its results are there, else their beginning."""
    try:
        behind = asyncio.run(answers({"good": provider(), "bad": fault.wrap(provider())}, concatenate=True))
    except KnowledgeProviderInvalidError:
        assert fault.trips[0] in REFUSED
        return
    assert behind == alone
    before = asyncio.run(answers({"bad": fault.wrap(provider()), "good": provider()}))
    assert all(found == alone[call][: len(found)] for call, found in before.items())
    assert all(len(found) >= min(4, len(alone[call])) for call, found in before.items())


# Readable, with no results in them.
EMPTY = {"an_error_body", "reports_too_many"}
GOOD = [{"id": "1", "content": "Refunds take 14 days."}]


async def with_sibling(bad: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The good child's result, and how the other one fared."""
    composite = CompositeProvider({"bad": bad, "good": ScriptedProvider([GOOD])}, timeout=5.0)
    answer = await composite.retrieve(RetrievalRequest(query="refunds", top_k=8), context())
    assert composite.abandoned == 0
    (good,) = [result for result in answer["results"] if result["provider"] == "good"]
    assert normalize_response(answer, query="refunds", limit=8).to_dict()["sources"] == answer["sources"]
    return good, answer["sources"][0]


@each_kind
@pytest.mark.parametrize("name", RAISING)
def test_whatever_is_raised_is_that_childs_failure(kind: Any, name: str) -> None:
    """Field case 73, and more: a CancelledError that nobody asked for, a SystemExit, a group, a StopIteration."""
    good, report = asyncio.run(with_sibling(kind([RAISING[name]()])))
    assert good == {"id": "good:1", "content": "Refunds take 14 days.", "provider": "good"}
    refused = name in {"knowledge_base_unknown", "knowledge_filters_unsupported"}
    assert report["status"] == ("ignored" if refused else "failed")
    assert report["count"] == 0
    assert SECRET not in json.dumps(report)


@each_kind
@pytest.mark.parametrize("name", MALFORMED)
def test_whatever_is_answered_is_that_childs_answer(kind: Any, name: str) -> None:
    """Clause 9.2: nonsense is an invalid response or the part of it that can be read, and never an empty answer."""
    good, report = asyncio.run(with_sibling(kind([returning(MALFORMED[name]())])))
    assert good == {"id": "good:1", "content": "Refunds take 14 days.", "provider": "good"}
    read = normalize_response(MALFORMED[name](), query="refunds", limit=8).results
    assert report["count"] == len(read)
    if read:
        assert report["status"] == "hit"
    else:
        assert (report["status"], report.get("reason")) == (
            ("no_hit", None) if name in EMPTY else ("failed", "invalid_response")
        )


async def _gives_up(_request: object, context: RetrievalContext) -> object:
    await context.signal.wait()
    raise TimeoutError("told to stop, and says that it was its own limit")


@pytest.mark.parametrize(("answer", "reason"), [(TimeoutError("a socket's"), "error"), (_gives_up, "timeout")])
def test_a_childs_own_time_out_and_its_deadline_are_two_things(answer: object, reason: str) -> None:
    """Field case 79: which of the two it was decides who has to mend it, and not what was raised."""
    children = {"slow": ScriptedProvider([answer]), "good": ScriptedProvider([GOOD])}
    composite = CompositeProvider(children, timeout=0.05 if reason == "timeout" else 5.0)
    found = asyncio.run(composite.retrieve(RetrievalRequest(query="refunds"), context()))
    assert found["sources"][0] == {"key": "slow", "status": "failed", "reason": reason, "count": 0}
    assert [result["id"] for result in found["results"]] == ["good:1"]


@each_kind
@pytest.mark.parametrize("name", ["keyboard", "keyboard_in_a_group"])
def test_the_users_interrupt_goes_through(kind: Any, name: str) -> None:
    """Field case 73: a bare KeyboardInterrupt is the user's; one in a group is the child's."""
    raised: dict[str, Callable[[], BaseException]] = {
        "keyboard": KeyboardInterrupt,
        "keyboard_in_a_group": lambda: BaseExceptionGroup("failed", [KeyboardInterrupt()]),
    }
    if name == "keyboard":
        with pytest.raises(KeyboardInterrupt):
            asyncio.run(with_sibling(kind([raised[name]])))
        return
    good, report = asyncio.run(with_sibling(kind([raised[name]()])))
    assert (good["id"], report["status"]) == ("good:1", "failed")
