"""What is kept of a check's calls, whatever it looks at."""

import pytest

from knowledge_conformance.settings import Settings
from knowledge_conformance.watched import TRANSCRIPT_MAX, OutOfCallsError, Watched


def watched(allowed: int | None = None) -> tuple[Watched, list[tuple[str, float]]]:
    told: list[tuple[str, float]] = []
    return Watched(Settings(), announce=lambda shown, seconds: told.append((shown, seconds)), allowed=allowed), told


def test_a_call_is_announced_and_shown() -> None:
    """Before it is made, with the time that it may take."""
    subject, told = watched()
    subject.count("close()", 2.0)
    assert told == [("close()", 2.0)]
    assert (subject.calls, subject.shown, list(subject.transcript)) == (1, "close()", ["close()"])


def test_a_budget_ends() -> None:
    """What goes beyond it is neither counted nor announced."""
    subject, told = watched(allowed=1)
    subject.count("one", 1.0)
    with pytest.raises(OutOfCallsError):
        subject.count("two", 1.0)
    assert (subject.calls, [shown for shown, _ in told]) == (1, ["one"])


def test_without_a_budget_only_the_transcript_is_bounded() -> None:
    """A host is driven as often as a check needs."""
    subject, told = watched()
    for at in range(TRANSCRIPT_MAX + 5):
        subject.count(f"call {at}", 1.0)
    assert len(told) == subject.calls == TRANSCRIPT_MAX + 5
    assert len(subject.transcript) == TRANSCRIPT_MAX


def test_observations_add_up() -> None:
    """A check says what it looked at, one or several at a time."""
    subject, _ = watched()
    subject.observe()
    subject.observe(3)
    assert subject.observations == 4
