"""The survey of a source: a few ordinary questions whose answers many checks look at. It judges nothing."""

from collections.abc import Sequence
from typing import Final

from knowledge_conformance.source_subject import References, SourceExchange, SourceSubject
from knowledge_conformance.survey import PROBES, QUERIES_MAX
from knowledge_conformance.watched import OutOfCallsError

ANSWERED_WANTED: Final = 2
ALONE_MAX: Final = 3
"""How many references are asked for by themselves."""
SOURCE_SURVEY_CALLS: Final = max(len(PROBES), QUERIES_MAX) + ALONE_MAX
"""The most calls that the survey of a source makes."""


class SourceSurvey:
    """The survey of one process, made by the first check that asks for it."""

    calls: int = SOURCE_SURVEY_CALLS

    def __init__(self) -> None:
        self._made: tuple[SourceExchange, ...] | None = None

    @property
    def made(self) -> bool:
        """Whether it was made already, so that asking again costs no call."""
        return self._made is not None

    async def __call__(self, subject: SourceSubject) -> Sequence[SourceExchange]:
        """The exchanges, made with ``subject`` the first time; raises what ``SourceSubject.retrieve`` raises."""
        if self._made is None:
            self._made = tuple(await _survey(subject))
            # Which check makes it is chance where processes share the checks: what a check looks at, it writes down.
            subject.transcript.clear()
        return self._made


async def _survey(subject: SourceSubject) -> list[SourceExchange]:
    exchanges: list[SourceExchange] = []
    refs = subject.references()
    try:
        await _ask_queries(subject, refs, exchanges)
        await _ask_alone(subject, refs, exchanges)
    except OutOfCallsError:
        # What was answered so far can still be looked at.
        if not any(exchange.count for exchange in exchanges):
            raise
    return exchanges


async def _ask_queries(subject: SourceSubject, refs: References, exchanges: list[SourceExchange]) -> None:
    promised = subject.settings.queries[:QUERIES_MAX]
    for query in promised or PROBES:
        exchanges.append(await subject.retrieve(query, refs))
        if not promised and sum(exchange.count > 0 for exchange in exchanges) >= ANSWERED_WANTED:
            return


async def _ask_alone(subject: SourceSubject, refs: References, exchanges: list[SourceExchange]) -> None:
    query = next((exchange.request.query for exchange in exchanges if exchange.count), None)
    if query is not None and len(refs) > 1:
        for ref in refs[:ALONE_MAX]:
            exchanges.append(await subject.retrieve(query, (ref,)))
