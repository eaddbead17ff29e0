"""Runs Hypothesis over requests and responses; knows strategies and its settings, no provider and no check."""

from collections.abc import Callable
from typing import TypeVar

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.strategies import SearchStrategy

from knowledge_conformance.strategies import requests, responses
from knowledge_provider import RetrievalRequest

Drawn = TypeVar("Drawn")


def each_request(examine: Callable[[RetrievalRequest], None], *, examples: int, seed: int) -> None:
    """Call ``examine`` with generated requests until it raises, then with smaller ones; raises what it raised last.

    The same ``seed`` gives the same requests. Nothing is stored on disk.
    """
    each_drawn(requests(), examine, examples=examples, seed=seed)


def each_response(examine: Callable[[object], None], *, examples: int, seed: int) -> None:
    """The same with what a hostile provider may answer."""
    each_drawn(responses(), examine, examples=examples, seed=seed)


def each_drawn(strategy: SearchStrategy[Drawn], examine: Callable[[Drawn], None], *, examples: int, seed: int) -> None:
    """The same with what a strategy of the caller's draws."""
    configured = settings(
        max_examples=examples,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
        print_blob=False,
    )
    _seeded(seed)(configured(given(strategy)(_plain_function(examine))))()


def _plain_function(examine: Callable[[Drawn], None]) -> Callable[[Drawn], None]:
    def test(drawn: Drawn) -> None:
        examine(drawn)

    return test


_seeded = seed
