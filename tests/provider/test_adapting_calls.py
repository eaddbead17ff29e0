"""Vendors' calls in daemon threads, and one client for each event loop."""

import asyncio
import contextvars
import gc
import threading
import time
import weakref
from collections.abc import Callable, Iterator

import pytest

from knowledge_provider import CancelSignal, KnowledgeError
from knowledge_provider.adapting import DaemonThreads, PerLoop
from knowledge_provider.errors import KnowledgeFailedError, KnowledgeTimeoutError, KnowledgeUnavailableError

# Threads


def _signal(seconds: float | None = None) -> CancelSignal:
    return CancelSignal(deadline=None if seconds is None else time.monotonic() + seconds)


_CALLER = contextvars.ContextVar("_CALLER", default="nobody")


def test_a_call_runs_in_a_daemon_thread_with_the_callers_context() -> None:
    """The loop stays free, and what the caller's context variables say is seen."""

    def look(first: int, *, second: int) -> tuple[int, bool, bool, str]:
        current = threading.current_thread()
        return first + second, current.daemon, current is threading.main_thread(), _CALLER.get()

    async def main() -> tuple[int, bool, bool, str]:
        _CALLER.set("me")
        return await DaemonThreads().run(_signal(), look, 1, second=2)

    assert asyncio.run(main()) == (3, True, False, "me")


@pytest.mark.parametrize("error", [ValueError("no"), TimeoutError("no"), KeyboardInterrupt("no")])
def test_a_calls_exception_comes_out_as_it_is(error: BaseException) -> None:
    """Also a vendor's own ``TimeoutError``, which is not the deadline's."""

    def fail() -> None:
        raise error

    async def main() -> BaseException | None:
        try:
            await DaemonThreads().run(_signal(5), fail)
        except BaseException as caught:
            return caught
        return None

    assert asyncio.run(main()) is error


def test_a_stop_iteration_ends_the_wait() -> None:
    """Futures of asyncio refuse it and would leave the caller waiting for ever."""

    async def main() -> None:
        await DaemonThreads().run(_signal(5), next, iter(()))

    with pytest.raises(RuntimeError, match="StopIteration"):
        asyncio.run(main())


@pytest.fixture
def hang() -> Iterator[Callable[[], bool]]:
    """A call that returns when the test is over."""
    over = threading.Event()
    yield over.wait
    over.set()
    for thread in threading.enumerate():
        if thread.name == "knowledge-call":
            thread.join(5)


def _calls_under_way() -> int:
    return sum(thread.name == "knowledge-call" for thread in threading.enumerate())


def test_hung_calls_end_at_the_deadline_and_then_are_refused_at_once(hang: Callable[[], bool]) -> None:
    """Forty calls that hang: four wait for their deadline, the others are refused, and four threads are left."""
    threads = DaemonThreads(4)

    async def outcome() -> str:
        try:
            await asyncio.wait_for(threads.run(_signal(0.02), hang), 1)
        except KnowledgeError as error:
            return error.code
        return "answered"

    async def main() -> list[str]:
        return [await outcome() for _ in range(40)]

    assert asyncio.run(main()) == ["knowledge_timeout"] * 4 + ["knowledge_unavailable"] * 36
    assert _calls_under_way() == 4


def test_a_cancelled_call_leaves_the_loop_free_to_end_and_the_thread_counted(hang: Callable[[], bool]) -> None:
    """Clauses 2.3 and 7.1: ``asyncio.run`` returns while the call still hangs, and its place is not given away."""
    threads = DaemonThreads(1)

    async def cancelled() -> None:
        task = asyncio.create_task(threads.run(_signal(), hang))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(asyncio.wait_for(cancelled(), 5))
    assert _calls_under_way() == 1
    with pytest.raises(KnowledgeUnavailableError):
        asyncio.run(threads.run(_signal(), hang))


def test_a_call_waits_for_a_thread_while_others_work(hang: Callable[[], bool]) -> None:
    """Busy is not hung: more calls than threads are all answered, and one that waits ends at its own deadline."""
    threads = DaemonThreads(2)

    async def main() -> list[int]:
        held = [asyncio.create_task(threads.run(_signal(), hang)) for _ in range(2)]
        await asyncio.sleep(0)
        with pytest.raises(KnowledgeTimeoutError):
            await threads.run(_signal(0.02), int)
        for task in held:
            task.cancel()
        await asyncio.wait(held)
        free = DaemonThreads(2)
        return await asyncio.gather(*(free.run(_signal(5), abs, -number) for number in range(50)))

    assert asyncio.run(main()) == list(range(50))


def test_a_thread_that_returns_late_frees_its_place_on_another_loop() -> None:
    """Clause 2.4: the late answer meets a closed loop, goes nowhere, and disturbs nobody."""
    threads, over = DaemonThreads(1), threading.Event()
    late: list[threading.Thread] = []

    def call() -> None:
        late.append(threading.current_thread())
        over.wait()

    with pytest.raises(KnowledgeTimeoutError):
        asyncio.run(threads.run(_signal(0.02), call))
    over.set()
    late[0].join(5)
    assert asyncio.run(threads.run(_signal(5), lambda: "free again")) == "free again"


def test_an_answer_that_comes_after_a_cancellation_disturbs_nobody() -> None:
    """The loop still runs then, and hears of no error."""
    threads, over = DaemonThreads(1), threading.Event()
    heard: list[object] = []

    async def main() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, told: heard.append(told))
        task = asyncio.create_task(threads.run(_signal(), over.wait))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        over.set()
        for thread in threading.enumerate():
            if thread.name == "knowledge-call":
                await asyncio.to_thread(thread.join, 5)
        await asyncio.sleep(0)

    asyncio.run(main())
    assert heard == []


def test_a_thread_that_does_not_start_keeps_no_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """When the system is out of threads, that is the answer, and the next call may try again."""
    threads = DaemonThreads(1)

    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises(KnowledgeUnavailableError, match="starts no more"):
        asyncio.run(threads.run(_signal(), str))
    monkeypatch.undo()
    assert asyncio.run(threads.run(_signal(), str)) == ""


def test_who_began_to_wait_for_a_thread_that_does_not_start_is_answered_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """On another loop, say; no thread would ever come to it."""
    threads, start = DaemonThreads(1), threading.Thread.start
    waiting, said = threading.Event(), list[str]()

    async def wait() -> None:
        asyncio.get_running_loop().call_soon(waiting.set)
        with pytest.raises(KnowledgeUnavailableError, match="starts no more") as caught:
            await threads.run(_signal(10), str)
        said.append(str(caught.value.__cause__))

    other = threading.Thread(target=lambda: asyncio.run(wait()))

    def refuse(_: threading.Thread) -> None:
        start(other)
        assert waiting.wait(10)
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises(KnowledgeUnavailableError, match="starts no more"):
        asyncio.run(threads.run(_signal(10), str))
    other.join(10)
    assert said == ["can't start new thread"]


def test_no_thread_at_all_is_refused_at_once() -> None:
    """A limit of zero could never answer."""
    with pytest.raises(ValueError, match="at least one thread"):
        DaemonThreads(0)


# Clients per loop


class _Client:
    """What a vendor's library opens on a loop."""


def test_each_loop_has_a_client_of_its_own() -> None:
    """Clause 2.4: asked again on one loop it is the same, on a second loop a new one, and the first is forgotten."""
    clients = PerLoop(_Client)

    async def twice() -> "weakref.ref[_Client]":
        assert clients.get() is clients.get()
        return weakref.ref(clients.get())

    first = asyncio.run(twice())
    assert first() is not None
    second = asyncio.run(twice())
    gc.collect()
    assert first() is None
    assert second() is not None


def test_a_client_is_taken_once_and_made_anew() -> None:
    """So that ``close()`` may be called twice (clause 2.2)."""

    async def main() -> tuple[object, object | None, object | None, object]:
        clients = PerLoop(object)
        return clients.get(), clients.take(), clients.take(), clients.get()

    first, taken, nothing, anew = asyncio.run(main())
    assert taken is first
    assert nothing is None
    assert anew is not first


def test_a_client_that_cannot_be_made_is_a_failure_without_its_words_and_tried_again() -> None:
    """Clause 6.4: the function may be the user's, and its words the key that it makes the client with."""
    made = [object()]
    raised = ValueError("sk-hunter2 is no key")

    def make() -> object:
        if tried:
            return made[0]
        tried.append(True)
        raise raised

    tried: list[bool] = []

    async def main() -> object:
        clients = PerLoop(make)
        with pytest.raises(KnowledgeFailedError, match="what makes the client raised ValueError") as caught:
            clients.get()
        assert "hunter2" not in str(caught.value)
        assert caught.value.__cause__ is raised
        return clients.get()

    assert asyncio.run(main()) is made[0]
