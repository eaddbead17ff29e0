"""What ``LlamaIndexProvider`` makes of nodes and of their scores."""

import json
from types import SimpleNamespace
from typing import Any, ClassVar
from uuid import UUID

import numpy
import pytest
from llama_index.core.schema import Document, ImageNode, IndexNode, NodeRelationship, NodeWithScore, RelatedNodeInfo
from llama_index_subjects import Answering, ask, duck, ids, node, over, scored, scores

from knowledge_fakes.vendors.llama_index_retriever import AsyncHandbookRetriever
from knowledge_provider import Source, errors


def answering(*nodes: Any, **options: Any) -> Any:
    return over(Answering(*nodes), **options)


# Text and metadata


class Glued:
    """A duck whose text comes with its metadata unless told otherwise, as a node's did in LlamaIndex until 0.10."""

    node_id, ref_doc_id = "d", None
    metadata: ClassVar[dict[str, Any]] = {"file_path": "/srv/hr/private.txt", "api_key": "sk-TEST-0000", "page": 3}
    excluded_llm_metadata_keys = ("api_key",)

    def get_content(self, metadata_mode: str = "all") -> str:
        return "Holiday is 25 days." if metadata_mode == "none" else f"{self.metadata}\n\nHoliday is 25 days."


@pytest.mark.parametrize("kind", ["node", "duck"])
def test_the_text_is_the_texts_alone_and_excluded_metadata_stay_out(kind: str) -> None:
    """Field case 11 (run-llama/llama_index#11619): no path or key is glued to what the model hears."""
    real = node("d", text="Holiday is 25 days.", metadata=Glued.metadata, excluded_llm_metadata_keys=["api_key"])
    provider = answering(scored(real)) if kind == "node" else over(duck([SimpleNamespace(node=Glued(), score=None)]))
    [result] = ask(provider)
    assert result.content == "Holiday is 25 days."
    assert result.metadata == {"file_path": "/srv/hr/private.txt", "page": 3}
    assert "sk-TEST-0000" not in result.model_dump_json()


def test_what_is_excluded_from_the_embedding_alone_is_shown() -> None:
    """It says what a text is found by, not who may see it."""
    [result] = ask(answering(scored(node("a", metadata={"page": 3}, excluded_embed_metadata_keys=["page"]))))
    assert result.metadata == {"page": 3}


def test_the_scripted_retriever_keeps_its_own_from_the_model() -> None:
    """The same over the fake: whatever the handbook's passages are given besides."""
    for result in ask(over(AsyncHandbookRetriever("kept from the model"))):
        assert set(result.metadata) <= {"department", "language", "revision", "binding"}
        assert "sk-TEST-0000" not in result.model_dump_json()


def test_metadata_are_plain_and_no_vector_travels() -> None:
    """Clause 5.7: NumPy's scalars become numbers, and vectors, nested values and None go."""
    metadata = {
        "pages": numpy.int64(3),
        "share": numpy.float32(0.5),
        "vector": [0.02] * 1536,
        "nested": {"a": 1},
        "none": None,
        "id": UUID(int=1),
        "link": "https://user:hunter2@example.org/a",
    }
    found = node("a", metadata=metadata, embedding=[0.01] * 1536)
    [result] = ask(answering(scored(found)))
    assert result.metadata == {"pages": 3, "share": 0.5, "id": str(UUID(int=1)), "link": "https://example.org/a"}
    assert {type(value) for value in result.metadata.values()} == {int, float, str}
    assert len(result.model_dump_json()) < 2000


# Where it is from


@pytest.mark.parametrize(("metadata", "document", "source"), [
    ({}, "releases", Source(id="releases")),
    ({}, None, None),
    ({"title": "Releases"}, "releases", Source(id="releases", title="Releases")),
    ({"source": "https://example.com/r"}, "releases", Source(id="releases", uri="https://example.com/r")),
    ({"source": "https://example.com/r"}, None, Source(uri="https://example.com/r")),
    ({"source": "hr/r.md"}, "releases", Source(id="releases", locator="hr/r.md")),
    ({"source": "hr/r.md"}, None, Source(id="hr/r.md", locator="hr/r.md")),
    ({}, "https://user:hunter2@example.com/r", Source(id="https://example.com/r")),
])  # fmt: skip
def test_the_document_becomes_the_sources_id(metadata: Any, document: str | None, source: Source | None) -> None:
    """Clause 6.2: ``ref_doc_id`` names the document, and the metadata its place and title."""
    [result] = ask(answering(scored(node("a", document, metadata=metadata))))
    assert result.source == source
    assert result.metadata == {}


def test_other_keys_may_name_place_and_title() -> None:
    """As ``SimpleDirectoryReader`` writes them; it excludes the name, which is named here all the same."""
    metadata = {"file_path": "/srv/docs/r.md", "file_name": "r.md", "file_size": 12}
    found = node("a", "doc", metadata=metadata, excluded_llm_metadata_keys=["file_name", "file_size"])
    [result] = ask(answering(scored(found), uri_key="file_path", title_key="file_name"))
    assert result.source == Source(id="doc", title="r.md", locator="/srv/docs/r.md")
    assert result.metadata == {}


# Scores


def test_a_node_without_a_score_goes_where_scores_are_claimed_and_zero_stays_zero() -> None:
    """Clause 5.4, field case 7 (run-llama/llama_index#12497): None is no 0.0. Without the claim, all three stay."""
    nodes = scored("n1"), scored("n2", 0.2), scored("n3", 0.0)
    assert scores(ask(answering(*nodes, score_kind="similarity"))) == [("n2", 0.2), ("n3", 0.0)]
    results = ask(answering(*nodes))
    assert ids(results) == ["n1", "n2", "n3"]
    assert "score" not in results[0].model_dump(exclude_none=True)


def test_without_a_kind_there_are_no_scores_and_the_order_is_the_vendors() -> None:
    """Nothing in a number tells what it means."""
    provider = answering(scored("a", 0.1), scored("b", 0.9))
    assert scores(ask(provider)) == [("a", None), ("b", None)]
    assert provider.describe().capabilities["scores"] is False


@pytest.mark.parametrize(("kind", "wanted"), [
    ("similarity", [0.31, -0.17, 1.0000002, 0.0]),
    ("relevance", [0.31, -0.17, 1.0000002, 0.0]),
    ("distance", [-0.31, 0.17, -1.0000002, 0.0]),
])  # fmt: skip
def test_what_a_number_means_is_the_users_word(kind: Any, wanted: list[float]) -> None:
    """Clause 5.4: a distance is negated; nothing is clipped, and 0 does not become -0.0."""
    nodes = [scored(str(number), number) for number in (0.31, -0.17, 1.0000002, 0.0)]
    results = ask(answering(*nodes, score_kind=kind))
    assert json.dumps([result.score for result in results]) == json.dumps(wanted)
    assert answering(score_kind=kind).describe().capabilities["scores"] is True


@pytest.mark.parametrize("number", [float("nan"), float("inf"), numpy.float64("nan"), "0.9", True])
def test_a_number_that_is_no_score_costs_its_node_where_scores_are_claimed(number: Any) -> None:
    """Clause 5.4: alone, it is a failure (5.10). Without the claim, nobody looks at the number."""
    broken = NodeWithScore.model_construct(node=node("broken"), score=number)
    assert ids(ask(answering(broken, scored("a", 0.5), score_kind="similarity"))) == ["a"]
    with pytest.raises(errors.KnowledgeInvalidResponseError):
        ask(answering(broken, score_kind="similarity"))
    assert scores(ask(answering(broken, scored("a", 0.5)))) == [("broken", None), ("a", None)]


def test_numpys_number_becomes_a_plain_one() -> None:
    """Clause 5.7: LlamaIndex's own cosine gives ``numpy.float64`` in some versions."""
    [result] = ask(answering(scored("a", numpy.float64(0.5)), score_kind="similarity"))
    assert type(result.score) is float


@pytest.mark.parametrize(("zero", "kind", "left"), [
    (None, "similarity", ["a", "b"]),
    (False, "similarity", ["a", "b"]),
    (True, "similarity", ["a"]),
    (False, None, ["a", "b", "none"]),
    (True, None, ["a", "none"]),
])  # fmt: skip
def test_a_score_of_zero_is_cut_when_the_user_says_so(zero: bool | None, kind: Any, left: list[str]) -> None:
    """With most embeddings 0.0 is a similarity like any other; with words alone it means none in common."""
    nodes = (scored("a", 0.5), scored("b", 0.0), scored("none"))
    assert ids(ask(answering(*nodes, zero_is_no_match=zero, score_kind=kind))) == left


def test_nothing_but_padding_is_nothing_found() -> None:
    """Clause 3.7: and no failure, as nodes without a text would be."""
    assert ask(answering(scored("a", 0.0), scored("b", -0.0), zero_is_no_match=True)) == []


def test_the_padding_of_a_scripted_retriever_is_cut() -> None:
    """Over the fake, which pads as BM25 does."""
    retriever = AsyncHandbookRetriever("padded with zeros")
    padded, cut = (ask(over(retriever, zero_is_no_match=zero), "sick leave", top_k=8) for zero in (False, True))
    assert len(padded) == 8
    assert ids(cut) == ids(padded)[: len(cut)]
    assert 1 <= len(cut) < 8


# Ids


def test_ids_that_do_not_last_are_made_from_place_and_text() -> None:
    """Clause 3.6: a node that is made anew for each call has another random id each time."""
    retriever = AsyncHandbookRetriever("new ids")
    for node_ids, same in ((True, False), (False, True)):
        first, second = (ids(ask(over(retriever, node_ids=node_ids))) for _ in range(2))
        assert (first == second) is same
        assert len(set(first)) == len(first)


def test_the_same_node_twice_is_one_result_and_other_text_keeps_its_place() -> None:
    """Clause 5.3: LlamaIndex itself drops a later node of the same id; whatever comes past that is told apart here."""
    assert ids(ask(over(AsyncHandbookRetriever("twice")), top_k=8)) == ids(ask(over(AsyncHandbookRetriever()), top_k=8))
    same = [scored("a"), scored("a"), scored(node("a", text="another text")), scored("b")]
    results = ask(over(duck(same)))
    assert [result.content for result in results] == ["text of a", "another text", "text of b"]
    assert len(set(ids(results))) == 3
    assert ids(results)[0] == "a"


# Kinds of nodes


def test_whole_documents_and_what_index_nodes_lead_to_are_results() -> None:
    """A ``Document`` is no ``TextNode``, and an index node stands for another."""
    sound = [result.content for result in ask(over(AsyncHandbookRetriever()))]
    for how in ("whole documents", "behind index nodes"):
        assert [result.content for result in ask(over(AsyncHandbookRetriever(how)))] == sound
    [alone] = ask(answering(scored(IndexNode(text="an index", index_id="i", id_="a"))))
    assert (alone.id, alone.content) == ("a", "an index")


def test_a_node_without_text_costs_itself_only() -> None:
    """An image has none; the others stay."""
    image = NodeWithScore(node=ImageNode(image_url="https://example.org/a.png"), score=0.9)
    blank = NodeWithScore(node=Document(text=" "), score=0.8)
    assert ids(ask(answering(image, blank, scored("a", 0.5)))) == ["a"]


def test_a_broken_relation_is_a_failure_and_not_a_result_from_nowhere() -> None:
    """LlamaIndex raises where a node has two sources."""
    both = node("a", relationships={NodeRelationship.SOURCE: [RelatedNodeInfo(node_id="x")]})
    with pytest.raises(errors.KnowledgeFailedError):
        ask(answering(scored(both)))


def test_what_the_retriever_holds_is_not_changed() -> None:
    """An index answers with the nodes that it keeps, not with copies."""
    kept = scored(node("a", "doc", metadata={"source": "r.md", "page": 1}), 0.5)
    before = kept.model_dump_json()
    provider = answering(kept, score_kind="distance")
    for _ in range(2):
        ask(provider)
    assert kept.model_dump_json() == before


def test_there_are_at_most_top_k_results_whatever_comes() -> None:
    """Clause 3.3, from a retriever that cannot be told how many."""
    provider = answering(*(scored(str(number)) for number in range(50)))
    assert ids(ask(provider, top_k=3)) == ["0", "1", "2"]
    assert len(ask(over(AsyncHandbookRetriever("more than asked for")), top_k=2)) == 2
