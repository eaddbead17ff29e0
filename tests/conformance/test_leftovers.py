"""What came since a moment, and is still there, is seen and put into words that are the same in each run."""

import asyncio
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from knowledge_conformance import leftovers
from knowledge_conformance.leftovers import (
    Standing,
    TaskWatch,
    cleared,
    processes_since,
    sockets_since,
    tasks_since,
    threads_since,
)


def in_loop(work: Callable[[Standing], Coroutine[Any, Any, Any]]) -> Any:
    """What ``work`` gives, which gets what stood there before it."""

    async def main() -> Any:
        return await work(Standing.now(asyncio.get_running_loop()))

    return asyncio.run(main())


async def lasting() -> None:
    await asyncio.Event().wait()


def test_a_task_that_came_since_is_left() -> None:
    """With the line that it waits on; one that is over is not."""

    async def work(standing: Standing) -> list[str]:
        assert tasks_since(standing) == []
        task, over = asyncio.create_task(lasting()), asyncio.create_task(asyncio.sleep(0))
        await asyncio.sleep(0.01)
        found = tasks_since(standing)
        task.cancel()
        await asyncio.wait({task, over})
        return found

    assert in_loop(work) == [f"a task in {__name__}.lasting, line {lasting.__code__.co_firstlineno + 1}"]


def test_a_socket_that_came_since_is_left() -> None:
    """Until it is closed; what kind it is is said, no number and no address."""

    async def work(standing: Standing) -> None:
        assert sockets_since(standing) == []
        with socket.create_server(("127.0.0.1", 0)):
            assert sockets_since(standing) == ["a TCP socket that listens"]
        with socket.socket(type=socket.SOCK_DGRAM):
            assert sockets_since(standing) == ["a datagram socket that is open"]
        assert sockets_since(standing) == []

    in_loop(work)


def spawned(*command: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(command)


def test_a_process_that_came_since_is_left() -> None:
    """While it runs: one that has ended only waits to be asked how. Nor are the kit's own."""

    async def work(standing: Standing) -> None:
        with spawned("/bin/sleep", "60") as process:
            assert processes_since(standing) == ["a child process 'sleep'"]
            leftovers.kit_processes.add(process.pid)
            assert processes_since(standing) == []
            leftovers.kit_processes.discard(process.pid)
            process.kill()
            assert await cleared(lambda: processes_since(standing) or [], 5) == []

    in_loop(work)


def test_what_the_standard_library_keeps_is_not_left() -> None:
    """The helper processes of multiprocessing end with the interpreter, and no provider can end them."""

    async def work(standing: Standing) -> None:
        script = "import time; 'multiprocessing.resource_tracker'; time.sleep(60)"
        with spawned(sys.executable, "-c", script) as process:
            # What it is shows once it has replaced the copy of this process.
            assert await cleared(lambda: processes_since(standing) or [], 5) == []
            process.kill()

    in_loop(work)


def test_a_thread_that_came_since_and_is_no_daemon_is_left() -> None:
    """A daemon holds up nothing."""
    over = threading.Event()

    def poll() -> None:
        over.wait(20)

    async def work(standing: Standing) -> list[str]:
        threads = [threading.Thread(target=poll, daemon=daemon) for daemon in (False, True)]
        for thread in threads:
            thread.start()
        await asyncio.sleep(0.01)
        found = threads_since(standing)
        over.set()
        for thread in threads:
            thread.join()
        assert threads_since(standing) == []
        return found

    assert in_loop(work) == [f"a non-daemon thread in {__name__}.poll, line {poll.__code__.co_firstlineno + 1}"]


def test_a_pool_that_nobody_shut_down_is_left() -> None:
    """Its threads wait for work, in nobody's code."""

    async def work(standing: Standing) -> list[str]:
        with ThreadPoolExecutor(1) as pool:
            pool.submit(int).result()
            return threads_since(standing)

    assert in_loop(work) == ["a thread of a ThreadPoolExecutor"]


def test_where_there_is_no_proc_nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sockets and processes cannot be seen then, and that is not the same as none."""
    monkeypatch.setattr(leftovers, "_DESCRIPTORS", Path("/no/such/folder"))
    monkeypatch.setattr(leftovers, "_THREADS", Path("/no/such/folder"))

    async def work(standing: Standing) -> None:
        assert sockets_since(standing) is processes_since(standing) is None

    in_loop(work)


def test_it_is_waited_for_only_as_long_as_something_is_left() -> None:
    """At once when there is nothing; to the end when it stays, in an order that is always the same."""
    looks: list[int] = []

    def look() -> list[str]:
        looks.append(1)
        return ["b", "a"] if len(looks) < 3 else []

    async def work(_standing: Standing) -> None:
        assert await cleared(list, 100) == []
        assert await cleared(look, 100) == []
        assert await cleared(lambda: ["b", "a"], 0.03) == ["a", "b"]

    in_loop(work)


def test_what_nobody_refers_to_is_not_left() -> None:
    """It goes when the garbage is collected, which is not the provider's to do."""

    class Knot:
        def __init__(self) -> None:
            self.end, self.other = socket.socketpair()
            self.itself = self

        def __del__(self) -> None:
            self.end.close()
            self.other.close()

    async def work(standing: Standing) -> None:
        Knot()
        assert await cleared(lambda: sockets_since(standing) or [], 1) == []

    in_loop(work)


async def begins(kind: str, alive: list[Any]) -> None:
    """Begins a lasting task in one of the ways that there are."""
    match kind:
        case "create_task":
            alive.append(asyncio.create_task(lasting()))
        case "gather":
            alive.append(asyncio.gather(lasting(), return_exceptions=True))
        case "callback":
            loop = asyncio.get_running_loop()
            loop.call_soon(lambda: alive.append(loop.create_task(lasting())))
        case "own factory":
            loop = asyncio.get_running_loop()
            loop.set_task_factory(lambda loop, coroutine, **options: asyncio.Task(coroutine, loop=loop, **options))
            alive.append(asyncio.create_task(lasting()))
        case "eager":
            loop = asyncio.get_running_loop()
            loop.set_task_factory(getattr(asyncio, "eager_task_factory", None))
            alive.append(asyncio.create_task(lasting()))
    await asyncio.sleep(0.01)


@pytest.mark.parametrize("kind", ["create_task", "gather", "callback", "own factory", "eager"])
def test_tasks_are_seen_however_they_are_begun(kind: str) -> None:
    """A factory of the provider's own, eager tasks and tasks that a callback begins are no way around it."""

    async def main() -> list[str]:
        alive: list[Any] = []
        with TaskWatch() as watch:
            call = asyncio.ensure_future(begins(kind, alive))
            watch.disown(call)
            await call
            found = sorted(map(watch.named, watch.alive()))
            for future in alive:
                future.cancel()
            await asyncio.gather(*alive, return_exceptions=True)
            assert not watch.alive()
        return found

    assert asyncio.run(main()) == [f"a task in {__name__}.lasting, line {lasting.__code__.co_firstlineno + 1}"]


def test_a_task_group_that_is_over_leaves_nothing() -> None:
    """Nor does a thread that was waited for."""

    async def main() -> None:
        with TaskWatch() as watch:
            async with asyncio.TaskGroup() as group:
                group.create_task(asyncio.sleep(0))
                group.create_task(asyncio.to_thread(int))
            assert not watch.alive()

    asyncio.run(main())


def test_the_factory_that_was_there_is_put_back() -> None:
    """It made the tasks meanwhile; and one that was set meanwhile stays."""
    made: list[str] = []

    def before(loop: Any, coroutine: Any, **options: Any) -> Any:
        made.append("before")
        return asyncio.Task(coroutine, loop=loop, **options)

    async def main() -> None:
        loop = asyncio.get_running_loop()
        loop.set_task_factory(before)
        with TaskWatch():
            await asyncio.create_task(asyncio.sleep(0))
        assert loop.get_task_factory() is before
        with TaskWatch():
            loop.set_task_factory(None)
        assert loop.get_task_factory() is None

    asyncio.run(main())
    assert made == ["before"]
