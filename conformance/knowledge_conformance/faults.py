"""What went wrong with a provider's process, in an author's words; knows endings, starts and reads nothing."""

import signal
from dataclasses import dataclass
from enum import Enum
from typing import Final

from knowledge_conformance.channel import CHANNEL_LOST, KIT_LOST
from knowledge_conformance.check import Check
from knowledge_conformance.results import BROKEN, CheckOutcome, CheckResult

OUTPUT_MAX: Final = 1 << 20
"""Bytes that a provider may write to standard output and error during one check."""


_CLOSING: Final = "2.2"
LEFT_ALONE: Final = "the provider to answer, or raise, and leave "
"""How what was wanted begins where a provider took away what all of its host's calls need."""


class Fault(Enum):
    """The ways in which a provider takes its own process, and would take its host's, away."""

    DIED = "died"
    STALLED = "stalled"
    FLOODED = "flooded"
    SCRIBBLED = "scribbled"


@dataclass(frozen=True, slots=True)
class ProcessFault:
    """A fault, with the exit status of a process that died (negative: the signal) or the seconds of a stall.

    ``held`` says where in the author's code it stalled, as " in …", or is "".
    """

    kind: Fault
    status: int = 0
    seconds: float = 0.0
    held: str = ""

    @property
    def saw(self) -> str:
        """What came instead of a result."""
        match self.kind:
            case Fault.DIED:
                return _death(self.status)
            case Fault.STALLED:
                return f"nothing for {self.seconds:g} s: the event loop, or the whole interpreter, was held{self.held}"
            case Fault.FLOODED:
                return f"more than {OUTPUT_MAX >> 20} MiB on standard output or error during one check"
            case Fault.SCRIBBLED:
                return "foreign bytes on the kit's own channel: the provider writes to file descriptors it did not open"

    @property
    def hint(self) -> str:
        """What the author can do."""
        match self.kind:
            case Fault.DIED:
                return "a provider shares its host's process: it may never end it; run with --in-process to debug"
            case Fault.STALLED:
                return (
                    "await slow work, or run it with asyncio.to_thread; bound loops, recursion and regular expressions"
                )
            case Fault.FLOODED:
                return "write to logging, not to standard output, and not for each call"
            case Fault.SCRIBBLED:
                return "write only to files and sockets that the provider opened itself"


class FaultError(Exception):
    """No message comes any more from where the provider is; ``fault`` says how that was seen."""

    def __init__(self, fault: ProcessFault) -> None:
        super().__init__(fault.saw)
        self.fault = fault


def fault_result(check: Check, fault: ProcessFault, *, calls: int, last_call: str | None) -> CheckResult:
    """The failed result of the check that a process was on: whatever the check's level, no host survives this."""
    return CheckResult(
        id=check.id,
        outcome=CheckOutcome.FAILED,
        calls=calls,
        wanted=f"{LEFT_ALONE}the host's process alone",
        saw=fault.saw,
        hint=fault.hint,
        where=last_call or "before the check's first call",
    )


def is_lost(wanted: str | None) -> bool:
    """Whether what a result ``wanted`` says that the process, the loop or the task was lost that its check ran in."""
    return (wanted or "").startswith(LEFT_ALONE)


def closing_result(check: Check, result: CheckResult, lost: CheckResult | None) -> CheckResult:
    """A check's result where the process was ``lost`` before, while a provider was closed after another check.

    The checks about closing itself are the place to say so; one that fails by itself says more.
    """
    if lost is None or not (check.closes and check.clause == _CLOSING) or result.outcome in BROKEN:
        return result
    return lost.model_copy(update={"id": check.id, "calls": result.calls})


def _death(status: int) -> str:
    if status in _KIT_STATUSES:
        return f"{_KIT_STATUSES[status]} (exit status {status})"
    if status >= 0:
        return f"the provider's process ended itself with exit status {status}"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = f"signal {-status}"
    return f"the provider's process was ended by {name}{_MEANING.get(name, '')}"


_KIT_STATUSES: Final = {
    CHANNEL_LOST: "the kit's own channel was closed: the provider closes file descriptors it did not open",
    KIT_LOST: "the kit's own code in the provider's process failed: the provider replaces parts of the standard "
    "library, or has used up what its process may have",
}
_MEANING: Final = {
    "SIGSEGV": " (a segmentation fault)",
    "SIGABRT": " (an abort)",
    "SIGKILL": " (killed, or out of memory)",
}
