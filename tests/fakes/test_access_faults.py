"""The catalogue of faulty access rules as data, and its faults as targets."""

import inspect

import pytest

from knowledge_fakes import faulty_access
from knowledge_fakes.access_faults import ACCESS_FAULTS
from knowledge_fakes.making import MakerFault, declaring
from knowledge_fakes.scripted import ScriptedProvider
from knowledge_provider.access import AccessScope

each = pytest.mark.parametrize("case", ACCESS_FAULTS.values(), ids=ACCESS_FAULTS)


def test_there_are_many() -> None:
    """Each with a name and a sentence of its own."""
    assert len(ACCESS_FAULTS) >= 40
    assert len({case.summary for case in ACCESS_FAULTS.values()}) == len(ACCESS_FAULTS)


@each
def test_a_fault_says_what_it_is_and_what_catches_it(case: MakerFault) -> None:
    """A sentence, a check of section 11, each check once, and something to find in what the check says."""
    assert case.summary.endswith(".")
    assert all(id_.startswith("KP-11") for id_ in case.trips)
    assert len(set(case.trips)) == len(case.trips)
    assert case.fragment


@each
def test_a_fault_is_a_target_that_makes_a_rule(case: MakerFault) -> None:
    """It is called as a rule's factory is, and what it makes can be asked."""
    made = getattr(faulty_access, case.name)(ScriptedProvider(), AccessScope(), identity=lambda _: {})
    assert callable(made.describe)
    assert inspect.iscoroutinefunction(made.retrieve)


def test_targets_are_listed_and_others_refused() -> None:
    """Completion works, and a misspelt name is an ``AttributeError``."""
    assert dir(faulty_access) == sorted(ACCESS_FAULTS)
    with pytest.raises(AttributeError, match="there is no fault of that name"):
        _ = faulty_access.permissive_by_chance


def test_a_fault_needs_a_check_and_a_sentence() -> None:
    """One that nothing catches, or that says nothing, is a mistake in the catalogue."""
    found: dict[str, MakerFault] = {}
    fault = declaring(found)

    class Silent:
        pass

    class SpokenFor:
        """It has a sentence."""

    with pytest.raises(TypeError, match="Silent"):
        fault("KP-1101", fragment="x")(Silent)
    with pytest.raises(TypeError, match="SpokenFor"):
        fault(fragment="x")(SpokenFor)
    assert fault("KP-1101", fragment="x")(SpokenFor) is SpokenFor
    assert found == {"spoken_for": MakerFault("spoken_for", "It has a sentence.", SpokenFor, ("KP-1101",), "x")}
