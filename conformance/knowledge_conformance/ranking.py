"""Which results came in which order, and when two such orders count as the same; pure, asks nobody."""

import math
from typing import Final

from knowledge_conformance.exchange import Exchange, counted, text_of
from knowledge_conformance.plain import copied
from knowledge_conformance.render import show
from knowledge_provider import limits
from knowledge_provider.text import finite_number, short_text

Ranked = tuple[tuple[str, float | None], ...]
"""The results of an answer by id, each with its score where it has one."""

_NEAR: Final = 1e-6
"""Sums of floats differ in their last digits from one machine, or thread, to another."""


def ranked(exchange: Exchange) -> Ranked:
    """The results of an answer in their order; ids as a host reads them (rule N5)."""
    return tuple(
        (short_text(copied(text_of(entry, "id")) or "", limits.RESULT_ID_MAX), finite_number(entry.get("score")))
        for _, entry in exchange.entries
    )


def difference(one: Ranked, two: Ranked, *, cut: bool) -> str | None:
    """Where two answers to the same request differ first, in words, or None; results of equal score may swap.

    ``cut``: the answer had no room for more, so that of equal scores at its end either may be in it.
    """
    if len(one) != len(two):
        return f"{counted(len(one))}, then {len(two)}"
    scores = dict(reversed(one))
    for at, (before, after) in enumerate(zip(one, two, strict=True)):
        # What is new had the score of the last, or of whatever came after it.
        known = scores.get(after[0], scores[one[-1][0]] if cut and _is_equal(after[1], one[-1][1]) else None)
        if before[0] != after[0] and not _is_equal(before[1], known):
            return f"{_shown(before[0])} in place {at + 1}, then {_shown(after[0])}"
    return None


def _is_equal(one: float | None, two: float | None) -> bool:
    return one is not None and two is not None and math.isclose(one, two, rel_tol=_NEAR, abs_tol=_NEAR)


def _shown(name: str) -> str:
    return show(name, limit=60)
