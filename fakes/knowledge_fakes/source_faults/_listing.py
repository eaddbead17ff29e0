"""Mistakes with what can be selected; knows clause 10.7, no way of catching them."""

from typing import Any

from knowledge_fakes.source_faults._declared import fault
from knowledge_fakes.sources import HandbookSource, References
from knowledge_provider import RetrievalContext

Entries = list[dict[str, Any]]
_ALL = 100


class Listing(HandbookSource):
    """All that is listed, of which a page is made by a method of its own."""

    async def list_documents(self, refs: References, context: RetrievalContext, limit: int, offset: int, /) -> Any:
        return self.page(await super().list_documents(refs, context, _ALL, 0), limit, offset)

    def page(self, entries: Entries, limit: int, offset: int) -> Any:
        return entries[offset : offset + limit]


@fault("KP-1017", fragment="a mapping with the fields")
class EntriesAsTitles(Listing):
    """An entry is the title of a document, which nobody can bind."""

    def page(self, entries: Entries, limit: int, offset: int) -> Any:
        return [entry["target_name"] for entry in super().page(entries, limit, offset)]


@fault("KP-1017", fragment="a list or tuple of entries")
class PageObject(Listing):
    """The page is the back end's own answer, with its entries under another name."""

    def page(self, entries: Entries, limit: int, offset: int) -> Any:
        return {"items": super().page(entries, limit, offset), "total": len(entries)}


@fault("KP-1017", fragment="document_id")
class EntriesWithoutIds(Listing):
    """An entry has the name of a document, and no id of it."""

    def page(self, entries: Entries, limit: int, offset: int) -> Any:
        return [{"id": each["id"], "target_name": each["target_name"]} for each in super().page(entries, limit, offset)]


@fault("KP-1017", fragment="at most limit")
class LimitIgnored(Listing):
    """Every page goes to the end of the list."""

    def page(self, entries: Entries, limit: int, offset: int) -> Any:
        del limit
        return entries[offset:]


@fault("KP-1018", fragment="of the whole list")
class OffsetCountsPages(Listing):
    """offset is taken for the number of the page."""

    def page(self, entries: Entries, limit: int, offset: int) -> Any:
        return entries[offset * limit : offset * limit + limit]


@fault("KP-1018", fragment="the documents 2 to 3 of the whole list")
class OffsetsInWholePages(Listing):
    """A page begins at a multiple of the limit: the back end counts pages, and the offset is divided by it."""

    def page(self, entries: Entries, limit: int, offset: int) -> Any:
        start = offset - offset % limit
        return entries[start : start + limit]


@fault("KP-1018", fragment="of the whole list")
class PagesOverlap(Listing):
    """A page begins with the last document of the one before."""

    def page(self, entries: Entries, limit: int, offset: int) -> Any:
        start = max(0, offset - 1)
        return entries[start : start + limit] if offset < len(entries) else []


@fault("KP-1018", fragment="each document once")
class DocumentsListedTwice(Listing):
    """A document that two folders have is in the list twice."""

    def page(self, entries: Entries, limit: int, offset: int) -> Any:
        return super().page([*entries, *entries[:1]], limit, offset)


@fault("KP-1018", fragment="of the whole list")
class OrderOfTheMoment(Listing):
    """The list has no order of its own, and stands another way round each time."""

    turned = False

    def page(self, entries: Entries, limit: int, offset: int) -> Any:
        self.turned = not self.turned
        return super().page(entries[::-1] if self.turned else entries, limit, offset)


@fault("KP-1019", fragment="raised IndexError")
class PastTheEndRaises(Listing):
    """An offset behind the last document is an error."""

    def page(self, entries: Entries, limit: int, offset: int) -> Any:
        if offset >= len(entries):
            raise IndexError("offset out of range")
        return super().page(entries, limit, offset)


@fault("KP-1019", fragment="no entry from offset")
class PastTheEndBeginsAgain(Listing):
    """An offset behind the last document is the first page again."""

    def page(self, entries: Entries, limit: int, offset: int) -> Any:
        return super().page(entries, limit, offset if offset < len(entries) else 0)


@fault("KP-1020", fragment="to stand")
class DocumentsDoNotStand(HandbookSource):
    """Documents are listed to be selected, and only whole sources stand."""

    def validate_refs(self, refs: References, binding_level: str, /) -> References:
        return tuple(ref for ref in super().validate_refs(refs, binding_level) if ref.is_whole)


@fault("KP-1020", fragment="raised NotImplementedError")
class DocumentsCannotBeAsked(HandbookSource):
    """Documents are listed to be selected, and asking for one is not written yet."""

    async def retrieve(self, query: str, refs: References, context: RetrievalContext, /) -> Any:
        if not all(ref.is_whole for ref in refs):
            raise NotImplementedError("documents")
        return await super().retrieve(query, refs, context)
