"""Mistakes with references to parts, and to what there is not; knows clauses 3.4 and 10.7, no finding."""

from typing import Any, Final

from knowledge_fakes.source_faults._declared import fault
from knowledge_fakes.sources import HandbookSource, References, reference
from knowledge_provider import RetrievalContext

_KNOWN: Final = frozenset({"engineering", "people", "support"})


@fault("KP-1044", fragment="in both answers")
class PartsAreWholes(HandbookSource):
    """A document that it has is answered from the whole source that the document is in."""

    async def retrieve(self, query: str, refs: References, context: RetrievalContext, /) -> Any:
        wholes = [ref if ref.is_whole else reference("handbook", str(ref.id)) for ref in refs]
        listed = await self.list_documents(tuple(wholes), context, 100, 0)
        known = {each["document_id"] for each in listed}
        asked = [whole for ref, whole in zip(refs, wholes, strict=True) if ref.is_whole or ref.document_id in known]
        return await super().retrieve(query, tuple(asked), context) if asked else []


@fault("KP-1044", fragment="nothing for a folder")
class FoldersAreNew(HandbookSource):
    """A folder is none of the types that it knows, and what it does not know is no restriction."""

    async def retrieve(self, query: str, refs: References, context: RetrievalContext, /) -> Any:
        known = tuple(ref if ref.target_type != "folder" else reference("handbook", str(ref.id)) for ref in refs)
        return await super().retrieve(query, known, context)


@fault("KP-1045", fragment="records in all")
class DocumentsFindNothing(HandbookSource):
    """A document's id is compared with that of its source, and never found."""

    async def retrieve(self, query: str, refs: References, context: RetrievalContext, /) -> Any:
        wholes = tuple(ref for ref in refs if ref.is_whole)
        return await super().retrieve(query, wholes, context) if wholes else []


@fault("KP-1046", fragment="alone, beside a reference")
class OneUnknownMeansEverything(HandbookSource):
    """A list with an unknown id in it is refused by the back end, and then everything is asked for instead."""

    async def retrieve(self, query: str, refs: References, context: RetrievalContext, /) -> Any:
        ids = {ref.id for ref in refs if ref.id is not None}
        everything = tuple(reference("handbook", base) for base in sorted(_KNOWN))
        return await super().retrieve(query, everything if ids & _KNOWN and ids - _KNOWN else refs, context)


@fault("KP-1035", fragment="without it")
class FirstReferenceListed(HandbookSource):
    """The documents of the first reference are listed, since a dialogue shows one source at a time."""

    async def list_documents(
        self, refs: References, context: RetrievalContext, limit: int, offset: int, /
    ) -> list[dict[str, Any]]:
        return await super().list_documents(refs[:1], context, limit, offset)
