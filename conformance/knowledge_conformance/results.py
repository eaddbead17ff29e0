"""What came of a check, as frozen values; knows no check, provider or way of showing it."""

from enum import StrEnum
from typing import ClassVar

from pydantic import BaseModel, ConfigDict


class CheckOutcome(StrEnum):
    """How a check ended. Only ``passed`` counts as passed."""

    PASSED = "passed"
    FAILED = "failed"
    ADVISORY = "advisory"
    INAPPLICABLE = "inapplicable"
    INCONCLUSIVE = "inconclusive"
    BLOCKED = "blocked"
    ERRORED = "errored"
    KIT_ERROR = "kit-error"


BROKEN = frozenset({CheckOutcome.FAILED, CheckOutcome.ERRORED, CheckOutcome.KIT_ERROR})
"""Outcomes that make a provider not conformant."""


class CheckResult(BaseModel):
    """One check's outcome with its evidence; every text is one line, bounded and free of secrets.

    ``observations`` counts what was looked at, ``calls`` the calls of the provider. ``saw`` also holds the reason of an
    outcome that is not a failure.
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
