"""Clause 9.6: the caller's cancellation reaches every child, and none is left running that lets itself be ended."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest

from knowledge_fakes.scripted import BlockingProvider, DeafProvider, HeldProvider, ScriptedProvider
from knowledge_provider import (
    CancelSignal,
    CompositeProvider,
    KnowledgeAllSourcesFailedError,
    RetrievalContext,
    RetrievalRequest,
)

REQUEST = RetrievalRequest(query="release policy", top_k=8)
FOUND = [{"id": "1", "content": "Refunds take 14 days."}]

Cancel = Callable[["asyncio.Task[Any]", CancelSignal], object]


def by_task(task: "asyncio.Task[Any]", signal: CancelSignal) -> None:
    task.cancel()


def by_signal(task: "asyncio.Task[Any]", signal: CancelSignal) -> None:
    signal.cancel("the user went on")


each_way = pytest.mark.parametrize("cancel", [by_task, by_signal])


def context(signal: CancelSignal) -> RetrievalContext:
    return RetrievalContext(owner_id="alice", signal=signal)


async def cancelled(composite: CompositeProvider, children: list[Any], cancel: Cancel) -> float:
    """Cancel a call once all ``children`` are under way; the seconds until the cancellation has come out of it."""
    signal = CancelSignal()
    call = asyncio.create_task(composite.retrieve(REQUEST, context(signal)))
    for child in children:
        await child.started.wait()
    began = time.monotonic()
    cancel(call, signal)
    await asyncio.wait({call}, timeout=5)
    assert call.cancelled()
    return time.monotonic() - began


def others() -> list["asyncio.Task[Any]"]:
    return [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]


async def none_abandoned(composite: CompositeProvider) -> None:
    while composite.abandoned:  # noqa: ASYNC110 - the end of a thread has no event of its own
        await asyncio.sleep(0)


@each_way
@pytest.mark.parametrize("nested", [False, True])
def test_every_child_is_told_and_none_is_left(cancel: Cancel, nested: bool) -> None:
    """Its signal and its task are cancelled, through a composite of composites too."""

    async def run() -> None:
        held = [HeldProvider() for _ in range(5)]
        children: dict[str, Any] = {f"c{at}": child for at, child in enumerate(held)}
        composite = CompositeProvider({"inner": CompositeProvider(children)} if nested else children)
        await cancelled(composite, held, cancel)
        assert all(child.told.is_set() and child.cancelled.is_set() and child.ended.is_set() for child in held)
        assert not others()
        assert composite.abandoned == 0

    asyncio.run(run())


@each_way
def test_it_works_again_afterwards(cancel: Cancel) -> None:
    """Clause 7.2."""

    async def run() -> list[str]:
        child = HeldProvider([FOUND], held=1)
        composite = CompositeProvider({"a": child})
        await cancelled(composite, [child], cancel)
        answer = await composite.retrieve(REQUEST, context(CancelSignal()))
        return [result["id"] for result in answer["results"]]

    assert asyncio.run(run()) == ["a:1"]


@each_way
def test_who_does_not_let_itself_be_ended_is_given_up_and_counted(cancel: Cancel) -> None:
    """Clause 7.1: the cancellation comes out within a second all the same, and the count falls when they end."""

    async def run() -> None:
        with DeafProvider() as deaf, BlockingProvider() as blocking, HeldProvider() as held:
            stubborn = [deaf, blocking]
            composite = CompositeProvider({"deaf": deaf, "blocking": blocking, "held": held})
            assert await cancelled(composite, [*stubborn, held], cancel) < 1.0
            assert composite.abandoned == len(stubborn)
            assert all(child.told.is_set() for child in [*stubborn, held])
        for child in stubborn:
            await child.ended.wait()
        await none_abandoned(composite)

    asyncio.run(asyncio.wait_for(run(), 5))


def test_a_child_past_its_deadline_is_given_up_and_its_late_answer_dropped() -> None:
    """Clauses 8.6 and 9.2, field case 77: the others' results are there in time, and the late ones nowhere."""

    async def run() -> None:
        with DeafProvider([FOUND]) as deaf, BlockingProvider([FOUND]) as blocking:
            children = {"deaf": deaf, "blocking": blocking, "good": ScriptedProvider([FOUND])}
            composite = CompositeProvider(children, timeout=0.5)
            answer = await composite.retrieve(REQUEST, context(CancelSignal()))
            assert [result["id"] for result in answer["results"]] == ["good:1"]
            assert [(source["status"], source.get("reason")) for source in answer["sources"]] == [
                ("failed", "timeout"),
                ("failed", "timeout"),
                ("hit", None),
            ]
            assert composite.abandoned == 2
        await none_abandoned(composite)
        assert [source["count"] for source in answer["sources"]] == [0, 0, 1]

    asyncio.run(asyncio.wait_for(run(), 5))


def test_a_cancelled_call_starts_nothing() -> None:
    """Clause 7.3: no child is asked."""
    child = ScriptedProvider([FOUND])
    signal = CancelSignal()
    signal.cancel("the user went on")
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(CompositeProvider({"a": child}).retrieve(REQUEST, context(signal)))
    assert not child.calls


def test_a_child_that_cancels_what_it_can_reach_cancels_itself() -> None:
    """Clause 9.2: its signal, its task and the composite's task for it; only the caller's own task is the caller."""

    async def run() -> list[str]:
        caller = asyncio.current_task()

        async def cancel_all(_request: RetrievalRequest, given: RetrievalContext) -> None:
            given.signal.cancel("mine")
            for task in asyncio.all_tasks():
                if task is not caller:
                    task.cancel()
            await asyncio.sleep(0)

        composite = CompositeProvider({"bad": ScriptedProvider([cancel_all])})
        with pytest.raises(KnowledgeAllSourcesFailedError) as caught:
            await composite.retrieve(REQUEST, context(CancelSignal()))
        return [str(report.reason) for report in caught.value.sources]

    assert asyncio.run(run()) == ["error"]


def test_health_and_close_can_be_cancelled() -> None:
    """Clause 7.1: a child that hangs does not hold its caller."""

    async def run() -> None:
        hanging = asyncio.Event()

        async def hang(*_: object) -> None:
            hanging.set()
            await asyncio.Event().wait()

        composite = CompositeProvider({"a": ScriptedProvider(health=hang, closing=hang)})
        for call in (composite.health(CancelSignal()), composite.close()):
            hanging.clear()
            task = asyncio.create_task(call)
            await hanging.wait()
            task.cancel()
            await asyncio.wait({task}, timeout=5)
            assert task.cancelled()
            assert not others()

    asyncio.run(run())
