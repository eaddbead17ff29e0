"""A LangChain retriever or vector store as a knowledge provider; knows LangChain's shapes, and no host or adapter.

Made to be copied alone. It does not import LangChain: what it is given brings that along.
"""

import inspect
from collections.abc import Callable, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Literal

from knowledge_provider import adapting, errors
from knowledge_provider.models import Health, ProviderDescription, RetrievalContext, RetrievalRequest, RetrievalResult
from knowledge_provider.text import is_blank

if TYPE_CHECKING:
    from langchain_core.documents import Document
    from langchain_core.runnables import Runnable
    from langchain_core.vectorstores import VectorStore

_SEARCHES: Final[dict[str | None, str]] = {
    None: "invoke",
    "similarity": "similarity_search_with_score",
    "distance": "similarity_search_with_score",
    "relevance": "similarity_search_with_relevance_scores",
}
_BEHIND_RETRIEVER: Final = {"similarity": "asimilarity_search", "mmr": "amax_marginal_relevance_search"}
_BEHIND_SCORES: Final = "asimilarity_search_with_score"


class LangChainProvider:
    """Answers from ``target``: a retriever, another runnable that gives documents, or a vector store with scores.

    ``score_kind`` is for a vector store, and needed there: what its numbers mean, which nothing in a number tells. A
    ``distance`` is negated, so that higher is better; ``relevance`` asks for LangChain's relevance scores.
    ``uri_key`` and ``title_key`` name the metadata with a document's URL or path and its title; ``citations`` says
    that public URLs are among them. ``knowledge_base`` is the id of the one base that the target holds. ``scope``
    gives the search arguments that keep to the context's owner, such as ``{"filter": …}``. ``in_thread`` says whether
    to call the synchronous method, in a daemon thread; by default, where LangChain would use a thread itself.

    Raises ``TypeError`` or ``ValueError`` when the target cannot be asked so, and ``pydantic.ValidationError`` when
    ``key`` or ``label`` breaks clause 1.4 or 1.5. ``close()`` leaves the target open: it is the caller's.
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
        self._scored, self._is_distance = score_kind is not None, score_kind == "distance"
        capabilities = {"filters": False, "scores": self._scored, "citations": citations}
        self._identity = {"protocol_version": 1, "key": key, "label": label, "capabilities": capabilities}
        self.describe()
        self._sync = getattr(target, _SEARCHES[score_kind], None)
        self._async = getattr(target, f"a{_SEARCHES[score_kind]}", None)
        if not (self._sync or self._async):
            raise TypeError(f"{type(target).__name__} has no {_SEARCHES[score_kind]}: only a vector store has scores")
        taken = {"k", "kwargs"} if self._scored else _taken_arguments(target)
        if scope and not taken:
            raise ValueError(f"{type(target).__name__} ignores search arguments, so scope would keep no owners apart")
        self._takes_k = "k" in taken or (bool(taken) and hasattr(target, "search_kwargs"))
        self._in_thread = _wraps_a_thread(target, self._scored) if in_thread is None else in_thread
        self._threads = adapting.DaemonThreads()
        self._uri_key, self._title_key = uri_key, title_key
        self._knowledge_base, self._scope, self._closed = knowledge_base, scope, False

    def describe(self) -> ProviderDescription:
        """The same description each time (clause 1.7)."""
        return ProviderDescription.model_validate(self._identity)

    def health(self) -> Health:
        """``ready`` until closed: a LangChain object cannot be asked whether its back end is up."""
        return Health(status="unavailable" if self._closed else "ready")

    def close(self) -> None:
        """Refuse further calls (clause 2.2)."""
        self._closed = True

    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> list[RetrievalResult]:
        """At most ``request.top_k`` results in LangChain's order; every failure is a ``KnowledgeError``."""
        if self._closed:
            raise errors.KnowledgeFailedError("this provider is closed; make a new one to search again")
        context.signal.raise_if_cancelled()
        adapting.refuse_filters(request)
        adapting.refuse_other_bases(request, self._knowledge_base)
        try:
            return self._results(await self._search(request, context), request.top_k)
        except errors.KnowledgeError:
            raise
        except Exception as error:
            # Clauses 3.2, 3.7: LangChain's cosine refuses a query without a vector, as an emoji is to a word list.
            if type(error) is ValueError and str(error).startswith("NaN values found"):
                return []
            raise adapting.failure(error, "LangChain") from error

    async def _search(self, request: RetrievalRequest, context: RetrievalContext) -> object:
        arguments = {"k": request.top_k} if self._takes_k else {}
        if self._scope is not None:
            arguments |= _owner_arguments(self._scope, context)
        if self._in_thread:
            return await self._threads.run(context.signal, self._sync, request.query, **arguments)
        return await self._async(request.query, **arguments)

    def _results(self, found: object, top_k: int) -> list[RetrievalResult]:
        if not isinstance(found, list | tuple):
            raise _unreadable(found)
        taken: dict[str, str] = {}
        results = list(islice(filter(None, (self._result(item, taken) for item in found)), top_k))
        if found and not results:
            # Clause 5.10: a store that is read by a wrong text key must not look like one that found nothing.
            raise errors.KnowledgeInvalidResponseError("not one of LangChain's documents has text and a finite score")
        return results

    def _result(self, item: Any, taken: dict[str, str]) -> RetrievalResult | None:
        document, number = item if self._scored and type(item) is tuple and len(item) == 2 else (item, None)
        if not hasattr(document, "page_content"):
            raise _unreadable(document)
        content, score = adapting.passage_text(document.page_content), adapting.plain_number(number)
        metadata = getattr(document, "metadata", None) or {}
        where = metadata.get(self._uri_key)
        given = getattr(document, "id", None) or metadata.get("_id")
        if not content or (self._scored and score is None)
            return None
        name = adapting.result_id(given, where, content, taken)
        return name and RetrievalResult(
            id=name,
            content=content,
            score=-score if self._is_distance else score,
            source=adapting.source_of(where, metadata.get(self._title_key)),
            metadata=adapting.plain_metadata(metadata, without=(self._uri_key, self._title_key, "_id")),
        )


def _owner_arguments(scope: Callable[[RetrievalContext], Mapping[str, Any]], context: RetrievalContext) -> dict[str, Any]:
    if is_blank(context.owner_id):  # Clause 4.4
        raise errors.KnowledgeOwnerRequiredError("no owner came, and this provider keeps owners apart by it")
    arguments = dict(scope(context))
    if not arguments:
        raise errors.KnowledgeFailedError("scope gave no search arguments for this owner; none means all documents")
    return arguments


def _unreadable(came: object) -> errors.KnowledgeInvalidResponseError:
    return errors.KnowledgeInvalidResponseError(f"LangChain should give {wanted}, and gave {type(came).__name__}; ...")


def _taken_arguments(target: object) -> set[str]:
    # LangChain passes on what `_get_relevant_documents` has parameters for and drops the rest without a word.
    search = getattr(target, "_get_relevant_documents", None)
    return set(inspect.signature(search).parameters) - {"query", "run_manager"} if search else set()


def _wraps_a_thread(target: Any, scored: bool) -> bool:
    """Whether LangChain's asynchronous method runs the synchronous one in the event loop's executor.

    A hung call would keep such a thread, and with it the loop's shutdown and the process's exit.
    """
    name = _BEHIND_SCORES if scored else "_aget_relevant_documents"
    search = getattr(target, name, None) or getattr(target, "ainvoke", None)
    if _owner(search) == "VectorStoreRetriever":
        search = getattr(target.vectorstore, _BEHIND_RETRIEVER.get(target.search_type, _BEHIND_SCORES))
    return search is None or _owner(search) in ("BaseRetriever", "VectorStore", "Runnable")


def _owner(method: object) -> str:
    """The class of LangChain's core that defines a method, or "" when another does."""
    module = getattr(method, "__module__", None) or ""
    return getattr(method, "__qualname__", "").partition(".")[0] if module.startswith("langchain_core.") else ""
