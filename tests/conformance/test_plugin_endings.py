"""The pytest door and whatever goes wrong: hostile providers, wrong command lines, limits, workers, and signals."""

import signal
import subprocess
from pathlib import Path

import pytest
from doors import FEW, SOUND, Interrupted, alive, ids_in, lines, run_pytest, wait_for

from knowledge_conformance.catalogue import CHECKS
from knowledge_conformance.report import Report
from knowledge_conformance.results import CheckOutcome

Done = subprocess.CompletedProcess[str]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("empty")


# Hostile providers.


@pytest.fixture(scope="module")
def hostile(folder: Path) -> Done:
    targets = ["--provider=hostile_providers:exits_at_once", "--provider=hostile_values:Null"]
    return run_pytest(folder, *targets, f"--provider={SOUND}", targets[0], FEW, "-v", "--provider-report=many.json")


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
    # That of the one that failed has its FAILED line.
    assert [line.split()[:4] for line in lines(hostile.stdout, starting="exit 1")] == [
        ["exit", "1", "hostile_values:Null:", "inconclusive:"]
    ]


def test_a_failure_is_understood_from_its_text_alone(hostile: Done) -> None:
    """Rule, wanted, saw, call, hint, and how to see it again; no traceback of the kit's."""
    start = hostile.stdout.index("KP-301 failed: ")
    text = hostile.stdout[start : hostile.stdout.index("\n---", start)]
    assert "rule    contract clause 3.2, MUST" in text
    assert "saw     the provider's process ended itself with exit status 0" in text
    assert "call    retrieve(RetrievalRequest(query='policy', top_k=5), context)" in text
    assert "again   pytest --provider=hostile_providers:exits_at_once --replay=KP-301.1." in text
    assert "Traceback" not in hostile.stdout


def test_several_reports_are_told_apart_by_their_targets(hostile: Done, folder: Path) -> None:
    """A file for each."""
    reports = {Report.model_validate_json(path.read_text()).target for path in folder.glob("many-*.json")}
    assert reports == {SOUND, "hostile_providers:exits_at_once", "hostile_values:Null"}


def test_field_case_95_a_provider_that_does_nothing_gets_no_pass_for_it(hostile: Done, folder: Path) -> None:
    """Neither the one that never finds anything nor the one that never answers; the two are told apart."""
    null = Report.model_validate_json((folder / "many-hostile-values-Null.json").read_text())
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


# What cannot be run.

UNUSABLE = {
    "--provider=nowhere:provider": "cannot load nowhere:provider: there is no module 'nowhere' on the path",
    "--provider=acme.search": "'acme.search' is not a target: wanted module:object, such as acme.search:provider",
    f"--provider={SOUND} provider::KP-999": "provider::KP-999: there is no check 'KP-999' of a provider; ",
    f"--provider={SOUND} provider::acme:other::KP-101": "there is no provider 'acme:other' in this run",
    f"--provider={SOUND} --provider-timeout=0": "command line: timeout: wanted a number greater than 0, and 0.0 came",
    f"--provider={SOUND} --max-calls=-1": "command line: max-calls: wanted a number that is at least 0, and -1 came",
    f"--provider={SOUND} --require=everything": "wanted 'core', 'filters', 'bases'",
    f"--provider={SOUND} nowhere.py": "file or directory not found: nowhere.py",
    "--replay=KP-303.1.q1YqUrIyNKgFAA.c2Zu5Q": "--replay: no target is named that it could be done with: add one, such",
    "--prove": "--prove: no target is named",
    "--emit-repro=out": "--emit-repro: no target is named",
    "--write-known-failures": "--write-known-failures: no target is named",
    "--record-network=net.json": "--record-network: no target is named",
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


def test_options_that_only_bound_a_run_may_stand_in_a_project_for_all(tmp_path: Path) -> None:
    """Most runs of a project are about its own tests, and have no provider."""
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --max-calls=5 --strict-should --provider-report=r.json\n")
    (tmp_path / "test_own.py").write_text("def test_own(): pass\n")
    done = run_pytest(tmp_path)
    assert (done.returncode, "1 passed" in done.stdout) == (0, True), done.stdout


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
    assert lines(spread.stdout, starting=f"checks  {len(CHECKS)} of {len(CHECKS)}: ")
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
        "--max-calls=120",
        "--provider-query=policy",
        RECORD_FILE=str(tmp_path / "calls"),
        FATAL_CALL="25",
    )
    calls = recorded(tmp_path / "calls")
    assert 90 < len(calls) <= 120
    assert len({name.partition("-")[0] for name, *_ in calls}) > 1, "no process was lost"
    assert done.returncode == 1
    assert "stopped by --max-calls=120" in " ".join(done.stdout.split())


def test_calls_are_limited_over_all_workers(tmp_path: Path) -> None:
    """Two of them have half of it each."""
    target = "--provider=target_kinds:Recorded"
    done = run_pytest(tmp_path, "-p", "xdist", "-n", "2", target, "--max-calls=61", RECORD_FILE=str(tmp_path / "calls"))
    assert 20 < len(recorded(tmp_path / "calls")) <= 61
    assert done.returncode == 1
    assert "stopped by --max-calls=61" in " ".join(done.stdout.split())


def test_an_instance_outlives_a_plugin_that_shuffles(tmp_path: Path) -> None:
    """One loop, one thread, closed once at the end, and before that by the checks about closing, which come last.

    Only what it is on a second loop, and in another process, is seen there.
    """
    target = "--provider=target_kinds:instance"
    done = run_pytest(tmp_path, "-p", "randomly", target, FEW, RECORD_FILE=str(tmp_path / "calls"))
    assert done.returncode == 0, done.stdout
    calls = recorded(tmp_path / "calls")
    first = [call for call in calls if call[0] == calls[0][0]]
    assert len({tuple(call[:3]) for call in first}) == 1
    methods = [method for *_, method in first]
    assert methods[-1] == "close"
    assert methods.index("close") > len(methods) - 20
    assert len(first) > 5 * len([call for call in calls if call not in first])


# The end of the pytest itself.


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_killed_run_leaves_no_process_behind(number: signal.Signals, tmp_path: Path) -> None:
    """Also while the child loops inside C, and has started a process in a session of its own."""
    killed = Interrupted(tmp_path, number, "--provider=hostile_lives:spawns_and_loops")
    assert (killed.status, len(killed.offspring)) == (-number, 2)
    assert wait_for(lambda: not alive(killed.offspring))


def test_ctrl_c_ends_a_run_at_once_and_leaves_no_process_behind(tmp_path: Path) -> None:
    """A real one, told from those that a provider raises; what was found so far is shown."""
    stopped = Interrupted(tmp_path, signal.SIGINT, "--provider=hostile_lives:spawns_and_loops", "-v")
    assert (stopped.status, len(stopped.offspring)) == (2, 2), stopped.output
    assert stopped.seconds < 8
    assert ids_in(stopped.output)[-1] == "KP-203"
    assert "KeyboardInterrupt" in stopped.output
    assert not alive(stopped.offspring)


def test_a_provider_that_kills_the_kit_is_not_green(tmp_path: Path) -> None:
    """Nothing can be said any more; and nothing is left."""
    (tmp_path / "pids").touch()
    target = "--provider=hostile_lives:kills_its_parent"
    done = run_pytest(tmp_path, target, OFFSPRING_FILE=str(tmp_path / "pids"))
    assert done.returncode == -signal.SIGKILL
    pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    assert pids
    assert wait_for(lambda: not alive(pids))
