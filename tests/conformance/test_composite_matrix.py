"""The composite checks against every faulty and every conformant composite: a fault trips its checks, and no other."""

import contextlib
import functools
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any

import pytest
from composite_runs import BY_ID, HOLDS, result_of, results_of, tripped

from knowledge_conformance.checks import composite_isolation, composite_raising
from knowledge_conformance.faults import OUTPUT_MAX
from knowledge_conformance.results import CheckOutcome
from knowledge_conformance.threads import end_idle_threads
from knowledge_fakes import faults, plain_composite
from knowledge_fakes.composite_faults import COMPOSITE_FAULTS
from knowledge_fakes.making import MakerFault
from knowledge_provider import CompositeProvider, limits

# A composite that does not await what it was given, and should not have been given, leaves it to Python to say so.
pytestmark = pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")

CONFORMANT: dict[str, Callable[..., Any]] = {
    "the reference composite": CompositeProvider,
    "the reference composite, concatenating": functools.partial(CompositeProvider, concatenate=True),
    "the plain composite": plain_composite.factory,
    "the plain composite, concatenating": plain_composite.concatenating,
}
# A sweep takes a second or two. Those which a fault is not said to trip take every so-many-th of their siblings: over
# the conformant composite that a fault is made from, all of them are seen to pass.
SWEEPS = {
    "KP-903": (faults, "FAULTS"),
    "KP-904": (composite_raising, "RAISING"),
    "KP-925": (composite_isolation, "MALFORMED"),
}
EVERY = 9


@pytest.fixture(autouse=True, scope="module")
def little_patience() -> Iterator[None]:
    """A health that hangs is given up sooner than a user's is."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "HEALTH_SECONDS", 0.5)
        yield


def few(siblings: Mapping[str, Any]) -> dict[str, Any]:
    """Some of them, of every kind."""
    return dict(islice(siblings.items(), 0, None, EVERY))


@pytest.mark.parametrize("make", CONFORMANT.values(), ids=CONFORMANT)
def test_a_conformant_composite_trips_nothing(make: Callable[..., Any]) -> None:
    """Every check passes, without a piece of advice, and leaves neither a task nor a thread."""
    threads, left = set(threading.enumerate()), list[str]()
    results = results_of(make, left)
    assert {result.id: result for result in results.values() if result.outcome is not CheckOutcome.PASSED} == {}
    assert results.keys() == BY_ID.keys()
    assert not left
    assert ended(threads)


def ended(before: set[threading.Thread]) -> bool:
    """Whether every thread that was not there before ends within a moment, those that wait for a next call told to."""
    end_idle_threads()
    until = time.monotonic() + 2
    for thread in set(threading.enumerate()) - before:
        thread.join(max(0.0, until - time.monotonic()))
    return set(threading.enumerate()) <= before


@pytest.mark.parametrize("fault", COMPOSITE_FAULTS.values(), ids=COMPOSITE_FAULTS)
def test_a_fault_trips_its_checks_and_no_other(fault: MakerFault, monkeypatch: pytest.MonkeyPatch) -> None:
    """Field case 97: what the author did wrong is said once, where it belongs."""
    for id_, (module, name) in SWEEPS.items():
        if id_ not in fault.trips:
            monkeypatch.setattr(module, name, few(getattr(module, name)))
    results = results_of(fault.make)
    found = tripped(results)
    assert found.keys() == set(fault.trips), found
    assert all(result.outcome in HOLDS for id_, result in results.items() if id_ not in found), results
    assert results[fault.trips[0]].outcome is not CheckOutcome.KIT_ERROR
    assert any(fault.fragment in text for text in found[fault.trips[0]]), found


def test_who_logs_all_that_is_raised_stays_within_what_a_check_may_write() -> None:
    """With its traceback, too: a log is no fault, and must not be the finding."""
    written: list[int] = []

    class Logging(plain_composite.PlainComposite):
        def failed(self, error: BaseException) -> plain_composite.Answer:
            with contextlib.suppress(BaseException):
                written.append(len("".join(traceback.format_exception(error))) + len(repr(error)))
            return super().failed(error)

    assert result_of(BY_ID["KP-904"], Logging).outcome is CheckOutcome.PASSED
    assert 0 < sum(written) < OUTPUT_MAX / 2


def test_waiting_beyond_the_callers_time_is_advice() -> None:
    """KP-921 is a SHOULD: a host cancels at its deadline what waits for a child that does not answer."""
    result = result_of(BY_ID["KP-921"], COMPOSITE_FAULTS["callers_deadline_ignored"].make)
    assert result.outcome is CheckOutcome.ADVISORY


@pytest.mark.parametrize("check_id", BY_ID)
def test_each_check_has_a_fault_of_its_own(check_id: str) -> None:
    """Field case 97: a check that no fault trips first has never been seen to fail."""
    assert check_id in {fault.trips[0] for fault in COMPOSITE_FAULTS.values()}
