"""Work that is done once, whoever asks for it on whatever event loop; knows nothing of what the work is."""

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from threading import Lock
from typing import Any


class Once:
    """Does ``work()`` to its end once, on the loop of whoever asks first; the others wait for the same end.

    May be shared between threads with loops of their own. Work that was cut off, because its task was cancelled or its
    loop has closed, is begun again by whoever asks or waits then. An error of the work's own is its end, for everybody.
    """

    def __init__(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._work = work
        self._lock = Lock()
        self._attempt: _Attempt | None = None

    @property
    def begun(self) -> bool:
        """Whether anybody has asked."""
        return self._attempt is not None

    async def done(self, seconds: float) -> None:
        """Wait until it is done; for a try of somebody else's at most ``seconds``, since its loop may stand still."""
        while not await self._tried().done(seconds):
            pass

    def _tried(self) -> "_Attempt":
        with self._lock:
            if self._attempt is None or self._attempt.is_lost():
                self._attempt = _Attempt(self._work)
            return self._attempt


class _Attempt:
    """One try, in a task of its own, so that a caller who is cancelled does not leave the work half done."""

    def __init__(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        # Of no loop, so that every loop can wait for it; and running, so that no waiter can cancel it.
        self._end: Future[bool] = Future()
        self._end.set_running_or_notify_cancel()
        self._task = asyncio.create_task(work())
        self._task.add_done_callback(self._tell)

    def is_lost(self) -> bool:
        """Whether it was cut off, and will never be done."""
        if not self._end.done():
            return self._task.get_loop().is_closed()
        return self._end.exception() is None and not self._end.result()

    async def done(self, seconds: float) -> bool:
        """Whether it is done, or ``seconds`` are over and it may still be."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                return await asyncio.wrap_future(self._end)
        return not self.is_lost()

    def _tell(self, task: "asyncio.Task[None]") -> None:
        error = None if task.cancelled() else task.exception()
        if isinstance(error, Exception):
            self._end.set_exception(error)
        else:
            # What is no Exception, such as the user's KeyboardInterrupt, has gone through the loop and ended it.
            self._end.set_result(not task.cancelled() and error is None)
