"""Standard output and error while they are listened to; knows descriptors and ``sys``, no provider and no check."""

import contextlib
import os
import select
import stat
import sys
import threading
from typing import Any, Final, Protocol

from knowledge_conformance.channels import Search
from knowledge_conformance.redact import mask_known

_PIPE_SIZE: Final = 1 << 20
_READ_SIZE: Final = 1 << 16
# How much of what was heard is heard again with what follows: as much as any spelling of a secret is long.
_OVERLAP: Final = 1 << 13


class Stream(Protocol):
    """One stream that is listened to."""

    def settle(self) -> None:
        """Take what was written up to now."""
        ...

    def control(self, text: str) -> None:
        """Write ``text``, so that it is heard if anything is."""
        ...

    def end(self) -> None:
        """Put things back as they were."""
        ...


def in_child() -> bool:
    """Whether this process was made for the provider, so that its descriptors are the kit's to replace."""
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    return getattr(spec, "name", None) == "knowledge_conformance.child"


def stream_of(number: int, channel: str, search: Search, *, own_process: bool | None = None) -> Stream | None:
    """Listen to descriptor 1 or 2 in a process of the kit's own, to ``sys.stdout`` or ``sys.stderr`` in any other.

    None where there is none: the provider has closed it, or has used up all descriptors.
    """
    try:
        return (_Pipe if (in_child() if own_process is None else own_process) else _Tee)(number, channel, search)
    except OSError:
        return None


class _Pipe:
    """A file descriptor of a process of our own, read through a pipe: what C code and programs write comes, too."""

    def __init__(self, number: int, channel: str, search: Search) -> None:
        self._number = number
        self._channel = channel
        self._search: Search | None = search
        self._lock = threading.Lock()
        self._tail = ""
        self._source, self._kept = _piped(number)
        threading.Thread(target=self._follow, name=f"knowledge-conformance-{number}", daemon=True).start()

    def settle(self) -> None:
        _flush()
        with self._lock, contextlib.suppress(OSError):
            while self._take():
                pass
        self._tail = ""

    def control(self, text: str) -> None:
        with contextlib.suppress(OSError):
            os.write(self._number, text.encode())

    def end(self) -> None:
        self.settle()
        with contextlib.suppress(OSError):
            os.dup2(self._kept, self._number)
        self._search = None  # what comes from now on is nobody's any more
        with contextlib.suppress(OSError):
            os.close(self._kept)

    def _follow(self) -> None:
        # A pipe that is full would hold the provider. A program that it started may write on after the end.
        poll = select.poll()
        poll.register(self._source, select.POLLIN)
        with contextlib.suppress(OSError):
            while True:
                poll.poll()
                with self._lock:
                    if self._take() == 0:
                        break
        os.close(self._source)

    def _take(self) -> int | None:
        # None: nothing is there now; 0: nothing will ever come.
        try:
            data = os.read(self._source, _READ_SIZE)
        except BlockingIOError:
            return None
        text = self._tail + data.decode("utf-8", "replace")
        if self._search is not None:
            self._search.hear(self._channel, text)
        self._tail = text[-_OVERLAP:]
        return len(data)


def _piped(number: int) -> tuple[int, int]:
    # A number that was closed is given to the next socket, which is somebody's.
    if not any(is_kind(os.fstat(number).st_mode) for is_kind in (stat.S_ISFIFO, stat.S_ISREG, stat.S_ISCHR)):
        raise OSError(f"descriptor {number} is no stream of text")
    kept = os.dup(number)
    source, into = os.pipe()
    os.set_blocking(source, False)
    with contextlib.suppress(ImportError, AttributeError, OSError):
        import fcntl

        # So that C code that holds the interpreter, and with it our thread, can write much at once.
        fcntl.fcntl(source, fcntl.F_SETPIPE_SZ, _PIPE_SIZE)
    _flush()
    os.dup2(into, number)
    os.close(into)
    return source, kept


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(BaseException):  # the provider may have replaced it
            stream.flush()


class _Tee:
    """``sys.stdout`` or ``sys.stderr`` of a process that others write in: passes on what it hears, secrets aside."""

    def __init__(self, number: int, channel: str, search: Search) -> None:
        self._name = {1: "stdout", 2: "stderr"}[number]
        self._channel = channel
        self._search = search
        self._ended = False
        self._stream = getattr(sys, self._name)
        setattr(sys, self._name, self)

    def write(self, text: str) -> int:
        # Whoever took it for the stream, as a handler of logging does, keeps it.
        if not self._ended:
            self._search.hear(self._channel, text)
        if self._stream is not None:
            self._stream.write(mask_known(text, self._search.secrets.values(), limit=len(text)))
        return len(text)

    def writelines(self, lines: list[str]) -> None:
        for line in lines:
            self.write(line)

    def settle(self) -> None:
        """Nothing waits."""

    def control(self, text: str) -> None:
        if getattr(sys, self._name) is self:
            self._search.hear(self._channel, text)

    def end(self) -> None:
        self._ended = True
        if getattr(sys, self._name) is self:
            setattr(sys, self._name, self._stream)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
