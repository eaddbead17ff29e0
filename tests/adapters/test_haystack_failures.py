"""How ``HaystackProvider`` fails: the same for a component, and for a pipeline that wraps what its component raised."""

import traceback
from typing import Any

import haystack_subjects as subjects
import pytest
from haystack_subjects import SECRET, ask, over

# isort: split
from haystack import SuperComponent
from haystack.components.retrievers.in_memory import InMemoryEmbeddingRetriever

from knowledge_fakes.vendors.haystack_retriever import AsyncHandbookRetriever, SyncHandbookRetriever, pipeline_of
from knowledge_provider import errors

CODES = {
    "unauthorized": "knowledge_unauthorized",
    "forbidden": "knowledge_unauthorized",
    "rate limited": "knowledge_rate_limited",
    "server error": "knowledge_unavailable",
    "unavailable": "knowledge_unavailable",
    "refused": "knowledge_unavailable",
    "time-out": "knowledge_provider_failed",
    "bug": "knowledge_provider_failed",
    "wrong filter": "knowledge_provider_failed",
    "stop": "knowledge_provider_failed",
}


def providers(how: Any) -> dict[str, Any]:
    """The same failure behind everything that can be asked."""
    tried = {"query_to": "query", "documents_from": "documents"}
    wrapped = SuperComponent(
        pipeline_of(SyncHandbookRetriever(how, api_key=SECRET)),
        input_mapping={"query": ["retriever.query"]},
        output_mapping={"retriever.documents": "documents"},
    )
    return {
        "asynchronous": over(AsyncHandbookRetriever(how, api_key=SECRET)),
        "in a thread": over(SyncHandbookRetriever(how, api_key=SECRET)),
        "asynchronous pipeline": over(pipeline_of(AsyncHandbookRetriever(how, api_key=SECRET)), **subjects.IN_PIPELINE),
        "pipeline in a thread": over(pipeline_of(SyncHandbookRetriever(how, api_key=SECRET)), **subjects.IN_PIPELINE),
        "super component": over(wrapped, in_thread=True, **tried),
    }


@pytest.mark.parametrize(("how", "code"), CODES.items())
def test_what_a_component_raises_is_one_failure_with_fixed_words(how: str, code: str) -> None:
    """Clauses 5.10, 6.4 and 7.6: a pipeline's error is looked behind, and a vendor's time-out is not the host's."""
    for name, provider in providers(how).items():
        with pytest.raises(errors.KnowledgeError) as caught:
            ask(provider)
        assert caught.value.code == code, name
        assert SECRET not in str(caught.value)
        assert caught.value.__cause__ is not None


def test_how_long_to_wait_is_told() -> None:
    """And that another try may help."""
    for provider in providers("rate limited").values():
        with pytest.raises(errors.KnowledgeRateLimitedError) as caught:
            ask(provider)
        assert caught.value.retry_after == 7
        assert caught.value.retryable
    for provider in providers("time-out").values():
        with pytest.raises(errors.KnowledgeFailedError) as late:
            ask(provider)
        assert late.value.retryable


def test_a_failure_in_the_contracts_own_terms_passes_as_it_is() -> None:
    """A component written with this package in mind may say more than an adapter can guess."""
    cause = OSError("reset")

    def answer(_hits: Any, _key: str) -> Any:
        raise errors.KnowledgeRateLimitedError("busy", retry_after=3) from cause

    for name, provider in providers(answer).items():
        with pytest.raises(errors.KnowledgeRateLimitedError, match=r"^busy$") as caught:
            ask(provider)
        assert caught.value.retry_after == 3, name
        assert caught.value.__cause__ is cause
        # A chain of causes that runs in a circle would be walked for ever by a host that is less careful.
        assert "busy" in "".join(traceback.format_exception(caught.value))


def test_a_pipeline_that_cannot_run_is_no_empty_answer() -> None:
    """Clause 5.10: a part that waits for an input gives nothing, and Haystack raises or leaves its output out."""
    pipeline = subjects.embedding_pipeline_of(InMemoryEmbeddingRetriever(subjects.in_memory_store()))
    pipeline.add_component("waiting", AsyncHandbookRetriever())
    for output in ("waiting.documents", "retriever.nothing", "nobody.documents"):
        provider = over(pipeline, query_to="embedder.text", documents_from=output)
        with pytest.raises(errors.KnowledgeFailedError):
            ask(provider)
