"""Mistakes with failures and with what is said of sources; knows clauses 10.3, 10.5 and 10.8, no finding."""

import logging
from collections.abc import Iterable
from typing import Any, Final

from knowledge_fakes._plain_calls import Ending
from knowledge_fakes.merging_faults._declared import fault
from knowledge_fakes.plain_merging import OWN, Answer, PlainMerging, Record, References
from knowledge_provider import RetrievalContext, errors
from knowledge_provider.errors import read_or_none

_LOG: Final = logging.getLogger(__name__)


@fault("KP-1056", fragment="raised")
class AllSourcesFailedRaises(PlainMerging):
    """Where every source failed the call raises, and what the host knows itself is lost with it."""

    async def merge(self, query: str, *, context: RetrievalContext, refs: Iterable[Any] = ()) -> dict[str, Any]:
        answer = await super().merge(query, context=context, refs=refs)
        statuses = {each["status"] for each in answer["summary"] if each["status"] != "ignored" and each["key"] != OWN}
        if statuses == {"failed"} and len(answer["summary"]) > 2:
            raise errors.KnowledgeAllSourcesFailedError("every source failed")
        return answer


@fault("KP-1057", "KP-1085", fragment="raised")
class RecordsTrusted(PlainMerging):
    """A record is read as what it should be, and one that is a number raises for all."""

    def records(self, name: str, refs: References, item: Any) -> list[Record]:
        if not item.get("content"):
            return []
        return super().records(name, refs, item)


@fault("KP-1057", fragment="raised")
class LooksAtWhatWasRaised(PlainMerging):
    """The text of an exception is read without a guard, and it is the source's code."""

    def failed(self, error: BaseException) -> Answer:
        return Answer("failed", "unauthorized") if str(error).startswith("401") else super().failed(error)


@fault("KP-1075", fragment="records")
class KeyboardInterruptIsAFailure(PlainMerging):
    """except BaseException takes the user's Ctrl-C for one more failed source."""

    async def ask_source(self, name: str, query: str, refs: References, context: RetrievalContext) -> Ending:
        try:
            return await super().ask_source(name, query, refs, context)
        except BaseException as error:  # the mistake
            return Ending(error=error)


@fault("KP-1058", "KP-1088", fragment="raised")
class OwnFailureEndsAll(PlainMerging):
    """Where the host's own search fails nothing is answered, though the sources were asked."""

    def read_built_in(self, found: Ending) -> list[Record]:
        if found.error is not None:
            raise found.error
        return super().read_built_in(found)


@fault("KP-1059", fragment="in the second")
class FailureRemembered(PlainMerging):
    """A source that failed once is never asked again."""

    async def ask_source(self, name: str, query: str, refs: References, context: RetrievalContext) -> Ending:
        known: dict[str, Ending] = self.__dict__.setdefault("known", {})
        found = known.get(name) or await super().ask_source(name, query, refs, context)
        if found.error is not None:
            known[name] = found
        return found


@fault("KP-1060", "KP-1061", "KP-1088", "KP-1089", fragment="one entry")
class OnlyHitsReported(PlainMerging):
    """The summary has those sources alone that found something."""

    async def merge(self, query: str, *, context: RetrievalContext, refs: Iterable[Any] = ()) -> dict[str, Any]:
        answer = await super().merge(query, context=context, refs=refs)
        return {**answer, "summary": [each for each in answer["summary"] if each["count"]]}


@fault("KP-1060", fragment="the reason 'timeout'")
class EveryReasonIsError(PlainMerging):
    """Every failure has the same reason, so that nobody knows whether to wait, to log in or to call someone."""

    def failed(self, error: BaseException) -> Answer:
        return super().failed(error)._replace(reason="error")


@fault("KP-1060", "KP-1061", fragment="the count")
class CountsSources(PlainMerging):
    """The count of an entry is that of its references, and not of its records."""

    def status(self, name: str, refs: References, answer: Answer) -> dict[str, Any]:
        return {**super().status(name, refs, answer), "count": len(refs)}


@fault("KP-1060", fragment="the status 'failed'")
class NonsenseIsNoHit(PlainMerging):
    """An answer of which nothing can be read counts as one that found nothing."""

    def read_source(self, name: str, refs: References, found: Ending | None) -> Answer:
        answer = super().read_source(name, refs, found)
        return Answer("no_hit") if answer.reason == "invalid_response" else answer


@fault("KP-1061", "KP-1056", fragment="raised LookupError")
class MissingRaises(PlainMerging):
    """A reference to a source that is not registered ends the call for all."""

    def read_source(self, name: str, refs: References, found: Ending | None) -> Answer:
        if found is None:
            raise LookupError(name)
        return super().read_source(name, refs, found)


@fault("KP-1061", fragment="'ignored'")
class MissingFailed(PlainMerging):
    """A source that is not registered counts as one that is down, and is asked for again and again."""

    def read_source(self, name: str, refs: References, found: Ending | None) -> Answer:
        return Answer("failed", "error") if found is None else super().read_source(name, refs, found)


@fault("KP-1072", "KP-1060", fragment="the text of what a source raised")
class ReasonInFull(PlainMerging):
    """The reason of a failure is what was raised, with the address and the key in it."""

    def failed(self, error: BaseException) -> Answer:
        return super().failed(error)._replace(reason=f"{read_or_none(lambda: str(error))}")


@fault("KP-1072", fragment="the query")
class QueryInTheSummary(PlainMerging):
    """Each entry of the summary says what was asked."""

    async def merge(self, query: str, *, context: RetrievalContext, refs: Iterable[Any] = ()) -> dict[str, Any]:
        answer = await super().merge(query, context=context, refs=refs)
        return {**answer, "summary": [{**each, "query": query} for each in answer["summary"]]}


@fault("KP-1073", fragment="the text of what a source raised")
class FailureLogged(PlainMerging):
    """What a source raised is logged, with the address and the key in it."""

    def failed(self, error: BaseException) -> Answer:
        _LOG.warning("a source failed: %s", read_or_none(lambda: repr(error)))
        return super().failed(error)


@fault("KP-1073", fragment="the query")
class QueryLogged(PlainMerging):
    """What was asked stands in the log."""

    async def ask_source(self, name: str, query: str, refs: References, context: RetrievalContext) -> Ending:
        _LOG.info("asking %s for %s", name, query)
        return await super().ask_source(name, query, refs, context)


@fault("KP-1073", fragment="a content")
class AnswerLogged(PlainMerging):
    """What was merged stands in the log, at DEBUG."""

    async def merge(self, query: str, *, context: RetrievalContext, refs: Iterable[Any] = ()) -> dict[str, Any]:
        answer = await super().merge(query, context=context, refs=refs)
        _LOG.debug("%s and others: %s", OWN, answer)
        return answer


@fault("KP-1060", "KP-1061", fragment="the source_ids")
class NoSourceIds(PlainMerging):
    """An entry has the source's name, and does not say which of the bound references it is about."""

    def status(self, name: str, refs: References, answer: Answer) -> dict[str, Any]:
        return {field: held for field, held in super().status(name, refs, answer).items() if field != "source_ids"}


@fault("KP-1069", fragment="failed or ignored")
class NoneStandsIsNoHit(PlainMerging):
    """A source of which no reference stands counts as one that found nothing."""

    async def ask_source(self, name: str, query: str, refs: References, context: RetrievalContext) -> Ending:
        standing = await self.standing(name, refs)
        return await super().ask_source(name, query, standing, context) if standing else Ending([])


@fault("KP-1072", fragment="the signed link")
class LinksInTheSummary(PlainMerging):
    """Each entry of the summary has the links that its records came with."""

    def read_source(self, name: str, refs: References, found: Ending | None) -> Answer:
        links = self.__dict__.setdefault("links", {})
        links[name] = read_or_none(lambda: [item["source_uri"] for item in found.value]) if found else None
        return super().read_source(name, refs, found)

    def status(self, name: str, refs: References, answer: Answer) -> dict[str, Any]:
        return {**super().status(name, refs, answer), "links": self.__dict__.get("links", {}).get(name)}


@fault("KP-1073", fragment="the signed link")
class LinksLogged(PlainMerging):
    """The place of each record stands in the log, and it is a link with a key."""

    def uri_of(self, name: str, source_id: str, item: Any) -> str:
        _LOG.info("found %s", read_or_none(lambda: item["source_uri"]))
        return super().uri_of(name, source_id, item)


@fault("KP-1088", fragment="none")
class OwnFailureUnsaid(PlainMerging):
    """Where the host's own search failed, the sources' records look like the whole answer."""

    def own_status(self, found: Ending) -> list[dict[str, Any]]:
        del found
        return []
