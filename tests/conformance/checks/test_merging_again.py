"""What a merging host may keep from one call to the next: to leave a failed source in peace, and nothing else."""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from knowledge_conformance.catalogue import BY_ID
from knowledge_conformance.engine import run_check
from knowledge_conformance.merging_subject import MergingSubject
from knowledge_conformance.results import CheckOutcome, CheckResult
from knowledge_conformance.settings import Settings
from knowledge_fakes._plain_calls import Ending
from knowledge_fakes.plain_merging import BuiltIn, PlainMerging, References
from knowledge_provider import RetrievalContext, errors


class LeftInPeace(PlainMerging):
    """A source that failed is not asked in the next call, in which it counts as failed."""

    def __init__(self, built_in: BuiltIn, sources: Iterable[Any], *, timeout: float = 5.0) -> None:
        super().__init__(built_in, sources, timeout=timeout)
        self.failed_before: set[str] = set()

    async def ask_source(self, name: str, query: str, refs: References, context: RetrievalContext) -> Ending:
        if name in self.failed_before:
            self.failed_before.discard(name)
            return Ending(error=errors.KnowledgeUnavailableError("left in peace"))
        found = await super().ask_source(name, query, refs, context)
        if found.error is not None:
            self.failed_before.add(name)
        return found


def result(made: type[PlainMerging]) -> CheckResult:
    def make(*given: Any, **named: Any) -> Any:
        return made(*given, **named).merge

    subject = MergingSubject(make, Settings(), announce=lambda *_: None)
    return asyncio.run(run_check(BY_ID["KP-1089"], subject))


def test_a_failed_source_may_be_left_in_peace_for_a_call() -> None:
    """Of that KP-1059 says something."""
    assert result(LeftInPeace).outcome is CheckOutcome.PASSED


def test_nor_is_a_reason_or_a_count_looked_at() -> None:
    """Of those KP-1060 says something."""

    class Silent(PlainMerging):
        def status(self, *given: Any) -> dict[str, Any]:
            return {name: held for name, held in super().status(*given).items() if name in ("key", "status")}

    assert result(Silent).outcome is CheckOutcome.PASSED


@pytest.mark.parametrize("says", [[], ["hit", "hit"]])
def test_an_entry_for_each_source_is_wanted(says: list[str]) -> None:
    """Two say nothing that could be relied on, and none says nothing at all."""

    class Doubling(PlainMerging):
        async def merge(self, *given: Any, **named: Any) -> dict[str, Any]:
            answer = await super().merge(*given, **named)
            rest: list[Mapping[str, Any]] = [each for each in answer["summary"] if each["key"] != "steady"]
            return {**answer, "summary": [*rest, *({"key": "steady", "status": each} for each in says)]}

    found = result(Doubling)
    assert found.outcome is CheckOutcome.FAILED
    assert found.wanted == "the status 'hit' of steady, which it has in this call"
