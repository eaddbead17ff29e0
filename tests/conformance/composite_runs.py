"""What the composite checks say of a factory of composites, each on a loop of its own; knows no particular one."""

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from knowledge_conformance.check import Check
from knowledge_conformance.composite_subject import CompositeSubject
from knowledge_conformance.engine import host_broken, run_check
from knowledge_conformance.kinds import COMPOSITE
from knowledge_conformance.render import show_error
from knowledge_conformance.results import BROKEN, CheckOutcome, CheckResult
from knowledge_conformance.settings import Settings

BY_ID = {check.id: check for check in COMPOSITE.checks}
TRIPPED = {*BROKEN, CheckOutcome.ADVISORY}
HOLDS = {CheckOutcome.PASSED, CheckOutcome.INAPPLICABLE}
# They take the processor, and would take it from those that wait for deadlines.
WORKING = {"KP-903", "KP-904", "KP-925"}
WAITING_TOGETHER = 16


def subject_of(factory: Callable[..., Any], announce: Callable[[str, float], None] | None = None) -> CompositeSubject:
    """A subject that nobody watches, unless ``announce`` does."""
    return CompositeSubject(factory, Settings(), announce=announce or (lambda *_: None))


def result_of(check: Check, factory: Callable[..., Any], left: list[str] | None = None) -> CheckResult:
    """The check's result, whatever its composite does to the loop; ``left`` gets what is still running then."""
    subject = subject_of(factory)

    async def run() -> CheckResult:
        asyncio.get_running_loop().set_exception_handler(lambda *_: None)
        result = await run_check(check, subject)
        if left is not None:
            left.extend(await _left(check))
        return result

    try:
        return asyncio.run(run())
    except (SystemExit, GeneratorExit, KeyboardInterrupt) as error:
        return host_broken(check, subject, saw=f"{show_error(error)} stopped the event loop", hint="")


async def _left(check: Check) -> list[str]:
    # What was released when the check ended gets a moment to see it.
    others = asyncio.all_tasks() - {asyncio.current_task()}
    running = (await asyncio.wait(others, timeout=0.5))[1] if others else ()
    # A child whose fault is to leave a task behind leaves it behind, whatever it is a child of.
    own = [task for task in running if "knowledge_fakes.faults" not in _home(task)]
    return [f"{check.id}: {task}" for task in own]


def _home(task: "asyncio.Task[Any]") -> str:
    frame = getattr(task.get_coro(), "cr_frame", None)
    return str(frame.f_globals.get("__name__")) if frame is not None else ""


def results_of(factory: Callable[..., Any], left: list[str] | None = None) -> dict[str, CheckResult]:
    """The results of all checks by their ids."""
    results = {id_: result_of(BY_ID[id_], factory, left) for id_ in sorted(WORKING)}
    waiting = [check for check in COMPOSITE.checks if check.id not in WORKING]
    with ThreadPoolExecutor(WAITING_TOGETHER) as pool:
        for result in pool.map(lambda check: result_of(check, factory, left), waiting):
            results[result.id] = result
    return results


def tripped(results: Mapping[str, CheckResult]) -> dict[str, list[str]]:
    """What a person reads of each finding, its hint aside."""
    return {
        result.id: [text for text in (result.wanted, result.saw, result.where) if text is not None]
        for result in results.values()
        if result.outcome in TRIPPED
    }
