"""How the supervisor loads a target, finds modules for it, and takes no more of its own process than it gives back."""

import os
import resource
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from doors import SOUND

from knowledge_conformance import supervisor
from knowledge_conformance.catalogue import BY_ID, CHECKS
from knowledge_conformance.child_process import search_path
from knowledge_conformance.report import Report
from knowledge_conformance.results import BROKEN, CheckOutcome
from knowledge_conformance.running import Run
from knowledge_conformance.settings import Settings
from knowledge_conformance.supervisor import Supervisor, quiet_seconds
from knowledge_conformance.target import TargetError
from knowledge_provider import limits

QUICK = Settings(timeout=0.3, examples=3)


def broken(report: Report) -> dict[str, str]:
    return {check.id: check.saw or "" for check in report.checks if check.outcome in BROKEN}


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
    "hostile_values:hostile_instance": "looking at it raised RuntimeError: describe",
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
    monkeypatch.setattr(supervisor, "LOAD_SECONDS", 0.5)
    with pytest.raises(TargetError, match=r"cannot load .*nothing for 0\.5 s"):
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
    assert report.counts[CheckOutcome.BLOCKED] == len(CHECKS) - 2


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
