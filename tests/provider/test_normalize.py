"""Rules N1 to N13: the published vectors, the limits, and faults that people have met with real providers."""

import copy
import json
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest

from knowledge_conformance.corpora import vectors
from knowledge_provider.models import Health, RetrievalResult, Source
from knowledge_provider.normalize import normalize_response
from knowledge_provider.outcome import SourceReport

VECTORS = vectors()


@dataclass
class Lookalike:
    id: str
    content: str
    score: float
    metadata: dict[str, Any]


class Word(str):
    __slots__ = ()


class Unsettled:
    def __iter__(self) -> NoReturn:
        raise LookupError


class Level(IntEnum):
    HIGH = 3


def normalized(response: object, **options: Any) -> dict[str, Any]:
    return normalize_response(response, query="q", **options).to_dict()


def one(**fields: Any) -> dict[str, Any]:
    """The one result of an answer with one passage that has these fields too."""
    (result,) = normalized([{"id": "a", "content": "text", **fields}])["results"]
    return dict(result)


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: str(vector["n"]))
def test_vectors(vector: dict[str, Any]) -> None:
    """Clause 8.8: each published input gives the published outcome, and is itself left as it was."""
    before = copy.deepcopy(vector["response"])
    outcome = normalize_response(vector["response"], query=vector["query"], limit=vector["limit"]).to_dict()
    del outcome["notice"]
    assert outcome == vector["expected"]
    assert vector["response"] == before


def test_there_are_487_vectors() -> None:
    """A file cut short would pass by having less to say."""
    assert len(VECTORS) == 487


@pytest.mark.parametrize(
    ("field", "aliases"),
    [
        ("id", ["id", "chunkId", "chunk_id"]),
        ("content", ["content", "text"]),
        ("source.id", ["source.id", "documentId", "document_id"]),
        ("source.title", ["source.title", "title"]),
        ("source.uri", ["source.uri", "source.url", "url"]),
        ("source.mime_type", ["source.mimeType", "source.mime_type", "mimeType"]),
    ],
)
def test_the_first_alias_that_is_present_counts(field: str, aliases: list[str]) -> None:
    """N4: in the rule's order, whatever the order of the keys; what is null counts as absent."""
    for first in range(len(aliases)):
        values = {
            alias: f"https://example.com/{place}" if place >= first else None for place, alias in enumerate(aliases)
        }
        flat = {"id": "a", "content": "text", **dict(reversed(values.items()))}
        item = {name: value for name, value in flat.items() if "." not in name}
        source = {name.partition(".")[2]: value for name, value in flat.items() if "." in name}
        (result,) = normalized([{**item, "source": source}])["results"]
        found = result["source"] if field.startswith("source.") else result
        assert found[field.rpartition(".")[2]] == f"https://example.com/{first}"


def test_only_eight_times_the_limit_is_looked_at() -> None:
    """N2: a million candidates cost what forty cost, and the forty-first is not seen."""
    blank, seen = {"id": "blank", "content": " "}, {"id": "seen", "content": "text"}
    rest = [blank] * 1_000_000
    assert [result["id"] for result in normalized([*[blank] * 39, seen, *rest])["results"]] == ["seen"]
    assert normalized([*[blank] * 40, seen, *rest])["status"] == "not_found"


def test_ten_megabytes_in_every_field() -> None:
    """Clause 8.8: each text is cut to its own limit."""
    big = "x" * 10_000_000
    result = one(id=big, content=big, source={"id": big, "title": big, "uri": big, "locator": big}, metadata={big: big})
    assert [len(result[name]) for name in ("id", "content")] == [160, 4000]
    assert {name: len(text) for name, text in result["source"].items()} == {"id": 120, "title": 300, "locator": 300}
    assert [(len(key), len(text)) for key, text in result["metadata"].items()] == [(80, 500)]


@pytest.mark.parametrize(
    ("score", "kept"),
    [
        *((1, 1.0), (-0.5, -0.5), ("0.9", 0.9), ("-1e-3", -0.001), (True, None), ("Infinity", None), ("NaN", None)),
        *(("1e999", None), (" 1", None), ("1_0", None), ("\u0661", None), ("1\n", None), ("", None), (10**400, None)),
    ],
)
def test_scores(score: object, kept: float | None) -> None:
    """N8: a finite number, or a string that is a JSON number of one."""
    found = normalize_response([{"id": "a", "content": "text", "score": score}], query="q").results[0].score
    assert (found, type(found)) == (kept, type(kept))


def test_a_string_with_its_own_float_is_read_as_text() -> None:
    """N8 and N1: `float()` would have asked the subclass."""

    class Sly(str):
        __slots__ = ()

        def __float__(self) -> float:
            return 9.0

    assert one(score=Sly("0.5"))["score"] == 0.5


def test_subclasses_in_metadata_become_plain() -> None:
    """N11 and N1: keys and values of a subclass are kept as the base type's."""
    kept = one(metadata={Word("k"): Word(" v "), "level": Level.HIGH})["metadata"]
    assert [(type(key), key, type(value), value) for key, value in kept.items()] == [
        (str, "k", str, "v"),
        (str, "level", int, 3),
    ]


def test_a_real_interrupt_goes_through() -> None:
    """Ctrl-C is the user's, also in the one moment in which foreign code may run."""

    class Interrupting(str):
        __slots__ = ()
        __hash__ = str.__hash__

        def __eq__(self, other: object) -> bool:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        normalized([{Interrupting("id"): "a"}])


def test_reports_of_a_composite() -> None:
    """N13 and clause 5.11: up to 64, strings by N5, and what has no key or no status is no report."""
    report = {"key": " docs\0", "status": "failed", "reason": "timeout", "count": 0}
    odd = [{"key": "k"}, {"status": "hit"}, None, {"key": "w", "status": "hit", "reason": "", "count": -1}]
    found = normalized({"results": [], "sources": [report, *odd, *[report] * 100]})["sources"]
    assert found[:2] == [
        {"key": "docs", "status": "failed", "reason": "timeout", "count": 0},
        {"key": "w", "status": "hit"},
    ]
    assert len(found) == 61
    assert normalized({"sources": [SourceReport(key="k", status="hit")]})["sources"] == [{"key": "k", "status": "hit"}]
    assert "sources" not in normalized({"results": [], "sources": []})
    assert "sources" not in normalized([report])


def test_allowed_hosts_and_content_size_are_the_callers() -> None:
    """N10 and N6: a host owner may add a host back, alone or among others, and choose the size of content."""
    answer = [{"id": "a", "content": "text", "source": {"uri": "http://wiki.corp/a"}}]
    choices: list[Any] = [("wiki.corp",), "wiki.corp", (host for host in ["x.corp", "wiki.corp"])]
    for hosts in choices:
        assert normalized([*answer, {**answer[0], "id": "b"}], allow_hosts=hosts)["results"][1]["url"]
    assert "url" not in one(source={"uri": "http://wiki.corp/a"})
    assert normalized(answer, max_content_chars=2)["results"][0]["content"] == "te"


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"limit": "x"}, TypeError, "limit must be an int, .* got str"),
        ({"limit": True}, TypeError, "limit must be an int, .* got bool"),
        ({"limit": 0}, ValueError, "limit must be 1 or more, .* got 0 or less"),
        ({"max_content_chars": 1.5}, TypeError, "max_content_chars must be an int, .* got float"),
        ({"max_content_chars": -1}, ValueError, "max_content_chars must be 1 or more, .* got 0 or less"),
        ({"allow_hosts": 5}, TypeError, "allow_hosts must be an iterable of host names, .* got int"),
        ({"allow_hosts": None}, TypeError, "allow_hosts must be an iterable of host names, .* got NoneType"),
        ({"allow_hosts": Unsettled()}, TypeError, "got Unsettled, which raised LookupError"),
        ({"citations": {}}, TypeError, "citations must be a CitationLedger, .* got dict"),
    ],
)
def test_a_wrong_parameter_is_named(options: dict[str, Any], error: type[Exception], message: str) -> None:
    """A mistake of the caller's is said at once, whatever the response is; foreign data never raises."""
    with pytest.raises(error, match=message):
        normalized([], **options)


def test_a_nul_becomes_a_space_in_every_field() -> None:
    """Field case 43: a database refuses a NUL, and words must not be glued where one was."""
    source = {"id": "a\0b", "title": "a\0b", "locator": "a\0b", "mimeType": "a\0b"}
    result = one(id="a\0b", content="page 1\0page 2", source=source, metadata={"n\0": "v\0w"})
    assert result == {
        "id": "a b",
        "content": "page 1 page 2",
        "source": {"id": "a b", "title": "a b", "locator": "a b", "mime_type": "a b"},
        "metadata": {"n": "v w"},
    }
    assert normalized([{"id": "a", "content": "\0\0"}])["results"] == []


def test_nested_metadata_is_made_flat_and_bounded() -> None:
    """Field case 49: consumers expect flat primitives; the rest goes, order and input stay, and a bool is a bool."""
    metadata: dict[str, Any] = {
        "links": [{"text": "Git", "url": "#git"}],
        "a": {"b": {"c": 1}},
        "none": None,
        "ok": True,
        "n": 1,
        "s": "v",
        "__proto__": "x",
        "": "empty key",
        "k" * 300: "long key",
        "v": "x" * 100_000,
    }
    before = copy.deepcopy(metadata)
    kept = one(metadata=metadata)["metadata"]
    assert list(kept.items()) == [
        *(("ok", True), ("n", 1), ("s", "v"), ("__proto__", "x"), ("k" * 80, "long key"), ("v", "x" * 500)),
    ]
    assert kept["ok"] is True
    assert metadata == before
    assert len(one(metadata={f"key {place}": place for place in range(10_000)})["metadata"]) == 16
    loop: dict[str, Any] = {"n": 1}
    loop["self"] = loop
    assert one(metadata=loop)["metadata"] == {"n": 1}


def test_equal_text_is_not_a_duplicate_and_the_first_of_an_id_stays() -> None:
    """Field case 51: two documents with the same text both live; a later copy of an id overwrites nothing.

    This is one provider's answer. Keeping the ids of several apart is a later part, a composite.
    """
    first = {"id": "1", "content": "Same", "score": 0.95, "source": {"title": "A"}}
    second = {"id": "2", "content": "Same", "score": 0.2, "source": {"title": "B"}}
    assert normalized([first, second, {"id": " 1", "content": "Other", "score": 0.99}])["results"] == [first, second]


def mapping(items: list[object]) -> dict[str, object]:
    return {"results": items}


@pytest.mark.parametrize("wrap", [list[object], tuple[object, ...], mapping])
def test_models_and_dicts_become_the_same_and_lookalikes_nothing(wrap: Callable[[list[object]], object]) -> None:
    """Field case 53: one way in, the contract's model or a dict; any other object is dropped and none leaks."""
    fields: dict[str, Any] = {"id": "a", "content": "text", "score": 0.5, "metadata": {"k": 1}}
    model = RetrievalResult(**fields, source=Source(id="d", mime_type="text/plain"))
    plain = {**fields, "source": {"id": "d", "mime_type": "text/plain"}}
    strangers = [Lookalike(**fields), SimpleNamespace(**fields), Health(status="ready"), [fields], "text"]
    assert normalized(wrap([*strangers, model])) == normalized(wrap([*strangers, plain]))
    assert normalized(wrap([*strangers, model]))["results"] == [plain]


@pytest.mark.parametrize(
    "uri",
    [
        "https://b.s3.example.com/x.pdf?X-Amz-Credential=A&X-Amz-Signature=SECRET",
        "https://a.blob.example.com/x?sv=2022&sp=rl&sig=SECRET%3D",
        "https://oauth2:SECRET@git.example.com/o/r",
        "https://SECRET@git.example.com/o/r.git",
    ],
)
def test_a_link_that_grants_access_goes_and_its_passage_stays(uri: str) -> None:
    """Field cases 65 and 67: the token is nowhere in the outcome, its citations included."""
    outcome = normalized([{"id": "a", "content": "text", "source": {"title": "T", "uri": uri}, "url": uri}])
    assert outcome["results"] == [{"id": "a", "content": "text", "source": {"title": "T"}}]
    assert outcome["citations"] == []
    assert "SECRET" not in json.dumps(outcome)
