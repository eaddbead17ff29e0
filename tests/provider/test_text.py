"""Rules N5 and N6 against a slow reading of their words, on hostile values, and without reading more than is needed."""

import json
import unicodedata
from abc import ABCMeta
from collections.abc import Callable
from enum import IntEnum, StrEnum
from typing import Any, NoReturn

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knowledge_provider import text as text_module
from knowledge_provider.text import class_name, content_text, finite_number, has_surrogate, is_a, is_blank, short_text

quick = settings(deadline=None, max_examples=200)

# Rule N5, in code points.
WHITE_SPACE = {
    *range(9, 14),
    0x20,
    0xA0,
    0x1680,
    *range(0x2000, 0x200B),
    0x2028,
    0x2029,
    0x202F,
    0x205F,
    0x3000,
    0xFEFF,
}
REMOVED = {*range(0x202A, 0x202F), *range(0x2066, 0x206A), *range(0xE0000, 0xE0080)}
JOINERS = {0x200C, 0x200D}
# Default_Ignorable_Code_Point in Unicode's DerivedCoreProperties.txt.
IGNORABLE = {
    *(0xAD, 0x34F, 0x61C, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFEFF, 0xFFA0),
    *range(0x180B, 0x1810),
    *range(0x200B, 0x2010),
    *range(0x202A, 0x202F),
    *range(0x2060, 0x2070),
    *range(0xFE00, 0xFE10),
    *range(0xFFF0, 0xFFF9),
    *range(0x1BCA0, 0x1BCA4),
    *range(0x1D173, 0x1D17B),
    *range(0xE0000, 0xE1000),
}
CONTROLS = {code for code in range(0x110000) if unicodedata.category(chr(code)) == "Cc"}
SPACES = CONTROLS | WHITE_SPACE
INVISIBLE = SPACES | IGNORABLE
NASTY = [
    *map(chr, sorted(SPACES | JOINERS | {0x202A, 0x202E, 0x2066, 0x2069, 0xE0000, 0xE007F, 0xE0080})),
    *("\ud800", "\udbff", "\udc00", "\udfff", "\u200b", "\u200e", "\u2065", "\ufe0f", "\u3164", "\u00ad", "\ufffd"),
    *("a", "b", "é", "e\u0301", "表", "👩", "\u2800", "\U0010ffff", "\r\n", "  ", "\r\u202e\n", "\n\n"),
]
nasty_texts = st.lists(st.one_of(st.sampled_from(NASTY), st.characters()), max_size=30).map("".join)


def slow(text: str, limit: int, *, inner: bool) -> str:
    """Rule N5, or N6 when ``inner`` white space is kept, one character at a time."""
    kept = "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in text if ord(char) not in REMOVED)
    if inner:
        kept = kept.replace("\r\n", "\n").replace("\r", "\n")
    kept = "".join(" " if ord(char) in CONTROLS and not (inner and char in "\t\n") else char for char in kept)
    spaces = [ord(char) in WHITE_SPACE for char in kept]
    if not inner:
        kept = "".join(
            " " if spaces[place] else char
            for place, char in enumerate(kept)
            if not (place and spaces[place] and spaces[place - 1])
        )
    while kept and ord(kept[0]) in WHITE_SPACE:
        kept = kept[1:]
    kept = kept[:limit]
    while kept and ord(kept[-1]) in WHITE_SPACE | JOINERS:
        kept = kept[:-1]
    return kept if visible(kept) else ""


def visible(text: str) -> bool:
    return any(ord(char) not in INVISIBLE for char in text)


def hostile(base: type[Any]) -> type[Any]:
    """A subclass of ``base`` of which every method, and the question for its class, raises."""

    def refuse(*_arguments: object, **_named: object) -> NoReturn:
        raise RuntimeError("foreign code ran")

    spared = {"__new__", "__init__", "__class__", "__init_subclass__", "__subclasshook__"}
    methods = {name for name in dir(base) if callable(getattr(base, name))} | {"__float__", "__index__", "__str__"}
    return type("Hostile", (base,), {**dict.fromkeys(methods - spared, refuse), "__class__": property(refuse)})


class Colour(StrEnum):
    RED = " red "


class Level(IntEnum):
    HIGH = 3


class Registry(metaclass=ABCMeta):  # noqa: B024 - registering is all that it is for
    """A class that says of others that they are its subclasses."""


Registry.register(list)


class Liar:
    __class__ = str  # type: ignore[assignment]


@quick
@given(nasty_texts, st.integers(1, 40))
def test_short_text_is_rule_n5(text: str, limit: int) -> None:
    """N5, as a reading of its words one character at a time gives it."""
    assert short_text(text, limit) == slow(text, limit, inner=False)


@quick
@given(nasty_texts, st.integers(1, 40))
def test_content_text_is_rule_n6(text: str, limit: int) -> None:
    """N6, as a reading of its words one character at a time gives it."""
    assert content_text(text, limit) == slow(text, limit, inner=True)


def test_every_character_is_read_by_the_rules() -> None:
    """No table of this interpreter's Unicode version differs from the contract's, in any plane that has characters."""
    for code in (*range(0x20000), *range(0xE0000, 0xE1001), 0x10FFFF):
        char = chr(code)
        kept = "" if code in REMOVED else "\ufffd" if 0xD800 <= code < 0xE000 else char
        inner = "\n" if char == "\r" else char if char in "\t\n" else " " if code in CONTROLS else kept
        assert short_text(f"a{char}b", 9) == f"a{' ' if code in SPACES else kept}b", hex(code)
        assert content_text(f"a{char}b", 9) == f"a{inner}b", hex(code)
        assert is_blank(char) is not visible(char), hex(code)


@quick
@given(nasty_texts, st.integers(1, 40))
def test_reading_twice_changes_nothing(text: str, limit: int) -> None:
    """Both rules are idempotent, and what is left of content is a fit start for a snippet."""
    assert short_text(short_text(text, limit), limit) == short_text(text, limit)
    assert content_text(content_text(text, limit), limit) == content_text(text, limit)
    assert short_text(content_text(text, 1000), limit) == short_text(text, limit)


@quick
@given(st.lists(nasty_texts, min_size=1, max_size=3), st.integers(1, 90), st.integers(30, 200))
def test_a_long_text_is_cut_as_if_it_had_been_read_whole(parts: list[str], limit: int, times: int) -> None:
    """Reading only a beginning gives what reading everything gives, wherever the beginning happens to end."""
    text = "".join(part * times for part in parts)
    assert short_text(text, limit) == slow(text, limit, inner=False)
    assert content_text(text, limit) == slow(text, limit, inner=True)


@pytest.mark.parametrize("read", [short_text, content_text])
def test_only_a_beginning_of_a_long_text_is_read(read: Callable[[object, int], str], monkeypatch: Any) -> None:
    """Ten million characters cost what the limit costs, when the limit is filled early."""
    sizes = count_cleaned(monkeypatch)
    assert read("a" * 10_000_000, 500) == "a" * 500
    assert sum(sizes) < 1000
    assert read(" " * 1000 + "a" * 10_000_000, 500) == "a" * 500
    assert sum(sizes) < 10_000


@pytest.mark.parametrize("read", [short_text, content_text])
@pytest.mark.parametrize("filling", [" ", "\u202e", "\ufeff\n", "\0"], ids=ascii)
def test_what_vanishes_is_skipped_in_linear_time(
    read: Callable[[object, int], str], filling: str, monkeypatch: Any
) -> None:
    """Text after much that vanishes is still found, and all that is read adds up to less than two readings."""
    sizes = count_cleaned(monkeypatch)
    text = filling * 100_000 + "end"
    assert read(text, 80) == "end"
    assert sum(sizes) < 2 * len(text)


def count_cleaned(monkeypatch: Any) -> list[int]:
    sizes: list[int] = []
    for name in ("_one_line", "_lines"):
        clean: Callable[[str], str] = getattr(text_module, name)

        def counted(text: str, clean: Callable[[str], str] = clean) -> str:
            sizes.append(len(text))
            return clean(text)

        monkeypatch.setattr(text_module, name, counted)
    return sizes


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (0, "0"),
        (-7, "-7"),
        (1.5, "1.5"),
        (-0.0, "-0.0"),
        (1e22, "1e+22"),
        (10**300, str(10**300)),
        (Level.HIGH, "3"),
        (Colour.RED, "red"),
    ],
)
def test_numbers_are_written_as_json_writes_them(value: object, written: str) -> None:
    """N5: ints and finite floats; a subclass is read as the plain value in it."""
    assert short_text(value, 400) == content_text(value, 400) == written
    assert value is Colour.RED or json.loads(written) == value


@pytest.mark.parametrize(
    "value",
    [
        *(None, True, False, float("nan"), float("inf"), -float("inf"), 10**309, -(10**5000), 1j, b"bytes"),
        *(bytearray(b"bytes"), ["list"], {"a": "dict"}, {"set"}, object(), str, Liar()),
    ],
    ids=lambda value: type(value).__name__,
)
def test_other_values_are_missing(value: object) -> None:
    """N5: what is neither text nor a number that a float holds has no text; `True` is not 1."""
    assert short_text(value, 80) == content_text(value, 80) == ""
    assert is_blank(value)
    assert not has_surrogate(value)


def test_hostile_subclasses_are_read_through_their_base() -> None:
    """N1: no method of a subclass is called, so one that raises changes nothing."""
    assert short_text(hostile(str)(" a  b "), 80) == "a b"
    assert content_text(hostile(str)(" a  b "), 80) == "a  b"
    assert short_text(hostile(int)(7), 80) == "7"
    assert short_text(hostile(float)(0.5), 80) == "0.5"
    assert is_blank(hostile(str)(" "))
    assert not is_blank(hostile(str)("a"))
    assert has_surrogate(hostile(str)("\ud800"))
    assert short_text(hostile(object)(), 80) == content_text(hostile(object)(), 80) == ""
    assert is_blank(hostile(object)())


@pytest.mark.parametrize("read", [short_text, content_text])
def test_the_text_is_exactly_a_str(read: Callable[[object, int], str]) -> None:
    """Clause 5.7: a subclass does not pass through, not even when its text needs no change."""
    assert type(read(Colour.RED, 80)) is str
    assert type(read(hostile(str)("same"), 80)) is str


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (1, 1),
        (-1.5, -1.5),
        (Level.HIGH, 3),
        (True, None),
        ("1", None),
        (float("nan"), None),
        (10**400, None),
        (None, None),
    ],
)
def test_finite_number_is_a_plain_number_or_none(value: object, number: float | None) -> None:
    """N8 and N11: what a float holds, as a plain int or float; a bool or a numeral is no number."""
    assert finite_number(value) == number
    assert type(finite_number(value)) is type(number)


def test_finite_number_reads_hostile_subclasses_through_their_base() -> None:
    """N1: neither `__float__` nor `__int__` of a subclass is called."""
    assert type(finite_number(hostile(float)(0.5))) is float
    assert type(finite_number(hostile(int)(5))) is int


@pytest.mark.parametrize(("text", "blank"), [("", True), ("\0", True), ("\u3164\ufe0f", True), ("\u2800", False)])
def test_is_blank_says_whether_nothing_is_visible(text: str, blank: bool) -> None:
    """N5: fillers and selectors alone show nothing; an empty Braille cell is a character like others."""
    assert is_blank(text) is blank


@quick
@given(nasty_texts)
def test_has_surrogate_says_whether_utf8_can_write_it(text: str) -> None:
    """Clause 5.8."""
    assert has_surrogate(text) is any("\ud800" <= char <= "\udfff" for char in text)


def test_is_a_believes_the_type_and_not_the_value() -> None:
    """A `__class__` that lies or raises is not asked, and a registered class is no subclass."""
    assert not is_a(Liar(), str)
    assert not is_a(hostile(object)(), str)
    assert issubclass(list, Registry)
    assert not is_a([], Registry)
    assert is_a(hostile(str)("x"), str)
    assert is_a(True, int)


def test_a_class_is_named_without_being_asked() -> None:
    """A metaclass may put anything in the place of a name, and a name may be a string of its own kind."""
    meta: Any = type("Meta", (type,), {"__name__": 5})
    assert class_name(meta(hostile(str)("Odd"), (), {})()) == "Odd"
