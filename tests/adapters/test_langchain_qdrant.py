"""``LangChainProvider`` over a local Qdrant; skipped without ``langchain-qdrant``."""

import sys
from pathlib import Path
from typing import Any

import langchain_engines as engines
import langchain_subjects as subjects
import pytest
from langchain_core.documents import Document
from langchain_subjects import ask, ids, over

from knowledge_adapters.langchain_provider import LangChainProvider
from knowledge_conformance.results import CheckOutcome
from knowledge_conformance.running import Run
from knowledge_conformance.settings import Settings
from knowledge_provider import errors

pytest.importorskip("langchain_qdrant", reason="needs langchain-qdrant")
models = pytest.importorskip("qdrant_client.models", reason="needs langchain-qdrant")


def chinese_only(key: str = "metadata.language") -> Any:
    return models.Filter(must=[models.FieldCondition(key=key, match=models.MatchValue(value="zh"))])


def with_scope(**arguments: Any) -> LangChainProvider:
    return over(engines.qdrant_store(), score_kind="similarity", scope=lambda _: arguments)


def test_the_adapter_is_conformant(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every check passes or does not concern the adapter; it takes no advice either."""
    monkeypatch.setattr(sys, "path", [str(Path(__file__).parent), *sys.path])
    report = Run("langchain_engines:qdrant", Settings()).all()
    assert report.conformant, report.sentence
    assert {check.outcome for check in report.checks} == {CheckOutcome.PASSED, CheckOutcome.INAPPLICABLE}


@pytest.mark.parametrize("query", ["release policy", "报销需要收据"])
def test_it_answers_as_the_store_in_memory_does(query: str) -> None:
    """The same vectors and the same cosine, so the same scores, of the same passages where they tell them apart."""
    found, wanted = ask(engines.qdrant(), query, top_k=8), ask(subjects.vector_store(), query, top_k=8)
    assert [result.score for result in found] == pytest.approx([result.score for result in wanted])
    for results in (found, wanted):
        assert sorted(results, key=lambda result: -(result.score or 0)) == results
    # What shares no word with the query has the score 0, and no order.
    assert {result.content for result in found if result.score} == {result.content for result in wanted if result.score}


@pytest.mark.parametrize(
    ("distance", "kind"),
    [("Cosine", "similarity"), ("Dot", "similarity"), ("Euclid", "distance"), ("Manhattan", "distance")],
)
def test_the_number_means_what_the_collection_measures(distance: str, kind: Any) -> None:
    """Clause 5.4: by the user's word higher is better, and the other word is seen in rising scores."""
    [wanted] = [document for document in subjects.documents() if document.id == "refunds"]
    store = engines.qdrant_store(distance)
    scores = [result.score or 0 for result in ask(over(store, score_kind=kind), wanted.page_content)]
    assert scores == sorted(scores, reverse=True)
    assert ids(ask(over(store, score_kind=kind), wanted.page_content))[0] == engines.point_id(wanted)
    other: Any = "distance" if kind == "similarity" else "similarity"
    turned = [result.score or 0 for result in ask(over(store, score_kind=other), wanted.page_content)]
    assert turned != sorted(turned, reverse=True)


@pytest.mark.parametrize("distance", ["Cosine", "Dot"])
def test_a_query_without_a_vector_finds_nothing(distance: str) -> None:
    """Clauses 3.2 and 3.7: its score is 0 with every passage."""
    store = engines.qdrant_store(distance)
    assert {score for _, score in store.similarity_search_with_score("🙂")} == {0}
    assert ask(over(store, score_kind="similarity"), "🙂") == []


def test_passages_that_share_nothing_are_left_out_by_qdrants_threshold() -> None:
    """Clause 3.7: it is an argument of the search as the others are."""
    assert 0 in [result.score for result in ask(engines.qdrant(), "receipt")]
    assert len(ask(with_scope(score_threshold=1e-9), "receipt")) == 1


def test_a_filter_of_scope_selects() -> None:
    """Clause 4.2: by a key under ``metadata``, where LangChain puts what a document has."""
    results = ask(with_scope(filter=chinese_only()), "release policy", top_k=8)
    assert len(results) == 3
    assert {result.metadata["language"] for result in results} == {"zh"}
    assert ask(with_scope(filter=chinese_only("language")), "release policy") == []


@pytest.mark.parametrize("arguments", [{"filters": chinese_only()}, {"filter": {"language": "zh"}}, {"filter": "zh"}])
def test_arguments_that_qdrant_does_not_know_fail(arguments: dict[str, Any]) -> None:
    """Clause 4.3: they do not search everything."""
    with pytest.raises(errors.KnowledgeFailedError):
        ask(with_scope(**arguments))


def test_filters_of_the_request_are_refused() -> None:
    """Clause 3.5: not claimed, and not ignored."""
    assert engines.qdrant().describe().capabilities["filters"] is False
    with pytest.raises(errors.KnowledgeFiltersUnsupportedError):
        ask(engines.qdrant(), filters={"language": "zh"})


def test_the_ids_are_the_points_and_stay_the_same() -> None:
    """Clause 5.3: LangChain leaves ``Document.id`` empty, and ``_id`` does not stay in the metadata."""
    document = engines.qdrant_store().similarity_search("receipt", k=1)[0]
    assert document.id is None
    first, again = (ask(engines.qdrant(), "receipt", top_k=1) for _ in range(2))
    assert ids(first) == ids(again) == [document.metadata["_id"]]
    assert first[0].metadata == {"language": "en", "_collection_name": engines.TABLE}


def test_numbers_are_ids_too() -> None:
    """Clause 5.1: as texts."""
    store = engines.qdrant_store(held=[])
    store.add_documents([Document("a receipt"), Document("another receipt")], ids=[0, 7])
    assert sorted(ids(ask(over(store, score_kind="similarity"), "receipt"))) == ["0", "7"]


def test_metadata_named_like_qdrants_are_qdrants() -> None:
    """A document cannot give itself the id of another."""
    store = engines.qdrant_store(held=[Document("a receipt", id="a", metadata={"_id": "b", "_collection_name": "c"})])
    [result] = ask(over(store, score_kind="similarity"), "receipt")
    assert result.id == engines.point_id(Document("", id="a"))
    assert result.metadata == {"_collection_name": engines.TABLE}


def test_a_retriever_of_it_has_no_scores_and_the_same_order() -> None:
    """It is told the number of documents, and runs in a thread as the store does."""
    provider = over(engines.qdrant_store().as_retriever())
    results = ask(provider, "报销需要收据", top_k=1)
    assert ids(results) == ids(ask(engines.qdrant(), "报销需要收据", top_k=1))
    assert results[0].score is None


def test_an_empty_collection_has_nothing_and_a_small_one_all() -> None:
    """Clause 3.3: ``top_k`` is no promise."""
    assert ask(over(engines.qdrant_store(held=[]), score_kind="similarity")) == []
    small = engines.qdrant_store(held=subjects.documents()[:2])
    assert len(ask(over(small, score_kind="similarity"), top_k=8)) == 2


def test_a_collection_that_is_deleted_meanwhile_is_a_failure_and_its_successor_answers() -> None:
    """Clause 5.10: what is gone does not look empty."""
    store = engines.qdrant_store()
    provider = over(store, score_kind="similarity")
    assert ask(provider)
    store.client.delete_collection(engines.TABLE)
    with pytest.raises(errors.KnowledgeFailedError, match="raised ValueError"):
        ask(provider)
    store.client.create_collection(
        engines.TABLE, vectors_config=models.VectorParams(size=engines.WIDTH, distance=models.Distance.COSINE)
    )
    assert ask(provider) == []


def test_closing_leaves_the_client_open() -> None:
    """It is the caller's; once the caller closes it, a search fails."""
    store = engines.qdrant_store()
    provider = over(store, score_kind="similarity")
    provider.close()
    assert store.similarity_search("receipt")
    store.client.close()
    with pytest.raises(errors.KnowledgeFailedError, match="raised RuntimeError"):
        ask(over(store, score_kind="similarity"))
