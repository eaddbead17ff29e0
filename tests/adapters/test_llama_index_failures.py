"""How ``LlamaIndexProvider`` fails: one code for each kind of failure, and nothing of the vendor's in the words."""

import asyncio
from typing import Any

import llama_index_subjects as subjects
import pytest
from llama_index.core import VectorStoreIndex
from llama_index.core.schema import QueryBundle
from llama_index.core.vector_stores import MetadataFilter, MetadataFilters
from llama_index_subjects import SECRET, Answering, ask, context, ids, over

from knowledge_fakes.vendors.llama_index_retriever import ANSWERS, AsyncHandbookRetriever, SyncHandbookRetriever
from knowledge_provider import KnowledgeError, KnowledgeHost, RetrievalRequest, errors

FAILURES = [
    ("unauthorized", "knowledge_unauthorized", False),
    ("forbidden", "knowledge_unauthorized", False),
    ("rate limited", "knowledge_rate_limited", True),
    ("server error", "knowledge_unavailable", True),
    ("unavailable", "knowledge_unavailable", True),
    ("refused", "knowledge_unavailable", True),
    ("time-out", "knowledge_provider_failed", True),
    ("bug", "knowledge_provider_failed", False),
    ("wrong argument", "knowledge_provider_failed", False),
    ("stop", "knowledge_provider_failed", False),
    ("no text", "knowledge_invalid_response", False),
    ("images", "knowledge_invalid_response", False),
    ("nan", "knowledge_invalid_response", False),
    ("broken record", "knowledge_invalid_response", False),
    ("none", "knowledge_invalid_response", False),
    ("dictionaries", "knowledge_invalid_response", False),
    ("nodes without a score's place", "knowledge_invalid_response", False),
    ("text", "knowledge_invalid_response", False),
]
SOUND = [how for how in ANSWERS if how not in {"held", *(how for how, _, _ in FAILURES)}]
RETRIEVERS = [AsyncHandbookRetriever, SyncHandbookRetriever]


def failed(retriever: Any, **options: Any) -> KnowledgeError:
    with pytest.raises(KnowledgeError) as caught:
        ask(over(retriever, **options))
    return caught.value


@pytest.mark.parametrize("make", RETRIEVERS)
@pytest.mark.parametrize(("how", "code", "retryable"), FAILURES)
def test_what_goes_wrong_has_one_code_and_no_word_of_the_vendors(
    make: Any, how: str, code: str, retryable: bool
) -> None:
    """Clauses 5.10 and 7.6: on the loop and in a thread alike; the vendor's own text is the cause's alone."""
    error = failed(make(how, api_key=SECRET), score_kind="similarity")
    assert (error.code, error.retryable) == (code, retryable)
    assert SECRET not in str(error)
    assert SECRET not in repr(error)
    assert not isinstance(error, errors.KnowledgeTimeoutError)


@pytest.mark.parametrize("how", SOUND)
def test_what_llamaindex_allows_is_no_failure(how: str) -> None:
    """Every other way of the fake: the table above leaves none out."""
    assert bool(ask(over(AsyncHandbookRetriever(how)))) is (how != "nothing")


def test_how_long_to_wait_is_said_where_the_service_says_it() -> None:
    """In seconds, from the response that the client's exception holds."""
    assert failed(AsyncHandbookRetriever("rate limited")).retry_after == 7.0


def test_the_original_is_the_cause() -> None:
    """So that whoever runs the provider can find out."""
    assert SECRET in str(failed(AsyncHandbookRetriever("bug", api_key=SECRET)).__cause__)


@pytest.mark.parametrize("answer", [None, 0, "text", b"bytes", {"nodes": []}, [None], ["text"], [{"node": {}}], [[]]])
def test_an_answer_of_another_shape_is_invalid_and_not_empty(answer: Any) -> None:
    """Clause 5.10: past LlamaIndex's own look at it."""
    assert failed(subjects.duck(answer)).code == "knowledge_invalid_response"


def test_behind_a_host_the_code_is_the_hosts_and_the_cause_the_adapters() -> None:
    """Clause 8.11."""
    host = KnowledgeHost(over(AsyncHandbookRetriever("unauthorized", api_key=SECRET)))
    with pytest.raises(errors.KnowledgeFailedError) as caught:
        asyncio.run(host.search("release policy", context=context()))
    assert caught.value.code == "knowledge_provider_failed"
    assert isinstance(caught.value.__cause__, errors.KnowledgeUnauthorizedError)
    assert SECRET not in str(caught.value)


# A query without a vector


class Broken(subjects.BagOfWords):
    """Embeds queries as told."""

    vector: list[Any]

    def _get_query_embedding(self, query: str) -> Any:
        return self.vector


def _with_model(vector: list[Any], in_thread: bool) -> Any:
    nodes = [subjects.node("a", embedding=[0.0, 1.0]), subjects.node("b", embedding=[1.0, 0.0])]
    index = VectorStoreIndex(nodes, embed_model=Broken(vector=vector))
    return over(index.as_retriever(), score_kind="similarity", in_thread=in_thread)


@pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")
@pytest.mark.parametrize("in_thread", [True, False])
def test_only_a_vector_of_zeros_shows_that_nothing_can_be_found(in_thread: bool) -> None:
    """Clauses 3.2 and 5.10: every score is NaN for a text without known words, and for a model that is broken."""
    assert ask(_with_model([0.0, -0.0], in_thread)) == []
    assert ids(ask(_with_model([0.0, 1.0], in_thread))) == ["a", "b"]
    with pytest.raises(errors.KnowledgeInvalidResponseError):
        ask(_with_model([0.0, float("nan")], in_thread))


def test_scores_that_are_all_nan_are_a_failure_where_no_model_can_be_asked() -> None:
    """A retriever of another kind gives no proof."""
    in_vain = Answering(subjects.scored("a", float("nan")))
    assert failed(in_vain, score_kind="similarity").code == "knowledge_invalid_response"
    assert ids(ask(over(in_vain))) == ["a"]
    assert ask(over(Answering())) == []


# Filters that a store cannot read


def test_a_filter_that_the_store_refuses_is_a_failure() -> None:
    """LlamaIndex's own store takes no filters within filters, which are the user's own here."""
    inner = MetadataFilters(filters=[MetadataFilter(key="language", value="en")])
    retriever = subjects.handbook_index().as_retriever(filters=MetadataFilters(filters=[inner]))
    with pytest.raises(errors.KnowledgeFailedError, match="raised ValueError"):
        ask(over(retriever, filter_keys=["department"]), filters={"department": "engineering"})


def test_a_missing_client_is_a_failure_that_the_constructor_cannot_see() -> None:
    """Qdrant's store with a synchronous client alone has an asynchronous method all the same, which raises."""

    class OneClient(Answering):
        async def _aretrieve(self, query_bundle: QueryBundle) -> Any:
            raise ValueError("Async client is not initialized!")

    with pytest.raises(errors.KnowledgeFailedError, match="raised ValueError"):
        ask(over(OneClient(subjects.scored("a"))))
    assert ids(ask(over(OneClient(subjects.scored("a")), in_thread=True))) == ["a"]


def test_a_cause_that_llamaindex_does_not_know_is_no_success() -> None:
    """Clause 5.10, the other way round: an empty list is the only empty answer."""
    provider = over(AsyncHandbookRetriever("nothing"))
    assert asyncio.run(provider.retrieve(RetrievalRequest(query="release"), context())) == []
