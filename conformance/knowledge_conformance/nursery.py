"""The nursery: a process that has loaded the kit, and forks a child for whoever asks. Knows processes, no check.

For many short lives: to start Python and load the kit takes a third of a second of a core, to fork a hundredth. Run as
a module, it is that process; it has one thread and runs no provider, so that a fork of it is as good as a new process.
"""

import contextlib
import importlib
import os
import secrets
import signal
import socket
import subprocess
import sys
from typing import IO, Final, NoReturn

from knowledge_conformance.catalogue import BY_ID
from knowledge_conformance.child import serve
from knowledge_conformance.child_process import MARK, Process, guard, start, started

_MARK_BYTES: Final = 64
_NUMBER_BYTES: Final = 8
_DESCRIPTORS: Final = 5
_LOADED_BY_A_CHILD: Final = ("knowledge_conformance.worker", "knowledge_fakes.faults")
_DRAWN: Final = 10


class Nursery:
    """Starts children by forks of one process, which begins with this object, and has loaded the kit some time later.

    It ends with the ``with`` block, or with ``end``, and what is left of the children with it. They have the
    environment that there was at its beginning.
    """

    def __init__(self) -> None:
        self._requests, theirs = socket.socketpair()
        mark = secrets.token_hex(_MARK_BYTES // 2)
        with theirs:
            self._process = start(
                "knowledge_conformance.nursery", theirs.fileno(), stdout=subprocess.DEVNULL, mark=mark
            )
        self._guardian = guard(self._process.pid, mark)

    def __enter__(self) -> "Nursery":
        """The same."""
        return self

    def __exit__(self, *_error: object) -> None:
        """End the process."""
        self.end()

    def end(self) -> None:
        """End the process; doing so twice is doing it once."""
        self._requests.close()
        self._process.kill()
        self._process.wait()
        if self._guardian.stdin is not None:
            self._guardian.stdin.close()
        self._guardian.wait()

    def started(self, *descriptors: int, mark: str) -> Process:
        """A child that serves on these three descriptors, and carries a mark of 64 characters in its environment.

        Raises ``RuntimeError`` after the end.
        """
        if self._requests.fileno() < 0:
            raise RuntimeError("wanted a child from a nursery that has ended")
        output, output_to = os.pipe()
        life, theirs = socket.socketpair()
        try:
            with theirs:
                socket.send_fds(self._requests, [mark.encode()], [*descriptors, output_to, theirs.fileno()])
            pid = _number(life)
        except OSError:
            # It is lost, as when memory is short: a new process is slower, and no worse.
            os.close(output)
            life.close()
            return started(*descriptors, mark=mark)
        finally:
            os.close(output_to)
        return _Forked(pid, os.fdopen(output, "rb", 0), life)


class _Forked:
    """A child that is none of this process's own, as ``Popen`` would show it; ``life`` brings its id, then its end."""

    def __init__(self, pid: int, stdout: IO[bytes], life: socket.socket) -> None:
        self.pid = pid
        self.stdout: IO[bytes] | None = stdout
        self._life = life
        self._status: int | None = None

    def poll(self) -> int | None:
        """The exit status, or None while it runs."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.wait(0)
        return None

    def wait(self, timeout: float | None = None) -> int:
        """The exit status, after at most so many seconds; raises ``subprocess.TimeoutExpired`` after them."""
        if self._status is None:
            self._life.settimeout(timeout)
            try:
                self._status = _number(self._life)
            except (BlockingIOError, TimeoutError):
                raise subprocess.TimeoutExpired("a forked child", timeout or 0.0) from None
            except ConnectionError:
                # What could have told was killed, as a provider may do that kills its parent.
                self._status = -signal.SIGKILL
            self._life.close()
        return self._status

    def send_signal(self, number: int) -> None:
        """Send a signal, unless its end is known."""
        if self.poll() is None:
            os.kill(self.pid, number)


def _number(life: socket.socket) -> int:
    data = life.recv(_NUMBER_BYTES)
    if len(data) < _NUMBER_BYTES:
        raise ConnectionError("wanted a child from the process that forks them, and it was lost: is memory short?")
    return int.from_bytes(data, "big", signed=True)


def main() -> None:
    """Load the kit and fork a child for each request, until whoever asks is gone."""
    requests = socket.socket(fileno=int(sys.argv[1]))
    from knowledge_conformance.generate import each_request  # here: whoever only asks for children needs none of it

    for module in _LOADED_BY_A_CHILD:
        importlib.import_module(module)
    BY_ID["KP-101"]  # which loads every check
    # Hypothesis makes its tables of characters when it draws the first texts.
    each_request(lambda _request: None, examples=_DRAWN, seed=0)
    # Nobody waits for the processes that watch the children.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        mark, descriptors, _flags, _address = socket.recv_fds(requests, _MARK_BYTES, _DESCRIPTORS)
        if not mark:
            return
        if os.fork() == 0:
            requests.close()
            _watch(mark.decode(), *descriptors)
        for descriptor in descriptors:
            os.close(descriptor)


def _watch(mark: str, *descriptors: int) -> NoReturn:
    """Fork the child, and tell its id and its end: only its own parent can know that."""
    *serving, output, life = descriptors
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    child = os.fork()
    if child == 0:
        os.close(life)
        _live(mark, output, *serving)
    for descriptor in (*serving, output):
        os.close(descriptor)
    told = socket.socket(fileno=life)
    with contextlib.suppress(OSError):  # nobody may be left to hear it
        told.sendall(child.to_bytes(_NUMBER_BYTES, "big", signed=True))
    _, status = os.waitpid(child, 0)
    with contextlib.suppress(OSError):  # as above
        told.sendall(os.waitstatus_to_exitcode(status).to_bytes(_NUMBER_BYTES, "big", signed=True))
    os._exit(0)


def _live(mark: str, output: int, *serving: int) -> NoReturn:
    os.setsid()
    os.environ[MARK] = mark
    for standard in (1, 2):
        os.dup2(output, standard)
    os.close(output)
    serve(*serving)  # which ends with this process
    os._exit(0)


if __name__ == "__main__":
    main()
