"""The catalogue of faulty sources as data, and its faults as targets."""

import pytest

from knowledge_fakes import faulty_sources
from knowledge_fakes.making import MakerFault
from knowledge_fakes.source_faults import SOURCE_FAULTS
from knowledge_fakes.source_faults._declared import fault
from knowledge_fakes.sources import HandbookSource

each = pytest.mark.parametrize("case", SOURCE_FAULTS.values(), ids=SOURCE_FAULTS)


@each
def test_a_fault_says_what_it_is_and_what_catches_it(case: MakerFault) -> None:
    """A sentence of its own, a check of sources, each check once, and something to find in what the check says."""
    assert case.summary.endswith(".")
    assert [other.summary for other in SOURCE_FAULTS.values()].count(case.summary) == 1
    assert all("KP-1001" <= id_ <= "KP-1050" for id_ in case.trips)
    assert len(set(case.trips)) == len(case.trips)
    assert case.fragment


@each
def test_a_fault_is_a_target_that_makes_a_source(case: MakerFault) -> None:
    """The handbook, fresh each time, with one thing wrong about it."""
    make = getattr(faulty_sources, case.name)
    assert isinstance(make(), HandbookSource)
    assert make() is not make()


def test_targets_are_listed_and_others_refused() -> None:
    """Completion works, and a misspelt name is an ``AttributeError``."""
    assert dir(faulty_sources) == sorted(SOURCE_FAULTS)
    with pytest.raises(AttributeError, match="there is no fault of that name"):
        _ = faulty_sources.link_as_url


def test_a_fault_needs_a_check_and_a_sentence() -> None:
    """One that nothing catches, or that says nothing, is a mistake in the catalogue."""

    class Silent:
        pass

    class Spoken:
        """It has a sentence."""

    with pytest.raises(TypeError, match="Silent"):
        fault("KP-1001", fragment="x")(Silent)
    with pytest.raises(TypeError, match="Spoken"):
        fault(fragment="x")(Spoken)
