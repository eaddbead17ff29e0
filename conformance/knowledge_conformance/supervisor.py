"""The supervisor: runs checks in a child process and survives whatever the provider does to it.

Knows commands and deadlines. It judges nothing: what a check found comes from the child, and what became of the child
is put into words by ``faults``.
"""

from collections.abc import Mapping
from typing import Any, Final

from knowledge_conformance.check import Check
from knowledge_conformance.child_process import ChildProcess, Starting, started
from knowledge_conformance.faults import FaultError, ProcessFault, closing_result, fault_result
from knowledge_conformance.kinds import PROVIDER, Kind
from knowledge_conformance.results import CheckResult
from knowledge_conformance.settings import Settings
from knowledge_conformance.target import TargetError
from knowledge_provider import limits

LOAD_SECONDS: Final = 60.0
CLOSE_SECONDS: Final = 10.0
STALL_GRACE_SECONDS: Final = 3.0
"""Beyond the time for a call: what the child itself needs to give up on the call and say so."""


class Supervisor:
    """Runs checks on ``module:obj`` in a child process, and in a new one after each that was lost.

    ``calls`` counts the calls of the provider so far, those of lost children included. ``starting`` is how a child
    process is started.
    """

    def __init__(self, target: str, settings: Settings, kind: Kind = PROVIDER, *, starting: Starting = started) -> None:
        self._target = target
        self._settings = settings
        self._kind = kind
        self._starting = starting
        self._child: ChildProcess | None = None
        self._last_call: str | None = None
        self._lost_closing: CheckResult | None = None
        self._instance = False
        self._spent = False
        self._grace = STALL_GRACE_SECONDS
        self.calls: int = 0

    def start(self) -> None:
        """Start the child without waiting for it, so that it loads while the caller does other things."""
        if self._child is None:
            self._child = ChildProcess(self._target, self._settings, self._kind, self._starting)

    def open(self) -> None:
        """Wait until the target is loaded and a provider is open; raises ``TargetError`` when that fails."""
        self.start()
        try:
            opened = self._await("opened", LOAD_SECONDS)
        except FaultError as error:
            self._drop()
            raise TargetError(f"cannot load {self._target}: {error.fault.saw}") from None
        # What a context manager holds has no second loop anyway.
        self._instance, self._spent = opened["instance"] and not opened["entered"], False

    def turn_to(self, target: str, settings: Settings, *, grace: float = STALL_GRACE_SECONDS) -> None:
        """Check another target from now on, in the same child where there is one, since a start costs most of a second.

        A child that says nothing is given up ``grace`` seconds after what it was to do. Raises ``TargetError`` when the
        target cannot be opened.
        """
        self._target, self._settings, self._lost_closing = target, settings, None
        self._grace = grace
        if self._child is not None:
            self._child.load(target, settings, self._kind)
        self.open()

    def run(self, check: Check, remaining: int) -> CheckResult:
        """The check's result, with at most ``remaining`` calls; raises ``TargetError`` when there is no provider."""
        before, self._last_call = self.calls, None
        try:
            if check.later is not None and self._spent:
                remaining -= self._begin_again(remaining)
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
        self._spent = self._spent or (self._instance and check.closes)
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

    def _begin_again(self, remaining: int) -> int:
        """End the child, and with it a provider that is one object for its whole life and closed by now; its calls."""
        before = self.calls
        fault = self.close(remaining)
        if fault is not None:
            raise FaultError(fault)
        return self.calls - before

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
                seconds = message["seconds"] + self._grace
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
