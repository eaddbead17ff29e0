"""When two orders of results count as the same."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knowledge_conformance.exchange import Exchange
from knowledge_conformance.ranking import Ranked, difference, ranked
from knowledge_provider import RetrievalContext, RetrievalRequest

AB: Ranked = (("a", 2.0), ("b", 1.0))


def unscored(*names: str) -> Ranked:
    return tuple((name, None) for name in names)


SAME: list[tuple[Ranked, Ranked, bool]] = [
    ((), (), False),
    (AB, AB, False),
    (AB, (("a", 2.5), ("b", 0.5)), False),
    (unscored("a", "b"), unscored("a", "b"), True),
    ((("a", 1.0), ("b", 1.0)), (("b", 1.0), ("a", 1.0)), False),
    ((("a", 1.0), ("b", 1.0 + 1e-9)), (("b", 1.0), ("a", 1.0)), False),
    ((("a", 2.0), ("b", 1.0)), (("a", 2.0), ("c", 1.0)), True),
]
OTHER: list[tuple[Ranked, Ranked, bool, str]] = [
    (AB, AB[:1], False, "2 results, then 1"),
    (AB[:1], (), False, "1 result, then 0"),
    (AB, AB[::-1], False, "'a' in place 1, then 'b'"),
    (unscored("a", "b"), unscored("b", "a"), False, "'a' in place 1, then 'b'"),
    # The rank for a score says nothing of a tie.
    (AB, (("b", 2.0), ("a", 1.0)), True, "'a' in place 1, then 'b'"),
    (AB, (("a", 2.0), ("c", 1.0)), False, "'b' in place 2, then 'c'"),
    (AB, (("a", 2.0), ("c", 0.5)), True, "'b' in place 2, then 'c'"),
    (AB, (("c", 2.0), ("b", 1.0)), True, "'a' in place 1, then 'c'"),
    (unscored("a", "b"), unscored("a", "c"), True, "'b' in place 2, then 'c'"),
]


@pytest.mark.parametrize(("one", "two", "cut"), SAME)
def test_the_same_order(one: Ranked, two: Ranked, cut: bool) -> None:
    """Equal scores may swap, and at the end of a full answer either may be in it."""
    assert difference(one, two, cut=cut) is None


@pytest.mark.parametrize(("one", "two", "cut", "said"), OTHER)
def test_another_order(one: Ranked, two: Ranked, cut: bool, said: str) -> None:
    """The first place that differs is named."""
    assert difference(one, two, cut=cut) == said


@given(st.lists(st.sampled_from("abcdef"), unique=True, max_size=6), st.randoms(use_true_random=False), st.booleans())
@settings(deadline=None, max_examples=100)
def test_without_ties_only_the_same_order_is_the_same(names: list[str], random: Any, cut: bool) -> None:
    """For any order of any ids with scores that fall."""
    one: Ranked = tuple((name, 10.0 - at) for at, name in enumerate(names))
    two = [*one]
    random.shuffle(two)
    assert (difference(one, tuple(two), cut=cut) is None) == (tuple(two) == one)


def test_reading_an_answer() -> None:
    """Ids as a host reads them, scores where they are numbers."""
    rows = [{"id": " a ", "content": "x", "score": 1}, {"id": "b", "content": "x", "score": "high"}, {"content": "x"}]
    exchange = Exchange(RetrievalRequest(query="q"), RetrievalContext(owner_id="o"), rows)
    assert ranked(exchange) == (("a", 1.0), ("b", None), ("", None))
