"""Strategies for single results, conforming ones and ones broken in one way; knows no list, host or request."""

import json
import math
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final, Never

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
    raise RuntimeError("a method of a vendor's object was called")


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

_NOT_TEXT: Final = _fresh(
    *(lambda: 0, lambda: 1.5, lambda: True, lambda: math.nan, lambda: 10**400, lambda: b"0", list, dict, Vendor)
)
_NOT_A_SCORE: Final = _fresh(
    *(lambda: math.nan, lambda: math.inf, lambda: -math.inf, lambda: True, lambda: "0.5", lambda: "high", lambda: 1j),
    *(lambda: 10**400, lambda: Decimal("0.5"), lambda: Fraction(1, 2)),
    *(lambda: _VendorFloat(0.5), lambda: _VendorInt(1)),
)
NOT_PLAIN: Final = _fresh(
    *(Vendor, lambda: _VendorStr("0"), lambda: _VendorFloat(0.5), lambda: _VendorInt(1), lambda: Decimal(1)),
    *(lambda: b"0", lambda: datetime(2026, 1, 1, tzinfo=UTC), lambda: iter(()), lambda: {0}, lambda: [0.25] * 8),
    *(VendorList, VendorTuple, VendorDict, lambda: math.nan),
)


def _text_faults(path: str, limit: int) -> dict[str, tuple[str, SearchStrategy[object]]]:
    # Clauses 5.2, 5.5, 5.7 and 5.8.
    return {
        f"{path} is no text": (path, _NOT_TEXT),
        f"{path} is a subclass of str": (path, TEXT.map(_VendorStr)),
        f"{path} has a lone surrogate": (path, st.sampled_from(["0\ud800", "\udfff0"])),
        f"{path} has a control": (path, st.sampled_from(["0\x000", "0\x1b[0m", "0\x850"])),
        f"{path} is too long": (path, st.integers(limit + 1, limit + 9).map("0".__mul__)),
    }


def _missing(path: str) -> dict[str, tuple[str, SearchStrategy[object]]]:
    # Clause 5.2, rules N5 and N7.
    return {
        f"{path} is null": (path, st.none()),
        f"{path} is blank": (path, st.sampled_from(["", " ", "\n", "\u200d\ufe0f", "\u3164", "\u202e", "\u00ad"])),
    }


_FAULTS: Final = {
    **_missing("id"),
    **_missing("content"),
    **_text_faults("id", limits.RESULT_ID_MAX),
    **_text_faults("content", limits.CONTENT_MAX),
    **_text_faults("source.id", limits.SOURCE_ID_MAX),
    **_text_faults("source.title", limits.SOURCE_TITLE_MAX),
    **_text_faults("source.mimeType", limits.SOURCE_MIME_TYPE_MAX),
    **_text_faults("source.locator", limits.SOURCE_LOCATOR_MAX),
    # Clause 5.4, rule N8.
    "score is no finite number": ("score", _NOT_A_SCORE),
    # Clause 5.5.
    "source is no mapping": ("source", _NOT_TEXT | st.just("source") | st.builds(VendorDict)),
    # Clauses 6.1 and 6.2, rule N10.
    "source.uri is no text": ("source.uri", _NOT_TEXT),
    "source.uri is private": ("source.uri", uris("private")),
    "source.uri has a credential": ("source.uri", uris("credential")),
    # Clause 5.6, rule N11.
    "metadata is no mapping": ("metadata", _fresh(lambda: "0", lambda: 1, lambda: [["a", 1]], Vendor, VendorDict)),
    "metadata has too many entries": ("metadata", st.integers(17, 20).map(lambda n: {str(i): i for i in range(n)})),
    "metadata has a long key": ("metadata", _fresh(lambda: {"0" * (limits.METADATA_KEY_MAX + 1): 1})),
    "metadata has a long text": ("metadata", _fresh(lambda: {"0": "0" * (limits.METADATA_TEXT_MAX + 1)})),
    "metadata has no text as key": ("metadata", _fresh(lambda: {1: 1}, lambda: {None: 1}, lambda: {b"0": 1})),
    "metadata has a blank key": ("metadata", _fresh(lambda: {"": 1}, lambda: {" ": 1, "0": 1})),
    "metadata has equal keys": ("metadata", _fresh(lambda: {"0": 1, " 0": 2}, lambda: {"a b": 1, "a  b": 2})),
    "metadata is not flat": ("metadata", _fresh(lambda: {"0": {}}, lambda: {"0": ["a"]}, lambda: {"0": None})),
    "metadata holds no plain data": ("metadata", NOT_PLAIN.map(lambda value: {"0": value})),
    # Clause 5.7.
    "a field of the vendor's": ("raw", NOT_PLAIN),
}


def _with(fields: Fields, path: str, value: object) -> Fields:
    name, _, inner = path.partition(".")
    return {**fields, name: {**(fields.get(name) or {}), inner: value} if inner else value}


def _by_other_names(fields: Fields) -> object:
    # Clause 5.2, rule N4.
    return {
        "chunkId": fields["id"],
        "text": fields["content"],
        "documentId": "0",
        "title": "0",
        "url": "0",
        "provider": "0",
    }


def _unchecked(fields: Fields) -> object:
    construct: Any = RetrievalResult.model_construct
    return construct(**{**fields, "id": None, "score": math.nan, "metadata": []})


# What a result as a whole may be instead (clauses 5.1 and 5.7, rule N3).
_WHOLE: Final[dict[str, Callable[[Fields], object]]] = {
    "a result by other names": _by_other_names,
    "a result in a subclass of dict": VendorDict,
    "a result in a vendor's model": lambda fields: _VendorResult(id=fields["id"], content=fields["content"]),
    "a result in an unchecked model": _unchecked,
    "a result in a list": lambda fields: [fields],
    "a result as JSON text": json.dumps,
    "a vendor's object for a result": lambda _: Vendor(),
    "null for a result": lambda _: None,
}


@st.composite
def _broken_results(draw: DrawFn) -> object:
    fields = draw(FIELDS)
    fault = draw(st.sampled_from([*_FAULTS, *_WHOLE]))
    event(f"broken result: {fault}")
    if fault in _WHOLE:
        return _WHOLE[fault](fields)
    path, values = _FAULTS[fault]
    return _with(fields, path, draw(values))


_BROKEN_RESULT: Final = _broken_results()


def results(*, valid: bool = True) -> SearchStrategy[object]:
    """Single results: conforming ones, or with ``valid=False`` ones that break section 5 or 6 of the contract once.

    Conforming ones keep every MUST and SHOULD, and normalising them changes nothing. They are mappings in either
    spelling, or ``RetrievalResult``.
    """
    return _CONFORMING_RESULT if valid else _BROKEN_RESULT
