"""The runner without a child process: for debuggers, and for factories that only this process has. No protection.

A check that stalls is left behind in its daemon thread and the rest go on in a new one; a crash, an ``os._exit`` or a
loop inside C takes the whole run. Knows threads and deadlines, judges nothing.
"""

import queue
import sys
from collections.abc import Callable, Mapping
from typing import Any

from knowledge_conformance.blame import where_held
from knowledge_conformance.channel import KIT_LOST
from knowledge_conformance.check import Check
from knowledge_conformance.child_process import search_path
from knowledge_conformance.faults import Fault, FaultError, ProcessFault, closing_result, fault_result
from knowledge_conformance.kinds import PROVIDER, Kind
from knowledge_conformance.results import CheckResult
from knowledge_conformance.settings import Settings
from knowledge_conformance.supervisor import (
    CLOSE_SECONDS,
    LOAD_SECONDS,
    STALL_GRACE_SECONDS,
    quiet_seconds,
)
from knowledge_conformance.target import Target, TargetError
from knowledge_conformance.threads import HostThread, end_idle_threads
from knowledge_conformance.worker import Worker

_Messages = queue.SimpleQueue[Mapping[str, Any]]


class InProcess:
    """Runs checks in a thread of this process; ``patient`` waits for ever, as a debugger needs it."""

    def __init__(
        self, target: str | Target, settings: Settings, kind: Kind = PROVIDER, *, patient: bool = False
    ) -> None:
        self._target = target
        self._settings = settings
        self._kind = kind
        self._patient = patient
        self._thread: _WorkerThread | None = None
        self._last_call: str | None = None
        self._lost_closing: CheckResult | None = None
        self.calls: int = 0

    def start(self) -> None:
        """Start the thread."""
        if self._thread is None:
            if isinstance(self._target, str):
                sys.path[:] = search_path()
            self._thread = _WorkerThread(self._target, self._settings, self._kind)
            self._thread.ask(lambda worker: worker.open())

    def open(self) -> None:
        """Wait until a provider is open; raises ``TargetError`` when that fails."""
        self.start()
        try:
            message = self._await("opened", "unusable", seconds=LOAD_SECONDS)
        except FaultError as error:
            self.kill()
            raise TargetError(f"cannot load the target: {error.fault.saw}") from None
        if "unusable" in message:
            self.kill()
            raise TargetError(message["unusable"])

    def run(self, check: Check, remaining: int) -> CheckResult:
        """The check's result, with at most ``remaining`` calls; raises ``TargetError`` when there is no provider."""
        before, self._last_call = self.calls, None
        closes = self._lost_closing is None
        try:
            if self._thread is None:
                self.open()
            self._ask(lambda worker: worker.run(check.id, remaining, close=closes))
            message = self._await("result", "unopened", seconds=quiet_seconds(self._settings))
        except FaultError as error:
            self.kill()
            return fault_result(check, error.fault, calls=self.calls - before, last_call=self._last_call)
        except TargetError:
            raise
        except BaseException:  # as in ``Supervisor``
            self.kill()
            raise
        if "unopened" in message:
            raise TargetError(message["unopened"])
        self._wait_until_ready(check)
        return closing_result(check, CheckResult.model_validate(message["result"]), self._lost_closing)

    def _wait_until_ready(self, check: Check) -> None:
        try:
            self._await("ready", seconds=CLOSE_SECONDS)
        except FaultError as error:
            self.kill()
            self._lost_closing = fault_result(check, error.fault, calls=0, last_call=self._last_call)

    def close(self, remaining: int) -> ProcessFault | None:
        """Close the provider, with at most ``remaining`` calls, and end the thread; how it was lost, if it was."""
        if self._thread is None:
            return None
        self._ask(lambda worker: worker.close(remaining))
        try:
            self._await("closed", seconds=CLOSE_SECONDS)
            self._thread.end()
        except FaultError as error:
            return error.fault
        finally:
            self.kill()
        return None

    def kill(self) -> None:
        """Leave the thread behind; it ends when it can."""
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.leave()

    def _ask(self, work: Callable[[Worker], None]) -> None:
        if self._thread is not None:
            self._thread.ask(work)

    def _await(self, *wanted: str, seconds: float) -> Mapping[str, Any]:
        while self._thread is not None:
            message = self._thread.receive(None if self._patient else seconds)
            if "call" in message:
                self.calls, self._last_call = self.calls + 1, message["call"]
                seconds = message["seconds"] + STALL_GRACE_SECONDS
            if any(name in message for name in wanted):
                return message
            if "lost" in message:
                break
        raise FaultError(ProcessFault(Fault.DIED, KIT_LOST))


class _LeftError(BaseException):
    """Ends a thread that was left behind; nothing that catches exceptions may keep it."""


class _WorkerThread:
    def __init__(self, target: str | Target, settings: Settings, kind: Kind) -> None:
        self._work: queue.SimpleQueue[Callable[[Worker], None] | None] = queue.SimpleQueue()
        self._messages: _Messages = queue.SimpleQueue()
        self._left = False
        worker = self._worker = Worker(target, settings, self._tell, kind)
        self._thread = HostThread(lambda: self._serve(worker), "knowledge-conformance")
        self._thread.start()

    def ask(self, work: Callable[[Worker], None]) -> None:
        self._work.put(work)

    def end(self) -> None:
        self._work.put(None)
        self._thread.join()

    def leave(self) -> None:
        self._left = True
        # It may be held for ever, and the next thread needs the network.
        self._worker.unhook()
        self._work.put(None)

    def receive(self, seconds: float | None) -> Mapping[str, Any]:
        try:
            return self._messages.get(timeout=seconds)
        except queue.Empty:
            held = where_held(self._thread.ident)
            raise FaultError(ProcessFault(Fault.STALLED, seconds=seconds or 0.0, held=held)) from None

    def _tell(self, message: Mapping[str, Any]) -> None:
        # Nobody counts its calls any more: a thread that comes back from where it was held makes none.
        if self._left:
            raise _LeftError
        self._messages.put(message)

    def _serve(self, worker: Worker) -> None:
        try:
            while (work := self._work.get()) is not None:
                work(worker)
        except _LeftError:
            pass
        finally:
            # However the thread ends, someone may wait for it.
            self._messages.put({"lost": True})
            worker.abandon()
            # Whatever kind was checked: this process goes on, and has no use for the threads of its calls.
            end_idle_threads()
