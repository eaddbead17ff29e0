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
from knowledge_conformance.faults import OUTPUT_MAX, Fault, ProcessFault, fault_result
from knowledge_conformance.results import CheckOutcome, CheckResult
from knowledge_conformance.settings import Settings
from knowledge_conformance.target import TargetError

LOAD_SECONDS: Final = 60.0
CLOSE_SECONDS: Final = 10.0
STALL_GRACE_SECONDS: Final = 3.0
"""Beyond the time for a call: what the child itself needs to give up on the call and say so."""

_READ_SIZE: Final = 1 << 16


class _FaultError(Exception):
    def __init__(self, fault: ProcessFault) -> None:
        super().__init__(fault.saw)
        self.fault = fault


class Supervisor:
    """Runs checks on ``module:obj`` in a child process, and in a new one after each that was lost.

    ``calls`` counts the calls of the provider so far, those of lost children included.
    """

    def __init__(self, target: str, settings: Settings) -> None:
        self._target = target
        self._settings = settings
        self._child: _Child | None = None
        self._last_call: str | None = None
        self.calls: int = 0

    def start(self) -> None:
        """Start the child without waiting for it, so that it loads while the caller does other things."""
        if self._child is None:
            self._child = _Child(self._target, self._settings)

    def open(self) -> None:
        """Wait until the target is loaded and a provider is open; raises ``TargetError`` when that fails."""
        self.start()
        try:
            self._await("opened", LOAD_SECONDS)
        except _FaultError as error:
            self._drop()
            raise TargetError(f"cannot load {self._target}: {error.fault.saw}") from None

    def run(self, check: Check, remaining: int) -> CheckResult:
        """The check's result, with at most ``remaining`` calls of the provider."""
        before, self._last_call = self.calls, None
        try:
            if self._child is None:
                self.open()
            self._send({"run": check.id, "remaining": remaining})
            message = self._await("result", self._settings.timeout + STALL_GRACE_SECONDS)
        except TargetError as error:
            return _not_reopened(check, error)
        except _FaultError as error:
            self._drop()
            return fault_result(check, error.fault, calls=self.calls - before, last_call=self._last_call)
        return CheckResult.model_validate(message)

    def close(self) -> None:
        """Close the provider and end the child; never raises for what the provider does."""
        if self._child is None:
            return
        with contextlib.suppress(_FaultError, TargetError):
            self._send({"close": True})
            self._await("closed", CLOSE_SECONDS)
        self._drop()

    def kill(self) -> None:
        """End the child at once."""
        self._drop()

    def _await(self, wanted: str, seconds: float) -> Any:
        while self._child is not None:
            message = self._child.receive(seconds)
            if "call" in message:
                self.calls, self._last_call = self.calls + 1, message["call"]
                seconds = message["seconds"] + STALL_GRACE_SECONDS
            elif "unusable" in message:
                self._drop()
                raise TargetError(message["unusable"])
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


def _not_reopened(check: Check, error: TargetError) -> CheckResult:
    return CheckResult(
        id=check.id,
        outcome=CheckOutcome.ERRORED,
        wanted="the target to open again after its process was lost",
        saw=str(error),
        hint="look at the first failed check: it says how the process was lost",
    )


class _Child:
    """One child process in a process group of its own, with a guardian that ends the group when the kit dies."""

    def __init__(self, target: str, settings: Settings) -> None:
        key = secrets.token_bytes(KEY_BYTES)
        commands_from, self._commands = os.pipe()
        self._results, results_to = os.pipe()
        try:
            self._process = _spawn(commands_from, results_to)
        finally:
            os.close(commands_from)
            os.close(results_to)
        self._guardian = _guard(self._process.pid)
        self._waiting: list[dict[str, Any]] = []
        self._reader = Reader(key)
        self._writer = Writer(self._commands, key)
        self._output = 0
        with contextlib.suppress(OSError):  # a child that died at once is noticed by the first receive
            os.write(self._commands, key)
        first = settings.model_dump(mode="json", by_alias=False)
        self.send({"path": [str(Path.cwd()), *sys.path], "target": target, "settings": first})

    def send(self, message: Mapping[str, object]) -> None:
        """Send a command."""
        self._output = 0
        with contextlib.suppress(OSError):  # as above
            self._writer.write(message)

    def receive(self, seconds: float) -> dict[str, Any]:
        """The child's next message; raises ``_FaultError`` when there will be none, or none within ``seconds``."""
        until = time.monotonic() + seconds
        while not self._waiting:
            left = until - time.monotonic()
            if left <= 0:
                status = self._process.poll()
                dead = status is not None  # a process that it left behind may hold the pipe open
                raise _FaultError(
                    ProcessFault(Fault.DIED, status or 0) if dead else ProcessFault(Fault.STALLED, 0, seconds)
                )
            self._read(left)
        return self._waiting.pop(0)

    def end(self) -> None:
        """Kill the whole group and release everything."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._guardian.kill()
        self._guardian.wait()
        for stream in (self._guardian.stdin, self._process.stdout):
            if stream is not None:
                stream.close()
        os.close(self._commands)
        os.close(self._results)

    def _read(self, seconds: float) -> None:
        output = self._process.stdout
        sources = [self._results] if output is None or output.closed else [self._results, output.fileno()]
        ready, _, _ = select.select(sources, [], [], seconds)
        for source in ready:
            data = os.read(source, _READ_SIZE)
            if source == self._results:
                self._take(data)
            elif data:
                self._count_output(len(data))
            elif output is not None:
                output.close()

    def _take(self, data: bytes) -> None:
        if not data:
            raise _FaultError(ProcessFault(Fault.DIED, status=self._process.wait()) if self._ends() else _SCRIBBLED)
        try:
            self._waiting.extend(self._reader.feed(data))
        except ChannelError:
            raise _FaultError(_SCRIBBLED) from None

    def _ends(self) -> bool:
        # The pipe is closed: the process ends now, or the provider has closed a descriptor that is not its own.
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=STALL_GRACE_SECONDS)
            return True
        return False

    def _count_output(self, size: int) -> None:
        self._output += size
        if self._output > OUTPUT_MAX:
            raise _FaultError(ProcessFault(Fault.FLOODED))


_SCRIBBLED: Final = ProcessFault(Fault.SCRIBBLED)


def _spawn(commands_from: int, results_to: int) -> subprocess.Popen[bytes]:
    # -P: a file json.py in the user's folder must not take the place of the standard library's.
    command = [sys.executable, "-P", "-m", "knowledge_conformance.child", str(commands_from), str(results_to)]
    return subprocess.Popen(  # noqa: S603 - our own interpreter and module
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        pass_fds=(commands_from, results_to),
        start_new_session=True,
        bufsize=0,
    )


def _guard(group: int) -> subprocess.Popen[bytes]:
    """A shell that waits for the kit's end and then kills the group: it works when the child itself cannot run."""
    return subprocess.Popen(  # noqa: S603 - a fixed script
        ["/bin/sh", "-c", 'read _; kill -s KILL -- "-$1"', "sh", str(group)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
