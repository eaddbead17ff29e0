"""Mistakes that never end, or that take the process with them; knows the contract, no way of catching them.

A ``lethal`` one may not run in a process that anyone needs.
"""

import asyncio
import contextlib
import ctypes
import os
import re
import signal
import sys
import time
from collections.abc import Callable
from itertools import count
from typing import Any, Final

from knowledge_fakes.faults._changing import Changed, answering, ask, describing, doing, settled
from knowledge_fakes.faults._fault import fault
from knowledge_provider import RetrievalContext, RetrievalRequest

_SOON: Final = {"timeout": 0.5}
_DESCRIPTORS: Final = 256


class Abort(BaseException):
    """What a vendor's client raises to get past ``except Exception``."""


# In retrieve, from the first call on.


@fault("KP-301", fragment="no answer", settings=_SOON, waits=True)
def hangs_for_ever(sound: Any) -> Any:
    """retrieve() waits for an answer that never comes, and has no time-out of its own."""

    async def retrieve(_request: RetrievalRequest, _context: RetrievalContext) -> Any:
        await asyncio.Event().wait()

    return Changed(sound, retrieve=retrieve)


@fault("KP-301", fragment="still running after it was cancelled", settings=_SOON, lethal=True, waits=True)
def swallows_cancellation_for_ever(sound: Any) -> Any:
    """retrieve() tries again for ever, and takes a cancellation for one more failure."""

    async def retrieve(_request: RetrievalRequest, _context: RetrievalContext) -> Any:
        while True:
            with contextlib.suppress(BaseException):
                await asyncio.sleep(3600)

    return Changed(sound, retrieve=retrieve)


@fault("KP-301", fragment="nothing for", settings=_SOON, lethal=True, waits=True)
def blocks_the_loop(sound: Any) -> Any:
    """retrieve() waits in a synchronous call that never returns, and the event loop with it."""
    return _on_the_loop(sound, lambda _request: time.sleep(3600))


@fault("KP-301", fragment="nothing for", settings=_SOON, lethal=True, waits=True)
def busy_loop(sound: Any) -> Any:
    """retrieve() polls in a loop without a pause."""
    return _on_the_loop(sound, lambda _request: _spin())


@fault("KP-301", fragment="nothing for", settings=_SOON, lethal=True, waits=True)
def loop_inside_c(sound: Any) -> Any:
    """retrieve() consumes an endless iterator in C code, where no other thread and no signal handler runs any more."""
    return _on_the_loop(sound, lambda _request: sum(iter(int, 1)))


@fault("KP-301", fragment="Abort", lethal=True)
def raises_past_exception(sound: Any) -> Any:
    """retrieve() raises a BaseException, which no except Exception of a host catches."""
    return doing(sound, lambda _request: _raise(Abort("the session is gone")))


@fault("KP-301", fragment="SystemExit", lethal=True)
def exits(sound: Any) -> Any:
    """A command-line tool is called as a library, and ends with sys.exit."""
    return doing(sound, lambda _request: sys.exit(0))


@fault("KP-301", fragment="KeyboardInterrupt", lethal=True)
def raises_keyboard_interrupt(sound: Any) -> Any:
    """retrieve() raises KeyboardInterrupt, as if the user had stopped the host."""
    return doing(sound, lambda _request: _raise(KeyboardInterrupt()))


@fault("KP-301", fragment="RecursionError")
def endless_recursion(sound: Any) -> Any:
    """retrieve() calls itself to try again, without an end."""

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


@fault("KP-301", fragment="exit status 0", lethal=True)
def goes_into_the_background(sound: Any) -> Any:
    """A daemon's start-up code forks, ends the process that was asked, and goes on as the host in the copy."""
    return doing(sound, lambda _request: os.fork() and os._exit(0))


# Elsewhere, or not at once.


@fault("KP-102", fragment="exit status 3", lethal=True)
def describe_ends_the_process(sound: Any) -> Any:
    """describe() ends the process when a setting is missing."""
    return describing(sound, lambda _said: os._exit(3))


@fault("KP-102", fragment="nothing for", settings=_SOON, lethal=True, waits=True)
def describe_never_returns(sound: Any) -> Any:
    """describe() asks the back end in a synchronous call without a time-out."""
    return describing(sound, lambda _said: time.sleep(3600))


@fault("KP-202", fragment="SIGKILL", lethal=True)
def health_kills_the_process(sound: Any) -> Any:
    """health() starts a probe that kills its process group, in which the host is."""
    return Changed(sound, health=lambda: os.kill(os.getpid(), signal.SIGKILL))


@fault("KP-204", fragment="SIGSEGV", lethal=True)
def second_close_crashes(sound: Any) -> Any:
    """close() frees a handle of an extension module, and the second time it is free already."""
    closings = count(1)

    async def close() -> None:
        if next(closings) > 1:
            ctypes.string_at(0)
        if hasattr(sound, "close"):
            await settled(sound.close())

    return Changed(sound, close=close)


@fault("KP-302", fragment="SIGSEGV", lethal=True)
def one_text_crashes(sound: Any) -> Any:
    """An extension module takes an escaped NUL in the query for the end of its text."""
    return doing(sound, lambda request: "%00" in request.query and ctypes.string_at(0))


@fault("KP-302", fragment="nothing for", settings=_SOON, lethal=True, waits=True)
def catastrophic_expression(sound: Any) -> Any:
    """A regular expression over the query backtracks for ever on one long word, and holds the interpreter meanwhile."""
    return _on_the_loop(sound, lambda request: re.match(r"(x+x+)+y", request.query))


@fault("KP-302", fragment="SIGKILL", lethal=True)
def thirtieth_call_is_killed(sound: Any) -> Any:
    """Each call leaks what it read, and after some thirty of them the system kills the process."""
    calls = count(1)

    def act(_request: RetrievalRequest) -> None:
        if next(calls) == 30:
            os.kill(os.getpid(), signal.SIGKILL)

    return doing(sound, act)


def _on_the_loop(sound: Any, act: Callable[[RetrievalRequest], object]) -> Changed:
    async def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        act(request)
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
