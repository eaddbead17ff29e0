"""What the host checks say of a factory of hosts, each check on a loop of its own; knows no host and no fault."""

import asyncio
import contextlib
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from knowledge_conformance import calls
from knowledge_conformance.check import Check
from knowledge_conformance.checks.hosts import CHECKS
from knowledge_conformance.engine import host_broken, run_check
from knowledge_conformance.host_subject import HostSubject
from knowledge_conformance.render import show_error
from knowledge_conformance.results import BROKEN, CheckOutcome, CheckResult
from knowledge_conformance.settings import Settings
from knowledge_provider import limits

BY_ID = {check.id: check for check in CHECKS}
TRIPPED = {*BROKEN, CheckOutcome.ADVISORY}
HOLDS = {CheckOutcome.PASSED, CheckOutcome.INAPPLICABLE}
# Some wait for deadlines and take next to no processor. They wait in threads while those run that only calculate.
WAITING = {
    *("KP-809", "KP-810", "KP-811", "KP-833", "KP-834", "KP-837", "KP-839", "KP-847", "KP-850"),
    *("KP-855", "KP-856", "KP-857", "KP-862", "KP-863"),
}
BUSY = {"KP-814", "KP-815", "KP-816", "KP-840", "KP-841"}


def subject_of(factory: Callable[..., Any], **settings: Any) -> HostSubject:
    """A subject that nobody watches; next to no generated answers unless the settings say otherwise."""
    return HostSubject(factory, Settings(**{"examples": 1, **settings}), announce=lambda *_: None)


def result_of(check: Check, factory: Callable[..., Any]) -> CheckResult:
    """The check's result, whatever its host does to the loop."""
    subject = subject_of(factory)
    try:
        return asyncio.run(run_check(check, subject))
    except (SystemExit, GeneratorExit) as error:
        return host_broken(check, subject, saw=f"{show_error(error)} stopped the event loop", hint="")


@contextlib.contextmanager
def little_patience() -> Iterator[None]:
    """What hangs is given up sooner than a user's is."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "HEALTH_SECONDS", 0.3)
        patch.setattr(calls, "GRACE_SECONDS", 0.2)
        yield


def results_of(factory: Callable[..., Any]) -> dict[str, CheckResult]:
    """All results; what needs a check that does not hold is blocked, as in a run."""
    results: dict[str, CheckResult] = {}
    for check in CHECKS:
        if check.id not in WAITING | BUSY:
            results[check.id] = _blocked(check, results) or result_of(check, factory)
    with little_patience(), ThreadPoolExecutor(len(WAITING)) as pool:
        # All at once, and not one after what it needs of the others: what is blocked by those is so afterwards too.
        ready = [check for check in CHECKS if check.id in WAITING and not _blocked(check, results)]
        waiting = {check.id: pool.submit(result_of, check, factory) for check in ready}
        for check in CHECKS:
            if check.id in BUSY:
                results[check.id] = _blocked(check, results) or result_of(check, factory)
    for check in CHECKS:
        if check.id in WAITING:
            results[check.id] = _blocked(check, results) or waiting[check.id].result()
    return {check.id: results[check.id] for check in CHECKS}


def _blocked(check: Check, results: Mapping[str, CheckResult]) -> CheckResult | None:
    causes = [cause for needed in check.needs if (cause := _cause(needed, results))]
    return (
        CheckResult(id=check.id, outcome=CheckOutcome.BLOCKED, saw=f"{causes[0]} has to hold first") if causes else None
    )


def _cause(check_id: str, results: Mapping[str, CheckResult]) -> str | None:
    """The check that failed, be it this one or one that it needs; None where there is none that is known."""
    if check_id in results and results[check_id].outcome in BROKEN:
        return check_id
    return next((cause for needed in BY_ID[check_id].needs if (cause := _cause(needed, results))), None)


def tripped(results: Mapping[str, CheckResult]) -> dict[str, list[str]]:
    """What a person reads of each finding, its hint aside."""
    return {
        result.id: [text for text in (result.wanted, result.saw, result.where) if text is not None]
        for result in results.values()
        if result.outcome in TRIPPED
    }
