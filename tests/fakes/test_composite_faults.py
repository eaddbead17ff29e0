"""The catalogue of faulty composites as data, and its faults as targets."""

import inspect

import pytest

from knowledge_fakes import faulty_composites
from knowledge_fakes.composite_faults import COMPOSITE_FAULTS
from knowledge_fakes.composite_faults._declared import fault
from knowledge_fakes.handbook import HandbookProvider, SyncHandbookProvider
from knowledge_fakes.making import MakerFault

each = pytest.mark.parametrize("case", COMPOSITE_FAULTS.values(), ids=COMPOSITE_FAULTS)


def test_there_are_many_and_the_naive_one_is_among_them() -> None:
    """Each with a name and a sentence of its own."""
    assert len(COMPOSITE_FAULTS) >= 25
    assert next(iter(COMPOSITE_FAULTS)) == "naive_gather"
    assert len({case.summary for case in COMPOSITE_FAULTS.values()}) == len(COMPOSITE_FAULTS)


@each
def test_a_fault_says_what_it_is_and_what_catches_it(case: MakerFault) -> None:
    """A sentence, a check of section 9, each check once, and something to find in what the check says."""
    assert case.summary.endswith(".")
    assert "\n" not in case.summary
    assert all(id_.startswith("KP-9") for id_ in case.trips)
    assert len(set(case.trips)) == len(case.trips)
    assert case.fragment


@each
def test_a_fault_is_a_target_that_makes_a_composite(case: MakerFault) -> None:
    """It is called with children and a time, and what it makes has a provider's two methods."""
    factory = getattr(faulty_composites, case.name)
    made = factory({"a": HandbookProvider(), "b": SyncHandbookProvider()}, timeout=0.5)
    assert callable(made.describe)
    assert inspect.iscoroutinefunction(made.retrieve)


def test_targets_are_listed_and_others_refused() -> None:
    """Completion works, and a misspelt name is an ``AttributeError``."""
    assert dir(faulty_composites) == sorted(COMPOSITE_FAULTS)
    with pytest.raises(AttributeError, match="there is no fault of that name"):
        _ = faulty_composites.naive_gathering


def test_a_fault_needs_a_check_and_a_sentence() -> None:
    """One that nothing catches, or that says nothing, is a mistake in the catalogue."""

    class Silent:
        pass

    class Spoken:
        """It has a sentence."""

    with pytest.raises(TypeError, match="Silent"):
        fault("KP-901", fragment="x")(Silent)
    with pytest.raises(TypeError, match="Spoken"):
        fault(fragment="x")(Spoken)
