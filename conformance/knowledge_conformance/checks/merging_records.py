"""Clauses 3.4, 10.2 and 10.6: a merged answer's records, and where they are from. Knows no failure and no order."""

from typing import Any, Final
from urllib.parse import quote

from knowledge_conformance.channels import Place, texts_of_answer
from knowledge_conformance.check import Check, Level, Violation, check
from knowledge_conformance.checks.composite_children import passage, text
from knowledge_conformance.checks.merging_sources import answering, built_in, finding, ref, refs_to
from knowledge_conformance.merging_subject import Merged, MergingSubject
from knowledge_conformance.plain import copied
from knowledge_conformance.render import show
from knowledge_fakes.sources import HOSTILE_SOURCES, SECRET_URL
from knowledge_provider import RetrievalContext
from knowledge_provider.errors import KnowledgeReferenceInvalidError
from knowledge_provider.sources import ExternalKnowledgeRef, read_reference, screening
from knowledge_provider.text import is_blank

_PROVENANCE: Final = ("source_type", "source_id", "source_uri", "source_name")
_MADE: Final = (
    "make it of the source's registered name and of the reference's id; keep a record's own only where it fits"
)
_ADDRESS: Final = "https://wiki.example.com/releases"
_UNFIT_IDS: Final = (_ADDRESS, SECRET_URL, "kb 7\n" * 400)


# Clause 10.6
@check("KP-1052", clause="10.6", level=Level.MUST)
async def every_record_says_where_it_is_from(subject: MergingSubject) -> None:
    """Each record has source_type, source_id, source_uri and source_name, and no source can pose as another.

    source_type is the name under which the source is registered, whatever a record says, and for built-in records none
    that a source has. source_id is the id of the reference, and where all that is accessible is bound, what the record
    says; source_name is what the reference is called. Without them nobody can tell a ticket from a rule.
    """
    posing = answering("posing", lambda *_: [passage("posing", source_type="wiki", provider="wiki", source_name="W")])
    sources = [finding("wiki", "wiki"), posing, finding("drive", "drive", source_id="kb-7")]
    merging = await subject.over(sources, built_in("own"))
    everything = ExternalKnowledgeRef(provider="drive", mode="all_accessible")
    merged = await merging.answer([ref("wiki", name="Team wiki"), ref("posing", "kb-2"), everything])
    for name, source_id in (("own", None), ("wiki", "kb-1"), ("posing", "kb-2"), ("drive", "kb-7")):
        record = record_of(merged, name)
        for field in _PROVENANCE:
            if is_blank(copied(record.get(field)) or ""):
                raise _unsaid(f"a {field} of each record", record.get(field), name)
        said = copied(record.get("source_type"))
        if (said in ("wiki", "posing", "drive")) if name == "own" else (said != name):
            wanted = (
                "a source_type of built-in records that no source has" if name == "own" else f"source_type {name!r}"
            )
            raise _unsaid(wanted, record.get("source_type"), name)
        if source_id is not None and copied(record.get("source_id")) != source_id:
            raise _unsaid(f"the source_id {source_id!r} of the reference", record.get("source_id"), name)
        if name == "wiki" and "Team wiki" not in (copied(record.get("source_name")) or ""):
            raise _unsaid("the source_name 'Team wiki', as the reference is called", record.get("source_name"), name)
        subject.observe()


def record_of(merged: Merged, name: str) -> dict[str, Any]:
    """The record whose content is the passage of that name; raises ``Violation`` where it is missing."""
    found = next((record for record in merged.records if copied(record.get("content")) == text(name)), None)
    if found is None:
        raise Violation(
            wanted=f"the record {name}",
            saw=f"{merged.came} without it",
            hint="hand on each record with its content as it is",
            where=merged.shown,
        )
    return found


def _unsaid(wanted: str, saw: object, name: str) -> Violation:
    return Violation(wanted=wanted, saw=show(saw), hint=_MADE, where=f"the record {name}")


# Clause 10.6
@check("KP-1053", clause="10.6", level=Level.MUST)
async def no_record_has_a_link_or_a_key(subject: MergingSubject) -> None:
    """No raw URL and no credential comes out of a source's record, whichever field it stood in.

    What is merged is kept with a message, logged and shown to others. source_uri is replaced by one of the source's
    own, also where a link in it is percent-encoded, names, metadata and what stands deeper are left out. A built-in
    record has no signed link either, and its source_uri is none that opens.
    """
    link = {"uri": _ADDRESS, "title": _ADDRESS, "locator": _ADDRESS}
    sources = [
        HOSTILE_SOURCES["leaks a link"].make(),
        finding("open", "open", title=_ADDRESS, source_name=_ADDRESS, source_uri=_ADDRESS, metadata={"link": _ADDRESS}),
        finding("deep", "deep", source=link),
        finding("quoted", "quoted", source_uri=f"quoted:{quote(SECRET_URL, safe='')}"),
    ]
    merging = await subject.over(sources, _linked)
    merged = await merging.answer(refs_to(sources))
    if not merged.records:
        raise Violation(
            wanted="the records, without the links in them", saw=merged.came, hint="leave out the field, not the record"
        )
    for record in merged.records:
        _require_clean(record)
        subject.observe()


async def _linked(query: str, context: RetrievalContext) -> list[dict[str, Any]]:
    del query, context
    return [passage("own", source={"uri": SECRET_URL})]


def _require_clean(record: dict[str, Any]) -> None:
    own = copied(record.get("content")) == text("own")
    said = {field: value for field, value in record.items() if field != "content"}
    for place, written in texts_of_answer(said, "record"):
        # Where the host's own documents open is for it to say (clause 8.9).
        raw = None if own and "source_uri" not in _name_of(place) else screening.fault(written)
        if raw or SECRET_URL in written:
            raise Violation(
                wanted="a record without a raw URL or a credential",
                saw=f"{raw or 'a signed link'} in {_name_of(place)}",
                hint=_MADE,
            )


def _name_of(place: Place) -> str:
    return place if isinstance(place, str) else place()


# Clause 10.6
@check("KP-1054", clause="10.6", level=Level.MUST)
async def records_are_told_apart(subject: MergingSubject) -> None:
    """Each record has an id of its own, and id and source_uri are the same in every call.

    Two systems both have a record 1, a source may answer one twice, and what the host finds itself may have any id,
    that of a source's record, too. A reference in an old message is opened by what stood there, whoever answered
    first: records of two sources never have one source_uri, and two places that a source tells apart stay two.
    """
    # The same ids in both, and a place of its own for each in one.
    sources = [answering(name, lambda *_, name=name: _numbered(name)) for name in ("wiki", "tickets")]
    given: list[str] = []

    async def own(query: str, context: RetrievalContext) -> list[dict[str, Any]]:
        del query, context
        return [{"id": each, "content": text(f"own {at}")} for at, each in enumerate(given)]

    merging = await subject.over(sources, own)
    refs = refs_to(sources)
    first, again = await merging.answer(refs), await merging.answer(refs[::-1])
    ids = _require_ids(first, 2 * len(sources))
    _require_places(first)
    given.extend(ids)
    _require_ids(await merging.answer(refs), 4 * len(sources))
    for record in again.records:
        before = next((each for each in first.records if each.get("content") == record.get("content")), {})
        for field in ("id", "source_uri"):
            if copied(record.get(field)) != copied(before.get(field)):
                raise Violation(
                    wanted=f"the {field} that the same record had in the call before",
                    saw=show(record.get(field)),
                    hint="make it of what does not change: names and ids",
                )
        subject.observe()


def _numbered(name: str) -> list[dict[str, Any]]:
    places = {number: {"source_uri": f"wiki:page/{number}"} if name == "wiki" else {} for number in ("1", "2")}
    return [{"id": each, "content": text(f"{name} {each}"), **places[each]} for each in ("1", "2", "1")]


def _require_ids(merged: Merged, wanted: int) -> list[str]:
    ids = [copied(record.get("id")) for record in merged.records]
    known = [each for each in ids if each is not None]
    if len(set(known)) != wanted or len(ids) != wanted:
        raise Violation(
            wanted=f"{wanted} records, and an id of its own for each",
            saw=f"{len(ids)} records with {len(set(known))} ids",
            hint="put the source's name and a separator that no name has before a record's own id, for the host's own "
            "records a name that no source can have; keep the first of one source's records with one id",
            where=merged.shown,
        )
    return known


def _require_places(merged: Merged) -> None:
    uris = {copied(record.get("content")): copied(record.get("source_uri")) for record in merged.records}
    own = {name: {uris[text(f"{name} {number}")] for number in ("1", "2")} for name in ("wiki", "tickets")}
    if len(own["wiki"]) < 2 or own["wiki"] & own["tickets"]:
        raise Violation(
            wanted="a source_uri for each place that the source tells apart, and none that two sources share",
            saw="one for two of them",
            hint="keep a record's own source_uri where it is sound; make others of the source's name and source_id",
            where=merged.shown,
        )


# Clause 10.2
@check("KP-1076", clause="10.2", level=Level.MUST)
async def a_records_source_can_be_bound(subject: MergingSubject) -> None:
    """Where everything is bound, a record's source_id is what a reference can have as its id: no raw URL, for one.

    A source says then which of its sources a record is from, and a reader binds that one. Provenance is kept with the
    message, so a record that names none is left out; the others stay.
    """
    rows = [passage(f"unfit {at}", source_id=said) for at, said in enumerate(_UNFIT_IDS)]
    merging = await subject.over([answering("wiki", lambda *_: [*rows, passage("sound", source_id="kb-7")])])
    merged = await merging.answer([ExternalKnowledgeRef(provider="wiki", mode="all_accessible")])
    record_of(merged, "sound")
    for record in merged.records:
        try:
            read_reference({"provider": "wiki", "id": record.get("source_id")})
        except KnowledgeReferenceInvalidError as error:
            raise Violation(
                wanted="a source_id that a reference can have as its id",
                saw=str(error).partition(". ")[0],
                hint="leave out a record whose source_id no reference can have as its id",
                where=merged.shown,
            ) from None
        subject.observe()


# Clause 3.4
@check("KP-1055", clause="3.4", level=Level.MUST)
async def what_nobody_bound_is_not_shown(subject: MergingSubject) -> None:
    """A record that names another source than those that are bound, or none where two are, is not shown.

    What is bound to a task restricts what it is shown. A source that answers too much must not widen that, and what is
    said to be from a source that it is not from sends whoever reads it to the wrong place.
    """
    rows = [passage("bound", source_id="kb-1"), passage("unbound", source_id="kb-of-another")]
    merging = await subject.over([answering("wiki", lambda *_: rows)])
    merged = await merging.answer([ref("wiki")])
    if text("unbound") in merged.contents():
        raise Violation(
            wanted="no record of a source that nobody bound",
            saw="one",
            hint="drop a record whose source_id is none of the references' ids",
        )
    record_of(merged, "bound")
    subject.observe()
    merging = await subject.over([answering("wiki", lambda *_: [passage("unnamed"), *rows[:1]])])
    merged = await merging.answer([ref("wiki"), ref("wiki", "kb-2")])
    if text("unnamed") in merged.contents():
        raise Violation(
            wanted="no record that does not say which of two references it is from",
            saw="one, under a source_id that nobody gave it",
            hint="take the reference's id for a record without a source_id only where one reference was asked for",
        )
    record_of(merged, "bound")
    subject.observe()


CHECKS: Final[tuple[Check, ...]] = (
    every_record_says_where_it_is_from,
    a_records_source_can_be_bound,
    no_record_has_a_link_or_a_key,
    records_are_told_apart,
    what_nobody_bound_is_not_shown,
)
