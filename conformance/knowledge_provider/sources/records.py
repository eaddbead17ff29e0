"""Records of sources with their provenance (clauses 10.5, 10.6), read from any answer; knows no call and no clock.

An answer is foreign: it is read by the rules of ``normalize_response``, and its provenance is believed only where it
fits the references that were asked.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Literal
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, Field

from knowledge_provider import limits, merging
from knowledge_provider._foreign import Fields, entry, fields_of, head, listed
from knowledge_provider.adapting import stable_id
from knowledge_provider.errors import KnowledgeInvalidResponseError
from knowledge_provider.models import MetadataValue
from knowledge_provider.normalize import normalize_response
from knowledge_provider.outcome import Outcome, OutcomeResult, SourceReport
from knowledge_provider.provider_calls import Ending
from knowledge_provider.sources import screening
from knowledge_provider.sources.references import REFERENCE_NAME_MAX, ExternalKnowledgeRef
from knowledge_provider.sources.registry import BUILT_IN
from knowledge_provider.text import short_text

BUILT_IN_MAX: Final = 64
"""Records of the host's own that are kept, far more than a search gives."""

# A scheme may have a dot, and no name of a source has one.
_BUILT_IN_SCHEME: Final = "knowledge.base"

_URI: Final = re.compile(r"[a-z][a-z0-9+.-]*:[\x21-\x7e]+", re.IGNORECASE)


class SourceRecord(BaseModel):
    """One passage with its provenance (clause 10.6); ``id`` is ``source_type:id``, as clause 9.5 has it.

    ``source_type`` is the source's registered name, or ``knowledge_base`` for the host's own. ``source_id`` is the
    ``id`` of the reference that it is from. ``source_uri`` is for the source to interpret, and never a raw URL.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)

    id: str
    content: str
    title: str | None = None
    source_type: str
    source_id: str
    source_uri: str
    source_name: str
    metadata: dict[str, MetadataValue] = Field(default_factory=dict)


class SourceStatus(SourceReport):
    """How one source fared (clauses 9.3, 10.8): ids, a status, a slug and a count, so it can be logged."""

    source_ids: tuple[str, ...] = ()


class MergedRecords(BaseModel):
    """The built-in records, then each source's in its order, and how each fared (clause 10.5).

    ``status``: ``ok`` with records; without, ``not_found`` where everything was asked, ``incomplete`` where something
    failed, and ``failed`` where everything did (clause 9.4).
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True)

    status: Literal["ok", "not_found", "incomplete", "failed"]
    records: tuple[SourceRecord, ...] = ()
    summary: tuple[SourceStatus, ...] = ()

    def response(self) -> dict[str, Any]:
        """The same as a provider's answer, for ``normalize_response`` and what renders its outcome."""
        return {
            "results": [_result(record) for record in self.records],
            "sources": [
                {"key": each.key, "status": each.status, "reason": each.reason, "count": each.count}
                for each in self.summary
            ],
        }


@dataclass(frozen=True, slots=True)
class SourceAnswer:
    """What one source gave; ``error`` is what it raised or did wrong, if it did."""

    status: SourceStatus
    records: tuple[SourceRecord, ...] = ()
    error: BaseException | None = None


def read_source(name: str, refs: Sequence[ExternalKnowledgeRef], ending: Ending, top_k: int) -> SourceAnswer:
    """What a call of a source came to, at most ``top_k`` records; raises nothing but a ``KeyboardInterrupt``.

    A record from elsewhere than ``refs`` name is dropped. An answer of which nothing is left is no empty one (5.10).
    """
    ids = _ids(refs)
    # Clauses 5.10, 9.2 and 9.3, as for any provider behind another.
    answer = merging.read_answer(name, ending, top_k=top_k)
    if answer.error is not None or answer.report.status != "hit":
        return SourceAnswer(_status(answer.report, ids), error=answer.error)
    records = tuple(_unique(_external(name, refs, ending.value, top_k), top_k))
    if not records:
        error = KnowledgeInvalidResponseError("none of its records is from what was asked", provider_key=name)
        return SourceAnswer(_status(merging.read_answer(name, Ending(error=error), top_k=1).report, ids), error=error)
    return SourceAnswer(SourceStatus(key=name, status="hit", count=len(records), source_ids=ids), records)


def read_built_in(ending: Ending) -> SourceAnswer:
    """What the host found itself: an outcome, a provider's answer, or what was raised instead."""
    answer = merging.read_answer(BUILT_IN, ending, top_k=BUILT_IN_MAX)
    if answer.error is not None or answer.report.status != "hit":
        return SourceAnswer(_status(answer.report, ()), error=answer.error)
    results = normalize_response(ending.value, query="", limit=BUILT_IN_MAX).results
    records = tuple(_built_in(result) for result in results)
    return SourceAnswer(SourceStatus(key=BUILT_IN, status="hit", count=len(records)), records)


def ignored(name: str, refs: Sequence[ExternalKnowledgeRef]) -> SourceAnswer:
    """What becomes of references whose source is not registered (clause 10.3)."""
    return SourceAnswer(
        SourceStatus(key=name, status="ignored", reason="not_registered", count=0, source_ids=_ids(refs))
    )


def merged(answers: Sequence[SourceAnswer]) -> MergedRecords:
    """All records in the order of the answers, with the summary (clause 10.5)."""
    records = tuple(record for answer in answers for record in answer.records)
    failed = [answer for answer in answers if answer.status.status == "failed"]
    # Clause 9.4: neither failure looks like an empty answer.
    empty = "not_found" if not failed else "failed" if len(failed) == len(answers) else "incomplete"
    return MergedRecords(
        status="ok" if records else empty, records=records, summary=tuple(answer.status for answer in answers)
    )


def _status(report: SourceReport, ids: tuple[str, ...]) -> SourceStatus:
    return SourceStatus(**report.model_dump(), source_ids=ids)


def _ids(refs: Sequence[ExternalKnowledgeRef]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(ref.id for ref in refs if ref.id is not None))


def _unique(records: Iterator[SourceRecord], top_k: int) -> Iterator[SourceRecord]:
    # Rule N7, and clause 3.3.
    seen: set[str] = set()
    for record in records:
        if len(seen) < top_k and record.id not in seen:
            seen.add(record.id)
            yield record


def _external(name: str, refs: Sequence[ExternalKnowledgeRef], response: object, top_k: int) -> Iterator[SourceRecord]:
    for item in head(listed(response, "results", Outcome), top_k * limits.CANDIDATES_PER_RESULT):
        # One by one, so that a record and its provenance stay together.
        for result in normalize_response([item], query="", limit=1).results:
            fields = fields_of(item, BaseModel)
            if source_id := _source_id(fields, result, refs):
                yield _record(name, source_id, fields, result, refs)


def _source_id(fields: Fields, result: OutcomeResult, refs: Sequence[ExternalKnowledgeRef]) -> str | None:
    # Clause 3.4, as for bases: what is bound restricts, and what names no bound source is not shown.
    explicit = {ref.id for ref in refs if ref.mode == "explicit" and ref.id is not None}
    restricted = all(ref.mode == "explicit" for ref in refs)
    # Not cut: a part of an id would be another's.
    said = short_text(entry(fields, "source_id"), limits.RESULT_ID_MAX + 1)
    if not said and restricted and len(explicit) == 1:
        return next(iter(explicit))
    source_id = said or (result.source.id if result.source and result.source.id else "")
    # Clause 10.2: what no reference could hold.
    if not source_id or len(source_id) > limits.RESULT_ID_MAX or screening.fault(source_id):
        return None
    return source_id if source_id in explicit or not restricted else None


def _record(
    name: str, source_id: str, fields: Fields, result: OutcomeResult, refs: Sequence[ExternalKnowledgeRef]
) -> SourceRecord:
    named = next((ref.name for ref in refs if ref.id == source_id and ref.name), None)
    title = _shown(entry(fields, "title")) or _shown(result.source.title if result.source else None)
    return SourceRecord(
        id=_own_id(name, result.id),
        content=result.content,
        title=title or None,
        # Never the record's own word: it could name the host, or another source.
        source_type=name,
        source_id=source_id,
        source_uri=_source_uri(entry(fields, "source_uri")) or _made_uri(name, source_id),
        source_name=named or _shown(entry(fields, "source_name")) or source_id,
        metadata={key: value for key, value in result.metadata.items() if not _is_hidden(key, value)},
    )


def _built_in(result: OutcomeResult) -> SourceRecord:
    source_id = (result.source.id if result.source else None) or result.id
    title = result.source.title if result.source else None
    return SourceRecord(
        id=result.id,
        content=result.content,
        title=title,
        source_type=BUILT_IN,
        source_id=source_id,
        source_uri=_made_uri(_BUILT_IN_SCHEME, source_id),
        source_name=title or source_id,
        metadata=result.metadata,
    )


def _own_id(name: str, result_id: str) -> str:
    # Clause 9.5. A name has no colon, so an id names one source alone.
    own = f"{name}:{result_id}"
    return own if len(own) <= limits.RESULT_ID_MAX else f"{name}:{stable_id(result_id)}"


def _source_uri(value: object) -> str | None:
    # Clause 10.6.
    text = short_text(value, limits.URI_MAX)
    return text if _URI.fullmatch(text) and screening.fault(text) is None else None


def _made_uri(name: str, source_id: str) -> str:
    return f"{name}:{quote(source_id, safe='')}"


def _shown(value: object) -> str:
    text = short_text(value, REFERENCE_NAME_MAX)
    return "" if screening.fault(text) else text


def _is_hidden(key: str, value: MetadataValue) -> bool:
    # Clause 10.8 and the document's rule: no raw URL and no credential is kept of a source's payload.
    return screening.fault(key) is not None or (
        isinstance(value, str) and screening.fault(f"{key}={value}") is not None
    )


def _result(record: SourceRecord) -> dict[str, Any]:
    source = {"id": record.source_id, "title": record.title or record.source_name, "locator": record.source_uri}
    return {
        "id": record.id,
        "content": record.content,
        "provider": record.source_type,
        "source": source,
        **({"metadata": dict(record.metadata)} if record.metadata else {}),
    }
