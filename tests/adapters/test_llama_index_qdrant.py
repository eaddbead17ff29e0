"""``LlamaIndexProvider`` over a local Qdrant; skipped without ``llama-index-vector-stores-qdrant``."""

import warnings
from collections.abc import Callable
from typing import Any

import llama_index_subjects as subjects
import pytest
from llama_index.core.vector_stores import MetadataFilter, MetadataFilters
from llama_index_subjects import ask, node, over

from knowledge_adapters.llama_index_provider import LlamaIndexProvider
from knowledge_provider import errors

qdrant = pytest.importorskip("llama_index.vector_stores.qdrant", reason="needs llama-index-vector-stores-qdrant")
client = pytest.importorskip("qdrant_client")

both = pytest.mark.parametrize("make", [subjects.qdrant, subjects.qdrant_async])


@both
def test_it_answers_as_the_index_in_memory_does(make: Callable[[], LlamaIndexProvider]) -> None:
    """The same vectors and the same cosine, with the synchronous client in a thread or the other on the loop."""
    for query in ("release policy", "报销需要收据"):
        found, wanted = ask(make(), query, top_k=3), ask(subjects.vector_index(), query, top_k=3)
        assert [result.content for result in found] == [result.content for result in wanted]
        assert [result.score for result in found] == pytest.approx([result.score for result in wanted])
        assert [result.source for result in found] == [result.source for result in wanted]


@both
def test_a_query_that_has_no_word_in_common_finds_nothing(make: Callable[[], LlamaIndexProvider]) -> None:
    """Clauses 3.2 and 3.7: its cosine of a vector of zeros is 0, not NaN."""
    for query in ("🙂", "';--", "zzqx"):
        assert ask(make(), query) == []


@both
def test_it_keeps_to_filters(make: Callable[[], LlamaIndexProvider]) -> None:
    """Clause 3.5: with texts, numbers and lists of them."""
    for filters in ({"department": "finance"}, {"revision": 2.0}, {"department": ["finance", "people"], "revision": 2}):
        results = ask(make(), "报销需要收据", filters=filters)
        assert results
        assert {result.metadata["department"] for result in results} == {"finance"}


def test_with_one_client_it_needs_to_be_told_so() -> None:
    """The asynchronous method is there and raises, so only the user knows."""
    retriever = subjects.qdrant()._retriever
    with pytest.raises(errors.KnowledgeFailedError, match="raised ValueError"):
        ask(over(retriever))
    assert ask(over(retriever, in_thread=True))


def test_filters_without_a_condition_are_none_to_it_and_get_one() -> None:
    """So that filters of the user's own hold, once others are added to them."""
    names = [f"00000000-0000-4000-8000-00000000000{number}" for number in range(3)]
    nodes = [node(name, metadata={"owner": who}) for name, who in zip(names, ("alice", "alice", "bob"), strict=True)]
    with warnings.catch_warnings():
        # That a local Qdrant has no index of its payloads.
        warnings.simplefilter("ignore", UserWarning)
        index = subjects.index_of(nodes, qdrant.QdrantVectorStore("notes", client=client.QdrantClient(":memory:")))
    own = MetadataFilters(filters=[MetadataFilter(key="owner", value="alice")], condition=None)
    retriever: Any = index.as_retriever(filters=own, similarity_top_k=3)
    assert len(retriever.retrieve("release plan")) == 3
    provider = over(retriever, in_thread=True, scope=lambda _: {"owner": ["alice", "bob"]})
    assert {result.metadata["owner"] for result in ask(provider, "release plan")} == {"alice"}
