"""What each strategy promises: what it draws, what it finds, and how small its counter-examples are."""

import math
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest
from broken_kinds import BROKEN_RESULTS, RESPONSES, conforms, field, holds, listed, where
from hypothesis import Phase, find, given, seed, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from pydantic import ValidationError

from knowledge_conformance.strategies import UriKind, hostile_text, requests, responses, results, uris
from knowledge_provider import RetrievalRequest, RetrievalResult, limits
from knowledge_provider.normalize import normalize_response
from knowledge_provider.text import content_text, has_surrogate, is_blank, short_text
from knowledge_provider.uris import UriFault, public_uri, uri_fault

DOCS = Path(__file__).parents[2] / "docs" / "strategies.md"
quick = settings(max_examples=80, deadline=None, database=None)


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
        settings=settings(max_examples=2000, database=None, phases=[Phase.generate, Phase.shrink]),
        random=Random(0),
    )


def has_category(*categories: str) -> Callable[[str], bool]:
    return lambda text: any(unicodedata.category(character) in categories for character in text)


def has_script(name: str) -> Callable[[str], bool]:
    return lambda text: any(unicodedata.name(character, "").startswith(name) for character in text)


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


def test_results_are_broken_in_every_way_of_section_5() -> None:
    """Each way turns up within 4,000 examples, told by the value and not by the strategy's own word."""
    assert not unseen(results(valid=False), BROKEN_RESULTS, 20)


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


EXAMPLES = re.findall(r"^```python\n(.*?)^```$", DOCS.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
settings.register_profile("page", max_examples=25, deadline=None, database=None)


@pytest.fixture
def page_settings() -> Iterator[None]:
    """The page's examples leave the settings to the reader, whose machine is not as busy as this one may be."""
    before = settings.get_current_profile_name()
    settings.load_profile("page")
    yield
    settings.load_profile(before)


@pytest.mark.usefixtures("page_settings")
@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_each_example_of_the_page_runs_alone(number: int) -> None:
    """A reader may copy any of them into a file of their own."""
    names: dict[str, Any] = {"__name__": f"example_{number}"}
    exec(compile(EXAMPLES[number], f"{DOCS.name}[{number}]", "exec"), names)
    examples = [value for name, value in names.items() if name.startswith("test_")]
    assert examples
    for example in examples:
        example()


def test_the_page_has_examples() -> None:
    """A page whose fences are written otherwise would leave nothing to run."""
    assert len(EXAMPLES) >= 5
