"""Clause 5.9: what a host's normalisation leaves of an answer. Knows ``normalize_response`` and compares."""

from typing import Any, Final

from knowledge_conformance.check import Check, Level, Violation, answer_check
from knowledge_conformance.exchange import Exchange, place, source_of, text_of
from knowledge_provider import RetrievalResult, normalize_response
from knowledge_provider.text import content_text, is_a, short_text


# Clause 5.9
@answer_check("KP-516", clause="5.9", level=Level.SHOULD, needs=("KP-304", "KP-503", "KP-506", "KP-510"))
def normalising_loses_nothing(exchange: Exchange) -> int:
    """A host's normalisation loses nothing of an answer that a person would miss.

    No result is dropped, no text is cut, no source or metadata entry goes. Only white space, invisible characters, a
    fragment and the spelling of a URI may change; a URI that is not public is clause 6.2's matter.
    """
    limit = exchange.request.top_k
    kept = normalize_response(exchange.response, query=exchange.request.query, limit=limit).results
    expected = exchange.entries[:limit]
    if len(kept) < len(expected):
        raise Violation(
            wanted=f"all {len(expected)} results to stay",
            saw=f"{len(kept)} after normalising",
            hint="look for text that is nothing but invisible characters",
        )
    for (at, entry), result in zip(expected, kept, strict=False):
        lost = _lost(entry, result)
        if lost is not None:
            raise Violation(
                wanted=f"{lost} to stay as it is",
                saw="less of it after normalising",
                hint="keep to the limits of clauses 5.2, 5.5 and 5.6",
                where=place(exchange, f"results[{at}].{lost}"),
            )
    return len(expected)


def _lost(entry: dict[str, Any], result: RetrievalResult) -> str | None:
    whole = content_text(text_of(entry, "content"), str.__len__(text_of(entry, "content")))
    if result.content != whole:
        return "content"
    source = result.source.model_dump(exclude_none=True) if result.source else {}
    for name, value in source_of(entry).items():
        spelled = "mime_type" if name == "mimeType" else name
        if spelled != "uri" and short_text(value, str.__len__(value)) != source.get(spelled, ""):
            return f"source.{name}"
    metadata = entry.get("metadata", {})
    return "metadata" if is_a(metadata, dict) and len(result.metadata) != dict.__len__(metadata) else None


# Clause 5.9
@answer_check("KP-517", clause="5.9", level=Level.MUST, needs=("KP-501",))
def something_survives(exchange: Exchange) -> int:
    """When an answer has results, at least one of them survives a host's normalisation.

    Otherwise the user hears that nothing was found, although the provider found something.
    """
    kept = normalize_response(exchange.response, query=exchange.request.query, limit=exchange.request.top_k).results
    if exchange.count and not kept:
        raise Violation(
            wanted=f"at least one of {exchange.count} results to survive",
            saw="none after normalising",
            hint="each result needs an id and a content that a host can read",
        )
    return exchange.count


CHECKS: Final[tuple[Check, ...]] = (
    normalising_loses_nothing,
    something_survives,
)
