"""One check against one subject gives one result, whatever comes out of either."""

import asyncio
import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from knowledge_conformance.check import (
    Blocked,
    Check,
    Hang,
    Inapplicable,
    Inconclusive,
    Level,
    Violation,
    check,
)
from knowledge_conformance.engine import left_out, run_check
from knowledge_conformance.results import EVIDENCE_MAX, CheckOutcome, CheckResult
from knowledge_conformance.settings import Settings
from knowledge_conformance.subject import ProviderRaisedError, Subject
from knowledge_conformance.survey import Survey
from knowledge_conformance.watched import OutOfCallsError

VIOLATION = Violation(wanted="a list", saw="None", hint="return a list")


def run(work: Callable[[Subject], Any], *, settings: Settings | None = None, **declared: Any) -> CheckResult:
    """The result of a check that does ``work``."""

    async def body(subject: Subject) -> None:
        """Title.

        Rationale.
        """
        made = work(subject)
        if asyncio.iscoroutine(made):
            await made

    made: Check = check("KP-900", clause="9.9", level=declared.pop("level", Level.MUST))(body)
    given = settings or Settings()
    subject = Subject(object(), given, allowed=9, announce=lambda *_: None, surveyor=Survey())
    return asyncio.run(run_check(dataclasses.replace(made, **declared), subject))


def raising(error: BaseException) -> Callable[[Subject], Any]:
    def work(subject: Subject) -> None:
        subject.observe(2)
        raise error

    return work


@pytest.mark.parametrize(
    ("seen", "minimum", "outcome"),
    [
        (0, 1, CheckOutcome.INCONCLUSIVE),
        (1, 1, CheckOutcome.PASSED),
        (2, 3, CheckOutcome.INCONCLUSIVE),
        (3, 3, CheckOutcome.PASSED),
        (0, 0, CheckOutcome.PASSED),
    ],
)
def test_too_little_seen_is_never_a_pass(seen: int, minimum: int, outcome: CheckOutcome) -> None:
    """And what to do about it is said."""
    result = run(lambda subject: subject.observe(seen), minimum=minimum)
    assert (result.outcome, result.observations) == (outcome, seen)
    assert (result.hint is not None) == (outcome is CheckOutcome.INCONCLUSIVE)


@pytest.mark.parametrize(
    ("level", "since", "strict", "outcome"),
    [
        (Level.MUST, "1.0", False, CheckOutcome.FAILED),
        (Level.MUST, "1.1", False, CheckOutcome.ADVISORY),
        (Level.MUST, "1.1", True, CheckOutcome.ADVISORY),
        (Level.SHOULD, "1.0", False, CheckOutcome.ADVISORY),
        (Level.SHOULD, "1.0", True, CheckOutcome.FAILED),
        (Level.MAY, "1.0", True, CheckOutcome.ADVISORY),
    ],
)
def test_a_violation_weighs_what_its_rule_does(level: Level, since: str, strict: bool, outcome: CheckOutcome) -> None:
    """A SHOULD is advice unless the run is strict, and a MUST that was added later is advice until its revision."""
    result = run(raising(VIOLATION), level=level, since=since, settings=Settings(strict_should=strict))
    assert (result.outcome, result.wanted, result.saw, result.hint) == (outcome, "a list", "None", "return a list")


def test_a_finding_shows_its_place_or_the_last_call() -> None:
    """The call that showed it."""

    def work(subject: Subject) -> None:
        subject.shown = "describe()"
        raise VIOLATION

    assert run(work).where == "describe()"
    placed = Violation(wanted="a", saw="b", hint="c", where="results[0]")
    assert run(raising(placed)).where == "results[0]"


@pytest.mark.parametrize(
    ("error", "outcome", "saw"),
    [
        (Inapplicable("no close()"), CheckOutcome.INAPPLICABLE, "no close()"),
        (Blocked("3.6 has to hold first"), CheckOutcome.BLOCKED, "3.6 has to hold first"),
        (Inconclusive("nothing found", hint="ask more"), CheckOutcome.INCONCLUSIVE, "nothing found"),
        (OutOfCallsError(), CheckOutcome.INCONCLUSIVE, "stopped by --max-calls=800"),
        (ProviderRaisedError(ValueError("no"), "close()", "do"), CheckOutcome.ERRORED, "raised ValueError: no"),
    ],
)
def test_every_finding_is_an_outcome(error: Exception, outcome: CheckOutcome, saw: str) -> None:
    """With what was observed before it."""
    result = run(raising(error))
    assert (result.outcome, result.saw, result.observations) == (outcome, saw, 2)


@pytest.mark.parametrize(
    "error",
    [TypeError("x"), SystemExit(0), KeyboardInterrupt(), GeneratorExit(), MemoryError(), asyncio.CancelledError()],
)
def test_whatever_else_comes_out_is_the_kits_own_fault(error: BaseException) -> None:
    """A mistake in a check is never blamed on a provider, and never a pass."""
    result = run(raising(error))
    assert result.outcome is CheckOutcome.KIT_ERROR
    assert type(error).__name__ in (result.saw or "")
    assert "please report it" in (result.hint or "")


def test_a_check_whose_task_is_cancelled_was_cancelled_by_the_provider() -> None:
    """Nobody else goes through all tasks of the loop; such a provider would cancel its host, too."""

    async def work() -> None:
        task = asyncio.current_task()
        if task is not None:
            task.cancel()
        await asyncio.sleep(0)

    for level in Level:
        result = run(lambda _: work(), level=level)
        assert (result.outcome, result.saw) == (CheckOutcome.FAILED, "the task that called it was cancelled")


def test_evidence_is_bounded() -> None:
    """Whatever a check puts into it."""
    result = run(raising(Violation(wanted="x" * 10_000, saw="y" * 10_000, hint="h", where="z" * 10_000)))
    assert [len(text or "") for text in (result.wanted, result.saw, result.where)] == [EVIDENCE_MAX] * 3


def test_a_check_that_was_left_out_says_by_which_limit() -> None:
    """And how to allow more."""
    made = check("KP-900", clause="9.9", level=Level.MUST)(run_check_like)
    result = left_out(made, observations=1, calls=2, limit=3)
    assert (result.outcome, result.saw) == (CheckOutcome.INCONCLUSIVE, "stopped by --max-calls=3")
    assert (result.observations, result.calls) == (1, 2)


async def run_check_like(subject: Subject) -> None:
    """Title.

    Rationale.
    """


@pytest.mark.parametrize(
    ("level", "lasting", "outcome", "says_so"),
    [
        (Level.MUST, True, CheckOutcome.FAILED, False),
        (Level.MUST, False, CheckOutcome.FAILED, False),
        (Level.SHOULD, True, CheckOutcome.FAILED, True),
        (Level.SHOULD, False, CheckOutcome.ADVISORY, False),
    ],
)
def test_a_hang_fails_at_any_level_where_no_host_could_end_it(
    level: Level, lasting: bool, outcome: CheckOutcome, says_so: bool
) -> None:
    """Then a SHOULD that fails says why; one that waits for the kit's own and ends when cancelled is a finding."""
    found = Hang(wanted="an end", saw="no answer", hint="bound it", lasting=lasting)
    result = run(raising(found), level=level)
    assert result.outcome is outcome
    assert ("at any level" in (result.hint or "")) is says_so
