"""What ``LangChainProvider`` makes of documents and of their scores."""

import json
import warnings
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import langchain_subjects as subjects
import numpy
import pytest
from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_subjects import SECRET, Answering, ask, document, ids, over, scored

from knowledge_provider import Source, errors

# Scores


def test_numbers_outside_zero_and_one_pass_in_the_vendors_order() -> None:
    """Field case 3 (langchain-ai/langchain#10864): no score is clipped, or dropped for being negative or above one."""
    provider = scored((document("a"), 0.31), (document("b"), -0.17), (document("c"), 1.0000002))
    results = ask(provider)
    assert [(result.id, result.score) for result in results] == [("a", 0.31), ("b", -0.17), ("c", 1.0000002)]
    json.dumps([result.model_dump() for result in results], allow_nan=False)


class Measured(InMemoryVectorStore):
    """A store whose relevance scores may fall outside 0 to 1, as those of several vendors do."""

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        return lambda similarity: similarity - 0.3


def test_relevance_is_langchains_own_number() -> None:
    """LangChain warns about what is outside 0 to 1, and gives it all the same."""
    store = Measured(subjects.BagOfWords())
    store.add_documents(subjects.documents())
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        similar, relevant = (ask(over(store, score_kind=kind)) for kind in ("similarity", "relevance"))
    assert ids(similar) == ids(relevant)
    assert [result.score for result in relevant] == pytest.approx([(result.score or 0.0) - 0.3 for result in similar])
    assert any("between 0 and 1" in str(warning.message) for warning in heard)


def test_a_distance_is_negated_so_that_higher_is_better() -> None:
    """Clause 5.4; a distance of nothing stays 0."""
    results = ask(scored((document("a"), 0.0), (document("b"), 0.25), (document("c"), 3), kind="distance"))
    assert [result.score for result in results] == [0.0, -0.25, -3.0]
    assert json.dumps(results[0].score) == "0.0"


def test_a_number_of_numpys_becomes_plain_and_one_that_is_none_costs_its_document_only() -> None:
    """Clauses 5.4 and 5.7."""
    pairs = [
        (document(f"{n}"), number) for n, number in enumerate([numpy.float32(0.5), float("nan"), None, "0.9", 0.25])
    ]
    results = ask(scored(*pairs))
    assert [(result.id, result.score) for result in results] == [("0", 0.5), ("4", 0.25)]
    assert {type(result.score) for result in results} == {float}


@pytest.mark.parametrize("kind", ["similarity", "distance", "relevance"])
def test_scores_are_claimed_over_a_store_alone(kind: Any) -> None:
    """Clause 1.9."""
    assert over(subjects.in_memory_store(), score_kind=kind).describe().capabilities["scores"] is True


@pytest.mark.parametrize(
    ("target", "options"),
    [
        (subjects.in_memory_store(), {}),
        (subjects.in_memory_store().as_retriever(), {"score_kind": "similarity"}),
        (subjects.in_memory_store(), {"score_kind": "cosine"}),
        (object(), {}),
        (Answering([]), {"in_thread": True}),
        (SimpleNamespace(invoke=len), {"in_thread": False}),
    ],
)
def test_neither_what_a_number_means_nor_how_to_ask_is_guessed(target: object, options: dict[str, Any]) -> None:
    """A target that cannot be asked so is refused when it is composed, not at the first turn."""
    with pytest.raises(TypeError, match="wanted: for a vector store"):
        over(target, **options)


# Documents


def test_a_document_without_text_costs_itself_only() -> None:
    """Field case 1 (langchain-ai/langchain#14515): a record without the expected text key leaves the others alone."""
    records = [
        SimpleNamespace(page_content="Refunds take 14 days.", metadata={"source": "policy.md"}),
        SimpleNamespace(page_content=None, metadata={"source": "broken.md"}),
        SimpleNamespace(page_content="", metadata={}),
        SimpleNamespace(page_content=["Refunds"], metadata=None),
        SimpleNamespace(page_content="No metadata."),
    ]
    results = ask(over(Answering(records)))
    assert [result.content for result in results] == ["Refunds take 14 days.", "No metadata."]
    assert results[0].source == Source(id="policy.md", locator="policy.md")


def test_documents_of_which_none_has_text_are_a_failure() -> None:
    """Clause 5.10: a store that is read by the wrong text key would else look empty for ever."""
    with pytest.raises(errors.KnowledgeInvalidResponseError):
        ask(over(Answering([SimpleNamespace(page_content=None, metadata={})] * 3)))


@pytest.mark.parametrize("answer", [
    [{"page_content": "text"}], ["text"], [None], [[document("a")]],
])  # fmt: skip
def test_what_is_no_document_is_a_clear_failure(answer: object) -> None:
    """LangChain passes anything through; the type is named, and nothing of the value."""
    with pytest.raises(errors.KnowledgeInvalidResponseError, match=r"^LangChain gave \w+, not a document$"):
        ask(over(Answering(answer)))


@pytest.mark.parametrize("answer", [None, "No documents found", "", {"documents": []}, {}, 3, document("alone")])
def test_what_is_no_list_is_a_clear_failure(answer: object) -> None:
    """Clause 5.10: an empty text or object does not look like a search that found nothing."""
    with pytest.raises(errors.KnowledgeInvalidResponseError, match=r"^wanted a list of records from LangChain, and "):
        ask(over(Answering(answer)))


def test_a_pair_where_documents_are_wanted_and_the_other_way_round() -> None:
    """A mistaken target is found out at the first answer."""
    with pytest.raises(errors.KnowledgeInvalidResponseError):
        ask(over(Answering([(document("a"), 0.5)])))
    with pytest.raises(errors.KnowledgeInvalidResponseError):
        ask(scored(document("a"), document("b")))


def test_an_id_is_the_documents_or_qdrants_or_made() -> None:
    """``Document.id`` first, then ``_id``, which leaves the metadata, then one of place and content."""
    found = [
        document("own", metadata={"_id": "other"}),
        Document(page_content="from qdrant", metadata={"_id": "point-1", "_collection_name": "c", "lang": "en"}),
        Document(page_content="nameless", metadata={"source": "a.md"}),
        Document(page_content="nameless", metadata={"source": "b.md"}),
        Document(page_content="nameless", metadata={"source": "b.md"}),
    ]
    first, again = (ask(over(Answering(found))) for _ in range(2))
    assert ids(first) == ids(again)
    assert ids(first)[:2] == ["own", "point-1"]
    assert len(set(ids(first))) == len(first) == 4
    assert first[1].metadata == {"_collection_name": "c", "lang": "en"}


def test_chunks_that_share_an_id_get_ids_of_their_own() -> None:
    """Clause 5.3: the host would drop all but the first."""
    chunks = [Document(id="page", page_content=f"chunk {n}") for n in range(3)]
    results = ask(over(Answering(chunks)))
    assert [result.content for result in results] == ["chunk 0", "chunk 1", "chunk 2"]
    assert len(set(ids(results))) == 3


def test_metadata_become_plain_and_the_source_is_read_from_the_named_keys() -> None:
    """Clauses 5.6, 5.7 and 6.1: NumPy's scalars are converted, what is nested goes, and a credential goes anywhere."""
    metadata = {
        "url": f"https://bucket.example.org/a.pdf?X-Amz-Signature={SECRET}",
        "name": "Manual",
        "page": numpy.int64(3),
        "weight": numpy.float32(0.5),
        "vector": numpy.zeros(4),
        "links": [{"text": "Git"}],
        "none": None,
        "download": f"https://user:{SECRET}@files.example.org/a.pdf",
    }
    result = ask(over(Answering([document("a", metadata=metadata)]), uri_key="url", title_key="name"))[0]
    place = "https://bucket.example.org/a.pdf"
    assert result.source == Source(id=place, locator=place, title="Manual")
    assert result.metadata == {"page": 3, "weight": 0.5, "download": "https://files.example.org/a.pdf"}
    assert SECRET not in result.model_dump_json()


def test_the_documents_are_not_changed() -> None:
    """They may be the store's own."""
    metadata = {"source": "a.md", "_id": "x", "nested": {"a": [1]}}
    given = document("a", metadata=metadata)
    before = given.model_copy(deep=True)
    ask(over(Answering([given])))
    assert given == before
