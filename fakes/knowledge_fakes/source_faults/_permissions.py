"""Mistakes with who may see what, and with keys; knows clauses 4.2, 4.3, 4.5, 6.4 and 10.8, no finding."""

import logging
import os
from typing import Any, Final

from knowledge_fakes.faults.secrets import VALUE, VARIABLE
from knowledge_fakes.source_faults._declared import fault
from knowledge_fakes.sources import HandbookSource, References
from knowledge_provider import RetrievalContext
from knowledge_provider.errors import KnowledgeReferenceUnknownError

_LOG: Final = logging.getLogger(__name__)
_EVERYBODY: Final = ("mara", "tomas")
_KNOWN: Final = frozenset({"engineering", "people", "support"})


def _key() -> str:
    return os.environ.get(VARIABLE) or VALUE


class _Answering(HandbookSource):
    """Everybody's documents can be had, by a method that a mistake uses."""

    async def of_everybody(self, query: str, refs: References, context: RetrievalContext) -> list[dict[str, Any]]:
        found: dict[str, dict[str, Any]] = {}
        for owner in (context.owner_id, *_EVERYBODY):
            theirs = context.model_copy(update={"owner_id": owner})
            found |= {each["id"]: each for each in await HandbookSource.retrieve(self, query, refs, theirs)}
        return list(found.values())


@fault("KP-1040", fragment="that only another owner sees")
class ListOfEverybody(HandbookSource):
    """The list has everybody's documents, since who may read one is asked when it is read."""

    async def list_documents(
        self, refs: References, context: RetrievalContext, limit: int, offset: int, /
    ) -> list[dict[str, Any]]:
        await super().list_documents(refs, context, 1, 0)
        found: dict[tuple[str, str], dict[str, Any]] = {}
        for owner in _EVERYBODY:
            theirs = context.model_copy(update={"owner_id": owner})
            listed = await super().list_documents(refs, theirs, 100, 0)
            found |= {(each["id"], each["document_id"]): each for each in listed}
        return [found[place] for place in sorted(found)][offset : offset + limit]


@fault("KP-1041", "KP-1042", fragment="nothing that only another owner sees")
class EverythingOfEverybody(_Answering):
    """All that is accessible names no source to look up who may see it, and it is not looked up."""

    async def retrieve(self, query: str, refs: References, context: RetrievalContext, /) -> Any:
        own = await super().retrieve(query, refs, context)
        return await self.of_everybody(query, refs, context) if any(ref.id is None for ref in refs) else own


@fault("KP-1042", fragment="nothing that only another owner sees")
class ScopeNamesTheOwner(HandbookSource):
    """A reference's scope is whose documents are searched, and a client writes it."""

    async def retrieve(self, query: str, refs: References, context: RetrievalContext, /) -> Any:
        scope = next((ref.scope for ref in refs if ref.scope), context.owner_id)
        return await super().retrieve(query, refs, context.model_copy(update={"owner_id": scope}))


@fault("KP-1042", fragment="nothing that only another owner sees")
class QueryNamesTheOwner(HandbookSource):
    """A query that begins with a name is asked as that user, for those who test it."""

    async def retrieve(self, query: str, refs: References, context: RetrievalContext, /) -> Any:
        said, _, name = query.partition(" ")[0].partition(":")
        asking = name if said == "as" and name else context.owner_id
        return await super().retrieve(query, refs, context.model_copy(update={"owner_id": asking}))


@fault("KP-1043", fragment="nothing that only another owner sees")
class NobodySeesEverything(_Answering):
    """An owner who is not in the directory has no groups, and no groups are no filter."""

    async def retrieve(self, query: str, refs: References, context: RetrievalContext, /) -> Any:
        own = await super().retrieve(query, refs, context)
        known = context.owner_id in (*_EVERYBODY, "conformance-owner")
        return own if known else await self.of_everybody(query, refs, context)


@fault("KP-1047", fragment="in answer")
class KeyInTheRecord(HandbookSource):
    """The request that found a record stands in its metadata, with the key in it."""

    async def retrieve(self, query: str, refs: References, context: RetrievalContext, /) -> Any:
        found = await super().retrieve(query, refs, context)
        return [{**record, "metadata": {"request": f"as {_key()}"}} for record in found]


@fault("KP-1048", fragment="the message of the exception")
class KeyInTheError(HandbookSource):
    """What the back end says of an unknown source is raised as it is, and it repeats the key."""

    async def retrieve(self, query: str, refs: References, context: RetrievalContext, /) -> Any:
        if all(ref.id is not None and ref.id not in _KNOWN for ref in refs):
            raise KnowledgeReferenceUnknownError(f"404 for the key {_key()}")
        return await super().retrieve(query, refs, context)


@fault("KP-1039", fragment="the trace_id")
class TraceInTheMetadata(HandbookSource):
    """Each record has the id of the trace that found it, and the model reads it."""

    async def retrieve(self, query: str, refs: References, context: RetrievalContext, /) -> Any:
        found = await super().retrieve(query, refs, context)
        return [{**record, "metadata": {"trace": context.trace_id}} for record in found]


@fault("KP-1007", "KP-1039", fragment="another text")
class UriOfTheSession(HandbookSource):
    """source_uri leads into the session that found the record, and tomorrow there is another."""

    async def retrieve(self, query: str, refs: References, context: RetrievalContext, /) -> Any:
        found = await super().retrieve(query, refs, context)
        return [{**record, "source_uri": f"handbook:{context.session_id}/{record['source_id']}"} for record in found]


@fault("KP-1024", fragment="a credential")
class HeadersLogged(HandbookSource):
    """The headers of each request are logged, and one of them is the key."""

    async def retrieve(self, query: str, refs: References, context: RetrievalContext, /) -> Any:
        _LOG.debug("headers %s", {"Accept": "application/json", "X-Token": "ghp_" + "a1b2c3d4e5f6" * 3})
        return await super().retrieve(query, refs, context)


@fault("KP-1024", fragment="a part of a content")
class RestOfContentLogged(HandbookSource):
    """What does not fit on a card is logged, so that it is not lost."""

    async def retrieve(self, query: str, refs: References, context: RetrievalContext, /) -> Any:
        found = await super().retrieve(query, refs, context)
        _LOG.info("left out: %s", [record["content"][30:] for record in found])
        return found
