"""Hypothesis strategies for both sides of the boundary: what a host may ask, and what a hostile provider may answer.

Knows the contract's shapes and limits and how each is broken; knows no provider, host or check. Everything here is
public: users fuzz their own hosts and providers with it. Values are made anew for each example, so a host that
changes what it got does not spoil the next one. ``hypothesis.event`` names what each response breaks.
"""

import json
import math
import string
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from ipaddress import IPv4Address, IPv6Address, ip_network
from typing import Any, Final, Literal, Never
from urllib.parse import quote

from hypothesis import event
from hypothesis import strategies as st

from knowledge_provider import RetrievalRequest, RetrievalResult, limits
from knowledge_provider.text import content_text, short_text

__all__ = ["hostile_text", "requests", "responses", "results", "uris"]

_Fields = dict[str, Any]

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


def _joined(characters: st.SearchStrategy[str], fragments: Sequence[str]) -> st.SearchStrategy[str]:
    return st.lists(characters | st.sampled_from(fragments), max_size=12).map("".join)


def _repeated(text: st.SearchStrategy[str], size: int) -> st.SearchStrategy[str]:
    return st.tuples(text, st.integers(2, size)).map(lambda parts: (parts[0] * parts[1])[:size])


_TEXT: Final = _joined(st.characters(exclude_categories=("Cs",)), _FRAGMENTS)
_QUERY: Final = _TEXT | _repeated(_TEXT, limits.QUERY_MAX)


def hostile_text() -> st.SearchStrategy[str]:
    """Any ``str`` at all, with what breaks code that handles text in each second one.

    Lone surrogates, bidirectional controls, tag characters, other controls, joiners, fillers, white space of every
    kind, query languages, SQL, JSON, templates and markup; at most a few hundred code points.
    """
    return _joined(st.characters(), (*_FRAGMENTS, *_UNSEEN))


def requests(
    *,
    knowledge_base_ids: st.SearchStrategy[Sequence[str]] | None = None,
    filters: st.SearchStrategy[Mapping[str, Any]] | None = None,
) -> st.SearchStrategy[RetrievalRequest]:
    """Valid requests (clause 3.1): no provider may fail on any of their texts (clause 3.2).

    Queries are normalised, 1 to 500 code points: any script, emoji, quotes, query-language operators, SQL, JSON,
    template syntax. ``top_k`` is 1 to 8. There are no base ids and no filters unless strategies for them are given;
    what those draw must be valid, or drawing raises ``pydantic.ValidationError``.
    """
    return st.builds(
        RetrievalRequest,
        query=_QUERY.map(_line(limits.QUERY_MAX)),
        top_k=st.integers(limits.TOP_K_MIN, limits.TOP_K_MAX),
        knowledge_base_ids=st.just(()) if knowledge_base_ids is None else knowledge_base_ids.map(tuple),
        filters=st.builds(dict) if filters is None else filters.map(dict),
    )


def _line(limit: int) -> Callable[[str], str]:
    # Mapped rather than filtered, so that nothing drawn is thrown away.
    return lambda text: short_text(text, limit) or "0"
