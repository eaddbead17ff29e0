"""Sees when code opens files, sockets or processes, through the interpreter's audit events. Knows no provider."""

import contextlib
import sys
import threading
from collections.abc import Iterator
from typing import Final

WATCHED: Final = frozenset(
    {"open", "os.listdir", "os.scandir", "socket.connect", "socket.bind", "socket.getaddrinfo", "subprocess.Popen"}
)

_looking: dict[int, list[str]] = {}
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


def _install() -> None:
    # An audit hook cannot be taken away again, so there is one for the life of the process.
    if not _installed.is_set():
        _installed.set()
        sys.addaudithook(_hook)


def _hook(event: str, _arguments: tuple[object, ...]) -> None:
    if event in WATCHED:
        # Made a list at once: another thread may begin or end to look meanwhile.
        for seen in list(_looking.values()):
            seen.append(event)
