"""What a run says of a factory of one kind, as its author would be told; knows no particular factory.

A check whose prerequisite does not hold is blocked, so that what an author did wrong is said where it belongs.
"""

from collections.abc import Callable
from typing import Any

from knowledge_conformance.kinds import Kind
from knowledge_conformance.results import BROKEN, CheckOutcome
from knowledge_conformance.running import Run
from knowledge_conformance.settings import Settings
from knowledge_conformance.target import Target
from knowledge_fakes.making import MakerFault

TRIPPED = {*BROKEN, CheckOutcome.ADVISORY}
HOLDS = {CheckOutcome.PASSED, CheckOutcome.BLOCKED}


def outcomes_of(make: Callable[..., Any], kind: Kind, *, examples: int = 25) -> dict[str, CheckOutcome]:
    """How each check ends, by its id."""
    return {id_: outcome for id_, (outcome, _) in run_of(make, kind, examples=examples).items()}


def run_of(make: Callable[..., Any], kind: Kind, *, examples: int = 25) -> dict[str, tuple[CheckOutcome, str]]:
    """How each check ends, and what a person reads of it, its hint aside."""
    run = Run(Target("tests:factory", make, instance=False), Settings(examples=examples), kind=kind)
    try:
        run.runner.open()
        checks = run.all().checks
    finally:
        run.close()
    return {
        check.id: (check.outcome, " ".join(text for text in (check.wanted, check.saw, check.where) if text))
        for check in checks
    }


def require_exactly(fault: MakerFault, kind: Kind, *, examples: int = 25) -> None:
    """The fault trips its checks, no other, and the first of them says what it is declared to say."""
    found = run_of(fault.make, kind, examples=examples)
    tripped = {id_: said for id_, (outcome, said) in found.items() if outcome in TRIPPED}
    assert tripped.keys() == set(fault.trips), tripped
    assert {outcome for id_, (outcome, _) in found.items() if id_ not in tripped} <= HOLDS, found
    assert found[fault.trips[0]][0] is not CheckOutcome.KIT_ERROR
    assert fault.fragment in tripped[fault.trips[0]], tripped
