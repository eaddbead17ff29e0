"""Clauses 10.2 and 10.7: the references that a source gives out. Knows their fields and texts, no page's order."""

from collections.abc import Mapping
from typing import Any, Final

from knowledge_conformance.check import Check, Inconclusive, Level, Violation, check
from knowledge_conformance.checks.source_answers import everything
from knowledge_conformance.checks.source_asking import require_answered, standing, validated
from knowledge_conformance.checks.source_listing import WHOLE_LIMIT, entry_fields, listed, page
from knowledge_conformance.exchange import place, source_of
from knowledge_conformance.parts import Path, parts_of, show_path
from knowledge_conformance.plain import copied, model_fields
from knowledge_conformance.render import show
from knowledge_conformance.source_subject import SourceSubject, show_ref
from knowledge_provider.errors import KnowledgeReferenceInvalidError
from knowledge_provider.sources import read_reference, screening, target_key
from knowledge_provider.sources.references import SPELLINGS
from knowledge_provider.text import is_blank

_IDENTITY: Final = "ids and names, by which the source finds the place again when it is asked"


# Clause 10.2
@check("KP-1026", clause="10.2", level=Level.MUST, needs=("KP-1017",), calls=1)
async def entries_hold_no_link_and_no_key(subject: SourceSubject) -> None:
    """No entry of list_documents has a raw URL or a credential in it, in whatever field.

    An entry is what a task binds: it is stored, sent to clients and logged. A signed link among its fields is a key for
    everybody who sees it, and any link goes past whoever decides what a user may open.
    """
    for at, entry in enumerate(await _entries(subject)):
        _require_clean(entry, f"documents[{at}]")
        subject.observe()


async def _entries(subject: SourceSubject) -> list[dict[str, Any]]:
    subject.listing()
    entries = await page(subject, subject.references(), WHOLE_LIMIT, 0)
    if not entries:
        raise Inconclusive(
            "the references of the settings have no documents to list", hint="name a reference that has some"
        )
    return [entry_fields(entry) or {} for entry in entries]


def _require_clean(fields: Mapping[str, Any], where: str) -> None:
    for path, part in parts_of(dict(fields)):
        if (text := copied(part)) and (found := _fault(path, text)):
            raise Violation(
                wanted="no raw URL and no credential in a reference",
                saw=found,
                hint=f"give it {_IDENTITY}; let an opener make the address",
                where=where + show_path(path).removeprefix("answer"),
            )


def _fault(path: Path, text: str) -> str | None:
    # The name of a field tells a key that its look does not.
    name = copied(path[1]) if path else None
    return screening.fault(text) or (screening.fault(f"{name}={text}") if name else None)


# Clause 10.2
@check("KP-1027", clause="10.2", level=Level.SHOULD, needs=("KP-1017",), calls=1)
async def entries_are_references_alone(subject: SourceSubject) -> None:
    """An entry of list_documents has the fields of a reference, and no others.

    A host drops others. One that does not keeps with the task what was never meant for that: a piece of the content, a
    row of the back end's, an object of its client.
    """
    for at, entry in enumerate(await _entries(subject)):
        _require_no_others(entry, f"documents[{at}]")
        subject.observe()


def _require_no_others(fields: Mapping[str, Any], where: str) -> None:
    others = sorted(show(name, limit=60) for name in fields if name not in SPELLINGS)
    if others:
        raise Violation(
            wanted="the fields of a reference alone",
            saw=f"{others[0]}{f' and {len(others) - 1} more' if len(others) > 1 else ''}",
            hint="leave out what a reference has no field for; knowledge_provider.sources.ExternalKnowledgeRef has all",
            where=where,
        )


# Clause 10.7
@check("KP-1020", clause="10.7", level=Level.MUST, needs=("KP-1004", "KP-1026"), calls=3, surveyed=True)
async def what_is_listed_can_be_asked_for(subject: SourceSubject) -> None:
    """A document that is listed stands when it is validated, and can be asked for.

    A user selects it and binds it. A source that then says that it knows no such thing has offered what it does not
    have.
    """
    subject.listing()
    entries = await listed(subject, 1, 0)
    if not entries:
        raise Inconclusive("no document is listed", hint="name a reference that has some")
    if subject.member("validate_refs") is not None and target_key(entries[0]) not in await validated(
        subject, (entries[0],)
    ):
        raise Violation(
            wanted=f"the listed document {show_ref(entries[0])} to stand",
            saw="an answer without it",
            hint="let validate_refs know folders and documents, or list none",
        )
    exchange = await subject.attempt((await subject.found())[0].request.query, (entries[0],))
    require_answered(exchange, hint="answer for a document by its document_id or node_id, within the source of its id")
    subject.observe()


# Clause 10.2
@check("KP-1028", clause="10.2", level=Level.MUST, needs=("KP-1010",), calls=1)
async def what_stands_holds_nothing_else(subject: SourceSubject) -> None:
    """The references that validate_refs answers have a reference's fields alone, with no raw URL and no credential.

    A host may keep them in place of those that it asked about. What a source finds out on the way, such as the token
    with which it looked, belongs into none of them.
    """
    subject.optional("validate_refs")
    for at, ref in enumerate(await standing(subject, subject.references())):
        fields = {name: value for name, value in model_fields(ref).items() if value is not None}
        _require_clean(fields, f"refs[{at}]")
        _require_no_others(fields, f"refs[{at}]")
        subject.observe()


# Clause 10.2
@check("KP-1029", clause="10.2", level=Level.MUST, needs=("KP-1009",), calls=2, surveyed=True)
async def a_records_source_can_be_bound(subject: SourceSubject) -> None:
    """Asked for all that is accessible, it names in source_id what a reference can hold as its id.

    By it a reader binds that source, and an opener opens it. An address or a key there would be kept with the message,
    and a host drops the record.
    """
    exchange = await everything(subject)
    for at, entry in exchange.entries:
        own = entry.get("source_id")
        said = source_of(entry).get("id") if is_blank(own) else own
        try:
            read_reference({"provider": exchange.refs[0].provider, "id": said})
        except KnowledgeReferenceInvalidError as error:
            raise Violation(
                wanted="a source_id that a reference can have as its id",
                saw=str(error).partition(". ")[0],
                hint="name the source by a short id of its own, the one that list_documents and references have",
                where=place(exchange, f"results[{at}].source_id"),
            ) from None
    # That nothing is accessible is an answer, too.
    subject.observe()


CHECKS: Final[tuple[Check, ...]] = (
    entries_hold_no_link_and_no_key,
    entries_are_references_alone,
    what_is_listed_can_be_asked_for,
    what_stands_holds_nothing_else,
    a_records_source_can_be_bound,
)
