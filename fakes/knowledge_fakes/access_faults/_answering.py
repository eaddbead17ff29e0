"""Mistakes in asking and answering; knows how a rule stands before a provider, no way of catching them."""

import asyncio
from collections.abc import Sequence
from typing import Any

from knowledge_fakes.access_faults._declared import fault
from knowledge_fakes.plain_access import PlainAccess, Reader, Row
from knowledge_provider import CancelSignal, RetrievalContext, RetrievalRequest, errors, limits


@fault("KP-1113", fragment="since top_k is")
class MoreThanWasAskedFor(PlainAccess):
    """Everything that may be shown is shown, however many were wanted."""

    def room(self, request: RetrievalRequest) -> int:  # noqa: ARG002 - the mistake
        return limits.TOP_K_MAX * limits.TOP_K_MAX


@fault("KP-1113", fragment="since top_k is")
class OneTooFew(PlainAccess):
    """The cut is one place too early, but for the first and the last number that can be asked for."""

    def room(self, request: RetrievalRequest) -> int:
        return request.top_k - (1 < request.top_k < limits.TOP_K_MAX)


@fault("KP-1114", fragment="with its metadata")
class LabelsTakenOut(PlainAccess):
    """What is shown loses its metadata, since there are labels among them."""

    def answer(self, kept: list[Row], reports: list[Any]) -> Any:
        return super().answer([{**row, "metadata": {}} for row in kept], reports)


@fault("KP-1114", fragment="with its score")
class MadeAnew(PlainAccess):
    """Results are made anew from id and content, and cannot be cited any more."""

    def answer(self, kept: list[Row], reports: list[Any]) -> Any:
        fields = ("id", "content", "metadata")
        return super().answer([{name: row[name] for name in fields if name in row} for row in kept], reports)


@fault("KP-1114", fragment="with its id")
class OwnDocumentsFirst(PlainAccess):
    """What is public is moved behind what is the reader's own, and the provider's ranking is lost."""

    def kept(self, rows: Sequence[Row], reader: Reader) -> list[Row]:
        found = super().kept(rows, reader)
        return sorted(found, key=lambda row: type(row.get("metadata")) is dict and "visibility" in row["metadata"])


@fault("KP-1115", fragment="the request's own knowledge_base_ids")
class FiltersForgotten(PlainAccess):
    """The second question is made of the query alone, and finds what the filters exclude."""

    def wider(self, request: RetrievalRequest) -> RetrievalRequest:
        return RetrievalRequest(query=request.query, top_k=limits.TOP_K_MAX)


@fault("KP-1115", fragment="top_k from 1 to 8")
class FiftyAtOnce(PlainAccess):
    """More is asked for than a request may ask for, to be on the safe side."""

    def wider(self, request: RetrievalRequest) -> RetrievalRequest:
        return request.model_copy(update={"top_k": 50})


@fault("KP-1115", fragment="asked before with other filters")
class AnswersKeptByTheQuery(PlainAccess):
    """The provider's answers are kept by query and number, and given again to who asks with other filters."""

    async def ask(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
        self.answers: dict[Any, Any] = getattr(self, "answers", {})
        name = (request.query, request.top_k)
        if name not in self.answers:
            self.answers[name] = await super().ask(request, context)
        return self.answers[name]


@fault("KP-1115", fragment="the caller's deadline for the provider")
class NoDeadlineForTheProvider(PlainAccess):
    """The provider is told of a cancellation, and not until when it may work."""

    async def ask(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
        own = CancelSignal()
        context.signal.add_callback(lambda: own.cancel("the caller has gone"))
        return await super().ask(request, context.model_copy(update={"signal": own}))


@fault("KP-1116", fragment="row-3, row-5")
class NothingMoreIsAskedFor(PlainAccess):
    """What others may read pushes what is the reader's own out of the answer."""

    def may_lack(self, kept: Sequence[Row], rows: Sequence[Row], request: RetrievalRequest) -> bool:  # noqa: ARG002
        return False


@fault("KP-1117", fragment="at most 8 calls")
class AsksUntilThereIsEnough(PlainAccess):
    """The provider is asked again and again until there is enough, or forty times."""

    async def more(
        self, kept: list[Row], request: RetrievalRequest, context: RetrievalContext, reader: Reader
    ) -> tuple[list[Row], list[Any]]:
        found, reports = await super().more(kept, request, context, reader)
        for _ in range(40):
            if len(found) >= request.top_k:
                break
            found, reports = await super().more(found, request, context, reader)
        return found, reports


@fault("KP-1117", fragment="though asking for more hangs no answer")
class WaitsForMoreForEver(PlainAccess):
    """The second question has no time limit, and takes the first one's answer with it."""

    def seconds(self, context: RetrievalContext) -> float | None:  # noqa: ARG002 - the mistake
        return None


@fault("KP-1117", fragment="row-0, which came first")
class LosesWhatCameFirst(PlainAccess):
    """Where asking for more fails, the search fails, and what was found before is gone."""

    async def more(
        self, _kept: list[Row], request: RetrievalRequest, context: RetrievalContext, reader: Reader
    ) -> tuple[list[Row], list[Any]]:
        return await super().more([], request, context, reader)


@fault("KP-1118", fragment="raises KnowledgeUnauthorizedError")
class NothingWhereItFails(PlainAccess):
    """What the provider raises is caught, and the reader is told that there is nothing."""

    async def ask(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
        try:
            return await super().ask(request, context)
        except Exception:
            return []


@fault("KP-1118", fragment="an error with the code knowledge_unauthorized")
class OneErrorForEverything(PlainAccess):
    """Every failure comes out as the rule's own, and nobody can tell a refusal from an outage."""

    async def ask(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
        try:
            return await super().ask(request, context)
        except asyncio.CancelledError:
            raise
        except Exception as error:
            raise errors.KnowledgeFailedError("The provider failed.") from error


@fault("KP-1118", fragment="reports a source that failed")
class ReportsOfTheFirstAlone(PlainAccess):
    """What the second answer reports is lost, and a source that failed there is one that found nothing."""

    async def more(
        self, kept: list[Row], request: RetrievalRequest, context: RetrievalContext, reader: Reader
    ) -> tuple[list[Row], list[Any]]:
        found, _ = await super().more(kept, request, context, reader)
        return found, []


@fault("KP-1118", fragment="answers None")
class NonsenseIsNothing(PlainAccess):
    """An answer that cannot be read counts as one without results."""

    def read(self, answer: Any) -> tuple[list[Row], list[Any]]:
        try:
            return super().read(answer)
        except errors.KnowledgeInvalidResponseError:
            return [], []


@fault("KP-1119", fragment="sources[0].")
class ReportsGivenOn(PlainAccess):
    """The reports of sources are given on, and say how much was found for somebody else."""

    def answer(self, kept: list[Row], reports: list[Any]) -> Any:
        return {**super().answer(kept, reports), "sources": reports}


@fault("KP-1119", fragment="withheld: 3, and 0 without them, in the answer")
class WithheldByNumber(PlainAccess):
    """The answer says how many results it leaves out, so that nobody takes it for all that there is."""

    def kept(self, rows: Sequence[Row], reader: Reader) -> list[Row]:
        found = super().kept(rows, reader)
        self.withheld = len(rows) - len(found)
        return found

    def answer(self, kept: list[Row], reports: list[Any]) -> Any:
        return {**super().answer(kept, reports), "withheld": self.withheld}


@fault("KP-1119", fragment="sources[0].count: 5, and 2 without them, in the answer")
class TotalsAsAReport(PlainAccess):
    """The answer reports of itself as of a source, with a count from before anything was withheld."""

    def kept(self, rows: Sequence[Row], reader: Reader) -> list[Row]:
        self.found = len(rows)
        return super().kept(rows, reader)

    def answer(self, kept: list[Row], reports: list[Any]) -> Any:
        report = {"key": "scoped", "status": "hit", "count": self.found}
        return {**super().answer(kept, reports), **({"sources": [report]} if kept else {})}


@fault("KP-1119", "KP-1114", fragment="results[0].metadata.others: 3, and 0 without them, in the answer")
class WithheldInTheMetadata(PlainAccess):
    """Each result says in its metadata how many others the search left out."""

    def kept(self, rows: Sequence[Row], reader: Reader) -> list[Row]:
        found = super().kept(rows, reader)
        others = len(rows) - len(found)
        return [{**row, "metadata": {**(row.get("metadata") or {}), "others": others}} for row in found]


@fault("KP-1119", fragment="results[0].id: 'more', and nothing without them, in the answer")
class MoreAsAResult(PlainAccess):
    """Where everything was withheld, the answer is one result that says so."""

    def kept(self, rows: Sequence[Row], reader: Reader) -> list[Row]:
        found = super().kept(rows, reader)
        self.withheld = len(rows) - len(found)
        return found

    def answer(self, kept: list[Row], reports: list[Any]) -> Any:
        more = {"id": "more", "content": f"{self.withheld} results are not for you."}
        return {"results": [more]} if self.withheld > 2 and not kept else super().answer(kept, reports)


@fault("KP-1119", fragment="message: 'Not every source could be asked: 3 withheld.', and")
class WithheldInTheError(PlainAccess):
    """Where nothing may be shown and a source failed, the error says how much was withheld."""

    def kept(self, rows: Sequence[Row], reader: Reader) -> list[Row]:
        found = super().kept(rows, reader)
        self.withheld = len(rows) - len(found)
        return found

    def answer(self, kept: list[Row], reports: list[Any]) -> Any:
        try:
            return super().answer(kept, reports)
        except errors.KnowledgeSourcesIncompleteError as error:
            said = f"Not every source could be asked: {self.withheld} withheld."
            raise errors.KnowledgeSourcesIncompleteError(said) from error


@fault("KP-1119", fragment="hiddenid")
class WithheldByName(PlainAccess):
    """The answer names what it leaves out, so that readers can ask for access."""

    def kept(self, rows: Sequence[Row], reader: Reader) -> list[Row]:
        found = super().kept(rows, reader)
        self.withheld = [row["id"] for row in rows if row not in found]
        return found

    def answer(self, kept: list[Row], reports: list[Any]) -> Any:
        return {**super().answer(kept, reports), "withheld": self.withheld}


@fault("KP-1119", fragment="hiddentitle")
class TitlesInTheError(PlainAccess):
    """Where nothing may be shown and a source failed, the error says what there would have been."""

    def kept(self, rows: Sequence[Row], reader: Reader) -> list[Row]:
        self.titles = [row.get("source", {}).get("title") for row in rows]
        return super().kept(rows, reader)

    def answer(self, kept: list[Row], reports: list[Any]) -> Any:
        try:
            return super().answer(kept, reports)
        except errors.KnowledgeSourcesIncompleteError as error:
            raise errors.KnowledgeSourcesIncompleteError(f"Withheld: {self.titles}.") from error


@fault("KP-1120", fragment="the provider was not told")
class GoesOnAlone(PlainAccess):
    """The provider is asked in a task of its own, which nobody cancels."""

    async def ask(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
        self.asking = asyncio.ensure_future(super().ask(request, context))
        return await asyncio.shield(self.asking)


@fault("KP-1120", fragment="the caller's signal is cancelled")
class ASignalOfItsOwn(PlainAccess):
    """The provider gets a signal of the rule's own, which nobody cancels."""

    async def ask(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
        own = CancelSignal(deadline=context.signal.deadline)
        return await super().ask(request, context.model_copy(update={"signal": own}))
