"""A small full-text search over frozen values; knows words and weights, no document, request or provider.

Scores follow Okapi BM25. English words are folded and lose their plural; Chinese, Japanese and Korean, which put no
space between words, are read as single characters and pairs of characters.
"""

import math
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, pairwise
from types import MappingProxyType
from typing import Final

# Kana, Han with its extensions and compatibility forms, and Hangul syllables.
_CJK: Final = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
_PIECE: Final = re.compile(rf"(?P<cjk>[{_CJK}]+)|(?P<word>(?:(?![{_CJK}])[^\W_])+)")

# Words that nearly every text holds: a match on them alone would be filler (clause 3.7).
_STOP_TEXT: Final = """
a about after all also am an and any are as at back be been but by can could d did do does for from get had
has have he her his how i if in into is it its like ll m many may me might much must my no nor not of on or our out
over s shall she should so some such t than that the their them then there these they this those to up us ve
was we were what when where which while who whom whose why will with would you your
什么 怎么 怎样 如何 多少 是否 哪些 哪个 我们 你们 他们 可以 需要 应该 一个 这个 那个 没有 因为 所以 如果
的 了 是 在 和 与 吗 呢 吧
"""
_STOP: Final = frozenset(_STOP_TEXT.split())

# The usual constants of BM25: how soon repetition stops counting, and how far long passages are held back.
_SATURATION: Final = 1.2
_LENGTH_SHARE: Final = 0.75


@dataclass(frozen=True, slots=True)
class Index:
    """What each passage is worth for each term: ``weights[term][passage id]``, every weight above zero."""

    weights: Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class Hit:
    """One passage that matched; ``score`` is above zero, and higher is better."""

    id: str
    score: float


def index_terms(text: str) -> tuple[str, ...]:
    """The terms that a passage is found by, repeated as often as they stand in it."""
    return tuple(_terms(text, lambda run: (*run, *_pairs(run))))


def query_terms(text: str) -> tuple[str, ...]:
    """The terms that a query asks for, each once, in the order of the query.

    A single CJK character counts only when it stands alone: inside a longer run it would match nearly everything.
    """
    return tuple(dict.fromkeys(_terms(text, lambda run: _pairs(run) or (run,))))


def build_index(texts: Mapping[str, str]) -> Index:
    """Weigh the terms of ``texts``, which maps passage ids to what each passage is found by."""
    counts = {key: Counter(index_terms(text)) for key, text in texts.items()}
    holders = Counter(chain.from_iterable(counts.values()))
    mean_length = sum(terms.total() for terms in counts.values()) / max(1, len(counts))
    weights: dict[str, dict[str, float]] = {}
    for key, terms in counts.items():
        for term, count in terms.items():
            weight = _rarity(holders[term], len(counts)) * _frequency(count, terms.total() / mean_length)
            weights.setdefault(term, {})[key] = weight
    return Index(MappingProxyType({term: MappingProxyType(held) for term, held in weights.items()}))


def search(index: Index, query: str) -> tuple[Hit, ...]:
    """Every passage that holds a term of the query, best first; ties stand in the order of their ids."""
    scores: defaultdict[str, float] = defaultdict(float)
    for term in query_terms(query):
        for key, weight in index.weights.get(term, {}).items():
            scores[key] += weight
    # Clause 3.6: the last digits of a sum of logarithms differ between machines, so they do not decide a place.
    hits = [Hit(key, round(score, 6)) for key, score in scores.items()]
    return tuple(sorted(hits, key=lambda hit: (-hit.score, hit.id)))


def _terms(text: str, characters: Callable[[str], Iterable[str]]) -> Iterator[str]:
    for piece in _PIECE.finditer(unicodedata.normalize("NFKC", text).casefold()):
        found = characters(piece["cjk"]) if piece["cjk"] else (piece["word"],)
        yield from (_singular(term) for term in found if term not in _STOP)


def _pairs(run: str) -> tuple[str, ...]:
    return tuple(map("".join, pairwise(run)))


def _singular(word: str) -> str:
    # Harman's "S" stemmer: its three rules find "release" for "releases" and do little harm elsewhere.
    if word.endswith("ies") and not word.endswith(("eies", "aies")):
        return f"{word[:-3]}y"
    if word.endswith("s") and not word.endswith(("ss", "us", "aes", "ees", "oes")):
        return word[:-1]
    return word


def _rarity(holders: int, passages: int) -> float:
    # With 1 added inside the logarithm a term that most passages hold still counts a little, never against them.
    return math.log(1 + (passages - holders + 0.5) / (holders + 0.5))


def _frequency(count: int, length: float) -> float:
    """How much ``count`` occurrences are worth in a passage ``length`` times as long as the mean one."""
    room = 1 - _LENGTH_SHARE + _LENGTH_SHARE * length
    return count * (_SATURATION + 1) / (count + _SATURATION * room)
