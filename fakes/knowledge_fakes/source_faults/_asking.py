"""Mistakes with references, owners and what is written down; knows clauses 10.1, 10.8 and 10.9, no finding."""

import asyncio
import logging
from typing import Any, Final

from knowledge_fakes.source_faults._declared import fault
from knowledge_fakes.sources import HandbookSource, References, reference
from knowledge_provider import KnowledgeOwnerRequiredError, KnowledgeReferenceUnknownError, RetrievalContext
from knowledge_provider.text import is_blank

_LOG: Final = logging.getLogger(__name__)
_KNOWN: Final = frozenset({"engineering", "people", "support"})


@fault("KP-1010", fragment="without")
class FirstReferenceStands(HandbookSource):
    """Only the first of the references stands, since a test had one."""

    def validate_refs(self, refs: References, binding_level: str, /) -> References:
        return super().validate_refs(refs, binding_level)[:1]


@fault("KP-1010", "KP-1011", "KP-1020", fragment="a list or tuple")
class ValidationAnswersYes(HandbookSource):
    """validate_refs answers True, and no host knows which."""

    def validate_refs(self, refs: References, binding_level: str, /) -> Any:
        return all(ref.is_whole for ref in refs) and bool(binding_level)


@fault("KP-1010", "KP-1011", "KP-1020", fragment="nobody asked about")
class EverythingStands(HandbookSource):
    """validate_refs answers all that the source has, whatever it was asked about."""

    def validate_refs(self, refs: References, binding_level: str, /) -> References:
        del refs, binding_level
        return tuple(reference("handbook", base) for base in sorted(_KNOWN))


@fault("KP-1011", fragment="no reference to stand")
class UnknownStands(HandbookSource):
    """validate_refs looks at the shape of a reference, which is right, and not at what there is."""

    def validate_refs(self, refs: References, binding_level: str, /) -> References:
        del binding_level
        return refs


@fault("KP-1011", fragment="beside one to")
class OneUnknownForAll(HandbookSource):
    """validate_refs raises where one reference is to what was deleted, and none of the others stands."""

    def validate_refs(self, refs: References, binding_level: str, /) -> References:
        kept = super().validate_refs(refs, binding_level)
        if len(kept) < len(refs):
            raise KnowledgeReferenceUnknownError("No such space. List them, and send one of those.")
        return kept


@fault("KP-1012", fragment="nothing for a reference")
class UnknownMeansEverything(HandbookSource):
    """Unknown ids are dropped, and with none left the back end searches everything."""

    async def retrieve(self, query: str, refs: References, context: RetrievalContext, /) -> Any:
        known = tuple(ref for ref in refs if ref.id is None or ref.id in _KNOWN)
        everything = tuple(reference("handbook", base) for base in sorted(_KNOWN))
        return await super().retrieve(query, known or everything, context)


@fault("KP-1013", fragment="raised ValueError")
class QueryAsSyntax(HandbookSource):
    """The query is handed to the back end's query language as it is, and a quote is a mistake in it."""

    async def retrieve(self, query: str, refs: References, context: RetrievalContext, /) -> Any:
        if query.count('"') % 2:
            raise ValueError("unbalanced quote")
        return await super().retrieve(query, refs, context)


@fault("KP-1014", fragment="as they came")
class ReferencesCompleted(HandbookSource):
    """A reference without a name gets one in place, and so does what the task has bound."""

    async def retrieve(self, query: str, refs: References, context: RetrievalContext, /) -> Any:
        for ref in refs:
            object.__setattr__(ref, "name", "Handbook")
        return await super().retrieve(query, refs, context)


@fault("KP-1014", fragment="as they came")
class SignalCancelled(HandbookSource):
    """It cancels the signal when it has finished, to stop work of its own, and stops the host's."""

    async def retrieve(self, query: str, refs: References, context: RetrievalContext, /) -> Any:
        found = await super().retrieve(query, refs, context)
        context.signal.cancel("finished")
        return found


@fault("KP-1015", fragment="result")
class ServiceRights(HandbookSource):
    """Without an owner it searches with the rights of the service."""

    async def retrieve(self, query: str, refs: References, context: RetrievalContext, /) -> Any:
        return await super().retrieve(query, refs, _somebody(context))


@fault("KP-1015", fragment="\\u200b")
class InvisibleOwner(HandbookSource):
    """Who is left after strip() is an owner, also where nobody could see the name."""

    async def retrieve(self, query: str, refs: References, context: RetrievalContext, /) -> Any:
        if not context.owner_id.strip():
            raise KnowledgeOwnerRequiredError("who?")
        return await super().retrieve(query, refs, _somebody(context))


@fault("KP-1015", fragment="raised PermissionError")
class OwnerAsPermission(HandbookSource):
    """A missing owner is a PermissionError, which a host takes for a failure of the back end."""

    async def retrieve(self, query: str, refs: References, context: RetrievalContext, /) -> Any:
        if is_blank(context.owner_id):
            raise PermissionError("who?")
        return await super().retrieve(query, refs, context)


@fault("KP-1016", fragment="a list")
class NamesForEverybody(HandbookSource):
    """Who asks matters to the search, and not to the list of documents."""

    async def list_documents(
        self, refs: References, context: RetrievalContext, limit: int, offset: int, /
    ) -> list[dict[str, Any]]:
        return await super().list_documents(refs, _somebody(context), limit, offset)


def _somebody(context: RetrievalContext) -> RetrievalContext:
    return context.model_copy(update={"owner_id": "service"}) if is_blank(context.owner_id) else context


@fault("KP-1024", fragment="the query")
class QueryLogged(HandbookSource):
    """What was asked stands in the log, at DEBUG."""

    async def retrieve(self, query: str, refs: References, context: RetrievalContext, /) -> Any:
        _LOG.debug("searching %d references for %s", len(refs), query)
        return await super().retrieve(query, refs, context)


@fault("KP-1024", fragment="content")
class AnswerLogged(HandbookSource):
    """What was found stands in the log, to be looked at when somebody complains."""

    async def retrieve(self, query: str, refs: References, context: RetrievalContext, /) -> Any:
        found = await super().retrieve(query, refs, context)
        _LOG.info("found %s", found)
        return found


@fault("KP-1024", fragment="a credential")
class RequestLogged(HandbookSource):
    """Each request of the back end is logged with its address, and the key in that."""

    async def retrieve(self, query: str, refs: References, context: RetrievalContext, /) -> Any:
        _LOG.info("GET https://wiki.example.com/search?token=k-4711-4712 200")
        return await super().retrieve(query, refs, context)


@fault("KP-1025", fragment="nothing that only another owner sees")
class AnswersRemembered(HandbookSource):
    """What was found is remembered by the query, and the next owner who asks the same is shown it."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, References], Any] = {}

    async def retrieve(self, query: str, refs: References, context: RetrievalContext, /) -> Any:
        found = await super().retrieve(query, refs, context)
        return self._known.setdefault((query, refs), found)


@fault("KP-1025", fragment="nothing that only another owner sees")
class OwnerOnTheSource(HandbookSource):
    """Who asks is kept on the source while the call goes on, and is the last caller."""

    asking = ""

    async def retrieve(self, query: str, refs: References, context: RetrievalContext, /) -> Any:
        self.asking = context.owner_id
        await asyncio.sleep(0)
        return await super().retrieve(query, refs, context.model_copy(update={"owner_id": self.asking}))
