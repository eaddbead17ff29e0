"""A LangChain retriever or vector store as a knowledge provider; knows LangChain's shapes, and no host or adapter.

Made to be copied alone. It does not import LangChain: what it is given brings that along.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal

from knowledge_provider import adapting, errors, services
from knowledge_provider.models import Health, ProviderDescription, RetrievalContext, RetrievalRequest, RetrievalResult

if TYPE_CHECKING:
    from langchain_core.documents import Document
    from langchain_core.runnables import Runnable
    from langchain_core.vectorstores import VectorStore

_SCORED: Final = "similarity_search_with_score"
_RELEVANCE: Final = "similarity_search_with_relevance_scores"
_SEARCHES: Final = {None: "invoke", "similarity": _SCORED, "distance": _SCORED, "relevance": _RELEVANCE}
# What a VectorStoreRetriever asks its store, by search type; all else comes to the search with scores.
_BEHIND: Final = {"similarity": "asimilarity_search", "mmr": "amax_marginal_relevance_search"}


class LangChainProvider:
    """Answers from ``target``: a retriever, another runnable that gives documents, or a vector store with scores.

    ``score_kind`` is for a vector store, and needed there: what its numbers mean, which nothing in a number tells. A
    ``distance`` is negated, so that higher is better; ``relevance`` asks for LangChain's relevance scores.
    ``uri_key`` and ``title_key`` name the metadata with a document's URL or path and its title; ``citations`` says
    that public URLs are among them. ``knowledge_base`` is the id of the one base that the target holds. ``scope``
    gives the search arguments that keep to the context's owner, such as ``{"filter": …}``. ``in_thread`` says whether
    to call the synchronous method, in a daemon thread; by default, where LangChain would use a thread itself.

    Raises ``TypeError`` or ``ValueError`` if it cannot be asked so, ``pydantic.ValidationError`` by clause 1.4 or 1.5.
    """

    def __init__(
        self,
        target: "Runnable[str, list[Document]] | VectorStore",
        *,
        key: str,
        label: str,
        score_kind: Literal["similarity", "distance", "relevance"] | None = None,
        uri_key: str = "source",
        title_key: str = "title",
        citations: bool = False,
        knowledge_base: str | None = None,
        scope: Callable[[RetrievalContext], Mapping[str, Any]] | None = None,
        in_thread: bool | None = None,
    ) -> None:
        search = _SEARCHES.get(score_kind, "")
        self._sync, self._async = (getattr(target, name, None) for name in (search, f"a{search}"))
        self._in_thread = _wraps_a_thread(target, self._async) if in_thread is None else in_thread
        if (self._sync if self._in_thread else self._async) is None:
            wanted = "for a vector store 'similarity', 'distance' or 'relevance', for a retriever none"
            raise TypeError(f"{type(target).__name__} has no search for {score_kind=}, {in_thread=}; wanted: {wanted}")
        # LangChain drops the search arguments of a retriever that does not say that it takes some, without a word.
        takes_arguments = score_kind is not None or getattr(target, "_expects_other_args", False) is True
        if scope is not None and not takes_arguments:
            raise ValueError(f"{type(target).__name__} ignores search arguments, so scope would keep no owners apart")
        self._takes_k = takes_arguments and (score_kind is not None or hasattr(target, "search_kwargs"))
        self._threads, self._store = adapting.DaemonThreads(), getattr(target, "vectorstore", target)
        claims = {"filters": False, "scores": score_kind is not None, "citations": citations}
        self._description = ProviderDescription(protocol_version=1, key=key, label=label, capabilities=claims)
        self._result_of = partial(adapting.result_of, uri_key=uri_key, title_key=title_key, left_out=("_id",))
        self._score_kind, self._knowledge_base, self._scope, self._closed = score_kind, knowledge_base, scope, False

    def describe(self) -> ProviderDescription:
        """The same description each time (clause 1.7)."""
        return self._description.model_copy(deep=True)

    def health(self) -> Health:
        """``ready`` until closed: a LangChain object cannot be asked whether its back end is up."""
        return Health(status="unavailable" if self._closed else "ready")

    def close(self) -> None:
        """Refuse further calls (clause 2.2); the target stays open, as it is the caller's."""
        self._closed = True

    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> list[RetrievalResult]:
        """At most ``request.top_k`` results in LangChain's order; every failure is a ``KnowledgeError``."""
        if self._closed:
            raise errors.KnowledgeFailedError("this provider is closed; make a new one to search again")
        context.signal.raise_if_cancelled()
        adapting.refuse_filters(request)
        adapting.refuse_other_bases(request, self._knowledge_base)
        try:
            async with services.time_limit(context.signal):
                found = adapting.records_of(await self._search(request, context), "LangChain")
                if _tell_nothing(found[: request.top_k]) and await self._has_no_vector(request.query, context):
                    return []
            return adapting.usable(map(partial(self._result, taken={}), found), request.top_k)
        except errors.KnowledgeError:
            raise
        except Exception as error:
            raise adapting.failure(error, "LangChain") from error

    async def _search(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
        arguments: dict[str, Any] = {"k": request.top_k} if self._takes_k else {}
        arguments |= {} if self._scope is None else adapting.owner_arguments(self._scope, context)
        try:
            return await self._call(context, self._sync, self._async, request.query, **arguments)
        except ValueError as error:
            if not str(error).startswith("NaN values found") or not await self._has_no_vector(request.query, context):
                raise
        return []

    async def _has_no_vector(self, query: str, context: RetrievalContext) -> bool:
        # Clauses 3.2, 3.7: with a vector of zeros, as an emoji has in a list of words, a cosine raises in LangChain, is
        # NaN in pgvector, 0 in Qdrant. Clause 5.10: so may a broken one; the vector has to show that nothing is near.
        model: Any = getattr(self._store, "embeddings", None)
        return model is not None and {*await self._call(context, model.embed_query, model.aembed_query, query)} == {0}

    async def _call(self, context: RetrievalContext, sync: Any, other: Any, query: str, /, **arguments: Any) -> Any:
        if self._in_thread:
            return await self._threads.run(context.signal, sync, query, **arguments)
        return await other(query, **arguments)

    def _result(self, row: Any, taken: dict[str, str]) -> RetrievalResult | None:
        # A store gives pairs; whatever else came stays whole, and has no number.
        document, raw = [*row] if self._score_kind and isinstance(row, tuple | list) and len(row) == 2 else [row, None]
        if not hasattr(document, "page_content"):
            raise errors.KnowledgeInvalidResponseError(f"LangChain gave {type(document).__name__}, not a document")
        score = adapting.plain_number(raw)
        if self._score_kind and score is None:
            return None
        # Clause 5.4: higher is better. A distance of 0 stays 0, as -0.0 would only puzzle.
        score = -score if self._score_kind == "distance" and score else score
        metadata: Mapping[str, Any] = getattr(document, "metadata", None) or {}
        # langchain-qdrant leaves a document's id empty and puts it into the metadata.
        given = getattr(document, "id", None) or metadata.get("_id")
        return self._result_of(document.page_content, metadata, taken, vendor_id=given, score=score)


def _tell_nothing(top: Any) -> bool:
    return {isinstance(n, float) and not abs(n) > 0 for row in top if isinstance(row, tuple) for n in row[1:]} == {True}


def _wraps_a_thread(target: Any, search: object) -> bool:
    # A hung call would keep such a thread, and with it the event loop's shutdown and the process's exit.
    search = getattr(target, f"a{_SCORED}", None) or getattr(target, "_aget_relevant_documents", search)
    if _core_class(search) == "VectorStoreRetriever":
        search = getattr(target.vectorstore, _BEHIND.get(target.search_type, f"a{_SCORED}"))
    return search is None or _core_class(search) in ("BaseRetriever", "VectorStore", "InMemoryVectorStore", "Runnable")


def _core_class(method: object) -> str:
    module = getattr(method, "__module__", None) or ""
    return getattr(method, "__qualname__", "").partition(".")[0] if module.startswith("langchain_core.") else ""
