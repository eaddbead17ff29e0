"""Calls of the bindings that have to wait: each is answered in time, and what is told to have failed is never done."""

import asyncio
import threading

import httpx
import pytest
from source_api import BOUND, app_over, as_described, ask

from knowledge_fakes.sources import reference
from knowledge_provider.errors import KnowledgeUnavailableError
from knowledge_provider.sources import MemoryStorage, TaskBindings
from knowledge_provider.sources.bindings import Change, Rows
from knowledge_provider.sources.server._storing import stored

MANY = 45


class Locked(MemoryStorage):
    """Rows that nobody gets at before they are released."""

    def __init__(self) -> None:
        super().__init__()
        self.released = threading.Event()
        self.began = threading.Event()

    def change(self, task_id: str, change: Change) -> Rows:
        self.began.set()
        self.released.wait()
        return super().change(task_id, change)


class Bounded(MemoryStorage):
    """A storage that is told how long a call may take."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[float] = []

    def within(self, seconds: float) -> "Bounded":
        self.told.append(seconds)
        return self


def test_who_comes_too_late_for_a_thread_is_told_in_time_and_not_served_later() -> None:
    """Of many at once some are told to try again, while all threads wait; what the others asked for is done."""
    locked = Locked()
    app = app_over(locked, storage_timeout=0.5)

    async def bind(client: httpx.AsyncClient, name: str) -> tuple[str, httpx.Response]:
        return name, await client.post(BOUND, json={"refs": [{"provider": "ap", "id": name}]})

    async def play() -> list[tuple[str, httpx.Response]]:
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://api", headers={"x-user": "a"}) as client:
            asked = [asyncio.ensure_future(bind(client, f"kb-{place}")) for place in range(MANY)]
            # Threads that wait for the lock have none left for the rest: these do not wait for that.
            await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED)
            assert not locked.released.is_set()
            locked.released.set()
            return await asyncio.gather(*asked)

    answers = asyncio.run(play())
    refused = [answer for _, answer in answers if answer.status_code == 503]
    assert refused
    for answer in refused:
        assert as_described(answer, "POST", BOUND).headers["retry-after"] == "1"
    served = {name for name, answer in answers if answer.status_code == 200}
    assert len(served) + len(refused) == MANY
    assert {ref.id for ref in TaskBindings(locked).list("t1").refs} == served


def test_what_has_begun_is_waited_for() -> None:
    """What is done in the end must not be reported as failed."""
    locked = Locked()

    async def play() -> int:
        adding = asyncio.ensure_future(
            stored(TaskBindings(locked), lambda each: each.add("t1", reference("ap", "a")), 0.1)
        )
        await asyncio.to_thread(locked.began.wait)
        _, waiting = await asyncio.wait({adding}, timeout=0.2)
        assert waiting
        locked.released.set()
        return len((await adding).refs)

    assert asyncio.run(play()) == 1


def test_a_caller_that_leaves_before_its_turn_has_asked_for_nothing() -> None:
    """Its call is not made when a thread is free."""
    locked, made = Locked(), threading.Event()

    def hold(bindings: TaskBindings) -> None:
        bindings.add("t1", reference("ap", "a"))

    async def play() -> None:
        holding = [asyncio.ensure_future(stored(TaskBindings(locked), hold, 60.0)) for _ in range(MANY)]
        leaving = asyncio.ensure_future(stored(TaskBindings(MemoryStorage()), lambda _: made.set(), 60.0))
        await asyncio.to_thread(locked.began.wait)
        leaving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await leaving
        locked.released.set()
        await asyncio.gather(*holding)

    asyncio.run(play())
    assert not made.is_set()


def test_a_storage_is_told_how_much_time_is_left() -> None:
    """Counted from the call, with what passed before a thread was free."""
    bounded = Bounded()
    assert ask(app_over(bounded, storage_timeout=2.0), "GET", BOUND).status_code == 200
    assert len(bounded.told) == 1
    assert 0 < bounded.told[0] <= 2.0


def test_what_it_raises_comes_out() -> None:
    """Its own error, and not one about time."""

    def refuse(_: TaskBindings) -> None:
        raise KnowledgeUnavailableError("down")

    with pytest.raises(KnowledgeUnavailableError, match="down"):
        asyncio.run(stored(TaskBindings(MemoryStorage()), refuse, 5.0))


@pytest.mark.parametrize("seconds", [0, -1.0])
def test_no_time_is_refused_when_the_app_is_made(seconds: float) -> None:
    """Nothing could ever be stored."""
    with pytest.raises(ValueError, match="above 0"):
        app_over(storage_timeout=seconds)
