"""Section 7 of the contract: cancellation, the event loop and concurrency. Knows time; judges no answer's content."""

import asyncio
import time
from collections.abc import Sequence
from typing import Any, Final

from knowledge_conformance.audit import watch_io
from knowledge_conformance.calls import GRACE_SECONDS, Raised
from knowledge_conformance.check import Blocked, Check, Inapplicable, Inconclusive, Level, Violation, check
from knowledge_conformance.checks.requests import MADE_UP_QUERY
from knowledge_conformance.exchange import Exchange, again, as_dict, raised_at, show_request
from knowledge_conformance.plain import Plain, plain
from knowledge_conformance.render import show, show_error
from knowledge_conformance.settings import Settings
from knowledge_conformance.subject import Subject
from knowledge_conformance.survey import answered
from knowledge_provider import CancelSignal, RetrievalRequest, limits

_CANCEL_MOMENTS: Final = (0.0, 0.5, 0.9)
_LOOP_ATTEMPTS: Final = 3
_TICK_SECONDS: Final = 0.01
_DISTINCT_MAX: Final = 8


async def _ordinary(subject: Subject) -> RetrievalRequest:
    known = answered(await subject.survey())
    if not known:
        raise Inconclusive("no query returned a result", hint="pass --provider-query 'text'")
    return again(known[0])


# Clause 7.1
@check("KP-701", clause="7.1", level=Level.MUST, needs=("KP-301",), calls=1 + len(_CANCEL_MOMENTS), surveyed=True)
async def cancellation_comes_out(subject: Subject) -> None:
    """Cancelled while it waits, an async retrieve ends within a second and the cancellation comes out.

    A caller who interrupts a voice agent waits for it. A provider that swallows the cancellation, or turns it into an
    answer, keeps a dead turn alive. A call that never waits cannot be cancelled.
    """
    if not subject.is_async():
        raise Inapplicable("retrieve is synchronous: the host ends the wait and tells its thread through the signal")
    request = await _ordinary(subject)
    usual = (await subject.retrieve(request)).seconds
    for moment in _CANCEL_MOMENTS:
        if await _cancelled_at(subject, request, usual * moment):
            subject.observe()
    if not subject.observations:
        raise Inapplicable("retrieve never waits, so there is nothing to cancel")


async def _cancelled_at(subject: Subject, request: RetrievalRequest, seconds: float) -> bool:
    """Whether the call was still waiting after ``seconds``, and was cancelled then; raises ``Violation``."""
    context = subject.context()
    task = subject.start(request, context)
    await asyncio.sleep(0)
    if seconds and not task.done():
        await asyncio.wait({task}, timeout=seconds)
    if task.done():
        return False
    task.cancel()
    context.signal.cancel("cancelled by the host")
    await asyncio.wait({task}, timeout=GRACE_SECONDS)
    if task.cancelled():
        return True
    raise Violation(
        wanted=f"the cancellation to come out of retrieve within {GRACE_SECONDS:g} s",
        saw=_instead(task),
        hint="let asyncio.CancelledError through: catch Exception, not BaseException, and re-raise after cleaning up",
        where=show_request(request),
    )


def _instead(task: "asyncio.Task[Any]") -> str:
    if not task.done():
        return "a call that was still running"
    value = task.result()
    return f"raised {show_error(value.error)} instead" if isinstance(value, Raised) else f"an answer: {show(value)}"


# Clause 7.3
@check("KP-703", clause="7.3", level=Level.SHOULD, needs=("KP-301",), calls=1, surveyed=True)
async def a_cancelled_call_starts_nothing(subject: Subject) -> None:
    """With a signal that is cancelled already, retrieve starts no work.

    The user has gone on: work that nobody waits for costs money and delays the next turn.
    """
    request = await _ordinary(subject)
    signal = CancelSignal()
    signal.cancel("cancelled before the call")
    with watch_io() as opened:
        exchange = await subject.attempt(request, subject.context(signal=signal))
    if exchange.error is None or opened:
        raise Violation(
            wanted="no work: the call raises at once",
            saw=f"{exchange.count} results"
            if exchange.error is None
            else f"the events {', '.join(sorted(set(opened)))}",
            hint="begin retrieve with context.signal.raise_if_cancelled()",
        )
    subject.observe()


# Clause 7.4
@check("KP-704", clause="7.4", level=Level.MUST, needs=("KP-301",), calls=1 + 2 * _LOOP_ATTEMPTS, surveyed=True)
async def the_loop_keeps_running(subject: Subject) -> None:
    """After a first call, retrieve does not hold the event loop for more than 250 ms at a time.

    The host's other work stands still for as long: a voice stutters, a time-out does not fire. The usual cause is a
    synchronous client inside an async def.
    """
    await subject.attempt(await _ordinary(subject))
    for exchange in answered(await subject.survey())[:2]:
        # The least of a few: a busy machine may hold up one call, a blocking client holds up all.
        held = [await _held(subject, again(exchange))]
        while min(held) > limits.LOOP_HELD_SECONDS and len(held) < _LOOP_ATTEMPTS:
            held.append(await _held(subject, again(exchange)))
        if min(held) > limits.LOOP_HELD_SECONDS:
            raise Violation(
                wanted=f"the event loop to be free again within {limits.LOOP_HELD_SECONDS * 1000:g} ms",
                saw=f"that it was held for longer in each of {len(held)} calls",
                hint="use the vendor's async client, or await asyncio.to_thread(...) around the synchronous one",
            )
        subject.observe()


async def _held(subject: Subject, request: RetrievalRequest) -> float:
    """The longest time in seconds for which nothing else ran on the loop during a call."""
    longest = 0.0

    async def tick() -> None:
        nonlocal longest
        last = time.perf_counter()
        while True:
            await asyncio.sleep(_TICK_SECONDS)
            now = time.perf_counter()
            longest, last = max(longest, now - last - _TICK_SECONDS), now

    ticker = asyncio.ensure_future(tick())
    await asyncio.sleep(_TICK_SECONDS)
    await subject.attempt(request)
    await asyncio.sleep(2 * _TICK_SECONDS)
    ticker.cancel()
    await asyncio.wait({ticker})
    return longest


def _concurrent_calls(settings: Settings) -> int:
    return 2 * _DISTINCT_MAX + settings.concurrency


# Clause 7.5
@check("KP-705", clause="7.5", level=Level.MUST, needs=("KP-501",), calls=_concurrent_calls, surveyed=True)
async def answers_are_not_mixed_up(subject: Subject) -> None:
    """Concurrent calls never get each other's answers.

    State that a call keeps on the provider belongs to the last caller: one user hears what another asked.
    """
    alone, again = await _one_after_another(subject)
    steady = {at for at, answer in enumerate(alone) if again[at] == answer}
    if len(set(alone)) < 2 or len(steady) < 2:
        raise Inapplicable("every request gets the same answer, or another one each time: none can be told from others")
    for at, exchange in await _at_once(subject, len(alone)):
        answer = _picture(exchange)
        # Nothing is not told from a call that was turned away: that is KP-706's matter. Too many are KP-304's, when
        # the same request gets them alone, too.
        others = {alone[other] for other in steady} - {alone[at], ()}
        grown = answer != alone[at] and exchange.count > exchange.request.top_k
        if at in steady and (answer in others or grown):
            raise Violation(
                wanted="each call to get its own answer",
                saw="the answer to another of the calls that ran at the same time",
                hint="keep a call's state in local variables, not on the provider; one client call for each request",
                where=str(exchange),
            )
        subject.observe()


# Clause 7.5
@check("KP-706", clause="7.5", level=Level.SHOULD, needs=("KP-705",), calls=_concurrent_calls, surveyed=True)
async def together_is_as_alone(subject: Subject) -> None:
    """Concurrent calls give what the same calls give one after another.

    A provider that fails or thins out its answers under load does so when most people talk to it.
    """
    alone, again = await _one_after_another(subject)
    if alone != again:
        raise Blocked("3.6 has to hold first: the same request gave another answer when it was asked again")
    for at, exchange in await _at_once(subject, len(alone)):
        if _picture(exchange) != alone[at]:
            raise Violation(
                wanted="the answer that the same request gets alone",
                saw=f"raised {show_error(exchange.error)}{raised_at(exchange.error)}"
                if exchange.error
                else "another one",
                hint="bound the number of calls inside the provider and let the others wait",
                where=str(exchange),
            )
        subject.observe()


async def _requests(subject: Subject) -> Sequence[RetrievalRequest]:
    """Requests whose answers can be told apart, as far as the corpus allows: other queries, other sizes, nonsense."""
    queries = dict.fromkeys(exchange.request.query for exchange in answered(await subject.survey()))
    found = [RetrievalRequest(query=query, top_k=top_k) for top_k in (5, 1, 2) for query in list(queries)[:3]]
    # Nonsense first: where the last request wins, its empty answer would look like one that was turned away.
    return [RetrievalRequest(query=MADE_UP_QUERY), *found[: _DISTINCT_MAX - 1]]


async def _one_after_another(subject: Subject) -> tuple[list[Plain], list[Plain]]:
    requests = await _requests(subject)
    first = [_picture(await subject.attempt(request)) for request in requests]
    return first, [_picture(await subject.attempt(request)) for request in requests]


async def _at_once(subject: Subject, distinct: int) -> list[tuple[int, Exchange]]:
    requests = await _requests(subject)
    places = [at % distinct for at in range(subject.settings.concurrency)]
    exchanges = await asyncio.gather(*(subject.attempt(requests[at]) for at in places))
    return list(zip(places, exchanges, strict=True))


def _picture(exchange: Exchange) -> Plain:
    """Which results came, whatever their order: results of equal score may swap (clause 3.6)."""
    if exchange.error is not None:
        return ("raised", type(exchange.error).__qualname__)
    fields = [as_dict(item) or {} for item in exchange.items]
    return tuple(sorted((plain((entry.get("id"), entry.get("content"))) for entry in fields), key=repr))


CHECKS: Final[tuple[Check, ...]] = (
    cancellation_comes_out,
    a_cancelled_call_starts_nothing,
    the_loop_keeps_running,
    answers_are_not_mixed_up,
    together_is_as_alone,
)
