"""``--prove`` on providers whose client is their own: what the faults of the network do there, and which are hidden."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from knowledge_conformance.catalogue import BY_ID
from knowledge_conformance.proof import Ending, Proof
from knowledge_conformance.proving import prove
from knowledge_conformance.results import CheckOutcome
from knowledge_conformance.settings import Settings
from knowledge_conformance.target import load
from knowledge_fakes.faults import EMBEDDED, FAULTS
from knowledge_fakes.vendors.http_service import KnowledgeService
from knowledge_fakes.vendors.serving import serving

OF_THE_NETWORK = {fault.name: fault for fault in FAULTS.values() if fault.over != EMBEDDED}
SETTINGS = Settings(inject_network_faults=True)
# What the sound provider bounds by itself, a second page that it does not ask for, and what it reads in its own way.
NOWHERE = {"health_waits_for_ever", "rows_as_they_come"}
ON_ONE_PAGE = {"lost_page_is_the_end"}


@pytest.fixture(scope="module", autouse=True)
def service() -> Iterator[None]:
    """The service that the subjects ask, and their module on the path of the processes that they run in."""
    with serving(KnowledgeService(token="sk-hunter2-9f3b7c").app) as url, pytest.MonkeyPatch.context() as patch:
        patch.setenv("KNOWLEDGE_SERVICE_URL", f"{url}/search")
        patch.setenv("PYTHONPATH", str(Path(__file__).parent))
        patch.syspath_prepend(str(Path(__file__).parent))
        yield


def proved(name: str) -> Proof:
    sound = dict.fromkeys([fault.trips[0] for fault in OF_THE_NETWORK.values()], CheckOutcome.PASSED)
    found = prove(f"network_subjects:{name}", SETTINGS, sound)
    return found.model_copy(update={"trials": tuple(trial for trial in found.trials if trial.fault in OF_THE_NETWORK)})


@pytest.mark.parametrize(
    ("name", "hidden"),
    [
        ("with_httpx", NOWHERE | ON_ONE_PAGE),
        ("with_requests", NOWHERE | ON_ONE_PAGE),
        ("with_aiohttp", NOWHERE | ON_ONE_PAGE),
        ("in_pages", NOWHERE),
    ],
)
def test_the_faults_of_the_network_act_on_any_client(name: str, hidden: set[str]) -> None:
    """A back end's refusal that is read as nothing, its words as a passage, half of its answer as all of it."""
    proof = proved(name)
    assert proof.ended(Ending.MISSED) == []
    assert {trial.fault for trial in proof.ended(Ending.HIDDEN)} == hidden
    assert {trial.fault for trial in proof.ended(Ending.CAUGHT)} == set(OF_THE_NETWORK) - hidden
    # What cannot show says with what it is proved.
    reasons = {trial.fault: str(trial.reason) for trial in proof.ended(Ending.HIDDEN)}
    assert reasons["rows_as_they_come"].endswith("they are proved with knowledge_fakes.over_http:provider")


def test_a_fault_of_reading_stands_over_its_own_provider_as_a_wrapper() -> None:
    """Which anybody can use without the kit; over another one it is what that one's client gets."""
    fault = FAULTS["broken_is_empty"]
    home, away = load(f"{fault.over}+{fault.name}"), load(f"{EMBEDDED}+{fault.name}")
    assert (home.wrap, home.misread) == (fault.wrap, None)
    assert (away.wrap, away.misread) == (None, fault.misread)
    assert BY_ID[fault.trips[0]].clause == "5.10"
