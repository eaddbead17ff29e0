"""The supervisor: runs checks in a child process and survives whatever the provider does to it.

Knows processes, pipes and deadlines. It judges nothing: what a check found comes from the child, and what became of
the child is put into words by ``faults``. POSIX only.
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
from typing import Any, Final

from knowledge_conformance.channel import KEY_BYTES, ChannelError, Reader, Writer
from knowledge_conformance.check import Check
from knowledge_conformance.faults import OUTPUT_MAX, Fault, FaultError, ProcessFault, closing_result, fault_result
from knowledge_conformance.kinds import PROVIDER, Kind
from knowledge_conformance.results import CheckResult
from knowledge_conformance.settings import Settings
from knowledge_conformance.target import TargetError
from knowledge_provider import limits

LOAD_SECONDS: Final = 60.0
CLOSE_SECONDS: Final = 10.0
STALL_GRACE_SECONDS: Final = 3.0
"""Beyond the time for a call: what the child itself needs to give up on the call and say so."""
MARK: Final = "KNOWLEDGE_CONFORMANCE_CHILD"
"""The environment variable by which the processes that a provider started are found again, in whatever session."""

_READ_SIZE: Final = 1 << 16


class Supervisor:
    """Runs checks on ``module:obj`` in a child process, and in a new one after each that was lost.

    ``calls`` counts the calls of the provider so far, those of lost children included.
    """

    def __init__(self, target: str, settings: Settings, kind: Kind = PROVIDER) -> None:
        self._target = target
        self._settings = settings
        self._kind = kind
        self._child: _Child | None = None
        self._last_call: str | None = None
        self._lost_closing: CheckResult | None = None
        self.calls: int = 0

    def start(self) -> None:
        """Start the child without waiting for it, so that it loads while the caller does other things."""
        if self._child is None:
            self._child = _Child(self._target, self._settings, self._kind)

    def open(self) -> None:
        """Wait until the target is loaded and a provider is open; raises ``TargetError`` when that fails."""
        self.start()
        try:
            self._await("opened", LOAD_SECONDS)
        except FaultError as error:
            self._drop()
            raise TargetError(f"cannot load {self._target}: {error.fault.saw}") from None

    def run(self, check: Check, remaining: int) -> CheckResult:
        """The check's result, with at most ``remaining`` calls; raises ``TargetError`` when there is no provider."""
        before, self._last_call = self.calls, None
        try:
            if self._child is None:
                self.open()
            self._send({"run": check.id, "remaining": remaining, "close": self._lost_closing is None})
            message = self._await("result", quiet_seconds(self._settings))
        except FaultError as error:
            self._drop()
            return fault_result(check, error.fault, calls=self.calls - before, last_call=self._last_call)
        except TargetError:
            raise
        except BaseException:
            # Ctrl-C, or a plugin's time-out: nobody waits for this answer, and the next check must not get it.
            self._drop()
            raise
        self._wait_until_ready(check)
        return closing_result(check, CheckResult.model_validate(message), self._lost_closing)

    def close(self, remaining: int) -> ProcessFault | None:
        """Close the provider, with at most ``remaining`` calls, and end the child; how it was lost, if it was."""
        if self._child is None:
            return None
        try:
            self._send({"remaining": remaining})
            self._await("closed", CLOSE_SECONDS)
        except FaultError as error:
            return error.fault
        finally:
            self._drop()
        return None

    def kill(self) -> None:
        """End the child at once."""
        self._drop()

    def _wait_until_ready(self, check: Check) -> None:
        try:
            self._await("ready", CLOSE_SECONDS)
        except FaultError as error:
            self._drop()
            self._lost_closing = fault_result(check, error.fault, calls=0, last_call=self._last_call)

    def _await(self, wanted: str, seconds: float) -> Any:
        while self._child is not None:
            message = self._child.receive(seconds)
            if "call" in message:
                self.calls, self._last_call = self.calls + 1, message["call"]
                seconds = message["seconds"] + STALL_GRACE_SECONDS
            elif "unusable" in message:
                self._drop()
                raise TargetError(message["unusable"])
            elif "unopened" in message:
                raise TargetError(message["unopened"])
            elif wanted in message:
                return message[wanted]
        raise TargetError(f"cannot use {self._target}: it has no process")

    def _send(self, message: Mapping[str, object]) -> None:
        if self._child is not None:
            self._child.send(message)

    def _drop(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.end()


def quiet_seconds(settings: Settings) -> float:
    """How long nothing may be heard before a check's first call: the kit's own work, which a busy machine slows."""
    return max(settings.timeout, limits.CALL_SECONDS_DEFAULT) + STALL_GRACE_SECONDS


class _Child:
    """One child process in a process group of its own, with a guardian that ends the group when the kit dies."""

    def __init__(self, target: str, settings: Settings, kind: Kind) -> None:
        key, mark = secrets.token_bytes(KEY_BYTES), secrets.token_hex()
        commands_from, self._commands = os.pipe()
        self._results, results_to = os.pipe()
        try:
            self._process = _spawn(commands_from, results_to, mark)
        finally:
            os.close(commands_from)
            os.close(results_to)
        self._guardian = _guard(self._process.pid, mark)
        self._waiting: list[dict[str, Any]] = []
        self._reader = Reader(key)
        self._writer = Writer(self._commands, key)
        self._output = 0
        with contextlib.suppress(OSError):  # a child that died at once is noticed by the first receive
            os.write(self._commands, key)
        first = settings.model_dump(mode="json", by_alias=False)
        self.send({"path": search_path(), "target": target, "settings": first, "kind": kind.name})

    def send(self, message: Mapping[str, object]) -> None:
        """Send a command."""
        self._output = 0
        with contextlib.suppress(OSError):  # as above
            self._writer.write(message)

    def receive(self, seconds: float) -> dict[str, Any]:
        """The child's next message; raises ``FaultError`` when there will be none, or none within ``seconds``."""
        until = time.monotonic() + seconds
        while not self._waiting:
            left = until - time.monotonic()
            if left <= 0:
                status = self._process.poll()
                dead = status is not None  # a process that it left behind may hold the pipe open
                raise FaultError(
                    ProcessFault(Fault.DIED, status or 0) if dead else ProcessFault(Fault.STALLED, 0, seconds)
                )
            self._read(left)
        return self._waiting.pop(0)

    def end(self) -> None:
        """Kill the child, and all that it started, and release everything."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for stream in (self._guardian.stdin, self._process.stdout):
            if stream is not None:
                stream.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._guardian.wait(STALL_GRACE_SECONDS)
        self._guardian.kill()
        self._guardian.wait()
        os.close(self._commands)
        os.close(self._results)

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
            self._waiting.extend(self._reader.feed(data))
        except ChannelError:
            raise FaultError(_SCRIBBLED) from None

    def _ends(self) -> bool:
        # The pipe is closed: the process ends now, or the provider has closed a descriptor that is not its own.
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=STALL_GRACE_SECONDS)
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


def _spawn(commands_from: int, results_to: int, mark: str) -> subprocess.Popen[bytes]:
    # -P: as in ``search_path``, for what is imported before the path is set.
    command = [sys.executable, "-P", "-m", "knowledge_conformance.child", str(commands_from), str(results_to)]
    return subprocess.Popen(  # noqa: S603 - our own interpreter and module
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        pass_fds=(commands_from, results_to),
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


def _guard(group: int, mark: str) -> subprocess.Popen[bytes]:
    """A shell that waits for the kit's end and then kills the child: it works when the child itself cannot run."""
    return subprocess.Popen(  # noqa: S603 - a fixed script
        ["/bin/sh", "-c", _GUARDIAN, "sh", str(group), mark],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
