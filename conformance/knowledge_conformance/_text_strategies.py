"""Strategies for texts: any that may be written, and any at all; knows characters and rule N5, no shape or field."""

from typing import Final

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from knowledge_provider.text import short_text

Families = tuple[tuple[str, ...], ...]
"""Samples in groups of a kind."""

_WRITABLE_FAMILIES: Final[Families] = (
    tuple("\"'`\\%*?()[]{}<>|&~^:;"),
    ("AND", "NOT a", "(a OR", 'title:"a b"~2', "[1 TO *]", "a^2 -b", "NEAR(a b)", "*:*", "/a.*/"),
    ("' OR '1'='1", "'; DROP TABLE documents; --", "%' --", "1; SELECT"),
    ('{"match_all": {}}', '{"$ne": null}', "]}", "null", "NaN"),
    ("{{7*7}}", "{0}", "%s", "${env:HOME}", "{% if %}", "<%= 1 %>", "#{1}"),
    ("<script>", "</context>", "```", "]]>", "<|im_end|>"),
    ("知识库", "한국어", "ภาษาไทย", "Ελληνικά", "क्षि", "İıſßǅﬁ", "кириллица"),
    ("שלום", "مرحبا", "نعم 12", "abc אבג"),
    ("e\u0301", "a\u0308\u0323", "Z\u0351\u036b\u0343", "\u0958"),
    ("\n", "\t", "  ", "\u00a0", "\n\n"),
    ("🙂", "👩\u200d👩\u200d👧", "🏳\ufe0f", "🇺🇳", "1\ufe0f\u20e3"),
)
# What normalising takes away or replaces.
_HOSTILE_FAMILIES: Final[Families] = (
    *_WRITABLE_FAMILIES,
    ("\x00", "\x1b[31m", "\x85", "\x7f"),
    ("\t", "\r\n", "\u2028", "\u00a0", "\u3000", "\ufeff"),
    ("\u200d", "\u200c", "\ufe0f", "\u3164", "\u034f", "\u00ad"),
    ("\u202e", "\u202a", "\u2066", "\u2069", "\U000e0041", "\U000e007f"),
    ("\ud800", "\udfff", "\udc41"),
)


def from_families(families: Families) -> SearchStrategy[str]:
    """One of the samples, each family as often as another, whatever its size."""
    return st.builds(
        lambda family, number: family[number % len(family)],
        st.sampled_from(families),
        st.integers(0, max(map(len, families)) - 1),
    )


def _fragments(families: Families) -> SearchStrategy[str]:
    # Nearly always whole when drawn, but a failure shrinks to the characters in it that matter, from both ends.
    sizes = st.integers(1, 64)
    return st.builds(lambda text, kept, tail: text[:kept][-tail:], from_families(families), sizes, sizes)


def _joined(characters: SearchStrategy[str], families: Families) -> SearchStrategy[str]:
    return st.lists(characters | _fragments(families), max_size=8).map("".join)


_WRITABLE: Final = st.characters(exclude_categories=["Cs"])
TEXT: Final = _joined(_WRITABLE, _WRITABLE_FAMILIES)
"""Texts of up to a few hundred code points that can be written as UTF-8."""
_WORDS: Final = st.text(_WRITABLE, max_size=20) | _fragments(_WRITABLE_FAMILIES)
_HOSTILE: Final = _joined(st.characters(), _HOSTILE_FAMILIES)


def hostile_text() -> SearchStrategy[str]:
    """Any ``str`` at all, mixed with what breaks code that handles text; at most a few hundred code points.

    Lone surrogates, bidirectional controls, tag characters, other controls, joiners, fillers, white space of every
    kind, combining marks, emoji, query languages, SQL, JSON, templates and markup.
    """
    return _HOSTILE


def lines(limit: int, text: SearchStrategy[str] = _WORDS) -> SearchStrategy[str]:
    """Texts in the normal form of rule N5: 1 to ``limit`` code points on one line."""
    # Mapped rather than filtered, so that nothing drawn is thrown away.
    return text.map(lambda drawn: short_text(drawn, limit) or "0")


def long_lines(limit: int) -> SearchStrategy[str]:
    """Texts in the normal form of rule N5 that often come near ``limit``, which texts drawn as such never do."""
    repeated = st.builds(lambda text, size: (text * size)[:size], TEXT, st.integers(1, limit))
    return lines(limit, TEXT | repeated)
