"""The signal: read from anywhere, cancelled once, heard by everyone, and left behind by nobody."""

import asyncio
import gc
import threading
import time
import weakref
from typing import Any

import pytest

from knowledge_provider.cancel import CancelSignal, read_seconds


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def raising() -> None:
    raise RuntimeError("a careless callback")


def test_a_new_signal_is_quiet() -> None:
    """Clause 7: not cancelled, no reason, no deadline, and nothing to raise."""
    signal = CancelSignal()
    signal.raise_if_cancelled()
    assert (signal.cancelled, signal.reason, signal.deadline, signal.remaining()) == (False, None, None, None)


def test_the_first_reason_stays() -> None:
    """Cancelling twice changes nothing."""
    signal = CancelSignal()
    signal.cancel("deadline")
    signal.cancel("closing")
    assert (signal.cancelled, signal.reason) == (True, "deadline")


def test_raise_if_cancelled_raises_what_a_cancelled_task_raises() -> None:
    """Clause 7.3: a provider that asks first ends as if its task had been cancelled, with the reason."""
    signal = CancelSignal()
    signal.cancel("deadline")
    with pytest.raises(asyncio.CancelledError, match="deadline"):
        signal.raise_if_cancelled()


def test_remaining_counts_down_and_stops_at_zero() -> None:
    """`remaining` is in seconds of the clock; passing the deadline alone does not cancel."""
    clock = Clock()
    signal = CancelSignal(deadline=110.0, clock=clock)
    assert (signal.deadline, signal.remaining()) == (110.0, 10.0)
    clock.now = 109.5
    assert signal.remaining() == 0.5
    clock.now = 200.0
    assert signal.remaining() == 0.0
    assert not signal.cancelled


def test_the_deadline_is_monotonic_time() -> None:
    """Clause 7: unless told otherwise, in seconds of `time.monotonic`."""
    remaining = CancelSignal(deadline=time.monotonic() + 1000).remaining()
    assert remaining is not None
    assert 900 < remaining <= 1000


def test_callbacks_are_called_once_in_order_and_one_that_raises_stops_none() -> None:
    """Everyone who asked to be told is told."""
    signal, heard = CancelSignal(), list[str]()
    signal.add_callback(lambda: heard.append("first"))
    signal.add_callback(raising)
    signal.add_callback(lambda: heard.append(f"second: {signal.reason}"))
    signal.cancel("deadline")
    signal.cancel("again")
    assert heard == ["first", "second: deadline"]


def test_a_late_callback_is_called_at_once() -> None:
    """Asking after the cancellation is not asking in vain; nor does a careless callback reach the caller."""
    signal, heard = CancelSignal(), list[str]()
    signal.cancel()
    signal.add_callback(lambda: heard.append("now"))
    signal.add_callback(raising)
    assert heard == ["now"]


def test_a_callback_may_use_the_signal() -> None:
    """Callbacks run outside the lock, so one that asks, adds or cancels does not hang."""
    signal, heard = CancelSignal(), list[str]()

    def nosy() -> None:
        signal.cancel("again")
        signal.add_callback(lambda: heard.append(signal.reason or ""))

    signal.add_callback(nosy)
    canceller = threading.Thread(target=signal.cancel, args=("deadline",), daemon=True)
    canceller.start()
    canceller.join(5)
    assert not canceller.is_alive()
    assert heard == ["deadline"]


def test_callbacks_run_in_the_cancelling_thread() -> None:
    """What a callback touches is its own affair, so the thread is part of the promise."""
    signal, threads = CancelSignal(), list[int]()
    signal.add_callback(lambda: threads.append(threading.get_ident()))
    canceller = threading.Thread(target=signal.cancel)
    canceller.start()
    canceller.join()
    assert threads == [canceller.ident]


def test_wait_returns_for_every_waiter_once_cancelled() -> None:
    """`wait` is for tasks, as many as there are."""

    async def scene() -> list[bool]:
        signal = CancelSignal()
        waiters = [asyncio.create_task(signal.wait()) for _ in range(3)]
        for _ in range(5):
            await asyncio.sleep(0)
        before = [waiter.done() for waiter in waiters]
        signal.cancel()
        async with asyncio.timeout(5):
            await asyncio.gather(*waiters)
        return before

    assert asyncio.run(scene()) == [False] * 3


def test_wait_returns_when_already_cancelled() -> None:
    """A waiter that comes late does not wait."""
    signal = CancelSignal()
    signal.cancel()
    asyncio.run(asyncio.wait_for(signal.wait(), 5))


def test_another_thread_wakes_the_waiter() -> None:
    """A host may cancel from any thread; the loop is told in its own way."""

    async def scene() -> None:
        signal = CancelSignal()
        waiter = asyncio.create_task(signal.wait())
        await asyncio.sleep(0)
        canceller = threading.Thread(target=signal.cancel)
        canceller.start()
        await asyncio.wait_for(waiter, 5)
        canceller.join()

    asyncio.run(scene())


def test_a_waiter_that_gives_up_leaves_nothing_behind() -> None:
    """Clause 2.3: a long-lived signal does not keep every waiter that ever was, nor the loop they were on."""

    async def scene(signal: CancelSignal) -> "weakref.ref[asyncio.AbstractEventLoop]":
        waiter = asyncio.create_task(signal.wait())
        await asyncio.sleep(0)
        waiter.cancel()
        await asyncio.gather(waiter, return_exceptions=True)
        return weakref.ref(asyncio.get_running_loop())

    signal = CancelSignal()
    loop = asyncio.run(scene(signal))
    gc.collect()
    assert loop() is None
    signal.cancel()
    assert signal.cancelled


def test_a_loop_that_has_ended_does_not_stop_the_cancelling() -> None:
    """Clause 2.4: a waiter left on a closed loop cannot be told, and the next callback is."""
    signal, heard = CancelSignal(), list[str]()
    loop = asyncio.new_event_loop()
    loop.set_exception_handler(lambda _loop, _context: None)  # it would log that the waiter was still pending
    waiter = loop.create_task(signal.wait())
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()
    signal.add_callback(lambda: heard.append("told"))
    signal.cancel()
    assert heard == ["told"]
    assert not waiter.done()


def test_a_waiter_cancelled_at_the_same_moment_is_simply_cancelled() -> None:
    """The signal and the task end together at every deadline; the loop has nothing to complain about."""
    complaints: list[object] = []

    async def scene() -> bool:
        asyncio.get_running_loop().set_exception_handler(lambda _loop, context: complaints.append(context))
        signal = CancelSignal()
        waiter = asyncio.create_task(signal.wait())
        await asyncio.sleep(0)
        signal.cancel()
        waiter.cancel()
        await asyncio.gather(waiter, return_exceptions=True)
        return waiter.cancelled()

    assert asyncio.run(scene())
    assert complaints == []


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        (float("nan"), ValueError),
        (10**400, ValueError),
        (-(10**400), ValueError),
        (True, TypeError),
        ("5", TypeError),
        ([], TypeError),
    ],
    ids=lambda it: f"{it}"[:8],
)
def test_a_deadline_that_is_none_is_refused_when_the_signal_is_made(wrong: Any, error: type[Exception]) -> None:
    """And not in the middle of a search; NaN would never pass."""
    with pytest.raises(error, match="deadline must be a number"):
        CancelSignal(deadline=wrong)


@pytest.mark.parametrize(
    ("deadline", "remaining"), [(float("inf"), float("inf")), (float("-inf"), 0.0), (-5, 0.0), (105, 5.0)]
)
def test_any_number_that_can_be_compared_is_a_deadline(deadline: float, remaining: float) -> None:
    """The infinities are "never" and "already passed"."""
    assert CancelSignal(deadline=deadline, clock=Clock()).remaining() == remaining


@pytest.mark.parametrize(("timeout", "seconds"), [(5, 5.0), (0.2, 0.2), (1e-300, 1e-300)])
def test_seconds_are_read_as_a_float(timeout: float, seconds: float) -> None:
    """Whatever kind of number they are."""
    read = read_seconds(timeout)
    assert (read, type(read)) == (seconds, float)


@pytest.mark.parametrize(
    ("timeout", "error"),
    [
        (0, ValueError),
        (-1, ValueError),
        (float("inf"), TypeError),
        (10**400, TypeError),
        (True, TypeError),
        ("5", TypeError),
    ],
    ids=lambda it: f"{it}"[:8],
)
def test_seconds_that_cannot_be_waited_are_refused(timeout: object, error: type[Exception]) -> None:
    """No time, no end, and no number."""
    with pytest.raises(error, match="timeout must be"):
        read_seconds(timeout)
