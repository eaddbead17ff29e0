"""The supervisor survives whatever a provider does, names the check, goes on with the rest, and is never green."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from doors import SOUND, alive, hostile, wait_for

from knowledge_conformance import supervisor
from knowledge_conformance.catalogue import BY_ID, CHECKS
from knowledge_conformance.child_process import ChildProcess
from knowledge_conformance.report import Report
from knowledge_conformance.results import BROKEN, CheckOutcome, CheckResult
from knowledge_conformance.running import Run
from knowledge_conformance.settings import Settings
from knowledge_conformance.supervisor import Supervisor
from knowledge_conformance.verdict import Verdict

QUICK = Settings(timeout=0.3, examples=3)
CHANNEL = "the kit's own channel"
HELD = "nothing for"

# Provider: the check that fails, and what it says. Every other check passes, or is blocked by that one.
TAKES_THE_PROCESS = {
    "exits_at_once": ("KP-301", "ended itself with exit status 0"),
    "is_killed": ("KP-301", "SIGKILL (killed, or out of memory)"),
    "interrupts_itself": ("KP-301", "ended by SIGINT"),
    "kills_its_group": ("KP-301", "ended by SIGKILL"),
    "sets_an_alarm": ("KP-301", "ended by SIGALRM"),
    "aborts": ("KP-301", "SIGABRT (an abort)"),
    "reads_address_zero": ("KP-301", "SIGSEGV (a segmentation fault)"),
    "exits_in_health": ("KP-202", "ended itself with exit status 0"),
    "exits_closing": ("KP-204", "ended itself with exit status 0"),
    "ExitsWhenCollected": ("KP-204", "ended itself with exit status 0"),
    "ExitsWhenLeft": ("KP-204", "ended itself with exit status 0"),
    "floods_stdout": ("KP-301", "more than 1 MiB on standard output"),
    "scribbles": ("KP-301", f"foreign bytes on {CHANNEL}"),
    "closes_descriptors": ("KP-301", f"{CHANNEL} was closed"),
}
HOLDS_THE_PROCESS = {
    "takes_descriptors": ("KP-301", CHANNEL),
    "blocks": ("KP-301", HELD),
    "spins": ("KP-301", HELD),
    "backtracks": ("KP-301", HELD),
    "stops": ("KP-301", HELD),
    "blocks_describe": ("KP-102", HELD),
    "BlocksClosing": ("KP-204", HELD),
}
REACHES_OUT = {
    "ExitsInATask": ("KP-301", "SystemExit: 0 out of a task that the provider started"),
    "SwallowsCancellation": ("KP-301", "still running after it was cancelled"),
    "exits": ("KP-301", "raised SystemExit: 0"),
    "raises_interrupt": ("KP-301", "raised KeyboardInterrupt"),
    "runs_out_of_memory": ("KP-301", "raised MemoryError"),
    "breaks_the_policy": ("KP-304", "no loop from here"),
    "no_descriptors": ("KP-304", "Too many open files"),
}
SPOILS_ITS_PROCESS = (
    "patches_time_monotonic",
    "patches_time_perf_counter",
    "patches_threading_thread",
    "patches_asyncio_wait",
    "limits_recursion",
)
HARMLESS = ("does_what_it_likes", "patches_what_it_likes", "starts_threads", "closes_stdout")


def report_on(name: str, settings: Settings = QUICK) -> Report:
    return Run(hostile(name), settings).all()


def broken(report: Report) -> dict[str, str]:
    return {check.id: check.saw or "" for check in report.checks if check.outcome in BROKEN}


def refuses(report: Report, check_id: str, fragment: str) -> CheckOutcome:
    """Assert that exactly one check is broken and says so, and that the others came to their ends; its outcome."""
    assert list(broken(report)) == [check_id], broken(report)
    assert fragment in broken(report)[check_id]
    outcomes = {check.id: check.outcome for check in report.checks}
    assert outcomes.keys() == {check.id for check in CHECKS}
    assert CheckOutcome.PASSED in outcomes.values() or check_id == "KP-101"
    causes = {(check.saw or "").partition(" ")[0] for check in report.checks if check.outcome is CheckOutcome.BLOCKED}
    assert causes <= {check_id}
    assert report.exit_code == 1
    return outcomes[check_id]


def cases(table: dict[str, tuple[str, str]]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(("name", "check_id", "fragment"), [(name, *row) for name, row in table.items()])


@pytest.fixture
def little_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "STALL_GRACE_SECONDS", 1.0)


@cases(TAKES_THE_PROCESS)
def test_a_provider_that_takes_its_process_away_fails_the_check_it_was_on(
    name: str, check_id: str, fragment: str
) -> None:
    """However the process is lost, its check says how, the rest run in a new one, and nothing is green."""
    assert refuses(report_on(name), check_id, fragment) is CheckOutcome.FAILED


def test_a_provider_that_overflows_the_stack_fails_the_check_it_was_on() -> None:
    """By a crash, by the interpreter's own guard, or by the time that it takes: that is the interpreter's choice."""
    found = broken(report_on("overflows_the_stack"))
    assert list(found) == ["KP-301"]
    assert any(end in found["KP-301"] for end in ("SIGSEGV", "RecursionError", "MemoryError", HELD))


def test_a_provider_that_holds_its_process_fails_the_check_it_was_on(little_patience: None) -> None:
    """What no thread and no signal handler can end is ended from outside, in time."""
    with ThreadPoolExecutor(4) as pool:
        for report, (check_id, fragment) in zip(
            pool.map(report_on, HOLDS_THE_PROCESS), HOLDS_THE_PROCESS.values(), strict=True
        ):
            assert refuses(report, check_id, fragment) is CheckOutcome.FAILED


@cases(REACHES_OUT)
def test_a_provider_that_raises_or_reaches_out_fails_one_named_check(name: str, check_id: str, fragment: str) -> None:
    """What comes out of a provider, or is done to the process, is named; more of these are in test_in_process."""
    refuses(report_on(name), check_id, fragment)


@pytest.mark.parametrize("name", SPOILS_ITS_PROCESS)
def test_a_spoilt_process_is_never_green(name: str) -> None:
    """Where one cause has many effects, each check still comes to an end and the verdict is a refusal."""
    report = report_on(name)
    assert [check.id for check in report.checks] == [check.id for check in CHECKS]
    assert report.verdict is Verdict.NOT_CONFORMANT
    assert broken(report)


@pytest.mark.parametrize("name", HARMLESS)
def test_what_does_not_concern_the_kit_does_not_disturb_it(name: str) -> None:
    """The kit's own part of the process stands on nothing that these providers change."""
    report = report_on(name)
    assert broken(report) == {}
    assert report.verdict is Verdict.CONFORMANT


def test_a_task_that_cannot_be_cancelled_is_left_behind() -> None:
    """It ends with the process; whether a provider may leave one is a check's business."""
    assert result_of("LeavesATask", "KP-301").outcome is CheckOutcome.PASSED


def test_a_process_lost_while_closing_fails_a_check_about_closing_that_saw_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Only the first close of this provider takes the process away: KP-204, which then passes, must not be green."""
    run = Run("hostile_lives:exits_closing", QUICK)
    assert run.result(BY_ID["KP-101"]).outcome is CheckOutcome.PASSED
    run.close()
    lost = run.runner
    assert isinstance(lost, Supervisor)
    sound = Run(SOUND, QUICK)
    assert isinstance(sound.runner, Supervisor)
    monkeypatch.setattr(sound.runner, "_lost_closing", lost._lost_closing)
    closing = sound.result(BY_ID["KP-204"])
    sound.close()
    assert (closing.id, closing.outcome) == ("KP-204", CheckOutcome.FAILED)
    assert "exit status 0" in (closing.saw or "")


def test_a_process_lost_at_the_very_end_is_not_green() -> None:
    """A context manager of the whole run is left when every check has its result."""
    report = report_on("exits_when_left")
    assert set(broken(report)) == {"KP-204", "KP-205"}
    assert "exit status 0" in broken(report)["KP-204"]
    assert next(check.where for check in report.checks if check.id == "KP-204") == "the end of the run"


def test_an_interrupted_check_leaves_no_answer_for_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C, or a plugin's time-out: the child goes, and what it still had to say goes with it."""
    run = Run(SOUND, QUICK)
    assert isinstance(run.runner, Supervisor)
    run.runner.open()

    def interrupted(_child: object, _seconds: float) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(ChildProcess, "receive", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run.result(BY_ID["KP-101"])
    assert run.runner._child is None
    assert run.result(BY_ID["KP-102"]).id == "KP-102"
    assert run.result(BY_ID["KP-102"]).outcome is CheckOutcome.PASSED
    run.close()


@pytest.fixture
def offspring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "pids"
    path.touch()
    monkeypatch.setenv("OFFSPRING_FILE", str(path))
    return path


@pytest.mark.parametrize("name", ["spawns", "spawns_a_session", "daemonizes", "forks"])
def test_processes_that_a_provider_leaves_are_gone_after_the_run(name: str, offspring: Path) -> None:
    """A child, one in a session of its own, and a daemon that nothing leads back to all end with the run."""
    run = Run(hostile(name), QUICK)
    run.result(BY_ID["KP-301"])
    wait_for(lambda: bool(offspring.read_text()) or name == "forks")
    run.close()
    pids = [int(pid) for pid in offspring.read_text().split()]
    assert pids or name == "forks"
    assert wait_for(lambda: not alive(pids))


def test_a_lost_process_takes_its_sessions_along(offspring: Path, little_patience: None) -> None:
    """The daemons of a process that had to be killed go with it, also when the loop inside C could not be asked to."""
    result = result_of("spawns_and_loops", "KP-301")
    pids = [int(pid) for pid in offspring.read_text().split()]
    assert (result.outcome, len(pids)) == (CheckOutcome.FAILED, 2)
    assert wait_for(lambda: not alive(pids))


def result_of(name: str, check_id: str) -> CheckResult:
    run = Run(hostile(name), QUICK)
    try:
        return run.result(BY_ID[check_id])
    finally:
        run.runner.kill()
