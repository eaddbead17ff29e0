"""Where a text may be cut so that no character that a reader sees is cut in two; knows characters, no limit or frame.

A reading of UAX #29 that errs towards keeping together, by the properties that Python itself has.
"""

import unicodedata
from typing import Final

_ZWJ: Final = "\u200d"
_JOINERS: Final = "\u200c\u200d"
# Not marks to Unicode's categories, and still part of what stands before them: Thai and Lao AM, half-width marks.
_TRAILING: Final = "\u0e33\u0eb3\uff9e\uff9f"
_MODIFIERS: Final = range(0x1F3FB, 0x1F400)
_TAGS: Final = range(0xE0020, 0xE0080)
_REGIONAL: Final = range(0x1F1E6, 0x1F200)
# Hangul that is written in parts: its leading consonants, what may follow one, and its vowels and finals.
_LEADING: Final = (range(0x1100, 0x1160), range(0xA960, 0xA980))
_AFTER_LEADING: Final = (*_LEADING, range(0xAC00, 0xD7A4))
_JAMO: Final = (range(0x1160, 0x1200), range(0xD7B0, 0xD800))
_VIRAMA: Final = 9
# Written before the number that they belong to, as the sign of an Arabic year.
_PREPENDED: Final = frozenset(
    "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u08e2\u0890\u0891\u0d4e\U000110bd\U000110cd"
)


def boundary(text: str, place: int) -> int:
    """The last place up to ``place`` where ``text`` may be cut; 0 when its whole beginning is one character.

    ``place`` is at most the length of ``text``, whose own end is one.
    """
    if place >= len(text):
        return len(text)
    while place > 0 and _holds_together(text, place):
        place -= 1
    return place


def _holds_together(text: str, place: int) -> bool:
    before, after = text[place - 1], text[place]
    if before.isascii() and after.isascii():
        return before == "\r" and after == "\n"
    if _extends(after) or before == _ZWJ or before in _PREPENDED:
        return True
    if ord(after) in _REGIONAL:
        return _regional_before(text, place) % 2 == 1
    if _is_in(before, _LEADING) and _is_in(after, _AFTER_LEADING):
        return True
    # Indic conjuncts: a consonant after the sign that joins it to the one before.
    return after.isalpha() and _has_virama(text, place)


def _has_virama(text: str, place: int) -> bool:
    while place > 0 and _extends(text[place - 1]):
        place -= 1
        if unicodedata.combining(text[place]) == _VIRAMA:
            return True
    return False


def _is_in(character: str, ranges: tuple[range, ...]) -> bool:
    return any(ord(character) in each for each in ranges)


def _extends(character: str) -> bool:
    code = ord(character)
    return (
        unicodedata.category(character).startswith("M")
        or character in _JOINERS
        or character in _TRAILING
        or code in _MODIFIERS
        or code in _TAGS
        or _is_in(character, _JAMO)
    )


def _regional_before(text: str, place: int) -> int:
    start = place
    while start > 0 and ord(text[start - 1]) in _REGIONAL:
        start -= 1
    return place - start
