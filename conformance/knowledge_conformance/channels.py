"""Every text that comes out of a call, and a search for secrets in them; knows answers and exceptions, no check.

Whatever a provider hands out is foreign: writing it runs its code, which may raise or answer anything.
"""

import threading
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Final, NamedTuple

from knowledge_conformance.parts import MODELS, Path, parts_of, show_path
from knowledge_conformance.plain import copied, is_exactly
from knowledge_conformance.taint import Found, found_in
from knowledge_provider.text import is_a

TEXT_MAX: Final = 1 << 20
"""Code points of one text that are searched."""
_ERRORS_MAX: Final = 32
_CONTAINERS: Final = (list, tuple, dict, *MODELS)
_LEAKS_MAX: Final = 256

Place = str | Callable[[], str]
"""Where a text stands, in words; for most texts nobody asks."""
Texts = Iterator[tuple[Place, str]]
"""Texts with their places."""


class Leak(NamedTuple):
    """A secret in a place where it may not be: which, in which ``channel``, and during which call.

    What was ``heard`` may have come from any thread, so that its order among others means nothing.
    """

    found: Found
    channel: str
    call: str
    heard: bool = False


class Search:
    """Looks for ``secrets``, values by their names, in whatever it is shown; from any thread.

    ``call`` is the call that goes on now. ``control`` is a value that the kit itself writes, to see that it would be
    found: where it came out is in ``controlled``, and it is no leak.
    """

    def __init__(self, secrets: Mapping[str, str], control: str | None = None) -> None:
        self.secrets = secrets
        self.control = control
        self.call: str = ""
        self.controlled: set[str] = set()
        self.leaks: list[Leak] = []
        self._lock = threading.Lock()

    @property
    def ordered(self) -> list[Leak]:
        """The leaks by their calls, those of one call always in the same order."""
        calls = list(dict.fromkeys(leak.call for leak in self.leaks))
        return sorted(self.leaks, key=lambda leak: (calls.index(leak.call), leak.heard, leak.heard and leak.channel))

    def hear(self, channel: str, text: str) -> None:
        """Search one text that was written meanwhile."""
        self.look(channel, text, heard=True)

    def look(self, channel: Place, text: str, *, heard: bool = False) -> None:
        """Search one text that came out of ``channel``."""
        text = text[:TEXT_MAX]
        found = found_in(text, self.secrets)
        controlled = self.control is not None and self.control in text
        if found is None and not controlled:
            return
        place = channel if isinstance(channel, str) else channel()
        with self._lock:
            if controlled:
                self.controlled.add(place)
            if found is not None and len(self.leaks) < _LEAKS_MAX:
                self.leaks.append(Leak(found, place, self.call, heard))

    def look_at(self, texts: Texts) -> None:
        """Search texts with their places."""
        for channel, text in texts:
            self.look(channel, text)


def texts_of_answer(answer: object, name: str = "answer") -> Texts:
    """Every text of an answer, a description or a health, keys too; what is no plain data as ``repr()`` writes it."""
    for path, part in parts_of(answer):
        text = _written(part)
        if text:
            yield partial(_place, name, path), text


def _place(name: str, path: Path) -> str:
    return f"{name}{show_path(path).removeprefix('answer')}"


def _written(part: object) -> str:
    if is_a(part, str):
        return copied(part) or ""
    if is_exactly(part, bytes, bytearray):
        return bytes(part).decode("latin-1")  # type: ignore[call-overload, no-any-return] # the types were just looked at
    # Containers and models are looked at part by part.
    return "" if part is None or is_exactly(part, bool, int, float, *_CONTAINERS) else text_of(repr, part)


def texts_of_value(name: str, value: object) -> Texts:
    """What ``repr()``, ``str()`` and ``format()`` write of a value, unless it is plain data, whose parts say it all."""
    if value is None or is_exactly(value, str, list, tuple, dict):
        return
    written = {text_of(write, value): f"{write.__name__}({name})" for write in (format, str, repr)}
    yield from ((place, text) for text, place in written.items())


def texts_of_error(error: BaseException) -> Texts:
    """What an exception says: message, ``repr()``, arguments and notes, with its causes, contexts and members.

    A context that ``from None`` hides is one of them: error trackers send it all the same.
    """
    waiting: list[tuple[str, BaseException]] = [("the exception", error)]
    seen: set[int] = set()
    while waiting and len(seen) < _ERRORS_MAX:
        name, each = waiting.pop(0)
        if id(each) in seen:
            continue
        seen.add(id(each))
        yield from texts_of_message(each, name)
        waiting.extend((f"{way} of {name}", other) for way, other in _behind(each))


def texts_of_message(error: BaseException, name: str = "the exception") -> Texts:
    """What an exception says itself: message, ``repr()``, arguments and notes, and nothing that stands behind it."""
    yield f"the message of {name}", text_of(str, error)
    yield f"repr() of {name}", text_of(repr, error)
    yield from _inside(f"the arguments of {name}", _own(error, "args"))
    yield from _inside(f"a note of {name}", _own(error, "__notes__"))


def _inside(name: str, held: object) -> Texts:
    for _, part in parts_of(held):
        yield name, _written(part)


def _behind(error: BaseException) -> Iterator[tuple[str, BaseException]]:
    cause = _own(error, "__cause__")
    for way, other in (("the __cause__", cause), ("the __context__", _own(error, "__context__"))):
        if is_a(other, BaseException) and (other is not cause or way == "the __cause__"):
            yield way, other
    members = _own(error, "exceptions") if is_a(error, BaseExceptionGroup) else ()
    for member in members if type(members) is tuple else ():
        yield "a member", member


def _own(error: BaseException, name: str) -> Any:
    # A class may define properties of these names.
    try:
        return getattr(error, name, None)
    except BaseException:  # the provider's code
        return None


def text_of(write: Callable[[Any], str], value: object) -> str:
    """What ``write`` gives, as an exact string, or "" where it raises or answers something else."""
    try:
        return str.__str__(write(value))[:TEXT_MAX]
    except BaseException:  # as above: what a ``__repr__`` raises is no finding here
        return ""
