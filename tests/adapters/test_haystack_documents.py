"""What ``HaystackProvider`` makes of documents and of their scores."""

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import haystack_subjects as subjects
import pytest
from haystack_subjects import SECRET, answering, ask, document, ids, over, scores

# isort: split
from haystack.components.joiners import DocumentJoiner
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever

from knowledge_fakes.vendors.haystack_retriever import ANSWERS, AsyncHandbookRetriever, pipeline_of
from knowledge_provider import Source, errors

APPROVALS = "release-handbook#approvals"


def told(how: str, **options: Any) -> Any:
    return over(AsyncHandbookRetriever(how, api_key=SECRET), **options)


# Documents


def test_a_document_becomes_a_result() -> None:
    """Clauses 5.5 and 5.6: what the meta say about the source is not said twice."""
    first = ask(told("sound"))[0]
    assert first.id == APPROVALS
    assert first.content.startswith("The release policy asks for two approvals")
    assert first.source == Source(uri="https://handbook.example.com/release-handbook", title="Release handbook")
    assert first.metadata == {
        "department": "engineering",
        "language": "en",
        "revision": 7,
        "binding": True,
        "source_id": "release-handbook",
    }
    assert first.score is None


def test_the_place_is_read_from_the_named_meta() -> None:
    """Clause 6.2: Haystack's converters know a path, which is no URI, and ``source_id`` is what a splitter splits."""
    found = document("a", meta={"file_path": "hr/leave.md", "name": "Leave", "source_id": "f" * 64, "url": "x"})
    result = ask(answering(found, uri_key="file_path", title_key="name"))[0]
    assert result.source == Source(id="hr/leave.md", locator="hr/leave.md", title="Leave")
    assert result.metadata == {"source_id": "f" * 64, "url": "x"}


def test_embeddings_are_in_no_result() -> None:
    """Field case 17 (openai/chatgpt-retrieval-plugin#139): neither the document's nor a vector in its meta."""
    [first, *_] = ask(told("vectors"))
    assert first.metadata is not None
    assert first.metadata["note"] == "ok"
    assert not any(isinstance(value, list) for value in first.metadata.values())
    assert len(first.model_dump_json()) < 2_000


def test_numpys_scalars_become_plain() -> None:
    """Clauses 5.4 and 5.7: ``scale_score`` gives a score of NumPy's, and an int of NumPy's may stand in the meta."""
    results = ask(told("numpy", score_kind="relevance"))
    assert {type(result.score) for result in results} == {float}
    assert {type((result.metadata or {})["n"]) for result in results} == {int}
    scaled = InMemoryBM25Retriever(subjects.in_memory_store(), scale_score=True)
    assert {type(result.score) for result in ask(over(scaled, score_kind="relevance"))} == {float}
    json.dumps([result.model_dump() for result in results], allow_nan=False)


def test_a_document_without_text_costs_itself_only() -> None:
    """A blob has no text to show, as has an image or a table that nobody converted."""
    assert ids(ask(told("blob first"))) == ids(ask(told("sound")))[1:]


@pytest.mark.parametrize("how", ["blobs", "no text"])
def test_documents_of_which_none_has_text_are_a_failure(how: str) -> None:
    """Clause 5.10: a store of unconverted files would else look empty for ever."""
    with pytest.raises(errors.KnowledgeInvalidResponseError):
        ask(told(how))


def test_the_same_document_twice_is_one_result_and_one_id_for_several_is_not() -> None:
    """Clause 5.3: joined lists bring the first, careless indexing the second."""
    sound = ids(ask(told("sound")))
    assert ids(ask(told("twice"))) == sound
    shared = ask(told("one id for all"))
    assert len({*ids(shared)}) == len(shared) == len(sound)
    assert shared[0].id == "same"


def test_a_document_that_haystack_named_has_the_same_name_each_time() -> None:
    """Clause 3.6: Haystack's own id is a hash of what is in the document."""
    found = replace(document("a"), id="")
    assert ids(ask(answering(found))) == ids(ask(answering(replace(document("a"), id=""))))


def test_missing_meta_is_none() -> None:
    """A component of anybody's may leave it out; the others stay."""
    lean = SimpleNamespace(id=None, content="lean", meta=None, score=None)
    results = ask(answering(lean, document("a")))
    assert [result.content for result in results] == ["lean", "text of a"]
    assert results[0].source is None
    assert len(results[0].id) == 32


def test_meta_become_plain_and_credentials_go_anywhere() -> None:
    """Clauses 5.6, 5.7 and 6.1."""
    meta = {
        "url": f"https://bucket.example.org/a.pdf?X-Amz-Signature={SECRET}",
        "page_number": 3,
        "_split_overlap": [{"doc_id": "b", "range": (0, 3)}],
        "none": None,
        "download": f"https://user:{SECRET}@files.example.org/a.pdf",
    }
    result = ask(answering(document("a", meta=meta)))[0]
    place = "https://bucket.example.org/a.pdf"
    assert result.source == Source(id=place, locator=place)
    assert result.metadata == {"page_number": 3, "download": "https://files.example.org/a.pdf"}
    assert SECRET not in result.model_dump_json()


def test_the_documents_are_not_changed() -> None:
    """They may be the store's own; Haystack warns of every change, which is an error here."""
    given = document("a", 0.5, meta={"url": "a.md", "nested": {"a": [1]}}, embedding=[0.5])
    before = given.to_dict()
    ask(answering(given, score_kind="distance"))
    assert given.to_dict() == before


# Scores


def test_there_are_no_scores_where_nobody_says_what_they_mean() -> None:
    """BM25's, a cosine's and a distance are all one field, and nothing in a number tells which it is."""
    provider = told("sound")
    assert provider.describe().capabilities["scores"] is False
    assert {result.score for result in ask(provider)} == {None}


@pytest.mark.parametrize("kind", ["similarity", "relevance"])
def test_scores_pass_in_the_vendors_order(kind: Any) -> None:
    """Clause 5.4: none is clipped, or dropped for being negative or above one."""
    found = [document("a", 1.0000002), document("b", 0), document("c", -0.17)]
    provider = answering(*found, score_kind=kind)
    assert scores(ask(provider)) == [("a", 1.0000002), ("b", 0), ("c", -0.17)]
    assert provider.describe().capabilities["scores"] is True


def test_a_distance_is_negated_so_that_higher_is_better() -> None:
    """Clause 5.4; a distance of nothing stays 0, as JSON shows it."""
    results = ask(answering(document("a", 0.0), document("b", 0.25), document("c", 3), score_kind="distance"))
    assert [result.score for result in results] == [0.0, -0.25, -3]
    assert json.dumps(results[0].score) == "0.0"


@pytest.mark.parametrize(("first", "each"), [("first without score", "no score"), ("first nan", "nan")])
def test_where_scores_are_claimed_a_document_without_one_goes(first: str, each: str) -> None:
    """Clause 5.4, field case 13 (deepset-ai/haystack#11491): joined lists have some. All such: a failure."""
    sound = ids(ask(told("sound")))
    assert ids(ask(told(first, score_kind="relevance"))) == sound[1:]
    with pytest.raises(errors.KnowledgeInvalidResponseError):
        ask(told(each, score_kind="relevance"))
    for how in (first, each):
        results = ask(told(how))
        assert ids(results) == sound
        assert {result.score for result in results} == {None}


def test_what_scores_zero_can_be_left_out() -> None:
    """Clause 3.7: a vector without a common dimension is near nothing, and fills the answer all the same."""
    assert len(ask(told("zero"))) > 1
    assert ask(told("zero", zero_is_no_match=True)) == []
    assert scores(ask(answering(document("a", 0), document("b", 0.1), zero_is_no_match=True))) == [("b", None)]


def test_joined_lists_keep_the_text_whatever_their_order() -> None:
    """Field case 13: both retrievers are asked, and a stub without score costs no other document anything."""
    whole, stub = document("d1", 0.9, content="full text"), document("d2")
    for first, second in ((whole, stub), (stub, whole)):
        pipeline = pipeline_of(AsyncHandbookRetriever(lambda *_, it=first: {"documents": [it]}))
        pipeline.add_component("second", AsyncHandbookRetriever(lambda *_, it=second: {"documents": [it]}))
        pipeline.add_component("joiner", DocumentJoiner(join_mode="concatenate"))
        pipeline.connect("retriever", "joiner")
        pipeline.connect("second", "joiner")
        options: dict[str, Any] = {"query_to": ["retriever.query", "second.query"]}
        results = ask(over(pipeline, documents_from="joiner.documents", **options))
        assert {result.id: result.content for result in results} == {"d1": "full text", "d2": "text of d2"}
        scored = ask(over(pipeline, documents_from="joiner.documents", score_kind="relevance", **options))
        assert ids(scored) == ["d1"]


# Answers


@pytest.mark.parametrize(
    "how", ["none", "no outputs", "no documents", "another output", "a list", "dictionaries", "answers", "text"]
)
@pytest.mark.parametrize("piped", [False, True])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_what_is_no_list_of_documents_is_a_clear_failure(how: str, piped: bool) -> None:
    """Clause 5.10: alone or in a pipeline, and nothing of the answer in the message."""
    retriever = AsyncHandbookRetriever(how)
    provider = over(pipeline_of(retriever), **subjects.IN_PIPELINE) if piped else over(retriever)
    with pytest.raises(errors.KnowledgeInvalidResponseError, match=r"no list of documents$|^wanted a list of records"):
        ask(provider)


def test_nothing_found_is_an_empty_answer() -> None:
    """Clause 3.7: and no failure."""
    assert ask(told("nothing")) == []


def test_every_way_to_answer_is_an_answer_or_a_failure_of_the_contracts() -> None:
    """And what the retriever repeats of its key is in neither."""
    for how in ANSWERS.keys() - {"held"}:
        try:
            came: Any = [result.model_dump_json() for result in ask(told(how, score_kind="similarity"))]
        except errors.KnowledgeError as error:
            came = str(error)
        assert SECRET not in str(came), how
