"""Mistakes in what a host makes of an answer; knows clauses 8.8 and 8.10, no way of catching them."""

import json
import unicodedata
from itertools import islice
from typing import Any

from knowledge_fakes import _plain_reading as read
from knowledge_fakes.host_faults._host_fault import host_fault
from knowledge_fakes.plain_host import PlainHost
from knowledge_provider import KnowledgeInvalidResponseError, Outcome, OutcomeResult, RetrievalContext

_ALIASES = {"chunkId", "chunk_id", "text", "documentId", "document_id", "title", "url", "mimeType"}


def plain_items(answer: Any) -> list[dict[str, Any]]:
    """The plain results of an answer, for a mistake that needs what came."""
    found: Any = read.argument(answer, "results") if type(answer) is dict else answer
    return [item for item in found if type(item) is dict] if type(found) in (list, tuple) else []


def has_id(item: dict[str, Any]) -> bool:
    """Whether a result can be found again by the id that it came with."""
    return type(read.argument(item, "id")) is str


def with_results(made: Outcome, *results: OutcomeResult) -> Outcome:
    """The outcome with other results."""
    return made.model_copy(update={"results": results})


def _by_id(answer: Any) -> dict[Any, dict[str, Any]]:
    return {read.argument(item, "id"): item for item in plain_items(answer) if has_id(item)}


# Clause 8.8: the vectors.


@host_fault("KP-814", fragment="absent")
class AliasesUnknown(PlainHost):
    """Only the field names of the contract are read, and an older provider's results all vanish."""

    def outcome(self, answer: Any, query: str, limit: int, context: RetrievalContext) -> Any:
        if items := plain_items(answer):
            answer = [{name: value for name, value in item.items() if name not in _ALIASES} for item in items]
        return super().outcome(answer, query, limit, context)


@host_fault("KP-814", fragment="👩👩👧")
class JoinersStripped(PlainHost):
    """Every invisible character goes, and families of emoji and Persian words fall apart."""

    def outcome(self, answer: Any, query: str, limit: int, context: RetrievalContext) -> Any:
        made = super().outcome(answer, query, limit, context)
        return with_results(made, *(_with_content(result, _without_format) for result in made.results))


@host_fault("KP-814", fragment="outcome.results[0].content")
class ContentOnOneLine(PlainHost):
    """White space in content is folded like that of a title, and tables and code cannot be read any more."""

    def outcome(self, answer: Any, query: str, limit: int, context: RetrievalContext) -> Any:
        made = super().outcome(answer, query, limit, context)
        return with_results(
            made, *(_with_content(result, lambda text: " ".join(text.split())) for result in made.results)
        )


@host_fault("KP-814", fragment="\\treviewers")
class TitlesAsTheyCame(PlainHost):
    """Titles keep their line breaks, and one of them forges the next row of a list."""

    def outcome(self, answer: Any, query: str, limit: int, context: RetrievalContext) -> Any:
        made, came = super().outcome(answer, query, limit, context), _by_id(answer)
        return with_results(made, *(_with_title(result, came.get(result.id, {})) for result in made.results))


@host_fault("KP-814", fragment="[1, 2]")
class MetadataAsItCame(PlainHost):
    """Metadata is passed on whole, nested and of any size, into the model's context."""

    def outcome(self, answer: Any, query: str, limit: int, context: RetrievalContext) -> Any:
        made, came = super().outcome(answer, query, limit, context), _by_id(answer)
        metadata = (read.argument(came.get(result.id), "metadata") or result.metadata for result in made.results)
        return with_results(
            made,
            *(
                result.model_copy(update={"metadata": found})
                for result, found in zip(made.results, metadata, strict=True)
            ),
        )


@host_fault("KP-814", fragment="score absent")
class ScoreAlways(PlainHost):
    """A result without a score has zero, which says that it does not match."""

    def outcome(self, answer: Any, query: str, limit: int, context: RetrievalContext) -> Any:
        made = super().outcome(answer, query, limit, context)
        return with_results(
            made, *(result.model_copy(update={"score": result.score or 0.0}) for result in made.results)
        )


@host_fault("KP-814", fragment="score")
class ScoresMadeToFit(PlainHost):
    """Scores are brought between 0 and 1, and those of many vendors are not there."""

    def outcome(self, answer: Any, query: str, limit: int, context: RetrievalContext) -> Any:
        made = super().outcome(answer, query, limit, context)
        scores = (None if result.score is None else min(1.0, max(0.0, result.score)) for result in made.results)
        return with_results(
            made,
            *(result.model_copy(update={"score": score}) for result, score in zip(made.results, scores, strict=True)),
        )


@host_fault("KP-814", fragment="].content")
class MetadataBeforeTheContent(PlainHost):
    """What is known of a passage is written before its text, paths and internal names too, and the model reads it."""

    def outcome(self, answer: Any, query: str, limit: int, context: RetrievalContext) -> Any:
        made = super().outcome(answer, query, limit, context)
        return with_results(made, *(_with_content(result, _prefix(result)) for result in made.results))


@host_fault("KP-841", fragment="outcome.sources")
class ReportsDropped(PlainHost):
    """What the provider reports of the sources behind it is dropped, and one that failed is not seen."""

    def outcome(self, answer: Any, query: str, limit: int, context: RetrievalContext) -> Any:
        return super().outcome(answer, query, limit, context).model_copy(update={"sources": ()})


@host_fault("KP-814", "KP-807", fragment="outcome.status 'not_found'")
class AlwaysOk(PlainHost):
    """An outcome without results is "ok" too."""

    def outcome(self, answer: Any, query: str, limit: int, context: RetrievalContext) -> Any:
        return super().outcome(answer, query, limit, context).model_copy(update={"status": "ok"})


def _with_content(result: OutcomeResult, change: Any) -> OutcomeResult:
    return result.model_copy(update={"content": change(result.content)})


def _prefix(result: OutcomeResult) -> Any:
    known = "".join(f"{name}: {value}\n" for name, value in result.metadata.items())
    return lambda text: f"{known}{text}"


def _without_format(text: str) -> str:
    return "".join(letter for letter in text if unicodedata.category(letter) != "Cf")


def _with_title(result: OutcomeResult, item: dict[str, Any]) -> OutcomeResult:
    title = read.argument(read.argument(item, "source"), "title")
    if result.source is None or type(title) is not str:
        return result
    return result.model_copy(update={"source": result.source.model_copy(update={"title": title})})


# Clause 8.8: any answer.


@host_fault("KP-814", fragment="outcome.results[1].id")
class ResortedByScore(PlainHost):
    """Results are sorted by score, which puts those of one source before all others of another scale."""

    def outcome(self, answer: Any, query: str, limit: int, context: RetrievalContext) -> Any:
        made = super().outcome(answer, query, limit, context)
        return with_results(made, *sorted(made.results, key=lambda result: -(result.score or 0.0)))


@host_fault("KP-816", "KP-817", fragment="and None")
class AnswersOwnList(PlainHost):
    """The provider's own list is handed out as the results, with whatever is in it."""

    def outcome(self, answer: Any, query: str, limit: int, context: RetrievalContext) -> Any:
        made = super().outcome(answer, query, limit, context).to_dict()
        return (
            {**made, "results": answer if type(answer) is list else answer["results"]} if plain_items(answer) else made
        )


@host_fault("KP-853", fragment="an answer that was changed where it lies")
class AnswerChanged(PlainHost):
    """The answer is tidied where it lies, and a provider that keeps its answers finds other ones."""

    def outcome(self, answer: Any, query: str, limit: int, context: RetrievalContext) -> Any:
        made = super().outcome(answer, query, limit, context)
        for item in plain_items(answer):
            if type(content := read.argument(item, "content")) is str:
                item["content"] = content.strip()
        return made


@host_fault("KP-814", fragment="outcome.results[2] absent")
class TopKUncut(PlainHost):
    """However many results come are taken, and a provider that ignores top_k fills the model's context."""

    def outcome(self, answer: Any, query: str, limit: int, context: RetrievalContext) -> Any:
        del limit
        return super().outcome(answer, query, 64, context)


@host_fault("KP-814", fragment="the answer has no results")
class MalformedIsAFailure(PlainHost):
    """An answer that is neither a list nor a mapping is a failure, where the table says that nothing was found."""

    def outcome(self, answer: Any, query: str, limit: int, context: RetrievalContext) -> Any:
        if type(answer) not in (list, tuple, dict):
            raise KnowledgeInvalidResponseError("the answer has no results", provider_key=self.key)
        return super().outcome(answer, query, limit, context)


@host_fault("KP-814", fragment="a result has no content")
class OneBadResultFailsAll(PlainHost):
    """One result without content makes the whole search fail, and the good ones are lost with it."""

    def outcome(self, answer: Any, query: str, limit: int, context: RetrievalContext) -> Any:
        if not all(read.argument(item, "content") or read.argument(item, "text") for item in plain_items(answer)):
            raise KnowledgeInvalidResponseError("a result has no content", provider_key=self.key)
        return super().outcome(answer, query, limit, context)


@host_fault("KP-815", fragment="outcome.status 'not_found'")
class IteratesAnything(PlainHost):
    """Whatever can be iterated is read as a list of results: generators, sets, the letters of a text."""

    def outcome(self, answer: Any, query: str, limit: int, context: RetrievalContext) -> Any:
        if type(answer) is not dict and hasattr(type(answer), "__iter__"):
            answer = list(islice(answer, 1_000))
        return super().outcome(answer, query, limit, context)


@host_fault("KP-815", fragment="RuntimeError: looked at")
class AsksWhetherItIsEmpty(PlainHost):
    """Whether there are results is asked by "answer or []", which calls a method of the answer's own."""

    def outcome(self, answer: Any, query: str, limit: int, context: RetrievalContext) -> Any:
        return super().outcome(answer or [], query, limit, context)


@host_fault("KP-815", fragment="RuntimeError: looked at")
class WritesItToTheLog(PlainHost):
    """The answer is formatted for the log, which runs what is in it and never ends where it contains itself."""

    def outcome(self, answer: Any, query: str, limit: int, context: RetrievalContext) -> Any:
        self.logged = f"{answer!r:.200}"
        return super().outcome(answer, query, limit, context)


@host_fault("KP-815", fragment="is not JSON serializable")
class ThroughJson(PlainHost):
    """The answer is made plain by writing and reading it as JSON, which refuses models and many other things."""

    def outcome(self, answer: Any, query: str, limit: int, context: RetrievalContext) -> Any:
        return super().outcome(json.loads(json.dumps(answer)), query, limit, context)


# Clause 8.10.


@host_fault("KP-819", fragment="['', '', '']")
class WithoutANotice(PlainHost):
    """Outcomes say nothing about whose words they hold."""

    def outcome(self, answer: Any, query: str, limit: int, context: RetrievalContext) -> Any:
        return super().outcome(answer, query, limit, context).model_copy(update={"notice": ""})


@host_fault("KP-819", fragment="''")
class NoticeOnlyWithResults(PlainHost):
    """An outcome without results has no notice, though the query in it came from outside too."""

    def outcome(self, answer: Any, query: str, limit: int, context: RetrievalContext) -> Any:
        made = super().outcome(answer, query, limit, context)
        return made if made.results else made.model_copy(update={"notice": ""})


@host_fault("KP-819", fragment="'', ''")
class NoticeOncePerTurn(PlainHost):
    """The notice stands on the first outcome of a turn, and the model has forgotten it by the third."""

    def outcome(self, answer: Any, query: str, limit: int, context: RetrievalContext) -> Any:
        known = len(self.ledgers)
        made = super().outcome(answer, query, limit, context)
        return made if len(self.ledgers) > known else made.model_copy(update={"notice": ""})


@host_fault("KP-819", fragment="the one that the provider answered")
class NoticeOfTheProviders(PlainHost):
    """A provider may send a notice of its own, which says that its results can be trusted."""

    def outcome(self, answer: Any, query: str, limit: int, context: RetrievalContext) -> Any:
        made = super().outcome(answer, query, limit, context)
        told = read.argument(answer, "notice")
        return made.model_copy(update={"notice": told}) if type(told) is str else made


@host_fault("KP-819", fragment="Results for release policy.")
class NoticeWithTheQuery(PlainHost):
    """The notice repeats the query, so its words are not fixed, and an attacker writes some of them."""

    def outcome(self, answer: Any, query: str, limit: int, context: RetrievalContext) -> Any:
        made = super().outcome(answer, query, limit, context)
        return made.model_copy(update={"notice": f"Results for {query}. {made.notice}"})
