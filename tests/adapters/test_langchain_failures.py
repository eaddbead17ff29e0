"""How ``LangChainProvider`` fails, and when an error of LangChain's is an empty answer all the same."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import langchain_subjects as subjects
import numpy
import pytest
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore
from langchain_subjects import SECRET, Answering, ask, over
from pydantic import ValidationError

from knowledge_adapters.langchain_provider import LangChainProvider
from knowledge_provider import errors


def _validation_error() -> ValidationError:
    with pytest.raises(ValidationError) as caught:
        Document(page_content=None, metadata={"text": SECRET})  # type: ignore[arg-type]  # as a vendor's record does
    return caught.value


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (_validation_error(), "knowledge_invalid_response"),
        (ValueError(SECRET), "knowledge_provider_failed"),
        (TimeoutError(SECRET), "knowledge_provider_failed"),
        (NotImplementedError(), "knowledge_provider_failed"),
        (ConnectionError(SECRET), "knowledge_unavailable"),
    ],
)
@pytest.mark.parametrize("in_thread", [False, True])
def test_what_langchain_raises_is_one_failure_with_fixed_words(error: Exception, code: str, in_thread: bool) -> None:
    """Field case 1, clauses 5.10, 6.4, 7.6: no record in the message, the cause kept, and no time-out is the host's."""
    target = SimpleNamespace(invoke=_raising(error), ainvoke=Answering(error).ainvoke)
    with pytest.raises(errors.KnowledgeError) as caught:
        ask(over(target, in_thread=in_thread))
    assert caught.value.code == code
    assert caught.value.__cause__ is error
    assert SECRET not in str(caught.value)


def _raising(error: Exception) -> Callable[..., Any]:
    def invoke(_query: str) -> Any:
        raise error

    return invoke


def test_a_failure_in_the_contracts_own_terms_passes_as_it_is() -> None:
    """A retriever written with this package in mind may say more than an adapter can guess."""
    error = errors.KnowledgeRateLimitedError(retry_after=3)
    with pytest.raises(errors.KnowledgeRateLimitedError) as caught:
        ask(over(Answering(error)))
    assert caught.value is error


def test_a_stop_iteration_of_a_retriever_is_a_failure() -> None:
    """In a thread, it would leave a future of asyncio's waiting for ever."""

    class Exhausted(BaseRetriever):
        def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
            return [next(iter(()))]

    with pytest.raises(errors.KnowledgeFailedError):
        ask(over(Exhausted()))


class Broken(subjects.BagOfWords):
    """Reads the handbook and, once that is done, answers ``vector`` to every query."""

    vector: Any = None

    def embed_query(self, text: str) -> list[float]:
        if isinstance(self.vector, Exception):
            raise self.vector
        return super().embed_query(text) if self.vector is None else [self.vector] * len(super().embed_query(text))


def _broken_store(vector: object) -> InMemoryVectorStore:
    model = Broken()
    store = InMemoryVectorStore(model)
    store.add_documents(subjects.documents())
    model.vector = vector
    return store


@pytest.mark.filterwarnings("ignore:NaN found in input arrays:RuntimeWarning")
@pytest.mark.parametrize("in_thread", [False, True])
def test_an_embedding_that_answers_nan_is_a_failure(in_thread: bool) -> None:
    """Clause 5.10: LangChain's words for it are those for a vector of zeros, which is an answer (clause 3.2)."""
    for make in (_as_store, _as_retriever):
        with pytest.raises(errors.KnowledgeFailedError, match="raised ValueError"):
            ask(make(_broken_store(float("nan")), in_thread))
        assert ask(make(_broken_store(0.0), in_thread)) == []


def _as_store(store: VectorStore, in_thread: bool) -> LangChainProvider:
    return over(store, score_kind="similarity", in_thread=in_thread)


def _as_retriever(store: VectorStore, in_thread: bool) -> LangChainProvider:
    return over(store.as_retriever(), in_thread=in_thread)


class Refusing(Answering):
    """Raises LangChain's words, and has a model that answers ``vector``."""

    def __init__(self, vector: object, words: str = "NaN values found, please remove them") -> None:
        super().__init__(ValueError(words))
        self.embeddings = SimpleNamespace(embed_query=len, aembed_query=self.embed)
        self.vector = vector

    async def embed(self, _query: str) -> object:
        return self.vector


@pytest.mark.parametrize("vector", [[], [0.0, 1.0], [0.0, float("nan")], [None], [[0.0]], None, "0"])
def test_only_a_vector_of_zeros_shows_that_nothing_can_be_found(vector: object) -> None:
    """Clause 5.10: whatever else the model answers leaves the search's own error a failure."""
    with pytest.raises(errors.KnowledgeFailedError):
        ask(over(Refusing(vector)))
    assert ask(over(Refusing([0.0, -0.0]))) == []
    assert ask(over(Refusing(numpy.zeros(3)))) == []


def test_without_a_model_or_with_other_words_the_error_is_a_failure() -> None:
    """Clause 5.10: a query without a vector makes no other mistake of a store an empty answer."""
    no_model = Refusing([0.0])
    no_model.embeddings = None  # type: ignore[assignment]  # as stores without one have it
    for target in (no_model, Refusing([0.0], "the filter cannot be read"), Answering(ValueError("NaN values found"))):
        with pytest.raises(errors.KnowledgeFailedError, match="raised ValueError"):
            ask(over(target))
