"""Section 6 of the contract as far as answers show it: links and the credentials in them. Makes no calls itself."""

from collections.abc import Iterator
from typing import Any, Final

from knowledge_conformance.check import Check, Inapplicable, Level, Violation, answer_check, check
from knowledge_conformance.checks.identity import claims
from knowledge_conformance.exchange import Exchange, as_dict
from knowledge_conformance.subject import Subject
from knowledge_provider import Source, public_uri
from knowledge_provider.uris import uri_fault


def _fields(value: object) -> dict[str, Any]:
    return as_dict(value.__dict__ if isinstance(value, Source) else value) or {}


def _links(entry: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Every string of a result that is read as a place: all of the source, url, and whole metadata values."""
    places = {
        "": {name: entry.get(name) for name in ("url", "uri")},
        "source.": _fields(entry.get("source")),
        "metadata.": _fields(entry.get("metadata")),
    }
    for prefix, fields in places.items():
        for name, value in fields.items():
            if isinstance(value, str) and (name in ("uri", "url") or ":" in value):
                yield prefix + name, str.__str__(value)


# Clause 6.1; the URI policy, rules 3 and 6
@answer_check("KP-601", clause="6.1", level=Level.MUST, needs=("KP-502",))
def no_credential_in_a_link(exchange: Exchange) -> int:
    """No returned URI carries a credential.

    A signed link, a user name or a token in a query opens the document to everyone who sees the citation, or hears it
    read out. Looked at: the source, url, and metadata values that are links. Text inside content is the document's own.
    """
    for at, entry in exchange.entries:
        for path, value in _links(entry):
            fault = uri_fault(value)
            if fault is not None and fault.is_credential:
                raise Violation(
                    wanted="a link without a credential",
                    saw=f"one that is refused: {fault}",
                    hint="return the document's plain address, or its key in source.id and source.locator",
                    where=f"results[{at}].{path} of {exchange}",
                )
    return len(exchange.entries)


# Clause 6.2
@answer_check("KP-602", clause="6.2", level=Level.SHOULD, needs=("KP-502",))
def source_uri_is_public(exchange: Exchange) -> int:
    """source.uri is a public HTTP(S) address, or absent.

    A host drops any other, so that private names and addresses do not reach users; the citation is lost with it. A
    path, a bucket or an intranet page belongs in source.id and source.locator.
    """
    for at, entry in exchange.entries:
        uri = _fields(entry.get("source")).get("uri")
        fault = uri_fault(uri) if isinstance(uri, str) else None
        if fault is not None and not fault.is_credential:
            raise Violation(
                wanted="a public http or https address, or none",
                saw=f"one that is refused: {fault}",
                hint="move it to source.locator; a host owner can allow an intranet host by name",
                where=f"results[{at}].source.uri of {exchange}",
            )
    return len(exchange.entries)


# Clause 6.3
@check("KP-603", clause="6.3", level=Level.SHOULD, needs=("KP-102", "KP-502"), calls=1, surveyed=True)
async def claimed_citations_are_there(subject: Subject) -> None:
    """With capabilities.citations, a result has a URI that a host keeps.

    A host that was promised citations shows them; here there would be none.
    """
    if not await claims(subject, "citations"):
        raise Inapplicable("capabilities.citations is not claimed")
    results = 0
    for exchange in await subject.survey():
        for _, entry in exchange.entries:
            results += 1
            if public_uri(_fields(entry.get("source")).get("uri")) is not None:
                subject.observe(1)
    if results and not subject.observations:
        raise Violation(
            wanted="a public source.uri on at least one result",
            saw=f"none on {results}",
            hint="return source.uri, or do not claim capabilities.citations",
            where=f"all {results} results of the survey",
        )


CHECKS: Final[tuple[Check, ...]] = (no_credential_in_a_link, source_uri_is_public, claimed_citations_are_there)
