"""The kit against every fault and every conformant provider: a fault trips its checks, and nothing else does."""

import importlib
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import cycle
from typing import Any

import pytest

from knowledge_conformance import supervisor
from knowledge_conformance.catalogue import BY_ID, CHECKS
from knowledge_conformance.report import CheckReport, Report
from knowledge_conformance.results import CheckOutcome, CheckResult
from knowledge_conformance.running import Run
from knowledge_conformance.settings import Settings
from knowledge_conformance.target import Target, load
from knowledge_conformance.verdict import Verdict
from knowledge_fakes.conformant import CONFORMANT, Conformant
from knowledge_fakes.faults import (
    EMBEDDED,
    FAULTS,
    Fault,
    echoing,
    filtering,
    lookalikes,
    naming,
    narrowed,
    owners,
    repeating,
    restricting,
    secrets,
)
from knowledge_provider import limits

HOLDS = {CheckOutcome.PASSED, CheckOutcome.INAPPLICABLE}
TRIPPED = {CheckOutcome.FAILED, CheckOutcome.ERRORED, CheckOutcome.ADVISORY, CheckOutcome.KIT_ERROR}
LETHAL = {name: fault for name, fault in FAULTS.items() if fault.lethal}
HARMLESS = {name: fault for name, fault in FAULTS.items() if not fault.lethal}
ANYWHERE = [fault for fault in HARMLESS.values() if fault.over == EMBEDDED]
# Owners, filters and metadata are not in each provider that something can be wrong with.
_THEIRS = (owners, lookalikes, echoing, naming, narrowed, restricting, filtering, repeating)
DEMANDING = {name for module in _THEIRS for name in vars(module) if name in FAULTS}

# One of the faults warns, in this process, where warnings are errors.
pytestmark = pytest.mark.filterwarnings("ignore:Tarnbrook keys:DeprecationWarning")
each_provider = pytest.mark.parametrize("case", CONFORMANT.values(), ids=CONFORMANT)


@pytest.fixture(autouse=True, scope="module")
def little_patience() -> Iterator[None]:
    """A health that hangs and a child that is held are given up sooner than a user's are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "HEALTH_SECONDS", 0.5)
        patch.setattr(supervisor, "STALL_GRACE_SECONDS", 2.0)
        patch.setenv(secrets.VARIABLE, secrets.VALUE)
        yield


@pytest.fixture(scope="module")
def lethal_runs(little_patience: None) -> Mapping[str, "Future[Report]"]:
    """A run with each lethal fault, a few at a time, since they mostly wait, and all done before anything else runs."""
    with ThreadPoolExecutor(4) as pool:
        return {name: pool.submit(run_with, fault) for name, fault in LETHAL.items()}


def run_with(fault: Fault) -> Report:
    """What the kit says of the embedded provider with the fault; in a child process only where it has to be."""
    target = f"knowledge_fakes.faulty:{fault.name}"
    # Fewer generated requests than usual, for the time; a fault that needs more says so.
    settings = Settings(**{"examples": 10, **fault.settings})
    # Another process can only be asked for what has a name.
    return Run(target if fault.lethal or fault.trips[0] == "KP-315" else load(target), settings).all()


def evidence(found: CheckReport | CheckResult) -> list[str]:
    """What a person reads of a finding, its hint aside."""
    return [text for text in (found.wanted, found.saw, found.where) if text is not None]


def assert_trips_exactly_its_checks(fault: Fault, report: Report) -> None:
    """Every check came to an end, only those that the fault names do not hold, and the first shows the mistake."""
    checks = {check.id: check for check in report.checks}
    assert list(checks) == [check.id for check in CHECKS]
    tripped = {check.id: evidence(check) for check in checks.values() if check.outcome in TRIPPED}
    assert tripped.keys() == set(fault.trips), tripped
    assert checks[fault.trips[0]].outcome is not CheckOutcome.KIT_ERROR
    assert any(fault.fragment in text for text in tripped[fault.trips[0]]), tripped
    causes = {str(check.saw).partition(" ")[0] for check in checks.values() if check.outcome is CheckOutcome.BLOCKED}
    assert causes & {check.id for check in CHECKS} <= set(fault.trips)


@pytest.mark.parametrize("fault", HARMLESS.values(), ids=HARMLESS)
def test_a_fault_trips_its_checks_and_no_other(fault: Fault) -> None:
    """Field case 97: what the author did wrong is said once, where it belongs."""
    assert_trips_exactly_its_checks(fault, run_with(fault))


@pytest.mark.parametrize("fault", LETHAL.values(), ids=LETHAL)
def test_a_lethal_fault_does_not_end_the_run(fault: Fault, lethal_runs: Mapping[str, "Future[Report]"]) -> None:
    """Field case 97: it fails the check that met it, in time, and the rest still run."""
    assert_trips_exactly_its_checks(fault, lethal_runs[fault.name].result())


def over(fault: Fault, case: Conformant) -> Target:
    """The conformant provider with the fault, as a target."""
    module, _, name = case.target.partition(":")
    make: Callable[[], Any] = getattr(importlib.import_module(module), name)
    return Target(case.name, lambda: fault.wrap(make()), instance=False)


@pytest.mark.parametrize(
    ("fault", "name"),
    [
        *zip([each for each in ANYWHERE if each.name not in DEMANDING], cycle(["synchronous", "models", "minimal"])),
        *zip([each for each in ANYWHERE if each.name in DEMANDING], cycle(["synchronous", "models"])),
    ],
    ids=lambda given: given.name if isinstance(given, Fault) else given,
)
def test_a_fault_is_the_same_over_another_provider(fault: Fault, name: str) -> None:
    """Over a provider that is synchronous, answers with models, or has two methods only, the first check trips, too."""
    case = CONFORMANT[name]
    target = f"{case.target}+{fault.name}" if fault.trips[0] == "KP-315" else over(fault, case)
    run = Run(target, Settings(**{"queries": case.queries, **fault.settings}))
    result = run.result(BY_ID[fault.trips[0]])
    run.close()
    assert result.outcome in TRIPPED - {CheckOutcome.KIT_ERROR}, result
    assert any(fault.fragment in text for text in evidence(result)), result


@pytest.mark.parametrize("check_id", [check.id for check in CHECKS])
def test_each_check_has_a_fault_of_its_own(check_id: str) -> None:
    """Field case 97: a check that no fault trips first has never been seen to fail."""
    assert check_id in {fault.trips[0] for fault in FAULTS.values()}


def not_held(report: Report) -> dict[str, list[str]]:
    """The evidence of every check that neither passed nor was inapplicable."""
    return {check.id: evidence(check) for check in report.checks if check.outcome not in HOLDS}


@each_provider
def test_a_conformant_provider_trips_nothing(case: Conformant) -> None:
    """Every check passes or does not apply, without a piece of advice."""
    report = Run(load(case.target), Settings(queries=case.queries, **case.settings)).all()
    assert not not_held(report)
    assert len(report.checks) == len(CHECKS)
    assert report.verdict is Verdict.CONFORMANT


@pytest.mark.parametrize("name", ["one_document", "chinese_only", "minimal"])
def test_no_query_has_to_be_promised(name: str) -> None:
    """Without queries in the settings the kit finds some that a small or a foreign corpus answers."""
    report = Run(load(CONFORMANT[name].target), Settings()).all()
    assert not not_held(report)
    assert report.verdict is Verdict.CONFORMANT


def test_the_embedded_provider_passes_in_a_child_process() -> None:
    """What the lethal faults are put over passes where they are run."""
    report = Run("knowledge_fakes.handbook:provider", Settings()).all()
    assert not not_held(report)
    assert report.verdict is Verdict.CONFORMANT
