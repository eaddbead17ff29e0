"""Which line of the author's own code something stands on, as a value; knows frames and stacks, no check.

A stack is read, never run: names come from code objects and modules, by exact type, and are bounded and redacted.
What is shown are modules, functions and lines, no paths: the same provider reads the same on every machine.
"""

import asyncio
import gc
import sys
import sysconfig
import time
import traceback
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from types import AsyncGeneratorType, CodeType, CoroutineType, FrameType, GeneratorType
from typing import Any, Final

from knowledge_conformance.render import show

SAMPLES: Final = 8
SAMPLE_SECONDS: Final = 0.005
"""How often, and how far apart, something that stands still is looked at before a line is named."""

_DEPTH_MAX: Final = 200
_NAME_MAX: Final = 120
_KIT: Final = "knowledge_conformance"
_KIT_FOLDER: Final = str(Path(__file__).parent)
_CONTRACT: Final = "knowledge_provider"
_LIBRARIES: Final = tuple({sysconfig.get_path("purelib"), sysconfig.get_path("platlib")})
# Bound before there is a provider, which may replace it in its module.
_current_frames, _sleep = sys._current_frames, time.sleep  # noqa: SLF001 - there is no other way to see a thread


class Whose(IntEnum):
    """Whose code a frame runs, as an author sees it."""

    OWN = 0
    LIBRARY = 1
    STANDARD = 2
    KIT = 3


@dataclass(frozen=True, slots=True)
class Place:
    """One frame of a stack: where it is now, and the line at which its function ``begins`` (0: not known)."""

    module: str
    function: str
    line: int
    begins: int = 0
    whose: Whose = Whose.OWN

    @property
    def scope(self) -> tuple[str, str, int]:
        """The function that it is in, wherever in it."""
        return self.module, self.function, self.begins

    def __str__(self) -> str:
        """``module.function, line N``."""
        return f"{_named(self.module)}.{_named(self.function)}, line {self.line}"


Stack = tuple[Place, ...]
"""The outermost frame first."""


def raised_at(error: BaseException) -> str:
    """Where the author should look: the innermost frame of their own code, else of a library's, or ""."""
    stack = tuple(_place(frame.f_code, frame, line) for frame, line in traceback.walk_tb(error.__traceback__))
    return within(authors(stack)[-1:])


def within(stack: Stack) -> str:
    """The innermost frame of a stack as " in module.function, line N", and an empty stack as ""."""
    return f" in {stack[-1]}" if stack else ""


def authors(stack: Stack) -> Stack:
    """The frames of the author's own code; where there are none, those of libraries."""
    own = tuple(place for place in stack if place.whose is Whose.OWN)
    return own or tuple(place for place in stack if place.whose is Whose.LIBRARY)


def agreed(stacks: Iterable[Stack]) -> str:
    """Where all samples were that show the author's code, as " in module.function, line N"; "" when none does.

    Samples of code that goes on differ. What is named is the innermost function that all of them were in, by the line
    that it begins at where they were on different ones of it, so that another run says the same.
    """
    seen = [stack for stack in map(authors, stacks) if stack]
    if not seen:
        return ""
    shared = _shared(seen)
    if not shared:
        return within(seen[0][:1])
    lines = {stack[len(shared) - 1].line for stack in seen}
    innermost = shared[-1]
    if len(lines) == 1 or not innermost.begins:
        return within(shared)
    return f" in {_named(innermost.module)}.{_named(innermost.function)}, which begins at line {innermost.begins}"


def _shared(stacks: Sequence[Stack]) -> Stack:
    count = 0
    for places in zip(*stacks, strict=False):
        if len({place.scope for place in places}) > 1:
            break
        count += 1
        if len({place.line for place in places}) > 1:
            break
    return stacks[0][:count]


# What runs.


def stack_of(frame: FrameType | None) -> Stack:
    """The stack that a frame is the innermost of."""
    frames: list[Place] = []
    while frame is not None and len(frames) < _DEPTH_MAX:
        frames.append(_place(frame.f_code, frame, frame.f_lineno))
        frame = frame.f_back
    return tuple(reversed(frames))


def stack_of_thread(ident: int | None) -> Stack:
    """Where a thread of this process is now; empty when there is no such thread."""
    return stack_of(_current_frames().get(ident or 0))


def stack_of_worker(ident: int | None) -> Stack:
    """Where the thread with the provider is, or, when that only waits, another in which the kit called a method."""
    frames = _current_frames()
    stacks = [stack_of(frames.get(ident or 0)), *map(stack_of, frames.values())]
    held = (stack for stack in stacks if any(place.whose is Whose.KIT for place in stack) and authors(stack))
    return next(held, ())


def where_held(ident: int | None) -> str:
    """Where the author's code holds the thread with the provider, as ``agreed`` says it; takes some 40 ms."""
    stacks: list[Stack] = []
    for _ in range(SAMPLES):
        stacks.append(stack_of_worker(ident))
        _sleep(SAMPLE_SECONDS)
    return agreed(stacks)


# What waits.


def stack_of_awaitable(awaited: object) -> Stack:
    """Where a coroutine, generator or task is suspended, through all that it awaits; empty when it is not."""
    return tuple(_suspended(awaited))


def _suspended(awaited: object) -> Iterator[Place]:
    for _ in range(_DEPTH_MAX):
        if awaited is None:
            return
        frame, inner = _look(awaited)
        if frame is not None:
            yield _place(frame.f_code, frame, frame.f_lineno)
        awaited = inner


def _look(awaited: object) -> tuple[FrameType | None, object]:
    """The frame of something suspended, and what it waits for in turn."""
    if type(awaited) is CoroutineType:
        return awaited.cr_frame, awaited.cr_await
    if type(awaited) is GeneratorType:
        return awaited.gi_frame, awaited.gi_yieldfrom
    if type(awaited) is AsyncGeneratorType:
        return awaited.ag_frame, awaited.ag_await
    if type(awaited) is asyncio.Task:
        return None, awaited.get_coro()
    # An iterator of the interpreter's own that says nothing of what it stands for.
    return None, _behind(awaited) if type(awaited).__name__ in _OPAQUE else None


_OPAQUE: Final = frozenset({"coroutine_wrapper", "async_generator_asend", "async_generator_athrow", "FutureIter"})
_READABLE: Final = (CoroutineType, GeneratorType, AsyncGeneratorType, asyncio.Task)


def _behind(awaited: object) -> object:
    return next((held for held in gc.get_referents(awaited) if type(held) in _READABLE), None)


# What was dumped from outside.


def where_dumped(dump: str, search_path: Sequence[str]) -> str:
    """What a dump of ``faulthandler`` says, as " inside C code called from module.function, line N", or "".

    The modules are what ``search_path`` makes of the files. The text comes out of a process that anyone may have
    written to: lines of another shape are passed over.
    """
    stacks = [stack for stack in _stacks_in(dump, search_path) if any(place.whose is Whose.KIT for place in stack)]
    held = next((own for own in map(authors, stacks) if own), ())
    return f" inside C code called from {held[-1]}" if held else ""


def _stacks_in(dump: str, search_path: Sequence[str]) -> list[Stack]:
    stacks: list[list[Place]] = []
    for line in dump.splitlines():
        if line.startswith(("Thread 0x", "Current thread 0x")):
            stacks.append([])
        elif stacks and (place := _dumped(line, search_path)):
            stacks[-1].append(place)
    return [tuple(reversed(stack)) for stack in stacks]


def _dumped(line: str, search_path: Sequence[str]) -> Place | None:
    before, file, rest = line.partition('  File "')[0], *line.removeprefix('  File "').partition('", line ')[::2]
    number, _, function = rest.partition(" in ")
    if before or not number.isdecimal() or not function or not number.isascii():
        return None
    module = _module_of(file, search_path)
    return Place(module, function, int(number[:9]), whose=_whose(module, file))


def _module_of(file: str, search_path: Sequence[str]) -> str:
    roots = [entry for entry in search_path if entry and file.startswith(f"{entry}/")]
    inside = file.removeprefix(f"{max(roots, key=len)}/") if roots else file.rpartition("/")[2]
    return inside.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _place(code: CodeType, frame: FrameType, line: int | None) -> Place:
    module = dict.get(frame.f_globals, "__name__")
    named = module if type(module) is str else "?"
    return Place(named, code.co_name, line or 0, code.co_firstlineno, _whose(named, code.co_filename))


def _whose(module: str, file: str) -> Whose:
    top = module.partition(".")[0]
    # By its place, too: the child process runs one of its modules as __main__.
    if top == _KIT or file.startswith(_KIT_FOLDER):
        return Whose.KIT
    if top in sys.stdlib_module_names or file.startswith("<frozen "):
        return Whose.STANDARD
    # The contract's package is a library wherever it is installed, so that a report is the same in its own checkout.
    return Whose.LIBRARY if top == _CONTRACT or file.startswith(_LIBRARIES) else Whose.OWN


def _named(name: Any) -> str:
    return show(name, limit=_NAME_MAX).strip("'")
