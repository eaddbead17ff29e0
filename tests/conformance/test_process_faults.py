"""How a lost process is put into words."""

import signal

import pytest

from knowledge_conformance.catalogue import BY_ID
from knowledge_conformance.channel import CHANNEL_LOST, KIT_LOST
from knowledge_conformance.check import Check
from knowledge_conformance.faults import Fault, FaultError, ProcessFault, closing_result, fault_result
from knowledge_conformance.results import BROKEN, CheckOutcome, CheckResult

SAID = [
    (ProcessFault(Fault.DIED, 0), "the provider's process ended itself with exit status 0"),
    (ProcessFault(Fault.DIED, 3), "the provider's process ended itself with exit status 3"),
    (ProcessFault(Fault.DIED, -9), "was ended by SIGKILL (killed, or out of memory)"),
    (ProcessFault(Fault.DIED, -signal.SIGSEGV), "was ended by SIGSEGV (a segmentation fault)"),
    (ProcessFault(Fault.DIED, -signal.SIGABRT), "was ended by SIGABRT (an abort)"),
    (ProcessFault(Fault.DIED, -signal.SIGTERM), "was ended by SIGTERM"),
    (ProcessFault(Fault.DIED, -250), "was ended by signal 250"),
    (ProcessFault(Fault.DIED, CHANNEL_LOST), "the kit's own channel was closed"),
    (ProcessFault(Fault.DIED, KIT_LOST), "the kit's own code in the provider's process failed"),
    (ProcessFault(Fault.STALLED, seconds=13.0), "nothing for 13 s: the event loop, or the whole interpreter, was held"),
    (ProcessFault(Fault.STALLED, seconds=1.5, held=" in acme.search, line 3"), "was held in acme.search, line 3"),
    (ProcessFault(Fault.FLOODED), "more than 1 MiB on standard output or error during one check"),
    (ProcessFault(Fault.SCRIBBLED), "foreign bytes on the kit's own channel"),
]


@pytest.mark.parametrize(("fault", "fragment"), SAID)
def test_every_way_of_losing_a_process_has_its_words(fault: ProcessFault, fragment: str) -> None:
    """What came instead of a result, and what an author can do."""
    assert fragment in fault.saw
    assert fault.saw.isprintable()
    assert fault.hint.isprintable()
    assert str(FaultError(fault)) == fault.saw


@pytest.mark.parametrize("check", BY_ID.values(), ids=BY_ID)
def test_a_lost_process_fails_its_check_whatever_the_level(check: Check) -> None:
    """No host survives it, so advice would be too weak a word."""
    result = fault_result(check, ProcessFault(Fault.DIED, 0), calls=4, last_call=None)
    assert (result.id, result.outcome, result.calls) == (check.id, CheckOutcome.FAILED, 4)
    assert result.where == "before the check's first call"


def test_the_last_call_is_shown() -> None:
    """It is most likely the one."""
    result = fault_result(BY_ID["KP-301"], ProcessFault(Fault.STALLED, seconds=1), calls=1, last_call="describe()")
    assert result.where == "describe()"


LOST = fault_result(BY_ID["KP-101"], ProcessFault(Fault.DIED, 0), calls=0, last_call="close()")


@pytest.mark.parametrize("outcome", CheckOutcome)
def test_a_process_lost_while_closing_is_said_where_closing_is_judged(outcome: CheckOutcome) -> None:
    """By a check about closing that saw nothing itself; one that fails by itself says more."""
    result = CheckResult(id="KP-204", outcome=outcome, calls=2)
    said = closing_result(BY_ID["KP-204"], result, LOST)
    if outcome in BROKEN:
        assert said == result
    else:
        assert (said.id, said.outcome, said.calls, said.where) == ("KP-204", CheckOutcome.FAILED, 2, "close()")


def test_other_checks_and_other_runs_are_left_alone() -> None:
    """A check about something else keeps its result, and so do all where nothing was lost."""
    result = CheckResult(id="KP-101", outcome=CheckOutcome.PASSED)
    assert closing_result(BY_ID["KP-101"], result, LOST) == result
    assert closing_result(BY_ID["KP-204"], result, None) == result
