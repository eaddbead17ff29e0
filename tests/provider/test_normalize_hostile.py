"""Rules N1 to N13 on hostile answers: what holds for every outcome, whatever came."""

import json
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from types import MappingProxyType
from typing import Any, NoReturn

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from knowledge_provider.models import RetrievalResult
from knowledge_provider.normalize import normalize_response
from knowledge_provider.outcome import OutcomeResult
from knowledge_provider.text import is_a

DICT: type[dict[object, object]] = dict
LIST: type[list[object]] = list
TUPLE: type[tuple[object, ...]] = tuple

quick = settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow])


def refuse(*_arguments: object, **_named: object) -> NoReturn:
    raise RuntimeError("foreign code ran")


def hostile(base: type[Any]) -> type[Any]:
    """A subclass of ``base`` of which every method, and the question for its class, raises."""
    spared = {"__new__", "__init__", "__class__", "__init_subclass__", "__subclasshook__"}
    methods = {name for name in dir(base) if callable(getattr(base, name))} - spared
    return type("Hostile", (base,), {**dict.fromkeys(methods, refuse), "__class__": property(refuse)})


def hostile_class() -> Any:
    """A class that raises when it is asked anything, its own name and bases included."""
    asked = dict.fromkeys(("__instancecheck__", "__subclasscheck__", "__eq__", "__getattribute__"), refuse)
    properties = dict.fromkeys(("__name__", "__mro__"), property(refuse))
    return type("HostileMeta", (type,), {**asked, **properties, "__hash__": type.__hash__})("Hostile", (), {})


class Twin(str):
    """A key with the hash of a known name that raises when it is asked whether it is equal."""

    __slots__ = ()
    __eq__ = refuse
    __hash__ = str.__hash__


class Quitter(str):
    """A key that ends the process when it is asked."""

    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        raise SystemExit(9)


class HostileResult(RetrievalResult):
    __getattribute__ = __eq__ = __iter__ = refuse


def hostile_result() -> RetrievalResult:
    result = RetrievalResult(id="a", content="text")
    object.__setattr__(result, "__class__", HostileResult)
    return result


@dataclass
class Lookalike:
    id: str = "a"
    content: str = "text"


def endless() -> Iterator[dict[str, str]]:
    while True:
        yield {"id": "a", "content": "text"}


def self_referencing() -> dict[str, Any]:
    knot: dict[str, Any] = {"id": "knot", "content": "text"}
    knot.update(source=knot, metadata=knot, results=[knot], sources=[knot])
    return knot


def deep() -> list[Any]:
    nest: list[Any] = []
    for _ in range(5000):
        nest = [nest]
    return nest


UNCHECKED: dict[str, Any] = {"id": object(), "content": "text", "source": {"id": 5}, "metadata": [1]}
ZOO: dict[str, Callable[[], Any]] = {
    "object": hostile(object),
    "str": lambda: hostile(str)("te xt"),
    "int": lambda: hostile(int)(7),
    "float": lambda: hostile(float)(0.5),
    "list": lambda: hostile(list)([{"id": "a", "content": "text"}]),
    "tuple": lambda: hostile(tuple)([{"id": "a", "content": "text"}]),
    "dict": lambda: hostile(dict)({"id": "a", "content": "text", "source": {"id": "d"}}),
    "metaclass": lambda: hostile_class()(),
    "twins": lambda: {Twin(name): "x" for name in ("id", "content", "source", "results", "sources", "key")},
    "quitters": lambda: {Quitter(name): "x" for name in ("id", "content", "source", "results", "sources", "key")},
    "model": hostile_result,
    "unchecked model": lambda: RetrievalResult.model_construct(**UNCHECKED),
    "empty model": lambda: RetrievalResult.__new__(RetrievalResult),
    "generator": endless,
    "knot": self_referencing,
    "deep": deep,
    "digits": lambda: 10**5000,
    "decimal": lambda: Decimal("0.5"),
    "time": lambda: datetime(2026, 1, 1),
    "bytes": lambda: b"\xff",
    "lookalike": Lookalike,
    "proxy": lambda: MappingProxyType({"results": [{"id": "a", "content": "text"}]}),
    "nan": lambda: float("nan"),
}


@dataclass(frozen=True)
class Caged:
    """Stands for an animal of the zoo while Hypothesis, which asks its values questions, has it in its hands."""

    name: str


def released(value: object) -> object:
    if is_a(value, DICT):
        return {key: released(item) for key, item in value.items()}
    if is_a(value, LIST):
        return [released(item) for item in value]
    if is_a(value, TUPLE):
        return tuple(released(item) for item in value)
    return ZOO[value.name]() if isinstance(value, Caged) else value


texts = st.text(st.one_of(st.sampled_from("ab \n\t\0\r\u202e\ufeff\u200d\ud800表👩"), st.characters()), max_size=20)
uris = st.sampled_from(
    ["https://example.com/a", "https://EXAMPLE.com/a#b", "http://10.0.0.1/", "https://example.org/?key=1"]
)
scalars = st.none() | st.booleans() | st.integers() | st.floats() | texts | uris | st.sampled_from(["1e3", "9" * 400])
names = st.sampled_from(
    [
        *("id", "chunkId", "chunk_id", "content", "text", "score", "source", "metadata", "provider", "documentId"),
        *("document_id", "title", "uri", "url", "mimeType", "mime_type", "locator", "results", "sources", "key"),
        *("status", "reason", "count"),
    ]
)
values = st.recursive(
    scalars | st.sampled_from(sorted(ZOO)).map(Caged),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(names | texts | st.integers(), inner, max_size=6)
        | st.lists(inner, max_size=3).map(tuple)
    ),
    max_leaves=10,
)
passages = st.fixed_dictionaries(
    {"id": st.sampled_from("abc") | scalars, "content": texts | values},
    optional={
        "score": scalars,
        "source": st.dictionaries(names, scalars, max_size=6) | values,
        "metadata": st.dictionaries(texts | st.integers(), scalars, max_size=20) | values,
        "url": uris,
        "provider": scalars,
    },
)
reports = st.lists(
    st.fixed_dictionaries({"key": texts, "status": texts, "reason": scalars, "count": scalars}), max_size=3
)
answers = st.lists(passages | values, max_size=6)
responses = (
    answers | answers.map(tuple) | st.fixed_dictionaries({"results": answers, "sources": reports | values}) | values
)


def normalized(response: object, **options: Any) -> dict[str, Any]:
    return normalize_response(response, query="q", **options).to_dict()


def strings(value: object) -> Iterator[str]:
    if is_a(value, DICT):
        yield from strings([*value, *value.values()])
    elif is_a(value, LIST):
        for part in value:
            yield from strings(part)
    elif isinstance(value, str):
        yield value


@quick
@given(responses, texts | values, st.integers(1, 8), st.integers(1, 30))
def test_every_outcome_is_bounded_plain_json(response: object, query: object, limit: int, size: int) -> None:
    """Clauses 8.8 and 5.7: whatever came, the outcome is JSON in UTF-8 and within the contract's limits."""
    outcome = normalize_response(released(response), query=released(query), limit=limit, max_content_chars=size)
    plain = outcome.to_dict()
    assert json.loads(json.dumps(plain, allow_nan=False, ensure_ascii=False).encode()) == plain
    assert len(plain["query"]) <= 500
    assert len(plain["results"]) <= limit
    assert (plain["status"] == "ok") is bool(plain["results"])
    for result in plain["results"]:
        assert 1 <= len(result["id"]) <= 160
        assert 1 <= len(result["content"]) <= size
        assert len(result.get("metadata", {})) <= 16
        assert OutcomeResult.model_validate(result).id == result["id"]
    for text in strings(plain):
        assert len(text) <= 2000
        assert not {char for char in text if unicodedata.category(char) == "Cc"} - {"\t", "\n"}


@quick
@given(responses, st.integers(1, 8), st.integers(1, 30))
def test_normalising_again_changes_nothing(response: object, limit: int, size: int) -> None:
    """Clause 8.8: results are a fixed point, as models, as plain data and as a whole outcome."""
    first = normalize_response(released(response), query="q", limit=limit, max_content_chars=size)
    for again in (first.results, first.to_dict()["results"], list(first.results), first, first.to_dict()):
        second = normalize_response(again, query=first.query, limit=limit, max_content_chars=size)
        assert second.results == first.results
        assert second.status == first.status
        assert [(c.id, c.url, c.title, c.snippet) for c in second.citations] == [
            (c.id, c.url, c.title, c.snippet) for c in first.citations
        ]
    assert normalize_response(first, query="q").sources == first.sources


@quick
@given(st.lists(st.tuples(st.sampled_from("abcdefgh"), st.booleans()), max_size=30), st.integers(1, 8))
def test_order_and_the_first_of_each_id_are_kept(pairs: list[tuple[str, bool]], limit: int) -> None:
    """N2 and N7: the results are the response's own order, without what is dropped."""
    response = [{"id": name, "content": f"{place}" if shown else " "} for place, (name, shown) in enumerate(pairs)]
    wanted: dict[str, str] = {}
    for item in response[: 8 * limit]:
        if item["content"] != " " and len(wanted) < limit:
            wanted.setdefault(item["id"], item["content"])
    results = normalized(response, limit=limit)["results"]
    assert [(result["id"], result["content"]) for result in results] == list(wanted.items())


@pytest.mark.parametrize("animal", ZOO)
@pytest.mark.parametrize("field", ["id", "content", "score", "source", "metadata", "provider", "uri", "sources"])
def test_no_value_of_a_field_spoils_its_neighbours(animal: str, field: str) -> None:
    """Clause 8.8: a passage beside a hostile value is there as it would have been."""
    spoilt = {"id": "z", "content": "spoilt", field: ZOO[animal](), "source": {field: ZOO[animal]()}}
    response = {"results": [spoilt, {"id": "y", "content": "text"}], "sources": [ZOO[animal](), {field: ZOO[animal]()}]}
    results = normalized(response)["results"]
    assert results[-1] == {"id": "y", "content": "text"}
    assert len(results) == 2 or field in ("id", "content")


@pytest.mark.parametrize(
    ("animal", "ids"),
    [
        *(("list", ["a"]), ("tuple", ["a"]), ("generator", []), ("proxy", []), ("lookalike", [])),
        *(("twins", []), ("quitters", [])),
        *(("knot", ["knot"]), ("dict", []), ("model", []), ("metaclass", []), ("deep", []), ("object", [])),
    ],
)
def test_what_has_candidates(animal: str, ids: list[str]) -> None:
    """N1: by type alone, read through the base type; nothing is iterated, asked or called."""
    assert [result["id"] for result in normalized(ZOO[animal]())["results"]] == ids


@pytest.mark.parametrize(
    ("animal", "ids"),
    [
        *(("dict", ["a"]), ("model", ["a"]), ("unchecked model", ["5:1"]), ("empty model", []), ("lookalike", [])),
        *(
            ("proxy", []),
            ("list", []),
            ("twins", []),
            ("quitters", []),
            ("object", []),
            ("metaclass", []),
            ("knot", ["knot"]),
        ),
    ],
)
def test_what_is_a_candidate(animal: str, ids: list[str]) -> None:
    """N3: a dict or the contract's model, whatever their subclasses do; also a model that was never validated."""
    assert [result["id"] for result in normalized([ZOO[animal]()])["results"]] == ids


@pytest.mark.parametrize("animal", sorted(set(ZOO) - {"list", "tuple", "str", "generator", "deep", "bytes", "digits"}))
def test_a_hostile_parameter_is_named_too(animal: str) -> None:
    """The message about a wrong parameter asks it nothing."""
    for name in ("limit", "max_content_chars", "citations"):
        with pytest.raises(TypeError, match=f"{name} must be"):
            normalized([], **{name: ZOO[animal]()})
