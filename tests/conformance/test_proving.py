"""Faults put into a provider for real: in child processes by name, in this one where there is no name."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

import archive
import pytest
from doors import SOUND, heeding_ctrl_c, lines, run_pytest

from knowledge_conformance import cli, proving
from knowledge_conformance.catalogue import BY_ID
from knowledge_conformance.leftovers import kit_processes
from knowledge_conformance.nursery import Nursery
from knowledge_conformance.proof import Ending
from knowledge_conformance.proving import prove
from knowledge_conformance.results import CheckOutcome
from knowledge_conformance.running import Run
from knowledge_conformance.settings import Settings
from knowledge_conformance.target import Target
from knowledge_fakes.conformant import CONFORMANT
from knowledge_fakes.faults import FAULTS
from knowledge_fakes.faults.secrets import VARIABLE
from knowledge_fakes.handbook import provider

FEW: Mapping[str, CheckOutcome] = dict.fromkeys(["KP-104", "KP-304", "KP-506"], CheckOutcome.PASSED)


def named(*checks: str) -> list[str]:
    return [fault.name for fault in FAULTS.values() if fault.trips[0] in checks]


@pytest.mark.parametrize("processes", [1, 2])
def test_each_fault_of_the_checks_that_were_run_is_tried(processes: int) -> None:
    """In the catalogue's order, however many processes share them, and each is told as it begins."""
    told: list[str] = []
    proof = prove(SOUND, Settings(), FEW, processes=processes, tell=told.append)
    assert [trial.fault for trial in proof.trials] == named(*FEW)
    assert sorted(told) == sorted(named(*FEW))
    assert {trial.ending for trial in proof.trials} == {Ending.CAUGHT}


def test_a_nursery_that_was_made_earlier_is_used_and_ended() -> None:
    """It has loaded while the checks ran."""
    nursery = Nursery()
    proof = prove(SOUND, Settings(), FEW, nursery=nursery)
    assert proof.holds
    with pytest.raises(RuntimeError, match="has ended"):
        nursery.started(0, 1, 2, mark="m" * 64)


_LOCKED = """
import fcntl
from knowledge_fakes.handbook import HandbookProvider

class Locked(HandbookProvider):
    def __init__(self):
        super().__init__()
        self._file = open({path!r}, "w")
        fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)

    async def close(self):
        self._file.close()
"""


def test_a_provider_that_one_process_can_have_open_meets_one_fault_after_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else each trial would be caught by the lock of the others: a reason is what an opening raised."""
    (tmp_path / "locked_for_one.py").write_text(_LOCKED.format(path=str(tmp_path / "lock")))
    monkeypatch.syspath_prepend(tmp_path)
    sound = dict.fromkeys(["KP-104", "KP-206", "KP-207", "KP-209"], CheckOutcome.PASSED)
    threads = set()

    def tell(_fault: str) -> None:
        threads.add(threading.get_ident())

    proof = prove("locked_for_one:Locked", Settings(), sound, processes=2, tell=tell)
    assert len(threads) == 1
    assert [(trial.fault, trial.ending, trial.reason) for trial in proof.trials] == [
        (name, Ending.CAUGHT, None) for name in named(*sound)
    ]
    assert proof.void is None


def test_a_lethal_fault_takes_a_child_process() -> None:
    """And the next one gets another."""
    lethal = {
        fault.trips[0]: CheckOutcome.PASSED
        for fault in FAULTS.values()
        if fault.name in ("exits", "segmentation_fault")
    }
    proof = prove(SOUND, Settings(timeout=0.5), lethal)
    assert {"exits", "segmentation_fault"} <= {trial.fault for trial in proof.ended(Ending.CAUGHT)}
    assert proof.holds


def assert_nothing_is_missed(target: str, settings: Settings) -> list[str]:
    """The proof holds; the faults that could not show."""
    sound = {check.id: check.outcome for check in Run(target, settings).all().checks}
    proof = prove(target, settings, sound, processes=2)
    assert proof.ended(Ending.MISSED) == []
    assert len(proof.ended(Ending.CAUGHT)) > 150
    return [trial.fault for trial in proof.ended(Ending.HIDDEN)]


@pytest.mark.parametrize("name", ["minimal", "no_scores", "no_sources", "one_document"])
def test_no_fault_is_missed_on_a_conformant_provider(name: str) -> None:
    """One without scores, links, anything to wait for or to raise hides a fault, or the fault brings that itself."""
    case = CONFORMANT[name]
    assert_nothing_is_missed(case.target, Settings(queries=case.queries[:2], **case.settings))


@pytest.mark.parametrize("name", ["matching", "nearest"])
def test_no_fault_is_missed_where_nothing_is_called_as_in_the_handbook(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fault learns whose documents there are, in which bases and under which fields, from what it is asked."""
    monkeypatch.setenv("PYTHONPATH", str(Path(archive.__file__).parent))
    hidden = assert_nothing_is_missed(f"archive:{name}", Settings(**archive.SETTINGS))
    # None of these filters has an operator.
    about = {FAULTS[fault].trips[0] for fault in hidden if fault != "conditions_are_dropped"}
    assert about.isdisjoint({"KP-309", "KP-310", "KP-311", "KP-312", "KP-401", "KP-402", "KP-403", "KP-404", "KP-406"})


def test_a_fault_of_the_first_call_is_caught_by_its_check_alone() -> None:
    """Before it nobody asks that provider, as in a whole run."""
    settings = Settings(inject_network_faults=True)
    proof = prove("knowledge_fakes.over_http:provider", settings, {"KP-524": CheckOutcome.PASSED})
    assert "remembers_that_it_was_down" in {trial.fault for trial in proof.ended(Ending.CAUGHT)}
    assert proof.ended(Ending.MISSED) == []


def test_ctrl_c_ends_the_trials_at_once() -> None:
    """Nothing more begins, and no process is left."""
    told: list[str] = []

    def tell(fault: str) -> None:
        told.append(fault)
        if len(told) == 20:
            # As a terminal does: the faults are told in threads, and the system gives such a signal to the main one.
            os.kill(os.getpid(), signal.SIGINT)

    with heeding_ctrl_c(), pytest.raises(KeyboardInterrupt):
        prove(SOUND, Settings(), dict.fromkeys(BY_ID, CheckOutcome.PASSED), tell=tell)
    assert len(told) < len(FAULTS) / 2
    assert not kit_processes


def test_pytest_ends_a_proof_that_is_interrupted_as_it_ends_a_run(tmp_path: Path) -> None:
    """With exit code 2, after what the run itself found."""
    tmp_path.joinpath("conftest.py").write_text(
        "from knowledge_conformance import proving\n"
        "def prove(*arguments, **named):\n"
        "    raise KeyboardInterrupt\n"
        "proving.prove = prove\n"
    )
    done = run_pytest(tmp_path, f"--provider={SOUND}", "provider::KP-104", "--prove")
    assert done.returncode == 2, done.stdout
    assert lines(done.stdout, starting="the proof") == ["the proof was interrupted, and says nothing"]


def test_a_fault_that_spoils_its_process_says_nothing_of_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is tried after it is caught by its own check, not by what keeps a spoilt process from opening it."""
    names = ("swallows_cancellation_for_ever", "lock_not_released", "thirtieth_call_is_killed")
    monkeypatch.setattr(proving, "FAULTS", {name: FAULTS[name] for name in names})
    monkeypatch.setattr(proving, "WAITING_AT_ONCE", 1)
    proof = prove(SOUND, Settings(), {FAULTS[name].trips[0]: CheckOutcome.PASSED for name in names})
    assert [(trial.fault, trial.ending, trial.reason) for trial in proof.trials] == [
        (name, Ending.CAUGHT, None) for name in names
    ]


def test_a_provider_without_a_name_is_tried_in_this_process() -> None:
    """But for what would take the process away, which is said."""
    sound = {**FEW, FAULTS["segmentation_fault"].trips[0]: CheckOutcome.PASSED}
    proof = prove(Target("<lambda>", provider, instance=False), Settings(), sound)
    assert {trial.fault for trial in proof.ended(Ending.CAUGHT)} >= set(named(*FEW))
    unprotected = next(trial for trial in proof.trials if trial.fault == "segmentation_fault")
    assert unprotected.ending is Ending.HIDDEN
    assert "name the target as module:obj" in str(unprotected.reason)


def test_a_corpus_that_hides_a_fault_is_named_with_what_to_add() -> None:
    """Nothing is promised to find nothing, so no apology can be seen."""
    proof = prove(SOUND, Settings(), {"KP-306": CheckOutcome.INAPPLICABLE})
    assert [(trial.fault, trial.ending) for trial in proof.trials] == [("apology_in_spite_of_a_promise", Ending.HIDDEN)]
    assert "no-hit-query" in str(proof.trials[0].reason)
    told = prove(SOUND, Settings(no_hit_query="zzqx nonsense 9731"), {"KP-306": CheckOutcome.PASSED})
    assert told.holds


def test_pytest_prints_the_proof_after_the_verdict(tmp_path: Path) -> None:
    """Of the checks that were selected."""
    done = run_pytest(tmp_path, f"--provider={SOUND}", "provider::KP-104", "--prove")
    count = len(named("KP-104"))
    assert lines(done.stdout, starting="proof") == [f"proof   {count} faults injected, {count} caught"]
    assert done.returncode == 0, done.stdout


def test_a_provider_that_hides_a_fault_from_its_check_fails_the_run(tmp_path: Path) -> None:
    """With the line that shows the fault at work."""
    # What is put over it is undone again: no fault of the description's can show.
    (tmp_path / "masked.py").write_text(
        "from knowledge_fakes.handbook import HandbookProvider\n"
        "from knowledge_fakes.faults import FAULTS\n"
        "from dataclasses import replace\n"
        "object.__setattr__(FAULTS['key_is_a_title'], 'wrap', lambda sound: sound)\n"
        "provider = HandbookProvider\n"
    )
    done = run_pytest(tmp_path, "--provider=masked:provider", "provider::KP-104", "--prove")
    assert done.returncode == 1
    assert lines(done.stdout, starting="missed")[0].startswith("missed  key_is_a_title: KP-104 passed with it")
    assert "pytest --provider=masked:provider+key_is_a_title provider::KP-104" in done.stdout
    # Before pytest's own, which says that all passed.
    *_, reason, last = filter(None, done.stdout.splitlines())
    count = len(named("KP-104"))
    said = f"{count} faults injected, {count - 1} caught, 1 missed"
    assert reason == f"  exit 1  masked:provider: the proof fails: {said}"
    assert "1 passed" in last


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--host=knowledge_provider:KnowledgeHost"], "only a host: name the provider"),
        (
            ["--host=knowledge_provider:KnowledgeHost", "--composite=knowledge_provider:CompositeProvider"],
            "only a composite and a host: name the provider",
        ),
    ],
)
def test_without_a_provider_there_is_nothing_to_prove(
    given: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By either door a mistake of the command line, and no run that looks as if something had been proved."""
    done = run_pytest(tmp_path, *given, "--prove")
    assert done.returncode == 4
    assert said in done.stdout
    monkeypatch.chdir(tmp_path)
    assert cli.main(["run", *given, "--prove"]) == 4
    assert said in capsys.readouterr().err


def test_the_script_proves_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A provider that fails as it is proves nothing about the checks that do not hold."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("knowledge_conformance.proving.FAULTS", {"key_is_a_title": FAULTS["key_is_a_title"]})
    assert cli.main(["run", f"{SOUND}+key_with_newline", "--prove"]) == 1
    printed = capsys.readouterr().out
    assert "hidden  key_is_a_title: KP-104 does not hold without it" in printed


def test_a_provider_that_cannot_be_opened_any_more_voids_the_proof() -> None:
    """Every fault would seem to be caught."""

    def down() -> object:
        raise ConnectionError("the back end is down now")

    proof = prove(Target("<down>", down, instance=False), Settings(), {"KP-104": CheckOutcome.PASSED})
    assert proof.void is not None
    assert "ConnectionError" in proof.void
    assert not proof.holds


@pytest.mark.parametrize("door", ["plugin", "cli", "suite"])
def test_an_ordinary_run_loads_no_fault(door: str) -> None:
    """Only --prove needs them, and they take a tenth of a second."""
    looked = f"import sys, knowledge_conformance.{door}; print('knowledge_fakes.faults' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", looked], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


@pytest.mark.parametrize("target", [SOUND, Target("<lambda>", provider, instance=False)], ids=["by name", "here"])
@pytest.mark.parametrize("before", [None, "", "another-4711-Key"])
def test_a_fault_lets_out_a_key_of_its_own(
    target: str | Target, before: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is put into anybody's provider, and leaks no key of its own; the environment stays as it is."""
    monkeypatch.setenv("KIT_TEST_KEY", "value-4711-of-ours")
    if before is None:
        monkeypatch.delenv(VARIABLE, raising=False)
    else:
        monkeypatch.setenv(VARIABLE, before)
    proof = prove(target, Settings(secrets=("KIT_TEST_KEY",)), {"KP-604": CheckOutcome.PASSED})
    assert {trial.ending for trial in proof.trials} == {Ending.CAUGHT}
    assert os.environ.get(VARIABLE) == before
