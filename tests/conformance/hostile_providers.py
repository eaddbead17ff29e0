"""Providers that attack whoever runs them: targets for the tests of the kit's machinery, each named by what it does.

Every one is the sound handbook but for one thing, so that the check it fails is the one that saw that thing.
"""

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
import subprocess
import sys
import threading
import time
import unittest.mock
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from knowledge_fakes.handbook import HandbookProvider

LONG = 1000.0
_DESCRIPTORS = 512
OFFSPRING = "OFFSPRING_FILE"
"""The environment variable with the file that a provider writes the ids of its processes to."""

Act = Callable[[], object]


def _on(method: str, act: Act) -> type[HandbookProvider]:
    """A handbook whose synchronous ``method`` first does something."""
    sound = getattr(HandbookProvider, method)

    def does(self: HandbookProvider, *arguments: Any) -> Any:
        act()
        return sound(self, *arguments)

    return type(method, (HandbookProvider,), {method: does})


def _retrieving(*acts: Act) -> type[HandbookProvider]:
    """A handbook whose ``retrieve`` first does something on the event loop."""

    class Provider(HandbookProvider):
        async def retrieve(self, request: Any, context: Any) -> Any:
            for act in acts:
                act()
            return await super().retrieve(request, context)

    return Provider


def _answering(answer: Callable[[], Any]) -> type[HandbookProvider]:
    class Provider(HandbookProvider):
        async def retrieve(self, request: Any, context: Any) -> Any:
            return answer()

    return Provider


def _raise(error: BaseException) -> Act:
    def act() -> None:
        raise error

    return act


def _once(act: Act) -> Act:
    done: list[bool] = []

    def once() -> None:
        if not done:
            done.append(True)
            act()

    return once


# Held: the process does not answer any more.


def _endless() -> None:
    while True:
        pass


blocks = _retrieving(lambda: time.sleep(LONG))
spins = _retrieving(_endless)
backtracks = _retrieving(lambda: re.match(r"(a+)+$", "a" * 64 + "b"))
loops_inside_c = _retrieving(lambda: sum(iter(int, 1)))
# The signal may take a moment to reach all threads.
stops = _retrieving(lambda: os.kill(os.getpid(), signal.SIGSTOP), lambda: time.sleep(LONG))
blocks_describe = _on("describe", lambda: time.sleep(LONG))

# Ended: the process goes away.

exits_at_once = _retrieving(lambda: os._exit(0))
is_killed = _retrieving(lambda: os.kill(os.getpid(), signal.SIGKILL))
is_terminated = _retrieving(lambda: os.kill(os.getpid(), signal.SIGTERM))
interrupts_itself = _retrieving(lambda: os.kill(os.getpid(), signal.SIGINT))
kills_its_group = _retrieving(lambda: os.killpg(0, signal.SIGKILL))
sets_an_alarm = _retrieving(lambda: signal.setitimer(signal.ITIMER_REAL, 0.01), lambda: time.sleep(LONG))
aborts = _retrieving(os.abort)
reads_address_zero = _retrieving(lambda: ctypes.string_at(0))
exits_describing = _on("describe", lambda: os._exit(0))
exits_in_health = _on("health", lambda: os._exit(0))


def _overflow() -> None:
    # Deep enough for the C stack, through calls that the interpreter does not count as Python's own.
    sys.setrecursionlimit(10**9)
    nested: list[Any] = []
    for _ in range(3 * 10**5):
        nested = [nested]
    repr(nested)


overflows_the_stack = _retrieving(_overflow)

# Raised: what a host must survive as an ordinary error.

_recursive: Callable[[], object] = lambda: _recursive()  # noqa: E731 - the shortest endless recursion
exits = _retrieving(_raise(SystemExit(0)))
raises_interrupt = _retrieving(_raise(KeyboardInterrupt()))
raises_base = _retrieving(_raise(BaseException("base")))
raises_generator_exit = _retrieving(_raise(GeneratorExit()))
raises_stop = _retrieving(_raise(StopAsyncIteration()))
raises_cancelled = _retrieving(_raise(asyncio.CancelledError()))
recurses = _retrieving(lambda: _recursive())
runs_out_of_memory = _retrieving(
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


def _forever() -> Any:
    while True:
        yield {}


endless_generator = _answering(_forever)
endless_results = _answering(lambda: {"results": _forever()})


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


floods_stdout = _retrieving(_flood)
scribbles = _retrieving(_scribble)


def _take() -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3, _DESCRIPTORS):
        os.dup2(nothing, descriptor)


closes_descriptors = _retrieving(lambda: os.closerange(0, _DESCRIPTORS))
takes_descriptors = _retrieving(_take)


def _no_policy() -> None:
    class Policy(asyncio.DefaultEventLoopPolicy):
        def new_event_loop(self) -> asyncio.AbstractEventLoop:
            raise RuntimeError("no loop from here")

    asyncio.set_event_loop_policy(Policy())


breaks_the_policy = _retrieving(_no_policy)
limits_recursion = _retrieving(lambda: sys.setrecursionlimit(70))
no_descriptors = _retrieving(lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0)))


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
    return _retrieving(lambda: setattr(module, attribute, _nothing))


for _name in PATCHES:
    globals()[f"patches_{re.sub('[^a-z]+', '_', _name.lower())}"] = _patching(_name)

# Harmless to the kit, whatever a host would say.

patches_what_it_likes = _retrieving(
    *(
        functools.partial(setattr, *PATCHES[name], _nothing)
        for name in ("time.sleep", "json.dumps", "json.loads", "os.write", "os.read", "os._exit")
    )
)
does_what_it_likes = _retrieving(
    lambda: sys.settrace(lambda *_: None),
    lambda: os.chdir("/"),
    os.environ.clear,
    gc.disable,
    _once(lambda: atexit.register(os._exit, 0)),
    lambda: threading.Thread(target=sys.exit).start(),
    lambda: threading.Thread(target=_raise(ValueError("in a thread"))).start(),
)
closes_stdout = _retrieving(_once(lambda: os.closerange(1, 3)))


def _start_threads() -> None:
    for _ in range(500):
        threading.Thread(target=time.sleep, args=(LONG,), daemon=True).start()


starts_threads = _retrieving(_once(_start_threads))


# Processes of its own.


def _report(*pids: int) -> None:
    with Path(os.environ[OFFSPRING]).open("a", encoding="ascii") as file:
        file.writelines(f"{pid}\n" for pid in (os.getpid(), *pids))


def _spawn(**options: Any) -> None:
    _report(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"], **options).pid)


def _daemonize() -> None:
    # Two forks and a session of its own: nothing of it hangs on the provider's process any more.
    first = os.fork()
    if first:
        os.waitpid(first, 0)
        return
    os.setsid()
    if os.fork() == 0:
        _report()
        time.sleep(LONG)
    os._exit(0)


spawns = _retrieving(_once(_spawn))
spawns_a_session = _retrieving(_once(lambda: _spawn(start_new_session=True)))
daemonizes = _retrieving(_once(_daemonize))
forks = _retrieving(_once(os.fork))


def _fork_and_stay() -> None:
    if os.fork() == 0:
        _report()
        time.sleep(LONG)


forks_and_reports = _retrieving(_once(_fork_and_stay))
spawns_and_loops = _retrieving(lambda: _spawn(start_new_session=True), lambda: sum(iter(int, 1)))
kills_its_parent = _retrieving(_report, lambda: os.kill(os.getppid(), signal.SIGKILL), lambda: time.sleep(LONG))


# The ends of a provider's life.

exits_closing = _on("close", lambda: os._exit(0))
blocks_closing = _on("close", lambda: time.sleep(LONG))


class HangsClosing(HandbookProvider):
    """A close that does not end, whoever cancels it."""

    async def close(self) -> None:
        while True:
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(LONG)


class BlocksClosing(HandbookProvider):
    """A close that holds the event loop."""

    async def close(self) -> None:
        _endless()


class RaisesClosing(HandbookProvider):
    """A close that raises what ends a process."""

    async def close(self) -> None:
        raise SystemExit(0)


class ExitsWhenCollected(HandbookProvider):
    """Takes the process away when nobody refers to it any more."""

    def __del__(self) -> None:
        os._exit(0)


class LeavesATask(HandbookProvider):
    """Leaves a task behind that cannot be cancelled."""

    async def retrieve(self, request: Any, context: Any) -> Any:
        async def stay() -> None:
            while True:
                with suppress(asyncio.CancelledError):
                    await asyncio.sleep(LONG)

        self.left = asyncio.create_task(stay())
        return await super().retrieve(request, context)


# Objects that lie, or raise when they are looked at.


class Hostile:
    """Raises whatever is done to it, and has the hash of a field's name."""

    def _refuse(self, *_arguments: Any) -> Any:
        raise RuntimeError("looked at")

    __eq__ = __ne__ = __str__ = __repr__ = __len__ = __iter__ = __bool__ = __getattr__ = _refuse

    def __hash__(self) -> int:
        return hash("results")


class Liar:
    """Says that it is a dictionary."""

    def __getattribute__(self, name: str) -> Any:
        return dict if name == "__class__" else super().__getattribute__(name)


hostile_answer = _answering(Hostile)
hostile_keys = _answering(lambda: {Hostile(): 1})
hostile_items = _answering(lambda: [Hostile(), {"id": Hostile(), "content": Hostile()}])
lying_answer = _answering(Liar)
lying_items = _answering(lambda: [Liar(), unittest.mock.Mock(spec=dict)])
hostile_description = type("D", (HandbookProvider,), {"describe": lambda self: Hostile()})
lying_description = type("L", (HandbookProvider,), {"describe": lambda self: {"protocolVersion": Liar()}})
a_million_results = _answering(lambda: [{"id": str(at), "content": "x"} for at in range(10**6)])
huge_text = _answering(lambda: [{"id": "a", "content": "x" * 10**7, "score": 10**5000}])
mock = unittest.mock.MagicMock()


def _knot() -> Any:
    item: dict[str, Any] = {"id": "a", "content": "x"}
    item["metadata"] = item
    return [item]


def _deep() -> Any:
    nested: Any = "x"
    for _ in range(10**4):
        nested = [nested]
    return [{"id": "a", "content": "x", "metadata": {"nested": nested}}]


knot = _answering(_knot)
deep = _answering(_deep)


class Null(HandbookProvider):
    """Describes itself well and never finds anything."""

    async def retrieve(self, request: Any, context: Any) -> Any:
        return []


class HostileRetrieve(HandbookProvider):
    """Has its methods only when it likes."""

    looks = 0

    def __getattribute__(self, name: str) -> Any:
        if name == "retrieve":
            type(self).looks += 1
            if type(self).looks > 3:
                raise RuntimeError("not now")
        return super().__getattribute__(name)


class HostileClose(HandbookProvider):
    """Raises when close is looked at."""

    def __getattribute__(self, name: str) -> Any:
        if name == "close":
            raise RuntimeError("do not look")
        return super().__getattribute__(name)


class HostileInstance:
    """Raises when anything of it is looked at."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)


hostile_instance = HostileInstance()


class Advised(HandbookProvider):
    """Keeps every MUST, and not the SHOULD about a label's length."""

    def describe(self) -> Any:
        return {**super().describe(), "label": "A very long label. " * 20}


class ExitsWhenLeft:
    """A context manager that lives for the whole run, and takes the process away when it is left."""

    def __enter__(self) -> HandbookProvider:
        return HandbookProvider()

    def __exit__(self, *_error: object) -> None:
        os._exit(0)


exits_when_left = ExitsWhenLeft()
