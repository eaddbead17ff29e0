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


@fault("KP-1055", fragment="that nobody bound")
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
