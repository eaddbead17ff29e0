"""External sources for tests of whoever merges them (clause 10); knows the contract, no host, task or real system.

``mixed_registry()`` has one of each kind: one that finds and lists, one that pages, one without a listing, one that
finds nothing and one that is down. ``HOSTILE_SOURCES`` are those that try to cost others something.
"""

import asyncio
import inspect
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from knowledge_fakes._hostile_sources import HOSTILE_SOURCES, SECRET_URL, HostileSource
from knowledge_fakes.handbook import load_handbook
from knowledge_provider import RetrievalContext, RetrievalRequest
from knowledge_provider.errors import KnowledgeOwnerRequiredError, KnowledgeUnavailableError
from knowledge_provider.limits import TOP_K_MAX
from knowledge_provider.sources import ExternalKnowledgeRef, SourceRegistry
from knowledge_provider.text import is_a, is_blank

__all__ = [
    "HOSTILE_SOURCES",
    "SECRET_URL",
    "HandbookSource",
    "HostileSource",
    "PagingSource",
    "ScriptedSource",
    "SourceCall",
    "handbook_source",
    "mixed_registry",
    "reference",
]

References = tuple[ExternalKnowledgeRef, ...]

_BASES: Final = ("engineering", "people", "support")


class SourceCall(NamedTuple):
    """One call of ``retrieve``, with the very objects that came."""

    query: str
    refs: References
    context: RetrievalContext


def reference(provider: str, source_id: str = "kb-1", **fields: Any) -> ExternalKnowledgeRef:
    """An explicit reference, for short."""
    return ExternalKnowledgeRef(provider=provider, id=source_id, **fields)


class ScriptedSource:
    """Answers each ``retrieve`` with the next of ``answers``, and with the last one again; without any, with nothing.

    An exception or a class of exceptions is raised; what can be called is called with the query, the references and the
    context, and awaited where that is needed. ``calls`` holds what came. It has neither a listing nor a validation.
    """

    def __init__(
        self, name: str, answers: Iterable[object] = (), *, capabilities: Mapping[str, bool] | None = None
    ) -> None:
        self.name = name
        self.capabilities: Mapping[str, bool] = dict(capabilities or {})
        self.calls: list[SourceCall] = []
        self._answers = tuple(answers) or ([],)

    async def retrieve(self, query: str, refs: References, context: RetrievalContext, /) -> Any:
        """The next answer."""
        self.calls.append(SourceCall(query, refs, context))
        answer = self._answers[min(len(self.calls), len(self._answers)) - 1]
        if is_a(answer, BaseException) or (is_a(answer, type) and issubclass(answer, BaseException)):
            raise answer
        given: object = answer(query, refs, context) if callable(answer) else answer
        return await given if inspect.isawaitable(given) else given


class PagingSource(ScriptedSource):
    """A source with ``documents`` documents in each of its sources, which its back end lists page by page."""

    def __init__(self, name: str, answers: Iterable[object] = (), *, documents: int = 5) -> None:
        super().__init__(name, answers, capabilities={"list_documents": True})
        self.pages: list[tuple[int, int]] = []
        self._documents = documents

    async def list_documents(
        self, refs: References, context: RetrievalContext, limit: int, offset: int, /
    ) -> dict[str, Any]:
        """The documents of all references in order, from ``offset``."""
        context.signal.raise_if_cancelled()
        self.pages.append((limit, offset))
        all_of_them = [_entry(ref, place) for ref in refs for place in range(1, self._documents + 1)]
        return {"documents": all_of_them[offset : offset + limit], "total": len(all_of_them)}


class HandbookSource:
    """The handbook as a source that keeps clause 10: each knowledge base is a source, and documents can be bound alone.

    The owners ``mara`` and ``tomas`` have private notes in it, which nobody else sees.
    """

    name = "handbook"

    @property
    def capabilities(self) -> Mapping[str, bool]:
        """It can be browsed; a fresh mapping each time."""
        return {"list_documents": True}

    def validate_refs(self, refs: References, binding_level: str, /) -> References:
        """Those that name a knowledge base, or everything. Bindings are to tasks alone."""
        if binding_level != "task":
            return ()
        return tuple(ref for ref in refs if ref.mode == "all_accessible" or ref.id in _BASES)

    async def retrieve(self, query: str, refs: References, context: RetrievalContext, /) -> list[dict[str, Any]]:
        """What the context's owner may see of the references, best first."""
        await self._admit(context)
        bases = () if _everything(refs) else tuple(ref.id for ref in refs if ref.id is not None)
        request = RetrievalRequest(query=query, top_k=TOP_K_MAX, knowledge_base_ids=tuple(dict.fromkeys(bases)))
        book = load_handbook(owner=context.owner_id)
        found = [(book.passages[result["id"]], result) for result in book.search(request)]
        return [
            {"source_id": passage.base, "title": passage.source["title"], **_without_link(result)}
            for passage, result in found
            if _is_bound(passage.base, passage.source["id"], refs)
        ]

    async def list_documents(
        self, refs: References, context: RetrievalContext, limit: int, offset: int, /
    ) -> list[dict[str, Any]]:
        """The documents of the references that the context's owner may see, by their ids."""
        await self._admit(context)
        passages = load_handbook(owner=context.owner_id).passages.values()
        held = {(each.base, each.source["id"]): each.source["title"] for each in passages}
        documents = [
            {"id": base, "document_id": document, "target_name": title}
            for (base, document), title in sorted(held.items())
            if _is_bound(base, document, refs)
        ]
        return documents[offset : offset + limit]

    async def _admit(self, context: RetrievalContext) -> None:
        context.signal.raise_if_cancelled()
        if is_blank(context.owner_id):
            raise KnowledgeOwnerRequiredError("no owner came, and this source keeps owners apart: name one")
        # A search holds the loop for its whole length, so the others go first once; a cancellation arrives here.
        await asyncio.sleep(0)
        context.signal.raise_if_cancelled()


def handbook_source() -> HandbookSource:
    """A fresh handbook as a source; ``--source=knowledge_fakes.sources:handbook_source``."""
    return HandbookSource()


def mixed_registry() -> SourceRegistry:
    """A registry of five: ``handbook``, ``paging``, ``plain`` without a listing, ``silent``, and ``down``."""
    found = [{"id": "1", "content": "The release checklist."}, {"id": "2", "content": "Who is on call."}]
    return SourceRegistry(
        HandbookSource(),
        PagingSource("paging", [found]),
        ScriptedSource("plain", [found]),
        ScriptedSource("silent"),
        ScriptedSource("down", [KnowledgeUnavailableError("the service is down")]),
    )


def _entry(ref: ExternalKnowledgeRef, place: int) -> dict[str, Any]:
    return {"id": ref.id, "document_id": f"doc-{place}", "target_name": f"Document {place}"}


def _everything(refs: References) -> bool:
    return any(ref.mode == "all_accessible" for ref in refs)


def _is_bound(base: str, document: str, refs: References) -> bool:
    return _everything(refs) or any(ref.id == base and (ref.is_whole or ref.document_id == document) for ref in refs)


def _without_link(result: dict[str, Any]) -> dict[str, Any]:
    # Clause 10.6: no raw URL.
    return {name: result[name] for name in ("id", "content", "metadata")}
