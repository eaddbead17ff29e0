"""Sees when code opens files, sockets or processes, through the interpreter's audit events. Knows no provider."""

import contextlib
import os
import sys
import threading
from collections.abc import Iterator
from typing import Final

WATCHED: Final = frozenset(
    {"open", "os.listdir", "os.scandir", "socket.connect", "socket.bind", "socket.getaddrinfo", "subprocess.Popen"}
)

_MAKING: Final = frozenset({"os.mkdir", "os.link", "os.symlink", "os.rename", "sqlite3.connect"})
_WRITING: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT

_looking: dict[int, list[str]] = {}
_writing: dict[int, list[str]] = {}
_installed = threading.Event()


@contextlib.contextmanager
def watch_io() -> Iterator[list[str]]:
    """The names of the watched events that any thread raises inside the block, in order.

    A synchronous provider works in a thread, an asynchronous one may use some of its own. The kit's other threads wait
    meanwhile: the one that listens for commands reads from its pipe, which is no event.
    """
    _install()
    seen: list[str] = []
    _looking[id(seen)] = seen
    try:
        yield seen
    finally:
        del _looking[id(seen)]


@contextlib.contextmanager
def watch_writes() -> Iterator[list[str]]:
    """The names of the events by which any thread makes a file or folder, or opens one for writing, in the block.

    What Python itself keeps of an imported module does not count, nor do devices.
    """
    _install()
    seen: list[str] = []
    _writing[id(seen)] = seen
    try:
        yield seen
    finally:
        del _writing[id(seen)]


def _install() -> None:
    # An audit hook cannot be taken away again, so there is one for the life of the process.
    if not _installed.is_set():
        _installed.set()
        sys.addaudithook(_hook)


def _hook(event: str, arguments: tuple[object, ...]) -> None:
    if event in WATCHED:
        # Made a list at once: another thread may begin or end to look meanwhile.
        for seen in list(_looking.values()):
            seen.append(event)
    if _writing and _writes(event, arguments):
        for seen in list(_writing.values()):
            seen.append(event)


def _writes(event: str, arguments: tuple[object, ...]) -> bool:
    if event in _MAKING:
        return "__pycache__" not in str(arguments[0])
    if event != "open" or not isinstance(arguments[0], str | bytes | os.PathLike):
        return False
    path, flags = os.fsdecode(arguments[0]), arguments[2]
    return isinstance(flags, int) and bool(flags & _WRITING) and "__pycache__" not in path and path[:5] != "/dev/"
