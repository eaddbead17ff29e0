"""``CompositeProvider`` over all six adapters: it passes the kit, and what one of them does costs that one alone."""

import asyncio
import sys
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from equivalence import SUBJECTS, in_this_process, opened
from six_vendors import hanging

from knowledge_conformance.results import CheckOutcome
from knowledge_conformance.running import Run
from knowledge_conformance.settings import Settings
from knowledge_provider import (
    CancelSignal,
    CompositeProvider,
    KnowledgeAllSourcesFailedError,
    KnowledgeSourcesIncompleteError,
    RetrievalContext,
    RetrievalRequest,
)

KEYS = {name: name.lower().replace("llamaindex", "llama-index") for name in SUBJECTS}
# Clause 9.3: of all codes, these have a reason of their own.
REASONS = {
    "unauthorized": "unauthorized",
    "rate_limited": "error",
    "unavailable": "error",
    "timeout": "error",
    "invalid_response": "invalid_response",
}
HALVES = (("LangChain", "OpenAI", "HTTP"), ("LlamaIndex", "Haystack", "MCP"))
# Long enough for those that answer, on a machine with other things to do.
CHILD_SECONDS = 1.5


async def asked(composite: Any, query: str = "release policy") -> Mapping[str, Any]:
    request, context = RetrievalRequest(query=query, top_k=8), RetrievalContext(owner_id="alice", signal=CancelSignal())
    answer: Mapping[str, Any] = await composite.retrieve(request, context)
    return answer


def reports(answer: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Those of the six; one that has several back ends may report each of them beside itself (clause 5.11)."""
    return {report["key"]: report for report in answer["sources"] if report["key"] in KEYS.values()}


def statuses(answer: Mapping[str, Any]) -> dict[str, tuple[str, str | None]]:
    return {key: (report["status"], report.get("reason")) for key, report in reports(answer).items()}


def children_in(answer: Mapping[str, Any]) -> list[str]:
    return [result["id"].partition(":")[0] for result in answer["results"]]


def test_it_is_conformant(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every check passes or does not concern it; it takes no advice either."""
    monkeypatch.setattr(sys, "path", [str(Path(__file__).parent), *sys.path])
    queries = ["release policy", "lost laptop", "expense receipts", "sick leave"]
    settings = Settings.model_validate({"queries": queries, "no_hit_query": "zzqx nonsense 9731"})
    report = Run("equivalence:six", settings).all()
    assert report.conformant, report.sentence
    outcomes = {(result.id, result.outcome, result.saw) for result in report.checks}
    assert {each for each in outcomes if each[1] not in (CheckOutcome.PASSED, CheckOutcome.INAPPLICABLE)} == set()


def test_it_takes_one_of_each_in_turn() -> None:
    """Six over one handbook find the same, so the first six results are its first passage."""

    async def main() -> Mapping[str, Any]:
        async with opened(CompositeProvider(in_this_process())) as composite:
            return await asked(composite)

    answer = asyncio.run(main())
    assert children_in(answer) == [*KEYS.values(), *list(KEYS.values())[:2]]
    assert len({result["content"] for result in answer["results"][:6]}) == 1
    assert {key: report["count"] for key, report in reports(answer).items()} == dict.fromkeys(KEYS.values(), 7)


@pytest.mark.parametrize("fault", REASONS)
@pytest.mark.parametrize("name", SUBJECTS)
def test_one_that_fails_costs_its_own_results(name: str, fault: str) -> None:
    """Clauses 9.2 and 9.3: the others answer, and the report says how it failed."""

    async def main() -> Mapping[str, Any]:
        async with SUBJECTS[name](fault) as failing:
            composite = CompositeProvider({**in_this_process(), KEYS[name]: failing})
            async with opened(composite):
                return await asked(composite)

    answer = asyncio.run(main())
    sound = dict.fromkeys(KEYS.values(), ("hit", None))
    assert statuses(answer) == {**sound, KEYS[name]: ("failed", REASONS[fault])}
    assert {*children_in(answer)} == {*KEYS.values()} - {KEYS[name]}


@pytest.mark.parametrize("names", HALVES)
def test_some_that_hang_cost_their_own_results(names: tuple[str, ...]) -> None:
    """Clauses 9.1 and 9.6: each has a deadline of its own, and its back end is told that nobody waits any more."""
    vendors = {KEYS[name]: hanging(name) for name in names}

    async def main() -> Mapping[str, Any]:
        hung = {key: vendor.provider for key, vendor in vendors.items()}
        async with opened(CompositeProvider({**in_this_process(), **hung}, timeout=CHILD_SECONDS)) as composite:
            return await asked(composite)

    answer = asyncio.run(main())
    assert {key for key, status in statuses(answer).items() if status == ("failed", "timeout")} == {*vendors}
    assert {*children_in(answer)} == {*KEYS.values()} - {*vendors}
    assert all(vendor.gone.is_set() for vendor in vendors.values())


def test_all_that_fail_each_in_a_way_of_its_own_are_no_empty_answer() -> None:
    """Clause 9.4."""
    faults = [*REASONS, "unavailable"]

    async def main() -> None:
        async with AsyncExitStack() as stack:
            opening = zip(SUBJECTS.items(), faults, strict=True)
            failing = {KEYS[name]: await stack.enter_async_context(make(fault)) for (name, make), fault in opening}
            composite = await stack.enter_async_context(opened(CompositeProvider(failing)))
            await asked(composite)

    with pytest.raises(KnowledgeAllSourcesFailedError):
        asyncio.run(main())


@pytest.mark.parametrize("name", SUBJECTS)
def test_nothing_found_by_the_others_is_not_the_whole_truth(name: str) -> None:
    """Clause 9.4: the one that failed might have known."""

    async def main() -> None:
        async with SUBJECTS[name]("unavailable") as failing:
            composite = CompositeProvider({**in_this_process(), KEYS[name]: failing})
            async with opened(composite):
                await asked(composite, "zzqx nonsense 9731")

    with pytest.raises(KnowledgeSourcesIncompleteError):
        asyncio.run(main())


def test_cancelling_reaches_all_six_back_ends() -> None:
    """Clause 9.6: and none is left running."""
    vendors = {KEYS[name]: hanging(name) for name in SUBJECTS}

    async def main() -> None:
        composite = CompositeProvider({key: vendor.provider for key, vendor in vendors.items()}, timeout=60)
        async with opened(composite):
            call = asyncio.create_task(asked(composite))
            for vendor in vendors.values():
                assert await asyncio.to_thread(vendor.held.wait, 10)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            assert composite.abandoned == 0

    asyncio.run(main())
    assert all(vendor.gone.is_set() for vendor in vendors.values())
