"""The pytest door, each time in a pytest of its own: what is run, what is printed, and what an idle plugin costs."""

import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from doors import FEW, HERE, SOUND, ids_in, lines, run, run_pytest

from knowledge_conformance.catalogue import BY_ID, CHECKS
from knowledge_conformance.report import Report

Done = subprocess.CompletedProcess[str]

# A conformant provider, in a folder without any file.


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("empty")


@pytest.fixture(scope="module")
def sound(folder: Path) -> Done:
    return run_pytest(folder, f"--provider={SOUND}", "--junitxml=junit.xml", "--provider-report=out/report.json")


def test_no_test_file_no_settings_and_no_plugin_are_needed(sound: Done) -> None:
    """Counts for each chapter, and a verdict that says what it covers and what it does not establish."""
    assert sound.returncode == 0, sound.stdout
    assert lines(sound.stdout, starting="1 Identity  ")
    assert lines(sound.stdout, starting="verdict") == [
        "verdict conformant: core (not exercised: filters, bases, owners, secrets, back-end)"
    ]
    assert lines(sound.stdout, starting=f"checks  {len(CHECKS)} of {len(CHECKS)}: ")
    assert lines(sound.stdout, starting="unsaid")


def test_the_report_has_every_check_and_no_time_and_no_path(sound: Done, folder: Path) -> None:
    """Its folder is made where there is none."""
    text = (folder / "out" / "report.json").read_text()
    report = Report.model_validate_json(text)
    assert [check.id for check in report.checks] == [check.id for check in CHECKS]
    assert report.conformant
    assert str(HERE) not in text
    assert str(folder) not in text


def test_junit_has_a_test_for_each_check_with_its_properties(sound: Done, folder: Path) -> None:
    """For whoever reads results there."""
    tests = list(ET.parse(folder / "junit.xml").getroot().iter("testcase"))
    assert [test.get("name") for test in tests] == [check.id for check in CHECKS]
    for test in tests:
        check = BY_ID[str(test.get("name"))]
        found = {item.get("name"): item.get("value") for item in test.iter("property")}
        outcome = found.pop("outcome")
        assert found == {"clause": check.clause, "level": str(check.level), "facet": str(check.facet)}
        assert outcome in ("passed", "inapplicable")


def test_junit_has_the_verdict_as_properties_of_its_suite(sound: Done, folder: Path) -> None:
    """By kind and target, so that several have room."""
    found = suite_properties(folder / "junit.xml")
    sentence = "conformant: core (not exercised: filters, bases, owners, secrets, back-end)"
    assert found == {f"provider {SOUND} verdict": "conformant", f"provider {SOUND} sentence": sentence}


@pytest.mark.parametrize("spread", [(), ("-p", "xdist", "-n", "2")], ids=("alone", "xdist"))
def test_junit_says_what_to_do_about_a_failure(spread: tuple[str, ...], folder: Path) -> None:
    """Its hint and its fingerprint, by which it is known again; also where other processes ran the checks."""
    target = "knowledge_fakes.faulty:duplicate_ids"
    selected = ("provider::KP-506", "provider::KP-504")
    run_pytest(
        folder, *spread, f"--provider={target}", FEW, *selected, "--junitxml=bad.xml", "--provider-report=b.json"
    )
    failed = next(t for t in ET.parse(folder / "bad.xml").getroot().iter("testcase") if t.get("name") == "KP-506")
    found = {item.get("name"): item.get("value") for item in failed.iter("property")}
    check = next(c for c in Report.model_validate_json((folder / "b.json").read_text()).checks if c.id == "KP-506")
    assert (found["outcome"], found["hint"], found["fingerprint"]) == ("failed", check.hint, check.fingerprint)
    assert check.transcript == ("retrieve(RetrievalRequest(query='policy', top_k=5), context) -> 2 results",)
    assert suite_properties(folder / "bad.xml")[f"provider {target} verdict"] == "not conformant"


def test_what_one_process_at_a_time_can_open_is_refused_to_two(folder: Path) -> None:
    """With a sentence, and soon: the process that has it open would wait for the other for ever."""
    target, only = "--provider=bad_targets:one_process_at_a_time", "provider::KP-104"
    lock = str(folder / "lock")
    done = run_pytest(folder, "-p", "xdist", "-n", "2", target, only, OPENED_FILE=lock)
    assert (done.returncode, "cannot open bad_targets:one_process_at_a_time" in done.stdout) == (4, True), done.stdout


def test_one_process_of_several_opens_it_after_the_trial(folder: Path) -> None:
    """One process at a time may be all that can."""
    target, only = "--provider=bad_targets:one_process_at_a_time", "provider::KP-104"
    done = run_pytest(folder, "-p", "xdist", "-n", "1", target, only, OPENED_FILE=str(folder / "lock"))
    assert done.returncode == 0, done.stdout


def suite_properties(path: Path) -> dict[str | None, str | None]:
    found = ET.parse(path).getroot().findall("./testsuite/properties/property")
    return {item.get("name"): item.get("value") for item in found}


def test_one_run_writes_several_reports(folder: Path) -> None:
    """Each as its suffix says, with what --prove found."""
    names = ("some.json", "some.html", "some.md")
    done = run_pytest(
        folder, f"--provider={SOUND}", "provider::KP-304", "--prove", *(f"--provider-report={name}" for name in names)
    )
    assert done.returncode == 0, done.stdout
    proof = Report.model_validate_json((folder / "some.json").read_text()).proof
    assert proof is not None
    assert proof.holds
    for name in names[1:]:
        assert proof.sentence in (folder / name).read_text()


def test_a_report_of_another_suffix_is_refused(folder: Path) -> None:
    """Before anything is run."""
    done = run_pytest(folder, f"--provider={SOUND}", "--provider-report=report.txt")
    assert done.returncode == 4
    assert "--provider-report: report.txt: a report is written as what its name ends in" in done.stdout


def test_the_same_provider_gives_the_same_report(sound: Done, folder: Path) -> None:
    """Byte for byte, whatever is printed; and with -v each check has its node id, and a line in the summary."""
    again = run_pytest(folder, f"--provider={SOUND}", "--provider-report=again.json", "-v", "--tb=no")
    assert (folder / "again.json").read_bytes() == (folder / "out" / "report.json").read_bytes()
    assert re.findall(r"^provider::(KP-\d+) [A-Z]+ ", again.stdout, re.MULTILINE) == [check.id for check in CHECKS]
    assert ids_in(again.stdout) == [check.id for check in CHECKS]


def test_collecting_lists_the_checks_and_starts_nothing(folder: Path) -> None:
    """Not even a target that is not there."""
    listed = run_pytest(folder, "--provider=nowhere:provider", "--co", "-q")
    assert listed.returncode == 0
    assert lines(listed.stdout, starting="provider::") == [f"provider::{check.id}" for check in CHECKS]
    assert f"{len(CHECKS)} tests collected" in listed.stdout
    assert "verdict" not in listed.stdout


# A selection.


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["provider::KP-105", "provider::KP-101"], ["KP-101", "KP-105"]),
        (["-k", "KP-304 or KP-105", "-q"], ["KP-105", "KP-304"]),
    ],
)
def test_a_selection_runs_those_checks_and_says_nothing_of_the_whole(
    arguments: list[str], expected: list[str], folder: Path
) -> None:
    """What they need is run with them, and whether they passed is the exit code."""
    done = run_pytest(folder, f"--provider={SOUND}", *arguments)
    assert done.returncode == 0, done.stdout
    assert ids_in(done.stdout) == expected
    assert lines(done.stdout, starting=f"verdict partial: {len(expected)} of {len(CHECKS)} checks were run")


def test_a_selection_of_nothing_is_no_success(folder: Path) -> None:
    """Nothing was run."""
    done = run_pytest(folder, f"--provider={SOUND}", "-k", "no_such_check")
    assert done.returncode == 1
    assert "verdict partial: 0 of" in done.stdout


def test_a_selection_that_saw_nothing_is_no_success(folder: Path) -> None:
    """The check was run, and there was nothing to look at."""
    done = run_pytest(folder, "--provider=hostile_values:Null", "provider::KP-503")
    assert done.returncode == 1
    assert "KP-503  inconclusive" in done.stdout


# Beside a project's own tests.


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    (folder / "tests").mkdir()
    (folder / "tests" / "test_own.py").write_text("def test_own(): pass\n")
    package = folder / "acme"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "base.py").write_text("from knowledge_fakes.handbook import HandbookProvider as Base\n")
    (package / "search.py").write_text("import urllib.request\nfrom .base import Base\nclass Search(Base): pass\n")
    for name in ("json", "http", "logging", "asyncio", "queue", "select", "secrets"):
        (folder / f"{name}.py").write_text("raise RuntimeError('shadowed')\n")
    settings = '[tool.knowledge-conformance]\nabsent = ["filters"]\nexamples = 3\n'
    (folder / "pyproject.toml").write_text(f'[tool.pytest.ini_options]\ntestpaths = ["tests"]\n{settings}')
    return folder


def test_alone_it_runs_the_kit_alone(project: Path) -> None:
    """Though the project has tests; its package is found with its relative imports, and its settings hold.

    Files named as the standard library's do not take the place of those.
    """
    done = run_pytest(project, "--provider=acme.search:Search", "-v")
    assert done.returncode == 0, done.stdout
    assert "test_own" not in done.stdout
    assert "verdict conformant: core (not exercised: bases, owners, secrets, back-end; absent: filters)" in done.stdout


def test_with_a_path_both_are_run(project: Path) -> None:
    """And both decide about the exit code."""
    done = run_pytest(project, "--provider=acme.search:Search", "-v", "tests/test_own.py::test_own", "provider::KP-101")
    assert done.returncode == 0, done.stdout
    assert "tests/test_own.py::test_own PASSED" in done.stdout
    assert "provider::KP-101 PASSED" in done.stdout


def test_a_failing_test_beside_a_conformant_provider_fails(tmp_path: Path) -> None:
    """The verdict on the provider is no verdict on the project."""
    (tmp_path / "test_red.py").write_text("def test_red(): assert False\n")
    done = run_pytest(tmp_path, f"--provider={SOUND}", ".", "-k", "red or KP-101", "-v", "--tb=no")
    assert done.returncode == 1
    assert "provider::KP-101 PASSED" in done.stdout


# Requirements.


def test_a_facet_that_is_required_and_was_not_exercised_is_inconclusive(folder: Path) -> None:
    """Nothing failed, and it is no success."""
    done = run_pytest(folder, f"--provider={SOUND}", "--require", "owners", FEW)
    assert done.returncode == 1
    assert "verdict inconclusive: core (not exercised: filters, bases, owners" in done.stdout
    assert "owners: not exercised, though it is required" in " ".join(done.stdout.split())
    assert not lines(done.stdout, starting="FAILED")


@pytest.mark.parametrize(("option", "status"), [([], 0), (["--strict-should"], 1)])
def test_advice_fails_a_strict_run_only(option: list[str], status: int, folder: Path) -> None:
    """It is shown in full either way."""
    done = run_pytest(folder, "--provider=hostile_values:Advised", "-k", "KP-107 or KP-108", *option)
    assert done.returncode == status
    assert f"KP-108  {'failed' if status else 'advisory'} " in done.stdout
    assert "wanted  a label of at most 120 characters" in done.stdout


# Idle.

SHOWS_MODULES = """
import sys

def pytest_unconfigure():
    sys.stdout.write("modules: " + " ".join(sorted(sys.modules)) + "\\n")
"""


@pytest.fixture(scope="module")
def idle(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., set[str]]:
    """The modules that a pytest run without --provider has loaded at its end."""
    folder = tmp_path_factory.mktemp("idle")
    (folder / "conftest.py").write_text(SHOWS_MODULES)
    (folder / "test_own.py").write_text("def test_own(): pass\n")

    def modules(*options: str) -> set[str]:
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:randomly", *options]
        done = run(folder, command, PYTEST_DISABLE_PLUGIN_AUTOLOAD="")
        (line,) = lines(done.stdout, starting="modules: ")
        return set(line.split()[1:])

    return modules


def test_an_idle_run_loads_one_module(idle: Callable[..., set[str]]) -> None:
    """What the plugin costs whoever has it installed and does not use it: its entry, and nothing that it imports."""
    (entry,) = entry_points(group="pytest11", value="knowledge_conformance")
    assert idle() ^ idle("-p", f"no:{entry.name}") == {"knowledge_conformance"}


def test_an_idle_run_is_an_ordinary_run(project: Path) -> None:
    """Without --provider there is no check and no summary."""
    done = run_pytest(project, "tests/test_own.py", "-v")
    assert done.returncode == 0
    assert "KP-" not in done.stdout
    assert "1 passed" in done.stdout


def test_the_options_are_in_pytests_help(folder: Path) -> None:
    """In a group of their own."""
    text = run_pytest(folder, "--help").stdout
    group = text[text.index("knowledge provider conformance:") :]
    for option in ("--provider=", "--provider-query=", "--max-calls=", "--strict-should", "--in-process"):
        assert option in group


def test_reports_are_json_that_others_can_read(sound: Done, folder: Path) -> None:
    """In the order that the documentation shows."""
    document = json.loads((folder / "out" / "report.json").read_text())
    assert list(document)[:6] == ["kit", "protocol", "requirements", "kind", "target", "profile"]
