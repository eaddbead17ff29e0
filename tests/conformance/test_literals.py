"""JSON values as Python source: what comes back is what went in, and a formatter changes nothing."""

import ast
import sys
from pathlib import Path
from typing import Any

import pytest
from doors import run
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from knowledge_conformance.literals import LINE_MAX, called, is_long, literal

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
ARGUMENTS: tuple[dict[str, Any], ...] = (
    {},
    {"query": "policy"},
    {"query": 'say "yes"', "top_k": 1},
    {"query": "it's"},
    {"query": "both ' and \""},
    {"query": 'both \' and ""'},
    {"query": "\\ \n \x00 \u202e \ufeff"},
    {"query": "发布审批规则是什么？" * 4},
    {"query": "x" * 500},
    {"query": "policy", "filters": {}},
    {"query": "policy", "filters": {"and": [{"year": {"gt": 2020}}, {"tags": ["a", None, True]}], "department": "hr"}},
    {"query": "policy", "filters": {"a": {"b": {"c": ["x" * 40, "y" * 40, [], {}], "d": {"e": 1.5}}}, "n": None}},
    {"query": "policy", "knowledge_base_ids": [f"库-{at}" for at in range(8)]},
)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(VALUES)
def test_a_value_is_written_as_it_was(value: Any) -> None:
    """In one line of printable letters."""
    text = literal(value)
    assert ast.literal_eval(text) == value
    assert text.isprintable()


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(st.sampled_from(["query", "filters", "top_k"]), VALUES))
def test_the_arguments_of_a_call_are_written_as_they_were(arguments: dict[str, Any]) -> None:
    """However many lines that takes."""
    (statement,) = ast.parse("\n".join(called("made = ", "Made", arguments))).body
    assert isinstance(statement, ast.Assign)
    assert isinstance(statement.value, ast.Call)
    assert {each.arg: ast.literal_eval(each.value) for each in statement.value.keywords} == arguments


@pytest.mark.parametrize("width", [88, 100, 120])
def test_a_formatter_changes_nothing(width: int, tmp_path: Path) -> None:
    """Whatever the longest line of the project that the source goes to."""
    text = "\n".join(line for each in ARGUMENTS for line in called("made = ", "Made", each))
    (tmp_path / "made.py").write_text(f"{text}\n", encoding="utf-8")
    command = [sys.executable, "-m", "ruff", "format", "--isolated", f"--line-length={width}", "--diff", "."]
    done = run(tmp_path, command)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("line", "long"),
    [("x" * LINE_MAX, False), ("x" * (LINE_MAX + 1), True), ("库" * 44, False), ("库" * 45, True), ("", False)],
)
def test_a_letter_may_take_two_columns(line: str, long: bool) -> None:
    """As formatters count."""
    assert is_long(line) is long
