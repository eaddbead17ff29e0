"""Calls whose awaits take longer, by a plan."""

import asyncio
from collections.abc import Iterator
from itertools import repeat
from typing import Any

import pytest

from knowledge_conformance.interleaving import Suspending, interleaved
from knowledge_conformance.settings import Settings
from knowledge_conformance.subject import Subject
from knowledge_conformance.survey import Survey
from knowledge_fakes.handbook import HandbookProvider, SyncHandbookProvider
from knowledge_provider import RetrievalRequest

REQUEST = RetrievalRequest(query="release policy")


async def stepping(log: list[str]) -> str:
    for number in range(2):
        log.append(f"step {number}")
        await asyncio.sleep(0)
    return "done"


def plan(*turns: int) -> Iterator[int]:
    return iter(turns)


def test_a_value_comes_through_after_the_turns() -> None:
    """Each await takes as many turns of the loop more as the plan says."""

    async def turns(planned: Iterator[int]) -> int:
        task = asyncio.ensure_future(wrapped(planned))
        for count in range(100):
            if task.done():
                assert task.result() == "done"
                return count
            await asyncio.sleep(0)
        raise AssertionError("it did not end")

    async def wrapped(planned: Iterator[int]) -> Any:
        return await Suspending(stepping([]), planned)

    plain, slowed = asyncio.run(turns(plan())), asyncio.run(turns(plan(1, 2, 3)))
    assert slowed == plain + 6


def test_a_future_is_waited_for() -> None:
    """What the inner call waits for is waited for, not only yielded."""

    async def waits() -> str:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[str] = loop.create_future()
        loop.call_later(0.01, future.set_result, "late")
        return await future

    async def scene() -> Any:
        return await Suspending(waits(), repeat(2))

    assert asyncio.run(scene()) == "late"


def test_an_exception_comes_out() -> None:
    """As it was raised."""

    async def raises() -> None:
        await asyncio.sleep(0)
        raise LookupError("nothing there")

    async def scene() -> None:
        await Suspending(raises(), repeat(1))

    with pytest.raises(LookupError, match="nothing there"):
        asyncio.run(scene())


@pytest.mark.parametrize("turns", [0, 1, 2, 3, 4])
def test_a_cancellation_reaches_what_is_awaited(turns: int) -> None:
    """Also when it comes in one of the further turns; and it comes out."""
    seen: list[str] = []

    async def cleans_up() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise

    async def scene() -> None:
        task = asyncio.ensure_future(wrapped())
        for _ in range(3):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait({task}, timeout=1)
        assert task.cancelled()

    async def wrapped() -> None:
        await Suspending(cleans_up(), plan(turns, turns))

    asyncio.run(scene())
    # Cancelled before it began, there was nothing to clean up.
    assert seen == (["cancelled"] if turns < 3 else [])


def subject(provider: Any) -> Subject:
    return Subject(provider, Settings(), allowed=9, announce=lambda _shown, _seconds: None, surveyor=Survey())


@pytest.mark.parametrize("provider", [HandbookProvider(), SyncHandbookProvider()], ids=["async", "sync"])
def test_answers_are_as_without(provider: Any) -> None:
    """And the provider is the subject's own again afterwards."""

    async def scene() -> None:
        asked = subject(provider)
        plain = await asked.retrieve(REQUEST)
        with interleaved(asked, 3):
            slowed = await asked.retrieve(REQUEST)
        assert slowed.response == plain.response
        assert asked.provider is provider

    asyncio.run(scene())


def test_the_same_seed_gives_the_same_order() -> None:
    """And another seed another one."""

    class Noting:
        def __init__(self) -> None:
            self.log: list[str] = []

        async def retrieve(self, request: RetrievalRequest, _context: Any) -> list[Any]:
            for step in range(3):
                await asyncio.sleep(0)
                self.log.append(f"{request.query}{step}")
            return []

    async def order(seed: int) -> list[str]:
        provider = Noting()
        asked = subject(provider)
        with interleaved(asked, seed):
            await asyncio.gather(*(asked.retrieve(RetrievalRequest(query=name)) for name in "abc"))
        return provider.log

    orders = [asyncio.run(order(seed)) for seed in (1, 1, 2, 3)]
    assert orders[0] == orders[1]
    assert len({tuple(each) for each in orders}) == 3
