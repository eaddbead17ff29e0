"""Mistakes with the citations of a turn; knows clause 8.9 of the contract, no way of catching them."""

import sys
from typing import Any

from knowledge_fakes.host_faults._host_fault import host_fault
from knowledge_fakes.plain_host import PlainHost
from knowledge_provider import CitationLedger, Outcome, RetrievalContext


def _under(host: PlainHost, key: tuple[str, ...]) -> CitationLedger:
    return host.ledgers.setdefault(key, CitationLedger())


# Stable in the turn.


@host_fault("KP-817", fragment="'c': 'source_1'")
class CitationsPerSearch(PlainHost):
    """Each search counts its citations anew, so the second one's source_1 is another source in the same turn."""

    def ledger(self, context: RetrievalContext) -> CitationLedger:
        del context
        return CitationLedger()


@host_fault("KP-817", fragment="'Other title'")
class LatestTitleWins(PlainHost):
    """A source that is found again gets the title and snippet of the later result, under what is cited already."""

    def outcome(self, answer: Any, query: str, limit: int, context: RetrievalContext) -> Any:
        made = super().outcome(answer, query, limit, context)
        alone = super().outcome(answer, query, limit, context.model_copy(update={"turn_id": ""}))
        fresh = {citation.url: citation for citation in alone.citations}
        cited = (fresh[citation.url].model_copy(update={"id": citation.id}) for citation in made.citations)
        return made.model_copy(update={"citations": tuple(cited)})


@host_fault("KP-817", "KP-814", fragment="'b': 'source_3'")
class CitedByPlace(PlainHost):
    """A citation's number is the place of its result, so one source has as many numbers as places."""

    def outcome(self, answer: Any, query: str, limit: int, context: RetrievalContext) -> Any:
        made = super().outcome(answer, query, limit, context)
        places = {result.url: f"source_{place}" for place, result in enumerate(made.results, start=1)}
        return _renamed(made, {citation.id: places[citation.url] for citation in made.citations})


@host_fault("KP-817", "KP-811", "KP-814", fragment="'a': 'source_0'")
class CitedFromZero(PlainHost):
    """Citations count from source_0, as lists do."""

    def outcome(self, answer: Any, query: str, limit: int, context: RetrievalContext) -> Any:
        made = super().outcome(answer, query, limit, context)
        names = {citation.id: f"source_{int(citation.id.removeprefix('source_')) - 1}" for citation in made.citations}
        return _renamed(made, names)


def _renamed(made: Outcome, names: dict[str, str]) -> Outcome:
    citations = (citation.model_copy(update={"id": names[citation.id]}) for citation in made.citations)
    results = (
        result.model_copy(update={"citation_id": names.get(result.citation_id or "")}) for result in made.results
    )
    return made.model_copy(update={"citations": tuple(citations), "results": tuple(results)})


@host_fault("KP-852", fragment="['source_1', 'source_1'")
class NumbersTakenBefore(PlainHost):
    """The next number is taken before the provider is asked, and searches at the same time take the same one."""

    def __init__(self, provider: Any, **settings: Any) -> None:
        super().__init__(provider, **settings)
        self.cited: dict[tuple[str, ...], tuple[CitationLedger, dict[str, str]]] = {}
        self.counts: dict[int, int] = {}

    def _cited_in(self, context: RetrievalContext) -> dict[str, str]:
        turn, ledger = (context.owner_id, context.session_id, context.turn_id), self.ledger(context)
        if turn not in self.cited or self.cited[turn][0] is not ledger:
            self.cited[turn] = ledger, {}
        return self.cited[turn][1]

    async def answer(self, request: Any, context: RetrievalContext) -> Any:
        self.counts[id(context)] = len(self._cited_in(context))
        return await super().answer(request, context)

    def outcome(self, answer: Any, query: str, limit: int, context: RetrievalContext) -> Any:
        made = super().outcome(answer, query, limit, context)
        cited, count = self._cited_in(context), self.counts.pop(id(context), 0)
        for citation in made.citations:
            if citation.url not in cited:
                count += 1
                cited[citation.url] = f"source_{count}"
        return _renamed(made, {citation.id: cited[citation.url] for citation in made.citations})


# Another turn starts again.


@host_fault("KP-818", "KP-814", fragment="'a': 'source_2'")
class CitationsOfTheSession(PlainHost):
    """Citations are kept by session, so the numbers grow from turn to turn, and old titles come back."""

    def ledger(self, context: RetrievalContext) -> CitationLedger:
        return _under(self, (context.owner_id, context.session_id))


@host_fault("KP-818", "KP-814", fragment="'a': 'source_2'")
class CitationsOfTheHost(PlainHost):
    """One ledger serves everybody, and titles that one user has seen reach another."""

    def ledger(self, context: RetrievalContext) -> CitationLedger:
        del context
        return _under(self, ())


@host_fault("KP-818", fragment="'a': 'source_2'")
class TurnsWithoutTheirSession(PlainHost):
    """Citations are kept by the owner and the turn's id, which counts from one in each session."""

    def ledger(self, context: RetrievalContext) -> CitationLedger:
        return super().ledger(context.model_copy(update={"session_id": ""}))


@host_fault("KP-865", fragment="'a': 'source_2'")
class TurnsWithoutTheirOwner(PlainHost):
    """Two owners whose sessions have the same ids share the citations of a turn."""

    def ledger(self, context: RetrievalContext) -> CitationLedger:
        return super().ledger(context.model_copy(update={"owner_id": ""}))


@host_fault("KP-842", fragment="source_2, source_2, source_2, source_2")
class TurnsNeverForgotten(PlainHost):
    """Every turn's citations are kept for as long as the host lives."""

    def __init__(self, provider: Any, *, turns: int = 0, **settings: Any) -> None:
        super().__init__(provider, turns=max(turns, sys.maxsize), **settings)


@host_fault("KP-842", fragment="source_2, source_1, source_1")
class FirstTurnForgottenFirst(PlainHost):
    """The turn that began first goes first, also when it is the one that is searched in all the time."""

    def ledger(self, context: RetrievalContext) -> CitationLedger:
        turn = (context.owner_id, context.session_id, context.turn_id)
        return self.ledgers.get(turn) or super().ledger(context)
