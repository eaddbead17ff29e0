"""What came of the faults that were put into a provider. Pure; knows faults and results, runs nothing.

A green run means something where the same checks, over the same provider, corpus and settings, turn red as soon as a
fault is in it.
"""

from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar, Final

from pydantic import BaseModel, ConfigDict

from knowledge_conformance.results import BROKEN, CheckOutcome, CheckResult
from knowledge_conformance.settings import Settings

if TYPE_CHECKING:
    # Every report has room for a proof, and few have one: the faults take long to load.
    from knowledge_fakes.faults import Fault


class Ending(StrEnum):
    """What came of one fault. ``missed``: its check passed. ``hidden``: nothing here could show it."""

    CAUGHT = "caught"
    MISSED = "missed"
    HIDDEN = "hidden"


class Trial(BaseModel):
    """One fault in the user's provider: the check that is to catch it, how that ended, and why it was not caught."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True)

    fault: str
    check: str
    ending: Ending
    reason: str | None = None


class Proof(BaseModel):
    """All trials on one target, in the catalogue's order."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True)

    target: str
    trials: tuple[Trial, ...]
    void: str | None = None
    """Why nothing is proved: the provider without a fault does not answer after all trials, so it may be dead."""

    def ended(self, ending: Ending) -> list[Trial]:
        """The trials that ended so."""
        return [trial for trial in self.trials if trial.ending is ending]

    @property
    def holds(self) -> bool:
        """Whether something was caught, nothing missed, and the provider without a fault still answered at the end."""
        return bool(self.ended(Ending.CAUGHT)) and not self.ended(Ending.MISSED) and self.void is None

    @property
    def sentence(self) -> str:
        """How many were injected and caught, on one line."""
        if self.void is not None:
            return f"nothing: without a fault the provider does not answer any more: {self.void}"
        hidden, missed = len(self.ended(Ending.HIDDEN)), len(self.ended(Ending.MISSED))
        injected = len(self.trials) - hidden
        parts = [f"{injected} faults injected", f"{injected - missed} caught"]
        parts += [f"{missed} missed"] * bool(missed) + [f"{hidden} cannot show here"] * bool(hidden)
        return ", ".join(parts)


_TRIPPED: Final = BROKEN | {CheckOutcome.ADVISORY}
_CAUGHT: Final = _TRIPPED - {CheckOutcome.KIT_ERROR}
_EXPLAINED: Final = {CheckOutcome.INAPPLICABLE, CheckOutcome.INCONCLUSIVE, CheckOutcome.BLOCKED}
# What a fault needs of any run; the rest of its settings speaks of the provider that it was written over.
_OF_ANY_RUN: Final = ("examples", "max_calls")


def settings_for(fault: "Fault", settings: Settings) -> Settings:
    """The user's settings with what the fault needs: more examples and calls, and less patience with what hangs."""
    wanted = {name: max(getattr(settings, name), fault.settings.get(name, 0)) for name in _OF_ANY_RUN}
    timeout = min(settings.timeout, fault.settings.get("timeout", settings.timeout))
    # A fault lets out a key of its own, never the user's; who searches for none need not search for that. Where the
    # network is cut, what the back end is given is searched for.
    own = fault.settings.get("secrets", ()) if settings.secrets or settings.inject_network_faults else ()
    secrets = (*settings.secrets, *own)
    return settings.model_copy(update={**wanted, "timeout": timeout, "secrets": secrets, "trial": True})


def untried(fault: "Fault", sound: CheckOutcome) -> Trial | None:
    """The trial of a fault that can be told without one: its check does not hold on the provider as it is."""
    check = fault.trips[0]
    if sound not in _TRIPPED:
        return None
    return Trial(fault=fault.name, check=check, ending=Ending.HIDDEN, reason=f"{check} does not hold without it")


def trial_of(fault: "Fault", result: CheckResult, sound: CheckOutcome, settings: Settings, target: str) -> Trial:
    """What the result of the check that is to catch it says of a fault; ``sound`` is how it ended without the fault.

    Only where that check could not look without the fault either does it excuse itself, and where the settings name
    nothing that the fault could be about. A fault of a client of its own, as those of the network are, does in another
    ``target`` what it is to do, or nothing: where the check does not see what the fault is about, it proves nothing.
    """
    at_home = fault.at_home(target.partition("+")[0])
    if result.outcome in _CAUGHT and (at_home or _shows(fault, result)):
        return Trial(fault=fault.name, check=result.id, ending=Ending.CAUGHT)
    said = "; ".join(filter(None, (result.saw, result.hint)))
    if result.outcome in _EXPLAINED and sound in _EXPLAINED:
        return Trial(fault=fault.name, check=result.id, ending=Ending.HIDDEN, reason=said)
    if not at_home:
        return Trial(fault=fault.name, check=result.id, ending=Ending.HIDDEN, reason=f"{_AWAY} {fault.over}")
    lacking = fault.lacks(settings.model_dump())
    if result.outcome is CheckOutcome.PASSED and lacking is not None:
        return Trial(fault=fault.name, check=result.id, ending=Ending.HIDDEN, reason=lacking)
    how = f"{result.id} {result.outcome} with it" if not said else f"{result.id} {result.outcome} with it: {said}"
    return Trial(fault=fault.name, check=result.id, ending=Ending.MISSED, reason=how)


_AWAY: Final = "nothing that this provider's back end sends, or its client raises, shows them; they are proved with"


def _shows(fault: "Fault", result: CheckResult) -> bool:
    return any(fault.fragment in text for text in (result.wanted, result.saw, result.where) if text is not None)


def grouped(trials: Iterable[Trial]) -> Iterator[tuple[str, list[str]]]:
    """Reasons with the faults that they are about, so that one cause is one line."""
    groups: dict[str, list[str]] = {}
    for trial in trials:
        groups.setdefault(trial.reason or "", []).append(trial.fault)
    yield from groups.items()
