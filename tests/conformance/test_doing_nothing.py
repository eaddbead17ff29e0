"""Who does nothing gets no green, whatever kind it is; and no check of one holds for want of anything to see."""

from collections.abc import Callable
from typing import Any

import composite_runs
import host_runs
import pytest

from knowledge_conformance.results import CheckOutcome
from knowledge_conformance.running import Run
from knowledge_conformance.settings import Settings
from knowledge_conformance.target import Target
from knowledge_conformance.verdict import Verdict
from knowledge_fakes.plain_composite import PlainComposite
from knowledge_provider import CompositeProvider, KnowledgeHost, Outcome


class NullProvider:
    """Never finds anything, and never looks."""

    def describe(self) -> dict[str, Any]:
        return {"protocolVersion": 1, "key": "null", "label": "Null", "capabilities": {}}

    async def retrieve(self, _request: object, _context: object) -> list[Any]:
        return []


class DeadProvider(NullProvider):
    """As where its fixture has failed."""

    async def retrieve(self, _request: object, _context: object) -> list[Any]:
        raise ConnectionError("the fixture has failed")


class NullHost(KnowledgeHost):
    """Asks no provider."""

    async def search(self, query: object, **_: object) -> Outcome:
        return Outcome(status="not_found", query=str(query))


class NullComposite(CompositeProvider):
    """Asks no child."""

    async def retrieve(self, *_: object) -> dict[str, Any]:
        return {"results": []}


class PlainNullComposite(PlainComposite):
    """The same, over nothing of the other's."""

    async def retrieve(self, *_: object) -> dict[str, Any]:
        return {"results": []}


@pytest.mark.parametrize(
    ("make", "verdict"), [(NullProvider, Verdict.INCONCLUSIVE), (DeadProvider, Verdict.NOT_CONFORMANT)]
)
def test_a_provider_that_does_nothing_is_not_conformant(make: Callable[[], Any], verdict: Verdict) -> None:
    """Field case 95: no evidence is not a pass, and neither is a failure; the exit code is that of neither."""
    report = Run(Target(make.__name__, make, instance=False), Settings(queries=("release policy",), examples=2)).all()
    assert (report.verdict, report.exit_code) == (verdict, 1)
    passed = {check.id for check in report.checks if check.outcome is CheckOutcome.PASSED}
    # What it says of itself is there to be seen; results are not.
    assert "KP-101" in passed
    assert not passed & {"KP-301", "KP-503", "KP-506", "KP-705"}


def test_a_host_that_asks_nobody_is_not_conformant() -> None:
    """Field case 95: its first check fails, and no other one holds without it."""
    results = host_runs.results_of(NullHost)
    assert {result.outcome for result in results.values()} == {CheckOutcome.FAILED, CheckOutcome.BLOCKED}


class DeadComposite(CompositeProvider):
    """Fails before it asks a child."""

    async def retrieve(self, *_: object) -> dict[str, Any]:
        raise ConnectionError("it was never set up")


@pytest.mark.parametrize("make", [NullComposite, PlainNullComposite, DeadComposite])
def test_a_composite_that_asks_nobody_is_not_conformant(make: Callable[..., Any]) -> None:
    """Field case 95: what holds of one is what can be seen without a search; all else fails, or has no evidence."""
    results = composite_runs.results_of(make)
    passed = {id_ for id_, result in results.items() if result.outcome is CheckOutcome.PASSED}
    # Its claims, its health and its closing.
    assert passed <= {"KP-911", "KP-922", "KP-923"}
    assert results["KP-916"].outcome is CheckOutcome.INCONCLUSIVE
    assert results["KP-907"].outcome is CheckOutcome.FAILED
