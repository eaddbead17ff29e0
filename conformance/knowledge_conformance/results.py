"""What came of a check, as frozen values; knows no check, provider or way of showing it."""

from enum import StrEnum
from typing import ClassVar, Final

from pydantic import BaseModel, ConfigDict, JsonValue

from knowledge_conformance.manner import Manner

EVIDENCE_MAX: Final = 600
"""Code points of one line of evidence: enough to understand, and bounded whatever a provider returns."""

TRANSCRIPT_SHOWN: Final = 12
"""How many calls of a check that did not pass its result tells: the last ones, since a finding ends its check."""


class CheckOutcome(StrEnum):
    """How a check ended. Only ``passed`` counts as passed.

    ``known``: it failed as an entry of known-failures says. ``stale``: such an entry does not say the truth any more.
    """

    PASSED = "passed"
    FAILED = "failed"
    ADVISORY = "advisory"
    INAPPLICABLE = "inapplicable"
    INCONCLUSIVE = "inconclusive"
    BLOCKED = "blocked"
    ERRORED = "errored"
    KIT_ERROR = "kit-error"
    KNOWN = "known"
    STALE = "stale"


BROKEN = frozenset({CheckOutcome.FAILED, CheckOutcome.ERRORED, CheckOutcome.KIT_ERROR})
"""Outcomes that make a provider not conformant."""
FAILING = BROKEN | {CheckOutcome.STALE}
"""Outcomes that fail a run, whatever else came: a provider, or what is said of it, has to be mended."""


class CheckResult(BaseModel):
    """One check's outcome with its evidence; every text is one line, bounded and free of secrets.

    ``observations`` counts what was looked at, ``calls`` the calls of the provider, those of the shared survey aside.
    ``saw`` also holds the reason of an outcome that is not a failure. ``input`` is what was asked, or what a host was
    answered, in the call that ``where`` shows: ``{"request": …}`` or ``{"response": …}``, where that can be written as
    JSON in a few thousand characters. ``transcript`` are the last calls with what came of them, in the order they began
    in; empty where it passed.
    ``manner`` is how the provider was opened and called, where one failed that was still there.
    ``fingerprint`` tells one failure of a check from another, ``replay`` is the token that asks for it again, and
    ``known`` is what known-failures says of it.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True)

    id: str
    outcome: CheckOutcome
    observations: int = 0
    calls: int = 0
    wanted: str | None = None
    saw: str | None = None
    hint: str | None = None
    where: str | None = None
    input: dict[str, JsonValue] | None = None
    transcript: tuple[str, ...] = ()
    manner: Manner | None = None
    fingerprint: str | None = None
    replay: str | None = None
    known: str | None = None
