"""The runner without a child process: the same outcomes wherever a thread can give them, and no waiting for ever."""

import threading
import time
from pathlib import Path
from typing import Any

import pytest
from doors import hostile

from knowledge_conformance import in_process
from knowledge_conformance.api import run_sync
from knowledge_conformance.catalogue import BY_ID, CHECKS
from knowledge_conformance.in_process import InProcess
from knowledge_conformance.kinds import KindName
from knowledge_conformance.report import Report
from knowledge_conformance.results import BROKEN, CheckOutcome
from knowledge_conformance.running import Run
from knowledge_conformance.settings import Settings
from knowledge_conformance.target import Target, TargetError, load
from knowledge_conformance.threads import end_idle_threads
from knowledge_conformance.verdict import Verdict
from knowledge_conformance.worker import Worker
from knowledge_fakes import plain_composite, plain_merging
from knowledge_fakes.handbook import HandbookProvider

QUICK = Settings(timeout=0.3, examples=3)

BREAKS_ITS_CALLER = {
    "ExitsInATask": ("KP-301", "SystemExit: 0 out of a task that the provider started"),
    "StopsTheLoop": ("KP-301", "Event loop stopped"),
    "ClosesTheLoop": ("KP-301", "RuntimeError"),
    "CancelsEverything": ("KP-301", "the task that called it was cancelled"),
    "AwaitsEverything": ("KP-204", "the task that called it was cancelled"),
    "Hangs": ("KP-301", "no answer"),
    "HangsInAThread": ("KP-301", "no answer"),
    "EndlessAwaitable": ("KP-301", "no answer"),
}
RAISES = {
    "exits": ("KP-301", "raised SystemExit: 0"),
    "ExitsInAThread": ("KP-301", "raised SystemExit: 0"),
    "raises_interrupt": ("KP-301", "raised KeyboardInterrupt"),
    "raises_base": ("KP-301", "raised BaseException: base"),
    "raises_generator_exit": ("KP-301", "raised GeneratorExit"),
    "raises_stop": ("KP-301", "raised StopAsyncIteration"),
    "raises_cancelled": ("KP-301", "raised asyncio.exceptions.CancelledError"),
    "CancelsItself": ("KP-301", "raised asyncio.exceptions.CancelledError"),
    "recurses": ("KP-301", "raised RecursionError"),
    "HostileRetrieve": ("KP-301", "raised RuntimeError: not now"),
    "HostileClose": ("KP-101", "raised RuntimeError: do not look"),
}
ANSWERS_NONSENSE = (
    "endless_generator",
    "endless_results",
    "hostile_answer",
    "hostile_keys",
    "hostile_items",
    "lying_answer",
    "lying_items",
    "hostile_description",
    "lying_description",
    "huge_text",
    "mock",
)


def run_on(provider: Any, settings: Settings = QUICK) -> Report:
    return Run(Target("m:provider", provider, instance=False), settings).all()


def report_on(name: str) -> Report:
    return Run(load(hostile(name)), QUICK).all()


def broken(report: Report) -> dict[str, str]:
    return {check.id: check.saw or "" for check in report.checks if check.outcome in BROKEN}


def cases(table: dict[str, tuple[str, str]]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(("name", "check_id", "fragment"), [(name, *row) for name, row in table.items()])


@cases(BREAKS_ITS_CALLER | RAISES)
def test_a_hostile_provider_fails_one_named_check(
    name: str, check_id: str, fragment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What raises, hangs on the loop or reaches for its caller's tasks needs no child process to be survived."""
    monkeypatch.setattr("knowledge_conformance.opened.CLOSE_SECONDS", 0.2)
    report = report_on(name)
    assert list(broken(report)) == [check_id], broken(report)
    assert fragment in broken(report)[check_id]
    found = next(check for check in report.checks if check.id == check_id)
    assert found.outcome is (CheckOutcome.ERRORED if name in RAISES else CheckOutcome.FAILED)
    blocked = {(check.saw or "").partition(" ")[0] for check in report.checks if check.outcome is CheckOutcome.BLOCKED}
    assert blocked <= {check_id}
    assert report.exit_code == 1


@pytest.mark.parametrize("name", ANSWERS_NONSENSE)
def test_nonsense_is_never_green(name: str) -> None:
    """Objects that lie, raise when they are looked at, or never end: every check ends, some fail."""
    report = report_on(name)
    assert [check.id for check in report.checks] == [check.id for check in CHECKS]
    assert report.verdict is Verdict.NOT_CONFORMANT


def test_a_provider_that_finds_nothing_is_inconclusive() -> None:
    """Field case 95: a suite must not pass what does nothing."""
    report = report_on("Null")
    assert report.verdict is Verdict.INCONCLUSIVE
    assert report.exit_code == 1
    assert broken(report) == {}
    found = {check.id: check.outcome for check in report.checks}
    assert found["KP-301"] is found["KP-503"] is CheckOutcome.INCONCLUSIVE


def test_a_thread_that_is_held_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check it was on fails, and the rest run in a new thread."""
    monkeypatch.setattr(in_process, "STALL_GRACE_SECONDS", 0.2)
    monkeypatch.setattr(in_process, "quiet_seconds", lambda _settings: 0.5)
    release = threading.Event()
    asked: list[str] = []

    class Blocks(HandbookProvider):
        async def retrieve(self, request: Any, context: Any) -> Any:
            asked.append(request.query)
            release.wait()
            return await super().retrieve(request, context)

    run = Run(Target("m:blocks", Blocks, instance=False), QUICK)
    run.result(BY_ID["KP-301"])
    held = [thread for thread in threading.enumerate() if thread.name == "knowledge-conformance"]
    report = run.all()
    release.set()
    for thread in held:
        thread.join(timeout=10)
    assert list(broken(report)) == ["KP-301"]
    assert "nothing for 0.5 s" in broken(report)["KP-301"]
    assert report.counts[CheckOutcome.PASSED] == 16
    assert len(asked) == 1  # also when the thread that was held goes on


def test_a_thread_held_while_closing_fails_the_check_about_closing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check before has its result, and the process is not closed again."""
    monkeypatch.setattr(in_process, "STALL_GRACE_SECONDS", 0.1)
    monkeypatch.setattr("knowledge_conformance.opened.CLOSE_SECONDS", 0.1)
    release = threading.Event()
    closed: list[bool] = []

    class Blocks(HandbookProvider):
        async def close(self) -> None:
            closed.append(True)
            if len(closed) == 1:
                release.wait()

    report = run_on(Blocks)
    release.set()
    assert list(broken(report)) == ["KP-204"]
    assert "nothing for" in broken(report)["KP-204"]
    assert len(closed) == 3  # the lost one, and the two of KP-204


def test_a_target_that_never_opens_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loading has an end."""
    monkeypatch.setattr(in_process, "LOAD_SECONDS", 0.1)
    release = threading.Event()

    def factory() -> HandbookProvider:
        release.wait()
        return HandbookProvider()

    runner = InProcess(Target("m:factory", factory, instance=False), QUICK)
    with pytest.raises(TargetError, match=r"cannot load the target: nothing for 0\.1 s"):
        runner.open()
    release.set()


def test_a_target_that_cannot_be_opened_is_one_line() -> None:
    """The same line as from a child process."""
    runner = InProcess("nowhere:provider", QUICK)
    with pytest.raises(TargetError, match="there is no module 'nowhere'"):
        runner.open()
    runner.close(1)
    assert runner.calls == 0


def test_a_factory_that_makes_one_provider_only_is_one_red_line() -> None:
    """As with a child process."""
    made: list[bool] = []

    def once() -> HandbookProvider:
        if made:
            raise OSError("used up")
        made.append(True)
        return HandbookProvider()

    report = run_on(once)
    assert list(broken(report)) == ["KP-102"]
    assert report.counts[CheckOutcome.BLOCKED] == len(CHECKS) - 2


def test_a_worker_that_dies_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A debugger's user waits for ever for a provider, never for the kit's own thread that is gone."""
    monkeypatch.setattr("threading.excepthook", lambda _arguments: None)
    monkeypatch.setattr(Worker, "run", _fail)
    runner = InProcess(Target("m:provider", HandbookProvider, instance=False), QUICK, patient=True)
    runner.open()
    dying = runner._thread
    assert dying is not None
    result = runner.run(BY_ID["KP-101"], 10)
    dying._thread.join()
    assert (result.outcome, result.calls) == (CheckOutcome.FAILED, 0)
    assert "the kit's own code in the provider's process failed" in (result.saw or "")


def _fail(*_arguments: object, **_keywords: object) -> None:
    raise RuntimeError("the kit's own mistake")


def test_an_interrupted_check_leaves_no_answer_for_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """As with a child process."""
    runner = InProcess(Target("m:provider", HandbookProvider, instance=False), QUICK)
    runner.open()

    def interrupted(_thread: object, _seconds: float | None) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(in_process._WorkerThread, "receive", interrupted)
        with pytest.raises(KeyboardInterrupt):
            runner.run(BY_ID["KP-101"], 10)
    assert runner.run(BY_ID["KP-102"], 10).id == "KP-102"
    runner.close(1)


def test_a_thread_held_at_the_very_end_is_not_green(monkeypatch: pytest.MonkeyPatch) -> None:
    """A context manager of the whole run is left when every check has its result."""
    monkeypatch.setattr(in_process, "STALL_GRACE_SECONDS", 0.1)
    monkeypatch.setattr("knowledge_conformance.opened.CLOSE_SECONDS", 0.1)
    release = threading.Event()

    class Manager:
        def __enter__(self) -> HandbookProvider:
            return HandbookProvider()

        def __exit__(self, *_error: object) -> None:
            release.wait()

    run = Run(Target("m:manager", Manager(), instance=True), Settings(examples=1))
    report = run.all()
    release.set()
    assert set(broken(report)) == {"KP-204", "KP-205"}
    assert "nothing for" in broken(report)["KP-204"]


def test_a_patient_runner_waits_longer_than_a_call_may_take(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who steps through a provider must not be cut off."""
    monkeypatch.setattr(in_process, "STALL_GRACE_SECONDS", 0.0)
    monkeypatch.setattr(in_process, "quiet_seconds", lambda _settings: 0.0)

    class Slow(HandbookProvider):
        def describe(self) -> Any:
            time.sleep(0.05)
            return super().describe()

    runner = InProcess(Target("m:slow", Slow, instance=False), Settings(timeout=0.01), patient=True)
    assert runner.run(BY_ID["KP-102"], 10).outcome is CheckOutcome.PASSED
    runner.close(1)


def test_calls_are_counted_and_a_killed_runner_can_start_again() -> None:
    """The budget of a run does not begin anew with a new thread."""
    runner = InProcess(Target("m:provider", HandbookProvider(), instance=True), QUICK)
    runner.run(BY_ID["KP-102"], 10)
    runner.kill()
    runner.run(BY_ID["KP-102"], 10)
    runner.close(1)
    assert runner.calls == 3
    runner.close(1)
    assert runner.calls == 3


ORDINARY: dict[KindName, Any] = {
    "provider": HandbookProvider,
    "composite": plain_composite.factory,
    "merging": plain_merging.factory,
}


# A composite does not await what its children should not have given.
@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")
@pytest.mark.parametrize("kind", ORDINARY)
def test_no_thread_is_left_after_an_ordinary_run(kind: KindName) -> None:
    """A suite that runs the kit a hundred times must not collect threads, whatever it checks."""
    end_idle_threads()
    before = set(threading.enumerate())
    assert run_sync(ORDINARY[kind], Settings(examples=1), kind=kind, in_process=True).conformant
    left = {thread for thread in set(threading.enumerate()) - before if "conformance" in thread.name}
    for thread in left:  # told to end, each ends when it comes to it
        thread.join(timeout=10)
    assert not {thread for thread in left if thread.is_alive()}


def test_the_invocation_directory_is_importable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As it is for a child process, behind the standard library."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [*__import__("sys").path])
    (tmp_path / "only_here.py").write_text("from knowledge_fakes.handbook import provider")
    (tmp_path / "json.py").write_text("raise RuntimeError('shadowed')")
    run = Run("only_here:provider", QUICK, in_process=True)
    assert isinstance(run.runner, InProcess)
    assert run.result(BY_ID["KP-101"]).outcome is CheckOutcome.PASSED
    run.close()
