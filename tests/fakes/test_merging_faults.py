"""The catalogue of faulty merging hosts as data, and its faults as targets."""

import inspect

import pytest

from knowledge_fakes import faulty_merging
from knowledge_fakes.making import MakerFault
from knowledge_fakes.merging_faults import MERGING_FAULTS
from knowledge_fakes.merging_faults._declared import fault
from knowledge_fakes.plain_merging import PlainMerging
from knowledge_fakes.sources import ScriptedSource

each = pytest.mark.parametrize("case", MERGING_FAULTS.values(), ids=MERGING_FAULTS)


async def nothing(query: str, context: object) -> list[object]:
    return []


@each
def test_a_fault_says_what_it_is_and_what_catches_it(case: MakerFault) -> None:
    """A sentence of its own, a check of merging hosts, each once, and something to find in what the check says."""
    assert case.summary.endswith(".")
    assert [other.summary for other in MERGING_FAULTS.values()].count(case.summary) == 1
    assert all("KP-1051" <= id_ <= "KP-1099" for id_ in case.trips)
    assert len(set(case.trips)) == len(case.trips)
    assert case.fragment


@each
def test_a_fault_is_a_target_that_makes_what_merges(case: MakerFault) -> None:
    """It is called with the host's own search, sources and a time."""
    merge = getattr(faulty_merging, case.name)(nothing, [ScriptedSource("wiki")], timeout=0.5)
    assert inspect.iscoroutinefunction(merge)


def test_targets_are_listed_and_others_refused() -> None:
    """Completion works, and a misspelt name is an ``AttributeError``."""
    assert dir(faulty_merging) == sorted(MERGING_FAULTS)
    with pytest.raises(AttributeError, match="there is no fault of that name"):
        _ = faulty_merging.no_deadlines


def test_a_fault_needs_a_check_and_a_sentence() -> None:
    """One that nothing catches, or that says nothing, is a mistake in the catalogue."""

    class Silent(PlainMerging):
        pass

    class Spoken(PlainMerging):
        """It has a sentence."""

    Silent.__doc__ = None
    with pytest.raises(TypeError, match="Silent"):
        fault("KP-1051", fragment="x")(Silent)
    with pytest.raises(TypeError, match="Spoken"):
        fault(fragment="x")(Spoken)
