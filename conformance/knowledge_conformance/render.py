"""One bounded, harmless line about any Python value; knows builtin types, never calls a method of a foreign one.

A provider's answer is foreign data: a ``__repr__`` may raise, a metaclass may lie about its class's name, a string may
reorder the line on a terminal. Whatever comes, the line can be written as UTF-8, holds no control or invisible
character, and has no known secret in it and nothing that looks like one.
"""

import re
from collections.abc import Callable, Iterable
from itertools import accumulate, islice
from typing import Any, Final, NamedTuple

from knowledge_conformance.redact import mask_known, redact

_LIMIT_MIN: Final = 20
_ENTRIES_MAX: Final = 4
_DEPTH_MAX: Final = 2
_INT_BITS_MAX: Final = 128
_DIGITS_IN_A_BIT: Final = 0.30103
_NAME_MAX: Final = 120
# Redacting may shorten a text, so more of it is looked at than is shown.
_HEADROOM: Final = 4

# Printable by Python's measure and yet not seen: joiners of marks, fillers, variation selectors, blank Braille.
_UNSEEN: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)


_declared: set[str] = set()


def never_show(secrets: Iterable[str]) -> None:
    """Mask these values in everything that this process shows from now on.

    The one state of this module: they have to be masked before a text is cut, wherever in the kit it is shown, and
    read before there is a provider, which may take them out of the environment.
    """
    _declared.update(secret for secret in secrets if secret)


def without_declared(text: str) -> str:
    """``text`` as it is, long or of several lines, but for what ``never_show`` was told; nothing is guessed."""
    return mask_known(text, _declared, limit=len(text))


class _View(NamedTuple):
    """How much room a value has, how deep in containers it stands, and what must not be seen of it."""

    room: int
    secrets: tuple[str, ...]
    depth: int = 0

    def inside(self) -> "_View":
        return _View(max(self.room // 2, _LIMIT_MIN), self.secrets, self.depth + 1)


def show(value: object, *, limit: int = 80) -> str:
    """``value`` as one line of at most ``limit`` code points (20 at least), for an error message; never raises.

    Exact builtin types are shown as Python writes them: long strings cut, with their length named, containers two
    levels deep and four entries wide. Anything else is shown by its type's name alone. Redacted, with what
    ``never_show`` was told.
    """
    room = max(limit, _LIMIT_MIN)
    return _cut(_shown(value, _View(room, tuple(_declared))), room)


def show_error(error: BaseException, *, limit: int = 200) -> str:
    """``TypeName: message`` as one line of at most ``limit`` code points (20 at least); never raises.

    The message is redacted, as in ``show``. One that cannot be read, because ``__str__`` raises or answers something
    other than a string, is said to be unreadable.
    """
    room = max(limit, _LIMIT_MIN)
    known = tuple(_declared)
    message = visible(redact(_message(error), known, limit=_HEADROOM * room))
    name = _type_name(type(error), known)
    return _cut(f"{name}: {message}" if message else name, room)


def _shown(value: object, view: _View) -> str:
    # By identity: a metaclass may define how its classes are hashed and compared.
    writer = _WRITERS.get(id(type(value)))
    return writer(value, view) if writer else f"<{_type_name(type(value), view.secrets)} object>"


def _plain(value: object, view: _View) -> str:
    return mask_known(repr(value), view.secrets)


def _int(value: int, view: _View) -> str:
    # Python refuses to write an int of more than 4,300 digits.
    if value.bit_length() <= _INT_BITS_MAX:
        return _plain(value, view)
    return f"<int of about {int(value.bit_length() * _DIGITS_IN_A_BIT) + 1:,} digits>"


def _str(value: str, view: _View) -> str:
    return _text(value, view, _quoted)


def _bytes(value: bytes | bytearray, view: _View) -> str:
    # One character for each byte, so secrets are looked for as UTF-8 would look in that reading.
    misread = (secret.encode("utf-8", "surrogatepass").decode("latin-1") for secret in view.secrets)
    view = view._replace(secrets=(*view.secrets, *misread))
    kind = type(value)
    return _text(value.decode("latin-1"), view, lambda text: repr(kind(text.encode("latin-1"))))


def _text(text: str, view: _View, write: Callable[[str], str]) -> str:
    looked_at = _HEADROOM * view.room
    shown = redact(text, view.secrets, limit=looked_at)
    if len(text) <= looked_at and len(write(shown)) <= view.room:
        return write(shown)
    note = f"… ({len(text):,} characters)"
    return f"{write(_beginning(shown.removesuffix('…'), view.room - len(note), write))}{note}"


def _beginning(text: str, room: int, write: Callable[[str], str]) -> str:
    quotes = len(write(""))
    widths = accumulate(len(write(character)) - quotes for character in text[: max(room, 0)])
    return text[: sum(width <= room - quotes for width in widths)]


def _list(value: list[object], view: _View) -> str:
    return _container("[", "]", (_shown(entry, view.inside()) for entry in value), len(value), view)


def _tuple(value: tuple[object, ...], view: _View) -> str:
    entries = (_shown(entry, view.inside()) for entry in value)
    return _container("(", ",)" if len(value) == 1 else ")", entries, len(value), view)


def _dict(value: dict[object, object], view: _View) -> str:
    inner = view.inside()
    entries = (f"{_shown(key, inner)}: {_shown(entry, inner)}" for key, entry in value.items())
    return _container("{", "}", entries, len(value), view)


def _set(value: set[object] | frozenset[object], view: _View) -> str:
    if not value:
        return repr(value)
    # The order depends on the process's hash seed, and two reports must not differ: sorted, or not shown.
    few = value if len(value) <= _ENTRIES_MAX and view.depth < _DEPTH_MAX else ()
    entries = sorted(_shown(entry, view.inside()) for entry in few)
    before, after = ("{", "}") if type(value) is set else ("frozenset({", "})")
    return _container(before, after, entries, len(value), view)


def _container(before: str, after: str, entries: Iterable[str], count: int, view: _View) -> str:
    head = list(islice(entries, _ENTRIES_MAX)) if view.depth < _DEPTH_MAX else []
    rest = ["…"] if count > len(head) else []
    # As a whole once more: what a name says of the value beside it shows only here.
    line = redact(f"{before}{', '.join(head + rest)}{after}", view.secrets)
    return f"{line} ({count:,} entries)" if rest else line


def _message(error: BaseException) -> str:
    try:
        return str.__str__(str(error))
    except BaseException:  # Also what ends a process: raised here, it is the error's doing and not the user's.
        return "<unreadable message>"


def _type_name(kind: type, secrets: tuple[str, ...]) -> str:
    # Through the descriptors of ``type`` itself, because a metaclass may define properties of these names.
    module, name = _type_text(kind, "__module__"), _type_text(kind, "__qualname__")
    full = name if module in ("", "builtins") else f"{module}.{name}"
    return _cut(visible(mask_known(full, secrets, limit=_NAME_MAX + 1)), _NAME_MAX)


def _type_text(kind: type, name: str) -> str:
    # ``__module__`` is whatever a class body says, may be missing, and is found by comparing with foreign keys.
    try:
        value = type.__dict__[name].__get__(kind, type)
    except Exception:
        return ""
    return str.__str__(value) if issubclass(type(value), str) else ""


def _quoted(text: str) -> str:
    return _UNSEEN.sub(_escape, repr(text))


def visible(text: str) -> str:
    """``text`` on one line, with what no reader would see, or would reorder the line, as escapes; nothing hidden."""
    return "".join(c if c.isprintable() and not _UNSEEN.match(c) else _code(c) for c in text)


def _escape(match: re.Match[str]) -> str:
    return _code(match[0])


def _code(character: str) -> str:
    return character.encode("unicode_escape").decode()


def _cut(line: str, room: int) -> str:
    return line if len(line) <= room else f"{line[: room - 1]}…"


_WRITERS: Final[dict[int, Callable[[Any, _View], str]]] = {
    **dict.fromkeys(map(id, (type(None), bool, float, complex, type(...))), _plain),
    id(int): _int,
    id(str): _str,
    id(bytes): _bytes,
    id(bytearray): _bytes,
    id(list): _list,
    id(tuple): _tuple,
    id(dict): _dict,
    id(set): _set,
    id(frozenset): _set,
}
