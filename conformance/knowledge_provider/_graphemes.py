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
# Vowels and finals of Hangul that is written in parts.
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
    # Indic conjuncts: a consonant after the sign that joins it to the one before.
    return unicodedata.combining(before) == _VIRAMA and after.isalpha()


def _extends(character: str) -> bool:
    code = ord(character)
    return (
        unicodedata.category(character).startswith("M")
        or character in _JOINERS
        or character in _TRAILING
        or code in _MODIFIERS
        or code in _TAGS
        or any(code in jamo for jamo in _JAMO)
    )


def _regional_before(text: str, place: int) -> int:
    start = place
    while start > 0 and ord(text[start - 1]) in _REGIONAL:
        start -= 1
    return place - start
