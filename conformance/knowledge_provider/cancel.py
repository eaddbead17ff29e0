"""``CancelSignal``: how a host tells a provider to stop; knows time and threads, no request and no host."""

import asyncio
import math
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

from knowledge_provider.text import class_name, finite_number, is_a


class CancelSignal:
    """One call's cancellation and deadline, safe to use from any thread.

    ``deadline`` is in seconds of ``clock`` (``time.monotonic`` unless another is given), or None.
    The host calls ``cancel``; a provider reads. Raises ``TypeError`` when ``deadline`` is not a number, ``ValueError``
    when it is NaN or an int beyond what a float holds; the infinities are "never" and "already passed".
    """

    __slots__ = ("_callbacks", "_clock", "_deadline", "_lock", "_reason")

    def __init__(self, *, deadline: float | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._deadline = _read_deadline(deadline)
        self._reason: str | None = None
        self._callbacks: list[Callable[[], object]] = []
        self._lock = threading.Lock()

    @property
    def cancelled(self) -> bool:
        """Whether the host has cancelled the call."""
        return self._reason is not None

    @property
    def reason(self) -> str | None:
        """Why the call was cancelled, or None while it is not."""
        return self._reason

    @property
    def deadline(self) -> float | None:
        """When the host stops waiting, in monotonic seconds, or None."""
        return self._deadline

    def remaining(self) -> float | None:
        """Seconds until the deadline, never below 0.0, or None without a deadline."""
        return None if self._deadline is None else max(0.0, self._deadline - self._clock())

    def raise_if_cancelled(self) -> None:
        """Raise ``asyncio.CancelledError`` with the reason when the call is cancelled (clause 7.3)."""
        if self._reason is not None:
            raise asyncio.CancelledError(self._reason)

    def add_callback(self, callback: Callable[[], object]) -> None:
        """Call ``callback()`` once on cancellation, in the cancelling thread, or now when already cancelled.

        What a callback raises is dropped: one careless callback must not keep the others from being told.
        """
        with self._lock:
            if self._reason is None:
                self._callbacks.append(callback)
                return
        _call_quietly(callback)

    def remove_callback(self, callback: Callable[[], object]) -> None:
        """Take back one ``add_callback`` of an equal ``callback``; without one, nothing happens."""
        with self._lock:
            if callback in self._callbacks:
                self._callbacks.remove(callback)

    def cancel(self, reason: str = "cancelled") -> None:
        """Cancel the call; a second time changes nothing. For the host."""
        with self._lock:
            if self._reason is not None:
                return
            self._reason = reason
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            _call_quietly(callback)

    async def wait(self) -> None:
        """Return once the call is cancelled."""
        loop = asyncio.get_running_loop()
        told = loop.create_future()

        def tell() -> None:
            loop.call_soon_threadsafe(_settle, told)

        self.add_callback(tell)
        try:
            await told
        finally:
            self.remove_callback(tell)

    def within(self, seconds: float | None) -> "CancelSignal":
        """A new signal of the same clock that ends ``seconds`` from now, or with this one where that is earlier.

        None adds no deadline. The new one is not cancelled with this one: ``linked_signal`` sees to that.
        """
        own = None if seconds is None else self._clock() + seconds
        known = [deadline for deadline in (own, self._deadline) if deadline is not None]
        return CancelSignal(deadline=min(known, default=None), clock=self._clock)


@contextmanager
def linked_signal(parent: CancelSignal, seconds: float | None = None) -> Generator[CancelSignal, None, None]:
    """A signal for one call: cancelled with ``parent``, and with the earlier deadline of both; unlinked on leaving.

    Cancelling it leaves ``parent`` as it is. Without ``seconds`` the deadline is the parent's.
    """
    signal = parent.within(seconds)

    def follow() -> None:
        signal.cancel(parent.reason or "cancelled")

    parent.add_callback(follow)
    try:
        yield signal
    finally:
        # A parent may outlive thousands of calls.
        parent.remove_callback(follow)


def read_seconds(timeout: object) -> float:
    """A ``timeout`` in seconds, as an option has it; raises ``TypeError`` or ``ValueError`` when none can be waited.

    That is, when it is not a finite number, or not above 0.
    """
    seconds = finite_number(timeout)
    if seconds is None:
        raise TypeError(f"timeout must be a finite number of seconds; got {class_name(timeout)}: pass a number above 0")
    if seconds <= 0:
        raise ValueError("timeout must be above 0, or nothing could answer in time: pass seconds, such as 5.0")
    return float(seconds)


def _read_deadline(value: object) -> float | None:
    if value is None:
        return None
    number = value if is_a(value, float) else finite_number(value)
    if number is None and (is_a(value, bool) or not is_a(value, int)):
        raise TypeError(
            f"deadline must be a number of seconds or None; got {class_name(value)}: pass time.monotonic() and the "
            "seconds that there are"
        )
    if number is None or math.isnan(number):
        raise ValueError(
            "deadline must be a number that can be compared, or it could never pass; got NaN or an int that no float "
            "holds: pass time.monotonic() and the seconds that there are, or None for no deadline"
        )
    return float(number)


def _settle(told: "asyncio.Future[None]") -> None:
    if not told.done():
        told.set_result(None)


def _call_quietly(callback: Callable[[], object]) -> None:
    try:
        callback()
    except Exception:
        return
