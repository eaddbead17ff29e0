"""Sees when code opens files, sockets or processes, through the interpreter's audit events. Knows no provider."""

import contextlib
import sys
import threading
from collections.abc import Iterator
from typing import Final

WATCHED: Final = frozenset(
    {"open", "os.listdir", "os.scandir", "socket.connect", "socket.bind", "socket.getaddrinfo", "subprocess.Popen"}
)

_watching = threading.local()
_installed = threading.Event()


@contextlib.contextmanager
def watch_io() -> Iterator[list[str]]:
    """The names of the watched events that this thread raises inside the block, in order."""
    _install()
    seen: list[str] = []
    _watching.seen = seen
    try:
        yield seen
    finally:
        _watching.seen = None


def _install() -> None:
    # An audit hook cannot be taken away again, so there is one for the life of the process.
    if not _installed.is_set():
        _installed.set()
        sys.addaudithook(_hook)


def _hook(event: str, _arguments: tuple[object, ...]) -> None:
    if event in WATCHED:
        seen = getattr(_watching, "seen", None)
        if seen is not None:
            seen.append(event)
