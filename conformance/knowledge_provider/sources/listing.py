"""What can be selected under external sources (clause 10.7): one page of each provider, or of each source.

This file awaits. An entry of a page is a reference, ready to be bound, and read by the same rules.
"""

import asyncio
import logging
import time
from collections.abc import Iterable, Sequence
from typing import ClassVar, Final, Literal

from pydantic import BaseModel, ConfigDict

from knowledge_provider import limits, merging
from knowledge_provider._contexts import read_context
from knowledge_provider._origins import why
from knowledge_provider.cancel import read_seconds
from knowledge_provider.errors import KnowledgeInvalidResponseError
from knowledge_provider.models import RetrievalContext
from knowledge_provider.provider_calls import Ending
from knowledge_provider.sources._answered_refs import documents_of, listed_entries
from knowledge_provider.sources._asking import SOURCE_SECONDS, Turns, by_provider, of_each, share
from knowledge_provider.sources.references import ExternalKnowledgeRef, source_key
from knowledge_provider.sources.registry import References, SourceRegistry, read_registry

_LOG: Final = logging.getLogger(__name__)

PAGE_DEFAULT: Final = 20
PAGE_MAX: Final = 100
OFFSET_MAX: Final = 1_000_000
"""Documents of one page, and how many may be passed over."""

PageStatus = Literal["listed", "past_end", "disabled", "ignored", "failed", "limit_out_of_range", "offset_out_of_range"]
"""``disabled``: the source has no listing. ``past_end``: there is nothing from this offset on, which is not 0."""


class DocumentPage(BaseModel):
    """One page of one provider, or of one source of it; ``reason`` is a slug of clause 9.3 where it failed.

    ``source_id`` is the ``id`` of that source; for all that is accessible, which has none, ``scope`` says of what.
    ``next_offset`` is None where there is nothing more.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True)

    provider: str
    source_id: str | None = None
    scope: str | None = None
    status: PageStatus
    reason: str | None = None
    documents: tuple[ExternalKnowledgeRef, ...] = ()
    next_offset: int | None = None


class DocumentListing(BaseModel):
    """Pages, each with an offset of its own: ``pagination_scope`` says of what; there is no window over all of them."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True)

    pagination_scope: Literal["per_provider", "per_source"]
    pages: tuple[DocumentPage, ...] = ()


async def list_documents(
    refs: Iterable[object],
    *,
    context: RetrievalContext,
    registry: SourceRegistry,
    limit: int = PAGE_DEFAULT,
    offset: int = 0,
    timeout: float = SOURCE_SECONDS,  # noqa: ASYNC109 - `asyncio.timeout` waits for who swallows it
) -> DocumentListing:
    """One page of each provider: what a back end lists (``per_provider``).

    ``limit`` is from 1 to 100, ``offset`` from 0 to 1,000,000; others are the status of each page, and nobody is asked.
    The source sees to permissions and order. Raises as ``retrieve_merged`` does, but for the query.
    """
    pages = await _pages(await by_provider(refs), _Window(context, registry, limit, offset, timeout))
    return DocumentListing(pagination_scope="per_provider", pages=tuple(pages))


async def list_merged(
    refs: Iterable[object],
    *,
    context: RetrievalContext,
    registry: SourceRegistry,
    built_in: Sequence[DocumentPage] = (),
    limit: int = PAGE_DEFAULT,
    offset: int = 0,
    timeout: float = SOURCE_SECONDS,  # noqa: ASYNC109 - `asyncio.timeout` waits for who swallows it
) -> DocumentListing:
    """One page of each source, the host's own pages first: what is left to show after merging (``per_source``).

    ``limit`` and ``offset`` count within each source. A provider of many sources is asked for at most 32 pages at a
    time, and those that are not there when ``timeout`` is over have failed by it. Raises as ``list_documents``.
    """
    sources: dict[str, list[ExternalKnowledgeRef]] = {}
    for _, held in await by_provider(refs):
        for ref in held:
            sources.setdefault(source_key(ref), []).append(ref)
    asked = [(held[0].provider, tuple(held)) for held in sources.values()]
    pages = await _pages(asked, _Window(context, registry, limit, offset, timeout))
    named = [page.model_copy(update=_source(held[0])) for page, (_, held) in zip(pages, asked, strict=True)]
    return DocumentListing(pagination_scope="per_source", pages=(*built_in, *named))


def _source(ref: ExternalKnowledgeRef) -> dict[str, str | None]:
    # What ``source_key`` tells sources apart by.
    return {"source_id": ref.id, "scope": ref.scope if ref.mode == "all_accessible" else None}


class _Window:
    """What every page has in common, read and checked once."""

    def __init__(
        self, context: RetrievalContext, registry: SourceRegistry, limit: object, offset: object, timeout: object
    ) -> None:
        # Clause 10.9.
        self.context = read_context(context)
        self.registry = read_registry(registry)
        self.limit = limit if type(limit) is int and 1 <= limit <= PAGE_MAX else 0
        self.offset = offset if type(offset) is int and 0 <= offset <= OFFSET_MAX else -1
        seconds = share(self.context.signal, read_seconds(timeout))
        self._ends = time.monotonic() + seconds
        self._turns = Turns()
        self._gates: dict[str, _Gate] = {}

    async def page(self, name: str, refs: References) -> DocumentPage:
        source = self.registry.get(name)
        if (status := self._not_asked(source is not None, source is not None and source.can_list)) or source is None:
            reason = "not_registered" if status == "ignored" else None
            return DocumentPage(provider=name, status=status or "ignored", reason=reason)
        gate = self._gates.setdefault(name, _Gate())
        async with gate.calls:
            ending = await source.list_documents(refs, self.context, self.limit, self.offset, self._left())
        async with gate.reading:
            return await self._turns.read(lambda: self._read(gate, name, refs, ending))

    def _left(self) -> float:
        return max(0.0, self._ends - time.monotonic())

    def _read(self, gate: "_Gate", name: str, refs: References, ending: Ending) -> DocumentPage:
        # To read a page takes a while, and a thousand may come. The first one is read, however late the loop is.
        late = gate.has_read and not self._left()
        gate.has_read = True
        return _page(name, refs, Ending(timed_out=True) if late else ending, self.limit, self.offset)

    def _not_asked(self, registered: bool, can_list: bool) -> PageStatus | None:
        # Clauses 10.3 and 10.7: disabled is not failed. First, since no other window would change it.
        if not registered:
            return "ignored"
        if not can_list:
            return "disabled"
        if not self.limit:
            return "limit_out_of_range"
        return "offset_out_of_range" if self.offset < 0 else None


class _Gate:
    """What a source of many pages may take at a time, so that it keeps no other waiting (clauses 7.5, 9.2)."""

    def __init__(self) -> None:
        self.calls = asyncio.Semaphore(limits.CONCURRENCY_MAX)
        self.reading = asyncio.Lock()
        self.has_read = False


async def _pages(asked: Sequence[tuple[str, References]], window: _Window) -> list[DocumentPage]:
    window.context.signal.raise_if_cancelled()
    pages = await of_each(asked, lambda each: window.page(*each), lambda each: _cut_off(each[0]))
    window.context.signal.raise_if_cancelled()
    return pages


def _cut_off(name: str) -> DocumentPage:
    return _failed(name, Ending(error=asyncio.CancelledError()))


def _failed(name: str, ending: Ending) -> DocumentPage:
    # Clause 9.3.
    answer = merging.read_answer(name, ending, top_k=1)
    reason = answer.report.reason or "error"
    _LOG.warning("documents of the knowledge source %s: failed, %s%s", name, reason, why(answer.error))
    return DocumentPage(provider=name, status="failed", reason=reason)


def _page(name: str, refs: References, ending: Ending, limit: int, offset: int) -> DocumentPage:
    if ending.error is not None or ending.timed_out:
        return _failed(name, ending)
    entries = listed_entries(ending.value, limit)
    documents = tuple(documents_of(name, refs, entries or ()))
    # Clause 5.10: an answer of which nothing is left is no empty one.
    if entries is None or (entries and not documents):
        return _failed(name, Ending(error=KnowledgeInvalidResponseError("no documents", provider_key=name)))
    more = offset + limit if len(entries) >= limit else None
    status: PageStatus = "past_end" if offset and not entries else "listed"
    return DocumentPage(provider=name, status=status, documents=documents, next_offset=more)
