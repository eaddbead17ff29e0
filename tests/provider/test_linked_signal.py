"""One call's own signal: cancelled with the caller's, ended by the earlier deadline, and left behind by nobody."""

import pytest

from knowledge_provider.cancel import CancelSignal, linked_signal


def now() -> float:
    return 100.0


@pytest.mark.parametrize(
    ("parent", "seconds", "deadline"),
    [(None, None, None), (None, 5.0, 105.0), (103.0, None, 103.0), (103.0, 5.0, 103.0), (110.0, 5.0, 105.0)],
)
def test_the_earlier_deadline_counts(parent: float | None, seconds: float | None, deadline: float | None) -> None:
    """In seconds of the same clock."""
    with linked_signal(CancelSignal(deadline=parent, clock=now), seconds) as signal:
        assert signal.deadline == deadline
        assert signal.remaining() == (None if deadline is None else deadline - now())


def test_it_is_cancelled_with_its_parent_and_says_why() -> None:
    """Also when the parent was cancelled before."""
    parent = CancelSignal()
    with linked_signal(parent) as early:
        parent.cancel("the turn is over")
        with linked_signal(parent) as late:
            assert (early.reason, late.reason) == ("the turn is over", "the turn is over")


def test_cancelling_it_leaves_the_parent_alone() -> None:
    """One call's end is not the turn's."""
    parent = CancelSignal()
    with linked_signal(parent) as signal:
        signal.cancel("timeout")
    assert not parent.cancelled


def test_on_leaving_it_is_unlinked() -> None:
    """A turn's signal neither reaches a call that is over nor keeps it."""
    parent = CancelSignal()
    with linked_signal(parent) as signal:
        pass
    parent.cancel()
    assert not signal.cancelled


def test_a_callback_is_taken_back_once() -> None:
    """One ``add_callback`` for one ``remove_callback``, and what was never added is no mistake."""
    signal, heard = CancelSignal(), list[str]()

    def hear() -> None:
        heard.append("heard")

    signal.remove_callback(hear)
    signal.add_callback(hear)
    signal.add_callback(hear)
    signal.remove_callback(hear)
    signal.cancel()
    assert heard == ["heard"]
