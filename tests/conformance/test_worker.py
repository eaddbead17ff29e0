"""The worker: the life of a provider between its opening and its end, and how many calls it gets."""

import asyncio
import os
from collections import Counter
from collections.abc import Mapping
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import target_kinds

from knowledge_conformance import worker as worker_module
from knowledge_conformance.catalogue import BY_ID, CHECKS
from knowledge_conformance.results import CheckOutcome
from knowledge_conformance.running import Run
from knowledge_conformance.settings import Settings
from knowledge_conformance.subject import OutOfCallsError
from knowledge_conformance.target import Target, load
from knowledge_conformance.verdict import Verdict
from knowledge_conformance.worker import Worker
from knowledge_fakes.handbook import HandbookProvider

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
    assert len(record.lives) == len(providers) == len({call.loop for call in record.calls}) >= len(CHECKS) - 2
    assert len({call.thread for call in record.calls}) == 1
    assert all(life[-1] == "close" for life in record.lives)
    assert Counter(life.count("close") for life in record.lives) == {1: len(record.lives) - 2, 3: 1, 2: 1}


@pytest.mark.parametrize("name", target_kinds.INSTANCES)
def test_an_instance_lives_on_one_loop_and_one_thread(name: str, record: Record) -> None:
    """It is opened once, and closed once after everything; what closes it before are the checks that do, last."""
    assert run_in_this_process(name).all().conformant
    assert len(record.lives) == 1
    assert len({(call.loop, call.thread) for call in record.calls}) == 1
    life = record.lives[0]
    assert life[-1] == ("close" if name == "instance" else "left")
    before = life[: life.index("close")]
    assert len(before) > len(life) - 10


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
    assert len(closed) == 2  # by the two checks about closing


# One worker, one command at a time.


class Told(list[Mapping[str, object]]):
    """What a worker told."""

    def of(self, name: str) -> list[Any]:
        return [message[name] for message in self if name in message]


def worker_of(factory: Any, *, instance: bool = False, **settings: Any) -> tuple[Worker, Told]:
    told = Told()
    worker = Worker(Target("m:target", factory, instance), Settings(**{"timeout": 0.2, **settings}), told.append)
    worker.open()
    return worker, told


def test_a_result_is_told_before_the_provider_is_closed() -> None:
    """A close that takes the process away must not take the result along."""
    worker, told = worker_of(HandbookProvider)
    worker.run("KP-102", 10)
    assert [next(iter(message)) for message in told] == ["opened", "call", "result", "call", "beat", "ready"]
    assert told.of("call") == ["describe()", "close()"]


def test_a_worker_that_may_not_close_keeps_the_provider() -> None:
    """After closing took a process away, neither close() nor __del__ may run again."""
    ended: list[str] = []

    class Provider(HandbookProvider):
        async def close(self) -> None:
            ended.append("closed")

        def __del__(self) -> None:
            ended.append("forgotten")

    worker, told = worker_of(Provider)
    worker.run("KP-101", 10, close=False)
    assert (ended, told.of("ready")) == ([], [True])
    worker.run("KP-101", 10)
    assert ended[0] == "closed"
    del worker


@pytest.mark.parametrize("limit", [0, 1])
def test_a_provider_without_calls_left_is_not_closed(limit: int) -> None:
    """close() is a call, too."""
    worker, told = worker_of(HandbookProvider)
    worker.close(limit)
    assert told.of("call") == ["close()"] * limit
    assert told.of("closed") == [True]


def test_a_close_that_hangs_is_tried_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else it would cost its time after each check."""
    monkeypatch.setattr(worker_module, "CLOSE_SECONDS", 0.01)
    tried: list[bool] = []

    class Provider(HandbookProvider):
        async def close(self) -> None:
            tried.append(True)
            await asyncio.Event().wait()

    worker, told = worker_of(Provider)
    for check_id in ("KP-101", "KP-102", "KP-103"):
        worker.run(check_id, 10)
    assert (len(tried), len(told.of("result"))) == (1, 3)


@pytest.mark.parametrize("close", [None, "text", 3])
def test_a_close_that_cannot_be_called_is_not(close: object) -> None:
    """What it means is a check's business."""
    provider = HandbookProvider()
    provider.close = close  # type: ignore[method-assign, assignment] # a provider may have anything there
    worker, told = worker_of(provider, instance=True)
    worker.close(10)
    assert (told.of("call"), told.of("closed")) == ([], [True])


@pytest.mark.parametrize("error", [SystemExit(1), KeyboardInterrupt(), RuntimeError("no")])
def test_what_closing_raises_ends_nothing(error: BaseException) -> None:
    """KP-204 looks at it; here the provider only has to go."""

    class Provider(HandbookProvider):
        async def close(self) -> None:
            raise error

    worker, told = worker_of(Provider)
    worker.run("KP-101", 10)
    assert told.of("ready") == [True]


def test_a_provider_that_cannot_be_made_again_is_told() -> None:
    """The run decides what that means."""
    made: list[HandbookProvider] = []

    def once() -> HandbookProvider:
        if made:
            raise OSError("used up")
        made.append(HandbookProvider())
        return made[0]

    worker, told = worker_of(once)
    worker.run("KP-101", 10)
    worker.run("KP-102", 10)
    assert told.of("unopened") == ["cannot open m:target: it raised OSError: used up"]
    assert len(told.of("result")) == 1


def test_a_worker_without_a_target_has_no_provider() -> None:
    """A run that goes on all the same is told so."""
    told = Told()
    worker = Worker("no.such.module:x", Settings(), told.append)
    worker.open()
    worker.run("KP-101", 10)
    assert "there is no module" in told.of("unusable")[0]
    assert told.of("unopened") == ["the target was not opened"]


def test_a_process_without_event_loops_opens_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The provider may have set a policy that gives none, or used up all descriptors."""
    monkeypatch.setattr(asyncio, "new_event_loop", _no_loop)
    _, told = worker_of(HandbookProvider)
    assert told.of("unusable") == ["cannot open m:target: there is no event loop, OSError: none"]


def _no_loop() -> None:
    raise OSError("none")


def test_no_call_is_made_beyond_the_budget_by_whoever_is_left() -> None:
    """A check's own thread may outlive it."""
    worker, told = worker_of(HandbookProvider)
    worker.run("KP-101", 1)
    with pytest.raises(OutOfCallsError):
        worker._announce("retrieve()", 1.0)
    assert told.of("call") == ["close()"]


def test_a_factory_that_stops_the_loop_opens_nothing() -> None:
    """One line, as for any other failure to open."""

    async def factory() -> HandbookProvider:
        asyncio.get_running_loop().stop()
        await asyncio.sleep(10)
        return HandbookProvider()

    _, told = worker_of(factory)
    assert told.of("unusable")[0].startswith("cannot open m:target: it raised RuntimeError")


def test_a_check_that_lost_its_loop_does_not_go_on_behind_the_next() -> None:
    """The instance's loop runs again for the next check, and nothing of the one before may run in it."""
    calls: list[str] = []

    class Provider(HandbookProvider):
        async def retrieve(self, request: Any, context: Any) -> Any:
            calls.append(request.query)
            if len(calls) == 1:
                asyncio.get_running_loop().stop()
            await asyncio.sleep(0)
            return await super().retrieve(request, context)

    worker, told = worker_of(Provider(), instance=True)
    worker.run("KP-301", 50)
    assert len(calls) == 1
    worker.run("KP-102", 50)
    worker.close(10)
    assert len(calls) == 1
    assert [result["outcome"] for result in told.of("result")] == ["failed", "passed"]


def test_tasks_of_a_provider_are_cancelled_with_it() -> None:
    """A provider's loop ends with it, and leaves nothing running."""
    cancelled: list[bool] = []

    class Provider(HandbookProvider):
        async def retrieve(self, request: Any, context: Any) -> Any:
            async def stay() -> None:
                try:
                    await asyncio.sleep(1000)
                finally:
                    cancelled.append(True)

            self.task = asyncio.create_task(stay())
            return await super().retrieve(request, context)

    worker, _ = worker_of(Provider)
    worker.run("KP-301", 50)
    assert cancelled


def test_a_check_gets_no_more_than_it_declares() -> None:
    """A check that asks more often than it said is stopped, whatever the budget."""
    worker, told = worker_of(HandbookProvider, max_calls=1000)
    worker.run("KP-102", 1000)
    assert BY_ID["KP-102"].calls_allowed(Settings()) == told.of("result")[0]["calls"] == 1
