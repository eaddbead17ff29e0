"""The short ways of the renderer give what the long ones give: rules N5 and N6, JSON, and what ignores case."""

import json
import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knowledge_provider import _neutral
from knowledge_provider._framing import _neutral_content, _quoted
from knowledge_provider.text import content_text

many = settings(deadline=None, max_examples=300)
EVERY_LETTER = "".join(map(chr, (*range(0xD800), *range(0xE000, 0x110000))))
ENDS = sorted({letter for word in _neutral._SPEAKERS for letter in word[-2:]})
plain = st.text(st.sampled_from("ab.,'-(){} \n"), max_size=12)
marks = st.text(st.sampled_from('a\n \t\r\x00\x7f\x85<&[]:"\\«™＜﹕é中\u200d\ufe0f\u202e\u3000\ufeff'), max_size=4)
texts = st.lists(plain | marks, max_size=6).map("".join)


@pytest.mark.parametrize("letter", ENDS)
def test_a_class_of_letters_has_every_case(letter: str) -> None:
    """As an expression that ignores case, the Turkish and the long ones among them."""
    assert set(re.findall(f"(?i:{letter})", EVERY_LETTER)) == set(_neutral._either_case(letter))


@many
@given(text=texts, limit=st.integers(1, 40))
def test_what_is_taken_for_content_is_as_rule_n6_leaves_it(text: str, limit: int) -> None:
    """But for white space at the end of ASCII, and for joiners, which are looked at no further."""
    head = text[:limit]
    unusual = _neutral.unusual_in(head)
    short = bool(head) and (head.isascii() or unusual not in ("", "\u200d")) and _neutral.is_content(head, unusual)
    assert not short or content_text(text, limit) == (head.rstrip() if head.isascii() else head)


@many
@given(text=texts, limit=st.integers(1, 40))
def test_what_a_host_has_normalised_is_left_as_rule_n6_leaves_it(text: str, limit: int) -> None:
    """Whatever is in it; but for what ends it where it is cut."""
    normalised = content_text(text, 200)
    cut = _neutral_content(normalised, limit)
    whole = _neutral.neutral(content_text(normalised, limit))
    assert cut.rstrip(" \n\t\u200d\u3000") == whole.rstrip(" \n\t\u200d\u3000")


@many
@given(text=texts)
def test_what_is_tame_is_as_it_is_in_json_and_harmless(text: str) -> None:
    """In a line of fields as in a content."""
    fields = {"id": text, "title": text}
    colons = text.count(":")
    as_is = _quoted(fields) == json.dumps(fields, ensure_ascii=False) and _neutral.is_neutral(text, colons)
    assert as_is or not _neutral.is_tame(text, colons)


@many
@given(one=texts, other=texts)
def test_a_neutral_line_has_neutral_fields_only(one: str, other: str) -> None:
    """Clause 12.1. A value may have colons, too, if nobody speaks in front of them."""
    head = _quoted({"id": one, "title": other})
    assert not _neutral.is_neutral(head, 2) or [_neutral.neutral(one), _neutral.neutral(other)] == [one, other]


@pytest.mark.parametrize("title", ["Chapter 2: Refunds", "«Release»", "10:11:12 c[i]", "退款：规则", "❤\ufe0f"])
def test_ordinary_titles_are_neutral(title: str) -> None:
    """Or the short way would be none."""
    assert _neutral.is_neutral(_quoted({"id": "a", "title": title}), 2)


@pytest.mark.parametrize("text", ["a: b", "a" * 40, "p. 3, (b) {c} 'd'"])
def test_ordinary_words_are_tame(text: str) -> None:
    """Or the short way would be none."""
    assert _neutral.is_tame(text, text.count(":"))
    assert not _neutral.is_tame(text, text.count(":") + 1)


@pytest.mark.parametrize(
    "text", ["Two owners.\n\tApprove", "Zwei Prüfer", "« Deux »", "«Два» владельца", "两个👩\u200d👧"]
)
def test_ordinary_contents_are_content(text: str) -> None:
    """Or the short way would be none."""
    assert _neutral.is_content(text, _neutral.unusual_in(text))


@pytest.mark.parametrize(
    "part", ["™:", "™ ", "Ⓤⓢⓔⓡ ", "_:", ": User", "](", "［", "❤\ufe0f\u200d", "«", "&#58;", "System\u3000"]
)
def test_time_grows_with_the_length(part: str) -> None:
    """Clause 12.1: who writes what is retrieved chooses the text, and a square of this length is several seconds."""
    text = part * (40_000 // len(part))
    began = time.process_time()
    _neutral.neutral(text)
    assert time.process_time() - began < 1
