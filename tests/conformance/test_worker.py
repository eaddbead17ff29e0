"""The worker: what it does for one command after another, and what it tells."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from knowledge_conformance import worker as worker_module
from knowledge_conformance.catalogue import BY_ID
from knowledge_conformance.settings import Settings
from knowledge_conformance.target import Target
from knowledge_conformance.watched import OutOfCallsError
from knowledge_conformance.worker import Worker
from knowledge_fakes.handbook import HandbookProvider


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


def test_an_environment_without_hypothesis_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """With what to install; else each generated check would be called a mistake of the kit."""
    monkeypatch.setattr(worker_module, "find_spec", lambda _name: None)
    _, told = worker_of(HandbookProvider)
    (refusal,) = told.of("unusable")
    assert "knowledge-provider-kit[conformance]" in refusal
    assert len(told) == 1


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
