"""Records with their provenance, and what was merged of them (clauses 10.5, 10.6); knows values, no call and no answer.

What a source answered becomes records in ``_answered_records``.
"""

from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from knowledge_provider import limits
from knowledge_provider.adapting import stable_id
from knowledge_provider.models import MetadataValue, Source
from knowledge_provider.outcome import Citation, Outcome, OutcomeResult, SourceReport
from knowledge_provider.text import short_text


class SourceRecord(BaseModel):
    """One passage with its provenance (clause 10.6); ``id`` is ``source_type:id``, as clause 9.5 has it.

    ``source_type`` is the source's registered name, or ``knowledge_base`` for the host's own. ``source_id`` is the
    ``id`` of the reference that it is from. ``source_uri`` is for the source to interpret, and never a raw URL.

    ``score``, ``mime_type``, ``locator``, ``url`` and ``citation_id`` are those of the host's own result, as its
    outcome has them, and None for another source's. ``url`` has passed the host's URI policy.
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
    score: float | None = None
    mime_type: str | None = None
    locator: str | None = None
    url: str | None = None
    citation_id: str | None = None


class SourceStatus(SourceReport):
    """How one source fared (clauses 9.3, 10.8): ids, a status, a slug and a count, so it can be logged."""

    source_ids: tuple[str, ...] = ()


class MergedRecords(BaseModel):
    """The built-in records, then each source's in its order, and how each fared (clause 10.5).

    ``status``: ``ok`` with records; without, ``not_found`` where everything was asked, ``incomplete`` where something
    failed, and ``failed`` where everything did (clause 9.4). ``summary`` has one entry of each source by its name, and
    behind them, as ``name.id``, one of each reference that this source did not answer for. ``citations`` are those of
    the host's own outcome.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True)

    status: Literal["ok", "not_found", "incomplete", "failed"]
    records: tuple[SourceRecord, ...] = ()
    summary: tuple[SourceStatus, ...] = ()
    citations: tuple[Citation, ...] = ()

    def outcome(self, query: object) -> Outcome:
        """All of it as a host's outcome, for what renders one: every record whole, and the host's citations as it gave.

        ``query`` is what was asked, by rule N5.
        """
        return Outcome(
            status="ok" if self.records else "not_found",
            query=short_text(query, limits.QUERY_MAX),
            results=tuple(map(_outcome_result, self.records)),
            citations=self.citations,
            sources=tuple(SourceReport(**report) for report in self._reports()),
        )

    def response(self) -> dict[str, Any]:
        """The same as a provider's answer, of which ``normalize_response`` keeps as many results as its limit says."""
        return {"results": [result_of(record) for record in self.records], "sources": self._reports()}

    def _reports(self) -> list[dict[str, Any]]:
        return [each.model_dump(exclude={"source_ids"}) for each in self.summary]


def result_of(record: SourceRecord) -> dict[str, Any]:
    """A record as a result by wire names, in which nothing is longer than a host keeps (clause 5.9)."""
    optional = {"score": record.score, "metadata": dict(record.metadata) or None}
    return {
        "id": record.id,
        "content": record.content,
        "provider": record.source_type,
        "source": _source(record).model_dump(by_alias=True, exclude_none=True),
        **{name: held for name, held in optional.items() if held is not None},
    }


def _source(record: SourceRecord) -> Source:
    # Clause 5.9: half an id or locator leads elsewhere or nowhere.
    fits = len(record.source_id) <= limits.SOURCE_ID_MAX
    place = record.locator or record.source_uri
    return Source(
        id=record.source_id if fits else stable_id(record.source_id),
        title=record.title or record.source_name,
        uri=record.url,
        mime_type=record.mime_type,
        locator=place if len(place) <= limits.SOURCE_LOCATOR_MAX else None,
    )


def _outcome_result(record: SourceRecord) -> OutcomeResult:
    return OutcomeResult(
        id=record.id,
        content=record.content,
        score=record.score,
        source=_source(record),
        metadata=record.metadata,
        url=record.url,
        citation_id=record.citation_id,
    )
