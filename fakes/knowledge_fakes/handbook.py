"""The embedded provider: a real handbook of an invented company; knows its documents and the contract, no kit, no host.

``knowledge_fakes.handbook:provider`` is a target that keeps every clause that applies to it. Use it to see what a
passing run looks like, as a stand-in while there is no real provider yet, or as the sound part of a faulty one.
"""

import asyncio
import re
import tomllib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from itertools import islice
from types import MappingProxyType
from typing import Any, Final

from knowledge_fakes.search import Index, build_index, search
from knowledge_provider import PROTOCOL_VERSION, CancelSignal, RetrievalContext, RetrievalRequest
from knowledge_provider.errors import (
    KnowledgeFiltersUnsupportedError,
    KnowledgeOwnerRequiredError,
    KnowledgeUnavailableError,
)
from knowledge_provider.text import is_blank

SITE: Final = "https://handbook.example.com"
"""Where the invented company keeps its handbook; a public name by the URI policy, and nothing is there."""

_SECTION: Final = re.compile(r"^## (.+) \{#([a-z0-9-]+)\}$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Passage:
    """One section of one document: ``id`` is ``document#section``, ``base`` the knowledge base that holds it.

    ``heading`` helps a query to find the passage; ``content`` is what it answers. ``owner`` is who alone may see it, or
    None where all may.
    """

    id: str
    base: str
    heading: str
    content: str
    source: Mapping[str, str]
    metadata: Mapping[str, str | int | bool]
    owner: str | None = None


@dataclass(frozen=True, slots=True)
class Handbook:
    """Every passage that one reader may see by its id, and the index over them."""

    passages: Mapping[str, Passage]
    index: Index

    def search(self, request: RetrievalRequest) -> list[dict[str, Any]]:
        """At most ``request.top_k`` results in wire spelling, best first; the caller may change them.

        Raises ``KnowledgeFiltersUnsupportedError`` for a filter that is not equality on a metadata field.
        """
        self._refuse_other_filters(request.filters)
        hits = search(self.index, request.query)
        allowed = (hit for hit in hits if _is_asked_for(self.passages[hit.id], request))
        # Clause 3.3.
        return [_result(self.passages[hit.id], hit.score) for hit in islice(allowed, request.top_k)]

    def _refuse_other_filters(self, filters: Mapping[str, object]) -> None:
        # Clause 3.5: refused, not ignored, and so is a misspelt field. What came is not repeated: it may be a secret.
        fields = {name for passage in self.passages.values() for name in passage.metadata}
        for place, (name, value) in enumerate(filters.items(), start=1):
            if name not in fields or not isinstance(value, str | int | float):
                raise KnowledgeFiltersUnsupportedError(
                    f"Wanted each filter to be one of the fields {', '.join(sorted(fields))} with the text, number or "
                    f"boolean that it equals; filter {place} of {len(filters)} is not. Leaving it out would answer "
                    "more than was asked for, so nothing was searched. Ask with a filter such as "
                    '{"department": "people"}.'
                )


def load_handbook(documents: Collection[str] | None = None, *, owner: str | None = None) -> Handbook:
    """Read the handbook, or only the ``documents`` of these ids. Raises ``ValueError`` for an id that is not in it.

    The whole handbook has the private notes of its ``owner``, too: ``mara`` and ``tomas`` keep some.
    """
    if documents is not None:
        return _load(tuple(documents), None)
    return _load(None, owner if owner in _owners() else None)


def read_document(document: str, text: str) -> tuple[Passage, ...]:
    """The sections of one document: a TOML head between ``+++`` lines, ``# Title``, then ``## Heading {#section}``."""
    _, head, body = text.split("+++\n", 2)
    about = tomllib.loads(head)
    title, *parts = _SECTION.split(body)
    source = {
        "id": document,
        "title": title.strip().removeprefix("# "),
        "uri": f"{SITE}/{document}",
        "mimeType": "text/markdown",
    }
    return tuple(
        Passage(
            id=f"{document}#{section}",
            base=about["base"],
            heading=heading,
            content=content.strip(),
            source=MappingProxyType({**source, "locator": f"section={section}"}),
            metadata=MappingProxyType(about["metadata"]),
            owner=about.get("owner"),
        )
        for heading, section, content in zip(parts[::3], parts[1::3], parts[2::3], strict=True)
    )


class HandbookProvider:
    """The handbook behind the contract, asynchronous; ``documents`` narrows it to these document ids.

    Claims ``filters`` (equality on ``department``, ``language``, ``revision`` and ``binding``), ``scores`` and
    ``citations``. Knowledge bases: ``engineering``, ``people``, ``support``. The owners ``mara`` and ``tomas`` have
    private notes in it, which nobody else sees, unless it is narrowed.
    """

    def __init__(self, documents: Collection[str] | None = None) -> None:
        load_handbook(documents)
        self._documents = documents
        self._closed = False

    def describe(self) -> dict[str, Any]:
        """A fresh description each time, so that nothing done to an earlier one shows (clauses 1.7, 1.8)."""
        return _describe("handbook", "Tarnbrook handbook")

    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> dict[str, Any]:
        """Search what the context's owner may see. Raises as ``Handbook.search``.

        Raises ``KnowledgeUnavailableError`` after ``close``, and ``KnowledgeOwnerRequiredError`` for a blank owner.
        """
        # Clause 7.3.
        context.signal.raise_if_cancelled()
        # A search holds the loop for its whole length, so the others go first once; a cancellation arrives here.
        await asyncio.sleep(0)
        context.signal.raise_if_cancelled()
        return {"results": _opened(self._documents, context, self._closed).search(request)}

    async def health(self, signal: CancelSignal) -> dict[str, Any]:
        """Ready until it is closed (clause 2.1)."""
        signal.raise_if_cancelled()
        return _health(self._closed)

    async def close(self) -> None:
        """End it; a second time changes nothing, and a search after it is refused (clause 2.2)."""
        self._closed = True


class SyncHandbookProvider:
    """The same handbook for hosts that call from a thread: all of its methods are synchronous."""

    def __init__(self, documents: Collection[str] | None = None) -> None:
        load_handbook(documents)
        self._documents = documents
        self._closed = False

    def describe(self) -> dict[str, Any]:
        """A fresh description each time (clauses 1.7, 1.8)."""
        return _describe("handbook-sync", "Tarnbrook handbook, synchronous")

    def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> dict[str, Any]:
        """Search what the context's owner may see. Raises as ``Handbook.search``.

        Raises ``KnowledgeUnavailableError`` after ``close``, and ``KnowledgeOwnerRequiredError`` for a blank owner.
        """
        # Clause 7.3.
        context.signal.raise_if_cancelled()
        return {"results": _opened(self._documents, context, self._closed).search(request)}

    def health(self) -> dict[str, Any]:
        """Ready until it is closed (clause 2.1)."""
        return _health(self._closed)

    def close(self) -> None:
        """End it; a second time changes nothing (clause 2.2)."""
        self._closed = True


def provider() -> HandbookProvider:
    """A fresh handbook; ``--provider=knowledge_fakes.handbook:provider``."""
    return HandbookProvider()


def sync_provider() -> SyncHandbookProvider:
    """A fresh synchronous handbook; ``--provider=knowledge_fakes.handbook:sync_provider``."""
    return SyncHandbookProvider()


def refuse_all_filters(request: RetrievalRequest) -> None:
    """For providers over the handbook that do not claim ``filters``: raise when there are any (clause 3.5)."""
    if request.filters:
        raise KnowledgeFiltersUnsupportedError(
            f"Wanted no filters, and {len(request.filters)} came. This provider cannot honour them, and leaving them "
            "out would answer more than was asked for. Ask without filters, or ask the handbook itself."
        )


# Frozen, so it can be shared: a kit makes a fresh provider for each of its checks, and indexing takes 10 ms. An index
# for each owner: in one over all notes, another's words would weigh on the scores.
@lru_cache(maxsize=8)
def _load(documents: tuple[str, ...] | None, owner: str | None) -> Handbook:
    shared = {name: held for name, held in _documents().items() if held[0].owner is None}
    if unknown := set(documents or ()) - shared.keys():
        raise ValueError(
            f"Wanted ids of handbook documents, and {sorted(unknown)} came too. A search over a document that is not "
            f"there finds nothing and does not say why. Choose from {', '.join(shared)}."
        )
    notes = {name: held for name, held in _documents().items() if owner is not None and held[0].owner == owner}
    chosen = {**shared, **notes} if documents is None else {name: shared[name] for name in documents}
    passages = {passage.id: passage for held in chosen.values() for passage in held}
    found_by = {key: f"{held.source['title']} {held.heading} {held.content}" for key, held in passages.items()}
    return Handbook(MappingProxyType(passages), build_index(found_by))


@lru_cache(maxsize=1)
def _documents() -> Mapping[str, tuple[Passage, ...]]:
    return MappingProxyType({name: read_document(name, text) for name, text in _read()})


def _read() -> Iterator[tuple[str, str]]:
    folder = files("knowledge_fakes") / "handbook_docs"
    for document in sorted(folder.iterdir(), key=lambda entry: entry.name):
        yield document.name.removesuffix(".md"), document.read_text("utf-8")


@lru_cache(maxsize=1)
def _owners() -> frozenset[str]:
    return frozenset(held[0].owner for held in _documents().values() if held[0].owner is not None)


def _is_asked_for(passage: Passage, request: RetrievalRequest) -> bool:
    # Clause 3.4: bases that were asked for restrict, also when none of them is known here.
    bases = request.knowledge_base_ids
    return (not bases or passage.base in bases) and all(
        _equal(passage.metadata[name], value) for name, value in request.filters.items()
    )


def _equal(held: object, wanted: object) -> bool:
    # JSON keeps true and 1 apart, Python does not.
    return isinstance(held, bool) == isinstance(wanted, bool) and held == wanted


def _result(passage: Passage, score: float) -> dict[str, Any]:
    # Clauses 5.7 and 3.6: plain data, and a copy, so that a caller's change stays the caller's.
    return {
        "id": passage.id,
        "content": passage.content,
        "score": score,
        "source": dict(passage.source),
        "metadata": dict(passage.metadata),
    }


def _describe(key: str, label: str) -> dict[str, Any]:
    return {
        "protocolVersion": PROTOCOL_VERSION,
        "key": key,
        "label": label,
        "capabilities": {"filters": True, "scores": True, "citations": True},
    }


def _opened(documents: Collection[str] | None, context: RetrievalContext, closed: bool) -> Handbook:
    # Clause 2.2: a closed handbook that found nothing would look like a question without an answer.
    if closed:
        raise KnowledgeUnavailableError(
            "Wanted an open handbook, and this one was closed: it cannot tell whether there is an answer. Open another."
        )
    # Clause 4.4: a context that was made past its own validation may have one.
    if is_blank(context.owner_id):
        raise KnowledgeOwnerRequiredError(
            "Wanted the owner who asks, and the context names none. Whose notes may be searched is not known then, so "
            "nothing was searched. Set owner_id."
        )
    return load_handbook(documents, owner=context.owner_id)


def _health(closed: bool) -> dict[str, Any]:
    return {"status": "unavailable", "message": "closed"} if closed else {"status": "ready"}
