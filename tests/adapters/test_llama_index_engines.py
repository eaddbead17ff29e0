"""``LlamaIndexProvider`` over real engines beside LlamaIndex's own store: BM25, Qdrant, and both kinds fused."""

import warnings
from collections.abc import Callable
from typing import Any

import llama_index_subjects as subjects
import pytest
from llama_index.core.llms import MockLLM
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.schema import TextNode
from llama_index.core.vector_stores import MetadataFilter, MetadataFilters
from llama_index.retrievers.bm25 import BM25Retriever
from llama_index.vector_stores.qdrant import QdrantVectorStore
from llama_index_subjects import ask, ids, node, over
from qdrant_client import QdrantClient

from knowledge_adapters.llama_index_provider import LlamaIndexProvider
from knowledge_provider import errors

NOTES = [
    node("alice-1", text="release plan for the spring", metadata={"owner": "alice"}),
    node("alice-2", text="travel plan for the autumn", metadata={"owner": "alice"}),
    node("bob-1", text="refund plan and salaries", metadata={"owner": "bob"}),
]


def notes() -> list[TextNode]:
    return [each.model_copy(deep=True) for each in NOTES]


# BM25


def test_bm25_is_asked_for_no_more_than_it_has() -> None:
    """It raises for more, and by default it gives two."""
    retriever = BM25Retriever(nodes=list(notes()))
    assert retriever.similarity_top_k == 2
    assert set(ids(ask(over(retriever), "plan", top_k=8))) == {"alice-1", "alice-2", "bob-1"}
    assert retriever.similarity_top_k == 2


def test_the_padding_of_bm25_is_no_result() -> None:
    """Clause 3.7: a score of 0 is a node without any word of the query."""
    retriever = BM25Retriever(nodes=list(notes()))
    assert ids(ask(over(retriever), "salaries")) == ["bob-1"]
    assert ask(over(retriever), "zzqx") == []
    assert len(ask(over(retriever, zero_is_no_match=False), "zzqx", top_k=3)) == 3


def test_what_bm25s_own_filters_exclude_comes_back_as_padding_and_is_no_result() -> None:
    """Its filters only set the scores of other nodes to 0, and it gives them all the same."""
    only_alice = MetadataFilters(filters=[MetadataFilter(key="owner", value="alice")])
    retriever = BM25Retriever(nodes=list(notes()), filters=only_alice, similarity_top_k=3)
    assert "bob-1" in {found.node_id for found in retriever.retrieve("salaries")}
    assert ask(over(retriever), "salaries") == []
    assert ids(ask(over(retriever), "salaries plan")) == ["alice-2", "alice-1"]


def test_bm25_scores_are_relevance() -> None:
    """Clause 5.4: as numbers, never increasing."""
    results = ask(subjects.bm25(), "release approvals", top_k=4)
    numbers = [result.score or 0.0 for result in results]
    assert results[0].id == "release-handbook#approvals"
    assert numbers == sorted(numbers, reverse=True)
    assert numbers[-1] > 0


def test_another_kind_of_bm25_in_a_retriever_of_the_users_is_left_alone() -> None:
    """Its scores and its size are not known here."""

    class Own(subjects.Answering):
        similarity_top_k, bm25 = 3, object()

    assert ids(ask(over(Own(subjects.scored("a", 0.0))))) == ["a"]


# Qdrant


@pytest.mark.parametrize("make", [subjects.qdrant, subjects.qdrant_async])
def test_qdrant_answers_as_the_index_in_memory_does(make: Callable[[], LlamaIndexProvider]) -> None:
    """The same vectors and the same cosine, with the synchronous client in a thread or the other on the loop."""
    for query in ("release policy", "报销需要收据"):
        found, wanted = ask(make(), query, top_k=3), ask(subjects.vector_index(), query, top_k=3)
        assert [result.content for result in found] == [result.content for result in wanted]
        assert [result.score for result in found] == pytest.approx([result.score for result in wanted])
        assert [result.source for result in found] == [result.source for result in wanted]


@pytest.mark.parametrize("make", [subjects.qdrant, subjects.qdrant_async])
def test_qdrant_keeps_to_filters(make: Callable[[], LlamaIndexProvider]) -> None:
    """Clause 3.5: with texts, numbers and lists of them."""
    for filters in ({"department": "finance"}, {"revision": 2.0}, {"department": ["finance", "people"], "revision": 2}):
        results = ask(make(), "报销需要收据", filters=filters)
        assert results
        assert {result.metadata["department"] for result in results} == {"finance"}


def test_qdrant_with_one_client_needs_to_be_told_so() -> None:
    """The asynchronous method is there and raises, so only the user knows."""
    retriever = subjects.qdrant()._retriever
    with pytest.raises(errors.KnowledgeFailedError, match="raised ValueError"):
        ask(over(retriever))
    assert ask(over(retriever, in_thread=True))


def test_qdrant_takes_filters_without_a_condition_for_none_and_is_given_one() -> None:
    """So that filters of the user's own hold, once others are added to them."""
    with warnings.catch_warnings():
        # That a local Qdrant has no index of its payloads.
        warnings.simplefilter("ignore", UserWarning)
        store = QdrantVectorStore(collection_name="notes", client=QdrantClient(":memory:"))
        held = [
            each.model_copy(update={"id_": f"00000000-0000-4000-8000-00000000000{n}"}) for n, each in enumerate(notes())
        ]
        index = subjects.index_of(held, store)
    own = MetadataFilters(filters=[MetadataFilter(key="owner", value="alice")], condition=None)
    retriever = index.as_retriever(filters=own, similarity_top_k=3)
    assert len(retriever.retrieve("release plan")) == 3
    provider = over(retriever, in_thread=True, scope=lambda _: {"owner": ["alice", "bob"]})
    assert {result.metadata["owner"] for result in ask(provider, "release plan")} == {"alice"}


# Both


def test_a_fusion_of_an_index_and_bm25_is_asked_in_a_thread() -> None:
    """All of its children are synchronous; its own loop runs in that thread."""
    children: list[Any] = [subjects.handbook_index().as_retriever(), subjects.bm25()._retriever]
    fused = QueryFusionRetriever(children, llm=MockLLM(), num_queries=1, mode="reciprocal_rerank")  # type: ignore[arg-type]
    provider = over(fused, score_kind="relevance")
    results = ask(provider, "release policy", top_k=3)
    assert results[0].id == "release-handbook#approvals"
    assert all(result.score for result in results)
