"""Plain data and clean text: what is a vector, and what becomes of an answer that is too large to look at."""

from decimal import Decimal
from typing import Any

import pytest

from knowledge_conformance.check import Check, Inconclusive, Violation
from knowledge_conformance.checks.plainness import answer_is_plain_data, no_control_character, no_lone_surrogate
from knowledge_conformance.exchange import Exchange
from knowledge_provider import CancelSignal, RetrievalContext, RetrievalRequest, SourceReport

REQUEST = RetrievalRequest(query="release policy")
CONTEXT = RetrievalContext(owner_id="o", session_id="s", turn_id="t", trace_id="x", signal=CancelSignal())
ITEM: dict[str, Any] = {"id": "a", "content": "text"}
ALL = (answer_is_plain_data, no_lone_surrogate, no_control_character)


def judge(check: Check, response: object) -> int:
    assert check.judge is not None
    return check.judge(Exchange(REQUEST, CONTEXT, response))


@pytest.mark.parametrize("vector", [[0.5] * 64, [1] * 1536, (0.5,) * 64, [[0.5] * 64], [0, 0.5] * 32])
@pytest.mark.parametrize("place", ["metadata", "embedding"])
def test_a_long_list_of_numbers_is_a_vector(vector: object, place: str) -> None:
    """Wherever it stands, of floats, of integers, and one inside another list."""
    with pytest.raises(Violation, match="no embedding vector"):
        judge(answer_is_plain_data, [{**ITEM, place: {"values": vector}}])


@pytest.mark.parametrize("numbers", [[0.5] * 63, [True] * 64, ["1"] * 100, [{"page": 1}] * 64, [1] * 63 + ["end"]])
def test_other_lists_are_no_vectors(numbers: object) -> None:
    """Page numbers, flags and texts."""
    assert judge(answer_is_plain_data, [{**ITEM, "pages": numbers}]) == 1


def test_reports_as_models_are_plain() -> None:
    """They are the contract's own."""
    assert judge(answer_is_plain_data, {"results": [ITEM], "sources": [SourceReport(key="a", status="hit")]}) == 1


@pytest.mark.parametrize("check", ALL, ids=lambda check: check.id)
def test_an_answer_too_large_to_look_at_does_not_pass(check: Check) -> None:
    """What stands behind the last value that is looked at may be anything."""
    hidden = [{**ITEM, "tokens": ["a"] * 20_001, "price": Decimal(1), "note": "\ud83d\0"}]
    with pytest.raises(Inconclusive, match="too many to look at"):
        judge(check, hidden)


def test_what_is_found_first_counts_also_in_a_large_answer() -> None:
    """A finding is a finding, however much there is behind it."""
    with pytest.raises(Violation, match="Decimal"):
        judge(answer_is_plain_data, [{**ITEM, "price": Decimal(1), "tokens": ["a"] * 20_001}])


@pytest.mark.parametrize(
    ("check", "text"), [(no_lone_surrogate, "\ud83d"), (no_control_character, "\x1b"), (no_control_character, "\r")]
)
def test_keys_are_looked_at_too(check: Check, text: str) -> None:
    """A key is a string like any other."""
    with pytest.raises(Violation):
        judge(check, [{**ITEM, "metadata": {text: 1}}])
