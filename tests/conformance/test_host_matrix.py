"""The host checks against each faulty host and each conformant one: a fault trips its checks, and nothing else does.

Every check meets every fault. Most of the time goes into the few that try hundreds of inputs, so a fault that names
none of those meets them with a share of the inputs, each fault with another: the catalogue as a whole meets them all.
"""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from host_runs import BUSY, BY_ID, HOLDS, results_of, tripped

from knowledge_conformance import corpora
from knowledge_conformance.checks import host_answers
from knowledge_conformance.checks.hosts import CHECKS
from knowledge_conformance.results import CheckOutcome
from knowledge_fakes import _malformed, faulty_hosts, plain_host
from knowledge_fakes.host_faults import HOST_FAULTS
from knowledge_fakes.making import MakerFault
from knowledge_fakes.scripted import MALFORMED
from knowledge_provider.host import KnowledgeHost


class OwnHost(KnowledgeHost):
    """The reference host as a factory of somebody's makes it, who takes a provider and a time-out alone."""

    def __init__(self, provider: Any, *, timeout: float) -> None:
        super().__init__(provider, timeout=timeout, knowledge_bases=["handbook"])


CONFORMANT: dict[str, Callable[..., Any]] = {
    "the reference host": KnowledgeHost,
    "the reference host with bases of its own": OwnHost,
    "the plain host": plain_host.factory,
}


@pytest.fixture(autouse=True, scope="module")
def little_to_make(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What is long to make is long enough to be cut and no longer, and what a host leaves on disk goes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_malformed, "_MANY", 2_000)
        patch.chdir(tmp_path_factory.mktemp("hosts"))
        yield


SHARES = 12
PLACES = {name: place for place, name in enumerate(HOST_FAULTS)}


@pytest.fixture
def fewer_inputs(fault: MakerFault, monkeypatch: pytest.MonkeyPatch) -> None:
    """All inputs that a fault of theirs may need, and a share of them for the others, as said above."""
    monkeypatch.setattr(host_answers, "_EXAMPLES_FOR_EACH", 2)
    vectors, uris, malformed = corpora.vectors(), corpora.uris(), tuple(MALFORMED.items())
    if BUSY & {*fault.trips}:
        telling = tuple(each for each in vectors if "why" in each or each["n"] < 100)
        monkeypatch.setattr(corpora, "vectors", lambda: telling)
        return
    monkeypatch.setattr(corpora, "vectors", lambda: share(vectors, fault))
    monkeypatch.setattr(corpora, "uris", lambda: share(uris, fault))
    monkeypatch.setattr(host_answers, "MALFORMED", dict(share(malformed, fault)))


def share(inputs: tuple[Any, ...], fault: MakerFault) -> tuple[Any, ...]:
    """Every twelfth input, beginning elsewhere for each of twelve faults in a row."""
    return inputs[PLACES[fault.name] % SHARES :: SHARES]


@pytest.mark.parametrize("make", CONFORMANT.values(), ids=CONFORMANT)
def test_a_conformant_host_trips_nothing(make: Callable[..., Any]) -> None:
    """Every check passes or does not apply, without a piece of advice."""
    results = results_of(make)
    assert {result.id: result for result in results.values() if result.outcome not in HOLDS} == {}
    assert len(results) == len(BY_ID)


@pytest.mark.usefixtures("fewer_inputs")
@pytest.mark.parametrize("fault", HOST_FAULTS.values(), ids=HOST_FAULTS)
def test_a_fault_trips_its_checks_and_no_other(fault: MakerFault) -> None:
    """Field case 97: what the author did wrong is said once, where it belongs."""
    results = results_of(getattr(faulty_hosts, fault.name))
    found = tripped(results)
    assert found.keys() == set(fault.trips), found
    first = results[fault.trips[0]]
    assert first.outcome is not CheckOutcome.KIT_ERROR, first
    assert any(fault.fragment in text for text in found[fault.trips[0]]), found
    causes = {
        str(result.saw).partition(" ")[0] for result in results.values() if result.outcome is CheckOutcome.BLOCKED
    }
    assert causes <= set(fault.trips)


@pytest.mark.parametrize("check_id", BY_ID)
def test_each_check_has_a_fault_of_its_own(check_id: str) -> None:
    """Field case 97: a check that no fault trips first has never been seen to fail."""
    assert check_id in {fault.trips[0] for fault in HOST_FAULTS.values()}


def test_ids_are_unique_and_ordered_by_what_they_need() -> None:
    """A prerequisite is known before what needs it."""
    places = {check.id: place for place, check in enumerate(CHECKS)}
    assert len(places) == len(CHECKS)
    assert all(places[needed] < places[check.id] for check in CHECKS for needed in check.needs)
