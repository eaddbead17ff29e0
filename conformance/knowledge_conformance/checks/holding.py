"""Clause 7.4: whether a call holds the event loop, and where. Knows threads and time; judges no answer's content."""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from knowledge_conformance.blame import SAMPLE_SECONDS, Stack, agreed, stack_of_thread
from knowledge_conformance.check import Check, Inconclusive, Level, Phase, Violation, check
from knowledge_conformance.subject import Subject
from knowledge_conformance.watched import Watched
from knowledge_provider import RetrievalRequest, limits

_LOOP_ATTEMPTS: Final = 3
_TICK_SECONDS: Final = 0.01
_LOOK_AFTER: Final = limits.LOOP_HELD_SECONDS / 2
_SAMPLES_MAX: Final = 64


# Clause 7.4
@check(
    "KP-704",
    clause="7.4",
    level=Level.MUST,
    needs=("KP-301",),
    calls=1 + 2 * _LOOP_ATTEMPTS,
    surveyed=True,
    phase=Phase.INTERLEAVINGS,
)
async def the_loop_keeps_running(subject: Subject) -> None:
    """After a first call, retrieve does not hold the event loop for more than 250 ms at a time.

    The host's other work stands still for as long: a voice stutters, a time-out does not fire. The usual cause is a
    synchronous client inside an async def.
    """
    first, *others = await subject.unasked(1 + _LOOP_ATTEMPTS)
    await subject.attempt(first)
    fresh = [partial(_answered, subject, request) for request in others]
    # What was never asked, past any cache, and then what a cache may hold.
    answered = [await let_go(subject, fresh), await let_go(subject, fresh[:1] * _LOOP_ATTEMPTS)]
    if not any(answered):
        raise Inconclusive(
            "no call was answered, and one that raises at once holds nothing", hint="see what KP-302 says of them"
        )


async def _answered(subject: Subject, request: RetrievalRequest) -> bool:
    return (await subject.attempt(request.model_copy(deep=True))).error is None


async def let_go(subject: Watched, attempts: Sequence[Callable[[], Awaitable[bool]]]) -> bool:
    """Whether a call that let go of the loop was answered; raises ``Violation`` when all of them held it.

    Each attempt makes one call, and says whether it was answered.
    """
    # The least of a few: a busy machine may hold up one call, a blocking client holds up all.
    stacks: list[Stack] = []
    for attempt in attempts:
        held = await _held(attempt)
        if held.seconds <= limits.LOOP_HELD_SECONDS:
            subject.observe()
            return held.answered
        stacks.extend(held.stacks)
    raise Violation(
        wanted=f"the event loop to be free again within {limits.LOOP_HELD_SECONDS * 1000:g} ms",
        saw=f"that it was held for longer in each of {len(attempts)} calls{agreed(stacks)}",
        hint="use the vendor's async client, or await asyncio.to_thread(...) around the synchronous one",
    )


@dataclass(frozen=True, slots=True)
class _Held:
    """The longest time in seconds for which nothing else ran on the loop during a call, and where it was meanwhile."""

    seconds: float
    stacks: Sequence[Stack]
    answered: bool


async def _held(attempt: Callable[[], Awaitable[bool]]) -> _Held:
    longest = 0.0
    sampler = _Sampler(threading.get_ident())

    async def tick() -> None:
        nonlocal longest
        last = time.perf_counter()
        while True:
            await asyncio.sleep(_TICK_SECONDS)
            now = sampler.beat = time.perf_counter()
            longest, last = max(longest, now - last - _TICK_SECONDS), now

    ticker = asyncio.ensure_future(tick())
    await asyncio.sleep(_TICK_SECONDS)
    answered = await attempt()
    await asyncio.sleep(2 * _TICK_SECONDS)
    sampler.stop()
    ticker.cancel()
    await asyncio.wait({ticker})
    return _Held(longest, sampler.stacks, answered)


class _Sampler:
    """Looks from another thread where the loop's thread is, whenever that has not ticked for a while."""

    def __init__(self, ident: int) -> None:
        self.beat: float = time.perf_counter()
        self.stacks: list[Stack] = []
        self._ident = ident
        self._over = threading.Event()
        threading.Thread(target=self._watch, name="knowledge-conformance-sampler", daemon=True).start()

    def stop(self) -> None:
        """Look no more."""
        self._over.set()

    def _watch(self) -> None:
        while not self._over.wait(SAMPLE_SECONDS) and len(self.stacks) < _SAMPLES_MAX:
            if time.perf_counter() - self.beat > _LOOK_AFTER:
                self.stacks.append(stack_of_thread(self._ident))


CHECKS: Final[tuple[Check, ...]] = (the_loop_keeps_running,)
