"""Clauses 5.10 and 7.6 on real clients of a real service, and on providers that only seem to break them."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from knowledge_conformance.catalogue import BY_ID
from knowledge_conformance.check import Facet
from knowledge_conformance.checks import back_end, back_end_health, back_end_secrets
from knowledge_conformance.cutting import NO_CALL, NOT_ASKED
from knowledge_conformance.network import watched
from knowledge_conformance.report import Report
from knowledge_conformance.results import CheckOutcome, CheckResult
from knowledge_conformance.running import Run
from knowledge_conformance.settings import Profile, Settings
from knowledge_conformance.target import load
from knowledge_conformance.terminal import failure_lines
from knowledge_conformance.verdict import FacetState
from knowledge_fakes.vendors.http_service import KnowledgeService
from knowledge_fakes.vendors.serving import serving

EVERY = (*back_end.CHECKS, *back_end_secrets.CHECKS, *back_end_health.CHECKS)
# Most subjects have no health.
IDS = [check.id for check in EVERY if check not in back_end_health.CHECKS]
OVER_HTTP = "knowledge_fakes.over_http:provider"
CLIENTS = ("with_httpx", "with_httpx2", "with_httpx_in_a_thread", "with_requests", "with_urllib3", "with_aiohttp")


@pytest.fixture(scope="module", autouse=True)
def service() -> Iterator[None]:
    """The service that the subjects ask, and their module on the path."""
    app = KnowledgeService(token="sk-hunter2-9f3b7c").app
    with serving(app) as url, pytest.MonkeyPatch.context() as patch:
        patch.setenv("KNOWLEDGE_SERVICE_URL", f"{url}/search")
        patch.setattr(sys, "path", [str(Path(__file__).parents[1]), *sys.path])
        yield


def run(target: str, ids: list[str] = IDS, **settings: Any) -> dict[str, CheckResult]:
    """The results of these checks, with the provider in this process."""
    name = target if ":" in target else f"network_subjects:{target}"
    started = Run(load(name), Settings(**{"inject_network_faults": True, **settings}))
    try:
        return {check_id: started.result(BY_ID[check_id]) for check_id in ids}
    finally:
        started.close()


def outcomes(results: dict[str, CheckResult]) -> dict[str, CheckOutcome]:
    return {check_id: result.outcome for check_id, result in results.items()}


def whole(target: str, **settings: Any) -> Report:
    return Run(load(target), Settings(examples=1, **settings)).all()


# Sound ones.


@pytest.mark.parametrize("client", CLIENTS)
def test_a_sound_provider_passes_whatever_its_client(client: str) -> None:
    """Each library is cut, and each failure comes out as one."""
    results = run(client)
    assert set(outcomes(results).values()) == {CheckOutcome.PASSED}, results
    assert results["KP-519"].observations == 5
    assert results["KP-521"].observations == 9


def test_the_facet_is_exercised() -> None:
    """And the verdict says so."""
    report = whole(OVER_HTTP, inject_network_faults=True)
    assert report.facets[Facet.BACK_END] is FacetState.EXERCISED
    assert "back-end" in report.sentence.partition("(")[0]
    assert report.conformant


def test_the_same_provider_gives_the_same_report() -> None:
    """Byte for byte."""
    first, second = (whole(OVER_HTTP, inject_network_faults=True).to_json() for _ in range(2))
    assert first == second


def test_a_provider_of_several_steps_passes() -> None:
    """Every second outage begins at the last step."""
    assert set(outcomes(run("two_steps")).values()) == {CheckOutcome.PASSED}


@pytest.mark.parametrize("target", ["in_pages", "beside_each_other"])
def test_a_provider_that_asks_one_address_several_times_passes(target: str) -> None:
    """One page after another, of which the later ones fail in turn, or several questions at once."""
    assert set(outcomes(run(target)).values()) == {CheckOutcome.PASSED}


def test_what_answers_without_asking_is_not_judged() -> None:
    """A cache is no failure, and each outage has something that is not in it."""
    results = run("caching")
    assert set(outcomes(results).values()) == {CheckOutcome.PASSED}, results
    assert [results[name].observations for name in ("KP-521", "KP-522", "KP-524", "KP-525")] == [9, 5, 5, 14]


@pytest.mark.parametrize("target", ["with_a_breaker", "with_patience"])
def test_what_gives_up_for_a_while_is_judged_by_each_outage(target: str) -> None:
    """After two failures it is asked for an ordinary answer, and told last to ask no more for a time."""
    results = run(target)
    assert set(outcomes(results).values()) == {CheckOutcome.PASSED}, results
    assert [results[name].observations for name in ("KP-519", "KP-521", "KP-522")] == [5, 9, 5]


def test_outages_that_are_not_asked_for_are_named() -> None:
    """Too little was seen of what gives up for good, and the report says of which."""
    results = run("with_a_lasting_breaker", ["KP-519", "KP-521"])
    assert set(outcomes(results).values()) == {CheckOutcome.INCONCLUSIVE}
    saw = "after some failures it asked no more, and was not seen with {}"
    assert results["KP-519"].saw == saw.format("connections reset; the connection reset in the middle of an answer")
    assert str(results["KP-521"].saw).endswith("HTTP status 500 for an answer; and 3 more")
    assert "circuit breaker" in str(results["KP-521"].hint)


def test_a_fallback_with_the_same_content_is_not_judged() -> None:
    """Its answer is what the service's would have been; too little was seen, and the report says what to do."""
    results = run("with_a_fallback", ["KP-519", "KP-521"])
    assert set(outcomes(results).values()) == {CheckOutcome.INCONCLUSIVE}
    assert "a fallback" in str(results["KP-519"].hint)


# Not exercised.


def test_nothing_is_cut_unless_it_is_asked_for() -> None:
    """The checks say how to."""
    report = whole(OVER_HTTP)
    checks = [check for check in report.checks if check.facet is Facet.BACK_END]
    assert {check.id for check in checks} == {check.id for check in EVERY}
    assert {(check.outcome, check.saw) for check in checks} == {(CheckOutcome.INAPPLICABLE, NOT_ASKED)}
    assert report.facets[Facet.BACK_END] is FacetState.NOT_EXERCISED
    assert "--inject-network-faults" in NOT_ASKED


@pytest.mark.parametrize("target", ["knowledge_fakes.handbook:provider", "knowledge_fakes.conformant:socket_io"])
def test_a_provider_without_such_calls_does_not_exercise_the_facet(target: str) -> None:
    """It has no back end, or reaches it in another way; that is said, and is no pass."""
    report = whole(target, inject_network_faults=True)
    checks = [check for check in report.checks if check.facet is Facet.BACK_END]
    assert {check.outcome for check in checks} == {CheckOutcome.INAPPLICABLE}
    assert {check.saw for check in checks if check.id in IDS} == {NO_CALL}
    assert report.facets[Facet.BACK_END] is FacetState.NOT_EXERCISED
    assert "back-end" in report.sentence.partition("(")[2]


def test_no_credential_is_no_secret_to_keep() -> None:
    """Nothing could be repeated."""
    result = run("knowledge_fakes.faulty:reset_is_the_end", ["KP-525"])["KP-525"]
    assert result.outcome is CheckOutcome.PASSED


def test_a_key_is_heard_after_many_failures() -> None:
    """What asks no more after five in a row is asked for an ordinary answer between them."""
    result = run("key_behind_a_breaker", ["KP-525"])["KP-525"]
    assert result.outcome is CheckOutcome.FAILED
    assert "in standard output" in str(result.saw)
    assert "HTTP status 404" in str(result.where)


@pytest.mark.parametrize(("profile", "kinds"), [("default", 14), ("thorough", 22)])
def test_each_kind_of_failure_is_listened_to(profile: str, kinds: int) -> None:
    """A thorough run has also those that most clients tell as another."""
    settings = Settings(inject_network_faults=True, profile=Profile(profile))
    result = run("with_httpx", ["KP-525"], profile=Profile(profile))["KP-525"]
    assert (result.outcome, result.observations) == (CheckOutcome.PASSED, kinds)
    assert BY_ID["KP-525"].calls_allowed(settings) >= kinds


# What health says.


@pytest.mark.parametrize("target", ["tells_an_outage", "ready_with_a_fallback"])
def test_a_health_that_is_true_passes(target: str) -> None:
    """One is unavailable, and the other can do without."""
    result = run(target, ["KP-212"])["KP-212"]
    assert (result.outcome, result.observations) == (CheckOutcome.PASSED, 4), result


def test_ready_in_an_outage_is_wrong() -> None:
    """No call of it would be answered."""
    result = run("ready_in_an_outage", ["KP-212"])["KP-212"]
    assert result.outcome is CheckOutcome.FAILED
    assert result.saw == "ready, though retrieve fails in the same way"


@pytest.mark.parametrize("target", ["with_httpx", OVER_HTTP])
def test_a_health_that_asks_nobody_is_not_judged(target: str) -> None:
    """It cannot know, or there is none."""
    assert run(target, ["KP-212"])["KP-212"].outcome is CheckOutcome.INAPPLICABLE


def test_a_network_that_is_taken_is_not_cut() -> None:
    """Two runs in one process must not meet each other's faults."""
    with watched(1.0):
        result = run(OVER_HTTP, ["KP-519"])["KP-519"]
    assert result.outcome is CheckOutcome.INCONCLUSIVE


# Broken ones, beside those of the catalogue of faults.


def test_the_second_of_two_steps_is_looked_at() -> None:
    """The first one fails as it has to."""
    result = run("second_step_is_not_looked_at", ["KP-521"])["KP-521"]
    assert result.outcome is CheckOutcome.FAILED
    assert "HTTP status 403" in str(result.where)


@pytest.mark.parametrize("check_id", ["KP-519", "KP-521"])
def test_a_lost_page_is_looked_at(check_id: str) -> None:
    """Whatever of it was found is no whole answer."""
    result = run("later_page_is_not_looked_at", [check_id])[check_id]
    assert result.outcome is CheckOutcome.FAILED
    assert "an answer with 3 of the" in str(result.saw)
    assert "from the second page on" in str(result.where)


def test_a_client_that_holds_the_loop_is_late() -> None:
    """The kit gets the loop back, and says so."""
    result = run("blocking", ["KP-520"], timeout=0.5)["KP-520"]
    assert result.outcome is CheckOutcome.FAILED
    assert result.wanted == "an error within 0.5 s"
    assert "says nothing" in str(result.where)


def test_a_child_process_is_cut_as_well() -> None:
    """Where the provider runs when it has a name."""
    started = Run("knowledge_fakes.faulty:not_found_is_empty", Settings(inject_network_faults=True))
    result = started.result(BY_ID["KP-521"])
    started.close()
    assert result.outcome is CheckOutcome.FAILED
    assert "HTTP status 404" in str(result.where)


def test_a_failure_can_be_asked_for_again() -> None:
    """The command has the option, without which nothing would be cut."""
    settings = Settings(inject_network_faults=True)
    result = run("knowledge_fakes.faulty:not_found_is_empty", ["KP-521"])["KP-521"]
    again = [line for line in failure_lines(result, "acme:provider", settings) if line.startswith("  again")]
    assert "--inject-network-faults" in again[0] or "--replay" in again[0]


def test_the_calls_stay_few() -> None:
    """At most ninety of a provider, with the option only."""
    results = run(OVER_HTTP)
    survey = min(result.calls for result in results.values() if result.outcome is CheckOutcome.PASSED)
    assert survey > 0
    assert sum(result.calls for result in results.values()) - (results["KP-519"].calls - 6) <= 90
    assert all(check.calls_allowed(Settings()) == 0 for check in EVERY)
