"""Mistakes with records and where they are from; knows clauses 10.1 and 10.6, no way of catching them."""

import itertools
from typing import Any

from knowledge_fakes.source_faults._declared import fault
from knowledge_fakes.sources import HandbookSource, References, reference
from knowledge_provider import RetrievalContext


class _Changed(HandbookSource):
    """What it finds is changed record by record."""

    async def retrieve(self, query: str, refs: References, context: RetrievalContext, /) -> Any:
        found = await super().retrieve(query, refs, context)
        return [self.changed(record, refs) for record in found]

    def changed(self, record: dict[str, Any], refs: References) -> dict[str, Any]:
        del refs
        return record


@fault("KP-1004", fragment="a list or tuple")
class AnswerIsAGenerator(HandbookSource):
    """Records are yielded, and nobody reads them."""

    async def retrieve(self, query: str, refs: References, context: RetrievalContext, /) -> Any:
        found = await super().retrieve(query, refs, context)
        return (record for record in found)


@fault("KP-1004", fragment="id")
class RecordsWithoutIds(_Changed):
    """A record has a content and no id, since the back end has none."""

    def changed(self, record: dict[str, Any], refs: References) -> dict[str, Any]:
        return {name: value for name, value in super().changed(record, refs).items() if name != "id"}


@fault("KP-1004", fragment="raised TypeError")
class OneReferenceAtATime(HandbookSource):
    """It expects one reference, and fails where a task has bound two."""

    async def retrieve(self, query: str, refs: References, context: RetrievalContext, /) -> Any:
        if len(refs) > 1:
            raise TypeError("expected one reference")
        return await super().retrieve(query, refs, context)


@fault("KP-1005", "KP-1009", fragment="a source_id out of")
class SourceIdMissing(_Changed):
    """No record says which source it is from, and with two bound a host cannot know."""

    def changed(self, record: dict[str, Any], refs: References) -> dict[str, Any]:
        return {name: value for name, value in super().changed(record, refs).items() if name != "source_id"}


@fault("KP-1005", fragment="a source_id out of")
class SourceIdOfTheBackEnd(_Changed):
    """source_id is the back end's own number of the source, and not the id of the reference."""

    def changed(self, record: dict[str, Any], refs: References) -> dict[str, Any]:
        return {**super().changed(record, refs), "source_id": f"index-{record['source_id']}"}


@fault("KP-1005", "KP-1012", fragment="a source_id out of")
class ReferencesIgnored(HandbookSource):
    """It searches everything that the owner may see, whatever is bound."""

    async def retrieve(self, query: str, refs: References, context: RetrievalContext, /) -> Any:
        del refs
        return await super().retrieve(query, (_EVERYTHING,), context)


_EVERYTHING = reference("handbook").model_copy(update={"mode": "all_accessible", "id": None})


@fault("KP-1006", fragment="a raw URL")
class LinkAsUri(_Changed):
    """source_uri is the address at which a browser opens the page."""

    def changed(self, record: dict[str, Any], refs: References) -> dict[str, Any]:
        return {**super().changed(record, refs), "source_uri": f"https://wiki.example.com/{record['source_id']}"}


@fault("KP-1006", fragment="a credential")
class KeyInTheUri(_Changed):
    """source_uri is of the source's own scheme, and has the key in it with which the page is fetched."""

    def changed(self, record: dict[str, Any], refs: References) -> dict[str, Any]:
        return {**super().changed(record, refs), "source_uri": "handbook:page/7?token=k-4711-4712"}


@fault("KP-1006", fragment="no URI of one line")
class TitleAsUri(_Changed):
    """source_uri is a path with spaces in it, which nothing can read back."""

    def changed(self, record: dict[str, Any], refs: References) -> dict[str, Any]:
        return {**super().changed(record, refs), "source_uri": "Handbook / Releases"}


_CALLS = itertools.count()


@fault("KP-1007", fragment="another text")
class UriOfTheCall(_Changed):
    """source_uri has the number of the call in it, and opens nothing later."""

    def changed(self, record: dict[str, Any], refs: References) -> dict[str, Any]:
        return {**super().changed(record, refs), "source_uri": f"handbook:result/{next(_CALLS)}"}


@fault("KP-1008", fragment="a raw URL")
class LinkInTheMetadata(_Changed):
    """The address of the page stands in the metadata, where a host leaves it out."""

    def changed(self, record: dict[str, Any], refs: References) -> dict[str, Any]:
        return {**super().changed(record, refs), "metadata": {"link": "https://wiki.example.com/releases"}}


@fault("KP-1008", fragment="a raw URL")
class LinkAsTitle(_Changed):
    """A page without a title is called by its address."""

    def changed(self, record: dict[str, Any], refs: References) -> dict[str, Any]:
        return {**super().changed(record, refs), "title": "https://wiki.example.com/releases"}


@fault("KP-1009", fragment="a source_id")
class NoSourceForEverything(_Changed):
    """Asked for all that is accessible, it answers with records that say nothing of their source."""

    def changed(self, record: dict[str, Any], refs: References) -> dict[str, Any]:
        without = any(ref.mode == "all_accessible" for ref in refs)
        kept = super().changed(record, refs)
        return {name: value for name, value in kept.items() if not (without and name == "source_id")}


@fault("KP-1009", fragment="raised KeyError")
class EverythingIsUnexpected(HandbookSource):
    """A reference without an id is looked up all the same, and fails with an error of the language."""

    async def retrieve(self, query: str, refs: References, context: RetrievalContext, /) -> Any:
        if any(ref.id is None for ref in refs):
            raise KeyError("id")
        return await super().retrieve(query, refs, context)
