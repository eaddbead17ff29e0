"""Rules N5 and N6: what any value becomes as text; knows characters and limits, no result, source or host.

Total on every Python value. Values are read through the methods of ``str``, ``int`` and ``float`` themselves, never
through their own, because a subclass may answer anything or raise.
"""

import math
import re
from collections.abc import Callable
from typing import Final, TypeGuard, TypeVar

_Kind = TypeVar("_Kind")

# Rule N5's list. `str.isspace` differs from it in U+FEFF and in controls, which have become spaces by then.
_WHITE_SPACE: Final = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
_TRIMMED_AT_END: Final = _WHITE_SPACE + "\u200c\u200d"

# They reorder or hide what a reader sees: embeddings, overrides, isolates and tags.
_REORDERING: Final = "\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f"
SURROGATES: Final = "\ud800-\udfff"
_CONTROLS: Final = "\x00-\x1f\x7f-\x9f"
CONTROLS_IN_CONTENT: Final = "\x00-\x08\x0b-\x1f\x7f-\x9f"
_CONTROLS_NOT_SPLIT: Final = "\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f"

_FIND_REORDERING: Final = re.compile(f"[{_REORDERING}]+")
_FIND_SURROGATE: Final = re.compile(f"[{SURROGATES}]")
_FIND_SPACE_LIKE: Final = re.compile(f"[{_CONTROLS}\ufeff]+")
_FIND_CONTROL: Final = re.compile(f"[{CONTROLS_IN_CONTENT}]")
_FIND_CHANGE_IN_LINE: Final = re.compile(f"[{_CONTROLS_NOT_SPLIT}\ufeff{_REORDERING}{SURROGATES}]")
_FIND_CHANGE_IN_CONTENT: Final = re.compile(f"[{CONTROLS_IN_CONTENT}{_REORDERING}{SURROGATES}]")
# Whole ASCII texts are common, and for them a table is five times as fast as an expression.
_ASCII_CONTENT: Final = dict.fromkeys([*range(0x09), *range(0x0B, 0x20), 0x7F], " ")

# Not white space, not a control, and not in Unicode's Default_Ignorable_Code_Point.
_FIND_VISIBLE: Final = re.compile(
    f"[^{_WHITE_SPACE}{_CONTROLS}\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]"
)

# Also where a metaclass has put something else in the way.
_CLASS_NAME: Final = type.__dict__["__name__"]

# Read beyond the limit at first, so that a text with some white space in it is read once.
_HEADROOM: Final = 64


def short_text(value: object, limit: int) -> str:
    """``value`` as one line of at most ``limit`` code points by rule N5; "" when it is missing or blank.

    Never raises. Takes time for what must be read to fill ``limit``, not for the rest of the text.
    """
    # Most texts are like this, and this way takes a quarter of the time.
    if type(value) is str and len(value) <= limit and value.isascii() and value.isprintable():
        return _folded(value)
    return _fill(_written(value), limit, _one_line)


def content_text(value: object, limit: int) -> str:
    """``value`` as at most ``limit`` code points by rule N6, inner white space kept; "" when it is missing or blank.

    Never raises. Takes time for what must be read to fill ``limit``, not for the rest of the text.
    """
    return _fill(_written(value), limit, _lines)


def is_blank(value: object) -> bool:
    """Whether nothing in ``value`` is visible; what is not a string has no text, so nothing in it is."""
    return not (is_a(value, str) and _FIND_VISIBLE.search(value))


def has_surrogate(value: object) -> bool:
    """Whether ``value`` is a string with a lone surrogate, which cannot be written as UTF-8."""
    if not is_a(value, str):
        return False
    try:
        str.encode(value)
    except UnicodeEncodeError:
        return True
    return False


def is_a(value: object, kind: type[_Kind]) -> TypeGuard[_Kind]:
    """Whether ``value`` is a ``kind``; unlike ``isinstance`` it asks neither the value nor its class.

    Both may lie or raise, and an abstract class would remember every foreign class that it was asked about.
    """
    return type.__subclasscheck__(kind, type(value))


def class_name(value: object) -> str:
    """The name of the value's class, for a message; asks neither the value nor a metaclass."""
    return str.__str__(_CLASS_NAME.__get__(type(value)))


def finite_number(value: object) -> int | float | None:
    """The number as a plain int or float, or None when it is none that ``float`` holds; a bool is none."""
    if is_a(value, float):
        number = float.__float__(value)
        return number if math.isfinite(number) else None
    if not is_a(value, int) or is_a(value, bool):
        return None
    whole = int.__int__(value)
    try:
        float(whole)
    except OverflowError:
        return None
    return whole


def _written(value: object) -> str:
    # Rule N5: strings, and numbers as JSON writes them; other types count as missing.
    if is_a(value, str):
        return str.__str__(value)
    number = finite_number(value)
    return "" if number is None else repr(number)


def _fill(text: str, limit: int, clean: Callable[[str], str]) -> str:
    # A cleaned beginning begins the cleaned text, so a beginning that fills the limit is enough. Four times as much
    # each time keeps the sum linear when nearly all of the text vanishes.
    size = limit + _HEADROOM
    cleaned = clean(text[:size])
    while len(cleaned) < limit and size < len(text):
        size *= 4
        cleaned = clean(text[:size])
    # Looked at after the cut: what is visible may have stood behind it.
    kept = cleaned[:limit].rstrip(_TRIMMED_AT_END)
    return "" if is_blank(kept) else kept


def _one_line(text: str) -> str:
    # Rule N5. `split` folds white space, and with it the controls that it takes for white space.
    flat = _flat(text)
    if flat.isprintable():
        return _folded(flat)
    if _FIND_CHANGE_IN_LINE.search(flat):
        flat = _FIND_SPACE_LIKE.sub(" ", _writable(flat))
    return " ".join(flat.split())


def _flat(text: str) -> str:
    # Often nothing else in a text is unprintable, and the question whether that is so is cheap.
    return text.replace("\n", " ").replace("\t", " ")


def _folded(printable: str) -> str:
    # Of all that rule N5 replaces or folds, the plain space alone is printable.
    return " ".join(printable.split()) if "  " in printable else printable.strip(" ")


def _lines(text: str) -> str:
    # Rule N6. The first two ways are short cuts for common texts; they give what the last one gives.
    if text.isascii():
        return _with_newlines(text).translate(_ASCII_CONTENT).strip(_WHITE_SPACE)
    if not _flat(text).isprintable() and _FIND_CHANGE_IN_CONTENT.search(text):
        text = _FIND_CONTROL.sub(" ", _with_newlines(_writable(text)))
    return text.strip(_WHITE_SPACE)


def _with_newlines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _writable(text: str) -> str:
    # Rule N5: first, so that what stood around a vanished character is folded together.
    return _FIND_REORDERING.sub("", _FIND_SURROGATE.sub("\ufffd", text))
