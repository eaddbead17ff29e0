"""Puts every fault of the catalogue into a provider and lets the check that is to catch it run. Knows runners.

What the results mean is ``proof``'s. Most faults go through one child process, one after another; those that it takes
a time-out to notice, the lethal ones among them, a few at a time beside it. A provider that can be open in one process
only is given all of them one after another.
"""

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Final

from knowledge_conformance.catalogue import BY_ID
from knowledge_conformance.child_process import Starting
from knowledge_conformance.in_process import InProcess
from knowledge_conformance.nursery import Nursery
from knowledge_conformance.proof import Ending, Proof, Trial, settings_for, trial_of, untried
from knowledge_conformance.results import CheckOutcome, CheckResult
from knowledge_conformance.running import Runner
from knowledge_conformance.settings import Settings
from knowledge_conformance.supervisor import STALL_GRACE_SECONDS, Supervisor
from knowledge_conformance.target import Target, TargetError
from knowledge_fakes.faults import FAULTS, Fault

WAITING_AT_ONCE: Final = 12
HELD_GRACE_SECONDS: Final = 1.0
"""As ``STALL_GRACE_SECONDS``, for a fault that holds its process: the end of a proof waits for these trials."""

Tell = Callable[[str], None]
_Queue = SimpleQueue[Fault]


def prove(
    target: str | Target,
    settings: Settings,
    sound: Mapping[str, CheckOutcome],
    *,
    processes: int = 1,
    tell: Tell = lambda _fault: None,
    nursery: Nursery | None = None,
) -> Proof:
    """Every fault in the target's provider, one at a time. ``sound`` are the outcomes without any, by check id.

    A fault whose check was not run is left out. ``processes`` is how many of the quick faults are tried at once;
    ``tell`` is given the name of each as it begins. ``nursery``, which starts the children, is ended; one that was made
    earlier need not be waited for. Each trial makes at most ``settings.max_calls`` calls of the
    provider. Raises ``TargetError`` when the target cannot be opened any more.
    """
    faults = [fault for fault in FAULTS.values() if fault.trips[0] in sound]
    known = {fault.name: trial for fault in faults if (trial := untried(fault, sound[fault.trips[0]]))}
    rest = [fault for fault in faults if fault.name not in known]
    trying = _Trying(settings, sound, tell)
    if isinstance(target, str):
        tried, void = trying.in_children(target, rest, processes, nursery or Nursery())
    else:
        tried, void = trying.here(target, rest)
    found = {**known, **{trial.fault: trial for trial in tried}}
    name = target if isinstance(target, str) else target.name
    return Proof(target=name, trials=tuple(found[fault.name] for fault in faults), void=void)


def _control(runner: Runner, settings: Settings) -> str | None:
    """Why the provider without any fault does not answer, or None when it does: a dead one looks like any fault."""
    check = BY_ID["KP-301"]
    try:
        runner.open()
        result = runner.run(check, settings.max_calls)
    except TargetError as error:
        return str(error)
    finally:
        runner.kill()
    answered = (CheckOutcome.PASSED, CheckOutcome.INCONCLUSIVE)
    return None if result.outcome in answered else f"{check.id} {result.outcome}: {result.saw}"


@dataclass(frozen=True, slots=True)
class _Trying:
    """What all trials of a proof have in common."""

    settings: Settings
    sound: Mapping[str, CheckOutcome]
    tell: Tell

    def in_children(
        self, target: str, faults: Iterable[Fault], processes: int, nursery: Nursery
    ) -> tuple[list[Trial], str | None]:
        """The trials on a target with a name, and what is wrong with it after them."""
        quick, waiting = _Queue(), _Queue()
        with ThreadPoolExecutor(WAITING_AT_ONCE + processes) as pool, nursery:
            try:
                together = self._opens_twice(target, nursery.started)
                # What takes longest first, so that nothing is left to wait for alone at the end.
                for fault in sorted(faults, key=lambda fault: (not fault.waits, not fault.lethal)):
                    (waiting if together and (fault.lethal or fault.waits) else quick).put(fault)
                queues = [waiting] * WAITING_AT_ONCE + [quick] * processes if together else [quick]
                working = [pool.submit(self._work, target, queue, nursery.started) for queue in queues]
                trials = [trial for each in working for trial in each.result()]
            finally:
                # After Ctrl-C nothing more begins, and what goes on ends with the nursery.
                for queue in (quick, waiting):
                    _empty(queue)
            return trials, _control(Supervisor(target, self.settings, starting=nursery.started), self.settings)

    def _opens_twice(self, target: str, starting: Starting) -> bool:
        # Else it is the other process, with the lock or the port, that a trial would take for its fault.
        first, second = (Supervisor(target, self.settings, starting=starting) for _ in range(2))
        try:
            first.open()
            return _control(second, self.settings) is None
        except TargetError:
            return False
        finally:
            first.close(self.settings.max_calls)

    def _work(self, target: str, waiting: _Queue, starting: Starting) -> list[Trial]:
        """One child process, and another after each that a fault took, until no fault waits."""
        trials = []
        supervisor = Supervisor(target, self.settings, starting=starting)
        try:
            with suppress(Empty):
                while True:
                    trials.append(self._tried(supervisor, target, waiting.get_nowait()))
        finally:
            supervisor.kill()
        return trials

    def _tried(self, supervisor: Supervisor, target: str, fault: Fault) -> Trial:
        self.tell(fault.name)
        with suppress(TargetError):
            return self._trial(supervisor, target, fault)
        # A fault that was in the same process before may be what keeps it from opening.
        supervisor.kill()
        try:
            return self._trial(supervisor, target, fault)
        except TargetError as error:
            # A fault that ends what opens the provider is one that a run meets at its very beginning.
            return Trial(fault=fault.name, check=fault.trips[0], ending=Ending.CAUGHT, reason=str(error))

    def _trial(self, supervisor: Supervisor, target: str, fault: Fault) -> Trial:
        check, given = BY_ID[fault.trips[0]], settings_for(fault, self.settings)
        try:
            grace = HELD_GRACE_SECONDS if fault.lethal and fault.waits else STALL_GRACE_SECONDS
            supervisor.turn_to(f"{target}+{fault.name}", given, grace=grace)
            return trial_of(fault, supervisor.run(check, given.max_calls), self.sound[check.id], given, target)
        finally:
            if fault.lethal:
                supervisor.kill()

    def here(self, target: Target, faults: Iterable[Fault]) -> tuple[list[Trial], str | None]:
        """The same on a target without a name, in this process."""
        trials = [_unprotected(fault) if fault.lethal else self._tried_here(target, fault) for fault in faults]
        return trials, _control(InProcess(target, self.settings), self.settings)

    def _tried_here(self, target: Target, fault: Fault) -> Trial:
        check, given = BY_ID[fault.trips[0]], settings_for(fault, self.settings)
        runner = InProcess(target.with_fault(fault), given)
        try:
            runner.open()
            result = runner.run(check, given.max_calls)
        except TargetError as error:
            result = CheckResult(id=check.id, outcome=CheckOutcome.ERRORED, saw=str(error))
        finally:
            runner.close(given.max_calls)
            runner.kill()
        return trial_of(fault, result, self.sound[check.id], given, target.name)


def _empty(queue: _Queue) -> None:
    with suppress(Empty):
        while True:
            queue.get_nowait()


def _unprotected(fault: Fault) -> Trial:
    reason = "it would take this process with it: name the target as module:obj, so that it runs in a child process"
    return Trial(fault=fault.name, check=fault.trips[0], ending=Ending.HIDDEN, reason=reason)
