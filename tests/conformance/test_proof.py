"""What came of a fault: caught, missed, or not able to show, with a reason."""

from typing import Any

import pytest
from doors import SOUND

from knowledge_conformance.proof import Ending, Proof, Trial, grouped, settings_for, trial_of, untried
from knowledge_conformance.results import CheckOutcome, CheckResult
from knowledge_conformance.settings import Settings
from knowledge_fakes.faults import FAULTS

RISING = FAULTS["key_is_a_title"]


def result(outcome: CheckOutcome, **texts: str) -> CheckResult:
    return CheckResult(id=RISING.trips[0], outcome=outcome, **texts)


@pytest.mark.parametrize("outcome", ["failed", "errored", "advisory"])
def test_a_check_that_does_not_hold_has_caught_it(outcome: str) -> None:
    """A piece of advice, too: a SHOULD has faults of its own."""
    trial = trial_of(RISING, result(CheckOutcome(outcome)), CheckOutcome.PASSED, Settings(), SOUND)
    assert trial == Trial(fault="key_is_a_title", check="KP-104", ending=Ending.CAUGHT)


@pytest.mark.parametrize("outcome", ["inapplicable", "inconclusive", "blocked"])
def test_a_check_that_could_not_look_says_what_it_needs(outcome: str) -> None:
    """Its own words, and what to do about it."""
    found = result(CheckOutcome(outcome), saw="no owners are named", hint="name two")
    trial = trial_of(RISING, found, CheckOutcome.INAPPLICABLE, Settings(), SOUND)
    assert (trial.ending, trial.reason) == (Ending.HIDDEN, "no owners are named; name two")


def test_a_check_that_passes_has_missed_it() -> None:
    """Which is what a proof is for."""
    assert trial_of(RISING, result(CheckOutcome.PASSED), CheckOutcome.PASSED, Settings(), SOUND).ending is Ending.MISSED


@pytest.mark.parametrize("outcome", ["inapplicable", "inconclusive", "blocked", "kit-error"])
def test_a_check_that_could_look_without_the_fault_has_no_excuse(outcome: str) -> None:
    """A fault that hides itself, a budget that ran out and a fault of the kit's are no catch."""
    trial = trial_of(RISING, result(CheckOutcome(outcome), saw="no results"), CheckOutcome.PASSED, Settings(), SOUND)
    assert (trial.ending, trial.reason) == (Ending.MISSED, f"KP-104 {outcome} with it: no results")


@pytest.mark.parametrize(
    ("name", "settings", "reason"),
    [
        ("number_filters_are_dropped", {"filters": [{"query": "a", "filter": {"x": "text"}}]}, "no filter on a number"),
        ("number_filters_are_dropped", {"filters": [{"query": "a", "filter": {"x": True}}]}, "no filter on a number"),
        ("number_filters_are_dropped", {"filters": [{"query": "a", "filter": {"x": 1}}]}, None),
        ("first_filter_alone", {"filters": [{"query": "a", "filter": {"x": "text"}}]}, None),
        ("conditions_are_dropped", {"filters": [{"query": "a", "filter": {"x": 1}}]}, "no filter with an operator"),
        ("conditions_are_dropped", {"filters": [{"query": "a", "filter": {"x": {"$gt": 1}}}]}, None),
        ("one_unknown_base_opens_all", {"bases": {"a": ["1"]}}, "one knowledge base"),
        ("one_unknown_base_opens_all", {"bases": {"a": ["1"], "b": ["2"]}}, None),
        ("base_and_filter_give_way", {"bases": {"a": ["1"], "b": ["2"]}}, "no filter that selects"),
        (
            "base_and_filter_give_way",
            {"bases": {"a": ["1"], "b": ["2"]}, "filters": [{"query": "q", "filter": {"x": 1}, "selects": ["2"]}]},
            None,
        ),
        ("owner_in_any_case", {"owners": {"4711": {"query": "a"}, "mara": {"query": "a"}}}, "no letter of two cases"),
        ("owner_in_any_case", {"owners": {"mara": {"query": "a"}}}, None),
        ("owner_normalised", {"owners": {"张伟": {"query": "a"}}}, "no character of ASCII"),
        ("owner_normalised", {"owners": {"张-1": {"query": "a"}}}, None),
        ("owner_in_ascii", {"owners": {"4711": {"query": "a"}}}, "another alphabet"),
        ("owner_in_ascii", {"owners": {"ANNA": {"query": "a"}}}, None),
    ],
)
def test_settings_that_name_nothing_for_a_fault_hide_it(
    name: str, settings: dict[str, Any], reason: str | None
) -> None:
    """What it does there no check could see; what to name is said. Else a check that passes has missed it."""
    fault = FAULTS[name]
    passed = CheckResult(id=fault.trips[0], outcome=CheckOutcome.PASSED)
    trial = trial_of(fault, passed, CheckOutcome.PASSED, Settings(**settings), SOUND)
    assert trial.ending is (Ending.MISSED if reason is None else Ending.HIDDEN)
    assert reason is None or reason in str(trial.reason)
    failed = CheckResult(id=fault.trips[0], outcome=CheckOutcome.FAILED)
    assert trial_of(fault, failed, CheckOutcome.PASSED, Settings(**settings), SOUND).ending is Ending.CAUGHT


@pytest.mark.parametrize(
    ("target", "saw", "ending"),
    [
        ("acme:search", "{'results': []}, as if nothing was found", Ending.CAUGHT),
        ("acme:search", "AttributeError: no client", Ending.HIDDEN),
        ("knowledge_fakes.over_http:provider", "AttributeError: no client", Ending.CAUGHT),
    ],
)
def test_a_fault_of_another_client_is_caught_by_what_it_does(target: str, saw: str, ending: Ending) -> None:
    """It may find nothing to change in a user's own provider, and what it breaks there instead proves nothing."""
    fault = FAULTS["unreachable_is_empty"]
    failed = CheckResult(id="KP-519", outcome=CheckOutcome.FAILED, saw=saw)
    assert trial_of(fault, failed, CheckOutcome.PASSED, Settings(), target).ending is ending
    passed = trial_of(
        fault, CheckResult(id="KP-519", outcome=CheckOutcome.PASSED), CheckOutcome.PASSED, Settings(), target
    )
    assert passed.ending is (Ending.MISSED if fault.at_home(target) else Ending.HIDDEN)


def test_a_check_that_does_not_hold_without_the_fault_proves_nothing() -> None:
    """It would be red with it, too."""
    trial = untried(RISING, CheckOutcome.FAILED)
    assert trial is not None
    assert (trial.ending, trial.reason) == (Ending.HIDDEN, "KP-104 does not hold without it")
    assert untried(RISING, CheckOutcome.PASSED) is None
    assert untried(RISING, CheckOutcome.INAPPLICABLE) is None


def test_a_fault_is_given_more_examples_and_less_patience() -> None:
    """Where the user's settings have less of the one or more of the other."""
    given = settings_for(FAULTS["unescaped_quote"], Settings(queries=("a",), examples=5))
    assert (given.examples, given.max_calls, given.queries) == (250, 1000, ("a",))
    assert settings_for(FAULTS["unescaped_quote"], Settings(examples=300)).examples == 300
    assert settings_for(FAULTS["busy_loop"], Settings()).timeout == 0.5
    assert settings_for(FAULTS["busy_loop"], Settings(timeout=0.2)).timeout == 0.2
    assert settings_for(FAULTS["unescaped_quote"], Settings()).trial


def test_what_a_fault_needs_of_another_corpus_is_not_taken_over() -> None:
    """The query that finds nothing in the embedded handbook may find something in the user's."""
    fault = FAULTS["apology_in_spite_of_a_promise"]
    assert "no_hit_query" in fault.settings
    assert settings_for(fault, Settings()).no_hit_query is None


def proof(*endings: Ending) -> Proof:
    return Proof(
        target="acme:provider",
        trials=tuple(Trial(fault=f"f{n}", check="KP-104", ending=each) for n, each in enumerate(endings)),
    )


def test_the_sentence_counts() -> None:
    """Hidden faults are not said to be injected."""
    assert proof(Ending.CAUGHT, Ending.CAUGHT).sentence == "2 faults injected, 2 caught"
    both = proof(Ending.CAUGHT, Ending.MISSED, Ending.HIDDEN, Ending.HIDDEN)
    assert both.sentence == "2 faults injected, 1 caught, 1 missed, 2 cannot show here"


def test_a_proof_holds_when_something_was_caught_and_nothing_missed() -> None:
    """Nothing tried is no proof."""
    assert proof(Ending.CAUGHT, Ending.HIDDEN).holds
    assert not proof(Ending.CAUGHT, Ending.MISSED).holds
    assert not proof(Ending.HIDDEN).holds
    assert not proof().holds


def test_faults_with_one_reason_are_one_group() -> None:
    """In the order in which they come."""
    trials = [
        Trial(fault=name, check="KP-104", ending=Ending.HIDDEN, reason=reason)
        for name, reason in (("a", "x"), ("b", "y"), ("c", "x"))
    ]
    assert list(grouped(trials)) == [("x", ["a", "c"]), ("y", ["b"])]


def test_a_dead_provider_proves_nothing() -> None:
    """Whatever was put into it before."""
    dead = proof(Ending.CAUGHT).model_copy(update={"void": "KP-301 errored: raised ConnectionError"})
    assert not dead.holds
    assert dead.sentence.startswith("nothing: without a fault the provider does not answer any more: KP-301 errored")
