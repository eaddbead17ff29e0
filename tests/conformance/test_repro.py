"""Emitted tests: each fails on the mistake that it was written for, and passes on the same provider without it."""

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from doors import SOUND, run, run_pytest

from knowledge_conformance.catalogue import BY_ID
from knowledge_conformance.report import Report, make_report
from knowledge_conformance.repro import write_repros
from knowledge_conformance.repro_bodies import BODIES
from knowledge_conformance.results import CheckOutcome, CheckResult
from knowledge_conformance.running import Run
from knowledge_conformance.settings import Settings
from knowledge_conformance.target import target_of
from knowledge_fakes import faulty
from knowledge_fakes.faults import FAULTS

# All, for a body that shows one mistake may be wrong about another; but for one that takes ten seconds.
SHOWN = {
    name: fault for name, fault in FAULTS.items()
    if fault.trips[0] in BODIES and not fault.lethal and fault.over == SOUND and name != "health_hangs"
}  # fmt: skip
# A body cannot hear what a call opens, the deadline of a hang is tried once, and one request finds or finds nothing.
UNSHOWN = {"description_from_a_file", "second_close_hangs", "plain_method_reads_the_signal_too_late"}
UNSHOWN |= {"signal_is_read_too_late", "signal_is_read_too_late_in_a_thread", "last_answer_sticks"}


def reported(name: str, **changes: Any) -> tuple[Report, Settings]:
    """The report of the check that a fault trips first, with the fault."""
    fault = FAULTS[name]
    settings = Settings(**{"strict_should": True, "timeout": 2.0, "queries": ("policy",), **fault.settings, **changes})
    target = f"knowledge_fakes.faulty:{name}"
    running = Run(target_of(getattr(faulty, name), target), settings)
    try:
        return running.only(BY_ID[fault.trips[0]]), settings
    finally:
        running.runner.kill()


def emitted(path: Path) -> Callable[[], None]:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    (found,) = (value for name, value in vars(module).items() if name.startswith("test_"))
    return found  # type: ignore[no-any-return] # a module's names have no types


def mended(path: Path, name: str) -> Path:
    text = path.read_text(encoding="utf-8")
    sound = text.replace(f"knowledge_fakes.faulty import {name}", "knowledge_fakes.handbook import provider")
    place = path.with_stem(f"{path.stem}_mended")
    place.write_text(sound.replace(f"target = {name}", "target = provider"), encoding="utf-8")
    assert sound != text
    return place


@pytest.mark.parametrize("name", sorted(SHOWN.keys() - UNSHOWN))
@pytest.mark.filterwarnings("ignore")  # what the faults leave behind is their own matter
def test_an_emitted_test_fails_on_the_fault_and_passes_without_it(name: str, tmp_path: Path) -> None:
    """As the check does."""
    report, settings = reported(name)
    assert report.checks[0].outcome in (CheckOutcome.FAILED, CheckOutcome.ERRORED), report.checks[0]
    (line,) = write_repros(report, settings, tmp_path)
    path = tmp_path / line.split()[0]
    with pytest.raises(BaseException) as raised:  # noqa: PT011 - a provider may raise anything
        emitted(path)()
    assert not isinstance(raised.value, (NameError, SyntaxError, ImportError))
    emitted(mended(path, name))()


@pytest.mark.parametrize("name", sorted(UNSHOWN & SHOWN.keys()))
def test_what_a_few_lines_cannot_show_has_no_test(name: str, tmp_path: Path) -> None:
    """And a line says so: none is better than one that passes on the mistake."""
    report, settings = reported(name)
    (line,) = write_repros(report, settings, tmp_path)
    assert line.startswith(f"no test for {FAULTS[name].trips[0]}: ")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_every_body_asserts(body: str) -> None:
    """A test that asserts nothing would be a promise."""
    assert "assert " in body


def test_every_body_is_tried_with_a_fault() -> None:
    """Or it may show nothing; two need a setting, or a run that a fault does not make."""
    assert BODIES.keys() - {fault.trips[0] for fault in SHOWN.values()} <= {"KP-306", "KP-517", "KP-516"}


def test_a_test_imports_nothing_of_the_kit(tmp_path: Path) -> None:
    """It goes to whoever mends the provider."""
    report, settings = reported("duplicate_ids")
    (line,) = write_repros(report, settings, tmp_path)
    text = (tmp_path / line.split()[0]).read_text()
    assert "knowledge_conformance" not in text
    assert len(text.splitlines()) < 50


@pytest.mark.parametrize("saw", ['"""\nimport os\n"""', "\\", "\ud800 \u202e", "x" * 1000])
def test_evidence_cannot_leave_the_docstring(saw: str, tmp_path: Path) -> None:
    """Whatever a provider answers."""
    report, settings = reported("duplicate_ids")
    evil = report.checks[0].model_copy(update={"saw": saw, "wanted": saw})
    (line,) = write_repros(report.model_copy(update={"checks": (evil,)}), settings, tmp_path)
    compile((tmp_path / line.split()[0]).read_text(encoding="utf-8"), "emitted", "exec")


@pytest.mark.parametrize("query", ['"""', "\\", "a'b\"c", "{7*7}", "{imports}", "ไทย"])
def test_a_request_is_written_as_it_was(query: str, tmp_path: Path) -> None:
    """Quotes, braces and other scripts, too."""
    report, settings = reported("duplicate_ids")
    asked = report.checks[0].model_copy(update={"input": {"request": {"query": query, "top_k": 3}}})
    (line,) = write_repros(report.model_copy(update={"checks": (asked,)}), settings, tmp_path)
    namespace: dict[str, Any] = {"__name__": "emitted"}
    exec((tmp_path / line.split()[0]).read_text(encoding="utf-8"), namespace)
    assert namespace["REQUEST"].query == query
    assert namespace["REQUEST"].top_k == 3


def made(check: CheckResult, target: str = "acme.search:provider") -> Report:
    return make_report(target, [check], Settings())


@pytest.mark.parametrize(
    ("check", "target", "why"),
    [
        (CheckResult(id="KP-506", outcome=CheckOutcome.FAILED), "acme:p", "one request do not show it"),
        (CheckResult(id="KP-705", outcome=CheckOutcome.FAILED), "acme:p", "one request do not show it"),
        (CheckResult(id="KP-101", outcome=CheckOutcome.FAILED), "acme:<lambda>", "cannot be imported"),
        (
            CheckResult(
                id="KP-103",
                outcome=CheckOutcome.FAILED,
                wanted="the provider to answer, or raise, and leave the host's process alone",
            ),
            "acme:p",
            "took its process away",
        ),
    ],
)
def test_no_test_is_said_with_its_reason(check: CheckResult, target: str, why: str, tmp_path: Path) -> None:
    """The reader need not guess."""
    (line,) = write_repros(made(check, target), Settings(), tmp_path / "none")
    assert why in line
    assert not (tmp_path / "none").exists()


def test_nothing_failed_is_said() -> None:
    """An empty folder explains nothing."""
    report = made(CheckResult(id="KP-506", outcome=CheckOutcome.PASSED))
    assert list(write_repros(report, Settings(), Path("nowhere"))) == [
        "no test for acme.search:provider: nothing failed"
    ]


def test_the_option_writes_what_plain_pytest_runs(tmp_path: Path) -> None:
    """Both doors; the emitted test runs without the kit's plugin."""
    target = "knowledge_fakes.faulty:nan_score"
    done = run_pytest(tmp_path, f"--provider={target}", "provider::KP-507", "--emit-repro=out", "--tb=no")
    (path,) = (tmp_path / "out").iterdir()
    assert f"repro   {path.name} shows KP-507" in done.stdout
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    plain = run(tmp_path, [*command, str(path)])
    assert plain.returncode == 1, plain.stdout
    assert "assert all(" in plain.stdout
    whole = run(
        tmp_path, [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(mended(path, "nan_score"))]
    )
    assert whole.returncode == 0, whole.stdout


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    """And exit code 4."""
    (tmp_path / "out").write_text("a file")
    done = run_pytest(
        tmp_path, "--provider=knowledge_fakes.faulty:nan_score", "provider::KP-507", "--emit-repro=out", "--tb=no"
    )
    assert done.returncode == 4
    assert "--emit-repro: cannot write into" in done.stdout
