"""The request's model: what it normalises, what it refuses, and that nothing but its four fields is in it."""

import json
from collections import OrderedDict
from decimal import Decimal
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from knowledge_provider.models import RetrievalRequest
from knowledge_provider.text import short_text


class Sub(str):
    __slots__ = ()


def request(**changes: object) -> RetrievalRequest:
    return RetrievalRequest.model_validate({"query": "q", **changes})


def nested(depth: int) -> dict[str, Any]:
    inner: dict[str, Any] = {}
    for _ in range(depth):
        inner = {"a": inner}
    return inner


def looped() -> dict[str, Any]:
    loop: dict[str, Any] = {}
    loop["a"] = loop
    return loop


@settings(deadline=None)
@given(st.text(max_size=30) | st.text(min_size=490, max_size=510))
def test_a_query_is_normalised_or_refused_as_blank(query: str) -> None:
    """Clause 3.1: the request's query is N5's text of at most 500; any text with something visible makes a request."""
    wanted = short_text(query, 500)
    if wanted:
        assert request(query=query).query == wanted
    else:
        with pytest.raises(ValidationError, match="is blank"):
            request(query=query)


@pytest.mark.parametrize("query", [5, True, None, ["q"], {"q": 1}, object()])
def test_a_query_is_text(query: object) -> None:
    """Clause 3.1."""
    with pytest.raises(ValidationError, match="query"):
        request(query=query)


@pytest.mark.parametrize("query", [Sub("  "), b"  "], ids=["subclass", "bytes"])
def test_a_blank_query_of_another_type_is_refused_too(query: object) -> None:
    """Clause 3.1: no way in leads past N5."""
    with pytest.raises(ValidationError, match="query"):
        request(query=query)


@pytest.mark.parametrize("wrap", [OrderedDict, MappingProxyType])
def test_a_query_is_normalised_in_any_mapping(wrap: Any) -> None:
    """Clause 3.1: no way in leads past N5."""
    assert RetrievalRequest.model_validate(wrap({"query": " a  b "})).query == "a b"


@pytest.mark.parametrize("top_k", [1, 8])
def test_top_k_between_one_and_eight(top_k: int) -> None:
    """Clause 3.1: both ends count, in either spelling; 5 when it is left out."""
    assert request(topK=top_k).top_k == request(top_k=top_k).top_k == top_k
    assert request().top_k == 5


@pytest.mark.parametrize("top_k", ["5", 5.0, True, 0, -1, 9, "nan", None, 10**30])
def test_other_top_k_are_refused(top_k: object) -> None:
    """Clauses 3.1 and 8.3: coercing and clamping is the host's; the model refuses, and True is not 1."""
    with pytest.raises(ValidationError, match="topK"):
        request(topK=top_k)


@pytest.mark.parametrize("ids", [[], ["a"], ("a", "b"), ["x" * 120] * 8])
def test_knowledge_base_ids(ids: Any) -> None:
    """Clause 3.1: at most 8 of at most 120; de-duplicating is the host's."""
    assert request(knowledgeBaseIds=ids).knowledge_base_ids == tuple(ids)


@pytest.mark.parametrize(
    "ids",
    ["None", '["a"]', "a", None, ["a"] * 9, ["x" * 121], [""], [" "], ["\ud800"], [5], [None]],
)
def test_other_knowledge_base_ids_are_refused(ids: object) -> None:
    """Clause 3.1: a string is not a list of its letters, nor JSON to be read; blank or unwritable ids name nothing."""
    with pytest.raises(ValidationError, match="knowledgeBaseIds"):
        request(knowledgeBaseIds=ids)


def test_filters_are_a_json_object() -> None:
    """Clause 3.1: of any nesting that a person writes, empty when left out."""
    filters: dict[str, object] = {"a": [1, 2.5, None, True, {"b": "表"}], "": {}}
    assert request(filters=filters).filters == filters
    assert request().filters == {}


@pytest.mark.parametrize(
    "filters",
    [
        *("{}", None, [], {1: 2}, {"a": {1}}, {"a": (1,)}, {"a": b"x"}, {"a": object()}, {"a": Decimal(1)}),
        *({"a": "\ud800"}, {"\ud800": 1}, {"a": [{"b": ["\udfff"]}]}, {"a": {"\ud800": 1}}, nested(2000), looped()),
    ],
)
def test_what_is_not_a_json_object_is_refused(filters: object) -> None:
    """Clause 3.1: also a lone surrogate at any depth, a loop, and nesting beyond what can be written."""
    with pytest.raises(ValidationError, match="filters"):
        request(filters=filters)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), 10**5000], ids=["nan", "inf", "digits"])
def test_a_filter_holds_only_numbers_that_json_has(number: float) -> None:
    """Clause 3.1: a provider writes the filters as JSON, and a valid request must not make that fail."""
    with pytest.raises(ValidationError, match="filters"):
        request(filters={"a": [number]})


def test_a_request_holds_nothing_but_its_four_fields() -> None:
    """Clause 8.5: identity that was put in beside them is not in the request."""
    assert request(ownerId="other", user_id="other").model_dump() == {
        "query": "q",
        "top_k": 5,
        "knowledge_base_ids": (),
        "filters": {},
    }


def test_the_json_schema_has_wire_names() -> None:
    """Another language's provider is written against the schema."""
    properties = RetrievalRequest.model_json_schema()["properties"]
    assert set(properties) == {"query", "topK", "knowledgeBaseIds", "filters"}
    assert json.loads(request(topK=3).model_dump_json(by_alias=True))["topK"] == 3


SENT_BY_A_MODEL: dict[str, list[object]] = {
    "topK": ["5", 5.0, True, 0, -1, 9, "nan", None],
    "knowledgeBaseIds": ["None", '["a"]', ["a"] * 20],
    "query": ["", "   "],
    "filters": ["{}"],
}


@pytest.mark.parametrize(
    ("field", "value"), [(name, value) for name in SENT_BY_A_MODEL for value in SENT_BY_A_MODEL[name]]
)
def test_what_models_send_amiss_is_refused(field: str, value: object) -> None:
    """Field case 47: no value is read as another; True is not 1, and a string is neither a number nor a list.

    This is the request's own rule. Coercing ``topK`` and de-duplicating ids before is a later part, a host.
    """
    with pytest.raises(ValidationError, match=field):
        request(**{field: value})


def test_a_huge_query_is_cut() -> None:
    """Field case 47: a valid request all the same, with the first 500 code points."""
    assert request(query="x" * 100_000).query == "x" * 500
