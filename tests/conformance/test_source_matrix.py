"""The source checks against every faulty and every conformant source: a fault trips its checks, and no other."""

from collections.abc import Callable
from typing import Any

import pytest
from composite_runs import HOLDS, TRIPPED, tripped

from knowledge_conformance.check import Facet
from knowledge_conformance.kinds import SOURCE
from knowledge_conformance.results import CheckOutcome
from knowledge_conformance.running import Run
from knowledge_conformance.settings import OwnerExpectation, Settings
from knowledge_conformance.target import Target
from knowledge_conformance.verdict import Verdict
from knowledge_fakes.faults import secrets
from knowledge_fakes.handbook import HandbookProvider
from knowledge_fakes.making import MakerFault
from knowledge_fakes.source_faults import SOURCE_FAULTS
from knowledge_fakes.sources import HandbookSource, ScriptedSource, handbook_source
from knowledge_provider import is_blank
from knowledge_provider.sources import ProviderSource

BASES = ({"id": "engineering"}, {"id": "people"})
OWNERS = {
    "mara": OwnerExpectation(query="dentist appointment", sees=("notes-mara#dentist",)),
    "tomas": OwnerExpectation(query="salary letter", sees=("notes-tomas#salary",)),
}
# The ids of a provider's passages are those of their bases.
OWNERS_OF_BASES = {
    "mara": OwnerExpectation(query="dentist appointment", sees=("people:notes-mara#dentist",)),
    "tomas": OwnerExpectation(query="salary letter", sees=("engineering:notes-tomas#salary",)),
}
SETTINGS = Settings(
    references=BASES, queries=("release policy", "parental leave"), owners=OWNERS, secrets=(secrets.VARIABLE,)
)


@pytest.fixture(autouse=True)
def a_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    """The key that two of the faults let out."""
    monkeypatch.setenv(secrets.VARIABLE, secrets.VALUE)


class SyncSource:
    """The least that a source has, in one synchronous method."""

    name = "least"

    @property
    def capabilities(self) -> dict[str, bool]:
        return {}

    def retrieve(self, query: str, refs: Any, context: Any) -> dict[str, Any]:
        from knowledge_provider.errors import KnowledgeOwnerRequiredError

        context.signal.raise_if_cancelled()
        if is_blank(context.owner_id):
            raise KnowledgeOwnerRequiredError
        known = [ref for ref in refs if ref.id in ("engineering", "people")]
        return {"results": [{"id": f"{query} {ref.id}", "content": query, "source_id": ref.id} for ref in known]}


CONFORMANT: dict[str, Callable[[], Any]] = {
    "the handbook": handbook_source,
    "a provider": lambda: ProviderSource(HandbookProvider()),
    "a synchronous one": SyncSource,
}
# They ask for nothing that the settings name, or do not apply where these name no owners and no secrets.
ANSWERED_WITHOUT = {"KP-1001", "KP-1002", "KP-1003", "KP-1011", "KP-1025"} | {
    check.id for check in SOURCE.checks if check.facet is not Facet.CORE
}
# Nobody can ask a provider which knowledge bases it has.
ADVISED = {"a provider": {"KP-1011"}}


def run_of(make: Callable[[], Any], settings: Settings = SETTINGS) -> Run:
    """All checks on what this makes, in a thread of this process."""
    run = Run(Target("made", make, instance=False), settings, kind=SOURCE)
    run.all()
    return run


@pytest.mark.parametrize("name", CONFORMANT)
def test_a_conformant_source_trips_nothing(name: str) -> None:
    """Every check passes or does not apply."""
    owners = {"a synchronous one": {}, "a provider": OWNERS_OF_BASES}.get(name, OWNERS)
    settings = SETTINGS.model_copy(update={"owners": owners})
    run = run_of(CONFORMANT[name], settings)
    found = {result.id: result for result in run.results.values() if result.outcome not in HOLDS}
    assert found.keys() == ADVISED.get(name, set()), found
    assert run.results.keys() == {check.id for check in SOURCE.checks}
    assert run.report().verdict is Verdict.CONFORMANT


def test_the_handbook_is_looked_at_by_every_check() -> None:
    """Nothing about it is inapplicable: what its faults trip, it passes."""
    assert {result.outcome for result in run_of(HandbookSource).results.values()} == {CheckOutcome.PASSED}


@pytest.mark.parametrize("fault", SOURCE_FAULTS.values(), ids=SOURCE_FAULTS)
def test_a_fault_trips_its_checks_and_no_other(fault: MakerFault) -> None:
    """What the author did wrong is said once, where it belongs; what is blocked is blocked by that."""
    results = run_of(fault.make).results
    found = tripped(results)
    assert found.keys() == set(fault.trips), found
    assert results[fault.trips[0]].outcome in TRIPPED - {CheckOutcome.KIT_ERROR}
    assert any(fault.fragment in text for text in found[fault.trips[0]]), found
    rest = [result for id_, result in results.items() if id_ not in found and result.outcome not in HOLDS]
    assert {result.outcome for result in rest} <= {CheckOutcome.BLOCKED}, rest
    assert {str(result.saw).partition(" ")[0] for result in rest} <= set(fault.trips)


@pytest.mark.parametrize("check_id", [check.id for check in SOURCE.checks])
def test_each_check_has_a_fault_of_its_own(check_id: str) -> None:
    """A check that no fault trips first has never been seen to fail."""
    assert check_id in {fault.trips[0] for fault in SOURCE_FAULTS.values()}


def test_without_references_nothing_is_a_pass_that_needs_one() -> None:
    """What was not asked was not observed, and the verdict says so."""
    run = run_of(handbook_source, Settings())
    asked = [result for id_, result in run.results.items() if id_ not in ANSWERED_WITHOUT]
    assert {result.outcome for result in asked} == {CheckOutcome.INCONCLUSIVE}
    assert all("references = " in str(result.hint) for result in asked)
    assert run.report().verdict is Verdict.INCONCLUSIVE


def test_a_promise_that_is_not_kept_is_inconclusive() -> None:
    """Whoever names a query that nothing answers may have meant another; also with one reference."""
    run = run_of(handbook_source, Settings(references=BASES[:1], queries=("release policy", "zzqx vlorptk")))
    assert run.results["KP-1004"].outcome is CheckOutcome.INCONCLUSIVE
    assert "the settings promise records for 'zzqx vlorptk'" in str(run.results["KP-1004"].saw)


def test_a_source_that_finds_nothing_is_inconclusive() -> None:
    """An empty answer to everything is well formed, and shows nothing."""
    verdict = run_of(lambda: ScriptedSource("silent"), SETTINGS).report().verdict
    assert verdict is Verdict.INCONCLUSIVE


def test_calls_are_bounded() -> None:
    """A back end is not asked more often than the run may."""
    run = run_of(handbook_source, SETTINGS.model_copy(update={"max_calls": 7}))
    assert sum(result.calls for result in run.results.values()) <= 7
    assert CheckOutcome.INCONCLUSIVE in {result.outcome for result in run.results.values()}
    whole = run_of(handbook_source)
    assert sum(check.calls_allowed(SETTINGS) for check in SOURCE.checks) <= SETTINGS.max_calls
    for check in SOURCE.checks:
        surveyed = SOURCE.survey().calls if check.surveyed else 0
        assert whole.results[check.id].calls <= check.calls_allowed(SETTINGS) + surveyed
