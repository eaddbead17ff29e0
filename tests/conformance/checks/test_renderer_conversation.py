"""What is said of two blocks that should be the same."""

import pytest

from knowledge_conformance.checks.renderer_conversation import _difference

KEYS = ("3f9a0c1d2e4b5a69", "b1c2d3e4f5a60718")


def test_a_difference_that_may_not_be_shown_is_said() -> None:
    """A random fence looks like a key, and both would read the same."""
    said = _difference(*(f"one\n<data-{key}>\ntext" for key in KEYS))
    assert said == "behind 'one\\n<', a word of 21 characters that is another one each time"
    assert not any(key in said for key in KEYS)


@pytest.mark.parametrize(
    ("one", "other", "said"),
    [
        ("no. 1000 is", "no. 1001 is", "behind 'no. ', once '1000' and once '1001'"),
        ("first", "second", "at its beginning, once 'first' and once 'second'"),
        ("a block", "a block.", "once 7 and once 8 characters, which begin the same"),
        ("a - b", "a + b", "behind 'a ', once '-' and once '+ b'"),
    ],
)
def test_a_difference_is_shown(one: str, other: str, said: str) -> None:
    """The words, and what stands before them."""
    assert _difference(one, other) == said
