"""One run: order, prerequisites, the budget of calls, and one red line for one root cause."""

import dataclasses
from collections.abc import Mapping

import pytest

from knowledge_conformance.catalogue import BY_ID, CHECKS
from knowledge_conformance.check import Check, Facet
from knowledge_conformance.faults import Fault, ProcessFault
from knowledge_conformance.results import BROKEN, CheckOutcome, CheckResult
from knowledge_conformance.running import Run
from knowledge_conformance.settings import Settings
from knowledge_conformance.target import TargetError
from knowledge_conformance.verdict import Verdict


class Scripted:
    """A runner that answers as it is told, and keeps what it was asked for."""

    def __init__(self, outcomes: Mapping[str, CheckOutcome | Exception], calls_each: int) -> None:
        self.calls = 0
        self.asked: list[tuple[str, int]] = []
        self.ended: list[str] = []
        self.lost_at_the_end: ProcessFault | None = None
        self._each = calls_each
        self._outcomes = outcomes

    def start(self) -> None:
        self.ended.clear()

    open = start

    def run(self, check: Check, remaining: int) -> CheckResult:
        self.asked.append((check.id, remaining))
        self.calls += self._each
        outcome = self._outcomes.get(check.id, CheckOutcome.PASSED)
        if isinstance(outcome, Exception):
            raise outcome
        return CheckResult(id=check.id, outcome=outcome, saw="seen", observations=3, calls=self._each)

    def close(self, remaining: int) -> ProcessFault | None:
        self.ended.append(f"closed with {remaining}")
        return self.lost_at_the_end

    def kill(self) -> None:
        self.ended.append("killed")


def scripted(
    outcomes: Mapping[str, CheckOutcome | Exception] | None = None,
    *,
    calls_each: int = 1,
    settings: Settings | None = None,
    share: int = 1,
) -> tuple[Run, Scripted]:
    run = Run("acme:provider", settings or Settings(), share=share)
    runner = Scripted(outcomes or {}, calls_each)
    run.runner = runner
    return run, runner


def test_every_check_is_run_once_in_the_catalogues_order() -> None:
    """And the target is closed."""
    run, runner = scripted()
    report = run.all()
    assert [check_id for check_id, _ in runner.asked] == [check.id for check in CHECKS]
    assert report.verdict is Verdict.CONFORMANT
    assert runner.ended == [f"closed with {Settings().max_calls - len(CHECKS)}"]
    assert run.result(CHECKS[0]) is run.result(CHECKS[0])
    assert len(runner.asked) == len(CHECKS)


def test_what_a_check_needs_is_run_before_it() -> None:
    """Also when it is asked for alone."""
    run, runner = scripted()
    run.result(BY_ID["KP-105"])
    assert [check_id for check_id, _ in runner.asked] == ["KP-101", "KP-102", "KP-104", "KP-105"]
    assert run.report().verdict is Verdict.PARTIAL


@pytest.mark.parametrize("outcome", sorted(BROKEN))
def test_a_broken_check_blocks_what_needs_it_and_is_the_one_root(outcome: CheckOutcome) -> None:
    """Those further on name the root as well, not the check that it blocked."""
    run, runner = scripted({"KP-102": outcome})
    report = run.all()
    blocked = [check for check in report.checks if check.outcome is CheckOutcome.BLOCKED]
    assert {check.saw for check in blocked} == {"KP-102 has to hold first"}
    assert {"KP-103", "KP-105"} <= {check.id for check in blocked}
    assert not {check.id for check in blocked} & {check_id for check_id, _ in runner.asked}


@pytest.mark.parametrize("outcome", sorted(set(CheckOutcome) - BROKEN - {CheckOutcome.BLOCKED}))
def test_advice_and_gaps_block_nothing(outcome: CheckOutcome) -> None:
    """A SHOULD that is not met is no reason to look away."""
    run, _ = scripted({"KP-102": outcome})
    assert run.all().counts[CheckOutcome.BLOCKED] == 0


def test_a_check_that_was_blocked_by_itself_blocks_on() -> None:
    """The reason that a check gave itself begins with what has to hold."""
    run, runner = scripted({"KP-301": CheckOutcome.BLOCKED})
    assert run.result(BY_ID["KP-302"]).saw == "seen has to hold first"
    assert "KP-302" not in [check_id for check_id, _ in runner.asked]


def test_a_facet_that_is_declared_absent_is_not_looked_at() -> None:
    """Its checks are inapplicable, and printed as such."""
    run, runner = scripted(settings=Settings(absent=(Facet.OWNERS,)))
    check = dataclasses.replace(BY_ID["KP-101"], facet=Facet.OWNERS)
    result = run._result(check)
    assert (result.outcome, result.saw) == (CheckOutcome.INAPPLICABLE, "declared absent in the settings")
    assert runner.asked == []


@pytest.mark.parametrize(("limit", "asked"), [(0, 0), (1, 1), (5, 3), (6, 3), (7, 4)])
def test_no_check_is_begun_without_calls_left(limit: int, asked: int) -> None:
    """The rest are said to be left out."""
    run, runner = scripted(calls_each=2 if limit > 1 else 1, settings=Settings(max_calls=limit))
    report = run.all()
    assert len(runner.asked) == asked
    assert report.verdict is Verdict.INCONCLUSIVE
    assert report.checks[-1].saw in (f"stopped by --max-calls={limit}", "seen")
    assert report.counts[CheckOutcome.INCONCLUSIVE] == len(CHECKS) - asked


def test_each_check_is_told_how_many_calls_are_left() -> None:
    """So that it can stop in time."""
    run, runner = scripted(calls_each=10, settings=Settings(max_calls=100))
    run.all()
    assert [remaining for _, remaining in runner.asked] == list(range(100, 0, -10))


def test_several_processes_share_one_budget() -> None:
    """Two workers of pytest-xdist together make no more calls than one."""
    run, runner = scripted(settings=Settings(max_calls=7), share=2)
    run.all()
    assert len(runner.asked) == 3


def test_a_provider_that_opens_no_more_is_one_red_line() -> None:
    """The first check that could not have one says why, and it blocks the others."""
    run, _ = scripted({check.id: TargetError("cannot open it: locked") for check in CHECKS[3:]})
    report = run.all()
    errored = [check for check in report.checks if check.outcome is CheckOutcome.ERRORED]
    assert [(check.id, check.saw) for check in errored] == [(CHECKS[3].id, "cannot open it: locked")]
    assert report.counts[CheckOutcome.BLOCKED] == len(CHECKS) - 4


def test_a_process_lost_at_the_very_end_fails_the_checks_about_closing() -> None:
    """Those that were run; a result that is broken already says more."""
    run, runner = scripted({"KP-205": CheckOutcome.ERRORED})
    runner.lost_at_the_end = ProcessFault(Fault.DIED, 0)
    report = run.all()
    found = {check.id: (check.outcome, check.where) for check in report.checks}
    assert found["KP-204"] == (CheckOutcome.FAILED, "the end of the run")
    assert found["KP-205"] == (CheckOutcome.ERRORED, None)
    assert report.counts[CheckOutcome.PASSED] == len(CHECKS) - 2
    partly, runner = scripted()
    runner.lost_at_the_end = ProcessFault(Fault.DIED, 0)
    partly.result(BY_ID["KP-101"])
    partly.close()
    assert [result.outcome for result in partly.results.values()] == [CheckOutcome.PASSED]


def test_the_target_is_closed_whatever_happens() -> None:
    """Also when the run is interrupted."""
    run, runner = scripted({"KP-103": RuntimeError("interrupted")})
    with pytest.raises(RuntimeError):
        run.all()
    assert runner.ended == [f"closed with {Settings().max_calls - 3}"]
