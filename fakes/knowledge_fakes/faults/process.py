"""Mistakes that take the process with them or hold it for ever, and their harmless relatives; knows no way of catching them.

None of these may run in a process that anyone needs, but for those that are not ``lethal``.
"""

import asyncio
import ctypes
import os
import re
import signal
import sys
import time
from collections.abc import Callable
from itertools import count
from typing import Any, Final

from knowledge_fakes.faults._changing import Changed, answering, ask, describing, doing, rows_of, settled
from knowledge_fakes.faults._fault import fault
from knowledge_provider import RetrievalContext, RetrievalRequest

_SOON: Final = {"timeout": 0.5}
_DESCRIPTORS: Final = 256


class Abort(BaseException):
    """What a vendor's client raises to get past ``except Exception``."""


# In retrieve, from the first call on.


@fault("KP-301", fragment="no answer", settings=_SOON)
def hangs_for_ever(sound: Any) -> Any:
    """retrieve waits for an answer that never comes, and has no time-out of its own."""

    async def retrieve(_request: RetrievalRequest, _context: RetrievalContext) -> Any:
        await asyncio.Event().wait()

    return Changed(sound, retrieve=retrieve)


@fault("KP-301", fragment="still running after it was cancelled", settings=_SOON, lethal=True)
def swallows_cancellation_for_ever(sound: Any) -> Any:
    """retrieve tries again for ever, and takes a cancellation for one more failure."""

    async def retrieve(_request: RetrievalRequest, _context: RetrievalContext) -> Any:
        while True:
            try:
                await asyncio.sleep(3600)
            except BaseException:  # noqa: BLE001 - the mistake
                continue

    return Changed(sound, retrieve=retrieve)


@fault("KP-301", fragment="nothing for", settings=_SOON, lethal=True)
def blocks_the_loop(sound: Any) -> Any:
    """retrieve waits in a synchronous call that never returns, and the event loop with it."""
    return _on_the_loop(sound, lambda: time.sleep(3600))


@fault("KP-301", fragment="nothing for", settings=_SOON, lethal=True)
def busy_loop(sound: Any) -> Any:
    """retrieve polls in a loop without a pause."""
    return _on_the_loop(sound, _spin)


@fault("KP-301", fragment="nothing for", settings=_SOON, lethal=True)
def loop_inside_c(sound: Any) -> Any:
    """retrieve consumes an endless iterator in C code, where no other thread runs any more, nor a signal's handler."""
    return _on_the_loop(sound, lambda: sum(iter(int, 1)))


@fault("KP-301", fragment="nothing for", settings=_SOON, lethal=True)
def catastrophic_expression(sound: Any) -> Any:
    """retrieve matches a regular expression that backtracks for ever, and holds the interpreter meanwhile."""
    return _on_the_loop(sound, lambda: re.match(r"(a+)+$", "a" * 64 + "!"))


@fault("KP-301", fragment="Abort")
def raises_past_exception(sound: Any) -> Any:
    """retrieve raises a BaseException, which no except Exception of a host catches."""
    return doing(sound, lambda _request: _raise(Abort("the session is gone")))


@fault("KP-301", fragment="SystemExit")
def exits(sound: Any) -> Any:
    """A command-line tool is called as a library, and ends with sys.exit."""
    return doing(sound, lambda _request: sys.exit(0))


@fault("KP-301", fragment="KeyboardInterrupt")
def raises_keyboard_interrupt(sound: Any) -> Any:
    """retrieve raises KeyboardInterrupt, as if the user had stopped the host."""
    return doing(sound, lambda _request: _raise(KeyboardInterrupt()))


@fault("KP-301", fragment="RecursionError")
def endless_recursion(sound: Any) -> Any:
    """retrieve calls itself to try again, without an end."""

    def again() -> Any:
        return again()

    return doing(sound, lambda _request: again())


@fault("KP-501", fragment="itertools.count object")
def endless_answer(sound: Any) -> Any:
    """The answer is an iterator without an end, which a host that makes a list of it never finishes."""
    return answering(sound, lambda _answer, _request: {"results": count()})


@fault("KP-301", fragment="out of a task that the provider started", lethal=True)
def exits_in_a_task(sound: Any) -> Any:
    """A task that the provider started ends with sys.exit, which stops the event loop of the host."""

    async def leave() -> None:
        sys.exit(0)

    async def retrieve(_request: RetrievalRequest, _context: RetrievalContext) -> Any:
        await asyncio.create_task(leave())

    return Changed(sound, retrieve=retrieve)


@fault("KP-301", fragment="SIGSEGV", lethal=True)
def segmentation_fault(sound: Any) -> Any:
    """An extension module reads from address zero."""
    return doing(sound, lambda _request: ctypes.string_at(0))


@fault("KP-301", fragment="exit status 0", lethal=True)
def ends_the_process(sound: Any) -> Any:
    """A forked worker's os._exit(0) runs in the host itself, and a build that only reads the status is green."""
    return doing(sound, lambda _request: os._exit(0))


@fault("KP-301", fragment="SIGKILL", lethal=True)
def kills_the_process(sound: Any) -> Any:
    """The process is killed, as by a system that is out of memory."""
    return doing(sound, lambda _request: os.kill(os.getpid(), signal.SIGKILL))


@fault("KP-301", fragment="standard output", lethal=True)
def floods_standard_output(sound: Any) -> Any:
    """Each call prints what it does, without an end."""
    return doing(sound, lambda _request: _flood())


@fault("KP-301", fragment="foreign bytes", lethal=True)
def writes_to_every_descriptor(sound: Any) -> Any:
    """A stale number is written to as if it was the provider's own socket, and is someone else's by now."""
    return doing(sound, lambda _request: _scribble())


@fault("KP-301", fragment="exit status 1", lethal=True)
def closes_every_descriptor(sound: Any) -> Any:
    """A daemon's start-up code closes every file descriptor, those of the host too."""
    return doing(sound, lambda _request: os.closerange(3, _DESCRIPTORS))


@fault("KP-301", fragment="?", lethal=True)
def forks_and_goes_on(sound: Any) -> Any:
    """A worker is forked, and both processes go on as the host."""
    return doing(sound, lambda _request: os.fork())


# Elsewhere, or not at once.


@fault("KP-102", fragment="exit status 3", lethal=True)
def describe_ends_the_process(sound: Any) -> Any:
    """describe ends the process when a setting is missing."""
    return describing(sound, lambda _said: os._exit(3))


@fault("KP-202", fragment="SIGKILL", lethal=True)
def health_kills_the_process(sound: Any) -> Any:
    """health starts a probe that kills its process group, in which the host is."""
    return Changed(sound, health=lambda: os.kill(os.getpid(), signal.SIGKILL))


@fault("KP-204", fragment="SIGSEGV", lethal=True)
def second_close_crashes(sound: Any) -> Any:
    """close frees a handle of an extension module, and the second time it is free already."""
    closings = count(1)

    async def close() -> None:
        if next(closings) > 1:
            ctypes.string_at(0)
        if hasattr(sound, "close"):
            await settled(sound.close())

    return Changed(sound, close=close)


def _on_the_loop(sound: Any, act: Callable[[], object]) -> Changed:
    async def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        act()
        return await ask(sound, request, context)

    return Changed(sound, retrieve=retrieve)


def _raise(error: BaseException) -> None:
    raise error


def _spin() -> None:
    while True:
        pass


def _flood() -> None:
    while True:
        os.write(1, b"searching the handbook ...\n" * 1000)


def _scribble() -> None:
    for descriptor in range(3, _DESCRIPTORS):
        try:
            os.write(descriptor, b"GET /search HTTP/1.1\r\n\r\n")
        except OSError:
            continue
