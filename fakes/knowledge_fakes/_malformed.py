"""Answers that are no answers, by name, for ``scripted``; knows the contract's shapes, no host and no rule for them."""

import itertools
import math
from array import array
from collections import OrderedDict, deque, namedtuple
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType, SimpleNamespace
from typing import Any, Final
from unittest.mock import MagicMock

from knowledge_fakes import _forged, _hostile
from knowledge_provider import OutcomeResult, RetrievalResult, Source

_MANY: Final = 100_000
_DEEP: Final = 5_000


def sound(place: int = 1, **fields: object) -> dict[str, Any]:
    """A result with nothing wrong but ``fields``."""
    return {"id": f"sound-{place}", "content": f"Sound passage {place}.", **fields}


@dataclass
class _Record:
    id: str = "record"
    content: str = "A dataclass."


_Row = namedtuple("_Row", ("id", "content"))  # as database drivers make it


# Clause 5.1 and rule N1: the container.


def _containers() -> dict[str, Callable[[], object]]:
    return {
        "nothing": lambda: None,
        "a_text": lambda: "no results",
        "bytes": lambda: b'[{"id": "a", "content": "b"}]',
        "a_number": lambda: 42,
        "a_boolean": lambda: True,
        "nan": lambda: math.nan,
        "a_set": lambda: {"a", "b"},
        "a_class": lambda: dict,
        "a_function": lambda: sound,
        "an_exception": lambda: ValueError("returned, not raised"),
        "not_implemented": lambda: NotImplemented,
        "an_ellipsis": lambda: ...,
        "an_array": lambda: array("d", [1.0, 2.0]),
        "a_deque": lambda: deque([sound()]),
        "a_range": lambda: range(10**12),
        "a_mock": MagicMock,
        "an_object": lambda: SimpleNamespace(results=[sound()]),
        "a_generator": lambda: (sound(place) for place in range(3)),
        "an_endless_generator": lambda: (sound(place) for place in itertools.count()),
        "an_async_generator": _async_generator,
        "an_iterator": lambda: iter([sound()]),
        "a_dict_view": {"results": [sound()]}.values,
        "a_mapping_proxy": lambda: MappingProxyType({"results": [sound()]}),
        "a_user_dict": lambda: _hostile.TellingMapping({"results": [sound()]}),
        "a_user_list": lambda: _hostile.TellingSequence([sound()]),
        "an_empty_mapping": dict,
        "results_missing": lambda: {"documents": [sound()], "total": 1},
        "results_in_capitals": lambda: {"Results": [sound()]},
        "results_null": lambda: {"results": None},
        "results_a_text": lambda: {"results": "none"},
        "results_a_mapping": lambda: {"results": {"0": sound()}},
        "results_a_generator": lambda: {"results": (sound(place) for place in range(3))},
        "results_in_results": lambda: {"results": {"results": [sound()]}},
        "keys_are_bytes": lambda: {b"results": [sound()]},
        "keys_are_numbers": lambda: {0: sound(), 1: sound(2)},
        "an_error_body": lambda: {"error": {"code": 503, "message": "overloaded"}, "results": []},
        "lists_of_lists": lambda: [[sound()], [sound(2)]],
        "an_ordered_dict": lambda: OrderedDict(results=[sound()]),
        "a_named_tuple": lambda: _Row("a", "b"),
    }


async def _async_generator() -> Any:
    yield sound()


# Rules N3 and N7: the results.


def _results() -> dict[str, Callable[[], object]]:
    return {
        "vendor_objects": lambda: [_hostile.Vendor("A vendor's document."), sound()],
        "dataclasses": lambda: [_Record(), sound()],
        "named_tuples": lambda: [_Row("a", "b"), sound()],
        "pairs": lambda: [("a", 0.9), ("b", 0.8)],
        "texts_as_results": lambda: ["first passage", "second passage", sound()],
        "nulls_as_results": lambda: [None, None, sound(), None],
        "models_with_more": lambda: [_hostile.VendorResult.model_validate(sound(raw=_hostile.Vendor("c")))],
        "models_without_validation": lambda: [_unchecked(id=None, content=7), sound()],
        "models_with_nan": lambda: [_unchecked(id="a", content="b", score=math.nan)],
        "models_with_a_private_link": lambda: [
            RetrievalResult(id="a", content="b", source=Source(uri="http://10.0.0.1/"))
        ],
        "models_that_are_cited_already": lambda: [
            OutcomeResult(id="a", content="b", url="http://127.0.0.1/", citation_id="source_1")
        ],
        "results_of_another_shape": lambda: [{"document": {"id": "a", "text": "b"}, "distance": 0.1}, sound()],
        "same_id_twice": lambda: [sound(), sound(content="The later one."), sound(2)],
        "ids_that_fold": lambda: [sound(id="page 1"), sound(id=" page  1 "), sound(id="page\u00a01")],
        "ids_missing": lambda: [{"content": "No id."}, {"content": "No id.", "source": {"id": "s"}}],
        "ids_numeric": lambda: [sound(id=1), sound(id=1.0), sound(id=True), sound(id=10**5000), sound(id=math.inf)],
        "ids_in_containers": lambda: [sound(id=["a"]), sound(id={"a": 1}), sound(id=b"a"), sound()],
        "content_missing": lambda: [{"id": "a"}, {"id": "b", "content": None}, {"id": "c", "content": ""}, sound()],
        "content_invisible": lambda: [sound(content="\u200b\u200b\ufeff"), sound(content="\0\0"), sound(2)],
        "content_in_bytes": lambda: [sound(content=b"bytes"), sound(2)],
        "content_in_parts": lambda: [sound(content=["a", "b"]), sound(content={"text": "a"}), sound(2)],
        "content_huge": lambda: [sound(content="x" * 1_000_000)],
        "more_than_asked": lambda: [sound(place) for place in range(64)],
        "a_huge_list": lambda: [sound(place) for place in range(_MANY)],
        "a_huge_list_of_nothing": lambda: [None] * _MANY,
        "a_huge_mapping": lambda: {"results": [sound(metadata={str(key): key for key in range(_MANY)})]},
        "contains_itself": _contains_itself,
        "source_contains_itself": _source_contains_itself,
        "deeply_nested": lambda: [_nested([]), sound(metadata={"deep": _nested({})}), sound(2, source=_nested({}))],
        "deeply_nested_results": lambda: {"results": _nested([])},
    }


def _unchecked(**fields: Any) -> RetrievalResult:
    return RetrievalResult.model_construct(**fields)


def _contains_itself() -> object:
    answer: list[Any] = [sound()]
    answer.append(answer)
    return answer


def _source_contains_itself() -> object:
    result = sound()
    result["source"] = result["metadata"] = result
    return {"results": [result]}


def _nested(value: Any) -> Any:
    for _ in range(_DEEP):
        value = [value] if isinstance(value, list) else {"metadata": value}
    return value


# Rules N8 and N11: scores, sources, metadata and reports.


def _fields() -> dict[str, Callable[[], object]]:
    return {
        "scores_nan": lambda: [sound(score=math.nan), sound(2, score=math.inf), sound(3, score=-math.inf)],
        "scores_in_texts": lambda: [
            sound(n, score=s) for n, s in enumerate(("0.9", "1_0", "Infinity", "NaN", "٣", ""))
        ],
        "scores_of_other_types": lambda: [
            sound(n, score=s) for n, s in enumerate((True, Decimal("0.9"), Fraction(1, 3), 1j, [0.9], 10**5000, {}))
        ],
        "scores_out_of_order": lambda: [sound(1, score=0.1), sound(2, score=0.9), sound(3, score=-5)],
        "source_a_text": lambda: [sound(source="handbook.pdf")],
        "source_a_list": lambda: [sound(source=["handbook.pdf"])],
        "source_of_numbers": lambda: [sound(source={"id": 1, "title": 2.5, "locator": 12, "uri": 3})],
        "source_of_containers": lambda: [sound(source={"id": [], "title": {}, "uri": ["https://example.com/"]})],
        "metadata_a_list": lambda: [sound(metadata=[("a", 1)])],
        "metadata_nested": lambda: [
            sound(metadata={"a": {"b": {"c": 1}}, "l": [1], "none": None, "": "x", "ok": True})
        ],
        "metadata_of_other_types": lambda: [
            sound(metadata={"when": datetime(2026, 1, 31, tzinfo=UTC), "price": Decimal(1), "nan": math.nan, 1: "one"})
        ],
        "metadata_too_much": lambda: [sound(metadata={f"k{n}" * 100: "v" * 100_000 for n in range(40)})],
        "metadata_magic_names": lambda: [sound(metadata={"__proto__": "x", "__class__": "y", "constructor": "z"})],
        "embedding_in_metadata": lambda: [sound(metadata={"embedding": [0.125] * 1536})],
        "reports_of_every_kind": lambda: {
            "results": [sound()],
            "sources": [None, "wiki", {"key": "wiki"}, {"key": "a", "status": 5, "count": -1}, _hostile.Refusing()],
        },
        "reports_too_many": lambda: {"results": [], "sources": [{"key": "k", "status": "hit"}] * _MANY},
    }


# Objects that do something when they are looked at.


def _lookers() -> dict[str, Callable[[], object]]:
    return {
        "raises_when_looked_at": _hostile.Refusing,
        "exits_when_looked_at": _hostile.Exiting,
        "raises_when_asked_for_its_class": _hostile.RefusingClass,
        "lies_about_its_class": _hostile.Liar,
        "a_mapping_that_raises": lambda: _hostile.RefusingDict(results=[sound()]),
        "a_mapping_that_exits": lambda: _hostile.ExitingDict(results=[sound()]),
        "a_list_that_raises": lambda: _hostile.RefusingList([sound(), sound(2)]),
        "a_list_that_never_ends": lambda: _hostile.EndlessList([sound()]),
        "a_list_that_grows": lambda: _hostile.GrowingList([sound()]),
        "results_that_raise": lambda: [_hostile.Refusing(), _hostile.Exiting(), _hostile.Aborting(), sound()],
        "results_that_lie": lambda: [_hostile.Liar(), _hostile.RefusingClass(), MagicMock(spec=dict), sound()],
        "result_mappings_that_raise": lambda: [_hostile.RefusingDict(sound()), _hostile.ExitingDict(sound(2))],
        "texts_that_raise": lambda: [
            sound(id=_hostile.RefusingText("a"), content=_hostile.RefusingText("Sound behind it."))
        ],
        "numbers_that_raise": lambda: [
            sound(score=_hostile.RefusingNumber(0.5), metadata={"n": _hostile.RefusingNumber(1)})
        ],
        "keys_that_raise": lambda: {_hostile.Refusing("results"): [sound()]},
        "keys_that_exit": lambda: {_hostile.Exiting("results"): [sound()]},
        "fields_whose_keys_raise": lambda: [{**sound(), _hostile.Refusing("score"): 1, _hostile.Exiting("source"): 1}],
        "fields_that_raise": lambda: [
            sound(id=_hostile.Refusing()),
            sound(2, source=_hostile.Refusing(), metadata=_hostile.Exiting()),
        ],
    }


MALFORMED: Final[Mapping[str, Callable[[], object]]] = MappingProxyType(
    {**_containers(), **_results(), **_fields(), **_lookers(), **_forged.texts(), **_forged.links()}
)
"""Each name a fresh answer with one kind of mistake; give it to a script by ``returning(MALFORMED[name]())``."""
