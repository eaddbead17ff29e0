"""Mistakes with what is said of children and of failures; knows clauses 9.3, 9.4 and 5.10, no way of catching them."""

from collections.abc import Mapping, Sequence
from typing import Any

from knowledge_fakes._plain_calls import Ending
from knowledge_fakes.composite_faults._declared import fault
from knowledge_fakes.plain_composite import Answer, PlainComposite, Row
from knowledge_provider import RetrievalRequest, errors, limits
from knowledge_provider.errors import read_or_none

# Clause 9.3: reports.


@fault("KP-906", fragment="0 of them")
class NoReports(PlainComposite):
    """The answer is a plain list, and nobody learns that a source was not heard."""

    def answer(self, answers: Mapping[str, Answer], request: RetrievalRequest) -> Any:
        return super().answer(answers, request)["results"]


@fault("KP-906", fragment="one report of the child")
class OnlyHitsReported(PlainComposite):
    """Only those children are reported that found something."""

    def answer(self, answers: Mapping[str, Answer], request: RetrievalRequest) -> Any:
        answer = super().answer(answers, request)
        return {**answer, "sources": [report for report in answer["sources"] if report["count"]]}


@fault("KP-906", fragment="none of child-32")
class ReportsCut(PlainComposite):
    """The list of reports ends at 32, so that it fits a line of the log."""

    def answer(self, answers: Mapping[str, Answer], request: RetrievalRequest) -> Any:
        answer = super().answer(answers, request)
        return {**answer, "sources": answer["sources"][:32]}


@fault("KP-906", fragment="the count 2 of hit")
class CountsWithoutMeaning(PlainComposite):
    """The count of a report is that of the answers of a child, not of its results."""

    def report(self, key: str, answer: Answer) -> Row:
        return {**super().report(key, answer), "count": 1}


@fault("KP-906", fragment="the status 'hit' of hit")
class WordsOfItsOwn(PlainComposite):
    """Statuses are "ok" and "error", as the logs have them."""

    def report(self, key: str, answer: Answer) -> Row:
        return {**super().report(key, answer), "status": "ok" if answer.results else "error"}


@fault("KP-906", "KP-914", "KP-932", fragment="the reason")
class ReasonInFull(PlainComposite):
    """The reason of a failure is the text of the exception, with the address and the key in it."""

    def failed(self, error: BaseException) -> Answer:
        found = super().failed(error)
        return found._replace(reason=f"{read_or_none(lambda: str(error))}") if found.status == "failed" else found


@fault("KP-906", fragment="the reason 'timeout' of hanging")
class EveryReasonIsError(PlainComposite):
    """Every failure has the same reason, so that nobody knows whether to wait, to log in or to call someone."""

    def report(self, key: str, answer: Answer) -> Row:
        return {**super().report(key, answer), "reason": "error" if answer.status == "failed" else None}


@fault("KP-906", "KP-907", fragment="the status 'failed' of nothing")
class NonsenseIsNoHit(PlainComposite):
    """An answer of which nothing can be read counts as one that found nothing."""

    def is_empty(self, response: object) -> bool:  # noqa: ARG002 - the mistake
        return True


# Clause 9.4: failures.


@fault("KP-907", "KP-908", fragment="0 results")
class EveryFailureLooksEmpty(PlainComposite):
    """Whatever fails is left out, and where all fail the answer is that there is nothing."""

    def refuse_failure(self, answers: Mapping[str, Answer]) -> None:
        pass


@fault("KP-907", fragment="knowledge_sources_incomplete")
class AllFailedIsIncomplete(PlainComposite):
    """An outage of all sources is told with the code of one."""

    def refuse_failure(self, answers: Mapping[str, Answer]) -> None:
        if any(answer.status == "failed" for answer in answers.values()) and not _found(answers):
            raise errors.KnowledgeSourcesIncompleteError("knowledge_sources_incomplete")


@fault("KP-908", fragment="0 results")
class PartOfAFailureLooksEmpty(PlainComposite):
    """As long as one child answered, "nothing found" is taken for the truth."""

    def refuse_failure(self, answers: Mapping[str, Answer]) -> None:
        if all(answer.status == "failed" for answer in answers.values()):
            super().refuse_failure(answers)


@fault("KP-915", fragment="raised")
class NothingFoundIsAFailure(PlainComposite):
    """Where no child found anything the composite raises, and the agent says that the search is broken."""

    def refuse_failure(self, answers: Mapping[str, Answer]) -> None:
        super().refuse_failure(answers)
        if not _found(answers) and not any(answer.status == "ignored" for answer in answers.values()):
            raise errors.KnowledgeFailedError("no source found anything")


@fault("KP-915", fragment="1 result")
class ApologyAsAResult(PlainComposite):
    """Where no child found anything a result says so, and is cited as knowledge."""

    def merged(self, found: Sequence[Sequence[Row]], request: RetrievalRequest) -> list[Row]:
        return super().merged(found, request) or [{"id": "none", "content": "Nothing was found."}]


@fault("KP-920", fragment="raised")
class RefusalIsAFailure(PlainComposite):
    """A child that does not hold the base which was asked for counts as failed."""

    def failed(self, error: BaseException) -> Answer:
        found = super().failed(error)
        return Answer("failed", "error") if found.status == "ignored" else found


@fault("KP-914", "KP-932", fragment="an exception without")
class MessagesJoined(PlainComposite):
    """The message of the composite's exception is what the children raised, joined by commas."""

    def failed(self, error: BaseException) -> Answer:
        self.__dict__.setdefault("said", []).append(f"{read_or_none(lambda: repr(error))}")
        return super().failed(error)

    def refuse_failure(self, answers: Mapping[str, Answer]) -> None:
        try:
            super().refuse_failure(answers)
        except errors.KnowledgeFailedError as error:
            raise type(error)(", ".join(self.__dict__.get("said", ()))) from None


@fault("KP-914", "KP-906", "KP-907", "KP-908", "KP-932", fragment="an answer without")
class ErrorAsAResult(PlainComposite):
    """A failed child's error stands among the results, for the agent to read out."""

    def read(self, key: str, found: Ending, request: RetrievalRequest) -> Answer:
        answer = super().read(key, found, request)
        if found.error is None or answer.status != "failed":
            return answer
        said = read_or_none(lambda: repr(found.error))
        return answer._replace(results=[{"id": f"{key}/error", "content": f"{key} failed: {said}"}])

    def refuse_failure(self, answers: Mapping[str, Answer]) -> None:
        pass


def _found(answers: Mapping[str, Answer]) -> bool:
    return any(answer.results for answer in answers.values())


# Clause 6.4: what children said when they failed.


def _words(error: BaseException) -> str:
    return str(read_or_none(lambda: str(error)) or "")[:200]


@fault("KP-932", "KP-914", fragment="a note of the exception")
class FailuresInANote(PlainComposite):
    """Where every child failed, a note of the error has what each of them said, with the addresses and keys in it."""

    def refuse_failure(self, answers: Mapping[str, Answer]) -> None:
        try:
            super().refuse_failure(answers)
        except errors.KnowledgeError as error:
            error.add_note("; ".join(self.words))
            raise

    def failed(self, error: BaseException) -> Answer:
        self.words = [*self.words, _words(error)][-8:]
        return super().failed(error)

    words: Sequence[str] = ()


@fault("KP-932", fragment="in answer['message']")
class HealthOfTheWorstChild(PlainComposite):
    """The message of the health is that of the child that is worst off, whatever it says."""

    async def health(self) -> dict[str, Any]:
        endings = await self.each("health", limits.HEALTH_SECONDS / 2)
        failed = [_words(found.error) for found in endings.values() if found.error is not None]
        return {**await super().health(), **({"message": failed[0]} if failed else {})}
