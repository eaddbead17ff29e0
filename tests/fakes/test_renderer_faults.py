"""The catalogue of faulty renderers as data, and its faults as targets."""

import pytest

from knowledge_fakes import faulty_renderers
from knowledge_fakes.making import MakerFault
from knowledge_fakes.renderer_faults import RENDERER_FAULTS
from knowledge_provider import normalize_response

each = pytest.mark.parametrize("case", RENDERER_FAULTS.values(), ids=RENDERER_FAULTS)


def test_there_are_many() -> None:
    """Each with a name and a sentence of its own."""
    assert len(RENDERER_FAULTS) >= 35
    assert len({case.summary for case in RENDERER_FAULTS.values()}) == len(RENDERER_FAULTS)


@each
def test_a_fault_says_what_it_is_and_what_catches_it(case: MakerFault) -> None:
    """A sentence, a check of section 12, each check once, and something to find in what the check says."""
    assert case.summary.endswith(".")
    assert all(id_.startswith("KP-12") for id_ in case.trips)
    assert len(set(case.trips)) == len(case.trips)
    assert case.fragment


@each
def test_a_fault_is_a_target_that_renders(case: MakerFault) -> None:
    """It is called without arguments, and what it makes renders an ordinary outcome."""
    made = getattr(faulty_renderers, case.name)()
    block = made.render_block(normalize_response([{"id": "a", "content": "Two owners."}], query="q"))
    assert "owners." in block
    assert any(block in str(message["content"]) or message["content"] for message in made.inject([], block))


def test_targets_are_listed_and_others_refused() -> None:
    """Completion works, and a misspelt name is an ``AttributeError``."""
    assert dir(faulty_renderers) == sorted(RENDERER_FAULTS)
    with pytest.raises(AttributeError, match="there is no fault of that name"):
        _ = faulty_renderers.the_systems_words
