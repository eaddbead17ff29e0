"""Any provider of version 1 as a retrieval source, and any retrieval source as a provider; knows both and no host.

This file awaits. Both ways keep what the other side promises: whose knowledge, which source, and failing aloud.
"""

import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice, zip_longest
from typing import Any, Final
from urllib.parse import quote

from knowledge_provider import failing, limits, merging
from knowledge_provider._contexts import read_context
from knowledge_provider.adapting import refuse_filters, stable_id
from knowledge_provider.cancel import CancelSignal, read_seconds
from knowledge_provider.composition import compose
from knowledge_provider.errors import (
    KnowledgeBaseUnknownError,
    KnowledgeProviderInvalidError,
    KnowledgeReferenceInvalidError,
    KnowledgeUnavailableError,
)
from knowledge_provider.models import RetrievalContext, RetrievalRequest
from knowledge_provider.outcome import SourceReport
from knowledge_provider.provider_calls import Ending, ProviderCalls
from knowledge_provider.sources import screening
from knowledge_provider.sources._answered_records import made_uri
from knowledge_provider.sources._asking import Turns, of_each, share
from knowledge_provider.sources.records import result_of
from knowledge_provider.sources.references import ExternalKnowledgeRef, read_reference
from knowledge_provider.sources.registry import References, registered
from knowledge_provider.sources.retrieving import ask_source
from knowledge_provider.text import is_a

_SECONDS: Final = limits.CALL_SECONDS_DEFAULT
# As many as anybody looks at (rule N2).
_RESULTS_MAX: Final = limits.TOP_K_MAX * limits.CANDIDATES_PER_RESULT


class ProviderSource:
    """A provider of version 1 as a source: each whole source of a reference is one of its knowledge bases.

    A base is asked for by itself, at most 32 at a time, so that each record says which it is from; ``all_accessible``
    asks for none. What a provider cannot be told to keep to does not stand: a folder, a document, a scope beside
    ``all_accessible``, and an id of more than 120 characters. A base that fails, hangs or is not known costs its
    own records: each has 10 seconds, and nine tenths of what is left of the caller's deadline. It has no listing.

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
        """Those that name a whole source, or everything: what a provider can be told to keep to."""
        return tuple(ref for ref in refs if _beyond(ref) is None)

    async def retrieve(self, query: str, refs: References, context: RetrievalContext, /) -> dict[str, Any]:
        """What the provider finds in each base, by the references' order, and in ``sources`` which it did not answer.

        Raises what the provider raised where no base gave anything and one of them failed, or none is known to it;
        ``KnowledgeReferenceInvalidError`` for what a provider cannot be asked, and ``KnowledgeOwnerRequiredError``.
        """
        # Clause 10.9: a provider that does not keep owners apart would answer.
        own = read_context(context)
        if wanted := next(filter(None, map(_beyond, refs)), None):
            raise KnowledgeReferenceInvalidError(
                f"{wanted}. A provider can be asked for whole bases or for everything, and would answer more than was "
                "bound, or nothing. Bind the whole source."
            )
        asking = _Asking(share(own.signal, _SECONDS))
        answers = await of_each(
            refs,
            lambda ref: self._of(ref, query, own, asking),
            lambda ref: _read(ref, Ending(error=asyncio.CancelledError())),
        )
        if (error := _unanswered(answers)) is not None:
            raise _raisable(error, self.name)
        # In turn, so that one base does not take the room of the others.
        pairs = ([(result, ref) for result in answer.results] for answer, ref in zip(answers, refs, strict=True))
        found = (pair for each in zip_longest(*pairs) for pair in each if pair is not None)
        results = [
            _record(result, ref, self.name, self._description.label) for result, ref in islice(found, _RESULTS_MAX)
        ]
        return {"results": results, "sources": _reports(answers, refs)}

    async def _of(
        self, ref: ExternalKnowledgeRef, query: str, context: RetrievalContext, asking: "_Asking"
    ) -> merging.Answer:
        bases = (ref.id,) if ref.mode == "explicit" and ref.id is not None else ()
        request = RetrievalRequest(query=query, top_k=limits.TOP_K_MAX, knowledge_base_ids=bases)
        async with asking.gate:
            ending = await self._calls.retrieve(request, context, asking.left())
        return await asking.turns.read(lambda: _read(ref, ending))


class _Asking:
    """What the bases of one call share: how many are asked at a time (7.5), until when (9.1), and turns (7.4)."""

    def __init__(self, seconds: float) -> None:
        self._ends = time.monotonic() + seconds
        self.gate = asyncio.Semaphore(limits.CONCURRENCY_MAX)
        self.turns = Turns()

    def left(self) -> float:
        """Seconds until the answers that have come have to be handed on."""
        return max(0.0, self._ends - time.monotonic())


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

    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext, /) -> dict[str, Any]:
        """At most ``request.top_k`` results, and in ``sources`` what the source did not answer for.

        Raises what the source raises, ``KnowledgeOwnerRequiredError``, ``KnowledgeFiltersUnsupportedError`` for any
        filter, ``KnowledgeBaseUnknownError`` where no reference is of the bases asked for, and
        ``KnowledgeUnavailableError`` once closed.
        """
        context.signal.raise_if_cancelled()
        self._require_open()
        # Clauses 4.4 and 10.9.
        own = read_context(context)
        refuse_filters(request)
        refs, seconds = self._asked_for(request), share(own.signal, self._timeout)
        answer = await ask_source(
            self._source, request.query, refs, own, top_k=request.top_k, seconds=seconds, turns=Turns()
        )
        own.signal.raise_if_cancelled()
        if answer.error is not None:
            raise _raisable(answer.error, self._source.name)
        # A provider's own ids: whoever has several tells them apart.
        found = [{**result_of(each), "id": each.id.removeprefix(f"{each.source_type}:")} for each in answer.records]
        return {"results": found, "sources": [each.model_dump(exclude={"source_ids"}) for each in answer.inner]}

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


def _beyond(ref: ExternalKnowledgeRef) -> str | None:
    """Which field of a reference says what no provider can be told, and what was wanted of it, or None."""
    if not ref.is_whole:
        return "target_type: wanted knowledge_base, and a folder or document came"
    # Clause 3.4: left out, it would be asked as everything.
    if ref.mode == "all_accessible" and ref.scope is not None:
        return "scope: wanted none beside all_accessible, and one came"
    # Clause 3.1.
    if ref.id is not None and len(ref.id) > limits.BASE_ID_MAX:
        return f"id: wanted the id of a base, at most {limits.BASE_ID_MAX} characters, and a longer one came"
    return None


def _base_key(ref: ExternalKnowledgeRef) -> str:
    """What tells one base's ids from another's: clause 5.3 asks that they differ within a response alone."""
    if ref.id is None:
        return "*"
    plain = ref.id.replace("%", "%25").replace(":", "%3A")
    return plain if len(plain) <= limits.KEY_MAX else stable_id(ref.id)


def _read(ref: ExternalKnowledgeRef, ending: Ending) -> merging.Answer:
    return merging.read_answer(_base_key(ref), ending, top_k=limits.TOP_K_MAX)


def _cut_off(ref: ExternalKnowledgeRef) -> merging.Answer:
    return _read(ref, Ending(error=asyncio.CancelledError()))


def _record(result: merging.Result, ref: ExternalKnowledgeRef, name: str, label: str) -> dict[str, Any]:
    source = result.get("source", {})
    # Clause 6.2: a non-public place may stand in both, and a record holds no raw URL (clause 10.6).
    page, locator = (shown if shown and not screening.fault(shown) else None for shown in _places(source))
    base = ref.id or ref.mode
    uri = made_uri(name, base, page) if page else made_uri(name, base)
    return {
        "id": result["id"],
        "content": result["content"],
        "title": source.get("title"),
        "source_id": ref.id or page or base,
        "source_name": ref.name or ref.id or label,
        "source_uri": f"{uri}#{quote(locator, safe='')}" if locator else uri,
        "metadata": result.get("metadata", {}),
    }


def _places(source: Mapping[str, str]) -> tuple[str | None, str | None]:
    return source.get("id"), source.get("locator")


def _reports(answers: Sequence[merging.Answer], refs: References) -> list[dict[str, Any]]:
    """Clause 5.11: the bases that did not answer, or not for all that is behind them, by their ids."""
    reports = (
        report.model_copy(update={"key": ref.id or ref.mode, "count": answer.report.count})
        for answer, ref in zip(answers, refs, strict=True)
        if (report := _unheard(answer)) is not None
    )
    return [report.model_dump(exclude_none=True) for report in reports]


def _unheard(answer: merging.Answer) -> SourceReport | None:
    # A composite that found something says in this way that a child of its own failed.
    failed = (report for report in answer.inner if report.status == "failed")
    return answer.report if answer.error is not None else next(failed, None)


def _unanswered(answers: Sequence[merging.Answer]) -> BaseException | None:
    """What to raise where nothing was found and not everything was asked, or nothing could be; else None (9.4)."""
    if any(answer.results for answer in answers):
        return None
    failed = [answer.error for answer in answers if answer.report.status == "failed"]
    refused = [answer.error for answer in answers if answer.error is not None]
    all_refused = len(refused) == len(answers)
    return next(iter([*failed, *(refused if all_refused else ())]), None)


def _refs(refs: Iterable[object], name: str) -> References:
    read = tuple(map(read_reference, refs))
    if not read or any(ref.provider != name for ref in read):
        raise KnowledgeProviderInvalidError(
            f"Wanted at least one reference, all of the source {name}, and "
            f"{'others came too' if read else 'none came'}: nothing else may be asked. Pass references of it."
        )
    return read


def _raisable(error: BaseException, name: str) -> Exception:
    # The error itself, since a host reads its code; what would end the caller's task or loop is wrapped.
    return error if is_a(error, Exception) else failing.failure(error, name)
