"""Runs Hypothesis over requests; knows strategies and settings of Hypothesis, no provider and no check."""

from collections.abc import Callable

from hypothesis import HealthCheck, Phase, given, seed, settings

from knowledge_conformance.strategies import requests
from knowledge_provider import RetrievalRequest


def each_request(examine: Callable[[RetrievalRequest], None], *, examples: int, seed: int) -> None:
    """Call ``examine`` with generated requests until it raises, then with smaller ones; raises what it raised last.

    The same ``seed`` gives the same requests. Nothing is stored on disk.
    """
    configured = settings(
        max_examples=examples,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
        print_blob=False,
    )
    _seeded(seed)(configured(given(requests())(_plain_function(examine))))()


def _plain_function(examine: Callable[[RetrievalRequest], None]) -> Callable[[RetrievalRequest], None]:
    def test(request: RetrievalRequest) -> None:
        examine(request)

    return test


_seeded = seed
