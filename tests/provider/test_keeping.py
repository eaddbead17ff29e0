"""``KeptOpen``: one task opens and closes, any task uses, and what is lost or given up is opened anew."""

import asyncio
import contextvars
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest

from knowledge_provider import CancelSignal, errors
from knowledge_provider.keeping import KeptOpen

VARIABLE: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="of nobody")


class Clients:
    """Makes clients, numbered from 1, and remembers what became of them; opening waits for ``may_open``."""

    def __init__(self, *, opens: bool = True, error: Exception | None = None) -> None:
        self.may_open, self.opening, self.error = asyncio.Event(), asyncio.Event(), error
        self.log: list[tuple[str, int, bool]] = []
        self.tasks: list[Any] = []
        if opens:
            self.may_open.set()

    @asynccontextmanager
    async def one(self) -> AsyncGenerator[int]:
        number = len(self.tasks) + 1
        self.tasks.append(asyncio.current_task())
        self.opening.set()
        try:
            await self.may_open.wait()
            if self.error:
                raise self.error
            yield number
        finally:
            self.log.append((f"{VARIABLE.get()}", number, asyncio.current_task() is self.tasks[number - 1]))


def others() -> set[Any]:
    return asyncio.all_tasks() - {asyncio.current_task()}


async def used(kept: KeptOpen[int], signal: CancelSignal | None = None, raising: Exception | None = None) -> int:
    async with kept.used(signal or CancelSignal()) as number:
        if raising:
            raise raising
        return number


def run(main: Callable[[], Any]) -> Any:
    return asyncio.run(main())


def test_one_client_serves_every_task_and_is_closed_by_the_task_that_opened_it() -> None:
    """And in no caller's context."""

    async def main() -> None:
        VARIABLE.set("of a caller")
        clients = Clients()
        kept = KeptOpen(clients.one)
        assert [await asyncio.create_task(used(kept)) for _ in range(3)] == [1, 1, 1]
        await asyncio.create_task(kept.close())
        assert clients.log == [("of nobody", 1, True)]
        assert others() == set()
        assert await used(kept) == 2
        await kept.close()

    run(main)


def test_closing_what_was_never_opened_does_nothing() -> None:
    """It is opened by the first use alone."""

    async def main() -> None:
        clients = Clients()
        await KeptOpen(clients.one).close()
        assert clients.tasks == []

    run(main)


def test_why_it_does_not_open_is_told_to_all_who_wait() -> None:
    """And the next use tries again."""

    async def main() -> None:
        clients = Clients(error=LookupError("no such server"))
        kept = KeptOpen(clients.one)
        came = await asyncio.gather(*(used(kept) for _ in range(3)), return_exceptions=True)
        assert [type(each) for each in came] == [LookupError] * 3
        clients.error = None
        assert await used(kept) == 2
        await kept.close()

    run(main)


def test_what_is_lost_is_replaced_and_closed_when_nobody_uses_it() -> None:
    """A call that is still under way on it may yet be answered."""

    async def main() -> None:
        clients = Clients()
        kept = KeptOpen(clients.one)
        async with kept.used(CancelSignal()) as first:
            with pytest.raises(ConnectionResetError):
                await used(kept, raising=ConnectionResetError())
            assert await used(kept) == 2
            assert (first, clients.log) == (1, [])
        await asyncio.wait({clients.tasks[0]})
        assert [number for _, number, _ in clients.log] == [1]
        with pytest.raises(LookupError):
            await used(kept, raising=LookupError())
        assert await used(kept) == 2
        await kept.close()

    run(main)


def test_a_client_that_ends_by_itself_is_replaced() -> None:
    """As one whose task group fails."""

    async def main() -> None:
        clients = Clients()
        kept = KeptOpen(clients.one)
        await used(kept)
        clients.tasks[0].cancel()
        await asyncio.wait({clients.tasks[0]})
        assert await used(kept) == 2
        await kept.close()

    run(main)


def test_cancelled_while_it_opens_it_is_given_up_unless_somebody_waits() -> None:
    """Clause 7.2: no task is left."""

    async def main() -> None:
        clients = Clients(opens=False)
        kept = KeptOpen(clients.one)
        one, two = asyncio.create_task(used(kept)), asyncio.create_task(used(kept))
        await clients.opening.wait()
        one.cancel()
        await asyncio.wait({one})
        assert clients.log == []
        two.cancel()
        await asyncio.wait({two, clients.tasks[0]})
        assert [number for _, number, _ in clients.log] == [1]
        assert others() == set()

    run(main)


def test_out_of_time_it_goes_on_opening_for_a_later_use() -> None:
    """What is slow to open would otherwise never be open."""

    async def main() -> None:
        clients = Clients(opens=False)
        kept = KeptOpen(clients.one)
        task = asyncio.create_task(used(kept, CancelSignal(deadline=0.0)))
        await clients.opening.wait()
        task.cancel()
        await asyncio.wait({task})
        clients.may_open.set()
        assert await used(kept) == 1
        await kept.close()

    run(main)


def test_closed_while_it_opens_it_fails_for_those_who_wait() -> None:
    """Retryable: it says nothing of the back end."""

    async def main() -> None:
        clients = Clients(opens=False)
        kept = KeptOpen(clients.one)
        task = asyncio.create_task(used(kept))
        await clients.opening.wait()
        await kept.close()
        with pytest.raises(errors.KnowledgeUnavailableError):
            await task
        assert others() == set()

    run(main)


def test_opening_and_closing_have_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that never opens is a time-out; one that does not close is cancelled."""
    monkeypatch.setattr("knowledge_provider.keeping._OPENING", 0.01)
    monkeypatch.setattr("knowledge_provider.keeping._CLOSING", 0.01)

    @asynccontextmanager
    async def stuck() -> AsyncGenerator[int]:
        try:
            yield 1
        finally:
            await asyncio.Event().wait()

    async def main(opened: Callable[[], AbstractAsyncContextManager[int]]) -> None:
        with pytest.raises(TimeoutError):
            await used(KeptOpen(Clients(opens=False).one))
        kept = KeptOpen(opened)
        await used(kept)
        await kept.close()
        await asyncio.sleep(0)
        assert others() == set()

    run(lambda: main(stuck))
