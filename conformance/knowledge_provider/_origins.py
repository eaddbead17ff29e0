"""Where an error is from, in words for a log: classes and places alone; knows no provider, source or request.

What an error says may hold a query, a content, a URL or a key (clauses 6.4, 10.8), so that no text of it is read. What
is left has to do for mending a mistake: the class, the file, the line and the function.
"""

import sys
import sysconfig
import traceback
from collections.abc import Iterator
from pathlib import Path, PurePath
from typing import Any, Final, NamedTuple

from knowledge_provider.errors import read_or_none
from knowledge_provider.text import class_name

_PACKAGE: Final = str(Path(__file__).parent)
_INSTALLED: Final = tuple(
    {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")} | {_PACKAGE}
)
# Far more than a name needs: some code is made while a program runs, and named by what it is made from.
_NAME_MAX: Final = 80
# Also where a subclass has put something else in the way.
_TRACEBACK: Final = BaseException.__dict__["__traceback__"]
_MODULE: Final = type.__dict__["__module__"]
_CAUSE: Final = BaseException.__dict__["__cause__"]


class _Place(NamedTuple):
    path: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{_plain(PurePath(self.path).name)}:{self.line} in {_plain(self.function)}"


def origin(error: BaseException) -> str:
    """The error's class, where it was raised, and under which line of who was called; the same of its ``__cause__``.

    One line without any text of the error. Raises nothing, whatever the error is.
    """
    cause = _CAUSE.__get__(error)
    return _raised(error) if cause is None else f"{_raised(error)}, because of {_raised(cause)}"


def why(error: BaseException | None) -> str:
    """What a log line says after who failed, with what leads there; "" without an error.

    An error that nobody raised was made by this package, to say what an answer lacks: those are words of our own.
    """
    if error is None:
        return ""
    return (
        f": {origin(error)}" if _TRACEBACK.__get__(error) is not None else f": {str(error) or 'cancelled from within'}"
    )


def _raised(error: BaseException) -> str:
    places = tuple(_places(error))
    kind = _kind(error)
    if not places:
        return kind
    own = next((place for place in reversed(places) if not place.path.startswith(_INSTALLED)), None)
    # A call whose arguments do not fit ends before anything of it has run.
    under = ", before any code of its own" if own is None and places[-1].path.startswith(_PACKAGE) else ""
    if own is not None and own != places[-1]:
        under = f", under {own}"
    return f"{kind} at {places[-1]}{under}"


def _kind(error: BaseException) -> str:
    # A class that was made while the program ran may be named by anything; a module has only what is written in it.
    kind, name = type(error), class_name(error)
    written = read_or_none(lambda: vars(sys.modules[_MODULE.__get__(kind)]).get(name))
    return _plain(name) if written is kind else "an error of its own"


def _places(error: Any) -> Iterator[_Place]:
    for frame, line in traceback.walk_tb(_TRACEBACK.__get__(error)):
        code = frame.f_code
        yield _Place(code.co_filename, line, code.co_name)


def _plain(name: str) -> str:
    return ascii(name)[1:-1] if len(name) <= _NAME_MAX else "(a long name)"
