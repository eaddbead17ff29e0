"""Ledgers of turns: shared within a turn, never between turns or owners, and bounded."""

from typing import Any

import pytest

from knowledge_provider.turns import Turns


def test_a_turn_keeps_its_ledger() -> None:
    """Clause 8.9: every search of a (session, turn) counts on."""
    turns = Turns(8)
    assert turns.ledger("alice", "s", "t") is turns.ledger("alice", "s", "t")


@pytest.mark.parametrize("other", [("alice", "s", "u"), ("alice", "r", "t"), ("bob", "s", "t")])
def test_another_turn_session_or_owner_has_its_own(other: tuple[str, str, str]) -> None:
    """Clauses 4.3 and 8.9: where two owners' ids collide, a title that one has seen does not reach the other."""
    turns = Turns(8)
    assert turns.ledger("alice", "s", "t") is not turns.ledger(*other)


@pytest.mark.parametrize("blank", ["", "  ", "\n"])
def test_a_blank_turn_is_no_turn(blank: str) -> None:
    """Two searches that say nothing about their turns have nothing to do with each other."""
    turns = Turns(8)
    assert turns.ledger("alice", "s", blank) is not turns.ledger("alice", "s", blank)


def test_the_turns_used_last_stay() -> None:
    """Clause 8.9: bounded, and the least recently used goes first."""
    turns = Turns(2)
    first, second = turns.ledger("a", "s", "1"), turns.ledger("a", "s", "2")
    assert turns.ledger("a", "s", "1") is first
    turns.ledger("a", "s", "3")
    assert turns.ledger("a", "s", "1") is first
    assert turns.ledger("a", "s", "2") is not second


@pytest.mark.parametrize(("wrong", "error"), [(0, ValueError), (-1, ValueError), (True, TypeError), (1.0, TypeError)])
def test_a_limit_is_a_count(wrong: Any, error: type[Exception]) -> None:
    """No turn at all could not keep the promise."""
    with pytest.raises(error, match="turns must be"):
        Turns(wrong)
