"""Clauses 3.4 and 10.7: what references to documents, folders and unknown places open. Knows ids, no owner."""

from typing import Final

from knowledge_conformance.check import Check, Inapplicable, Level, Violation, check
from knowledge_conformance.checks.source_answers import source_id_of
from knowledge_conformance.checks.source_asking import UNKNOWN
from knowledge_conformance.checks.source_listing import WHOLE_LIMIT, listed, listed_to
from knowledge_conformance.exchange import Exchange, text_of
from knowledge_conformance.plain import Plain, plain
from knowledge_conformance.render import show
from knowledge_conformance.source_subject import References, SourceSubject, show_ref
from knowledge_provider.sources import ExternalKnowledgeRef, target_key

_QUERIES_MAX: Final = 3
_FOUND_MAX: Final = 2
_NO_PLACE: Final = "no-such-place-conformance-kit"
_REFERENCES_MAX: Final = 4


# Clause 3.4
@check(
    "KP-1044",
    clause="3.4",
    level=Level.MUST,
    needs=("KP-1012", "KP-1020"),
    calls=1 + 2 * _QUERIES_MAX + 2,
    surveyed=True,
)
async def parts_restrict(subject: SourceSubject) -> None:
    """A reference to a document is answered from it alone, and one to an unknown document or folder with nothing.

    Who binds one page has a reason, and is shown the whole wiki instead. Two documents are asked the same: what is in
    the answers of both is from neither alone.
    """
    subject.listing()
    query = (await subject.found())[0].request.query
    entries = await listed(subject, WHOLE_LIMIT, 0)
    await _open_nothing(subject, query, entries)
    # Of one source: what is found in two of them differs anyway.
    inside = (entry for entry in entries if entry.target_type == "document" and entry.id == entries[0].id)
    documents = [*{target_key(entry): entry for entry in inside}.values()]
    if len(documents) < 2:
        return
    pair = (documents[0], documents[-1])
    for asked in _queries(query, pair):
        first, second = [_records(await subject.attempt(asked, (document,))) for document in pair]
        if first & second:
            raise Violation(
                wanted=f"other records for {show_ref(pair[0])} than for {show_ref(pair[1])}, asked the same",
                saw=f"{len(first & second)} in both answers",
                hint="search in ref.document_id or ref.node_id where the reference has one, not in the whole of ref.id",
            )
        if first or second:
            subject.observe()
            return


async def _open_nothing(subject: SourceSubject, query: str, entries: list[ExternalKnowledgeRef]) -> None:
    if not entries:
        raise Inapplicable("no document is listed")
    inside = entries[0].id
    for fields in (
        {"target_type": "document", "document_id": _NO_PLACE},
        {"target_type": "folder", "node_id": _NO_PLACE},
    ):
        exchange = await subject.attempt(query, (subject.reference(id=inside, **fields),))
        if exchange.error is None and exchange.count:
            raise Violation(
                wanted=f"nothing for a {fields['target_type']} that there is not, or an exception",
                saw=exchange.size,
                hint="raise KnowledgeReferenceUnknownError, or return [], for a place that is not in the source",
                where=str(exchange),
            )
        subject.observe()


def _queries(query: str, pair: tuple[ExternalKnowledgeRef, ExternalKnowledgeRef]) -> list[str]:
    # What is called so says so, as a rule.
    names = [ref.target_name or ref.name for ref in pair]
    return [*dict.fromkeys((query, *(name for name in names if name)))][:_QUERIES_MAX]


def _records(exchange: Exchange) -> frozenset[Plain]:
    """The records by id and content: ids need not be unique beyond one answer."""
    return frozenset(plain([text_of(entry, "id"), text_of(entry, "content")]) for _, entry in exchange.entries)


# Clause 10.7
@check("KP-1045", clause="10.7", level=Level.MUST, needs=("KP-1020",), calls=2 + _FOUND_MAX, surveyed=True)
async def what_is_listed_is_found(subject: SourceSubject) -> None:
    """Where the references find something, all their documents together do.

    A document that is offered, bound and validated, and then never answers anything, looks like a question without an
    answer. The whole list is asked for at once, and where it is longer than a page this is left open.
    """
    subject.listing()
    entries = tuple(await listed(subject, WHOLE_LIMIT, 0))
    if not entries or len(entries) >= WHOLE_LIMIT:
        raise Inapplicable("no document is listed" if not entries else "there are more documents than a page holds")
    known = [exchange.request.query for exchange in await subject.found()]
    name = entries[0].target_name or entries[0].name
    queries = [*[*dict.fromkeys(known)][:_FOUND_MAX], *([name] if name else [])]
    for query in queries:
        exchange = await subject.attempt(query, entries)
        if exchange.error is not None or exchange.count:
            # That it raises is another check's.
            subject.observe()
            return
    raise Violation(
        wanted=f"records in all {len(entries)} listed documents together for {show(queries[0])}, which the references "
        "find something for",
        saw="none",
        hint="select by the document_id and node_id that list_documents gave, within the source of the reference's id",
    )


# Clause 3.4
@check("KP-1046", clause="3.4", level=Level.MUST, needs=("KP-1005", "KP-1012"), calls=1, surveyed=True)
async def an_unknown_one_opens_no_other(subject: SourceSubject) -> None:
    """Beside a known reference an unknown one opens nothing more: what comes is from the known one.

    A page that was deleted stays bound for a while. Where the back end takes a list with one unknown id for no list at
    all, the task is shown everything. To raise is allowed.
    """
    exchange = (await subject.found())[0]
    explicit = [ref for ref in subject.references() if ref.mode == "explicit" and ref.id is not None]
    if not explicit:
        raise Inapplicable("the settings name no explicit reference")
    said = [source_id_of(entry) for _, entry in exchange.entries]
    # The one with the fewest records: what comes of another shows at once.
    known = min(explicit, key=lambda ref: said.count(str(ref.id)))
    refs = (known, subject.reference(id=UNKNOWN))
    found = await subject.attempt(exchange.request.query, refs)
    others = {each for each in (source_id_of(entry) for _, entry in found.entries) if each and each != known.id}
    if found.error is None and others:
        raise Violation(
            wanted=f"records of {show_ref(known)} alone, beside a reference to {UNKNOWN}",
            saw=f"records of {show(min(others))}",
            hint="drop the unknown id alone, or raise KnowledgeReferenceUnknownError",
            where=str(found),
        )
    subject.observe()


# Clause 10.7
@check("KP-1035", clause="10.7", level=Level.MUST, needs=("KP-1018",), calls=1 + _REFERENCES_MAX)
async def each_references_documents_are_listed(subject: SourceSubject) -> None:
    """The list of several references has the documents of each.

    A source that lists the first reference's documents alone offers nothing of the others, and nobody sees that
    something is missing.
    """
    subject.listing()
    refs = subject.references()
    if len(refs) < 2:
        raise Inapplicable("the settings name one reference")
    whole = await listed_to(subject, refs, subject.context())
    if len(whole) >= WHOLE_LIMIT:
        raise Inapplicable("there are more documents than a page holds")
    keys = {target_key(entry) for entry in whole}
    for ref in refs[:_REFERENCES_MAX]:
        missing = [each for each in await _alone(subject, ref) if target_key(each) not in keys]
        if missing:
            raise Violation(
                wanted=f"the document {show_ref(missing[0])}, which is listed for {show_ref(ref)} alone",
                saw=f"{len(whole)} documents of {len(refs)} references, without it",
                hint="list the documents of all refs, one after another, and then cut: [offset : offset + limit]",
            )
        subject.observe()


async def _alone(subject: SourceSubject, ref: ExternalKnowledgeRef) -> References:
    return await listed_to(subject, (ref,), subject.context())


CHECKS: Final[tuple[Check, ...]] = (
    parts_restrict,
    what_is_listed_is_found,
    an_unknown_one_opens_no_other,
    each_references_documents_are_listed,
)
