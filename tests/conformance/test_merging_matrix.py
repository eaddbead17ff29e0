"""The checks of merging hosts against every faulty and every conformant one: a fault trips its checks, and no other."""

from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any

import pytest
from composite_runs import HOLDS, tripped
from merging_runs import BY_ID, results_of

from knowledge_conformance.checks import merging_isolation
from knowledge_conformance.results import CheckOutcome
from knowledge_fakes import merging, plain_merging
from knowledge_fakes.making import MakerFault
from knowledge_fakes.merging_faults import MERGING_FAULTS

# A merging host that does not await what it was given, and should not have been given, leaves it to Python to say so.
pytestmark = pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")

CONFORMANT: dict[str, Callable[..., Any]] = {
    "the reference": merging.reference,
    "the plain one": plain_merging.factory,
}
# Those which the sweep is not said to trip take every so-many-th of its sources: over the conformant one that a fault
# is made from, all of them are seen to pass.
SWEPT = ("RAISING", "MALFORMED")
EVERY = 9


def few(siblings: Mapping[str, Any]) -> dict[str, Any]:
    """Some of them, of every kind."""
    return dict(islice(siblings.items(), 0, None, EVERY))


@pytest.mark.parametrize("make", CONFORMANT.values(), ids=CONFORMANT)
def test_a_conformant_merging_host_trips_nothing(make: Callable[..., Any]) -> None:
    """Every check passes, without a piece of advice."""
    results = results_of(make)
    assert {result.id: result for result in results.values() if result.outcome is not CheckOutcome.PASSED} == {}
    assert results.keys() == BY_ID.keys()


@pytest.mark.parametrize("fault", MERGING_FAULTS.values(), ids=MERGING_FAULTS)
def test_a_fault_trips_its_checks_and_no_other(fault: MakerFault, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the author did wrong is said once, where it belongs."""
    if "KP-1057" not in fault.trips:
        for name in SWEPT:
            monkeypatch.setattr(merging_isolation, name, few(getattr(merging_isolation, name)))
    results = results_of(fault.make)
    found = tripped(results)
    assert found.keys() == set(fault.trips), found
    assert all(result.outcome in HOLDS for id_, result in results.items() if id_ not in found), results
    assert results[fault.trips[0]].outcome is not CheckOutcome.KIT_ERROR
    assert any(fault.fragment in text for text in found[fault.trips[0]]), found


@pytest.mark.parametrize("check_id", BY_ID)
def test_each_check_has_a_fault_of_its_own(check_id: str) -> None:
    """A check that no fault trips first has never been seen to fail."""
    assert check_id in {fault.trips[0] for fault in MERGING_FAULTS.values()}
