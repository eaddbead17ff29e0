"""Children that are forked are children like any others, and what forks them leaves nothing behind."""

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from doors import SOUND, alive, hostile, wait_for

from knowledge_conformance.catalogue import BY_ID
from knowledge_conformance.nursery import Nursery
from knowledge_conformance.results import CheckOutcome, CheckResult
from knowledge_conformance.settings import Settings
from knowledge_conformance.supervisor import Supervisor

SETTINGS = Settings(timeout=0.5, examples=3)
BOUND = 1000


@pytest.fixture
def nursery() -> Iterator[Nursery]:
    with Nursery() as nursery:
        yield nursery


def result_of(target: str, nursery: Nursery, check: str = "KP-301") -> CheckResult:
    supervisor = Supervisor(target, SETTINGS, starting=nursery.started)
    try:
        return supervisor.run(BY_ID[check], BOUND)
    finally:
        supervisor.kill()


def test_a_forked_child_runs_checks(nursery: Nursery) -> None:
    """One after another, each in a child of its own."""
    for check in ("KP-101", "KP-301", "KP-204"):
        assert result_of(SOUND, nursery, check).outcome is CheckOutcome.PASSED


@pytest.mark.parametrize(
    ("fault", "fragment"),
    [
        ("segmentation_fault", "SIGSEGV"),
        ("ends_the_process", "exit status 0"),
        ("kills_the_process", "SIGKILL"),
        ("floods_standard_output", "standard output"),
        ("closes_every_descriptor", "exit status 1"),
        ("loop_inside_c", "inside C code called from knowledge_fakes.faults.process"),
    ],
)
def test_what_became_of_a_forked_child_is_told(nursery: Nursery, fault: str, fragment: str) -> None:
    """Though only its parent, which is another process, can know that; and the next child is a sound one."""
    result = result_of(f"{SOUND}+{fault}", nursery)
    assert fragment in str(result.saw)
    assert result_of(SOUND, nursery).outcome is CheckOutcome.PASSED


@pytest.mark.parametrize("name", ["spawns_a_session", "daemonizes", "forks_and_reports"])
def test_processes_that_a_provider_leaves_end_with_the_nursery(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A daemon too, which is a fork itself, and whose environment shows the mark of the nursery alone."""
    offspring = tmp_path / "offspring"
    offspring.touch()
    monkeypatch.setenv("OFFSPRING_FILE", str(offspring))
    with Nursery() as nursery:
        supervisor = Supervisor(hostile(name), SETTINGS, starting=nursery.started)
        supervisor.run(BY_ID["KP-301"], BOUND)
        assert wait_for(lambda: bool(offspring.read_text()))
        supervisor.kill()
    assert wait_for(lambda: not alive(int(pid) for pid in offspring.read_text().split()))


def test_a_lost_nursery_costs_nothing_but_time() -> None:
    """A child is then a process of its own."""
    with Nursery() as nursery:
        assert result_of(SOUND, nursery).outcome is CheckOutcome.PASSED
        for pid in forking():
            os.kill(pid, signal.SIGKILL)
        assert result_of(SOUND, nursery).outcome is CheckOutcome.PASSED


def test_nothing_is_left_of_a_nursery() -> None:
    """Neither of what forks, nor of a child that nobody ended."""
    commands, commands_to = os.pipe()
    results, results_to = os.pipe()
    with Nursery() as nursery:
        child = nursery.started(commands, results_to, results_to, mark="0" * 64)
        pids = [*forking(), child.pid]
        assert len(pids) == 2
        assert child.poll() is None
        with pytest.raises(subprocess.TimeoutExpired):
            child.wait(0)
    assert wait_for(lambda: not alive(pids))
    assert child.wait() == -signal.SIGKILL
    with pytest.raises(RuntimeError, match="has ended"):
        nursery.started(commands, results_to, results_to, mark="0" * 64)
    for descriptor in (commands, commands_to, results, results_to):
        os.close(descriptor)
    assert child.stdout is not None
    child.stdout.close()


def forking() -> list[int]:
    """The processes of this one that fork children."""
    found = (each.read_text().split() for each in Path("/proc/self/task").glob("*/children"))
    commands = {int(pid): Path(f"/proc/{pid}/cmdline").read_bytes() for pids in found for pid in pids}
    return [pid for pid, command in commands.items() if b"knowledge_conformance.nursery" in command]
