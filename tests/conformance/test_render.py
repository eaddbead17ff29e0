"""One bounded line for any value, with no foreign code called and no secret shown."""

import collections
import decimal
import enum
import unicodedata
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Never

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knowledge_conformance import render
from knowledge_conformance.redact import MASK
from knowledge_conformance.render import never_show, show, show_error

SECRET = "q7Xw9ZbK2mLp4RtY-é"
NUMBER = 4815162342


@pytest.fixture(autouse=True, scope="module")
def declared() -> Iterator[None]:
    """Two secrets that were declared, for the tests of this module."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(render, "_declared", set())
        never_show([SECRET, str(NUMBER), ""])
        yield


class CalledError(BaseException):
    """Foreign code ran; no ``except Exception`` hides it."""


def _called(*_: object) -> Never:
    raise CalledError


_METHODS = (
    *("__repr__", "__str__", "__eq__", "__hash__", "__len__", "__bool__", "__iter__", "__getattribute__", "__format__"),
    *("__getitem__", "__contains__", "__index__", "__float__", "__int__", "__bytes__", "__lt__", "__call__", "__dir__"),
    *("items", "keys", "values", "encode", "decode", "startswith", "bit_length", "__class__"),
)
_TRAPS: dict[str, Any] = {name: property(_called) if name == "__class__" else _called for name in _METHODS}
_TYPE_TRAPS = {name: property(_called) for name in ("__name__", "__module__", "__class__")}
_Trap = type("_Trap", (type,), {**_TRAPS, **_TYPE_TRAPS, "__call__": type.__call__, "__instancecheck__": _called})


def _hostile(base: type, *arguments: object) -> object:
    return _Trap(f"Hostile{base.__name__}", (base,), dict(_TRAPS))(*arguments)


def _hostile_key() -> object:
    return _Trap("Key", (), {**_TRAPS, "__hash__": _one})()


def _one(_: object) -> int:
    return 1


def _renamed(name: Any, module: Any) -> object:
    kind = type("Plain", (), {"__module__": module})
    kind.__qualname__ = name
    return kind()


def _without_module() -> object:
    # Code that runs without a module name gives its classes none.
    space: dict[str, Any] = {}
    exec("made = type('Plain', (), {})()", space)
    return space["made"]


def _endless() -> list[object]:
    value: list[object] = []
    value.append({"again": value})
    return value


_Text = type("_Text", (str,), dict.fromkeys(("__str__", "__repr__", "__len__", "__getitem__", "isprintable"), _called))


# Each call makes a fresh value, since Hypothesis must not see (and print) the value itself.
ZOO: dict[str, Callable[[], object]] = {
    **{
        f"hostile {base.__name__}": partial(_hostile, base)
        for base in (object, str, int, float, bytes, list, tuple, dict, set, frozenset, collections.OrderedDict)
    },
    "hostile class": lambda: type(_hostile(object)),
    "hostile metaclass": lambda: _Trap,
    "hostile key": lambda: {_hostile_key(): 1},
    "renamed": lambda: _renamed("a\n\u202eb\ud800" * 99, _Text("m\x1b[31m")),
    "module is gone": _without_module,
    "module is no text": lambda: _renamed("Name", 5),
    "module is hostile": lambda: _renamed("Name", _hostile(object)),
    "module claims builtins": lambda: _renamed("str", "builtins"),
    "function": lambda: _called,
    "generator": lambda: (n for n in "abc"),
    "enum": lambda: enum.IntEnum("Colour", {"RED": 1}).RED,  # type: ignore[attr-defined]
    "decimal": lambda: decimal.Decimal("0.5"),
    "huge int": lambda: -(10**5000),
    "huge text": lambda: "ab \ud800\u202e" * 100_000,
    "huge bytes": lambda: b"\xff\x00" * 100_000,
    "endless": _endless,
    "deep": lambda: [[[[[["deep"]]]]]],
    "wide": lambda: {str(n): [n] for n in range(10_000)},
    "unordered": lambda: {frozenset({1, "1", None})},
    "not a number": lambda: [float("nan"), float("-inf"), complex("nan"), -0.0, 1e300],
    "odd": lambda: (..., None, True, NotImplemented, slice(1), range(5), memoryview(b"x"), bytearray(b"x")),
}


def _is_harmless(line: str) -> bool:
    line.encode()
    return all(unicodedata.category(character) not in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"} for character in line)


@pytest.mark.parametrize("name", ZOO)
def test_no_foreign_code_is_called(name: str) -> None:
    """Nothing of a foreign value or its class is called, inside or alone, and the line is bounded and harmless."""
    value = ZOO[name]()
    for line in (show(value), show([value]), show({"x": (value,)})):
        assert 0 < len(line) <= 80
        assert _is_harmless(line)


def _values() -> st.SearchStrategy[object]:
    text = st.text(st.characters())
    leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.complex_numbers() | text | st.binary()
    hashable = leaves | st.tuples(leaves, leaves)
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner) | st.tuples(inner) | st.dictionaries(hashable, inner) | st.frozensets(hashable),
        max_leaves=12,
    )


@settings(max_examples=300, deadline=None, database=None)
@given(value=_values(), limit=st.integers(-5, 300))
def test_every_line_is_bounded_and_harmless(value: object, limit: int) -> None:
    """Any plain value, at any limit: one line that a terminal cannot be fooled by, and always the same."""
    line = show(value, limit=limit)
    assert 0 < len(line) <= max(limit, 20)
    assert _is_harmless(line)
    assert show(value, limit=limit) == line


WRITTEN: tuple[tuple[object, str], ...] = (
    (None, "None"),
    ("release policy", "'release policy'"),
    ('a "quoted" one', "'a \"quoted\" one'"),
    ("知识库 Straße 🙂", "'知识库 Straße 🙂'"),
    ("a\n\x00\x1b[31m\u202e\u200b\ufe0f\ud800\U000e0041", r"'a\n\x00\x1b[31m\u202e\u200b\ufe0f\ud800\U000e0041'"),
    ("x" * 1234, "'" + "x" * 58 + "'… (1,234 characters)"),
    ("\u202e" * 99, "'" + r"\u202e" * 10 + "'… (99 characters)"),
    (b"\xff\x00abc", r"b'\xff\x00abc'"),
    (float("nan"), "nan"),
    (10**5000, "<int of about 5,001 digits>"),
    ((1,), "(1,)"),
    ((), "()"),
    (set[int](), "set()"),
    ({2, 1}, "{1, 2}"),
    (frozenset({"a"}), "frozenset({'a'})"),
    (set(range(9)), "{…} (9 entries)"),
    ([1] * 9, "[1, 1, 1, 1, …] (9 entries)"),
    (
        {"id": "a", "source": {"uri": "x", "tags": ["deep"]}},
        "{'id': 'a', 'source': {'uri': 'x', 'tags': […] (1 entries)}}",
    ),
    (object(), "<object object>"),
    (decimal.Decimal("0.5"), "<decimal.Decimal object>"),
    (collections.OrderedDict[str, int](a=1), "<collections.OrderedDict object>"),
    (ValueError, "<type object>"),
)


@pytest.mark.parametrize(("value", "line"), WRITTEN, ids=[line for _, line in WRITTEN])
def test_plain_values_are_written_as_python_writes_them(value: object, line: str) -> None:
    """Readable where it is safe: text in any script, numbers, shallow containers."""
    assert show(value) == line


def test_a_line_does_not_depend_on_the_order_of_a_set() -> None:
    """Two processes hash differently, and their reports must have the same bytes."""
    assert show({"b", "a", "c"}) == "{'a', 'b', 'c'}"


@pytest.mark.parametrize(
    "value",
    [
        SECRET,
        f"x{SECRET}y" * 50,
        SECRET.encode(),
        bytearray(SECRET.encode() * 50),
        {"a": [f"see {SECRET}"]},
        {SECRET: 1},
        {"api_key": SECRET},
        "https://user:q7Xw9ZbK@example.com/",
        {"password": "q7Xw9ZbK"},
        [("authorization", "Bearer q7Xw9ZbK")],
        {"pwd": {"value": "q7Xw9ZbK"}},
        b"password=q7Xw9ZbK",
        type(SECRET, (), {}),
        type(SECRET, (), {})(),
    ],
)
@pytest.mark.parametrize("limit", [20, 33, 80, 1000])
def test_no_secret_is_shown(value: object, limit: int) -> None:
    """Known ones nowhere; unknown ones not where a name or a place tells them, also across a container."""
    line = show(value, limit=limit)
    assert "q7Xw" not in line
    assert "4RtY" not in line


def test_a_known_number_is_masked() -> None:
    """A numeric secret is one too."""
    assert show(NUMBER) == MASK


class _FailingError(Exception):
    def __init__(self, answer: Callable[[], object]) -> None:
        self.answer = answer

    def __str__(self) -> str:
        return self.answer()  # type: ignore[return-value]


def _raiser(error: BaseException) -> Callable[[], object]:
    def answer() -> object:
        raise error

    return answer


@pytest.mark.parametrize(
    "answer",
    [
        *map(_raiser, (ValueError("x"), SystemExit(0), KeyboardInterrupt(), CalledError(), RecursionError())),
        lambda: None,
        lambda: 5,
        lambda: b"x",
    ],
)
def test_a_message_that_cannot_be_read_is_said_to_be_unreadable(answer: Callable[[], object]) -> None:
    """What an exception's own ``__str__`` does never becomes the kit's failure."""
    assert show_error(_FailingError(answer)) == f"{_FailingError.__module__}._FailingError: <unreadable message>"


def test_an_error_of_a_builtin_type_may_hold_a_hostile_argument() -> None:
    """``str(ValueError(value))`` calls the value's ``__str__``."""
    assert show_error(ValueError(_hostile(object))) == "ValueError: <unreadable message>"


def test_an_error_of_a_hostile_class_has_a_line() -> None:
    """Its class's name is read past its metaclass."""
    error = _hostile(ValueError)
    assert isinstance(error, BaseException)
    assert show_error(error).endswith("HostileValueError: <unreadable message>")


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (ValueError("no"), "ValueError: no"),
        (ValueError(), "ValueError"),
        (KeyError("id"), "KeyError: 'id'"),
        (ValueError("two\nlines\u202e"), r"ValueError: two\nlines\u202e"),
        (decimal.DivisionByZero("x"), "decimal.DivisionByZero: x"),
        (ExceptionGroup("many", [ValueError("a")]), "ExceptionGroup: many (1 sub-exception)"),
        (PermissionError("Authorization: Bearer abc"), f"PermissionError: Authorization: {MASK}"),
        (_FailingError(lambda: _Text("as it is")), f"{_FailingError.__module__}._FailingError: as it is"),
    ],
)
def test_an_error_is_its_type_and_its_redacted_message(error: BaseException, line: str) -> None:
    """One line, escaped and redacted, the module named unless it is a builtin."""
    assert show_error(error) == line


@pytest.mark.parametrize("limit", [0, 30, 200])
def test_an_error_line_is_bounded_and_keeps_no_part_of_a_secret(limit: int) -> None:
    """A vendor's page of HTML is no message, and a cut does not save half a key."""
    line = show_error(OSError(f"at {SECRET} " + "x\ud800 " * 500_000), limit=limit)
    assert len(line) <= max(limit, 20)
    assert _is_harmless(line)
    assert "q7X" not in line


@pytest.mark.parametrize("use", [repr, str, len, hash, list, bool, type.__call__])
def test_the_hostile_values_of_this_file_do_object_to_being_used(use: Callable[[object], object]) -> None:
    """What the tests above rest on: whoever calls a hostile value, or reads its class's name, is found out."""
    with pytest.raises(CalledError):
        use(_hostile(list) if use is not type.__call__ else _hostile(object).__class__.__name__)
