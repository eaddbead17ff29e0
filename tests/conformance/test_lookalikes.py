"""Ids that look like another: each is another text, and each is one that somebody takes for the same."""

import unicodedata
from collections.abc import Callable

import pytest

from knowledge_conformance.lookalikes import LOOKALIKES_MAX, lookalikes
from knowledge_provider import RetrievalContext


@pytest.mark.parametrize("id_", ["mara", "Zoë", "Zoe\u0308", "user-4711", "山田", "a@example.com", "Ünal", "A" * 160])
def test_each_is_another_id_that_a_context_can_have(id_: str) -> None:
    """And a host can hand it over."""
    made = lookalikes(id_)
    assert id_ not in made.values()
    assert 3 <= len(made) <= LOOKALIKES_MAX
    assert [RetrievalContext(owner_id=each).owner_id for each in made.values()] == [*made.values()]


@pytest.mark.parametrize(
    ("how", "tidied"),
    [
        ("a space at the end", str.strip),
        ("a line end before it", str.strip),
        ("an invisible character", lambda text: text.replace("\u200b", "")),
        ("the other case", str.casefold),
        ("a full-width character", lambda text: unicodedata.normalize("NFKC", text)),
        ("another normal form", lambda text: unicodedata.normalize("NFC", text)),
    ],
)
def test_tidied_it_is_the_same(how: str, tidied: Callable[[str], str]) -> None:
    """As a program does that means well."""
    assert tidied(lookalikes("zoë")[how]) == "zoë"


def test_letters_of_another_alphabet_are_none_of_its_own() -> None:
    """However they look."""
    twin = lookalikes("mara")["letters of another alphabet"]
    assert [unicodedata.name(letter).split()[0] for letter in twin] == ["LATIN", "CYRILLIC", "LATIN", "CYRILLIC"]


def test_what_has_no_other_form_has_none() -> None:
    """An id of digits has no case, and an ASCII one no other normal form."""
    assert not {"the other case", "another normal form", "letters of another alphabet"} & lookalikes("4711").keys()
