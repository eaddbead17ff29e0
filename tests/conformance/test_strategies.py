"""What each strategy promises: what it draws, what it finds, and how small its counter-examples are."""

import math
import re
import unicodedata
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from types import GeneratorType
from typing import Any

import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from pydantic import ValidationError

from knowledge_conformance.strategies import UriKind, hostile_text, requests, responses, results, uris
from knowledge_provider import RetrievalRequest, RetrievalResult, limits
from knowledge_provider.normalize import normalize_response
from knowledge_provider.text import content_text, has_surrogate, is_blank, short_text
from knowledge_provider.uris import UriFault, public_uri, uri_fault

DOCS = Path(__file__).parents[2] / "docs" / "strategies.md"
quick = settings(max_examples=150, deadline=None, database=None)


def seen(strategy: SearchStrategy[Any], kinds: Mapping[str, Callable[[Any], object]], examples: int) -> set[str]:
    """Which kinds of value turn up within so many examples."""
    found: set[str] = set()

    @settings(max_examples=examples, deadline=None, database=None, phases=[Phase.generate], derandomize=True)
    @given(strategy)
    def look(value: Any) -> None:
        found.update(name for name, is_kind in kinds.items() if is_kind(value))

    look()
    return found


def smallest(strategy: SearchStrategy[Any], fails: Callable[[Any], object]) -> Any:
    """The counter-example that a user is shown."""
    return find(
        strategy,
        lambda value: bool(fails(value)),
        settings=settings(max_examples=2000, database=None),
        random=Random(0),
    )


def has_category(*categories: str) -> Callable[[str], bool]:
    return lambda text: any(unicodedata.category(character) in categories for character in text)


def has_script(name: str) -> Callable[[str], bool]:
    return lambda text: any(unicodedata.name(character, "").startswith(name) for character in text)


def holds(*parts: str) -> Callable[[str], bool]:
    return lambda text: any(part in text for part in parts)


TEXTS: dict[str, Callable[[str], object]] = {
    **{
        name: has_script(name) for name in ("CJK", "HANGUL", "THAI", "GREEK", "DEVANAGARI", "HEBREW", "ARABIC", "LATIN")
    },
    "emoji": has_script("REGIONAL INDICATOR"),
    "combining marks": has_category("Mn"),
    "beyond the BMP": lambda text: max(text, default="") > "\uffff",
    "double quote": holds('"'),
    "single quote": holds("'"),
    "backslash": holds("\\"),
    "query language": holds("AND", "NEAR(", "*:*"),
    "SQL": holds("DROP TABLE"),
    "JSON": holds('{"$ne": null}'),
    "template": holds("{{", "${"),
    "markup": holds("<script>", "</context>"),
    "case that changes length": holds("ß", "İ"),
}


@quick
@given(requests())
def test_every_request_is_valid(request: RetrievalRequest) -> None:
    """No request needs a provider's leniency: it validates again and is its own normal form."""
    assert RetrievalRequest.model_validate(request.model_dump()) == request
    assert request.query == short_text(request.query, limits.QUERY_MAX)
    assert 1 <= len(request.query) <= 500
    assert 1 <= request.top_k <= 8
    assert (request.knowledge_base_ids, request.filters) == ((), {})


def test_requests_ask_in_every_way_that_contract_3_2_names() -> None:
    """Scripts, emoji, quotes, query languages, SQL, JSON, templates, each ``top_k`` and each length turn up soon."""
    kinds: dict[str, Callable[[RetrievalRequest], object]] = {
        **{name: lambda request, kind=kind: kind(request.query) for name, kind in TEXTS.items()},
        "one character": lambda request: len(request.query) == 1,
        "as long as may be": lambda request: len(request.query) == 500,
        **{f"top_k {n}": lambda request, n=n: request.top_k == n for n in range(1, 9)},
    }
    assert seen(requests(), kinds, 400) == {*kinds}


@quick
@given(requests(knowledge_base_ids=st.lists(st.sampled_from(["a", "b"]), unique=True), filters=st.just({"team": "x"})))
def test_base_ids_and_filters_are_the_callers(request: RetrievalRequest) -> None:
    """Only the user knows which bases and filters a provider has."""
    assert set(request.knowledge_base_ids) <= {"a", "b"}
    assert request.filters == {"team": "x"}


def test_base_ids_that_are_not_valid_are_refused_when_drawn() -> None:
    """A strategy that cannot make a valid request says so instead of drawing something else."""
    with pytest.raises(ValidationError):
        smallest(requests(knowledge_base_ids=st.just([" "])), lambda _: True)


def test_a_failing_request_shrinks_to_the_character_that_matters() -> None:
    """The counter-example of a planted bug is the one that a person would write."""
    for character in ('"', "'", "\\", "%", "(", "é", "知"):
        request = smallest(requests(), lambda request, character=character: character in request.query)
        assert (request.query, request.top_k) == (character, 1)
    assert smallest(requests(), lambda request: len(request.query) > 300).query == "0" * 301
    assert smallest(requests(), lambda request: request.top_k > 5).top_k == 6
    assert smallest(requests(), lambda request: "DROP TABLE" in request.query).query == "'; DROP TABLE documents; --"


def test_hostile_text_is_everything_that_breaks_text_handling() -> None:
    """What normalising must survive turns up within a few hundred examples."""
    kinds = {
        **TEXTS,
        "lone surrogate": has_surrogate,
        "bidirectional control": holds("\u202e", "\u2066"),
        "tag character": holds("\U000e0041"),
        "control": holds("\x00", "\x1b"),
        "joiner": holds("\u200d"),
        "white space of every kind": holds("\u00a0", "\u3000", "\u2028"),
        "empty": lambda text: not text,
        "blank and not empty": lambda text: text and is_blank(text),
    }
    assert seen(hostile_text(), kinds, 400) == {*kinds}
    assert smallest(hostile_text(), has_surrogate) in {"\ud800", "\udfff", "\udc41"}


@pytest.mark.parametrize("kind", ["public", "private", "credential"])
def test_each_kind_of_uri_is_what_its_name_says(kind: UriKind) -> None:
    """The policy keeps the public ones alone, and calls a credential a credential."""

    @quick
    @given(uris(kind))
    def judged(uri: str) -> None:
        fault = uri_fault(uri)
        assert (public_uri(uri) is not None) == (kind == "public")
        assert (fault is not None and fault.is_credential) == (kind == "credential")

    judged()


def test_uris_meet_every_rule_of_the_policy() -> None:
    """Each reason to drop one turns up, and so does one that is kept."""
    faults = {fault: lambda uri, fault=fault: uri_fault(uri) is fault for fault in UriFault}
    del faults[UriFault.NOT_A_STRING]
    assert seen(uris("private", "credential"), faults, 600) == {*faults}
    assert seen(uris(), {"kept": public_uri}, 50) == {"kept"}


def is_plain(value: object) -> bool:
    """Clause 5.7, for values of this file: JSON types by exact type, all the way down; no vector of numbers."""
    if type(value) is dict:
        return all(type(key) is str and is_plain(entry) for key, entry in value.items())
    if type(value) is list:
        return not value or not all(type(entry) is float for entry in value)
    return type(value) in (str, int, bool, type(None)) or (type(value) is float and math.isfinite(value))


def is_number(value: object) -> bool:
    return type(value) in (int, float) and abs(value) < math.inf and abs(value) <= 2**1023  # type: ignore[operator, arg-type]


def is_text(value: object, limit: int) -> bool:
    """Clauses 5.2, 5.5 and 5.8."""
    return (
        type(value) is str
        and len(value) <= limit
        and not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]", value)
    )


def is_source(source: dict[str, Any]) -> bool:
    """Clauses 5.5 and 6.2."""
    sizes = {"id": 120, "title": 300, "uri": 2000, "mimeType": 120, "mime_type": 120, "locator": 300}
    texts = {name: text for name, text in source.items() if text is not None}
    return all(is_text(text, sizes[name]) for name, text in texts.items()) and not uri_fault(
        texts.get("uri", "https://a.com")
    )


def is_metadata(metadata: dict[Any, Any]) -> bool:
    """Clause 5.6 and rule N11."""
    keys = {short_text(key, 80) for key in metadata if is_text(key, 80)}
    return (
        len(metadata) <= 16
        and len(keys - {""}) == len(metadata)
        and all(type(entry) is bool or is_number(entry) or is_text(entry, 500) for entry in metadata.values())
    )


def conforms(result: object) -> bool:
    """Sections 5 and 6 for one result, written down a second time, as plainly as can be."""
    if type(result) is RetrievalResult:
        if not isinstance(result.__dict__.get("metadata"), dict):
            return False
        result = result.model_dump(by_alias=True)
    if type(result) is not dict:
        return False
    named: dict[Any, Any] = {name: value for name, value in result.items() if value is not None}
    source, metadata = named.get("source", {}), named.get("metadata", {})
    return (
        is_text(named.get("id"), 160)
        and is_text(named.get("content"), 4000)
        and not is_blank(named["id"])
        and not is_blank(named["content"])
        and ("score" not in named or is_number(named["score"]))
        and (type(source) is dict and is_source(source))
        and (type(metadata) is dict and is_metadata(metadata))
        and is_plain(named)
    )


@quick
@given(results())
def test_a_valid_result_keeps_every_rule_and_loses_nothing(result: Any) -> None:
    """Clause 5.9: normalising changes neither a text nor an entry of it."""
    assert conforms(result)
    model = result if type(result) is RetrievalResult else RetrievalResult.model_validate(result)
    (normal,) = normalize_response([result], query="q").results
    assert (normal.id, normal.content, normal.score) == (model.id, model.content, model.score)
    assert normal.content == content_text(model.content, 4000)
    assert normal.metadata == model.metadata
    assert (normal.source is None) == (model.source is None or not model.source.model_dump(exclude_none=True))


@quick
@given(results(valid=False))
def test_an_invalid_result_breaks_a_rule(result: object) -> None:
    """Nothing that conforms is called broken."""
    assert not conforms(result)


def field(*path: str) -> Callable[[Any], Any]:
    def read(result: Any) -> Any:
        for name in path:
            result = result.get(name) if type(result) is dict else None
        return result

    return read


def where(read: Callable[[Any], Any], holds: Callable[[Any], object]) -> Callable[[Any], object]:
    return lambda result: type(result) is dict and holds(read(result))


def is_subclass_of(base: type) -> Callable[[Any], bool]:
    return lambda value: type(value) is not base and base in type(value).__mro__


def text_faults(*path: str, limit: int) -> dict[str, Callable[[Any], object]]:
    name, read = ".".join(path), field(*path)
    return {
        f"{name} is a number": where(read, lambda value: type(value) in (int, float)),
        f"{name} is a list": where(read, lambda value: type(value) is list),
        f"{name} is a subclass": where(read, is_subclass_of(str)),
        f"{name} has a surrogate": where(read, lambda value: type(value) is str and has_surrogate(value)),
        f"{name} has a control": where(read, lambda value: type(value) is str and holds("\x00", "\x1b")(value)),
        f"{name} is too long": where(read, lambda value: type(value) is str and len(value) > limit),
    }


METADATA = field("metadata")
BROKEN_RESULTS: dict[str, Callable[[Any], object]] = {
    **text_faults("id", limit=160),
    **text_faults("content", limit=4000),
    **text_faults("source", "id", limit=120),
    **text_faults("source", "title", limit=300),
    **text_faults("source", "mimeType", limit=120),
    **text_faults("source", "locator", limit=300),
    "id is null": where(lambda result: result.get("id", 0), lambda value: value is None),
    "content is null": where(lambda result: result.get("content", 0), lambda value: value is None),
    "id is empty": where(field("id"), lambda value: type(value) is str and value == ""),
    "id is invisible": where(field("id"), lambda value: type(value) is str and value.strip() and is_blank(value)),
    "score is NaN": where(field("score"), lambda value: type(value) is float and math.isnan(value)),
    "score is infinite": where(field("score"), lambda value: type(value) is float and math.isinf(value)),
    "score is a bool": where(field("score"), lambda value: type(value) is bool),
    "score is text": where(field("score"), lambda value: type(value) is str),
    "score is no float's": where(field("score"), lambda value: type(value) is int and value > 10**309),
    "score is a subclass": where(field("score"), is_subclass_of(float)),
    "source is text": where(field("source"), lambda value: type(value) is str),
    "source is a subclass": where(field("source"), is_subclass_of(dict)),
    "uri is private": where(field("source", "uri"), lambda uri: type(uri) is str and uri_fault(uri) is UriFault.PRIVATE_IPV4),
    "uri has a credential": where(field("source", "uri"), lambda uri: uri_fault(uri) is UriFault.USERINFO),
    "metadata is a list": where(METADATA, lambda value: type(value) is list),
    "metadata is too much": where(METADATA, lambda value: type(value) is dict and len(value) > 16),
    "metadata has a long key": where(METADATA, lambda value: type(value) is dict and any(type(k) is str and len(k) > 80 for k in value)),
    "metadata has a long text": where(METADATA, lambda value: type(value) is dict and any(type(v) is str and len(v) > 500 for v in value.values())),
    "metadata has a number as key": where(METADATA, lambda value: type(value) is dict and 1 in value),
    "metadata has a blank key": where(METADATA, lambda value: type(value) is dict and "" in value),
    "metadata has equal keys": where(METADATA, lambda value: type(value) is dict and {"0", " 0"} == {*value}),
    "metadata is nested": where(METADATA, lambda value: type(value) is dict and any(type(v) is dict for v in value.values())),
    "a field of any type": lambda result: type(result) is dict and "raw" in result and not is_plain(result["raw"]),
    "a vector": lambda result: type(result) is dict and type(result.get("raw")) is list,
    "other names": lambda result: type(result) is dict and "chunkId" in result,
    "a subclass of dict": is_subclass_of(dict),
    "a subclass of the model": is_subclass_of(RetrievalResult),
    "an unchecked model": lambda result: type(result) is RetrievalResult,
    "JSON text": lambda result: type(result) is str,
    "null": lambda result: result is None,
    "a list": lambda result: type(result) is list,
}  # fmt: skip


def test_results_are_broken_in_every_way_of_section_5() -> None:
    """Each way turns up within 1,500 examples, told by the value and not by the strategy's own word."""
    assert {*BROKEN_RESULTS} - seen(results(valid=False), BROKEN_RESULTS, 1500) == set()


def listed(response: Any) -> list[Any]:
    found = response.get("results") if type(response) is dict else response
    return list(found) if type(found) in (list, tuple) else []


def ids(response: Any) -> list[Any]:
    return [item["id"] for item in listed(response) if type(item) is dict and type(item.get("id")) is str]


def scores(response: Any) -> list[float]:
    items = listed(response)
    drawn = [item.get("score") if type(item) is dict else getattr(item, "score", None) for item in items]
    return [score for score in drawn if is_number(score)]


RESPONSES: dict[str, Callable[[Any], object]] = {
    "a list that conforms": lambda response: type(response) is list and response and all(map(conforms, response)),
    "a tuple that conforms": lambda response: type(response) is tuple and response and all(map(conforms, response)),
    "a mapping that conforms": lambda response: type(response) is dict and listed(response) and all(map(conforms, listed(response))),
    "models": lambda response: any(type(item) is RetrievalResult for item in listed(response)),
    "nothing found": lambda response: type(response) is list and not response,
    "eight": lambda response: len(listed(response)) == 8 and all(map(conforms, listed(response))),
    "one broken among others": lambda response: [*map(conforms, listed(response))].count(False) == 1 < len(listed(response)),
    "an id twice": lambda response: len({*ids(response)}) < len(ids(response)),
    "an id twice, once normalised": lambda response: len({*ids(response)}) > len({short_text(i, 160) for i in ids(response)} - {""}) > 0,
    "scores that rise": lambda response: scores(response) != sorted(scores(response), reverse=True),
    "more than top_k": lambda response: len(ids(response)) > 8,
    "more than anyone looks at": lambda response: len(listed(response)) > 64,
    "null": lambda response: response is None,
    "a bare result": conforms,
    "another name": lambda response: type(response) is dict and "documents" in response,
    "an empty mapping": lambda response: type(response) is dict and not response,
    "null for a list": lambda response: type(response) is dict and response.get("results", 0) is None,
    "a mapping for a list": lambda response: type(response) is dict and type(response.get("results")) is dict,
    "itself": lambda response: any(item is response or item is field("results")(response) for item in listed(response)),
    "a generator": lambda response: type(response) is GeneratorType,
    "a deque": lambda response: type(response) is deque,
    "a set": lambda response: type(response) is set,
    "a subclass of list": is_subclass_of(list),
    "a subclass of tuple": is_subclass_of(tuple),
    "a subclass of dict": is_subclass_of(dict),
    "text": lambda response: type(response) is str,
    "bytes": lambda response: type(response) is bytes,
    "an error as content": lambda response: type(response) is dict and "error" in response,
    "an exception": lambda response: isinstance(response, Exception),
    "reports": lambda response: type(response) is dict and type(response.get("sources")) is list,
}  # fmt: skip


def test_responses_are_conforming_nearly_conforming_and_broken_in_every_way() -> None:
    """Each way of clause 5.1 to 5.11 in which a response as a whole may be broken turns up within 1,200 examples."""
    assert {*RESPONSES} - seen(responses(), RESPONSES, 1200) == set()


@quick
@given(responses())
def test_a_host_that_keeps_the_contract_takes_any_response(response: object) -> None:
    """Nothing in here is beyond a host: rules N1 to N13 are total."""
    assert len(normalize_response(response, query="q", limit=8).results) <= 8


def test_a_failing_response_shrinks_to_the_field_that_matters() -> None:
    """The counter-example of a planted bug in a host holds that bug and nothing else."""

    def has_nan(response: Any) -> bool:
        return any(
            where(field("score"), lambda value: type(value) is float and math.isnan(value))(item)
            for item in listed(response)
        )

    def has_newline(response: Any) -> bool:
        return any("\n" in item["content"] for item in listed(response) if conforms(item) and type(item) is dict)

    assert repr(smallest(responses(), has_nan)) == "[{'id': '0', 'content': '0', 'score': nan}]"
    assert smallest(responses(), lambda response: response is None) is None
    assert smallest(responses(), lambda response: len(listed(response)) > 1) == [
        {"id": "0", "content": "0"},
        {"id": "1", "content": "0"},
    ]
    assert smallest(responses(), has_newline)[0]["content"].strip("\n") == ""


@quick
@given(responses())
def test_what_a_host_does_to_one_response_does_not_spoil_the_next(response: Any) -> None:
    """Containers are made anew: the mark that is left here is never seen again."""
    for value in (response, *listed(response)):
        if type(value) is dict:
            assert "spoilt" not in value
            value["spoilt"] = True
        elif type(value) is list:
            assert "spoilt" not in map(id, value)
            assert not any(entry is DOCS for entry in value)
            value.append(DOCS)


@pytest.mark.parametrize(
    "number", range(len(re.findall("^```python$", DOCS.read_text(encoding="utf-8"), re.MULTILINE)))
)
def test_each_example_of_the_page_runs_alone(number: int) -> None:
    """A reader may copy any of them into a file of their own."""
    block = re.findall(r"^```python\n(.*?)^```$", DOCS.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)[number]
    names: dict[str, Any] = {"__name__": f"example_{number}"}
    exec(compile(block, f"{DOCS.name}[{number}]", "exec"), names)
    examples = [value for name, value in names.items() if name.startswith("test_")]
    assert examples
    for example in examples:
        example()
