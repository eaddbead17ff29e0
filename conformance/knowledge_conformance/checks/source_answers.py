"""Clauses 10.1 and 10.6: what a source answers, and what its records say of where they are from. Knows no listing."""

from collections.abc import Iterator
from typing import Any, Final

from knowledge_conformance.check import Check, Inapplicable, Inconclusive, Level, Violation, check
from knowledge_conformance.checks.judging import judge_all
from knowledge_conformance.exchange import place, source_of, text_of
from knowledge_conformance.plain import copied
from knowledge_conformance.render import show
from knowledge_conformance.source_subject import SourceExchange, SourceSubject
from knowledge_provider import error_code, limits
from knowledge_provider.sources import screening
from knowledge_provider.text import is_a, is_blank, short_text

REFUSALS: Final = frozenset({"knowledge_reference_invalid", "knowledge_reference_unknown"})
"""Codes by which a source refuses a reference."""
_SHOWN_FIELDS: Final = ("title", "source_name")


# Clause 10.1
@check("KP-1004", clause="10.1", level=Level.MUST, needs=("KP-1001",), surveyed=True)
async def references_are_answered(subject: SourceSubject) -> None:
    """What the settings refer to is answered, as a provider answers, and some of it with records.

    Everything else that the kit looks at needs this. An answer is a list, tuple or mapping with "results"; each record
    has an id and a content, and keeps what section 5 binds a provider's results to.
    """
    # Here, not at the top: the catalogue lists the checks that use this.
    from knowledge_conformance.catalogue import CHECKS as OF_PROVIDERS

    judges = [each for each in OF_PROVIDERS if each.judge and each.binding and each.clause.startswith("5.")]
    for exchange in await subject.survey():
        subject.look_at(exchange)
        judge_all(exchange, judges)
        asked_all = len(exchange.refs) == len(subject.settings.references)
        if exchange.request.query in subject.settings.queries and not exchange.count and asked_all:
            raise Inconclusive(
                f"the settings promise records for {show(exchange.request.query)}, and there were none",
                hint="name queries that the references answer: --provider-query 'text', or queries = [...]",
            )
        subject.observe(exchange.count)


# Clause 10.6
@check("KP-1005", clause="10.6", level=Level.MUST, needs=("KP-1004",), surveyed=True)
async def records_name_their_source(subject: SourceSubject) -> None:
    """A record says in source_id which reference it is from, and it is one that was asked for.

    Where one reference is asked for it may be left out. A host drops a record that names nothing, or what nobody bound:
    what is bound to a task restricts what it is shown.
    """
    for exchange in await subject.found():
        subject.look_at(exchange)
        for at, entry in exchange.entries:
            _require_source(exchange, at, entry)
            subject.observe()


def _require_source(exchange: SourceExchange, at: int, entry: dict[str, Any]) -> None:
    said = source_id_of(entry)
    restricted = len(exchange.refs) == sum(ref.mode == "explicit" for ref in exchange.refs)
    if is_blank(entry.get("source_id")) and restricted and len(exchange.ids) == 1:
        return
    if not said or (restricted and said not in exchange.ids):
        raise Violation(
            wanted=f"a source_id out of {show(list(exchange.ids))}" if restricted else "a source_id",
            saw=show(said) if said else "none",
            hint="answer from the references alone, and give each record the id of the one that it is from",
            where=place(exchange, f"results[{at}]"),
        )


def source_id_of(entry: dict[str, Any]) -> str:
    """Which reference a record says that it is from, as a host reads it, or ""."""
    own = short_text(entry.get("source_id"), limits.RESULT_ID_MAX)
    return own or short_text(source_of(entry).get("id"), limits.RESULT_ID_MAX)


# Clause 10.6
@check("KP-1006", clause="10.6", level=Level.MUST, needs=("KP-1004",), surveyed=True)
async def source_uris_are_the_sources_own(subject: SourceSubject) -> None:
    """A source_uri, where a record has one, is of the source's own scheme: no link that opens, and no credential.

    It is kept with the task and shown in logs. A raw URL in it goes past whoever decides what a user may open, and a
    signed one is a key. A host would replace it.
    """
    for exchange in await subject.found():
        subject.look_at(exchange)
        for at, entry in exchange.entries:
            uri = entry.get("source_uri")
            if uri is not None and (why := _unfit_uri(uri)):
                raise Violation(
                    wanted="no source_uri, or one such as wiki:page/7",
                    saw=why,
                    hint=_advice(exchange.refs[0].provider if exchange.refs else ""),
                    where=place(exchange, f"results[{at}].source_uri"),
                )
            subject.observe()


def _advice(name: str) -> str:
    place = "what the source needs to find the place again"
    scheme = screening.own_scheme(name)
    if scheme == name:
        return f"write the source's name, a colon and {place}"
    return f"write {scheme}, a colon and {place}; what begins with {name}: is no scheme of its own"


def _unfit_uri(value: object) -> str | None:
    """Why a value is no source_uri, in words that do not repeat it, or None."""
    text = copied(value)
    if text is None:
        return show(value)
    found = screening.fault(text)
    if found is None and not screening.is_uri(text):
        return "a text that is no URI of one line"
    return found


# Clause 10.6
@check("KP-1007", clause="10.6", level=Level.MUST, needs=("KP-1004",), calls=1, surveyed=True)
async def source_uris_are_stable(subject: SourceSubject) -> None:
    """The same record has the same source_uri and source_id each time.

    A reference in an old message is opened by them. One that is made for each call leads nowhere tomorrow.
    """
    first = (await subject.found())[0]
    again = await subject.retrieve(first.request.query, first.refs)
    known = {copied(text_of(entry, "id")): entry for _, entry in first.entries}
    for at, entry in again.entries:
        before = known.get(copied(text_of(entry, "id")))
        if before is None:
            continue
        for name in ("source_uri", "source_id"):
            if copied(entry.get(name)) != copied(before.get(name)):
                raise Violation(
                    wanted="what the same record had in the call before",
                    saw="another text",
                    hint="make it of what does not change: the id of the source, and of the place in it",
                    where=place(again, f"results[{at}].{name}"),
                )
        subject.observe()
    if not subject.observations:
        raise Inconclusive(
            "no record came again under the id that it had, so none could be compared",
            hint="see what KP-1037 says of ids that change from call to call",
        )


# Clause 10.6
@check("KP-1008", clause="10.6", level=Level.SHOULD, needs=("KP-1004",), surveyed=True)
async def nothing_is_left_out_of_a_record(subject: SourceSubject) -> None:
    """Title, source_name and metadata hold no raw URL and no credential.

    A host leaves such an entry out, and a person misses it. Where a place opens is for an opener to say, which the
    deployment registers.
    """
    for exchange in await subject.found():
        subject.look_at(exchange)
        for at, entry in exchange.entries:
            for name, text in _texts(entry):
                if found := screening.fault(text):
                    raise Violation(
                        wanted="text without a raw URL or a credential",
                        saw=found,
                        hint="keep the place in source_uri, in a scheme of the source's own",
                        where=place(exchange, f"results[{at}].{show(name, limit=60)}"),
                    )
            subject.observe()


def _texts(entry: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for name in _SHOWN_FIELDS:
        if text := copied(entry.get(name)):
            yield name, text
    metadata = entry.get("metadata")
    for key, value in list(dict.items(metadata)) if is_a(metadata, dict) else ():
        if is_a(key, str) and (text := copied(value)):
            yield f"metadata[{key}]", f"{key}={text}"


# Clause 10.1
@check("KP-1009", clause="10.1", level=Level.MUST, needs=("KP-1004",), calls=2, surveyed=True)
async def everything_that_is_accessible_is_named(subject: SourceSubject) -> None:
    """Asked for all that is accessible, it answers with records that name their sources, or refuses.

    Mode all_accessible names no source, so nobody but the source can say where a record is from. One that does not know
    the mode drops it in validate_refs, or raises knowledge_reference_invalid or knowledge_reference_unknown.
    """
    exchange = await everything(subject)
    for at, entry in exchange.entries:
        _require_source(exchange, at, entry)
    # That nothing is accessible is an answer, too.
    subject.observe()


async def everything(subject: SourceSubject) -> SourceExchange:
    """What it answers for all that is accessible; raises ``Inapplicable`` where it does not know the mode."""
    query = (await subject.found())[0].request.query
    refs = (subject.reference(mode="all_accessible"),)
    if subject.member("validate_refs") is not None:
        ending = await subject.validate(refs)
        if ending.error is not None or not ending.value:
            raise Inapplicable("the source does not know the mode all_accessible")
    exchange = await subject.attempt(query, refs)
    if exchange.error is not None and error_code(exchange.error) in REFUSALS:
        raise Inapplicable("the source refuses the mode all_accessible")
    if exchange.error is not None:
        raise Violation(
            wanted="an answer, or knowledge_reference_invalid",
            saw=exchange.came,
            hint="answer from all that the context's owner may see, or refuse the mode by its code",
            where=str(exchange),
        )
    return exchange


CHECKS: Final[tuple[Check, ...]] = (
    references_are_answered,
    records_name_their_source,
    source_uris_are_the_sources_own,
    source_uris_are_stable,
    nothing_is_left_out_of_a_record,
    everything_that_is_accessible_is_named,
)
