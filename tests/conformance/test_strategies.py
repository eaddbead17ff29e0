"""What each strategy promises: what it draws, what it finds, and how small its counter-examples are."""

import math
import re
import unicodedata
from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from random import Random
from types import GeneratorType
from typing import Any

import pytest
from hypothesis import Phase, find, given, seed, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from pydantic import ValidationError

from knowledge_conformance.strategies import UriKind, hostile_text, requests, responses, results, uris
from knowledge_provider import RetrievalRequest, RetrievalResult, limits
from knowledge_provider.normalize import normalize_response
from knowledge_provider.text import content_text, finite_number, has_surrogate, is_blank, short_text
from knowledge_provider.uris import UriFault, public_uri, uri_fault

DOCS = Path(__file__).parents[2] / "docs" / "strategies.md"
quick = settings(max_examples=150, deadline=None, database=None)


def unseen(strategy: SearchStrategy[Any], kinds: Mapping[str, Callable[[Any], object]], rounds: int) -> set[str]:
    """Which kinds of value do not turn up within so many rounds of 200 examples."""
    missing = {*kinds}

    @settings(max_examples=200, deadline=None, database=None, phases=[Phase.generate])
    @given(strategy)
    def look(value: Any) -> None:
        missing.difference_update([name for name in missing if kinds[name](value)])

    for number in range(rounds):
        if missing:
            seed(number)(look)()
    return missing


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
    **{name: has_script(name) for name in ("LATIN", "CJK")},
    "another script": lambda text: any(has_script(name)(text) for name in ("HANGUL", "THAI", "GREEK", "DEVANAGARI")),
    "right to left": lambda text: any(unicodedata.bidirectional(character) in ("R", "AL") for character in text),
    "emoji": holds("🙂", "\u200d👧", "🏳", "🇺🇳"),
    "combining marks": has_category("Mn"),
    "beyond the BMP": lambda text: max(text, default="") > "\uffff",
    "double quote": holds('"'),
    "single quote": holds("'"),
    "backslash": holds("\\"),
    "query language": holds("AND", "NOT a", "(a OR", "NEAR(", "*:*", "[1 TO"),
    "SQL": holds("DROP TABLE", "' OR '1'", "SELECT"),
    "JSON": holds('{"$ne": null}', '{"match_all"'),
    "template": holds("{{7", "${env", "{% if", "<%="),
    "markup": holds("<script>", "</context>", "<|im_end|>"),
    "case that changes length": holds("ß", "İ", "ﬁ"),
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
        **{name: partial(_asks, kind) for name, kind in TEXTS.items()},
        "one character": lambda request: len(request.query) == 1,
        "as long as may be": lambda request: len(request.query) == 500,
        "one result": lambda request: request.top_k == 1,
        "eight results": lambda request: request.top_k == 8,
    }
    assert not unseen(requests(), kinds, 4)


def _asks(kind: Callable[[str], object], request: RetrievalRequest) -> object:
    return kind(request.query)


@quick
@given(requests(knowledge_base_ids=st.lists(st.sampled_from(["a", "b"]), unique=True), filters=st.just({"team": "x"})))
def test_base_ids_and_filters_are_the_callers(request: RetrievalRequest) -> None:
    """Only the user knows which bases and filters a provider has."""
    assert set(request.knowledge_base_ids) <= {"a", "b"}
    assert request.filters == {"team": "x"}


def test_base_ids_that_are_not_valid_are_refused_when_drawn() -> None:
    """A strategy that cannot make a valid request says so instead of drawing something else."""

    @settings(max_examples=1, database=None, phases=[Phase.generate])
    @given(requests(knowledge_base_ids=st.just([" "])))
    def draw(_: RetrievalRequest) -> None:
        """Not reached."""

    with pytest.raises(ValidationError):
        draw()


def test_a_failing_request_shrinks_to_the_character_that_matters() -> None:
    """The counter-example of a planted bug is the one that a person would write."""
    for character in '"知':
        request = smallest(requests(), partial(_asks, holds(character)))
        assert (request.query, request.top_k) == (character, 1)
    assert smallest(requests(), lambda request: len(request.query) > 300).query == "0" * 301
    assert smallest(requests(), lambda request: "DROP TABLE" in request.query).query == "DROP TABLE"


def test_hostile_text_is_everything_that_breaks_text_handling() -> None:
    """What normalising must survive turns up within a few hundred examples."""
    kinds = {
        **TEXTS,
        "lone surrogate": has_surrogate,
        "bidirectional control": holds("\u202e", "\u2066"),
        "tag character": holds("\U000e0041", "\U000e007f"),
        "control": has_category("Cc"),
        "joiner": holds("\u200d", "\u200c"),
        "white space of every kind": holds("\u00a0", "\u3000", "\u2028"),
        "empty": lambda text: not text,
        "blank and not empty": lambda text: text and is_blank(text),
    }
    assert not unseen(hostile_text(), kinds, 4)
    assert len(smallest(hostile_text(), has_surrogate)) == 1


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


def _has_fault(fault: UriFault, uri: str) -> bool:
    return uri_fault(uri) is fault


def test_uris_meet_every_rule_of_the_policy() -> None:
    """Each reason to drop one turns up, and so does one that is kept."""
    faults = {str(fault): partial(_has_fault, fault) for fault in UriFault if fault is not UriFault.NOT_A_STRING}
    assert not unseen(uris("private", "credential"), faults, 6)
    assert not unseen(uris(), {"kept": public_uri}, 1)


def is_plain(value: object) -> bool:
    """Clause 5.7, for values of this file: JSON types by exact type, all the way down; no vector of numbers."""
    if type(value) is dict:
        return all(type(key) is str and is_plain(entry) for key, entry in value.items())
    if type(value) is list:
        return not value or not all(type(entry) is float for entry in value)
    return type(value) in (str, int, bool, type(None)) or (type(value) is float and math.isfinite(value))


def is_number(value: object) -> bool:
    return type(value) in (int, float) and finite_number(value) is not None


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


def field(path: str) -> Callable[[Any], Any]:
    def read(result: Any) -> Any:
        for name in path.split("."):
            result = result.get(name) if type(result) is dict else None
        return result

    return read


def where(read: Callable[[Any], Any], holds: Callable[[Any], object]) -> Callable[[Any], object]:
    return lambda result: type(result) is dict and holds(read(result))


def is_subclass_of(base: type) -> Callable[[Any], bool]:
    return lambda value: type(value) is not base and base in type(value).__mro__


TEXT_PLACES = {
    "id": 160,
    "content": 4000,
    "source.id": 120,
    "source.title": 300,
    "source.mimeType": 120,
    "source.locator": 300,
}


def some_text(is_broken: Callable[[Any, int], object]) -> Callable[[Any], object]:
    return lambda result: any(is_broken(field(place)(result), size) for place, size in TEXT_PLACES.items())


def _is_no_text(size: int, value: Any) -> bool:
    return value is not None and not is_text(value, size)


def some_string(is_broken: Callable[[str, int], object]) -> Callable[[Any], object]:
    return some_text(lambda value, size: type(value) is str and is_broken(value, size))


def some_entry(is_broken: Callable[[Any, Any], object]) -> Callable[[Any], object]:
    return where(
        field("metadata"), lambda value: type(value) is dict and any(is_broken(*entry) for entry in value.items())
    )


def score(is_broken: Callable[[Any], object]) -> Callable[[Any], object]:
    return where(field("score"), is_broken)


def fault_of_uri(fault: UriFault) -> Callable[[Any], object]:
    return where(field("source.uri"), lambda uri: type(uri) is str and uri_fault(uri) is fault)


BROKEN_RESULTS: dict[str, Callable[[Any], object]] = {
    **{f"{place} is broken": where(field(place), partial(_is_no_text, size)) for place, size in TEXT_PLACES.items()},
    "a text is a number": some_text(lambda value, _: type(value) in (int, float)),
    "a text is of another type": some_text(lambda value, _: type(value) in (list, dict, bytes)),
    "a text is a subclass": some_text(lambda value, _: is_subclass_of(str)(value)),
    "a text has a surrogate": some_string(lambda value, _: has_surrogate(value)),
    "a text has a control": some_string(lambda value, _: holds("\x00", "\x1b")(value)),
    "a text is too long": some_string(lambda value, size: len(value) > size),
    "id is null": lambda result: type(result) is dict and result.get("id", 0) is None,
    "content is null": lambda result: type(result) is dict and result.get("content", 0) is None,
    "id is empty": where(field("id"), lambda value: type(value) is str and value == ""),
    "id is invisible": where(field("id"), lambda value: type(value) is str and value.strip() and is_blank(value)),
    "score is NaN": score(lambda value: type(value) is float and math.isnan(value)),
    "score is infinite": score(lambda value: type(value) is float and math.isinf(value)),
    "score is a bool": score(lambda value: type(value) is bool),
    "score is text": score(lambda value: type(value) is str),
    "score is more than a float holds": score(lambda value: type(value) is int and value > 10**309),
    "score is a subclass": score(is_subclass_of(float)),
    "source is text": where(field("source"), lambda value: type(value) is str),
    "source is a subclass": where(field("source"), is_subclass_of(dict)),
    "uri is private": fault_of_uri(UriFault.SPECIAL_USE_DOMAIN),
    "uri has a credential": fault_of_uri(UriFault.USERINFO),
    "metadata is no mapping": where(field("metadata"), lambda value: type(value) not in (dict, type(None))),
    "metadata is too much": where(field("metadata"), lambda value: type(value) is dict and len(value) > 16),
    "metadata has a long key": some_entry(lambda key, _: type(key) is str and len(key) > 80),
    "metadata has a long text": some_entry(lambda _, value: type(value) is str and len(value) > 500),
    "metadata has a number as key": some_entry(lambda key, _: type(key) is int),
    "metadata has a blank key": some_entry(lambda key, _: type(key) is str and not key.strip()),
    "metadata has equal keys": some_entry(lambda key, _: type(key) is str and key in (" 0", "a  b")),
    "metadata is nested": some_entry(lambda _, value: type(value) in (dict, list)),
    "metadata has an object": some_entry(lambda _, value: "vendor" in repr(type(value)).lower()),
    "a field of any type": lambda result: type(result) is dict and "raw" in result and not is_plain(result["raw"]),
    "other names": lambda result: type(result) is dict and "chunkId" in result,
    "a subclass of dict": is_subclass_of(dict),
    "a subclass of the model": is_subclass_of(RetrievalResult),
    "an unchecked model": lambda result: type(result) is RetrievalResult,
    "JSON text": lambda result: type(result) is str,
    "null": lambda result: result is None,
    "a list": lambda result: type(result) is list,
}


def test_results_are_broken_in_every_way_of_section_5() -> None:
    """Each way turns up within 4,000 examples, told by the value and not by the strategy's own word."""
    assert not unseen(results(valid=False), BROKEN_RESULTS, 20)


def listed(response: Any) -> list[Any]:
    found: Any = response.get("results") if type(response) is dict else response
    return list(found) if type(found) in (list, tuple) else []


def ids(response: Any) -> list[Any]:
    return [item["id"] for item in listed(response) if type(item) is dict and type(item.get("id")) is str]


def scores(response: Any) -> list[float]:
    items = listed(response)
    drawn: list[Any] = [item.get("score") if type(item) is dict else getattr(item, "score", None) for item in items]
    return [score for score in drawn if is_number(score)]


def all_conform(response: Any) -> bool:
    return bool(listed(response)) and all(map(conforms, listed(response)))


def normal_ids(response: Any) -> list[str]:
    return [short_text(each, 160) for each in ids(response)]


def is_a(kind: type) -> Callable[[Any], bool]:
    return lambda value: type(value) is kind


RESPONSES: dict[str, Callable[[Any], object]] = {
    "a list that conforms": lambda response: type(response) is list and all_conform(response),
    "a tuple that conforms": lambda response: type(response) is tuple and all_conform(response),
    "a mapping that conforms": lambda response: type(response) is dict and all_conform(response),
    "models": lambda response: any(type(item) is RetrievalResult for item in listed(response)),
    "nothing found": lambda response: type(response) is list and not response,
    "many": lambda response: len(listed(response)) >= 5 and all_conform(response),
    "one broken among others": lambda response: (
        [*map(conforms, listed(response))].count(False) == 1 < len(listed(response))
    ),
    "an id twice": lambda response: len({*ids(response)}) < len(ids(response)),
    "an id twice, once normalised": lambda response: len({*normal_ids(response)}) < len({*ids(response)}),
    "scores that rise": lambda response: scores(response) != sorted(scores(response), reverse=True),
    "more than top_k": lambda response: len(ids(response)) > 8,
    "more than anyone looks at": lambda response: len(listed(response)) > 64,
    "null": lambda response: response is None,
    "a bare result": conforms,
    "no results": lambda response: type(response) is dict and "results" not in response,
    "no list under results": lambda response: (
        type(response) is dict and type(response.get("results", [])) in (dict, type(None))
    ),
    "itself": lambda response: any(item is field("results")(response) for item in listed(response)),
    "an iterator": lambda response: type(response) in (GeneratorType, type(iter([]))),
    "another container": lambda response: type(response) in (deque, set),
    "a subclass of a container": lambda response: any(is_subclass_of(base)(response) for base in (list, tuple, dict)),
    "text or bytes": lambda response: type(response) in (str, bytes),
    "an error": lambda response: isinstance(response, Exception) or (type(response) is dict and "error" in response),
    "reports": lambda response: type(field("sources")(response)) is list,
}


def test_responses_are_conforming_nearly_conforming_and_broken_in_every_way() -> None:
    """Each way of clause 5.1 to 5.11 in which a response as a whole may be broken turns up within 4,000 examples."""
    assert not unseen(responses(), RESPONSES, 20)


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

    def has_newline(result: Any) -> bool:
        return type(result) is dict and "\n" in result["content"]

    assert repr(smallest(responses(), has_nan)) == "[{'id': '0', 'content': '0', 'score': nan}]"
    assert smallest(results(), has_newline) == {"id": "0", "content": "0\n0"}


@quick
@given(responses())
def test_what_a_host_does_to_one_response_does_not_spoil_the_next(response: Any) -> None:
    """Containers are made anew: the mark that is left here is never seen again."""
    for value in (response, *listed(response)):
        if type(value) is dict:
            assert "spoilt" not in value
            value["spoilt"] = True
        elif type(value) is list:
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
