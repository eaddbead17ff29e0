"""Section 6 of the contract as far as answers show it: links and the credentials in them. Makes no calls itself."""

import re
from collections.abc import Iterator
from typing import Final

from knowledge_conformance.check import Check, Inapplicable, Level, Violation, answer_check, check
from knowledge_conformance.checks.identity import claims
from knowledge_conformance.exchange import Exchange, place, source_of
from knowledge_conformance.parts import Path, parts_of, show_path
from knowledge_conformance.plain import copied
from knowledge_conformance.subject import Subject
from knowledge_provider import UriFault, public_uri, uri_fault

_LINK_NAMES: Final = ("uri", "url", "link", "href")
_CONTENT: Final = ("content", "text")
# Where one link in a text ends, also when the next one follows after a comma alone.
_BETWEEN: Final = re.compile(r"[\s<>\"]+|[,;](?=(?:[a-z][a-z0-9+.-]{0,30}:){0,3}[/\\]{2})", re.IGNORECASE)
# With a scheme (wrapped ones too), HTTP as browsers read it, or none; bounded, so that a search takes linear time.
_LINK: Final = re.compile(
    r"(?:[a-z][a-z0-9+.-]{0,30}:){1,3}[/\\]{2}|(?<![a-z0-9])https?:|(?<![\w:/\\])//", re.IGNORECASE
)


# Clause 6.1; the URI policy, rules 3 and 6
@answer_check("KP-601", clause="6.1", level=Level.MUST, needs=("KP-502",))
def no_credential_in_a_link(exchange: Exchange) -> int:
    """No returned URI carries a credential.

    A signed link, a user name or a token in a query opens the document to everyone who sees the citation, or hears it
    read out. Looked at: every string of an answer, links in the midst of a text too. Text inside content is the
    document's own.
    """
    for path, part in parts_of(exchange.response):
        text = None if _is_content(path) else copied(part)
        fault = _credential(path, text) if text else None
        if fault is not None:
            raise Violation(
                wanted="a link without a credential",
                saw=f"one that is refused: {fault}",
                hint="return the document's plain address, or its key in source.id and source.locator",
                where=place(exchange, show_path(path)),
            )
    return len(exchange.entries)


def _is_content(path: Path) -> bool:
    """Whether it is the way to a result's own text: content in an item of the answer, or of its results."""
    if path is None or path[0] is None or copied(path[1]) not in _CONTENT:
        return False
    results, at = path[0]
    return type(at) is int and (results is None or (results[0] is None and copied(results[1]) == "results"))


def _credential(path: Path, text: str) -> UriFault | None:
    named = path is not None and (copied(path[1]) or "").lower().endswith(_LINK_NAMES)
    found = (uri_fault(link) for link in (*([text] if named else []), *_links(text)))
    return next((fault for fault in found if fault is not None and fault.is_credential), None)


def _links(text: str) -> Iterator[str]:
    """What reads as a link in a text, from its scheme to the next white space."""
    for piece in _BETWEEN.split(text):
        begin = _LINK.search(piece)
        if begin:
            yield piece[begin.start() :]


# Clause 6.2
@answer_check("KP-602", clause="6.2", level=Level.SHOULD, needs=("KP-502",))
def source_uri_is_public(exchange: Exchange) -> int:
    """source.uri is a public HTTP(S) address, or absent.

    A host drops any other, so that private names and addresses do not reach users; the citation is lost with it. A
    path, a bucket or an intranet page belongs in source.id and source.locator.
    """
    for at, entry in exchange.entries:
        uri = copied(source_of(entry).get("uri"))
        fault = None if uri is None else uri_fault(uri)
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
            if public_uri(source_of(entry).get("uri")) is not None:
                subject.observe(1)
    if results and not subject.observations:
        raise Violation(
            wanted="a public source.uri on at least one result",
            saw=f"none on {results}",
            hint="return source.uri, or do not claim capabilities.citations",
            where=f"all {results} results of the survey",
        )


CHECKS: Final[tuple[Check, ...]] = (no_credential_in_a_link, source_uri_is_public, claimed_citations_are_there)
