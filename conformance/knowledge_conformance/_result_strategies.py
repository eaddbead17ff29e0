"""Strategies for single results, conforming ones and ones broken in one way; knows no list, host or request."""

import json
import math
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final, NamedTuple, Never

from hypothesis import event
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from knowledge_conformance._text_strategies import TEXT, lines
from knowledge_conformance._uri_strategies import uris
from knowledge_provider import RetrievalResult, limits
from knowledge_provider.text import content_text

Fields = dict[str, Any]
"""A result in the wire's names."""


class Vendor:
    """Any object of a vendor's."""

    def __repr__(self) -> str:
        return "<object of a vendor's>"


class _VendorResult(RetrievalResult):
    """A model of a vendor's own, which happens to fit."""


def _refuse(*_: object) -> Never:
    raise RuntimeError(
        "a method of a vendor's object was called: read it through its base type, as dict.get(value, 'id'), or drop it"
    )


def _vendor(base: type, *refusing: str) -> Callable[..., Any]:
    # Rule N1: a subclass is read through the base type's own methods, since its own may do anything.
    return type(f"Vendor{base.__name__}", (base,), {**dict.fromkeys(refusing, _refuse), "__repr__": base.__repr__})


_VendorStr: Final = _vendor(str, "__str__", "__len__", "__iter__", "__eq__", "__hash__", "strip", "split", "encode")
_VendorInt: Final = _vendor(int, "__int__", "__index__", "__float__", "__eq__", "__lt__", "bit_length")
_VendorFloat: Final = _vendor(float, "__float__", "__eq__", "__lt__", "__sub__", "is_integer")
VendorList: Final = _vendor(list, "__iter__", "__len__", "__getitem__")
VendorTuple: Final = _vendor(tuple, "__iter__", "__len__", "__getitem__")
VendorDict: Final = _vendor(
    dict, "__iter__", "__len__", "__getitem__", "__contains__", "get", "items", "keys", "values"
)


def _fresh(*makers: Callable[[], object]) -> SearchStrategy[object]:
    return st.sampled_from(makers).map(lambda make: make())


# A conforming result, in the wire's names. What is drawn is normal already, so that normalising loses nothing (5.9).
_SOURCE: Final = st.fixed_dictionaries(
    {},
    optional={
        "id": lines(limits.SOURCE_ID_MAX),
        "title": lines(limits.SOURCE_TITLE_MAX),
        "uri": uris("public"),
        "mimeType": st.sampled_from(["text/plain", "text/markdown", "application/pdf"]),
        "locator": lines(limits.SOURCE_LOCATOR_MAX),
    },
)
_NUMBERS: Final = st.integers(-1, 1) | st.floats(allow_nan=False, allow_infinity=False)
_METADATA: Final = st.dictionaries(
    lines(limits.METADATA_KEY_MAX), st.booleans() | _NUMBERS | lines(limits.METADATA_TEXT_MAX), max_size=3
) | _fresh(lambda: {str(n): n for n in range(limits.METADATA_ENTRIES_MAX)})
REQUIRED_FIELDS: Final[SearchStrategy[Fields]] = st.fixed_dictionaries(
    {"id": lines(limits.RESULT_ID_MAX), "content": lines(limits.CONTENT_MAX)}
)
FIELDS: Final[SearchStrategy[Fields]] = st.fixed_dictionaries(
    {
        "id": lines(limits.RESULT_ID_MAX),
        "content": TEXT.map(lambda text: content_text(text, limits.CONTENT_MAX) or "0"),
    },
    optional={"score": _NUMBERS, "source": _SOURCE | st.none(), "metadata": _METADATA},
)


def _in_python_names(fields: Fields) -> Fields:
    source = fields.get("source")
    if not source or "mimeType" not in source:
        return fields
    return {**fields, "source": {"mime_type" if name == "mimeType" else name: source[name] for name in source}}


# Either spelling, or the contract's model.
WRITERS: Final[SearchStrategy[Callable[[Fields], object]]] = st.sampled_from(
    [dict, _in_python_names, RetrievalResult.model_validate]
)
_CONFORMING_RESULT: Final = st.builds(lambda write, fields: write(fields), WRITERS, FIELDS)

# Clauses 5.2, 5.5, 5.7 and 5.8: what may stand for a text of at most so many code points, by what is wrong with it.
_Maker = Callable[[int], object]
_TEXT_FAULTS: Final[tuple[tuple[str, tuple[_Maker, ...]], ...]] = (
    ("is a number", (lambda _: 0, lambda _: 1.5, lambda _: True, lambda _: math.nan, lambda _: 10**400)),
    ("is of another type", (lambda _: [], lambda _: {}, lambda _: b"0", lambda _: Vendor())),
    ("is a subclass of str", (lambda _: _VendorStr("0"),)),
    ("has a lone surrogate", (lambda _: "0\ud800", lambda _: "\udfff0")),
    ("has a control", (lambda _: "0\x000", lambda _: "0\x1b[0m", lambda _: "0\x850")),
    ("is too long", (lambda limit: "0" * (limit + 1), lambda limit: "知" * limit * 2)),
)
_TEXT_PLACES: Final = {
    "id": limits.RESULT_ID_MAX,
    "content": limits.CONTENT_MAX,
    "source.id": limits.SOURCE_ID_MAX,
    "source.title": limits.SOURCE_TITLE_MAX,
    "source.mimeType": limits.SOURCE_MIME_TYPE_MAX,
    "source.locator": limits.SOURCE_LOCATOR_MAX,
}
# Clause 5.2, rules N5 and N7: nothing visible is blank.
_BLANK: Final = (None, "", " ", "\n", "\u200d\ufe0f", "\u3164", "\u202e", "\u00ad")
# Clause 5.4, rule N8.
_NOT_A_SCORE: Final = _fresh(
    *(lambda: math.nan, lambda: math.inf, lambda: -math.inf, lambda: True, lambda: "0.5", lambda: "high", lambda: 1j),
    *(lambda: 10**400, lambda: Decimal("0.5"), lambda: Fraction(1, 2)),
    *(lambda: _VendorFloat(0.5), lambda: _VendorInt(1)),
)
# Clause 5.7.
NOT_PLAIN: Final = _fresh(
    *(Vendor, lambda: _VendorStr("0"), lambda: _VendorFloat(0.5), lambda: _VendorInt(1), lambda: Decimal(1)),
    *(lambda: b"0", lambda: datetime(2026, 1, 1, tzinfo=UTC), lambda: iter(()), lambda: {0}, lambda: [0.25] * 8),
    *(VendorList, VendorTuple, VendorDict, lambda: math.nan),
)
# Clause 5.6, rule N11.
_NOT_METADATA: Final[tuple[tuple[str, SearchStrategy[object]], ...]] = (
    ("has too many entries", st.integers(17, 20).map(lambda size: {str(n): n for n in range(size)})),
    ("has a long key", _fresh(lambda: {"0" * (limits.METADATA_KEY_MAX + 1): 1})),
    ("has a long text", _fresh(lambda: {"0": "0" * (limits.METADATA_TEXT_MAX + 1)})),
    ("has no text as key", _fresh(lambda: {1: 1}, lambda: {None: 1}, lambda: {b"0": 1})),
    ("has a blank key", _fresh(lambda: {"": 1}, lambda: {" ": 1, "0": 1})),
    ("has equal keys", _fresh(lambda: {"0": 1, " 0": 2}, lambda: {"a b": 1, "a  b": 2})),
    ("is not flat", _fresh(lambda: {"0": {}}, lambda: {"0": ["a"]}, lambda: {"0": None})),
    ("holds no plain data", NOT_PLAIN.map(lambda value: {"0": value})),
    ("is no mapping", _fresh(lambda: "0", lambda: 1, lambda: [["a", 1]], Vendor, VendorDict)),
)
# Clause 5.5.
_NOT_A_SOURCE: Final = _fresh(lambda: "0", lambda: 1, list, lambda: [["id", "0"]], Vendor, VendorDict)


class _Change(NamedTuple):
    """One thing to break in a conforming result, and its name."""

    name: str
    apply: Callable[[Fields], object]


def _setting(name: str, path: str, value: object) -> _Change:
    outer, _, inner = path.partition(".")

    def apply(fields: Fields) -> object:
        return {**fields, outer: {**(fields.get(outer) or {}), inner: value} if inner else value}

    return _Change(f"{path} {name}", apply)


def _settings(path: str, name: str, values: SearchStrategy[Any]) -> SearchStrategy[_Change]:
    return values.map(lambda value: _setting(name, path, value))


@st.composite
def _text_changes(draw: DrawFn) -> _Change:
    path = draw(st.sampled_from(list(_TEXT_PLACES)))
    name, makers = draw(st.sampled_from(_TEXT_FAULTS))
    return _setting(name, path, draw(st.sampled_from(makers))(_TEXT_PLACES[path]))


@st.composite
def _metadata_changes(draw: DrawFn) -> _Change:
    name, values = draw(st.sampled_from(_NOT_METADATA))
    return _setting(name, "metadata", draw(values))


def _by_other_names(fields: Fields) -> object:
    # Clause 5.2, rule N4.
    return {"chunkId": fields["id"], "text": fields["content"], "documentId": "0", "url": "0", "provider": "0"}


def _unchecked(fields: Fields) -> object:
    construct: Any = RetrievalResult.model_construct
    return construct(**{**fields, "id": None, "score": math.nan, "metadata": []})


# What a result as a whole may be instead (clauses 5.1 and 5.7, rule N3).
_WHOLE: Final = st.sampled_from(
    (
        _Change("has other names", _by_other_names),
        _Change("is in a subclass of dict", VendorDict),
        _Change("is in a vendor's model", lambda fields: _VendorResult(id=fields["id"], content=fields["content"])),
        _Change("is in an unchecked model", _unchecked),
        _Change("is in a list", lambda fields: [fields]),
        _Change("is JSON text", json.dumps),
        _Change("is a vendor's object", lambda _: Vendor()),
        _Change("is null", lambda _: None),
    )
)
# Drawn in two steps, so that each part of a result is broken as often as another, whatever the number of ways.
_CHANGES: Final[tuple[SearchStrategy[_Change], ...]] = (
    _settings("score", "is no finite number", _NOT_A_SCORE),
    _text_changes(),
    _metadata_changes(),
    _WHOLE,
    _settings("id", "is blank", st.sampled_from(_BLANK)),
    _settings("content", "is blank", st.sampled_from(_BLANK)),
    # Clauses 6.1 and 6.2, rule N10.
    _settings("source.uri", "is private", uris("private")),
    _settings("source.uri", "has a credential", uris("credential")),
    _settings("source.uri", "is no text", _fresh(lambda: 0, list, lambda: _VendorStr("https://example.com/"))),
    _settings("source", "is no mapping", _NOT_A_SOURCE),
    _settings("raw", "is no plain data", NOT_PLAIN),
)


@st.composite
def _broken_results(draw: DrawFn) -> object:
    fields = draw(FIELDS)
    change = draw(draw(st.sampled_from(_CHANGES)))
    event(f"broken result: {change.name}")
    return change.apply(fields)


_BROKEN_RESULT: Final = _broken_results()


def results(*, valid: bool = True) -> SearchStrategy[object]:
    """Single results: conforming ones, or with ``valid=False`` ones that break section 5 or 6 of the contract once.

    Conforming ones keep every MUST and SHOULD, and normalising them changes nothing. They are mappings in either
    spelling, or ``RetrievalResult``.
    """
    return _CONFORMING_RESULT if valid else _BROKEN_RESULT
