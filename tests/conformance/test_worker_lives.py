"""The life of a provider between its opening and its end, by kind of target, and how many calls it gets."""

import os
from collections import Counter
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import target_kinds

from knowledge_conformance.catalogue import CHECKS
from knowledge_conformance.results import CheckOutcome
from knowledge_conformance.running import Run
from knowledge_conformance.settings import Settings
from knowledge_conformance.target import load
from knowledge_conformance.verdict import Verdict

CLOSING = [check for check in CHECKS if check.closes and check.clause in ("2.2", "2.3")]
KINDS = target_kinds.FACTORIES + target_kinds.MANAGERS + target_kinds.INSTANCES


class Call(NamedTuple):
    provider: str
    loop: str
    thread: str
    what: str


class Record:
    """The calls that were written down."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @property
    def calls(self) -> list[Call]:
        return [Call(*line.split(maxsplit=3)) for line in self._path.read_text().splitlines()]

    @property
    def lives(self) -> list[list[str]]:
        """What was called on each provider, in order."""
        return [[call.what for call in life] for _, life in groupby(self.calls, lambda call: call.provider)]


@pytest.fixture
def record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Record:
    path = tmp_path / "record"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    monkeypatch.setattr(target_kinds, "_FILE", descriptor)
    monkeypatch.setattr(target_kinds, "_loops", [])
    return Record(path)


def run_in_this_process(name: str, **settings: Any) -> Run:
    return Run(load(f"target_kinds:{name}"), Settings(**{"examples": 3, **settings}))


@pytest.mark.parametrize("limit", [0, 1, 2, 50])
@pytest.mark.parametrize("name", KINDS)
def test_the_provider_is_never_called_more_often_than_allowed(name: str, limit: int, record: Record) -> None:
    """Every method counts, close() and what a context manager calls included; what was left out is said."""
    run = run_in_this_process(name, max_calls=limit)
    report = run.all()
    assert len(record.calls) <= run.runner.calls <= limit
    assert len(report.checks) == len(CHECKS)
    stopped = [check for check in report.checks if check.saw == f"stopped by --max-calls={limit}"]
    assert {check.outcome for check in stopped} == {CheckOutcome.INCONCLUSIVE}
    assert report.verdict is Verdict.INCONCLUSIVE


@pytest.mark.parametrize("name", ["factory", "instance"])
def test_the_whole_budget_is_used(name: str, record: Record) -> None:
    """A limit is no reason to look at less than it allows."""
    full = run_in_this_process(name)
    assert full.all().conformant
    needed = full.runner.calls
    assert len(record.calls) == needed
    assert run_in_this_process(name, max_calls=needed + 2).all().conformant


@pytest.mark.parametrize("name", target_kinds.FACTORIES)
def test_a_factory_gives_each_check_a_fresh_provider_and_loop(name: str, record: Record) -> None:
    """Nothing of one check is left in the next, and each provider is closed."""
    assert run_in_this_process(name).all().conformant
    providers = {call.provider for call in record.calls}
    assert len(record.lives) == len(providers) >= len(CHECKS) - 2
    renewed = sum(check.later is not None for check in CHECKS)
    assert len({call.loop for call in record.calls}) == len(providers) + renewed
    assert len({call.thread for call in record.calls}) == 1
    assert all(life[-1] == "close" for life in record.lives)
    # KP-204 closes twice, and the others about closing once, beside the worker at the end of each life.
    closing = len(CLOSING) - 1
    assert Counter(life.count("close") for life in record.lives) == {
        1: len(record.lives) - closing - 1,
        3: 1,
        2: closing,
    }


@pytest.mark.parametrize("name", target_kinds.INSTANCES)
def test_an_instance_lives_on_one_loop_and_one_thread(name: str, record: Record) -> None:
    """It is opened once, and closed once after everything; what closes it before are the checks that do, last."""
    assert run_in_this_process(name).all().conformant
    assert len(record.lives) == 1
    assert len({(call.loop, call.thread) for call in record.calls}) == 1
    life = record.lives[0]
    assert life[-1] == ("close" if name == "instance" else "left")
    before = life[: life.index("close")]
    assert len(before) > len(life) - 30


@pytest.mark.parametrize("name", ["Manager", "AsyncManager", "manager", "async_manager"])
def test_a_context_manager_is_left_once_by_the_task_that_entered_it(name: str, record: Record) -> None:
    """A context manager over a task group raises when another task leaves it."""
    assert run_in_this_process(name).all().conformant
    left = [life[-1] for life in record.lives]
    assert set(left) == {"left"}
    assert all(life.count("left") == 1 for life in record.lives)


def test_a_context_managers_provider_is_not_closed_beside_it(record: Record) -> None:
    """Who opens it closes it: a host that got it out of a context manager leaves that."""
    assert run_in_this_process("context_manager").all().conformant
    closed = [life for life in record.lives if "close" in life]
    assert len(closed) == len([check for check in CLOSING if check.later is None])
