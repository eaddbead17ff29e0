"""``ChildProcess``: the process that holds a provider, as the kit sees it; knows processes and pipes, no check.

It says what became of the process when no message comes any more, and where the author's code held it. POSIX only.
"""

import contextlib
import os
import secrets
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, Final, Protocol

from knowledge_conformance.blame import where_dumped
from knowledge_conformance.channel import KEY_BYTES, ChannelError, Reader, Writer
from knowledge_conformance.child import DUMP_SIGNAL
from knowledge_conformance.faults import OUTPUT_MAX, Fault, FaultError, ProcessFault
from knowledge_conformance.kinds import Kind
from knowledge_conformance.leftovers import kit_processes
from knowledge_conformance.settings import Settings

END_SECONDS: Final = 3.0
"""How long a process that is ending, or is killed, is waited for."""
ASK_SECONDS: Final = 2.0
"""So long before its time is up a silent child is asked where it is held; then it is looked at from outside."""
MARK: Final = "KNOWLEDGE_CONFORMANCE_CHILD"
"""The environment variable by which the processes that a provider started are found again, in whatever session."""

_READ_SIZE: Final = 1 << 16
_DUMP_MAX: Final = 1 << 18
_DUMP_QUIET_SECONDS: Final = 0.5


class Process(Protocol):
    """What is known of a child's process: what ``subprocess.Popen`` says of one that this process started."""

    pid: int

    @property
    def stdout(self) -> IO[bytes] | None:
        """What it prints."""
        ...

    def poll(self) -> int | None:
        """The exit status, or None while it runs."""
        ...

    def wait(self, timeout: float | None = None) -> int:
        """The exit status, after at most so many seconds; raises ``subprocess.TimeoutExpired`` after them."""
        ...

    def send_signal(self, sig: int, /) -> None:
        """Send a signal, unless its end is known."""
        ...


class Starting(Protocol):
    """Starts a child that serves on three descriptors, and carries a mark in its environment."""

    def __call__(self, *descriptors: int, mark: str) -> Process:
        """The process."""
        ...


class ChildProcess:
    """One child process in a process group of its own, with a guardian that ends the group when the kit dies."""

    def __init__(self, target: str, settings: Settings, kind: Kind, starting: Starting) -> None:
        key, mark = secrets.token_bytes(KEY_BYTES), secrets.token_hex()
        commands_from, self._commands = os.pipe()
        self._results, results_to = os.pipe()
        self._dumps, dumps_to = os.pipe()
        try:
            self._process = starting(commands_from, results_to, dumps_to, mark=mark)
        finally:
            for descriptor in (commands_from, results_to, dumps_to):
                os.close(descriptor)
        self._guardian = guard(self._process.pid, mark)
        kit_processes.update((self._process.pid, self._guardian.pid))
        self._waiting: list[dict[str, Any]] = []
        self._held: str | None = None
        self._reader = Reader(key)
        self._writer = Writer(self._commands, key)
        self._output = 0
        with contextlib.suppress(OSError):  # a child that died at once is noticed by the first receive
            os.write(self._commands, key)
        self.load(target, settings, kind)

    def load(self, target: str, settings: Settings, kind: Kind) -> None:
        """Let the child load a target, in the place of the one that it may have."""
        said = settings.model_dump(mode="json", by_alias=False)
        self.send({"path": search_path(), "target": target, "settings": said, "kind": kind.name})

    def send(self, message: Mapping[str, object]) -> None:
        """Send a command."""
        self._output = 0
        with contextlib.suppress(OSError):  # as above
            self._writer.write(message)

    def receive(self, seconds: float) -> dict[str, Any]:
        """The child's next message; raises ``FaultError`` when there will be none, or none within ``seconds``."""
        until, asked, self._held = time.monotonic() + seconds, False, None
        while not self._waiting:
            left = until - time.monotonic()
            if left <= 0:
                raise FaultError(self._silence(seconds))
            if left <= ASK_SECONDS and not asked:
                asked = self._asked_where()
            self._read(left if asked else left - ASK_SECONDS)
        return self._waiting.pop(0)

    def _silence(self, seconds: float) -> ProcessFault:
        status = self._process.poll()
        if status is not None:  # a process that it left behind may hold the pipe open
            return ProcessFault(Fault.DIED, status)
        # By its own words, else by what its signal handler in C can see.
        held = self._dumped() if self._held is None else self._held
        return ProcessFault(Fault.STALLED, seconds=seconds, held=held)

    def _asked_where(self) -> bool:
        # While it may yet answer: one that holds the interpreter burns a core for as long as it is waited for.
        with contextlib.suppress(OSError):  # as in send()
            self._writer.write({"where": True})
        return True

    def _dumped(self) -> str:
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(DUMP_SIGNAL)
        poll = select.poll()
        poll.register(self._dumps, select.POLLIN)
        dump = b""
        # Until it is quiet: the handler writes a line at a time.
        while len(dump) < _DUMP_MAX and poll.poll(_DUMP_QUIET_SECONDS * 1000):
            data = os.read(self._dumps, _READ_SIZE)
            if not data:
                break
            dump += data
        return where_dumped(dump.decode("ascii", "replace"), search_path())

    def end(self) -> None:
        """Kill the child, and all that it started, and release everything."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for stream in (self._guardian.stdin, self._process.stdout):
            if stream is not None:
                stream.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._guardian.wait(END_SECONDS)
        self._guardian.kill()
        self._guardian.wait()
        kit_processes.difference_update((self._process.pid, self._guardian.pid))
        for descriptor in (self._commands, self._results, self._dumps):
            os.close(descriptor)

    def _read(self, seconds: float) -> None:
        output = self._process.stdout
        sources = [self._results] if output is None or output.closed else [self._results, output.fileno()]
        poll = select.poll()  # not select(): the caller's program may have more than 1,024 descriptors
        for source in sources:
            poll.register(source, select.POLLIN)
        for source, _event in poll.poll(seconds * 1000):
            data = os.read(source, _READ_SIZE)
            if source == self._results:
                self._take(data)
            elif data:
                self._count_output(len(data))
            elif output is not None:
                output.close()

    def _take(self, data: bytes) -> None:
        if not data:
            raise FaultError(ProcessFault(Fault.DIED, status=self._process.wait()) if self._ends() else _SCRIBBLED)
        try:
            for message in self._reader.feed(data):
                if "held" in message:
                    self._held = str(message["held"])
                else:
                    self._waiting.append(message)
        except ChannelError:
            raise FaultError(_SCRIBBLED) from None

    def _ends(self) -> bool:
        # The pipe is closed: the process ends now, or the provider has closed a descriptor that is not its own.
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=END_SECONDS)
            return True
        return False

    def _count_output(self, size: int) -> None:
        self._output += size
        if self._output > OUTPUT_MAX:
            raise FaultError(ProcessFault(Fault.FLOODED))


_SCRIBBLED: Final = ProcessFault(Fault.SCRIBBLED)


def search_path() -> list[str]:
    """``sys.path`` for what loads a target: the invocation directory first, but for the standard library.

    A file json.py or http.py in the user's folder must not take the place of a standard module.
    """
    library = str(Path(os.__file__).parent)
    entries = [str(Path.cwd()), *(entry for entry in sys.path if isinstance(entry, str))]
    return sorted(dict.fromkeys(entries), key=lambda entry: entry not in (library, f"{library}/lib-dynload"))


def started(*descriptors: int, mark: str) -> Process:
    """A child in a process of its own, as ``Starting`` wants it."""
    return start("knowledge_conformance.child", *descriptors, stdout=subprocess.PIPE, mark=mark)


def start(module: str, *descriptors: int, stdout: int, mark: str) -> subprocess.Popen[bytes]:
    """Run a module of the kit in a session of its own, with these descriptors and a mark in its environment."""
    # -P: as in ``search_path``, for what is imported before the path is set.
    return subprocess.Popen(  # noqa: S603 - our own interpreter and module
        [sys.executable, "-P", "-m", module, *map(str, descriptors)],
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.STDOUT,
        pass_fds=descriptors,
        env={**os.environ, MARK: mark, **_QUIET_HYPOTHESIS},
        start_new_session=True,
        bufsize=0,
    )


_QUIET_HYPOTHESIS: Final = {"HYPOTHESIS_STORAGE_DIRECTORY": f"{os.devnull}/none"}
"""Hypothesis would leave a folder of its tables beside the user's files; where there can be none, it does without."""

_GUARDIAN: Final = """
read _
kill -s KILL -- "-$1"
for pass in 1 2; do
    for place in $(grep -ls -- "$2" /proc/[0-9]*/environ); do
        place=${place#/proc/}
        kill -s KILL "${place%/environ}"
    done
done
"""
"""Kills the group, and where the system has /proc all that carries the mark: a daemon is in no group of ours."""


def guard(group: int, mark: str) -> subprocess.Popen[bytes]:
    """A shell that waits for the kit's end and then kills the child: it works when the child itself cannot run."""
    return subprocess.Popen(  # noqa: S603 - a fixed script
        ["/bin/sh", "-c", _GUARDIAN, "sh", str(group), mark],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
