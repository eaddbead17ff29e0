"""``LlamaIndexProvider`` over BM25, alone and fused with an index; skipped without ``llama-index-retrievers-bm25``."""

import asyncio
from typing import Any

import llama_index_subjects as subjects
import pytest
from llama_index.core.llms import MockLLM
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.retrievers.fusion_retriever import FUSION_MODES
from llama_index.core.schema import TextNode
from llama_index.core.vector_stores import MetadataFilter, MetadataFilters
from llama_index_subjects import ask, context, ids, node, over

from knowledge_provider import RetrievalRequest

bm25 = pytest.importorskip("llama_index.retrievers.bm25", reason="needs llama-index-retrievers-bm25")


def notes() -> list[TextNode]:
    return [
        node("alice-1", text="release plan for the spring", metadata={"owner": "alice"}),
        node("alice-2", text="travel plan for the autumn", metadata={"owner": "alice"}),
        node("bob-1", text="refund plan and salaries", metadata={"owner": "bob"}),
    ]


def retriever_of(**options: Any) -> Any:
    return bm25.BM25Retriever(nodes=notes(), **options)


def test_it_is_asked_for_no_more_than_it_has() -> None:
    """It raises for more, and by default it gives two."""
    retriever = retriever_of()
    assert retriever.similarity_top_k == 2
    assert set(ids(ask(over(retriever), "plan", top_k=8))) == {"alice-1", "alice-2", "bob-1"}
    assert retriever.similarity_top_k == 2


def test_its_padding_is_no_result() -> None:
    """Clause 3.7: a score of 0 is a node without any word of the query."""
    retriever = retriever_of()
    assert ids(ask(over(retriever), "salaries")) == ["bob-1"]
    assert ask(over(retriever), "zzqx") == []
    assert len(ask(over(retriever, zero_is_no_match=False), "zzqx", top_k=3)) == 3


def test_what_its_own_filters_exclude_comes_back_as_padding_and_is_no_result() -> None:
    """Its filters only set the scores of other nodes to 0, and it gives them all the same."""
    only_alice = MetadataFilters(filters=[MetadataFilter(key="owner", value="alice")])
    retriever = retriever_of(filters=only_alice, similarity_top_k=3)
    assert "bob-1" in {found.node_id for found in retriever.retrieve("salaries")}
    assert ask(over(retriever), "salaries") == []
    assert set(ids(ask(over(retriever), "salaries plan"))) == {"alice-1", "alice-2"}


def test_its_scores_are_relevance() -> None:
    """Clause 5.4: as numbers, never increasing."""
    results = ask(subjects.bm25(), "release approvals", top_k=4)
    numbers = [result.score or 0.0 for result in results]
    assert results[0].id == "release-handbook#approvals"
    assert numbers == sorted(numbers, reverse=True)
    assert numbers[-1] > 0


def test_calls_at_once_do_not_mix() -> None:
    """Clause 7.5: it is synchronous, so that 32 threads share the one index and its stemmer."""
    provider = subjects.bm25()
    asked = [
        (query, top_k) for query in ("release policy", "sick leave", "报销", "lost laptop") for top_k in range(1, 9)
    ]

    async def at_once() -> list[list[str]]:
        calls = [provider.retrieve(RetrievalRequest(query=query, top_k=top_k), context()) for query, top_k in asked]
        return [ids(results) for results in await asyncio.gather(*calls)]

    assert asyncio.run(at_once()) == [ids(ask(provider, query, top_k=top_k)) for query, top_k in asked]


def test_another_kind_of_bm25_in_a_retriever_of_the_users_is_left_alone() -> None:
    """Its scores and its size are not known here."""

    class Own(subjects.Answering):
        similarity_top_k, bm25 = 3, object()

    assert ids(ask(over(Own(subjects.scored("a", 0.0))))) == ["a"]


def test_a_fusion_with_an_index_is_asked_in_a_thread() -> None:
    """All of its children are synchronous; its own loop runs in that thread."""
    children = [subjects.handbook_index().as_retriever(), subjects.bm25()._retriever]
    mode = FUSION_MODES.RECIPROCAL_RANK
    fused = QueryFusionRetriever(children, llm=MockLLM(), num_queries=1, mode=mode)
    results = ask(over(fused, score_kind="relevance"), "release policy", top_k=3)
    assert results[0].id == "release-handbook#approvals"
    assert all(result.score for result in results)
