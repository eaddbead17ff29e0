"""A LlamaIndex retriever as a knowledge provider, to be copied alone; knows LlamaIndex's shapes, no host or adapter."""

import copy
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from knowledge_provider import CancelSignal, adapting, errors, services
from knowledge_provider.models import Health, ProviderDescription, RetrievalContext, RetrievalRequest, RetrievalResult

if TYPE_CHECKING:
    from llama_index.core.base.base_retriever import BaseRetriever


class LlamaIndexProvider:
    """Answers from ``retriever``: a node's text without the metadata that LlamaIndex puts before it, and its document.

    ``score_kind`` says what scores mean; without it there are none. A ``distance`` is negated. ``zero_is_no_match``
    leaves out nodes that score 0; by default BM25's, which are padding. ``node_ids=False`` makes ids from place and
    text, for nodes whose own do not last. ``uri_key`` and ``title_key`` name the metadata with a document's URL or path
    and title; ``citations`` says that public URLs are among them. ``knowledge_base`` is the id of the base that the
    retriever holds. A ``VectorIndexRetriever`` takes ``filter_keys``, the metadata that requests may filter by, and
    ``scope``, which gives what those of the context's owner are: ``{"owner": …}``. ``in_thread`` says whether to call
    the synchronous method, in a daemon thread; by default, where the other would block. ``close()`` leaves it open.
    Raises ``TypeError``, ``ValueError`` or ``KeyError`` for what cannot be asked so, or breaks clause 1.4 or 1.5.
    """

    def __init__(
        self,
        retriever: "BaseRetriever",
        *,
        key: str,
        label: str,
        score_kind: Literal["similarity", "distance", "relevance"] | None = None,
        zero_is_no_match: bool | None = None,
        node_ids: bool = True,
        uri_key: str = "source",
        title_key: str = "title",
        citations: bool = False,
        knowledge_base: str | None = None,
        filter_keys: Collection[str] = (),
        scope: Callable[[RetrievalContext], Mapping[str, Any]] | None = None,
        in_thread: bool | None = None,
    ) -> None:
        self._in_thread = _blocks(retriever) if in_thread is None else in_thread
        if not hasattr(retriever, "retrieve" if self._in_thread else "aretrieve"):
            raise TypeError(f"{type(retriever).__name__} is no retriever of LlamaIndex's, or not one for {in_thread=}")
        if filter_keys or scope is not None:
            _narrowed(retriever, [])
        claims = {"filters": bool(filter_keys), "scores": score_kind is not None, "citations": citations}
        self._description = ProviderDescription(protocol_version=1, key=key, label=label, capabilities=claims)
        self._result_of = partial(adapting.result_of, uri_key=uri_key, title_key=title_key)
        self._retriever, self._threads, self._closed = retriever, adapting.DaemonThreads(), False
        self._takes_k, self._scope, self._node_ids = hasattr(retriever, "similarity_top_k"), scope, node_ids
        self._knowledge_base, self._filter_keys = knowledge_base, frozenset(filter_keys)
        held = self._held = getattr(getattr(retriever, "bm25", None), "scores", {}).get("num_docs", 0)
        self._cuts_zero = held > 0 if zero_is_no_match is None else zero_is_no_match
        self._sign = {None: 0, "similarity": 1, "relevance": 1, "distance": -1}[score_kind]

    def describe(self) -> ProviderDescription:
        """The same description each time (clause 1.7)."""
        return self._description.model_copy(deep=True)

    def health(self) -> Health:
        """``ready`` until closed: a retriever cannot be asked whether its back end is up."""
        return Health(status="unavailable" if self._closed else "ready")

    def close(self) -> None:
        """Refuse further calls (clause 2.2)."""
        self._closed = True

    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> list[RetrievalResult]:
        """At most ``request.top_k`` results in the retriever's order; every failure is a ``KnowledgeError``."""
        if self._closed:
            raise errors.KnowledgeFailedError("this provider is closed; make a new one to search again")
        context.signal.raise_if_cancelled()
        adapting.refuse_other_bases(request, self._knowledge_base)
        # Clause 3.5. The names are the user's, as some stores paste them into SQL (run-llama/llama_index#22475).
        if not request.filters.keys() <= self._filter_keys:
            raise errors.KnowledgeFiltersUnsupportedError("wanted filters by filter_keys alone, and another came")
        try:
            asked, own = adapting.equal_filters(request), adapting.owner_filters(self._scope, context)
            _refuse_unsayable(asked, errors.KnowledgeFiltersUnsupportedError)
            _refuse_unsayable(own, errors.KnowledgeFailedError)
            async with services.time_limit(context.signal):
                nodes = await self._search(request.query, request.top_k, asked + own, context.signal)
            return adapting.usable(self._results(nodes, asked + own), request.top_k)
        except errors.KnowledgeError:
            raise
        except (AttributeError, TypeError) as error:
            raise errors.KnowledgeInvalidResponseError("LlamaIndex gave no list of nodes, or broke on it") from error
        except Exception as error:
            raise adapting.failure(error, "LlamaIndex") from error

    async def _search(self, query: str, top_k: int, wanted: list[Any], signal: CancelSignal) -> Collection[Any]:
        # Clause 7.5: other calls want other numbers and owners meanwhile. BM25 refuses to give more nodes than it has.
        own: Any = copy.copy(self._retriever) if self._takes_k else self._retriever
        if self._takes_k:
            own.similarity_top_k = min(top_k, self._held or top_k)
        if wanted:
            vars(own)["_filters"] = _narrowed(own, wanted)
        found = await (self._threads.run(signal, own.retrieve, query) if self._in_thread else own.aretrieve(query))
        nodes = adapting.records_of(found, "LlamaIndex")
        # Clause 3.2: nothing is near a vector of zeros. Clause 5.10: nor a broken one, so the query's has to show it.
        model: Any = nodes and all(str(it.score) == "nan" for it in nodes) and getattr(own, "_embed_model", None)
        return [] if model and {*await self._threads.run(signal, model.get_query_embedding, query)} == {0} else nodes

    def _results(self, nodes: Collection[Any], wanted: list[Any]) -> Iterator[RetrievalResult | None]:
        taken: dict[str, str] = {}
        for node, score in ((it.node, adapting.plain_number(it.score)) for it in nodes):
            # Clauses 3.5 and 4.3: looked at here too, as not every store keeps to filters.
            if not adapting.fits(node.metadata, wanted) or (self._cuts_zero and score == 0):
                continue
            # Clause 5.4: where scores are claimed, every result has one, so a node without a finite one goes.
            text = "" if self._sign and score is None else node.get_content(metadata_mode="none")
            own, hidden = node.node_id if self._node_ids else None, node.excluded_llm_metadata_keys
            # Clause 5.4: higher is better. A distance of 0 stays 0, as -0.0 would only puzzle.
            meant = score and score * self._sign if self._sign else None
            kept: dict[str, Any] = {"vendor_id": own, "score": meant, "source_id": node.ref_doc_id, "left_out": hidden}
            yield self._result_of(text, node.metadata, taken, **kept)


def _narrowed(retriever: Any, wanted: list[Any]) -> Any:
    from llama_index.core import retrievers, vector_stores

    own = getattr(retriever, "_filters", None) or vector_stores.MetadataFilters(filters=[])
    if not isinstance(retriever, retrievers.VectorIndexRetriever) or own.condition not in ("and", None):
        raise ValueError("filter_keys and scope are for a VectorIndexRetriever whose own filters are joined by AND")
    make: Any = vector_stores.MetadataFilter
    filters = [make(key=name, value=v, operator="in") if v[1:] else make(key=name, value=v[0]) for name, v in wanted]
    return vector_stores.MetadataFilters(filters=[*own.filters, *filters])


def _refuse_unsayable(wanted: list[Any], kind: type[errors.KnowledgeError]) -> None:
    # Booleans LlamaIndex has none. Its PostgreSQL store, for one, pastes texts into SQL (run-llama/llama_index#22471).
    if any({*map(type, v)} not in ({str}, {int}, {float}) or {*"'\"\\"} & {*"".join(map(str, v))} for _, v in wanted):
        raise kind("filters are numbers, or text without quotes and backslashes")


def _blocks(retriever: Any) -> bool:
    # LlamaIndex's own asynchronous methods call the synchronous ones, on the event loop.
    empty = ("BaseRetriever._aretrieve", "BasePydanticVectorStore.aquery", "VectorStore.aquery")
    own = (getattr(retriever, "_aretrieve", None), getattr(getattr(retriever, "_vector_store", None), "aquery", None))
    is_empty = any(getattr(method, "__qualname__", "") in empty for method in own)
    children = [_blocks(child) for child in getattr(retriever, "_retrievers", ())]
    return not hasattr(retriever, "aretrieve") or is_empty or (bool(children) and all(children))
