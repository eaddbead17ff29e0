"""Hostile answers: whatever a retriever gives, the adapter gives conforming results or raises a ``KnowledgeError``."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st
from llama_index_subjects import Answering, context, duck, over

from knowledge_conformance.catalogue import CHECKS
from knowledge_conformance.exchange import Exchange
from knowledge_conformance.payloads.llama_index_nodes import PLANTED, answers, scored_nodes
from knowledge_provider import ERROR_CODES, KnowledgeError, RetrievalRequest, RetrievalResult

# All rules for a single answer, but for KP-509: scores come as the retriever has them.
_JUDGES = [check for check in CHECKS if check.judge is not None and check.id != "KP-509"]
_QUICK = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    """One event loop for all examples: a new one for each would take longer than the example."""
    with asyncio.Runner() as running:
        yield running


def retriever_of(answer: Any, *, real: bool) -> Any:
    if not real:
        return duck(answer)
    retriever = Answering()
    retriever.answer = answer
    return retriever


async def came_of(retriever: Any, request: RetrievalRequest, **options: Any) -> list[RetrievalResult] | KnowledgeError:
    # Everything in an example answers at once, so the deadline is for what hangs.
    try:
        return await asyncio.wait_for(over(retriever, **options).retrieve(request, context()), 20)
    except KnowledgeError as error:
        return error


@given(
    answer=answers(),
    real=st.booleans(),
    top_k=st.integers(1, 8),
    kind=st.sampled_from([None, "similarity", "distance"]),
    zero=st.booleans(),
    node_ids=st.booleans(),
)
@settings(_QUICK, max_examples=200)
def test_results_conform_or_a_knowledge_error_is_raised(
    runner: asyncio.Runner, answer: Any, real: bool, top_k: int, kind: Any, zero: bool, node_ids: bool
) -> None:
    """And no planted secret is in either: from a retriever of LlamaIndex's class, and past it."""
    request = RetrievalRequest(query="release", top_k=top_k)
    options = {"score_kind": kind, "zero_is_no_match": zero, "node_ids": node_ids}
    came = runner.run(came_of(retriever_of(answer, real=real), request, **options))
    if isinstance(came, KnowledgeError):
        assert came.code in ERROR_CODES
        assert PLANTED not in f"{came!s} {came!r}"
        return
    assert PLANTED not in repr(came)
    assert len(came) <= top_k
    exchange = Exchange(request, context(), came)
    for check in _JUDGES:
        check.judge(exchange)  # type: ignore[misc] # only those that have one


def test_the_payloads_reach_every_kind_of_end(runner: asyncio.Runner) -> None:
    """A fuzz whose every payload fails in the same way would show nothing."""
    ends: Counter[str] = Counter()

    @settings(_QUICK, max_examples=200, database=None, derandomize=True)
    @given(answers(), st.booleans())
    def count(answer: Any, real: bool) -> None:
        came = runner.run(came_of(retriever_of(answer, real=real), RetrievalRequest(query="release")))
        ends[came.code if isinstance(came, KnowledgeError) else "results" if came else "nothing"] += 1

    count()
    assert ends["results"] > 40
    assert set(ends) >= {"nothing", "knowledge_invalid_response"}


def test_a_failure_shrinks_to_the_smallest_node() -> None:
    """So that what is reported is what matters."""
    quiet = settings(_QUICK, max_examples=500, database=None)
    found = find(answers(), _has_a_node, settings=quiet)
    assert len(found) == 1
    assert (found[0].node.text, found[0].node.metadata) == ("passage 0", {})


def _has_a_node(answer: object) -> bool:
    return isinstance(answer, list) and any(hasattr(each, "node") for each in answer)


@pytest.mark.parametrize("planted", [f"'password': '{PLANTED}'", f"hash='{PLANTED}'", f"user:{PLANTED}@"])
def test_a_secret_is_planted_where_it_must_not_come_from(planted: str) -> None:
    """In metadata that the model is not to see, in a node's relations, in links: seeing it means a leak."""
    quick = settings(_QUICK, max_examples=2000, database=None, phases=[Phase.generate])
    assert planted in repr(find(scored_nodes(), lambda scored: planted in repr(scored), settings=quick))
