"""The verdict as a table: what makes a provider conformant, and what does not."""

import dataclasses
from collections.abc import Iterable
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knowledge_conformance import verdict as verdict_module
from knowledge_conformance.catalogue import BY_ID, CHECKS, NOT_TESTED
from knowledge_conformance.check import Facet
from knowledge_conformance.results import BROKEN, CheckOutcome, CheckResult
from knowledge_conformance.settings import Settings
from knowledge_conformance.verdict import FacetState, Verdict, facet_states, not_established, sentence, verdict

PASSED, FAILED = CheckOutcome.PASSED, CheckOutcome.FAILED
SKIPS = [CheckOutcome.INAPPLICABLE, CheckOutcome.ADVISORY]


def results(outcome: CheckOutcome = PASSED, **changed: CheckOutcome) -> list[CheckResult]:
    """Every check of the core with one outcome, but for some; those of other facets do not apply unless named."""
    named = {name.replace("_", "-"): value for name, value in changed.items()}
    others = dict.fromkeys((check.id for check in CHECKS if check.facet is not Facet.CORE), CheckOutcome.INAPPLICABLE)
    return [CheckResult(id=check.id, outcome={**others, **named}.get(check.id, outcome)) for check in CHECKS]


def test_everything_passed_is_conformant() -> None:
    """In the facets that the checks are about."""
    assert verdict(results(), Settings()) is Verdict.CONFORMANT
    assert facet_states(results(), Settings())[Facet.CORE] is FacetState.EXERCISED


@pytest.mark.parametrize("outcome", sorted(set(CheckOutcome) - {PASSED}))
def test_nothing_passed_is_never_conformant(outcome: CheckOutcome) -> None:
    """Neither advice, nor a rule that does not apply, nor a blocked one is positive evidence."""
    expected = Verdict.NOT_CONFORMANT if outcome in BROKEN else Verdict.INCONCLUSIVE
    expected = Verdict.OUT_OF_DATE if outcome is CheckOutcome.STALE else expected
    assert verdict(results(outcome), Settings()) is expected


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (CheckOutcome.PASSED, Verdict.CONFORMANT),
        (CheckOutcome.ADVISORY, Verdict.CONFORMANT),
        (CheckOutcome.INAPPLICABLE, Verdict.CONFORMANT),
        (CheckOutcome.BLOCKED, Verdict.CONFORMANT),
        (CheckOutcome.INCONCLUSIVE, Verdict.INCONCLUSIVE),
        (CheckOutcome.FAILED, Verdict.NOT_CONFORMANT),
        (CheckOutcome.ERRORED, Verdict.NOT_CONFORMANT),
        (CheckOutcome.KIT_ERROR, Verdict.NOT_CONFORMANT),
        (CheckOutcome.KNOWN, Verdict.KNOWN_FAILURES),
        (CheckOutcome.STALE, Verdict.OUT_OF_DATE),
    ],
)
def test_one_check_among_passes(outcome: CheckOutcome, expected: Verdict) -> None:
    """One failure is enough; one gap too."""
    assert verdict(results(KP_304=outcome), Settings()) is expected


def test_nothing_run_is_partial() -> None:
    """So is a part of it; but a failure in a part is one."""
    assert verdict([], Settings()) is Verdict.PARTIAL
    assert verdict(results()[:-1], Settings()) is Verdict.PARTIAL
    assert verdict(results(KP_101=FAILED)[:1], Settings()) is Verdict.NOT_CONFORMANT


def test_the_same_check_twice_is_not_two() -> None:
    """Results of several workers may overlap."""
    assert verdict([results()[0]] * len(CHECKS), Settings()) is Verdict.PARTIAL


@pytest.mark.parametrize("facet", [facet for facet in Facet if facet is not Facet.CORE])
def test_a_required_facet_that_was_not_exercised_is_inconclusive(facet: Facet) -> None:
    """As long as no check is about it, or none of them saw anything."""
    assert verdict(results(), Settings(require=(facet,))) is Verdict.INCONCLUSIVE
    assert verdict(results(), Settings(absent=(facet,))) is Verdict.CONFORMANT


@pytest.fixture
def owners(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two checks are about owners."""
    moved = {
        name: dataclasses.replace(check, facet=Facet.OWNERS) if name in ("KP-304", "KP-506") else check
        for name, check in BY_ID.items()
    }
    monkeypatch.setattr(verdict_module, "BY_ID", moved)


FACET_TABLE = [
    # of the two checks about owners, not required, required
    (PASSED, PASSED, Verdict.CONFORMANT, Verdict.CONFORMANT),
    (PASSED, CheckOutcome.ADVISORY, Verdict.CONFORMANT, Verdict.CONFORMANT),
    (PASSED, CheckOutcome.INAPPLICABLE, Verdict.CONFORMANT, Verdict.CONFORMANT),
    (PASSED, CheckOutcome.INCONCLUSIVE, Verdict.CONFORMANT, Verdict.INCONCLUSIVE),
    (CheckOutcome.INAPPLICABLE, CheckOutcome.INAPPLICABLE, Verdict.CONFORMANT, Verdict.INCONCLUSIVE),
    (CheckOutcome.INCONCLUSIVE, CheckOutcome.INCONCLUSIVE, Verdict.CONFORMANT, Verdict.INCONCLUSIVE),
    (CheckOutcome.ADVISORY, CheckOutcome.INAPPLICABLE, Verdict.CONFORMANT, Verdict.INCONCLUSIVE),
    (PASSED, FAILED, Verdict.NOT_CONFORMANT, Verdict.NOT_CONFORMANT),
]


@pytest.mark.usefixtures("owners")
@pytest.mark.parametrize(("one", "two", "free", "required"), FACET_TABLE)
def test_a_facet_weighs_by_whether_it_is_required(
    one: CheckOutcome, two: CheckOutcome, free: Verdict, required: Verdict
) -> None:
    """A gap in a facet that nobody asked for is said; in one that is required it withholds the verdict."""
    given = results(KP_304=one, KP_506=two)
    assert verdict(given, Settings()) is free
    assert verdict(given, Settings(require=(Facet.OWNERS,))) is required


@pytest.mark.usefixtures("owners")
@pytest.mark.parametrize("outcome", CheckOutcome)
def test_a_facet_is_exercised_when_something_of_it_was_seen(outcome: CheckOutcome) -> None:
    """And absent when that is declared, whatever was seen."""
    seen = outcome in (PASSED, CheckOutcome.ADVISORY, FAILED, CheckOutcome.ERRORED, CheckOutcome.KNOWN)
    given = results(KP_304=outcome, KP_506=CheckOutcome.INAPPLICABLE)
    state = FacetState.EXERCISED if seen else FacetState.NOT_EXERCISED
    assert facet_states(given, Settings())[Facet.OWNERS] is state
    assert facet_states(given, Settings(absent=(Facet.OWNERS,)))[Facet.OWNERS] is FacetState.ABSENT
    assert list(facet_states(given, Settings())) == list(Facet)


@pytest.mark.usefixtures("owners")
@pytest.mark.parametrize(
    ("one", "state"),
    [
        (PASSED, FacetState.NOT_EXERCISED),
        (CheckOutcome.ADVISORY, FacetState.NOT_EXERCISED),
        (FAILED, FacetState.EXERCISED),
        (CheckOutcome.ERRORED, FacetState.EXERCISED),
    ],
)
def test_a_check_that_saw_too_little_leaves_its_facet_open(one: CheckOutcome, state: FacetState) -> None:
    """Unless another one broke: then the facet was seen well enough. The core is what the verdict is about anyway."""
    given = results(KP_304=one, KP_506=CheckOutcome.INCONCLUSIVE)
    assert facet_states(given, Settings())[Facet.OWNERS] is state
    assert facet_states(results(KP_301=CheckOutcome.INCONCLUSIVE), Settings())[Facet.CORE] is FacetState.EXERCISED


def states(**changed: FacetState) -> dict[Facet, FacetState]:
    named = {Facet(name.replace("_", "-")): state for name, state in changed.items()}
    return {facet: named.get(facet, FacetState.NOT_EXERCISED) for facet in Facet}


ALL_SEEN = dict.fromkeys(Facet, FacetState.EXERCISED)
SENTENCES = [
    (Verdict.CONFORMANT, ALL_SEEN, "conformant: core, filters, bases, owners, secrets, back-end"),
    (
        Verdict.CONFORMANT,
        states(core=FacetState.EXERCISED, filters=FacetState.ABSENT),
        "conformant: core (not exercised: bases, owners, secrets, back-end; absent: filters)",
    ),
    (
        Verdict.INCONCLUSIVE,
        states(),
        "inconclusive: nothing (not exercised: core, filters, bases, owners, secrets, back-end)",
    ),
    (
        Verdict.PARTIAL,
        states(),
        f"partial: 3 of {len(CHECKS)} checks were run, which says nothing about the whole provider",
    ),
]


@pytest.mark.parametrize(("found", "seen", "expected"), SENTENCES)
def test_the_sentence_names_what_it_is_about(found: Verdict, seen: dict[Facet, FacetState], expected: str) -> None:
    """And what it is not about."""
    assert sentence(found, seen, 3) == expected


def test_what_is_not_established_is_listed() -> None:
    """Each facet that was not exercised, and each clause that no check stands for."""
    lines = not_established(states(core=FacetState.EXERCISED, filters=FacetState.ABSENT), {Facet.CORE, Facet.OWNERS})
    assert lines[0] == "filters: declared absent"
    assert "owners: not exercised, though it is required" in lines
    assert not [line for line in lines if line.startswith("core")]
    assert [line for line in lines if line.startswith("clause ")] == [
        f"clause {clause}: {reason}" for clause, reason in NOT_TESTED.items()
    ]


_OUTCOMES = st.lists(st.sampled_from(CheckOutcome), min_size=len(CHECKS), max_size=len(CHECKS))


@given(_OUTCOMES, st.sets(st.sampled_from(list(Facet))))
@settings(deadline=None, max_examples=200)
def test_conformant_means_that_much_passed_and_nothing_is_broken(
    outcomes: list[CheckOutcome], required: Iterable[Facet]
) -> None:
    """For any outcomes and any requirements."""
    given = [CheckResult(id=check.id, outcome=outcome) for check, outcome in zip(CHECKS, outcomes, strict=True)]
    if verdict(given, Settings(require=tuple(required))) is Verdict.CONFORMANT:
        assert not BROKEN & set(outcomes)
        assert PASSED in outcomes
        assert CheckOutcome.INCONCLUSIVE not in outcomes or len({check.facet for check in CHECKS}) > 1


def test_no_mixture_of_two_outcomes_without_a_pass_is_conformant() -> None:
    """A suite must not pass what it did not see."""
    for one, two in product(sorted(set(CheckOutcome) - {PASSED}), repeat=2):
        assert verdict(results(one, KP_304=two, KP_101=two), Settings()) is not Verdict.CONFORMANT
