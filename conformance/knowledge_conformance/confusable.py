"""Requests that a cache may take for one another, made of queries that find something; pure, asks nobody."""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from knowledge_provider import RetrievalRequest, limits

PAIRS_MAX: Final = 2
_SMALL: Final = 2
_BEGINNING: Final = 100
"""How many characters two queries begin with: more than keys of caches are cut to."""


class Confusable(NamedTuple):
    """Two requests of which a cache that keeps too little of a request takes the second for the first."""

    first: RetrievalRequest
    second: RetrievalRequest


def confusable(queries: Sequence[str]) -> Iterator[Confusable]:
    """One query with a small and then the largest ``top_k``, and two queries with one long beginning.

    At most ``PAIRS_MAX``, of one query or more, those that find most first. Said twice a query finds the same, also
    where all words have to match, and was never asked.
    """
    most, least = queries[0], queries[-1]
    twice = f"{most} {most}"[: limits.QUERY_MAX]
    yield Confusable(RetrievalRequest(query=twice, top_k=_SMALL), RetrievalRequest(query=twice, top_k=limits.TOP_K_MAX))
    # What finds least leaves most room for what the other finds.
    beginning = " ".join([least] * (1 + _BEGINNING // len(least)))
    whole = f"{beginning} {most}"
    if most != least and len(whole) <= limits.QUERY_MAX:
        yield Confusable(*(RetrievalRequest(query=query, top_k=limits.TOP_K_MAX) for query in (beginning, whole)))
