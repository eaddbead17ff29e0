"""The access checks against every faulty and every conformant rule: a fault trips its checks, and no other."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from maker_runs import outcomes_of, require_exactly

from knowledge_conformance.kinds import ACCESS
from knowledge_conformance.results import CheckOutcome
from knowledge_fakes import plain_access
from knowledge_fakes.access_faults import ACCESS_FAULTS
from knowledge_fakes.making import MakerFault
from knowledge_provider import RetrievalContext
from knowledge_provider.access import AccessScope, ScopedProvider, project_identity


def reference(
    provider: Any, scope: AccessScope | None, *, identity: Callable[[RetrievalContext], Mapping[str, Any]]
) -> ScopedProvider:
    return ScopedProvider(provider, lambda context: project_identity(scope or AccessScope(), **identity(context)))


async def made_later(*arguments: Any, **named: Any) -> ScopedProvider:
    return reference(*arguments, **named)


class InThreads:
    """A rule whose ``retrieve`` is synchronous: the provider's answers come from another loop, in a thread."""

    def __init__(self, provider: Any, scope: AccessScope | None, *, identity: Any) -> None:
        self._scoped = reference(provider, scope, identity=identity)

    def describe(self) -> Any:
        return self._scoped.describe()

    def retrieve(self, request: Any, context: Any) -> Any:
        return self._scoped.retrieve(request, context)


CONFORMANT: dict[str, Callable[..., Any]] = {
    "the reference": reference,
    "the reference, made by a coroutine": made_later,
    "the reference, which gives its coroutine from a thread": InThreads,
    "the plain rule": plain_access.factory,
}


@pytest.mark.parametrize("make", CONFORMANT.values(), ids=CONFORMANT)
def test_a_conformant_rule_trips_nothing(make: Callable[..., Any]) -> None:
    """Every check passes, without a piece of advice."""
    found = outcomes_of(make, ACCESS)
    assert {id_: outcome for id_, outcome in found.items() if outcome is not CheckOutcome.PASSED} == {}
    assert list(found) == [check.id for check in ACCESS.checks]


@pytest.mark.parametrize("fault", ACCESS_FAULTS.values(), ids=ACCESS_FAULTS)
def test_a_fault_trips_its_checks_and_no_other(fault: MakerFault) -> None:
    """What the author did wrong is said once, where it belongs."""
    require_exactly(fault, ACCESS)


def test_waiting_for_more_is_advice() -> None:
    """KP-1117 is a SHOULD: a host cancels at its deadline what waits for a second answer that does not come."""
    found = outcomes_of(ACCESS_FAULTS["waits_for_more_for_ever"].make, ACCESS)
    assert found["KP-1117"] is CheckOutcome.ADVISORY


@pytest.mark.parametrize("check_id", [check.id for check in ACCESS.checks])
def test_each_check_has_a_fault_of_its_own(check_id: str) -> None:
    """A check that no fault trips first has never been seen to fail."""
    assert check_id in {fault.trips[0] for fault in ACCESS_FAULTS.values()}
