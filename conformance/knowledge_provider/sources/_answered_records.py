"""Records out of what a source answered, or the host itself (clauses 10.5, 10.6); knows no call and no clock.

An answer is foreign: it is read by the rules of ``normalize_response``, and its provenance is believed only where it
fits the references that were asked.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import quote

from pydantic import BaseModel
from pydantic_core import Url

from knowledge_provider import limits, merging
from knowledge_provider._foreign import Fields, entry, fields_of, head, listed
from knowledge_provider._labelled import LABELS, UNREADABLE
from knowledge_provider.errors import KnowledgeInvalidResponseError, read_or_none
from knowledge_provider.models import MetadataValue
from knowledge_provider.normalize import normalize_to_answer
from knowledge_provider.outcome import Citation, Outcome, OutcomeResult, SourceReport
from knowledge_provider.provider_calls import Ending
from knowledge_provider.sources import screening
from knowledge_provider.sources.records import MergedRecords, SourceRecord, SourceStatus
from knowledge_provider.sources.references import REFERENCE_NAME_MAX, ExternalKnowledgeRef
from knowledge_provider.sources.registry import BUILT_IN
from knowledge_provider.text import is_a, short_text

BUILT_IN_MAX: Final = 64
"""Records of the host's own that are kept, far more than a search gives."""

# A host cuts contents where it likes, and nothing is cut again.
_UNCUT: Final = 2**62
# A scheme may have a dot, and no name of a source has one.
_BUILT_IN_SCHEME: Final = "knowledge.base"

_KEYS: Final = re.compile(r"[a-z0-9_.-]+")
# Clause 9.3.
_STATUSES: Final = frozenset({"hit", "no_hit", "ignored", "failed"})

_References = Sequence[ExternalKnowledgeRef]


@dataclass(frozen=True, slots=True)
class SourceAnswer:
    """What one source gave; ``error`` is what it raised or did wrong, if it did.

    ``inner`` says of single references that the source did not answer for them. ``citations`` are the host's own.
    """

    status: SourceStatus
    records: tuple[SourceRecord, ...] = ()
    error: BaseException | None = None
    inner: tuple[SourceStatus, ...] = ()
    citations: tuple[Citation, ...] = ()


def read_source(name: str, refs: _References, ending: Ending, top_k: int) -> SourceAnswer:
    """What a call of a source came to, at most ``top_k`` records; raises nothing but a ``KeyboardInterrupt``.

    A record from elsewhere than ``refs`` name is dropped. An answer of which nothing is left is no empty one (5.10).
    """
    # Clauses 5.10, 9.2 and 9.3, as for any provider behind another.
    answer = merging.read_answer(name, ending, top_k=top_k)
    inner = _of_references(name, refs, answer.inner)
    if answer.error is not None or answer.report.status != "hit":
        return SourceAnswer(_status(answer.report, _ids(refs)), error=answer.error, inner=inner)
    records = _unique(_external(name, refs, ending.value, top_k), top_k)
    if not records:
        error = KnowledgeInvalidResponseError("none of its records is from what was asked", provider_key=name)
        return read_source(name, refs, Ending(error=error), top_k)
    return SourceAnswer(
        SourceStatus(key=name, status="hit", count=len(records), source_ids=_ids(refs)), records, inner=inner
    )


def read_built_in(ending: Ending) -> SourceAnswer:
    """What the host found itself: an outcome, a provider's answer, or what was raised instead."""
    answer = merging.read_answer(BUILT_IN, ending, top_k=BUILT_IN_MAX)
    if answer.error is not None or answer.report.status != "hit":
        return SourceAnswer(_status(answer.report, ()), error=answer.error, inner=_of_children(answer.inner))
    own = _own_outcome(ending.value)
    # Clause 10.5: all of it stays.
    records = _unique(map(_built_in, own.results), BUILT_IN_MAX)
    status = SourceStatus(key=BUILT_IN, status="hit", count=len(records))
    return SourceAnswer(status, records, inner=_of_children(answer.inner), citations=own.citations)


def ignored(name: str, refs: _References) -> SourceAnswer:
    """What becomes of references whose source is not registered (clause 10.3)."""
    return SourceAnswer(_ignored(name, _ids(refs)))


def without(answer: SourceAnswer, dropped: _References) -> SourceAnswer:
    """The same answer, which says of references that do not stand that they were not asked (clauses 9.3, 10.4)."""
    ids = tuple(dict.fromkeys(ref.id or ref.mode for ref in dropped))[: limits.SOURCE_REPORTS_MAX]
    dropped_too = (_ignored(_inner_key(answer.status.key, each), (each,)) for each in ids)
    return replace(answer, inner=(*answer.inner, *dropped_too))


def merged(answers: Sequence[SourceAnswer]) -> MergedRecords:
    """All records in the order of the answers, with the summary (clause 10.5)."""
    records = tuple(record for answer in answers for record in answer.records)
    failed = [answer for answer in answers if answer.status.status == "failed"]
    # Clause 9.4: neither failure looks like an empty answer.
    empty = "not_found" if not failed else "failed" if len(failed) == len(answers) else "incomplete"
    inner = (status for answer in answers for status in answer.inner)
    return MergedRecords(
        status="ok" if records else empty,
        records=records,
        summary=(*(answer.status for answer in answers), *inner),
        citations=tuple(citation for answer in answers for citation in answer.citations),
    )


def _status(report: SourceReport, ids: tuple[str, ...]) -> SourceStatus:
    return SourceStatus(**report.model_dump(), source_ids=ids)


def _ignored(key: str, ids: tuple[str, ...]) -> SourceStatus:
    return SourceStatus(key=key, status="ignored", reason="not_registered", count=0, source_ids=ids)


def _of_references(name: str, refs: _References, reports: Sequence[SourceReport]) -> tuple[SourceStatus, ...]:
    # Clauses 5.11 and 10.8: what a source says of a reference, and nothing else, since it may call others anything.
    ids = {_inner_key(name, each): each for each in (ref.id or ref.mode for ref in refs)}
    return tuple(_status(each, (ids[each.key],)) for each in reports if each.key in ids and each.status in _STATUSES)


def _of_children(reports: Sequence[SourceReport]) -> tuple[SourceStatus, ...]:
    # The same of a composite that the host has: its children have keys.
    return tuple(_status(each, ()) for each in reports if _KEYS.fullmatch(each.key) and each.status in _STATUSES)


def _inner_key(name: str, part: str) -> str:
    # A name has no dot, so these are nobody else's.
    return short_text(f"{name}.{part}", limits.PROVIDER_NAME_MAX)


def _ids(refs: _References) -> tuple[str, ...]:
    return tuple(dict.fromkeys(ref.id for ref in refs if ref.id is not None))


def _unique(records: Iterable[SourceRecord], most: int) -> tuple[SourceRecord, ...]:
    # Rule N7, and clause 3.3. No further record is read than that takes: to screen one takes a while.
    kept: dict[str, SourceRecord] = {}
    for record in records:
        kept.setdefault(record.id, record)
        if len(kept) == most:
            break
    return tuple(kept.values())


def _external(name: str, refs: _References, response: object, top_k: int) -> Iterator[SourceRecord]:
    bound = _Bound.of(refs)
    for item in head(listed(response, "results", Outcome), top_k * limits.CANDIDATES_PER_RESULT):
        fields = fields_of(item, BaseModel)
        # Not cut: a part of an id would be another's. Clause 10.2: nor what no reference could hold.
        said = short_text(entry(fields, "source_id"), limits.RESULT_ID_MAX + 1)
        if said and (len(said) > limits.RESULT_ID_MAX or not bound.has(said)):
            continue
        # One by one, so that a record and its provenance stay together.
        for result in normalize_to_answer([item], limit=1).results:
            source_id = said or bound.only or (result.source.id if result.source and result.source.id else "")
            if source_id and bound.has(source_id):
                yield _record(name, source_id, fields, result, bound.names.get(source_id))


@dataclass(frozen=True, slots=True)
class _Bound:
    """What is bound restricts (clause 3.4, as for bases): what names no bound source is not shown."""

    names: dict[str, str | None]
    restricted: bool

    @classmethod
    def of(cls, refs: _References) -> "_Bound":
        # The first name of a source counts.
        names = {ref.id: ref.name for ref in reversed(refs) if ref.id is not None}
        names |= {ref.id: ref.name for ref in reversed(refs) if ref.id is not None and ref.name}
        return cls(names, all(ref.mode == "explicit" for ref in refs))

    @property
    def only(self) -> str | None:
        """The source of records that name none, where there is no other."""
        return next(iter(self.names)) if self.restricted and len(self.names) == 1 else None

    def has(self, source_id: str) -> bool:
        return source_id in self.names if self.restricted else screening.fault(source_id) is None


def _record(name: str, source_id: str, fields: Fields, result: OutcomeResult, named: str | None) -> SourceRecord:
    title = _shown(entry(fields, "title")) or _shown(result.source.title if result.source else None)
    return SourceRecord(
        id=merging.own_id(name, result.id),
        content=result.content,
        title=title or None,
        # Never the record's own word: it could name the host, or another source.
        source_type=name,
        source_id=source_id,
        source_uri=_source_uri(name, entry(fields, "source_uri")) or made_uri(name, source_id),
        source_name=named or _shown(entry(fields, "source_name")) or source_id,
        metadata=_metadata(result.metadata),
    )


def _own_outcome(found: object) -> Outcome:
    """The host's own results; what it has normalised by limits and hosts of its own stays as it is."""
    own = read_or_none(lambda: Outcome.model_validate(Outcome.model_dump(found, warnings=False)))  # type: ignore[arg-type]
    if not is_a(own, Outcome):
        return normalize_to_answer(found, limit=BUILT_IN_MAX)
    cited = {citation.url: citation for citation in own.citations}
    hosts = [host for host in map(_host, cited) if host]
    # Once more, since anybody can make an outcome; which citation is which, the host alone can say (clause 8.9).
    again = normalize_to_answer(own, limit=BUILT_IN_MAX, max_content_chars=_UNCUT, allow_hosts=hosts)
    results = tuple(
        result.model_copy(update={"citation_id": cited[result.url].id if result.url in cited else None})
        for result in again.results
    )
    kept = {result.citation_id for result in results}
    citations = tuple(citation for citation in own.citations if citation.id in kept)
    return again.model_copy(update={"results": results, "citations": citations})


def _host(url: str) -> str | None:
    try:
        return Url(url).host
    except ValueError:
        return None


def _built_in(result: OutcomeResult) -> SourceRecord:
    source_id = (result.source.id if result.source else None) or result.id
    title = result.source.title if result.source else None
    return SourceRecord(
        id=merging.own_id(BUILT_IN, result.id),
        content=result.content,
        title=title,
        source_type=BUILT_IN,
        source_id=source_id,
        source_uri=made_uri(_BUILT_IN_SCHEME, source_id),
        source_name=title or source_id,
        metadata=result.metadata,
        score=result.score,
        mime_type=result.source.mime_type if result.source else None,
        locator=result.source.locator if result.source else None,
        url=result.url,
        citation_id=result.citation_id,
    )


def made_uri(name: str, *parts: str) -> str:
    """A URI of the source's own scheme that leads to ``parts``, of which none is read as anything else."""
    return f"{screening.own_scheme(name)}:{'/'.join(quote(part, safe='') for part in parts)}"


def _source_uri(name: str, value: object) -> str | None:
    # Clause 10.6: provider-owned. One of another scheme could be another source's, or the host's.
    text = short_text(value, limits.URI_MAX)
    if not screening.is_uri(text) or screening.fault(text) is not None:
        return None
    scheme = screening.own_scheme(name)
    own = text if text.lower().startswith(f"{scheme}:") else f"{scheme}:{text}"
    return own if len(own) <= limits.URI_MAX else None


def _shown(value: object) -> str:
    text = short_text(value, REFERENCE_NAME_MAX)
    return "" if screening.fault(text) else text


def _metadata(metadata: dict[str, MetadataValue]) -> dict[str, MetadataValue]:
    # Clause 11.3: a label that may not be kept must not become none.
    shown = {key: UNREADABLE if _is_hidden(key, value) else value for key, value in metadata.items() if key in LABELS}
    return shown | {key: value for key, value in metadata.items() if key not in shown and not _is_hidden(key, value)}


def _is_hidden(key: str, value: MetadataValue) -> bool:
    # Clause 10.8 and the document's rule: no raw URL and no credential is kept of a source's payload.
    return screening.fault(f"{key}={value}" if isinstance(value, str) else key) is not None
