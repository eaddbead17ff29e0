"""Puts every fault of the catalogue into a provider and lets the check that is to catch it run. Knows runners.

What the results mean is ``proof``'s. Most faults go through one child process, one after another; those that it takes
a time-out to notice, the lethal ones among them, a few at a time beside it.
"""

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from queue import Empty, SimpleQueue
from typing import Final

from knowledge_conformance.catalogue import BY_ID
from knowledge_conformance.in_process import InProcess
from knowledge_conformance.proof import Ending, Proof, Trial, settings_for, trial_of, untried
from knowledge_conformance.results import CheckOutcome, CheckResult
from knowledge_conformance.settings import Settings
from knowledge_conformance.supervisor import Supervisor
from knowledge_conformance.target import Target, TargetError
from knowledge_fakes.faults import FAULTS, Fault

WAITING_AT_ONCE: Final = 8

Tell = Callable[[str], None]
_Queue = SimpleQueue[Fault]
_Sound = Mapping[str, CheckOutcome]


def prove(
    target: str | Target,
    settings: Settings,
    sound: Mapping[str, CheckOutcome],
    *,
    processes: int = 1,
    tell: Tell = lambda _fault: None,
) -> Proof:
    """Every fault in the target's provider, one at a time. ``sound`` are the outcomes without any, by check id.

    A fault whose check was not run is left out. ``processes`` is how many of the quick faults are tried at once;
    ``tell`` is given the name of each as it begins. Each trial makes at most ``settings.max_calls`` calls of the
    provider. Raises ``TargetError`` when the target cannot be opened any more.
    """
    faults = [fault for fault in FAULTS.values() if fault.trips[0] in sound]
    known = {fault.name: trial for fault in faults if (trial := untried(fault, sound[fault.trips[0]]))}
    rest = [fault for fault in faults if fault.name not in known]
    tried = (
        _by_name(target, settings, rest, sound, processes, tell)
        if isinstance(target, str)
        else _here(target, settings, rest, sound)
    )
    found = {**known, **{trial.fault: trial for trial in tried}}
    name = target if isinstance(target, str) else target.name
    return Proof(target=name, trials=tuple(found[fault.name] for fault in faults), void=_control(target, settings))


def _control(target: str | Target, settings: Settings) -> str | None:
    """Why the provider without any fault does not answer, or None when it does: a dead one looks like any fault."""
    check = BY_ID["KP-301"]
    runner = Supervisor(target, settings) if isinstance(target, str) else InProcess(target, settings)
    try:
        runner.open()
        result = runner.run(check, settings.max_calls)
    except TargetError as error:
        return str(error)
    finally:
        runner.kill()
    answered = (CheckOutcome.PASSED, CheckOutcome.INCONCLUSIVE)
    return None if result.outcome in answered else f"{check.id} {result.outcome}: {result.saw}"


def _by_name(
    target: str, settings: Settings, faults: Iterable[Fault], sound: _Sound, processes: int, tell: Tell
) -> list[Trial]:
    quick, waiting = _Queue(), _Queue()
    for fault in faults:
        (waiting if fault.lethal or fault.waits else quick).put(fault)
    with ThreadPoolExecutor(processes + WAITING_AT_ONCE) as pool:
        queues = [waiting] * WAITING_AT_ONCE + [quick] * processes
        working = [pool.submit(_work, target, settings, queue, sound, tell) for queue in queues]
        return [trial for each in working for trial in each.result()]


def _work(target: str, settings: Settings, waiting: _Queue, sound: _Sound, tell: Tell) -> list[Trial]:
    """One child process, and another after each that a fault took, until no fault waits."""
    trials = []
    supervisor = Supervisor(target, settings)
    try:
        with suppress(Empty):
            while True:
                fault = waiting.get_nowait()
                tell(fault.name)
                trials.append(_tried(supervisor, target, settings, fault, sound))
    finally:
        supervisor.kill()
    return trials


def _tried(supervisor: Supervisor, target: str, settings: Settings, fault: Fault, sound: _Sound) -> Trial:
    check, given = BY_ID[fault.trips[0]], settings_for(fault, settings)
    try:
        supervisor.turn_to(f"{target}+{fault.name}", given)
        return trial_of(fault, supervisor.run(check, given.max_calls), sound[check.id])
    except TargetError as error:
        # A fault that ends what opens the provider is one that a run meets at its very beginning.
        return Trial(fault=fault.name, check=check.id, ending=Ending.CAUGHT, reason=str(error))


def _here(target: Target, settings: Settings, faults: Iterable[Fault], sound: _Sound) -> Iterable[Trial]:
    for fault in faults:
        yield _unprotected(fault) if fault.lethal else _tried_here(target, settings, fault, sound)


def _unprotected(fault: Fault) -> Trial:
    reason = "it would take this process with it: name the target as module:obj, so that it runs in a child process"
    return Trial(fault=fault.name, check=fault.trips[0], ending=Ending.HIDDEN, reason=reason)


def _tried_here(target: Target, settings: Settings, fault: Fault, sound: _Sound) -> Trial:
    check, given = BY_ID[fault.trips[0]], settings_for(fault, settings)
    runner = InProcess(replace(target, wrap=fault.wrap), given)
    try:
        runner.open()
        return trial_of(fault, runner.run(check, given.max_calls), sound[check.id])
    except TargetError as error:
        result = CheckResult(id=check.id, outcome=CheckOutcome.ERRORED, saw=str(error))
        return trial_of(fault, result, sound[check.id])
    finally:
        runner.close(given.max_calls)
        runner.kill()
