"""Pairs of requests of which one looks like the other to a cache."""

import pytest

from knowledge_conformance.confusable import PAIRS_MAX, confusable
from knowledge_provider import limits


def test_one_query_is_asked_for_few_and_then_for_most() -> None:
    """The query that finds most, in words that nobody asked before."""
    first, second = next(confusable(["release", "team"]))
    assert first.query == second.query == "release release"
    assert (first.top_k, second.top_k) == (2, limits.TOP_K_MAX)


@pytest.mark.parametrize("least", ["a", "team", "x" * 99, "y" * 101, "sick leave"])
def test_two_queries_begin_with_more_than_a_hundred_equal_characters(least: str) -> None:
    """And then one of them asks for something else, too."""
    pairs = list(confusable(["release", "policy", least]))
    assert len(pairs) == PAIRS_MAX
    first, second = pairs[1]
    assert len(first.query) > 100
    assert second.query == f"{first.query} release"
    assert first.top_k == second.top_k == limits.TOP_K_MAX


@pytest.mark.parametrize("queries", [["release"], ["r" * 300, "t" * 300], ["r" * 500, "t"]])
def test_without_another_query_or_room_for_it_there_is_one_pair(queries: list[str]) -> None:
    """A query is never cut in the middle to make two alike."""
    ((first, second),) = confusable(queries)
    assert first.query == second.query
    assert len(second.query) <= limits.QUERY_MAX
