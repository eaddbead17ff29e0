"""Strategies for texts: any that may be written, and any at all; knows characters and rule N5, no shape or field."""

from collections.abc import Sequence
from typing import Final

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from knowledge_provider.text import short_text

# Single characters first: a failure shrinks to the earliest of these that still shows it.
_FRAGMENTS: Final = (
    *"\"'`\\%*?()[]{}<>|&~^:;,.+-=#@$/!_",
    *("AND", "NOT a", "(a OR", 'title:"a b"~2', "[1 TO *]", "a^2 -b", "NEAR(a b)", "*:*", "/a.*/"),
    *("' OR '1'='1", "'; DROP TABLE documents; --", "%' --", "1; SELECT"),
    *('{"match_all": {}}', '{"$ne": null}', "]}", "null", "NaN"),
    *("{{7*7}}", "{0}", "%s", "${env:HOME}", "{% if %}", "<%= 1 %>", "#{1}"),
    *("<script>", "</context>", "```", "]]>", "<|im_end|>"),
    *("知识库", "한국어", "ภาษาไทย", "Ελληνικά", "क्षि", "İıſßǅﬁ", "שלום", "مرحبا"),
    *("e\u0301", "a\u0308\u0323", "Z\u0351\u036b\u0343", "🙂", "👩\u200d👩\u200d👧", "🏳\ufe0f", "🇺🇳", "1\ufe0f\u20e3"),
)
# What normalising takes away or replaces.
_UNSEEN: Final = (
    *("\x00", "\x1b[31m", "\x85", "\t", "\r\n", "\u2028", "\u00a0", "\u3000", "\ufeff"),
    *("\u200d", "\u200c", "\ufe0f", "\u3164", "\u034f", "\u00ad", "\u202e", "\u2066", "\u2069"),
    *("\U000e0041", "\ud800", "\udfff", "\udc41"),
)


def _joined(characters: SearchStrategy[str], fragments: Sequence[str]) -> SearchStrategy[str]:
    return st.lists(characters | st.sampled_from(fragments), max_size=12).map("".join)


_WRITABLE: Final = st.characters(exclude_categories=["Cs"])
TEXT: Final = _joined(_WRITABLE, _FRAGMENTS)
"""Texts of up to a few hundred code points that can be written as UTF-8."""
_WORDS: Final = st.text(_WRITABLE, max_size=20) | st.sampled_from(_FRAGMENTS)


def hostile_text() -> SearchStrategy[str]:
    """Any ``str`` at all, with what breaks code that handles text in each second one.

    Lone surrogates, bidirectional controls, tag characters, other controls, joiners, fillers, white space of every
    kind, query languages, SQL, JSON, templates and markup; at most a few hundred code points.
    """
    return _joined(st.characters(), (*_FRAGMENTS, *_UNSEEN))


def lines(limit: int, text: SearchStrategy[str] = _WORDS) -> SearchStrategy[str]:
    """Texts in the normal form of rule N5: 1 to ``limit`` code points on one line."""
    # Mapped rather than filtered, so that nothing drawn is thrown away.
    return text.map(lambda drawn: short_text(drawn, limit) or "0")


def long_lines(limit: int) -> SearchStrategy[str]:
    """Texts in the normal form of rule N5 that often come near ``limit``, which texts drawn as such never do."""
    repeated = st.tuples(TEXT, st.integers(2, limit)).map(lambda parts: (parts[0] * parts[1])[:limit])
    return lines(limit, TEXT | repeated)
