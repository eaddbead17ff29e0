"""Mistakes with the records of a merged answer; knows clauses 10.2, 10.5 and 10.6, no way of catching them."""

import itertools
from collections.abc import Mapping, Sequence
from itertools import chain, zip_longest
from typing import Any

from knowledge_fakes._plain_calls import Ending
from knowledge_fakes.merging_faults._declared import fault
from knowledge_fakes.plain_merging import Answer, PlainMerging, Record, References
from knowledge_provider.errors import read_or_none


@fault("KP-1051", fragment="built-in")
class SourcesBeforeItsOwn(PlainMerging):
    """The user chose the sources, so they come first, and what the host knows behind them."""

    def merged(self, own: Sequence[Record], answers: Mapping[str, Answer]) -> list[Record]:
        return [*super().merged((), answers), *own]


@fault("KP-1051", fragment="one source's records after another's")
class SourcesInTurn(PlainMerging):
    """One record of each source in turn, as a composite has them."""

    def merged(self, own: Sequence[Record], answers: Mapping[str, Answer]) -> list[Record]:
        turns = chain.from_iterable(zip_longest(*(answer.records for answer in answers.values())))
        return [*own, *(record for record in turns if record is not None)]


@fault("KP-1051", fragment="order")
class SortedByTitle(PlainMerging):
    """The records of a source are sorted by what they say, and its own ranking is lost."""

    def merged(self, own: Sequence[Record], answers: Mapping[str, Answer]) -> list[Record]:
        return [
            *own,
            *(each for answer in answers.values() for each in sorted(answer.records, key=lambda each: each["content"])),
        ]


@fault("KP-1052", fragment="source_type")
class SourceTypeBelieved(PlainMerging):
    """source_type is what the record says, and a source can pose as another, or as the host."""

    def type_of(self, name: str, item: Any) -> str:
        said = read_or_none(lambda: item.get("source_type"))
        return said if isinstance(said, str) else super().type_of(name, item)


@fault("KP-1052", fragment="source_name")
class NoNames(PlainMerging):
    """A record has the id of its source, and no name that a person could read."""

    def records(self, name: str, refs: References, item: Any) -> list[Record]:
        return [
            {field: value for field, value in record.items() if field != "source_name"}
            for record in super().records(name, refs, item)
        ]


@fault("KP-1076", fragment="a raw URL")
class SourceIdsAsTheyCame(PlainMerging):
    """Where everything is bound, source_id is whatever a record says, such as the address of a space."""

    def can_be_bound(self, source_id: str) -> bool:
        return bool(source_id)


@fault("KP-1053", fragment="source_uri")
class LinksKept(PlainMerging):
    """source_uri is what the source says, and may be a signed link."""

    def uri_of(self, name: str, source_id: str, item: Any) -> str:
        said = read_or_none(lambda: item.get("source_uri"))
        return said if isinstance(said, str) else super().uri_of(name, source_id, item)


@fault("KP-1053", fragment="source_uri")
class QuotedLinksKept(PlainMerging):
    """source_uri is looked at as it is written, and a signed link behind the source's name is percent-encoded."""

    def uri_of(self, name: str, source_id: str, item: Any) -> str:
        said = read_or_none(lambda: item.get("source_uri"))
        quoted = isinstance(said, str) and said.startswith(f"{name}:") and "%3A" in said
        return str(said) if quoted else super().uri_of(name, source_id, item)


@fault("KP-1053", fragment="title")
class TitlesKept(PlainMerging):
    """Titles are shown as they come, with the address that stands for a missing one."""

    def shown(self, item: Any, field: str) -> str:
        said = read_or_none(lambda: item.get(field))
        return said if isinstance(said, str) else ""


@fault("KP-1054", fragment="an id of its own")
class IdsAsTheyCame(PlainMerging):
    """A record keeps the id that its source gave, and two sources both have a 1."""

    def id_of(self, name: str, own: str) -> str:
        del name
        return own


_CALLS = itertools.count()


@fault("KP-1054", "KP-1057", fragment="source_uri")
class UriOfTheCall(PlainMerging):
    """A source_uri is numbered by the call, and opens nothing later."""

    def uri_of(self, name: str, source_id: str, item: Any) -> str:
        return f"{super().uri_of(name, source_id, item)}/{next(_CALLS)}"


@fault("KP-1055", "KP-1070", fragment="that nobody bound")
class WhateverComes(PlainMerging):
    """A record of a source that nobody bound is shown as well, since it was found."""

    def is_bound(self, source_id: str, refs: References) -> bool:
        return bool(source_id) and bool(refs)


@fault("KP-1071", fragment="records of one source")
class NoLimit(PlainMerging):
    """A source may fill the whole answer."""

    def read_source(self, name: str, refs: References, found: Ending | None) -> Answer:
        answer = super().read_source(name, refs, found)
        if answer.status != "hit" or found is None or not isinstance(found.value, list):
            return answer
        every = [record for item in found.value for record in self.records(name, refs, item)]
        return answer._replace(records=list({record["id"]: record for record in every}.values()))


@fault("KP-1051", fragment="built-in")
class FewOfItsOwn(PlainMerging):
    """The first four of the host's own records are enough, it is thought, since the sources are to come."""

    def read_built_in(self, found: Ending) -> list[Record]:
        return super().read_built_in(found)[:4]


@fault("KP-1051", fragment="built-in")
class ContentsShortened(PlainMerging):
    """Every content is cut to a hundred characters, so that more records fit."""

    def merged(self, own: Sequence[Record], answers: Mapping[str, Answer]) -> list[Record]:
        return [{**record, "content": record["content"][:100]} for record in super().merged(own, answers)]


@fault("KP-1051", fragment="in its own order")
class TenInAll(PlainMerging):
    """Ten records are the whole answer, and the sources that come last lose theirs without a word."""

    def merged(self, own: Sequence[Record], answers: Mapping[str, Answer]) -> list[Record]:
        return super().merged(own, answers)[:10]


@fault("KP-1052", "KP-1076", fragment="the record drive")
class NothingOfEverything(PlainMerging):
    """A record is shown where a reference has its source_id, and a reference to everything has none."""

    def is_bound(self, source_id: str, refs: References) -> bool:
        return any(ref.id == source_id for ref in refs)


@fault("KP-1052", fragment="as the reference is called")
class NamesAreIds(PlainMerging):
    """source_name is the id once more, whatever the user calls the source."""

    def records(self, name: str, refs: References, item: Any) -> list[Record]:
        return [{**record, "source_name": record["source_id"]} for record in super().records(name, refs, item)]


@fault("KP-1053", fragment="uri")
class LinksDeeper(PlainMerging):
    """A record keeps what a provider says of its source, with the link in it."""

    def records(self, name: str, refs: References, item: Any) -> list[Record]:
        source = read_or_none(lambda: dict.get(item, "source"))
        kept = {"source": source} if type(source) is dict and set(map(type, source.values())) == {str} else {}
        return [{**record, **kept} for record in super().records(name, refs, item)]


@fault("KP-1053", fragment="source_uri")
class OwnLinksKept(PlainMerging):
    """source_uri of what the host found itself is the link to the file, signed for an hour."""

    def read_built_in(self, found: Ending) -> list[Record]:
        link = read_or_none(lambda: found.value[0]["source"]["uri"])
        return [{**each, "source_uri": link or each["source_uri"]} for each in super().read_built_in(found)]


@fault("KP-1054", fragment="an id of its own")
class OwnIdsAsTheyCame(PlainMerging):
    """What the host found itself keeps its id, which may be what a source's record is given."""

    def own_id(self, own: str) -> str:
        return own


@fault("KP-1054", fragment="an id of its own")
class OneIdTwice(PlainMerging):
    """A record that a source answers twice is shown twice."""

    def read_source(self, name: str, refs: References, found: Ending | None) -> Answer:
        answer = super().read_source(name, refs, found)
        if answer.status != "hit" or found is None or not isinstance(found.value, list):
            return answer
        return answer._replace(records=[rec for item in found.value for rec in self.records(name, refs, item)][:8])


@fault("KP-1054", fragment="a source_uri for each place")
class UriOfTheReference(PlainMerging):
    """source_uri is made of the reference alone, and what the source says of the place in it is thrown away."""

    def uri_of(self, name: str, source_id: str, item: Any) -> str:
        del item
        return super().uri_of(name, source_id, {})


@fault("KP-1054", fragment="a source_uri for each place")
class OneUriForAll(PlainMerging):
    """source_uri is there since it has to be, and is the same text for every record."""

    def uri_of(self, name: str, source_id: str, item: Any) -> str:
        del name, source_id, item
        return "source:record"


@fault("KP-1055", fragment="which of two references")
class FirstReferenceGetsIt(PlainMerging):
    """A record that names no source is taken for the first reference's, also where there are two."""

    def records(self, name: str, refs: References, item: Any) -> list[Record]:
        bound = next((ref.id for ref in refs if ref.id is not None), None)
        unnamed = type(item) is dict and not item.get("source_id")
        return super().records(name, refs, {**item, "source_id": bound} if unnamed and bound else item)


@fault("KP-1085", fragment="a tuple")
class OnlyLists(PlainMerging):
    """An answer is a list, as that of the first source was, and anything else counts as nonsense."""

    def read_source(self, name: str, refs: References, found: Ending | None) -> Answer:
        answer = super().read_source(name, refs, found)
        listed = found is None or found.error is not None or isinstance(found.value, list)
        return answer if listed else Answer("failed", "invalid_response")


@fault("KP-1085", fragment="a list of RetrievalResult")
class OnlyDicts(PlainMerging):
    """A record is a dict, and one that is a model of the contract's is passed over."""

    def records(self, name: str, refs: References, item: Any) -> list[Record]:
        return super().records(name, refs, item) if type(item) is dict else []


@fault("KP-1085", fragment="the record own-1")
class OwnOnlyLists(PlainMerging):
    """What the host finds itself comes in a list, until its search is another provider's."""

    def read_built_in(self, found: Ending) -> list[Record]:
        return super().read_built_in(found) if isinstance(found.value, list) else []


@fault("KP-1086", fragment="the content")
class ContentsAsTheyCame(PlainMerging):
    """A content is handed on as the source wrote it, with what nobody sees in it."""

    def records(self, name: str, refs: References, item: Any) -> list[Record]:
        said = item.get("content") if type(item) is dict else None
        raw = {"content": said} if type(said) is str else {}
        return [{**record, **raw} for record in super().records(name, refs, item)]
