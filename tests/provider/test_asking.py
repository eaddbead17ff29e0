"""What a search asks for: one rule for each kind of value that a model or an agent sends."""

import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knowledge_provider import KnowledgeQueryRequiredError
from knowledge_provider.asking import (
    Bases,
    read_arguments,
    read_bases,
    read_disclosed,
    read_query,
    read_top_k,
    request_of,
    tool_definition,
)

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.tuples(inner) | st.dictionaries(st.text(), inner) | st.sets(st.text()),
    max_leaves=6,
)
each = settings(deadline=None, max_examples=150)


@pytest.mark.parametrize(
    ("asked", "read"),
    [("  release\n policy ", "release policy"), ("x" * 100_000, "x" * 500), (7, "7"), ("\u202eabc", "abc")],
)
def test_a_query_is_normalised(asked: object, read: str) -> None:
    """Clause 8.3, rule N5: one line of at most 500 code points."""
    assert read_query(asked) == read


@pytest.mark.parametrize("asked", ["", "   ", "\u200b\u200b\ufeff", None, True, [], {"query": "x"}, b"x", math.nan])
def test_a_query_without_anything_visible_is_required(asked: object) -> None:
    """Clause 8.3: the message says what was wanted, and holds nothing of what came."""
    with pytest.raises(KnowledgeQueryRequiredError, match=r"^Wanted a query with something visible"):
        read_query(asked)


class Eight(int):
    """An int whose own methods raise."""

    def __int__(self) -> int:
        raise SystemExit

    def __lt__(self, other: object) -> bool:
        raise SystemExit


@pytest.mark.parametrize(
    ("asked", "read"),
    [
        ("5", 5),
        (5.0, 5),
        (3.9, 3),
        (0.5, 1),
        (0, 1),
        (-1, 1),
        (9, 8),
        (Eight(8), 8),
        (10**400, 8),
        (-(10**400), 1),
        (" 7 ", 7),
        ("2.9", 2),
        ("1e400", 8),
        ("-1e400", 1),
        ("9" * 400, 8),
    ],
)
def test_a_number_is_cut_to_a_whole_one_and_clamped(asked: object, read: int) -> None:
    """Clause 8.3: ints, finite floats and strings that are JSON numbers, from 1 to 8."""
    assert read_top_k(asked) == read


@pytest.mark.parametrize(
    "asked",
    [
        *(True, False, None, [3], {"top_k": 3}, b"3", 3j, math.nan, math.inf, -math.inf),
        *("", "nan", "NaN", "Infinity", "five", "0x3", "03", "+3", "1_0", "3 4", "٣", "[3]", '"3"', "true"),
    ],
    ids=repr,
)
def test_what_is_no_number_is_five(asked: object) -> None:
    """Clause 8.3: True is not 1, and no text is guessed at."""
    assert read_top_k(asked) == 5


@each
@given(anything)
def test_any_value_gives_a_count_from_1_to_8(asked: object) -> None:
    """Clause 8.3: the provider always receives an exact int."""
    count = read_top_k(asked)
    assert type(count) is int
    assert 1 <= count <= 8


@pytest.mark.parametrize(
    ("asked", "ids"),
    [
        (["a", "b"], ("a", "b")),
        (("b", " a ", "b"), ("b", "a")),
        (["a"] * 20, ("a",)),
        ([f"base-{at}" for at in range(20)], tuple(f"base-{at}" for at in range(8))),
        (["a", "", " \u200b", None, {}, True, "b"], ("a", "b")),
        ([7, 1.5], ("7", "1.5")),
        (["x" * 120, "x" * 121], ("x" * 120,)),
        (["x" * 120 + "\u200d" * 5 + "y"], ()),
        (["x" * 119 + "  " * 9 + "y"], ()),
    ],
)
def test_base_ids_are_normalised_and_never_cut(asked: object, ids: tuple[str, ...]) -> None:
    """Clause 8.3: blank and over-long ones are dropped, equal ones are one, eight are kept; a cut id is another's."""
    assert read_bases(asked, None) == Bases(asked=True, ids=ids)


@pytest.mark.parametrize("asked", [None, [], (), "", {}])
def test_nothing_asks_for_no_base(asked: object) -> None:
    """No restriction was asked for."""
    assert read_bases(asked, ("a",)) == Bases(asked=False, ids=())


@pytest.mark.parametrize(
    "asked", ["None", '["a"]', "a", " ", 7, True, {"a": 1}, {"a"}, iter(["a"]), [None], [""], [[]]]
)
def test_what_asks_for_bases_and_names_none_never_widens(asked: object) -> None:
    """Clause 8.4: a JSON string is not a list, and an unreadable wish is not the wish for everything."""
    assert read_bases(asked, None).none_left


def test_only_disclosed_bases_are_kept() -> None:
    """Clause 8.4: in the order asked for; the eight are counted after the unknown ones are gone."""
    disclosed = tuple(f"base-{at}" for at in range(20))
    assert read_bases(["x", "base-3", "base-1"], disclosed).ids == ("base-3", "base-1")
    assert len(read_bases([*"xyz", *disclosed], disclosed).ids) == 8
    assert read_bases(["x"], disclosed).none_left
    assert read_bases(["x"], ()).none_left


@each
@given(anything, st.none() | st.just(("a", "0")))
def test_any_value_gives_at_most_eight_ids_that_a_request_takes(
    asked: object, disclosed: tuple[str, ...] | None
) -> None:
    """Clauses 3.1 and 8.3: whatever came, the model of the request accepts what is left."""
    bases = read_bases(asked, disclosed)
    assert request_of("q", 5, bases, None).knowledge_base_ids == bases.ids
    assert len(set(bases.ids)) == len(bases.ids) <= 8


@pytest.mark.parametrize(
    ("given_", "disclosed"), [(None, None), ((), ()), (iter(["b", " a ", "b"]), ("b", "a")), ({"only": 1}, ("only",))]
)
def test_a_host_discloses_ids_once_each(given_: Any, disclosed: tuple[str, ...] | None) -> None:
    """None is not an empty list: nothing disclosed is another promise than no base."""
    assert read_disclosed(given_) == disclosed


@pytest.mark.parametrize("wrong", ["abc", 7])
def test_disclosed_ids_are_several(wrong: Any) -> None:
    """A string is iterable, and its letters are not what was meant."""
    with pytest.raises(TypeError, match="knowledge_bases must be several ids"):
        read_disclosed(wrong)


@pytest.mark.parametrize("wrong", [["a", ""], ["x" * 121], [None]])
def test_a_disclosed_id_can_be_asked_for(wrong: Any) -> None:
    """One that no request could name is a mistake in the settings."""
    with pytest.raises(ValueError, match="knowledge_bases must be ids of 1 to 120"):
        read_disclosed(wrong)


def test_filters_are_handed_on_as_a_copy() -> None:
    """Clause 3.8: a provider that changes its request does not change what the caller holds."""
    filters = {"department": {"in": ["engineering"]}}
    request = request_of("q", 5, Bases(), filters)
    assert request.filters == filters
    assert isinstance(request.filters["department"], dict)
    request.filters["department"]["in"] = "all"
    assert filters == {"department": {"in": ["engineering"]}}


@pytest.mark.parametrize("wrong", ["{}", [], 1, [("a", 1)]])
def test_filters_are_an_object(wrong: object) -> None:
    """A JSON string is not parsed: that would be a second language for filters."""
    with pytest.raises(TypeError, match="filters must be a JSON object or None; got"):
        request_of("q", 5, Bases(), wrong)


@pytest.mark.parametrize(
    "wrong", [{"a": object()}, {"a": math.nan}, {"a": "\ud800"}, {1: "a"}, {"sk-secret": {"b": b""}}]
)
def test_filters_that_are_no_json_are_refused_in_our_own_words(wrong: object) -> None:
    """The message names no key of theirs."""
    with pytest.raises(ValueError, match=r"^filters must be a JSON object, since") as it:
        request_of("q", 5, Bases(), wrong)
    assert "sk-secret" not in str(it.value)


class Naming(dict[str, object]):
    def get(self, *_: object) -> Any:
        raise SystemExit


class Equal(str):
    """A name that claims to be every other."""

    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        raise SystemExit


def test_arguments_are_read_by_exact_names() -> None:
    """Clause 8.13: nothing of the arguments is called, compared or spelled otherwise."""
    asked: dict[Any, object] = Naming({"query": "policy", "topK": 3, Equal("top_k"): 4})
    asked[7] = "x"
    assert read_arguments(asked) == {"query": "policy", "topK": 3}


@pytest.mark.parametrize("wrong", [None, "query", '{"query": "policy"}', [("query", "policy")], 7])
def test_other_arguments_are_none(wrong: object) -> None:
    """Clause 8.13: what is no ``dict`` asks for nothing."""
    assert read_arguments(wrong) == {}


def test_the_tool_takes_a_query_and_a_count() -> None:
    """Clause 8.13: no filters and no identity, and without disclosed bases none of them either."""
    parameters = tool_definition(None)["parameters"]
    assert {name: it["type"] for name, it in parameters["properties"].items()} == {
        "query": "string",
        "top_k": "integer",
    }
    assert (parameters["required"], parameters["additionalProperties"]) == (["query"], False)
    assert tool_definition(()) == tool_definition(None)


def test_the_tool_offers_the_disclosed_bases() -> None:
    """Clause 8.13: from that list alone."""
    definition = tool_definition(("hr", "it"))
    offered = definition["parameters"]["properties"]["knowledge_base_ids"]
    assert definition["name"] == "knowledge"
    assert (offered["type"], offered["items"]) == ("array", {"type": "string", "enum": ["hr", "it"]})


def test_the_tool_is_plain_data_and_new_each_time() -> None:
    """An agent that changes what it got changes nothing else."""
    definition = tool_definition(("hr",))
    assert json.loads(json.dumps(definition)) == definition
    definition["parameters"]["properties"].clear()
    assert tool_definition(("hr",))["parameters"]["properties"]
