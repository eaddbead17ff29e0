"""Mistakes with what one call keeps for the next; knows clauses 9.2, 9.3 and 10.5, no finding."""

from collections.abc import Iterable
from typing import Any

from knowledge_fakes._plain_calls import Ending
from knowledge_fakes.merging_faults._declared import fault
from knowledge_fakes.plain_merging import Answer, BuiltIn, PlainMerging, Record, References
from knowledge_provider import RetrievalContext


class _Remembering(PlainMerging):
    """What came of each source in the call before is there in the next."""

    def __init__(self, built_in: BuiltIn, sources: Iterable[Any], *, timeout: float = 5.0) -> None:
        super().__init__(built_in, sources, timeout=timeout)
        self.before: dict[str, Answer] = {}

    def read_source(self, name: str, refs: References, found: Ending | None) -> Answer:
        answer = super().read_source(name, refs, found)
        told = self.told(answer, self.before.get(name, answer))
        self.before[name] = answer
        return told

    def told(self, answer: Answer, before: Answer) -> Answer:  # noqa: ARG002 - for a mistake
        """What is told of a source."""
        return answer


@fault("KP-1089", fragment="the status 'hit' of down-first")
class FailureSticks(_Remembering):
    """A source that failed once is asked again and its records are shown, and the summary goes on saying failed."""

    def told(self, answer: Answer, before: Answer) -> Answer:
        return answer._replace(status="failed", reason=before.reason) if before.status == "failed" else answer


@fault("KP-1089", fragment="the record down-first")
class OnProbation(_Remembering):
    """A source that failed is asked again, and what it finds is shown from the call after that."""

    def told(self, answer: Answer, before: Answer) -> Answer:
        return answer._replace(records=()) if before.status == "failed" else answer


@fault("KP-1089", fragment="the status 'failed' of down-later")
class YesterdaysAnswer(_Remembering):
    """Where a source fails it gives what it gave before, and nobody is told that it is down."""

    def told(self, answer: Answer, before: Answer) -> Answer:
        return before if answer.status == "failed" and before.status == "hit" else answer


@fault("KP-1089", fragment="the status 'hit' of steady")
class TheFailedAlone(_Remembering):
    """The call after a failure is for the sources that failed, and the others are left out."""

    def groups(self, refs: References) -> dict[str, References]:
        held = super().groups(refs)
        failed = [name for name in held if self.before.get(name, Answer("hit")).status == "failed"]
        self.asked = failed if 0 < len(failed) < len(held) else list(held)
        return held

    async def ask_source(self, name: str, query: str, refs: References, context: RetrievalContext) -> Ending:
        return await super().ask_source(name, query, refs, context) if name in self.asked else Ending([])


@fault("KP-1089", fragment="the record own")
class OwnKnowledgeGivenUp(PlainMerging):
    """The host's own search that failed once is taken for broken, and what it finds later is not shown."""

    def read_built_in(self, found: Ending) -> list[Record]:
        self.broken = getattr(self, "broken", False) or found.error is not None
        return [] if self.broken else super().read_built_in(found)
