"""Any provider of version 1 as a retrieval source, and any retrieval source as a provider; knows both and no host.

This file awaits. Both ways keep what the other side promises: whose knowledge, which source, and failing aloud.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import Any, Final

from knowledge_provider import failing, limits, merging
from knowledge_provider._contexts import read_context
from knowledge_provider.adapting import refuse_filters
from knowledge_provider.cancel import CancelSignal, read_seconds
from knowledge_provider.composition import compose
from knowledge_provider.errors import (
    KnowledgeBaseUnknownError,
    KnowledgeProviderInvalidError,
    KnowledgeReferenceInvalidError,
    KnowledgeUnavailableError,
)
from knowledge_provider.models import RetrievalContext, RetrievalRequest
from knowledge_provider.provider_calls import Ending, ProviderCalls
from knowledge_provider.sources._asking import of_each, share
from knowledge_provider.sources.records import SourceAnswer, SourceRecord
from knowledge_provider.sources.references import ExternalKnowledgeRef, read_reference
from knowledge_provider.sources.registry import References, registered
from knowledge_provider.sources.retrieving import ask_source
from knowledge_provider.text import is_a

_SECONDS: Final = limits.CALL_SECONDS_DEFAULT
_CUT_OFF: Final = Ending(error=asyncio.CancelledError())


class ProviderSource:
    """A provider of version 1 as a source: each whole source of a reference is one of its knowledge bases.

    A base is asked for by itself, so that each record says which it is from; ``all_accessible`` asks for none. A folder
    or document is refused, since a provider cannot be told to keep to it. It has no listing.

    Args:
        provider: Any object that keeps clauses 1.1 to 1.6.
        name: What references call it; the provider's own key unless given.

    Raises:
        KnowledgeProviderInvalidError: It is no provider.
    """

    def __init__(self, provider: Any, *, name: str | None = None) -> None:
        self._description = compose(provider)
        self._calls = ProviderCalls(provider)
        self.name: str = self._description.key if name is None else name

    @property
    def capabilities(self) -> Mapping[str, bool]:
        """The provider's own, fresh each time."""
        return dict(self._description.capabilities)

    def validate_refs(self, refs: References, binding_level: str, /) -> References:  # noqa: ARG002 - the same on each
        """Those that name a whole source, or everything."""
        return tuple(ref for ref in refs if ref.is_whole)

    async def retrieve(self, query: str, refs: References, context: RetrievalContext, /) -> list[dict[str, Any]]:
        """What the provider finds in each base, by the references' order; raises what it raises for any of them.

        Raises ``KnowledgeReferenceInvalidError`` for a folder or document, and ``KnowledgeOwnerRequiredError``.
        """
        # Clause 10.9: a provider that does not keep owners apart would answer.
        own = read_context(context)
        if not all(ref.is_whole for ref in refs):
            raise KnowledgeReferenceInvalidError(
                "target_type: wanted knowledge_base, and a folder or document came. A provider can be asked for whole "
                "bases alone, and would answer more than was bound. Bind the whole source."
            )
        endings = await of_each(refs, lambda ref: self._of(ref, query, own), lambda _: _CUT_OFF)
        answers = [merging.read_answer(self.name, ending, top_k=limits.TOP_K_MAX) for ending in endings]
        _raise_first(answers, self.name)
        found = [self._records(answer, ref) for answer, ref in zip(answers, refs, strict=True)]
        # In turn, so that one base does not take the room of the others.
        return [record for each in zip_longest(*found) for record in each if record is not None]

    async def _of(self, ref: ExternalKnowledgeRef, query: str, context: RetrievalContext) -> Ending:
        bases = (ref.id,) if ref.mode == "explicit" and ref.id is not None else ()
        request = RetrievalRequest(query=query, top_k=limits.TOP_K_MAX, knowledge_base_ids=bases)
        return await self._calls.retrieve(request, context)

    def _records(self, answer: merging.Answer, ref: ExternalKnowledgeRef) -> list[dict[str, Any]]:
        return [_record(result, self.name, ref, self._description.label) for result in answer.results]


class SourceProvider:
    """A source as a provider of version 1 that answers from the references it was given, and from no others.

    Knowledge bases are the ids of explicit references. It claims nothing: not filters, scores or citations.

    Args:
        source: Any retrieval source (clause 10.1).
        refs: What it may answer from; at least one, all of this source.
        label: What people see; the source's name unless given.
        timeout: Seconds for one call; the caller's deadline shortens them.

    Raises:
        KnowledgeProviderInvalidError: It is no source, or there is no reference of it.
        KnowledgeReferenceInvalidError: One of ``refs`` is none.
    """

    def __init__(
        self, source: object, refs: Iterable[object], *, label: str | None = None, timeout: float = _SECONDS
    ) -> None:
        self._source = registered(source)
        self._refs = _refs(refs, self._source.name)
        self._timeout = read_seconds(timeout)
        self._closed = False
        named = {"key": self._source.name, "label": self._source.name if label is None else label}
        self._said = {"protocolVersion": limits.PROTOCOL_VERSION, **named}
        # Clause 1.5: a label that hosts refuse is refused here.
        compose(self)

    def describe(self) -> dict[str, Any]:
        """The source's name and the label, fresh each time."""
        return dict(self._said)

    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext, /) -> list[dict[str, Any]]:
        """At most ``request.top_k`` results; raises what the source raises.

        Raises ``KnowledgeOwnerRequiredError``, ``KnowledgeFiltersUnsupportedError`` for any filter,
        ``KnowledgeBaseUnknownError`` where no reference is of the bases asked for, and ``KnowledgeUnavailableError``
        once closed.
        """
        context.signal.raise_if_cancelled()
        self._require_open()
        # Clauses 4.4 and 10.9.
        own = read_context(context)
        refuse_filters(request)
        refs, seconds = self._asked_for(request), share(own.signal, self._timeout)
        answer = await ask_source(self._source, request.query, refs, own, top_k=request.top_k, seconds=seconds)
        own.signal.raise_if_cancelled()
        _raise_first([answer], self._source.name)
        return [_result(record, self._source.name) for record in answer.records]

    async def health(self, signal: CancelSignal) -> dict[str, str]:
        """Ready until it is closed: a source has no health of its own."""
        signal.raise_if_cancelled()
        return {"status": "unavailable", "message": "closed"} if self._closed else {"status": "ready"}

    async def close(self) -> None:
        """A search after it is refused (clause 2.2); the source is whose it is."""
        self._closed = True

    def _asked_for(self, request: RetrievalRequest) -> References:
        # Clause 3.4.
        asked = request.knowledge_base_ids
        refs = tuple(ref for ref in self._refs if ref.mode == "explicit" and ref.id in asked) if asked else self._refs
        if not refs:
            raise KnowledgeBaseUnknownError(
                "none of the bases asked for is a source of this provider, and no other may answer for them. Ask for "
                "one that is, or for none."
            )
        return refs

    def _require_open(self) -> None:
        if self._closed:
            raise KnowledgeUnavailableError(
                "Wanted an open provider, and this one was closed: it cannot tell whether there is an answer. Make "
                "another.",
                retryable=False,
            )


def _record(result: merging.Result, name: str, ref: ExternalKnowledgeRef, label: str) -> dict[str, Any]:
    # No `source.uri`: a record holds no raw URL (clause 10.6).
    return {
        "id": result["id"].removeprefix(f"{name}:"),
        "content": result["content"],
        "title": result.get("source", {}).get("title"),
        "source_id": ref.id or ref.mode,
        "source_name": ref.name or ref.id or label,
        "metadata": result.get("metadata", {}),
    }


def _result(record: SourceRecord, name: str) -> dict[str, Any]:
    source = {"id": record.source_id, "title": record.title or record.source_name, "locator": record.source_uri}
    kept = {"id": record.id.removeprefix(f"{name}:"), "content": record.content, "source": source}
    return {**kept, "metadata": record.metadata} if record.metadata else kept


def _refs(refs: Iterable[object], name: str) -> References:
    read = tuple(map(read_reference, refs))
    if not read or any(ref.provider != name for ref in read):
        raise KnowledgeProviderInvalidError(
            f"Wanted at least one reference, all of the source {name}, and "
            f"{'others came too' if read else 'none came'}: nothing else may be asked. Pass references of it."
        )
    return read


def _raise_first(answers: Sequence[merging.Answer | SourceAnswer], name: str) -> None:
    error = next((answer.error for answer in answers if answer.error is not None), None)
    if error is not None:
        # The error itself, since a host reads its code; what would end the caller's task or loop is wrapped.
        raise error if is_a(error, Exception) else failing.failure(error, name)
