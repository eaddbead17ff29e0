"""Mistakes with how sources are asked, and for whom; knows clauses 10.1, 10.4, 10.5 and 10.9, no finding."""

import asyncio
from collections.abc import Coroutine, Iterable, Mapping
from typing import Any

from knowledge_fakes._plain_calls import Ending, ending
from knowledge_fakes.merging_faults._declared import fault
from knowledge_fakes.plain_merging import PlainMerging, References
from knowledge_provider import RetrievalContext
from knowledge_provider.errors import read_or_none
from knowledge_provider.sources import ExternalKnowledgeRef, target_key
from knowledge_provider.text import is_a, is_blank

Calls = Mapping[str, Coroutine[Any, Any, Ending]]


@fault("KP-1062", fragment="at the same time")
class OneAfterAnother(PlainMerging):
    """Each source is asked when the one before has answered, and the whole takes as long as all together."""

    async def wait(self, calls: Calls, seconds: float) -> dict[str, Ending]:
        found: dict[str, Ending] = {}
        try:
            for key, call in calls.items():
                found |= await super().wait({key: call}, 0.6 * seconds)
        finally:
            for call in calls.values():
                call.close()
        return found


@fault("KP-1063", "KP-1056", "KP-1057", "KP-1058", "KP-1060", "KP-1074", "KP-1088", fragment="an end within")
class NoDeadline(PlainMerging):
    """Nobody is waited for in vain, it is thought, and so there is no deadline."""

    async def wait(self, calls: Calls, seconds: float) -> dict[str, Ending]:
        return await super().wait(calls, 1000 * seconds)


@fault("KP-1063", fragment="an end within")
class WaitsForTheCancelled(PlainMerging):
    """Who is late is cancelled, and waited for until it has ended, which what swallows the cancellation never does."""

    async def wait(self, calls: Calls, seconds: float) -> dict[str, Ending]:
        tasks = {key: asyncio.ensure_future(call) for key, call in calls.items()}
        try:
            _, late = await asyncio.wait(tasks.values(), timeout=seconds)
        finally:
            self.stop(tasks)
        if late:
            await asyncio.wait(late)
        return {key: self.late() if task in late else self.ended(task) for key, task in tasks.items()}


@fault("KP-1074", fragment="an end within")
class CallersTimeUnread(PlainMerging):
    """A source may take its whole time, whatever is left of the caller's, who has gone when the answer comes."""

    def seconds(self, context: RetrievalContext) -> float:
        del context
        return self.timeout


@fault("KP-1064", fragment="still running")
class SourcesGoOn(PlainMerging):
    """The caller's cancellation comes out, and the sources go on for nobody."""

    async def wait(self, calls: Calls, seconds: float) -> dict[str, Ending]:
        work = asyncio.ensure_future(super().wait(calls, seconds))
        self.running.add(work)
        work.add_done_callback(self.running.discard)
        return await asyncio.shield(work)


@fault("KP-1065", fragment="after asking")
class AsksForNobody(PlainMerging):
    """Whether the caller has gone on is not looked at before the sources are asked."""

    def admit(self, context: RetrievalContext) -> None:
        if is_blank(context.owner_id):
            super().admit(context)


@fault("KP-1066", fragment="knowledge_owner_required")
class NobodyIsAnonymous(PlainMerging):
    """Without an owner it asks as an anonymous user, and every source decides for itself what that may see."""

    def admit(self, context: RetrievalContext) -> None:
        context.signal.raise_if_cancelled()

    def context_of(self, context: RetrievalContext) -> RetrievalContext:
        own = super().context_of(context)
        return own.model_copy(update={"owner_id": "anonymous"}) if is_blank(own.owner_id) else own


@fault("KP-1067", fragment="the references")
class EveryReferenceToEverySource(PlainMerging):
    """Each source gets all references, and picks its own out, which not each does."""

    async def ask_each(
        self, query: str, groups: Mapping[str, References], context: RetrievalContext
    ) -> dict[str, Ending]:
        every = tuple(ref for held in groups.values() for ref in held)
        return await super().ask_each(query, dict.fromkeys(groups, every), context)


@fault("KP-1067", "KP-1068", "KP-1070", fragment="the owner")
class OwnerOfTheService(PlainMerging):
    """The sources are asked as the service, which may see everything."""

    def context_of(self, context: RetrievalContext) -> RetrievalContext:
        return super().context_of(context).model_copy(update={"owner_id": "service"})


@fault("KP-1067", "KP-1068", fragment="the references")
class ReferencesOnTheHost(PlainMerging):
    """What the task has bound is kept on the host while the call goes on, and is the last caller's."""

    def groups(self, refs: References) -> dict[str, References]:
        self.__dict__["held"] = super().groups(refs)
        return super().groups(refs)

    async def ask_source(self, name: str, query: str, refs: References, context: RetrievalContext) -> Ending:
        await asyncio.sleep(0)
        return await super().ask_source(name, query, self.__dict__["held"].get(name, refs), context)


@fault("KP-1068", fragment="of another task")
class AnswersRemembered(PlainMerging):
    """What a source answered to a query is remembered by the query, and another task is shown it."""

    async def ask_source(self, name: str, query: str, refs: References, context: RetrievalContext) -> Ending:
        known: dict[tuple[str, str], Ending] = self.__dict__.setdefault("known", {})
        found = known.get((name, query)) or await super().ask_source(name, query, refs, context)
        if found.error is None:
            known[name, query] = found
        return found


@fault("KP-1069", fragment="stands")
class ValidationSkipped(PlainMerging):
    """validate_refs is never asked, since the references were right when they were bound."""

    async def standing(self, name: str, refs: References) -> References:
        del name
        return refs


@fault("KP-1070", fragment="changed")
class OneContextForAll(PlainMerging):
    """All sources share a context and its signal, and what one does to it is done to all."""

    def context_of(self, context: RetrievalContext) -> RetrievalContext:
        return context

    async def merge(self, query: str, *, context: RetrievalContext, refs: Iterable[Any] = ()) -> dict[str, Any]:
        self.admit(context)
        return await super().merge(query, context=context.model_copy(), refs=refs)


@fault("KP-1070", fragment="the references that it was given")
class ReferencesHandedOut(PlainMerging):
    """A source is given the host's own references, and may write into them what it is to be believed."""

    def handed(self, refs: References) -> References:
        return refs


@fault("KP-1064", fragment="the signal of every source")
class SignalUnheard(PlainMerging):
    """The caller's task stops the sources, and its signal, which is all that some callers have, does not."""

    async def until_stopped(
        self, calls: Calls, contexts: Mapping[str, RetrievalContext], context: RetrievalContext
    ) -> dict[str, Ending]:
        try:
            return await self.wait(calls, self.seconds(context))
        finally:
            for own in contexts.values():
                own.signal.cancel("cancelled")


@fault("KP-1067", fragment="the references")
class PartsAskedAsWholes(PlainMerging):
    """A folder or document is asked for as the whole source that it is in."""

    async def ask_source(self, name: str, query: str, refs: References, context: RetrievalContext) -> Ending:
        wholes = {"target_type": "knowledge_base", "node_id": None, "document_id": None}
        return await super().ask_source(name, query, tuple(ref.model_copy(update=wholes) for ref in refs), context)


@fault("KP-1067", fragment="the references")
class PartsNeverAsked(PlainMerging):
    """Folders and documents can be bound, and are not asked for yet."""

    def groups(self, refs: References) -> dict[str, References]:
        return super().groups(tuple(ref for ref in refs if ref.is_whole))


@fault("KP-1067", "KP-1052", "KP-1076", fragment="both tasks")
class EverythingNeverAsked(PlainMerging):
    """A reference without an id is passed over, though it names all that is accessible."""

    def groups(self, refs: References) -> dict[str, References]:
        return super().groups(tuple(ref for ref in refs if ref.id is not None))


@fault("KP-1067", fragment="the owner")
class OwnSearchOfTheService(PlainMerging):
    """The host's own search is asked as the service, and finds what any of its users may see."""

    async def ask_each(
        self, query: str, groups: Mapping[str, References], context: RetrievalContext
    ) -> dict[str, Ending]:
        service = type(self)(self._as_service, self.children.values(), timeout=self.timeout)
        return await PlainMerging.ask_each(service, query, groups, context)

    async def _as_service(self, query: str, context: RetrievalContext) -> Any:
        return await self.built_in(query, context.model_copy(update={"owner_id": "service"}))


@fault("KP-1067", fragment="the ids of session, turn and trace")
class TurnIdsReplaced(PlainMerging):
    """Session, turn and trace are the host's own, and no source's log can be found by what the caller has."""

    def context_of(self, context: RetrievalContext) -> RetrievalContext:
        ids = {"session_id": "merging", "turn_id": "merging", "trace_id": "merging"}
        return super().context_of(context).model_copy(update=ids)


@fault("KP-1067", "KP-1087", fragment="the query")
class QueryCut(PlainMerging):
    """The query is cut to what fits in a column of the log."""

    def question(self, query: str) -> str:
        return super().question(query)[:20]


@fault("KP-1069", fragment="bound reference")
class MadeUpIsAsked(PlainMerging):
    """What validate_refs answers is asked for, also what nobody has bound."""

    async def standing(self, name: str, refs: References) -> References:
        validate = getattr(self.children[name], "validate_refs", None)
        found = Ending(refs) if validate is None else await ending(validate, refs, "task", left=self.left)
        said: Any = read_or_none(lambda: [ref for ref in found.value if is_a(ref, ExternalKnowledgeRef)])
        return tuple(said or ())


@fault("KP-1069", fragment="asked for")
class ValidationFailsOpen(PlainMerging):
    """Where validate_refs raises, everything stands, so that an outage takes nothing away."""

    async def standing(self, name: str, refs: References) -> References:
        validate = getattr(self.children[name], "validate_refs", None)
        found = Ending(refs) if validate is None else await ending(validate, refs, "task", left=self.left)
        return refs if found.error is not None else await super().standing(name, refs)


@fault("KP-1069", "KP-1063", fragment="no call of it")
class ValidationOnTheLoop(PlainMerging):
    """validate_refs is called where it stands, and one that is asynchronous, or slow, was not thought of."""

    async def standing(self, name: str, refs: References) -> References:
        validate = getattr(self.children[name], "validate_refs", None)
        if validate is None:
            return refs
        said: Any = read_or_none(lambda: [target_key(ref) for ref in validate(refs, "task")])
        return tuple(ref for ref in refs if target_key(ref) in (said or ()))


@fault("KP-1087", fragment="a source to be asked")
class QueryAsItCame(PlainMerging):
    """Each source gets the query as it came, and is left to make sense of it."""

    def question(self, query: str) -> str:
        super().question(query)
        return query


@fault("KP-1087", fragment="knowledge_query_required")
class BlankIsAsked(PlainMerging):
    """A query of blanks is asked like any other, and finds what comes first."""

    def question(self, query: str) -> str:
        return super().question(query) if query.strip(" \n\u200b") else query
