"""The pytest door, each time in a pytest of its own: options, node ids, exit codes, and what is left behind."""

import json
import re
import signal
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from doors import HERE, SOUND, Interrupted, alive, lines, run, run_pytest, wait_for

from knowledge_conformance.catalogue import BY_ID, CHECKS
from knowledge_conformance.report import Report
from knowledge_conformance.results import CheckOutcome

Done = subprocess.CompletedProcess[str]
FEW = "--provider-examples=1"


def ids_in(text: str) -> list[str]:
    """The ids that have a line of their own in a summary."""
    return [line.split()[0] for line in text.splitlines() if re.match(r"KP-\d+  \w", line)]


# A conformant provider, in a folder without any file.


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("empty")


@pytest.fixture(scope="module")
def sound(folder: Path) -> Done:
    return run_pytest(folder, f"--provider={SOUND}", "--junitxml=junit.xml", "--provider-report=out/report.json")


def test_no_test_file_no_settings_and_no_plugin_are_needed(sound: Done) -> None:
    """One line for each check with its id, and a verdict that says what it covers and what it does not establish."""
    assert sound.returncode == 0, sound.stdout
    assert ids_in(sound.stdout) == list(BY_ID)
    assert lines(sound.stdout, starting="verdict") == [
        "verdict conformant: core (not exercised: filters, bases, owners, secrets, back-end)"
    ]
    assert lines(sound.stdout, starting=f"checks  {len(CHECKS)} of {len(CHECKS)}: ")
    assert lines(sound.stdout, starting="unsaid")


def test_the_report_has_every_check_and_no_time_and_no_path(sound: Done, folder: Path) -> None:
    """Its folder is made where there is none."""
    text = (folder / "out" / "report.json").read_text()
    report = Report.model_validate_json(text)
    assert [check.id for check in report.checks] == list(BY_ID)
    assert report.conformant
    assert str(HERE) not in text
    assert str(folder) not in text


def test_junit_has_a_test_for_each_check_with_its_properties(sound: Done, folder: Path) -> None:
    """For whoever reads results there."""
    tests = list(ET.parse(folder / "junit.xml").getroot().iter("testcase"))
    assert [test.get("name") for test in tests] == list(BY_ID)
    for test in tests:
        check = BY_ID[str(test.get("name"))]
        found = {item.get("name"): item.get("value") for item in test.iter("property")}
        outcome = found.pop("outcome")
        assert found == {"clause": check.clause, "level": str(check.level), "facet": str(check.facet)}
        assert outcome in ("passed", "inapplicable")


def test_the_same_provider_gives_the_same_report(sound: Done, folder: Path) -> None:
    """Byte for byte, whatever is printed; and with -v each check has its node id."""
    again = run_pytest(folder, f"--provider={SOUND}", "--provider-report=again.json", "-v", "--tb=no")
    assert (folder / "again.json").read_bytes() == (folder / "out" / "report.json").read_bytes()
    assert re.findall(r"^provider::(KP-\d+) [A-Z]+ ", again.stdout, re.MULTILINE) == list(BY_ID)


def test_collecting_lists_the_checks_and_starts_nothing(folder: Path) -> None:
    """Not even a target that is not there."""
    listed = run_pytest(folder, "--provider=nowhere:provider", "--co", "-q")
    assert listed.returncode == 0
    assert lines(listed.stdout, starting="provider::") == [f"provider::{check_id}" for check_id in BY_ID]
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
    done = run_pytest(folder, "--provider=hostile_providers:Null", "provider::KP-503")
    assert done.returncode == 1
    assert "KP-503  inconclusive" in done.stdout


# Hostile providers.


@pytest.fixture(scope="module")
def hostile(folder: Path) -> Done:
    targets = [f"--provider=hostile_providers:{name}" for name in ("exits_at_once", "Null")]
    return run_pytest(folder, *targets, f"--provider={SOUND}", targets[0], FEW, "--provider-report=many.json")


def test_hostile_providers_fail_by_name_and_the_rest_go_on(hostile: Done) -> None:
    """Each target has its own verdict, duplicates are one, and the exit code is 1."""
    assert hostile.returncode == 1
    failed = lines(hostile.stdout, starting="FAILED")
    assert [line.split()[1] for line in failed] == ["provider::hostile_providers:exits_at_once::KP-301"]
    assert lines(hostile.stdout, starting="verdict") == [
        "verdict not conformant: core (not exercised: filters, bases, owners, secrets, back-end)",
        "verdict inconclusive: core (not exercised: filters, bases, owners, secrets, back-end)",
        "verdict conformant: core (not exercised: filters, bases, owners, secrets, back-end)",
    ]
    assert len(ids_in(hostile.stdout)) == 3 * len(CHECKS)


def test_a_failure_is_understood_from_its_text_alone(hostile: Done) -> None:
    """Rule, wanted, saw, call, hint, and how to see it again; no traceback of the kit's."""
    start = hostile.stdout.index("KP-301 failed: ")
    text = hostile.stdout[start : hostile.stdout.index("\n---", start)]
    assert "rule    contract clause 3.2, MUST" in text
    assert "saw     the provider's process ended itself with exit status 0" in text
    assert "call    retrieve(RetrievalRequest(query='policy', top_k=5), context)" in text
    assert "again   pytest --provider=hostile_providers:exits_at_once provider::KP-301" in text
    assert "Traceback" not in hostile.stdout


def test_several_reports_are_told_apart_by_their_targets(hostile: Done, folder: Path) -> None:
    """A file for each."""
    reports = {Report.model_validate_json(path.read_text()).target for path in folder.glob("many-*.json")}
    assert reports == {SOUND, "hostile_providers:exits_at_once", "hostile_providers:Null"}


def test_field_case_95_a_provider_that_does_nothing_gets_no_pass_for_it(hostile: Done, folder: Path) -> None:
    """Neither the one that never finds anything nor the one that never answers; the two are told apart."""
    null = Report.model_validate_json((folder / "many-hostile-providers-Null.json").read_text())
    assert (null.verdict, null.counts[CheckOutcome.FAILED]) == ("inconclusive", 0)
    found = {check.id: check.outcome for check in null.checks}
    assert found["KP-301"] is found["KP-503"] is found["KP-701"] is CheckOutcome.INCONCLUSIVE
    dead = Report.model_validate_json((folder / "many-hostile-providers-exits-at-once.json").read_text())
    found = {check.id: check.outcome for check in dead.checks}
    assert (dead.verdict, found["KP-301"], found["KP-503"]) == ("not conformant", "failed", "blocked")


def test_the_first_failure_ends_a_run_that_asks_for_that(folder: Path) -> None:
    """-x; the checks before it are reported, quietly."""
    done = run_pytest(folder, "--provider=hostile_providers:exits_at_once", "-x", "-q", "--tb=no")
    assert done.returncode == 1
    assert ids_in(done.stdout)[-1] == "KP-301"
    assert "verdict not conformant" in done.stdout


def test_last_failed_runs_what_failed(folder: Path) -> None:
    """Node ids are stable from run to run."""
    arguments = "-p", "cacheprovider", "--provider=hostile_providers:exits_at_once", "-k", "KP-101 or KP-301"
    assert run_pytest(folder, *arguments).returncode == 1
    again = run_pytest(folder, *arguments, "--lf")
    assert again.returncode == 1
    assert ids_in(again.stdout) == ["KP-301"]


@pytest.mark.parametrize(("target", "status"), [(SOUND, 0), ("hostile_providers:is_killed", 1)])
def test_without_a_terminal_the_exit_code_stays(target: str, status: int, folder: Path) -> None:
    """-p no:terminal."""
    done = run_pytest(folder, f"--provider={target}", "-p", "no:terminal", "provider::KP-301")
    assert (done.returncode, done.stdout) == (status, "")


def test_in_process_runs_without_a_child(folder: Path) -> None:
    """For debuggers; what raises is survived there, too."""
    done = run_pytest(folder, "--provider=hostile_providers:exits", "--in-process", "provider::KP-301", "--tb=short")
    assert done.returncode == 1
    assert "KP-301  errored" in done.stdout
    assert lines(done.stdout, starting="FAILED provider::KP-301")


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


@pytest.mark.parametrize("arguments", [["tests"], ["tests/test_own.py::test_own", "provider::KP-101"]])
def test_with_a_path_both_are_run(arguments: list[str], project: Path) -> None:
    """And both decide about the exit code."""
    done = run_pytest(project, "--provider=acme.search:Search", "-v", "-k", "own or KP-101", *arguments)
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
    done = run_pytest(folder, "--provider=hostile_providers:Advised", "-k", "KP-107 or KP-108", *option)
    assert done.returncode == status
    assert f"KP-108  {'failed' if status else 'advisory'} " in done.stdout
    assert "wanted  a label of at most 120 characters" in done.stdout


# What cannot be run.

UNUSABLE = {
    "--provider=nowhere:provider": "cannot load nowhere:provider: there is no module 'nowhere' on the path",
    "--provider=bad_targets:crashes": "cannot load bad_targets:crashes: the provider's process ended itself",
    "--provider=acme.search": "'acme.search' is not a target: wanted module:object, such as acme.search:provider",
    f"--provider={SOUND} provider::KP-999": "provider::KP-999: there is no check 'KP-999'; knowledge-kit checks lists",
    f"--provider={SOUND} provider::acme:other::KP-101": "there is no provider 'acme:other' in this run",
    f"--provider={SOUND} --provider-timeout=0": "command line: timeout: input should be greater than 0",
    f"--provider={SOUND} --max-calls=-1": "command line: max-calls: input should be greater than or equal to 0",
    f"--provider={SOUND} --require=everything": "input should be 'core', 'filters', 'bases'",
    f"--provider={SOUND} nowhere.py": "file or directory not found: nowhere.py",
}


@pytest.mark.parametrize(("arguments", "fragment"), UNUSABLE.items(), ids=UNUSABLE)
def test_what_cannot_be_run_is_one_line_and_4(arguments: str, fragment: str, folder: Path) -> None:
    """Pytest's own exit code for a wrong command line; no report is written of a run that was none."""
    done = run_pytest(folder, *arguments.split(), "--provider-report=none.json")
    assert done.returncode == 4, done.stdout
    (line,) = lines(done.stdout, starting="ERROR: ")
    assert fragment in line
    assert "Traceback" not in done.stdout
    assert not (folder / "none.json").exists()


def test_settings_that_cannot_be_used_are_one_line_and_4(tmp_path: Path) -> None:
    """From the file, before anything is started."""
    (tmp_path / "knowledge-conformance.toml").write_text('max-cals = 3\nsecrets = ["sk-live-9f8e7d6c5b4a39281706"]')
    done = run_pytest(tmp_path, f"--provider={SOUND}")
    assert done.returncode == 4
    assert "knowledge-conformance.toml: max-cals: there is no such setting" in done.stdout
    assert "9f8e7d6c5b4a" not in done.stdout


def test_a_report_that_cannot_be_written_is_4_after_the_verdict(folder: Path) -> None:
    """What was found is not lost with it."""
    done = run_pytest(folder, f"--provider={SOUND}", "--provider-report=/proc/nowhere/report.json", "-k", "KP-101")
    assert done.returncode == 4
    assert "verdict partial" in done.stdout
    assert lines(done.stdout, starting="--provider-report: cannot write /proc/nowhere/report.json: ")


# Several processes.


@pytest.fixture(scope="module")
def spread(folder: Path) -> Done:
    return run_pytest(folder, "-p", "xdist", "-n", "2", f"--provider={SOUND}", FEW, "--provider-report=spread.json")


def test_workers_share_the_checks_and_the_controller_puts_them_together(spread: Done, folder: Path) -> None:
    """One line for each, one verdict, one report."""
    assert spread.returncode == 0, spread.stdout
    assert ids_in(spread.stdout) == list(BY_ID)
    assert Report.model_validate_json((folder / "spread.json").read_text()).conformant


@pytest.mark.parametrize(
    ("arguments", "fragment"),
    [
        (["--provider=nowhere:provider"], "cannot load nowhere:provider: there is no module"),
        ([f"--provider={SOUND}", "provider::KP-999"], "provider::KP-999: there is no check 'KP-999'"),
    ],
)
def test_what_cannot_be_run_is_one_line_for_workers_too(arguments: list[str], fragment: str, folder: Path) -> None:
    """Said by the controller, before it starts them."""
    done = run_pytest(folder, "-p", "xdist", "-n", "2", *arguments)
    assert done.returncode == 4, done.stdout
    assert fragment in done.stdout
    assert "INTERNALERROR" not in done.stdout


# How often a provider is called.


def recorded(path: Path) -> list[list[str]]:
    """Provider, loop, thread and method of each call that was written down."""
    return [line.split() for line in path.read_text().splitlines()]


@pytest.mark.parametrize("target", ["factory", "instance"])
def test_calls_are_limited_over_lost_processes_and_said(target: str, tmp_path: Path) -> None:
    """A provider that takes its process away again and again gets no new budget for it."""
    done = run_pytest(
        tmp_path,
        f"--provider=target_kinds:{target}",
        "--max-calls=60",
        "--provider-query=policy",
        RECORD_FILE=str(tmp_path / "calls"),
        FATAL_QUERY="title:",
    )
    calls = recorded(tmp_path / "calls")
    assert 40 < len(calls) <= 60
    assert len({name.partition("-")[0] for name, *_ in calls}) > 1, "no process was lost"
    assert done.returncode == 1
    assert "stopped by --max-calls=60" in " ".join(done.stdout.split())


def test_calls_are_limited_over_all_workers(tmp_path: Path) -> None:
    """Two of them have half of it each."""
    target = "--provider=target_kinds:Recorded"
    done = run_pytest(tmp_path, "-p", "xdist", "-n", "2", target, "--max-calls=61", RECORD_FILE=str(tmp_path / "calls"))
    assert 20 < len(recorded(tmp_path / "calls")) <= 61
    assert done.returncode == 1
    assert "stopped by --max-calls=61" in " ".join(done.stdout.split())


def test_an_instance_outlives_a_plugin_that_shuffles(tmp_path: Path) -> None:
    """One loop, one thread, closed once at the end, and before that by the checks about closing, which come last."""
    target = "--provider=target_kinds:instance"
    done = run_pytest(tmp_path, "-p", "randomly", target, FEW, RECORD_FILE=str(tmp_path / "calls"))
    assert done.returncode == 0, done.stdout
    calls = recorded(tmp_path / "calls")
    assert len({tuple(call[:3]) for call in calls}) == 1
    methods = [method for *_, method in calls]
    assert methods[-1] == "close"
    assert methods.count("close") == 4
    assert "retrieve" not in methods[methods.index("close") : -3]


# The end of the pytest itself.


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_run_leaves_no_process_behind(number: signal.Signals, tmp_path: Path) -> None:
    """Also while the child loops inside C, and has started a process in a session of its own."""
    killed = Interrupted(tmp_path, number, "--provider=hostile_providers:spawns_and_loops")
    assert (killed.status, len(killed.offspring)) == (-number, 2)
    assert wait_for(lambda: not alive(killed.offspring))


def test_ctrl_c_ends_a_run_at_once_and_leaves_no_process_behind(tmp_path: Path) -> None:
    """A real one, told from those that a provider raises; what was found so far is shown."""
    stopped = Interrupted(tmp_path, signal.SIGINT, "--provider=hostile_providers:spawns_and_loops")
    assert (stopped.status, len(stopped.offspring)) == (2, 2)
    assert stopped.seconds < 8
    assert ids_in(stopped.output)[-1] == "KP-203"
    assert "KeyboardInterrupt" in stopped.output
    assert not alive(stopped.offspring)


def test_a_provider_that_kills_the_kit_is_not_green(tmp_path: Path) -> None:
    """Nothing can be said any more; and nothing is left."""
    (tmp_path / "pids").touch()
    target = "--provider=hostile_providers:kills_its_parent"
    done = run_pytest(tmp_path, target, OFFSPRING_FILE=str(tmp_path / "pids"))
    assert done.returncode == -signal.SIGKILL
    pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    assert pids
    assert wait_for(lambda: not alive(pids))


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
    assert list(document)[:5] == ["kit", "protocol", "requirements", "target", "verdict"]
