"""How a JSON answer becomes results, by a declared shape; knows JSON and the contract, no vendor and no protocol.

Beside ``adapting``, which every adapter needs, for those of what answers in JSON. The shape is data, so that another
service needs no other adapter.
"""

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, Final, Literal, TypeGuard

from knowledge_provider import adapting, errors
from knowledge_provider._labelled import UNREADABLE_METADATA
from knowledge_provider.models import MetadataValue, RetrievalResult, Source

ScoreKind = Literal["similarity", "distance"]
"""What a number means: higher is better, or lower is."""

# What an answer may say of a failure in the contract's own words. A time-out is not among them: that of a service is
# an ordinary failure (clause 7.6).
_DECLARED: Final[Mapping[object, type[errors.KnowledgeError]]] = {
    kind.code: kind
    for kind in (
        errors.KnowledgeFiltersUnsupportedError,
        errors.KnowledgeBaseUnknownError,
        errors.KnowledgeOwnerRequiredError,
        errors.KnowledgeUnauthorizedError,
        errors.KnowledgeRateLimitedError,
        errors.KnowledgeUnavailableError,
    )
}
JSON_BYTES_MAX: Final = 1_000_000
"""How much JSON is read unless the caller says otherwise.

That much of records takes some hundredths of a second; of empty lists alone, up to half a second in a large process.
"""
_UNREPEATED: Final = "its text may hold data, so it is not repeated"


@dataclass(frozen=True, slots=True)
class AnswerFields:
    """Where a JSON answer holds what: names joined by dots, "" for the whole; by default the contract's own shape.

    ``results`` and ``error`` are places in the answer, the others in each of the results. A name that has dots itself
    is found as it is. What the other fields name is left out of the metadata.
    """

    results: str = "results"
    error: str = "error"
    id: str = "id"
    content: str = "content"
    score: str = "score"
    uri: str = "source.uri"
    title: str = "source.title"
    source_id: str = "source.id"
    mime_type: str = "source.mimeType"
    locator: str = "source.locator"
    metadata: str = "metadata"


def read_json(body: bytes, most: int = JSON_BYTES_MAX) -> Any:
    """The JSON in ``body``, with null for NaN and Infinity, which are none.

    Raises ``KnowledgeInvalidResponseError`` for what is longer than ``most`` bytes, is not JSON in UTF-8, or is nested
    too deep to be read.
    """
    # Clause 7.4: Python reads JSON in one go, and nothing else runs meanwhile.
    if len(body) > most:
        raise errors.KnowledgeInvalidResponseError(
            f"wanted at most {most} bytes of JSON, as reading more holds the event loop, and {len(body)} came"
        )
    # Python's own errors keep the body, which may hold anything, so none of them becomes a cause (clause 6.4).
    with suppress(ValueError, RecursionError):
        # JSON is UTF-8 (RFC 8259), whatever a header says of it; a byte order mark may be passed over.
        return json.loads(body.decode("utf-8-sig"), parse_constant=_null)
    raise errors.KnowledgeInvalidResponseError(
        "wanted an answer of JSON in UTF-8, and this is something else, cut off or nested too deep. See whether the "
        f"service sends a login page; {_UNREPEATED}"
    )


def results_in(
    answer: Any, top_k: int, *, fields: AnswerFields | None = None, score_kind: ScoreKind | None = None
) -> list[RetrievalResult]:
    """At most ``top_k`` results out of JSON, in its order; scores only with a ``score_kind``, a distance negated.

    A record without text, or without a finite score where there are to be some, costs itself only. Raises
    ``KnowledgeInvalidResponseError`` when there is no list or nothing usable in it. Where the answer says that it
    failed (anything but null, false, 0 and what is empty), raises ``KnowledgeFailedError``, or the error whose code
    stands there or under ``code`` in it.
    """
    fields = fields or AnswerFields()
    _raise_declared(_at(answer, fields.error))
    # Clause 5.1: in the contract's own shape, the list may be the whole.
    found = answer if _is_list(answer) and fields.results == "results" else _at(answer, fields.results)
    if not _is_list(found):
        raise errors.KnowledgeInvalidResponseError(
            f"wanted a list at {fields.results!r} of the answer, and there is none: name the place by AnswerFields"
        )
    taken: dict[str, str] = {}
    return adapting.usable((_result(item, fields, score_kind, taken) for item in found), top_k)


def _null(_: str) -> None:
    return None


def _raise_declared(error: Any) -> None:
    # Clause 5.10: an error in an answer that calls itself a success is a failure all the same.
    if error:
        code = error if isinstance(error, str) else _at(error, "code")
        kind = _DECLARED.get(code) if isinstance(code, str) else None
        raise (kind or errors.KnowledgeFailedError)(f"the service's answer says that it failed; {_UNREPEATED}")


def _result(
    item: Any, fields: AnswerFields, score_kind: ScoreKind | None, taken: dict[str, str]
) -> RetrievalResult | None:
    at = partial(_at, item)
    content, where = adapting.passage_text(at(fields.content)), at(fields.uri)
    score = adapting.plain_number(at(fields.score)) if score_kind else None
    if not content or (score_kind and score is None):
        return None
    own = adapting.result_id(at(fields.id), where, content, taken)
    if own is None:
        return None
    # Clause 5.4: higher is better. A distance of 0 stays 0, as -0.0 would only puzzle.
    score = -score if score_kind == "distance" and score else score
    scored = None if score is None else float(score)
    source, metadata = _source(where, at, fields), _metadata(at(fields.metadata), fields)
    # Every value keeps the contract by now, and finding that out again would cost as much as all of the above.
    return RetrievalResult.model_construct(id=own, content=content, score=scored, source=source, metadata=metadata)


def _source(where: Any, at: Callable[[str], Any], fields: AnswerFields) -> Source | None:
    return adapting.source_of(
        where,
        at(fields.title),
        source_id=at(fields.source_id),
        mime_type=at(fields.mime_type),
        locator=at(fields.locator),
    )


def _metadata(found: Any, fields: AnswerFields) -> dict[str, MetadataValue]:
    if not _is_object(found):
        # Clause 11.3: whatever it is, it may say who may read this.
        return dict(UNREADABLE_METADATA) if found else {}
    return adapting.plain_metadata(found, without=_mapped(fields))


@lru_cache(maxsize=64)
def _mapped(fields: AnswerFields) -> frozenset[str]:
    """The names directly inside the metadata's place that other fields already give."""
    inside = f"{fields.metadata}." if fields.metadata else ""
    texts = (fields.id, fields.content, fields.score, fields.title)
    places = (fields.uri, fields.source_id, fields.mime_type, fields.locator)
    return frozenset(path.removeprefix(inside) for path in texts + places if path.startswith(inside))


def _at(value: Any, path: str) -> Any:
    """What stands at ``path`` in JSON, or None where nothing does."""
    # Asked ten times for each result, so a function less is felt.
    while path and isinstance(value, dict):
        held: dict[str, Any] = value
        if "." not in path or path in held:
            return held.get(path)
        name, _, path = path.partition(".")
        value = held.get(name)
    return None if path else value


def _is_object(value: Any) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def _is_list(value: Any) -> TypeGuard[list[Any]]:
    return isinstance(value, list)
