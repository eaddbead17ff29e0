"""Clause 10.7: what a source lists, page by page. Knows entries and offsets, no content."""

from typing import Any, Final

from knowledge_conformance.check import Check, Inconclusive, Level, Violation, check
from knowledge_conformance.checks.requests import refuse_unserved
from knowledge_conformance.exchange import as_dict
from knowledge_conformance.plain import copied, model_fields
from knowledge_conformance.render import show, show_error
from knowledge_conformance.source_subject import References, SourceSubject, show_ref
from knowledge_provider import RetrievalContext
from knowledge_provider.adapting import stable_id
from knowledge_provider.errors import KnowledgeReferenceInvalidError
from knowledge_provider.sources import ExternalKnowledgeRef, read_reference, screening, target_key
from knowledge_provider.sources.references import SPELLINGS
from knowledge_provider.text import is_a

WHOLE_LIMIT: Final = 100
"""Documents of the longest page that a host asks for."""
_PAGES_MAX: Final = 4
_LAST_OFFSET: Final = 1_000_000
_SHAPE: Final = "a list or tuple of entries, or {'documents': [...]}"


# Clause 10.7
@check("KP-1017", clause="10.7", level=Level.MUST, needs=("KP-1001",), calls=2)
async def entries_can_be_bound(subject: SourceSubject) -> None:
    """list_documents answers at most limit entries, each a reference that a task can bind.

    An entry is a mapping with a reference's fields, in snake_case or camelCase: the id of its source, which may be left
    out where one is asked for, and a document_id or node_id. What cannot be read as one cannot be selected.
    """
    subject.listing()
    for limit in (WHOLE_LIMIT, 1):
        entries = await listed(subject, limit, 0)
        if len(entries) > limit:
            raise Violation(
                wanted=f"at most limit = {limit} entries",
                saw=f"{len(entries)} entries",
                hint="return documents[offset : offset + limit]",
            )
        subject.observe(len(entries))
    if not subject.observations:
        raise Inconclusive(
            "the references of the settings have no documents to list", hint="name a reference that has some"
        )


async def listed(subject: SourceSubject, limit: int, offset: int) -> list[ExternalKnowledgeRef]:
    """A page of the references of the settings; raises ``Violation`` for what is none."""
    refs = subject.references()
    return [_entry(entry, refs, at) for at, entry in enumerate(await page(subject, refs, limit, offset))]


async def page(subject: SourceSubject, refs: References, limit: int, offset: int) -> list[Any]:
    """The entries of a page as they came; raises ``Violation`` where there is no list of them."""
    ending = await subject.list(refs, limit, offset)
    if ending.error is not None:
        refuse_unserved(ending.error)
        raise Violation(
            wanted=_SHAPE,
            saw=f"raised {show_error(ending.error)}",
            hint="a page that there is not is an empty one; raise only where the back end fails",
        )
    held = (as_dict(ending.value) or {}).get("documents") if is_a(ending.value, dict) else ending.value
    if not (is_a(held, list) or is_a(held, tuple)):
        raise Violation(wanted=_SHAPE, saw=show(ending.value), hint="collect the entries in a list and return that")
    return list(held)


def entry_fields(entry: Any) -> dict[str, Any] | None:
    """The fields of an entry that are there, in its own spelling; None for what is neither a reference nor a dict."""
    return as_dict(model_fields(entry) if is_a(entry, ExternalKnowledgeRef) else entry)


def _entry(entry: Any, refs: References, at: int) -> ExternalKnowledgeRef:
    fields = entry_fields(entry)
    ids = {ref.id for ref in refs if ref.mode == "explicit"}
    restricted = all(ref.mode == "explicit" for ref in refs)
    source_id = (fields or {}).get("id") or (next(iter(ids)) if restricted and len(ids) == 1 else None)
    if fields is None or (restricted and source_id not in ids):
        raise Violation(
            wanted="a mapping with the fields of a reference, and the id of a source that was asked for",
            saw=show(entry),
            hint="{'id': ref.id, 'document_id': …, 'target_name': …}",
            where=f"documents[{at}]",
        )
    known = {SPELLINGS[name]: _held(value) for name, value in fields.items() if name in SPELLINGS}
    own = {"provider": refs[0].provider, "mode": "explicit", "id": _held(source_id)}
    try:
        return read_reference({"target_type": "document", **known, **own})
    except KnowledgeReferenceInvalidError as error:
        raise Violation(
            wanted="an entry that a task can bind",
            saw=str(error).partition(". ")[0],
            hint="give it a document_id or a node_id",
            where=f"documents[{at}]",
        ) from None


def _held(value: Any) -> Any:
    # Whether an entry may hold it is another check's, which names clause 10.2.
    text = copied(value)
    return value if text is None or screening.fault(text) is None else stable_id(text)


# Clause 10.7
@check("KP-1018", clause="10.7", level=Level.MUST, needs=("KP-1017",), calls=2 + _PAGES_MAX)
async def pages_join_to_the_whole(subject: SourceSubject) -> None:
    """Pages joined are the whole list: in one order, nothing twice, nothing missing.

    Who scrolls through a list whose order changes, or whose offset counts pages, never sees some documents. It counts
    documents that are passed over, and need not be a multiple of the limit.
    """
    subject.listing()
    whole = [target_key(ref) for ref in await listed(subject, WHOLE_LIMIT, 0)]
    if len(whole) < 2:
        raise Inconclusive(
            "the references of the settings have fewer than two documents", hint="name a reference that has several"
        )
    size = max(1, -(-len(whole) // _PAGES_MAX))
    # A page of one document is the same whatever the offset counts.
    for limit, offset in (*((size, offset) for offset in range(0, len(whole), size)), (2, 1)):
        page = [target_key(ref) for ref in await listed(subject, limit, offset)]
        if page != whole[offset : offset + limit]:
            raise Violation(
                wanted=f"the documents {offset + 1} to {min(offset + limit, len(whole))} of the whole list",
                saw=f"{len(page)} others" if set(page).isdisjoint(whole[offset : offset + limit]) else "another page",
                hint="sort by what does not change, and return documents[offset : offset + limit]",
            )
        subject.observe()
    if len(set(whole)) < len(whole):
        raise Violation(
            wanted="each document once",
            saw=f"{len(whole) - len(set(whole))} of {len(whole)} again",
            hint="list a document once, though several references or folders have it",
        )


async def listed_to(subject: SourceSubject, refs: References, context: RetrievalContext) -> References:
    """The longest page of these references in this context; raises ``Violation`` for what is none."""
    ending = await subject.list(refs, WHOLE_LIMIT, 0, context)
    if ending.error is not None:
        refuse_unserved(ending.error)
    held = (as_dict(ending.value) or {}).get("documents") if is_a(ending.value, dict) else ending.value
    if ending.error is not None or not (is_a(held, list) or is_a(held, tuple)):
        came = show(ending.value) if ending.error is None else f"raised {show_error(ending.error)}"
        raise Violation(wanted=_SHAPE, saw=came, hint="list what this owner may see, and nothing where that is nothing")
    return tuple(_entry(entry, refs, at) for at, entry in enumerate(held))


# Clause 10.7
@check("KP-1019", clause="10.7", level=Level.MUST, needs=("KP-1017",), calls=1)
async def past_the_end_is_empty(subject: SourceSubject) -> None:
    """Past the last document a page is empty: it neither raises nor begins again.

    A client asks for the next page until there is none. One that begins again is asked for ever.
    """
    subject.listing()
    entries = await listed(subject, 1, _LAST_OFFSET)
    if entries:
        raise Violation(
            wanted=f"no entry from offset {_LAST_OFFSET:,} on",
            saw=f"{len(entries)}, {show_ref(entries[0])} for one",
            hint="return documents[offset : offset + limit], which is empty past the end",
        )
    subject.observe()


CHECKS: Final[tuple[Check, ...]] = (
    entries_can_be_bound,
    pages_join_to_the_whole,
    past_the_end_is_empty,
)
