"""What a host makes of any answer: rules N1 to N13 as one pure function; knows no provider, call or clock.

Total and bounded: a response is foreign data of any type. Containers and models are read through the base types' own
methods, so nothing of a response is called, iterated or compared but a key that claims the hash of a known name.
"""

import re
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from knowledge_provider import limits
from knowledge_provider._foreign import Fields, entry, fields_of, head, listed
from knowledge_provider._metadata import bounded_metadata, labelled_metadata
from knowledge_provider.citations import CitationLedger
from knowledge_provider.models import MetadataValue, RetrievalResult, Source
from knowledge_provider.outcome import Citation, Outcome, OutcomeResult, SourceReport
from knowledge_provider.text import class_name, content_text, finite_number, is_a, short_text
from knowledge_provider.uris import public_uri, read_hosts

_DICT: Final[type[Fields]] = dict

_JSON_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")


class _Bounds(NamedTuple):
    """What is kept: results, code points of content, hosts beside the public ones, and how metadata are read."""

    results: int
    content: int
    hosts: tuple[str, ...]
    metadata: Callable[[object], dict[str, MetadataValue]]


class _Passage(NamedTuple):
    """A candidate that became a result, before it is cited."""

    id: str
    content: str
    score: float | None
    source: Source
    metadata: dict[str, MetadataValue]
    provider: str


def normalize_response(
    response: object,
    *,
    query: object,
    limit: int = limits.TOP_K_DEFAULT,
    max_content_chars: int = limits.CONTENT_MAX,
    allow_hosts: Iterable[str] = (),
    citations: CitationLedger | None = None,
) -> Outcome:
    """The outcome of one search by rules N1 to N13 (clause 8.8): total, deterministic, in the response's order.

    Pure but for ``citations``: equal arguments give equal outcomes, and nothing else is changed. Takes time for what is
    kept of the response, not for what is left out.

    Args:
        response: What ``retrieve`` answered; anything at all. It is not changed.
        query: What was asked; anything at all, normalised to at most 500 code points.
        limit: How many results at most, 1 or more. Eight times as many candidates are looked at.
        max_content_chars: Code points of content in each result, 1 or more.
        allow_hosts: Host names or addresses that the URI policy lets pass although they are not public.
        citations: The turn's ledger, which new citations are added to; without one, ids begin at ``source_1``.

    Normalising ``results`` of the outcome again, as models or as ``to_dict()`` has them, changes nothing in them.

    Raises:
        TypeError: ``limit`` or ``max_content_chars`` is not an int, ``allow_hosts`` is not iterable or raises when it
            is iterated, or ``citations`` is not a ``CitationLedger``.
        ValueError: ``limit`` or ``max_content_chars`` is below 1.
    """
    ledger = CitationLedger() if citations is None else _require_ledger(citations)
    return _outcome(
        response, query, _Bounds(limit, max_content_chars, read_hosts(allow_hosts), bounded_metadata), ledger
    )


def normalize_to_answer(
    response: object,
    *,
    limit: int,
    max_content_chars: int = limits.CONTENT_MAX,
    allow_hosts: Iterable[str] = (),
) -> Outcome:
    """The same for a provider that answers from it: labels are kept whole, before at most 16 entries in all (11.3).

    A label that N11 would drop or change otherwise is 0, which authorises nobody; so is ``visibility`` of metadata that
    cannot be read. Raises as ``normalize_response``.
    """
    return _outcome(
        response, "", _Bounds(limit, max_content_chars, read_hosts(allow_hosts), labelled_metadata), CitationLedger()
    )


def result_key(candidate: object, place: int) -> str:
    """The id that a candidate has as result number ``place`` of an outcome, "" where it becomes none (N3, N4, N7)."""
    item = fields_of(candidate, RetrievalResult)
    if not content_text(_first((item, "content"), (item, "text")), limits.CONTENT_MAX):
        return ""
    source_id = _source_id(item, fields_of(entry(item, "source"), Source))
    return _id(_first((item, "id"), (item, "chunkId"), (item, "chunk_id")), source_id, place)


def _outcome(response: object, query: object, bounds: _Bounds, ledger: CitationLedger) -> Outcome:
    _require_count("limit", bounds.results)
    _require_count("max_content_chars", bounds.content)
    passages = _passages(response, bounds)
    cited = [(passage, _cite(passage, ledger)) for passage in passages]
    return Outcome(
        status="ok" if passages else "not_found",
        query=short_text(query, limits.QUERY_MAX),
        results=tuple(_result(passage, citation) for passage, citation in cited),
        citations=tuple({citation.id: citation for _, citation in cited if citation}.values()),
        sources=_reports(response),
    )


def _passages(response: object, bounds: _Bounds) -> list[_Passage]:
    kept: dict[str, _Passage] = {}
    # Rule N2.
    for candidate in head(listed(response, "results", Outcome), bounds.results * limits.CANDIDATES_PER_RESULT):
        # Rule N3: what is neither a dict nor a model has no fields, so no id.
        passage = _passage(fields_of(candidate, RetrievalResult), len(kept) + 1, bounds)
        # Rule N7.
        if passage.id and passage.content:
            kept.setdefault(passage.id, passage)
        if len(kept) == bounds.results:
            break
    return list(kept.values())


def _passage(item: Fields, place: int, bounds: _Bounds) -> _Passage:
    # Rule N4, with each field by its own rule.
    inner = fields_of(entry(item, "source"), Source)
    source = _source(item, inner, bounds.hosts)
    return _Passage(
        id=_id(_first((item, "id"), (item, "chunkId"), (item, "chunk_id")), source.id, place),
        content=content_text(_first((item, "content"), (item, "text")), bounds.content),
        score=_score(entry(item, "score")),
        source=source,
        metadata=bounds.metadata(entry(item, "metadata")),
        provider=short_text(_first((item, "provider"), (inner, "provider")), limits.PROVIDER_NAME_MAX),
    )


def _id(value: object, source_id: str | None, place: int) -> str:
    # Rule N4: two passages of one document without ids are still told apart. A source id is so much shorter than a
    # result's that nothing is left to cut.
    written = short_text(value, limits.RESULT_ID_MAX)
    return f"{source_id}:{place}" if source_id and not written else written


def _source(item: Fields, inner: Fields, allow_hosts: tuple[str, ...]) -> Source:
    # Rules N4, N5 and N10.
    mime_type = _first((inner, "mimeType"), (inner, "mime_type"), (item, "mimeType"))
    return Source(
        id=_source_id(item, inner),
        title=_optional(_first((inner, "title"), (item, "title")), limits.SOURCE_TITLE_MAX),
        uri=public_uri(_first((inner, "uri"), (inner, "url"), (item, "url")), allow_hosts=allow_hosts),
        mime_type=_optional(mime_type, limits.SOURCE_MIME_TYPE_MAX),
        locator=_optional(entry(inner, "locator"), limits.SOURCE_LOCATOR_MAX),
    )


def _source_id(item: Fields, inner: Fields) -> str | None:
    return _optional(_first((inner, "id"), (item, "documentId"), (item, "document_id")), limits.SOURCE_ID_MAX)


def _score(value: object) -> float | None:
    # Rule N8. `float` alone would also read "1_000", "Infinity" and Arabic-Indic digits.
    # Read from a plain string: a subclass may define `__float__`.
    if is_a(value, str):
        value = float(str.__str__(value)) if _JSON_NUMBER.fullmatch(value) else None
    number = finite_number(value)
    return None if number is None else float(number)


def _cite(passage: _Passage, ledger: CitationLedger) -> Citation | None:
    # Clause 8.9.
    if passage.source.uri is None:
        return None
    return ledger.cite(passage.source.uri, source=passage.source, content=passage.content, provider=passage.provider)


def _result(passage: _Passage, citation: Citation | None) -> OutcomeResult:
    # Rules N9 and N13. Constructed without validation: normalised values keep the model's rules, and checking each
    # again would take as long as reading it did.
    return OutcomeResult.model_construct(
        id=passage.id,
        content=passage.content,
        score=passage.score,
        source=passage.source if any(vars(passage.source).values()) else None,
        metadata=passage.metadata,
        url=citation.url if citation else None,
        citation_id=citation.id if citation else None,
    )


def _reports(response: object) -> tuple[SourceReport, ...]:
    # Rule N13, clause 5.11.
    reported = entry(fields_of(response, Outcome), "sources")
    read = (_report(each) for each in head(reported, limits.SOURCE_REPORTS_MAX))
    return tuple(report for report in read if report)


def _report(reported: object) -> SourceReport | None:
    fields = fields_of(reported, SourceReport)
    key, status, reason = (
        _optional(entry(fields, name), limits.PROVIDER_NAME_MAX) for name in ("key", "status", "reason")
    )
    if not key or not status:
        return None
    count = finite_number(entry(fields, "count"))
    return SourceReport(key=key, status=status, reason=reason, count=count if is_a(count, int) and count >= 0 else None)


def _first(*places: tuple[Fields, str]) -> object:
    # Rule N4: null falls through, an empty string does not.
    for fields, name in places:
        if (value := entry(fields, name)) is not None:
            return value
    return None


def _optional(value: object, limit: int) -> str | None:
    return short_text(value, limit) or None


def _require_count(name: str, value: object) -> None:
    if type(value) is not int:
        raise TypeError(f"{name} must be an int, since it is a count; got {class_name(value)}: pass 1 or more")
    if value < 1:
        raise ValueError(f"{name} must be 1 or more, or no result could be kept; got 0 or less: pass 1 or more")


def _require_ledger(value: object) -> CitationLedger:
    if not is_a(value, CitationLedger):
        raise TypeError(
            f"citations must be a CitationLedger, since it keeps the turn's ids; got {class_name(value)}: "
            "pass one for each turn, or leave it out"
        )
    return value
