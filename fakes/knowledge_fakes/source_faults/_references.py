"""Mistakes with what stands in a reference; knows clause 10.2, no way of catching them."""

from typing import Any

from knowledge_fakes.handbook import load_handbook
from knowledge_fakes.source_faults._declared import fault
from knowledge_fakes.source_faults._listing import Entries, Listing
from knowledge_fakes.sources import HandbookSource, References
from knowledge_provider import RetrievalContext
from knowledge_provider.sources import ExternalKnowledgeRef


@fault("KP-1026", fragment="a raw URL")
class AddressAsTargetName(Listing):
    """A document without a title is listed under its address."""

    def page(self, entries: Entries, limit: int, offset: int) -> Any:
        named = [{**each, "target_name": f"https://wiki.example.com/{each['document_id']}"} for each in entries]
        return super().page(named, limit, offset)


@fault("KP-1026", fragment="a raw URL")
class AddressAsDocumentId(Listing):
    """A document's id is its address, which changes when it moves, and which a browser opens."""

    def page(self, entries: Entries, limit: int, offset: int) -> Any:
        placed = [{**each, "document_id": f"https://wiki.example.com/{each['document_id']}"} for each in entries]
        return super().page(placed, limit, offset)


@fault("KP-1026", "KP-1027", fragment="a credential")
class SignedLinkListed(Listing):
    """Each entry has the signed link with it from which the document can be loaded."""

    def page(self, entries: Entries, limit: int, offset: int) -> Any:
        link = {"download": {"href": "https://files.example.com/kb.pdf?X-Amz-Signature=4f1d2c"}}
        return super().page([{**each, **link} for each in entries], limit, offset)


@fault("KP-1027", fragment="'excerpt'")
class ExcerptListed(Listing):
    """Each entry has the beginning of the document with it, and so has the task that binds it."""

    def page(self, entries: Entries, limit: int, offset: int) -> Any:
        texts = {passage.source["id"]: passage.content for passage in load_handbook().passages.values()}
        shown = [{**each, "excerpt": texts.get(each["document_id"], "")} for each in entries]
        return super().page(shown, limit, offset)


@fault("KP-1027", fragment="'row'")
class RowListed(Listing):
    """Each entry has the back end's own row with it, for when the document is asked for."""

    def page(self, entries: Entries, limit: int, offset: int) -> Any:
        return super().page([{**each, "row": object()} for each in entries], limit, offset)


@fault("KP-1028", fragment="a credential")
class TokenInTheScope(HandbookSource):
    """What stands has the token in its scope with which it was looked up, so that it need not be asked for again."""

    def validate_refs(self, refs: References, binding_level: str, /) -> References:
        return tuple(
            ref.model_copy(update={"scope": "token=k-4711-4712"}) for ref in super().validate_refs(refs, binding_level)
        )


class _Looked(ExternalKnowledgeRef):
    rights: tuple[str, ...] = ("read",)


@fault("KP-1028", fragment="'rights'")
class RightsInTheReference(HandbookSource):
    """What stands is a reference of its own kind, which holds what the user may do there today."""

    def validate_refs(self, refs: References, binding_level: str, /) -> References:
        return tuple(_Looked(**ref.model_dump()) for ref in super().validate_refs(refs, binding_level))


@fault("KP-1029", fragment="a raw URL")
class AddressAsSource(HandbookSource):
    """Where everything is asked for, source_id is the address of the space in which a record was found."""

    async def retrieve(self, query: str, refs: References, context: RetrievalContext, /) -> Any:
        found = await super().retrieve(query, refs, context)
        if all(ref.mode == "explicit" for ref in refs):
            return found
        return [{**record, "source_id": f"https://wiki.example.com/{record['source_id']}"} for record in found]
