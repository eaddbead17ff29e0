"""What is left running: tasks, threads, sockets and child processes, compared with what stood there before.

Knows the interpreter and ``/proc``, no provider and no check. Where there is no ``/proc``, sockets and processes cannot
be seen, and None says so.
"""

import asyncio
import contextlib
import gc
import inspect
import os
import socket
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from knowledge_conformance import blame
from knowledge_conformance.render import show
from knowledge_conformance.threads import HostThread

kit_processes: Final[set[int]] = set()
"""Processes that the kit itself started from this one."""

_POLL_SECONDS: Final = 0.01
_DESCRIPTORS: Final = Path("/proc/self/fd")
_THREADS: Final = Path("/proc/self/task")
_SOCKET: Final = "socket:["
# The standard library starts these for itself, and keeps them until the interpreter ends.
_HELPERS: Final = (b"multiprocessing.resource_tracker", b"multiprocessing.forkserver")


@dataclass(frozen=True, slots=True)
class Standing:
    """What stood there at one moment; sockets by their inodes."""

    threads: frozenset[threading.Thread]
    sockets: frozenset[str]
    processes: frozenset[int]
    tasks: frozenset["asyncio.Task[Any]"]

    @classmethod
    def now(cls, loop: asyncio.AbstractEventLoop) -> "Standing":
        """What stands there now, of the process and of the loop."""
        tasks = frozenset(asyncio.all_tasks(loop))
        return cls(frozenset(threading.enumerate()), frozenset(_sockets() or ()), frozenset(_processes() or ()), tasks)

    def joined(self, before: "Standing", after: "Standing") -> "Standing":
        """This, and the sockets that came between two other moments."""
        return replace(self, sockets=self.sockets | (after.sockets - before.sockets))


async def cleared(look: Callable[[], list[str]], seconds: float, *, collect: bool = True) -> list[str]:
    """What ``look`` still sees after ``seconds``; empty as soon as it sees nothing.

    Half way through the garbage is collected, unless that is not to be: what nobody refers to any more is not left, it
    only has not gone yet.
    """
    loop = asyncio.get_running_loop()
    until, collected = loop.time() + seconds, not collect
    while left := look():
        remaining = until - loop.time()
        if remaining <= 0:
            return sorted(left)
        if not collected and remaining < seconds / 2:
            gc.collect()
            collected = True
        await asyncio.sleep(_POLL_SECONDS)
    return []


def tasks_since(standing: Standing) -> list[str]:
    """The tasks of the running loop that came after ``standing``, the one that asks aside, in words."""
    new = asyncio.all_tasks() - standing.tasks - {asyncio.current_task()}
    return [named_task(task) for task in new]


def named_task(task: "asyncio.Task[Any]") -> str:
    """A task in words, with where it is suspended."""
    return f"a task{blame.within(blame.authors(blame.stack_of_awaitable(task)))}"


def threads_since(standing: Standing) -> list[str]:
    """The threads that came after ``standing`` and hold up the end of the interpreter, in words."""
    main = threading.main_thread()
    new = (thread for thread in threading.enumerate() if thread not in standing.threads and thread is not main)
    return [named_thread(thread) for thread in new if _holds_up(thread)]


def _holds_up(thread: threading.Thread) -> bool:
    return thread.is_alive() and not thread.daemon and not isinstance(thread, HostThread)


def named_thread(thread: threading.Thread) -> str:
    """A thread that is not a daemon in words, with where it is."""
    stack = blame.stack_of_thread(thread.ident)
    pooled = any(place.module == "concurrent.futures.thread" for place in stack)
    kind = "a thread of a ThreadPoolExecutor" if pooled else "a non-daemon thread"
    return f"{kind}{blame.within(blame.authors(stack))}"


def sockets_since(standing: Standing) -> list[str] | None:
    """The open sockets that came after ``standing``, in words; None where they cannot be seen."""
    found = _sockets()
    if found is None:
        return None
    return [_named_socket(descriptor) for inode, descriptor in found.items() if inode not in standing.sockets]


def processes_since(standing: Standing) -> list[str] | None:
    """The running child processes that came after ``standing``, in words; None where they cannot be seen."""
    found = _processes()
    if found is None:
        return None
    new = found - standing.processes - kit_processes
    return [named for pid in new if (named := _named_process(pid)) is not None]


def _sockets() -> dict[str, int] | None:
    try:
        # Before and after every check, and pathlib takes four times as long.
        names = os.listdir(_DESCRIPTORS)  # noqa: PTH208
    except OSError:
        return None
    found: dict[str, int] = {}
    for name in names:
        # The one that lists them is gone by now.
        with contextlib.suppress(OSError):
            held = os.readlink(f"{_DESCRIPTORS}/{name}")  # noqa: PTH115 - as above
            if held.startswith(_SOCKET):
                found[held] = int(name)
    return found


def _named_socket(descriptor: int) -> str:
    # Neither numbers nor addresses: they are others in each run.
    try:
        held = socket.socket(fileno=os.dup(descriptor))
    except OSError:
        return "a socket"
    with held:
        try:
            listens = bool(held.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN))
        except OSError:
            listens = False
        family = {socket.AF_INET: "TCP", socket.AF_INET6: "TCP"}.get(held.family, "local")
        kind = family if held.type == socket.SOCK_STREAM else "datagram"
        return f"a {kind} socket that {'listens' if listens else 'is open'}"


def _processes() -> frozenset[int] | None:
    # Each thread has the children that it started, which is far cheaper to read than the table of all processes.
    read: list[bytes] = []
    with contextlib.suppress(OSError):
        for thread in _THREADS.iterdir():
            with contextlib.suppress(OSError):  # the thread has ended
                read.append((thread / "children").read_bytes())
    return frozenset(int(pid) for pid in b" ".join(read).split()) if read else None


def _named_process(pid: int) -> str | None:
    """A child process in words; None for one that has ended, or that the standard library keeps for itself."""
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
        state = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    # "pid (name) state …", and the name may be anything.
    begins, _, rest = state.rpartition(b") ")
    if rest[:1] == b"Z" or any(helper in command for helper in _HELPERS):
        return None
    name = begins.partition(b"(")[2].decode("utf-8", "replace")
    return f"a child process {show(name)}"


class TaskWatch:
    """Sees the tasks that are begun on the running loop inside a ``with`` block, by whatever of its calls.

    Through a task factory over the one that is there, so that eager tasks, those of task groups and of other classes
    are seen too, and by what the loop knows, for a provider that sets a factory of its own.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._before = self._loop.get_task_factory()
        self._standing = asyncio.all_tasks()
        self._begun: dict[asyncio.Task[Any], str] = {}
        self._own: set[asyncio.Task[Any]] = set()

    def __enter__(self) -> "TaskWatch":
        """Begin to watch."""
        self._loop.set_task_factory(self._make)
        return self

    def __exit__(self, *_error: object) -> None:
        """Stop, and leave a factory that was set meanwhile where it is."""
        if self._loop.get_task_factory() == self._make:
            self._loop.set_task_factory(self._before)

    def disown(self, task: "asyncio.Task[Any]") -> None:
        """A task of the kit's own."""
        self._own.add(task)

    def alive(self) -> set["asyncio.Task[Any]"]:
        """The tasks begun since, and not over."""
        kit = self._own | {asyncio.current_task()}
        tasks = (self._begun.keys() | asyncio.all_tasks()) - self._standing - kit
        return {task for task in tasks if not task.done()}

    def named(self, task: "asyncio.Task[Any]") -> str:
        """A task in words: where it is suspended, else where it was begun."""
        named, begun = named_task(task), self._begun.get(task, "")
        return named if " in " in named or not begun else f"a task that was begun{begun}"

    def _make(self, loop: asyncio.AbstractEventLoop, coroutine: Any, **options: Any) -> Any:
        made: Any
        if self._before is None:
            made = asyncio.Task(coroutine, loop=loop, **options)
        else:
            made = self._before(loop, coroutine, **options)
        self._begun[made] = blame.within(blame.authors(blame.stack_of(inspect.currentframe())))
        return made


def fresh_executor(loop: asyncio.AbstractEventLoop) -> ThreadPoolExecutor:
    """A new default executor of the loop, as it would make one for itself: so that the kit can shut it down."""
    executor = ThreadPoolExecutor(thread_name_prefix="asyncio")
    loop.set_default_executor(executor)
    return executor
