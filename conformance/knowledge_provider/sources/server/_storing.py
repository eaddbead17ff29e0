"""A call of the bindings off the event loop, and when it is given up; knows threads and time, no request and no rule.

This file awaits. What is given up has not begun and never will, so that whoever is told so may try again.
"""

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Final, TypeVar

from knowledge_provider.adapting import DaemonThreads
from knowledge_provider.cancel import CancelSignal
from knowledge_provider.errors import KnowledgeUnavailableError
from knowledge_provider.sources.bindings import TaskBindings

STORING_SECONDS: Final = 5.0
"""Seconds for one call of the bindings, from the moment that it was asked for."""

_T = TypeVar("_T")
# Not the host's own threads: calls that wait for a locked database would take all of them.
_THREADS: Final = DaemonThreads()


async def stored(bindings: TaskBindings, call: Callable[[TaskBindings], _T], seconds: float) -> _T:
    """What ``call`` gives of bindings that end within ``seconds`` from now; it is made in a thread.

    Raises ``KnowledgeUnavailableError`` where no thread had time for it until then: it is not made, also not later.
    One that has begun is waited for, since what is stored at the end of it must not be reported as failed.
    """
    ends = time.monotonic() + seconds
    # Taken once: by the thread that begins, or by whoever says that it did not.
    turn = threading.Lock()

    def make() -> _T:
        if not turn.acquire(blocking=False):
            raise _late()
        return call(bindings.within(ends - time.monotonic()))

    made = asyncio.ensure_future(_THREADS.run(CancelSignal(), make))
    try:
        await asyncio.wait({made}, timeout=seconds)
        if not made.done() and turn.acquire(blocking=False):
            raise _late()
        return await made
    finally:
        made.cancel()


def _late() -> KnowledgeUnavailableError:
    return KnowledgeUnavailableError(
        "Wanted to read or change the bindings, and others took all of the time: what is bound is not known, and "
        "nothing was changed. Try again.",
        retryable=True,
    )
