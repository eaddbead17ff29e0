"""What is kept of a check's calls, whatever it looks at."""

import pytest

from knowledge_conformance.settings import Settings
from knowledge_conformance.watched import TRANSCRIPT_MAX, OutOfCallsError, Watched
from knowledge_provider import RetrievalRequest


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


def test_what_was_asked_in_the_call_that_is_shown_is_found_again() -> None:
    """The request whose text stands in the place that a finding shows; nothing where none does."""
    subject, _ = watched()
    for query in ("release", "holidays"):
        subject.asks(f"retrieve({query!r})", RetrievalRequest(query=query, top_k=2))
    assert subject.input_of("results[0] of retrieve('release') -> 1 result") == {
        "request": {"query": "release", "top_k": 2}
    }
    assert subject.input_of("health()") is None
    assert subject.input_of(None) is None


def test_of_many_requests_the_last_are_remembered() -> None:
    """A check that asks thousands keeps as few as its transcript."""
    subject, _ = watched()
    for number in range(TRANSCRIPT_MAX + 1):
        subject.asks(f"call {number};", RetrievalRequest(query=f"query {number}"))
    assert subject.input_of("call 0;") is None
    assert subject.input_of("call 1;") == {"request": {"query": "query 1"}}
