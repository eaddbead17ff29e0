"""A Haystack component or pipeline as a knowledge provider, to be copied alone; knows Haystack's shapes, no host."""

import os
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from knowledge_provider import CancelSignal, adapting, errors, services
from knowledge_provider.models import Health, ProviderDescription, RetrievalContext, RetrievalRequest, RetrievalResult

if TYPE_CHECKING:
    import haystack.core.component

# Haystack reads it once, at its own import: it would write a file then, and post later what pipelines are made of.
os.environ.setdefault("HAYSTACK_TELEMETRY_ENABLED", "False")


class HaystackProvider:
    """Answers from ``target``, a component that takes a text and gives documents, or a ``Pipeline`` that does.

    ``query_to`` names the inputs for the query, ``documents_from`` the output; in a pipeline, ``"part.socket"``.
    ``score_kind`` says what scores mean; without it there are none. A ``distance`` is negated. ``zero_is_no_match``
    leaves out what scores 0. ``uri_key`` and ``title_key`` name the meta with a document's URL or path and title;
    ``citations`` says that public URLs are among them. ``knowledge_base`` is the id of the target's one.
    ``filter_keys`` are the meta that requests may filter by, ``scope`` gives those of the context's owner, ``{"owner":
    …}``: both go to every free input ``filters``. ``in_thread`` says whether to call ``run``, in a daemon thread; by
    default, where ``run_async`` is missing or in name only. ``close()`` leaves the target open. Telemetry ends, unless
    ``HAYSTACK_TELEMETRY_ENABLED=True``.

    Raises ``TypeError``, ``ValueError`` or ``KeyError`` for what cannot be asked so, or breaks clause 1.4 or 1.5.
    """

    def __init__(
        self,
        target: "haystack.Pipeline | haystack.core.component.Component",
        *,
        key: str,
        label: str,
        query_to: str | Collection[str] = "query",
        documents_from: str = "documents",
        score_kind: Literal["similarity", "distance", "relevance"] | None = None,
        zero_is_no_match: bool = False,
        uri_key: str = "url",
        title_key: str = "title",
        citations: bool = False,
        knowledge_base: str | None = None,
        filter_keys: Collection[str] = (),
        scope: Callable[[RetrievalContext], Mapping[str, Any]] | None = None,
        in_thread: bool | None = None,
    ) -> None:
        from haystack.telemetry import _telemetry

        if os.environ.get("HAYSTACK_TELEMETRY_ENABLED", "").lower() not in ("true", "1"):
            _telemetry.telemetry = None
        parts: dict[str, Any] = dict(getattr(target, "walk", dict)()) or {"": target}
        self._in_thread = any(map(_blocks, parts.values())) if in_thread is None else in_thread
        self._run: Any = getattr(target, "run" if self._in_thread else "run_async", None)
        sockets = {name: vars(getattr(part, "__haystack_input__", object)) for name, part in parts.items()}
        free = {(name, it) for name, of in sockets.items() for it in of if getattr(of[it], "senders", None) == []}
        self._queries = {it.rpartition(".")[::2] for it in ([query_to] if isinstance(query_to, str) else query_to)}
        if self._run is None or not self._queries or not self._queries <= free:
            raise TypeError(f"nothing of Haystack's, or no {query_to=} for {in_thread=}; free inputs: {sorted(free)}")
        self._narrowed = {part: parts[part] for part, socket in free if socket == "filters"}
        if not self._narrowed and (filter_keys or scope is not None):
            raise ValueError("there is no free input 'filters', so filter_keys and scope would keep nothing apart")
        claims = {"filters": bool(filter_keys), "scores": score_kind is not None, "citations": citations}
        self._description = ProviderDescription(protocol_version=1, key=key, label=label, capabilities=claims)
        self._result_of, self._closed = partial(adapting.result_of, uri_key=uri_key, title_key=title_key), False
        self._part, _, self._output = documents_from.rpartition(".")
        self._threads, self._k = adapting.DaemonThreads(), {(self._part, "top_k")} & free
        self._base, self._scope, self._keys, self._cut = knowledge_base, scope, frozenset(filter_keys), zero_is_no_match
        self._sign = {None: None, "similarity": 1, "relevance": 1, "distance": -1}[score_kind]

    def describe(self) -> ProviderDescription:
        """The same description each time (clause 1.7)."""
        return self._description.model_copy(deep=True)

    def health(self) -> Health:
        """``ready`` until closed: a component cannot be asked whether its back end is up."""
        return Health(status="unavailable" if self._closed else "ready")

    def close(self) -> None:
        """Refuse further calls (clause 2.2)."""
        self._closed = True

    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> list[RetrievalResult]:
        """At most ``request.top_k`` results in Haystack's order; every failure is a ``KnowledgeError``."""
        if self._closed:
            raise errors.KnowledgeFailedError("this provider is closed; make a new one to search again")
        context.signal.raise_if_cancelled()
        adapting.refuse_other_bases(request, self._base)
        # Clause 3.5. The names are the user's, as some stores paste them into SQL.
        if not request.filters.keys() <= self._keys:
            raise errors.KnowledgeFiltersUnsupportedError("wanted filters by filter_keys alone, and another came")
        try:
            wanted = adapting.equal_filters(request) + adapting.owner_filters(self._scope, context)
            async with services.time_limit(context.signal):
                found = await self._search(request, wanted, context.signal)
            return adapting.usable(self._results(found, wanted), request.top_k)
        except errors.KnowledgeError:
            raise
        except Exception as error:
            # What a component raised stands behind a pipeline's error, and nothing does when it gave no outputs.
            cause: Any = error.__cause__ if type(error).__name__ == "PipelineRuntimeError" else error
            if isinstance(cause, errors.KnowledgeError):
                raise cause from cause.__cause__
            if isinstance(cause, AttributeError | LookupError | TypeError | None):
                raise errors.KnowledgeInvalidResponseError("Haystack broke, or gave no list of documents") from error
            raise adapting.failure(cause, "Haystack") from error

    async def _search(self, request: RetrievalRequest, wanted: list[Any], signal: CancelSignal) -> Collection[Any]:
        given: dict[Any, Any] = dict.fromkeys(self._queries, request.query) | dict.fromkeys(self._k, request.top_k)
        given |= {(name, "filters"): _all_of(part, wanted) for name, part in self._narrowed.items() if wanted}
        told = {part: {socket: it for (of, socket), it in given.items() if of == part} for part, _ in given}
        sent = {"data": told, "include_outputs_from": {self._part}} if self._part else told[""]
        answer = await (self._threads.run(signal, self._run, **sent) if self._in_thread else self._run(**sent))
        return adapting.records_of((answer[self._part] if self._part else answer)[self._output], "Haystack")

    def _results(self, found: Collection[Any], wanted: list[Any]) -> Iterator[RetrievalResult | None]:
        taken: dict[str, str] = {}
        for it, meta, score in ((it, it.meta or {}, adapting.plain_number(it.score)) for it in found):
            # Clauses 3.5 and 4.3: looked at here too, as not every component keeps to filters.
            if not adapting.fits(meta, wanted) or (self._cut and score == 0):
                continue
            # Clause 5.4: where scores are claimed, every result has one, so a document without a finite one goes.
            text = "" if self._sign and score is None else it.content
            # Clause 5.4: higher is better. A distance of 0 stays 0, as -0.0 would only puzzle.
            meant = self._sign and score and score * self._sign
            yield self._result_of(text, meta, taken, vendor_id=it.id, score=meant)


def _all_of(part: Any, wanted: list[Any]) -> dict[str, Any]:
    # Also its own, whose place they would take; one level down, where no policy of Haystack's drops one for its field.
    own = getattr(part, "filters", None) or getattr(part, "_filters", None)
    each = [(name, "in", values) if values[1:] else (name, "==", values[0]) for name, values in wanted]
    all_of = [{"field": f"meta.{name}", "operator": operator, "value": value} for name, operator, value in each]
    return {"operator": "AND", "conditions": [{"operator": "AND", "conditions": [own, *all_of] if own else all_of}]}


def _blocks(part: Any) -> bool:
    # A store in memory is asynchronous in name only: it has a thread for that, or Qdrant's another store.
    store = getattr(part, "document_store", None) or getattr(part, "_document_store", None)
    return not hasattr(part, "run_async") or "memory" in str(getattr(store, "location", type(store)))
