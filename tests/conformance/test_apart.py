"""Two values that differ are seen to differ, whatever is cut or masked in them."""

from typing import Any

import pytest

from knowledge_conformance.apart import difference, shown_apart
from knowledge_conformance.redact import MASK

ONE, OTHER = "ab12cd34ef56ab78cd90ef12ab34cd56", "ab12cd34ef56ab78cd90ef12ab34cd57"


def test_what_can_be_told_apart_is_shown_as_it_is() -> None:
    """As anywhere else in the kit."""
    assert shown_apart({"a": 1}, ["a"]) == ("{'a': 1}", "['a']")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (f"id {ONE}", f"id {OTHER}"),
        ("x" * 200 + "a", "x" * 200 + "b"),
        ({"id": ONE}, {"id": OTHER}),
        ("long" * 60, "long" * 60 + "er"),
    ],
    ids=["keys", "long texts", "keys within", "one that goes on"],
)
def test_what_reads_the_same_is_shown_with_its_difference(one: Any, other: Any) -> None:
    """Masked or cut, the two lines are not the same, and no key is in them."""
    wanted, saw = shown_apart(one, other)
    assert wanted != saw
    assert ONE not in wanted
    assert OTHER not in saw


@pytest.mark.parametrize(
    ("one", "other", "found"),
    [
        ("abc", "abd", (2, "'c'", "'d'")),
        ("ab", "abc", (2, "''", "'c'")),
        ("same", "same", (4, "''", "''")),
        (ONE, "x", (0, "'ab12cd34ef56'", "'x'")),
    ],
)
def test_the_first_difference_is_found(one: str, other: str, found: tuple[int, str, str]) -> None:
    """With a few characters of each, which no sieve takes for a key."""
    assert difference(one, other) == found
    assert MASK not in "".join(found[1:])
