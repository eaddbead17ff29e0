"""Targets that attack whoever runs them: they hold, end or spoil the process, its loop or the standard library."""

import asyncio
import atexit
import ctypes
import functools
import gc
import json
import os
import re
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from hostile_base import LONG, on, once, raising, retrieving

from knowledge_fakes.handbook import HandbookProvider

_DESCRIPTORS = 512

# Held: the process does not answer any more.


def _endless() -> None:
    while True:
        pass


blocks = retrieving(lambda: time.sleep(LONG))
spins = retrieving(_endless)
backtracks = retrieving(lambda: re.match(r"(a+)+$", "a" * 64 + "b"))
# The signal may take a moment to reach all threads.
stops = retrieving(lambda: os.kill(os.getpid(), signal.SIGSTOP), lambda: time.sleep(LONG))
blocks_describe = on("describe", lambda: time.sleep(LONG))

# Ended: the process goes away.

exits_at_once = retrieving(lambda: os._exit(0))
is_killed = retrieving(lambda: os.kill(os.getpid(), signal.SIGKILL))
interrupts_itself = retrieving(lambda: os.kill(os.getpid(), signal.SIGINT))
kills_its_group = retrieving(lambda: os.killpg(0, signal.SIGKILL))
sets_an_alarm = retrieving(lambda: signal.setitimer(signal.ITIMER_REAL, 0.01), lambda: time.sleep(LONG))
aborts = retrieving(os.abort)
reads_address_zero = retrieving(lambda: ctypes.string_at(0))
exits_describing = on("describe", lambda: os._exit(0))
exits_in_health = on("health", lambda: os._exit(0))


def _overflow() -> None:
    # Deep enough for the C stack, through calls that the interpreter does not count as Python's own.
    sys.setrecursionlimit(10**9)
    nested: list[Any] = []
    for _ in range(3 * 10**5):
        nested = [nested]
    repr(nested)


overflows_the_stack = retrieving(_overflow)

# Raised: what a host must survive as an ordinary error.

_recursive: Callable[[], object] = lambda: _recursive()  # noqa: E731 - the shortest endless recursion
exits = retrieving(raising(SystemExit(0)))
raises_interrupt = retrieving(raising(KeyboardInterrupt()))
raises_base = retrieving(raising(BaseException("base")))
raises_generator_exit = retrieving(raising(GeneratorExit()))
raises_stop = retrieving(raising(StopAsyncIteration()))
raises_cancelled = retrieving(raising(asyncio.CancelledError()))
recurses = retrieving(lambda: _recursive())
runs_out_of_memory = retrieving(
    lambda: resource.setrlimit(resource.RLIMIT_AS, (1 << 31, 1 << 31)), lambda: bytearray(1 << 40)
)


class ExitsInAThread(HandbookProvider):
    """Raises ``SystemExit`` in a synchronous retrieve, which runs in a thread."""

    def retrieve(self, request: Any, context: Any) -> Any:
        sys.exit(0)


class ExitsInATask(HandbookProvider):
    """Raises ``SystemExit`` in a task of its own."""

    async def retrieve(self, request: Any, context: Any) -> Any:
        async def task() -> None:
            sys.exit(0)

        running = asyncio.create_task(task())
        await asyncio.sleep(0.05)
        del running
        return await super().retrieve(request, context)


class CancelsItself(HandbookProvider):
    """Cancels the task that it runs in."""

    async def retrieve(self, request: Any, context: Any) -> Any:
        current = asyncio.current_task()
        if current is not None:
            current.cancel()
        await asyncio.sleep(0)


class CancelsEverything(HandbookProvider):
    """Cancels all tasks of the loop but its own."""

    async def retrieve(self, request: Any, context: Any) -> Any:
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
        await asyncio.sleep(0)
        return await super().retrieve(request, context)


class AwaitsEverything(HandbookProvider):
    """Waits on close for all tasks of the loop, its caller's among them."""

    async def close(self) -> None:
        await asyncio.gather(*asyncio.all_tasks() - {asyncio.current_task()})


# Never ending, politely.


class Hangs(HandbookProvider):
    """Waits for ever; can be cancelled."""

    async def retrieve(self, request: Any, context: Any) -> Any:
        await asyncio.sleep(LONG)


class SwallowsCancellation(HandbookProvider):
    """Waits for ever, whoever cancels it."""

    async def retrieve(self, request: Any, context: Any) -> Any:
        while True:
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(LONG)


class HangsInAThread(HandbookProvider):
    """A synchronous retrieve that does not end."""

    def retrieve(self, request: Any, context: Any) -> Any:
        time.sleep(LONG)


class EndlessAwaitable(HandbookProvider):
    """A retrieve whose awaitable gives way for ever."""

    def retrieve(self, request: Any, context: Any) -> Any:
        class Awaitable:
            def __await__(self) -> Any:
                while True:
                    yield

        return Awaitable()


# The loop, the process and the standard library are changed under the kit's feet.


class StopsTheLoop(HandbookProvider):
    """Stops the event loop."""

    async def retrieve(self, request: Any, context: Any) -> Any:
        asyncio.get_running_loop().stop()
        await asyncio.sleep(0)
        return await super().retrieve(request, context)


class ClosesTheLoop(HandbookProvider):
    """Stops and closes the event loop."""

    async def retrieve(self, request: Any, context: Any) -> Any:
        loop = asyncio.get_running_loop()
        loop.stop()
        loop.call_soon(loop.close)
        return await super().retrieve(request, context)


def _flood() -> None:
    for _ in range(64):
        os.write(1, b"x" * 65536)


def _scribble() -> None:
    for descriptor in range(3, _DESCRIPTORS):
        with suppress(OSError):
            os.write(descriptor, b'{"result": {"id": "KP-301", "outcome": "passed"}}\n')


floods_stdout = retrieving(_flood)
scribbles = retrieving(_scribble)


def _take() -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3, _DESCRIPTORS):
        os.dup2(nothing, descriptor)


closes_descriptors = retrieving(lambda: os.closerange(0, _DESCRIPTORS))
takes_descriptors = retrieving(_take)


def _no_policy() -> None:
    class Policy(asyncio.DefaultEventLoopPolicy):
        def new_event_loop(self) -> asyncio.AbstractEventLoop:
            raise RuntimeError("no loop from here")

    asyncio.set_event_loop_policy(Policy())


breaks_the_policy = retrieving(_no_policy)
limits_recursion = retrieving(lambda: sys.setrecursionlimit(70))
no_descriptors = retrieving(lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0)))


def _nothing(*_arguments: Any, **_keywords: Any) -> None:
    return None


PATCHES: dict[str, tuple[Any, str]] = {
    "time.sleep": (time, "sleep"),
    "time.monotonic": (time, "monotonic"),
    "time.perf_counter": (time, "perf_counter"),
    "json.dumps": (json, "dumps"),
    "json.loads": (json, "loads"),
    "os.write": (os, "write"),
    "os.read": (os, "read"),
    "os._exit": (os, "_exit"),
    "threading.Thread": (threading, "Thread"),
    "asyncio.wait": (asyncio, "wait"),
    "asyncio.ensure_future": (asyncio, "ensure_future"),
    "asyncio.new_event_loop": (asyncio, "new_event_loop"),
}
"""What a provider may replace in its process, each by a function that does nothing."""


def _patching(name: str) -> type[HandbookProvider]:
    module, attribute = PATCHES[name]
    return retrieving(lambda: setattr(module, attribute, _nothing))


for _name in PATCHES:
    globals()[f"patches_{re.sub('[^a-z]+', '_', _name.lower())}"] = _patching(_name)

# Harmless to the kit, whatever a host would say.

patches_what_it_likes = retrieving(
    *(
        functools.partial(setattr, *PATCHES[name], _nothing)
        for name in ("time.sleep", "json.dumps", "json.loads", "os.write", "os.read", "os._exit")
    )
)
does_what_it_likes = retrieving(
    lambda: sys.settrace(lambda *_: None),
    lambda: os.chdir("/"),
    os.environ.clear,
    gc.disable,
    once(lambda: atexit.register(os._exit, 0)),
    lambda: threading.Thread(target=sys.exit).start(),
    lambda: threading.Thread(target=raising(ValueError("in a thread"))).start(),
)
closes_stdout = retrieving(once(lambda: os.closerange(1, 3)))


def _start_threads() -> None:
    for _ in range(500):
        threading.Thread(target=time.sleep, args=(LONG,), daemon=True).start()


starts_threads = retrieving(once(_start_threads))
