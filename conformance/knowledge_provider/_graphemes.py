"""Where a text may be cut so that no character that a reader sees is cut in two; knows characters, no limit or frame.

A reading of UAX #29 that errs towards keeping together, by the properties that Python itself has.
"""

import unicodedata
from typing import Final


def _characters(*ranges: range) -> frozenset[str]:
    return frozenset(chr(code) for each in ranges for code in each)


_ZWJ: Final = "\u200d"
_REGIONAL: Final = _characters(range(0x1F1E6, 0x1F200))
# Hangul that is written in parts: its leading consonants, what may follow one, and its vowels and finals.
_LEADING: Final = _characters(range(0x1100, 0x1160), range(0xA960, 0xA980))
_SYLLABLES: Final = range(0xAC00, 0xD7A4)
# Not marks to Unicode's categories, and still part of what stands before them: joiners, Thai and Lao AM, half-width
# marks, an emoji's tone of skin, tags, and the vowels and finals of Hangul.
_TRAILING: Final = frozenset("\u200c\u200d\u0e33\u0eb3\uff9e\uff9f") | _characters(
    range(0x1F3FB, 0x1F400), range(0xE0020, 0xE0080), range(0x1160, 0x1200), range(0xD7B0, 0xD800)
)
# Nothing before it in Unicode belongs to another character but a line feed to its carriage return.
_FIRST_MARK: Final = "\u0300"
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
    if before < _FIRST_MARK and after < _FIRST_MARK:
        return before == "\r" and after == "\n"
    if _extends(after) or before == _ZWJ or before in _PREPENDED:
        return True
    if after in _REGIONAL:
        return _regional_before(text, place) % 2 == 1
    if before in _LEADING and (after in _LEADING or ord(after) in _SYLLABLES):
        return True
    # Indic conjuncts: a consonant after the sign that joins it to the one before.
    return after.isalpha() and _has_virama(text, place)


def _has_virama(text: str, place: int) -> bool:
    while place > 0 and _extends(text[place - 1]):
        place -= 1
        if unicodedata.combining(text[place]) == _VIRAMA:
            return True
    return False


def _extends(character: str) -> bool:
    return unicodedata.category(character).startswith("M") or character in _TRAILING


def _regional_before(text: str, place: int) -> int:
    start = place
    while start > 0 and text[start - 1] in _REGIONAL:
        start -= 1
    return place - start
