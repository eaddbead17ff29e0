"""Clauses 5.5 and 5.6: a result's source and metadata. Pure judgements of one answer each; links are section 6's."""

from typing import Final

from knowledge_conformance.check import Check, Level, Violation, answer_check
from knowledge_conformance.exchange import Exchange, place, source_of
from knowledge_conformance.render import show
from knowledge_provider import Source, limits
from knowledge_provider.text import finite_number, is_a, is_blank

_SOURCE_LIMITS: Final = {
    "id": limits.SOURCE_ID_MAX,
    "title": limits.SOURCE_TITLE_MAX,
    "mimeType": limits.SOURCE_MIME_TYPE_MAX,
    "mime_type": limits.SOURCE_MIME_TYPE_MAX,
    "locator": limits.SOURCE_LOCATOR_MAX,
}


# Clause 5.5
@answer_check("KP-510", clause="5.5", level=Level.MUST, needs=("KP-502",))
def source_is_strings(exchange: Exchange) -> int:
    """source, when present, is a mapping of strings.

    id, title, uri, mime_type and locator become a citation: a number or a nested object cannot be shown.
    """
    for at, entry in exchange.entries:
        source = entry.get("source")
        if source is not None and not (is_a(source, dict) or is_a(source, Source)):
            raise Violation(
                wanted="a mapping, or none",
                saw=show(source),
                hint="return {'id': …, 'title': …, 'uri': …}",
                where=place(exchange, f"results[{at}].source"),
            )
        for name, value in source_of(entry).items():
            if not is_a(value, str):
                raise Violation(
                    wanted="a string, or null",
                    saw=show(value),
                    hint="convert it, or leave the field out",
                    where=place(exchange, f"results[{at}].source.{name}"),
                )
    return len(exchange.entries)


# Clause 5.5
@answer_check("KP-511", clause="5.5", level=Level.SHOULD, needs=("KP-510",))
def source_is_bounded(exchange: Exchange) -> int:
    """A source's id and media type have at most 120 characters, its title and locator at most 300.

    Hosts cut longer ones, and a cut locator points nowhere.
    """
    for at, entry in exchange.entries:
        for name, value in source_of(entry).items():
            size = str.__len__(value)
            if size > _SOURCE_LIMITS.get(name, limits.URI_MAX):
                raise Violation(
                    wanted=f"at most {_SOURCE_LIMITS.get(name, limits.URI_MAX)} characters",
                    saw=f"{size}",
                    hint="shorten it, or put a key into it that your own system resolves",
                    where=place(exchange, f"results[{at}].source.{name}"),
                )
    return len(exchange.entries)


# Clause 5.6
@answer_check("KP-512", clause="5.6", level=Level.SHOULD, needs=("KP-502",))
def metadata_is_flat(exchange: Exchange) -> int:
    """metadata is flat and small: 16 entries, keys of 80 characters, booleans, finite numbers and strings of 500.

    A host drops the rest, and an embedding in there would fill a model's whole context.
    """
    for at, entry in exchange.entries:
        where = place(exchange, f"results[{at}].metadata")
        metadata = entry.get("metadata", {})
        if not is_a(metadata, dict):
            raise Violation(wanted="a mapping, or none", saw=show(metadata), hint="return a flat dict", where=where)
        if dict.__len__(metadata) > limits.METADATA_ENTRIES_MAX:
            raise Violation(
                wanted=f"at most {limits.METADATA_ENTRIES_MAX} entries",
                saw=f"{dict.__len__(metadata)}",
                hint="keep what a person or a model would use",
                where=where,
            )
        for key, value in list(dict.items(metadata)):
            if not _is_metadata(key, value):
                raise Violation(
                    wanted="short string keys with a boolean, a finite number or a string of at most 500 characters",
                    saw=f"{show(key)}: {show(value)}",
                    hint="drop vectors, nulls, lists and nested objects, or flatten what matters",
                    where=where,
                )
    return len(exchange.entries)


def _is_metadata(key: object, value: object) -> bool:
    if not is_a(key, str) or is_blank(key) or str.__len__(key) > limits.METADATA_KEY_MAX:
        return False
    if is_a(value, str):
        return str.__len__(value) <= limits.METADATA_TEXT_MAX
    return is_a(value, bool) or finite_number(value) is not None


CHECKS: Final[tuple[Check, ...]] = (
    source_is_strings,
    source_is_bounded,
    metadata_is_flat,
)
