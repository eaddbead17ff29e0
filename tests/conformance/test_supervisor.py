"""The supervisor survives whatever a provider does, names the check, goes on with the rest, and is never green."""

import os
import resource
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from doors import SOUND, alive, wait_for

from knowledge_conformance import supervisor
from knowledge_conformance.catalogue import BY_ID
from knowledge_conformance.report import Report
from knowledge_conformance.results import BROKEN, CheckOutcome, CheckResult
from knowledge_conformance.running import Run
from knowledge_conformance.settings import Settings
from knowledge_conformance.supervisor import Supervisor, quiet_seconds, search_path
from knowledge_conformance.target import TargetError
from knowledge_conformance.verdict import Verdict
from knowledge_provider import limits

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
    "takes_descriptors": ("KP-301", CHANNEL),
}
HOLDS_THE_PROCESS = {
    "blocks": ("KP-301", HELD),
    "spins": ("KP-301", HELD),
    "backtracks": ("KP-301", HELD),
    "loops_inside_c": ("KP-301", HELD),
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
    "breaks_the_policy": ("KP-302", "no loop from here"),
    "no_descriptors": ("KP-302", "Too many open files"),
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
    return Run(f"hostile_providers:{name}", settings).all()


def broken(report: Report) -> dict[str, str]:
    return {check.id: check.saw or "" for check in report.checks if check.outcome in BROKEN}


def refuses(report: Report, check_id: str, fragment: str) -> CheckOutcome:
    """Assert that exactly one check is broken and says so, and that the others came to their ends; its outcome."""
    assert list(broken(report)) == [check_id], broken(report)
    assert fragment in broken(report)[check_id]
    outcomes = {check.id: check.outcome for check in report.checks}
    assert outcomes.keys() == BY_ID.keys()
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
    assert [check.id for check in report.checks] == list(BY_ID)
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
    run = Run("hostile_providers:exits_closing", QUICK)
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
        patched.setattr(supervisor._Child, "receive", interrupted)
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
    run = Run(f"hostile_providers:{name}", QUICK)
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
    run = Run(f"hostile_providers:{name}", QUICK)
    try:
        return run.result(BY_ID[check_id])
    finally:
        run.runner.kill()


# Loading.

MODULES = {
    "exits_at_import": "raise SystemExit(0)",
    "crashes_at_import": "import os; os._exit(0)",
    "hangs_at_import": "import time; time.sleep(1000)",
}


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    for name, text in MODULES.items():
        (tmp_path / f"{name}.py").write_text(text)


UNUSABLE = {
    "nowhere:provider": "there is no module 'nowhere' on the path (the folder where the run starts is on it)",
    "bad_targets:none": "it gave a builtins.NoneType, which has no describe and no retrieve",
    "bad_targets:exits": "it raised SystemExit: 3",
    "bad_targets:crashes": "the provider's process ended itself with exit status 0",
    "bad_targets:floods": "more than 1 MiB",
    "exits_at_import:provider": "importing exits_at_import raised SystemExit: 0",
    "crashes_at_import:provider": "the provider's process ended itself with exit status 0",
    "hostile_providers:hostile_instance": "looking at it raised RuntimeError: describe",
    "no colon": "is not a target: wanted module:object, such as acme.search:provider",
}


@pytest.mark.usefixtures("modules")
@pytest.mark.parametrize(("target", "fragment"), UNUSABLE.items())
def test_a_target_that_cannot_be_used_is_one_line(target: str, fragment: str) -> None:
    """Whatever is wrong with a target is said in one line, before any check runs, and nothing is left."""
    runner = Supervisor(target, QUICK)
    with pytest.raises(TargetError) as caught:
        runner.open()
    assert fragment in str(caught.value)
    assert "\n" not in str(caught.value)
    assert runner._child is None


@pytest.mark.usefixtures("modules")
@pytest.mark.parametrize("target", ["bad_targets:never_returns", "hangs_at_import:provider"])
def test_a_target_that_never_opens_is_one_line(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Loading has an end, too."""
    monkeypatch.setattr(supervisor, "LOAD_SECONDS", 1.5)
    with pytest.raises(TargetError, match=r"cannot load .*nothing for 1\.5 s"):
        Supervisor(target, QUICK).open()


def test_a_target_that_does_not_open_again_is_one_red_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A provider that cannot be opened after its process was lost fails one check and blocks the others."""
    monkeypatch.setenv("OPENED_FILE", str(tmp_path / "opened"))
    report = Run("bad_targets:opens_in_one_process", QUICK).all()
    assert list(broken(report)) == ["KP-102", "KP-202"]
    assert "it raised OSError: locked" in broken(report)["KP-202"]
    causes = {check.saw for check in report.checks if check.outcome is CheckOutcome.BLOCKED}
    assert causes == {"KP-102 has to hold first", "KP-202 has to hold first"}


def test_a_factory_that_makes_one_provider_only_is_one_red_line() -> None:
    """A factory target makes a fresh provider for each check."""
    report = Run("bad_targets:opens_once", QUICK).all()
    assert list(broken(report)) == ["KP-102"]
    assert "it raised OSError: used up" in broken(report)["KP-102"]
    assert report.counts[CheckOutcome.BLOCKED] == len(BY_ID) - 2


def test_closing_and_killing_a_runner_that_never_started_do_nothing() -> None:
    """There is nothing to wait for."""
    runner = Supervisor(SOUND, QUICK)
    runner.close(1)
    runner.kill()
    assert runner.calls == 0


# The process.


@pytest.fixture
def many_descriptors() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 1200:
        pytest.skip("this system allows too few descriptors")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 1200), hard))
    held = [socket.socket() for _ in range(1030)]
    yield
    for each in held:
        each.close()
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_program_with_many_descriptors_can_be_watched_from(many_descriptors: None) -> None:
    """select() ends at 1,024; a large test suite does not."""
    run = Run(SOUND, QUICK)
    assert run.result(BY_ID["KP-101"]).outcome is CheckOutcome.PASSED
    run.close()


def test_a_child_leaves_no_descriptor_open() -> None:
    """A run of many lost children must not use up what the caller may have open."""
    before = set(Path("/proc/self/fd").iterdir())
    run = Run("hostile_providers:exits_at_once", QUICK)
    run.result(BY_ID["KP-301"])
    run.result(BY_ID["KP-102"])
    run.close()
    assert set(Path("/proc/self/fd").iterdir()) == before


def test_the_standard_library_comes_before_the_users_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A file json.py beside the provider breaks nothing; the folder still comes before installed packages."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", ["", *search_path()[:2], "/packages", tmp_path])
    library = str(Path(os.__file__).parent)
    path = search_path()
    assert path[0] == library or path[1] == library
    assert path.index(library) < path.index(str(tmp_path)) < path.index("/packages")
    assert len(path) == len(set(path))


def test_the_kits_own_work_gets_more_time_than_a_short_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """A provider with a deadline of a tenth of a second is not blamed for the seconds in which the kit loads itself."""
    assert quiet_seconds(Settings(timeout=0.1)) > limits.CALL_SECONDS_DEFAULT
    assert quiet_seconds(Settings(timeout=100)) > 100
