"""What the checks of merging hosts say of a factory, each on a loop of its own; knows no particular one."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from knowledge_conformance.check import Check
from knowledge_conformance.engine import host_broken, run_check
from knowledge_conformance.kinds import MERGING
from knowledge_conformance.merging_subject import MergingSubject
from knowledge_conformance.render import show_error
from knowledge_conformance.results import CheckResult
from knowledge_conformance.settings import Settings

BY_ID = {check.id: check for check in MERGING.checks}
# One listens to the process, and the other takes the processor from those that wait for deadlines.
ALONE = ("KP-1057", "KP-1073")
WAITING_TOGETHER = 8


def subject_of(factory: Callable[..., Any]) -> MergingSubject:
    """A subject that nobody watches."""
    return MergingSubject(factory, Settings(), announce=lambda *_: None)


def result_of(check: Check, factory: Callable[..., Any]) -> CheckResult:
    """The check's result, whatever what it checks does to the loop."""
    subject = subject_of(factory)

    async def run() -> CheckResult:
        asyncio.get_running_loop().set_exception_handler(lambda *_: None)
        return await run_check(check, subject)

    try:
        return asyncio.run(run())
    except (SystemExit, GeneratorExit, KeyboardInterrupt) as error:
        return host_broken(check, subject, saw=f"{show_error(error)} stopped the event loop", hint="")


def results_of(factory: Callable[..., Any]) -> dict[str, CheckResult]:
    """The results of all checks by their ids."""
    results = {id_: result_of(BY_ID[id_], factory) for id_ in ALONE}
    waiting = [check for check in MERGING.checks if check.id not in ALONE]
    with ThreadPoolExecutor(WAITING_TOGETHER) as pool:
        for result in pool.map(lambda check: result_of(check, factory), waiting):
            results[result.id] = result
    return results
