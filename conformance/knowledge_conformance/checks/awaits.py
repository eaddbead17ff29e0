"""Clauses 7.1 and 7.2: a call is cancelled, at each of its awaits too. Knows tasks; judges no answer's content."""

import asyncio
import contextlib
from typing import Final, NamedTuple

from knowledge_conformance.blame import authors, stack_of_awaitable, within
from knowledge_conformance.calls import cancelled_by_the_host
from knowledge_conformance.check import Check, Hang, Inapplicable, Inconclusive, Level, Phase, Violation, check
from knowledge_conformance.checks.requests import refuse_unserved
from knowledge_conformance.exchange import Exchange, show_request
from knowledge_conformance.interrupting import (
    BEFORE,
    LEFT_SECONDS,
    NEVER_WAITS,
    Cut,
    Interrupting,
    asked_again_max,
    interrupting,
    points_max,
    refuse_swallowed,
)
from knowledge_conformance.subject import Subject
from knowledge_conformance.survey import answered
from knowledge_provider import RetrievalRequest, limits

_EMPTY_MAX: Final = 3


# Clause 7.1
@check("KP-701", clause="7.1", level=Level.MUST, needs=("KP-301",), calls=2, surveyed=True, phase=Phase.INTERLEAVINGS)
async def cancellation_comes_out(subject: Subject) -> None:
    """Cancelled while it waits, an async retrieve ends within a second and the cancellation comes out.

    A caller who interrupts a voice agent waits for it. A provider that swallows the cancellation, or turns it into an
    answer, keeps a dead turn alive. A call that never waits cannot be cancelled. Here it is cancelled where it waits
    first; KP-702 cancels it at each of its awaits.
    """
    first, second = await subject.unasked(2)
    # A provider that refuses what it is asked says nothing about cancellation.
    if (await subject.attempt(first)).error is not None:
        raise Inconclusive("a call that is not cancelled failed, too", hint="see what KP-302 says of failing requests")
    context = subject.context()
    task = await subject.start(second, context)
    await asyncio.sleep(0)
    if task is None or task.done():
        raise Inapplicable(NEVER_WAITS)
    held = within(authors(stack_of_awaitable(task)))
    await cancelled_by_the_host(task, context.signal)
    await refuse_swallowed(task, second, held)
    subject.observe()


# Clause 7.2
@check(
    "KP-702",
    clause="7.2",
    level=Level.MUST,
    needs=("KP-701",),
    calls=lambda settings: BEFORE + points_max(settings) + 1,
    surveyed=True,
    phase=Phase.INTERLEAVINGS,
)
async def nothing_is_left_of_a_cancelled_call(subject: Subject) -> None:
    """Cancelled at any of its awaits, a call ends with the cancellation and leaves no task behind.

    The awaits of a call are counted, and further calls are cancelled at one each: of many at the first and the last,
    at those where the call comes to another place in the code, and at some between. A task that nobody waits for holds
    a connection, spends money, and fails where nobody sees it. What a provider starts once and keeps does not count.
    """
    with interrupting(subject) as calls:
        async for at in calls.awaits():
            cut = await calls.cut(at)
            # Once more, before it is said: a worker that is started late is kept, and comes once.
            if cut is not None and cut.left and (again := await _once_more(calls, at, cut)) is not None and again.left:
                raise _left(again)
    calls.look()


async def _once_more(calls: Interrupting, at: int, cut: Cut) -> Cut | None:
    # Another request first: an equal one may join the task that was left, and nothing new comes.
    return await calls.cut(at) or await calls.cut(at, cut.request)


def _left(cut: Cut) -> Violation:
    return Violation(
        wanted=f"no task to be left {LEFT_SECONDS * 1000:g} ms after a cancelled call has ended",
        saw=f"{cut.left[0]}, after a call that was cancelled{cut.held}",
        hint="cancel what a call started when the call is: asyncio.TaskGroup does; asyncio.wait and shield do not",
        where=show_request(cut.request),
    )


# Clause 7.2
@check(
    "KP-709",
    clause="7.2",
    level=Level.MUST,
    needs=("KP-702",),
    calls=lambda settings: BEFORE + asked_again_max(settings) + _EMPTY_MAX + 2,
    surveyed=True,
    phase=Phase.INTERLEAVINGS,
)
async def a_cancelled_call_spoils_no_other(subject: Subject) -> None:
    """Cancelled at any of its awaits, a call leaves a provider that still works.

    A lock that is not released, a connection with half an answer in it or a cancelled future in a cache makes the next
    user pay for one who interrupted. After each cancelled call the same request is made again; where it finds nothing,
    with another top_k, too, for a cache may have been filled with nothing. Then as many calls as a host makes at once
    are cancelled at one place each: a pool of a few places is empty only when all of them are lost.
    """
    empty = 0
    with interrupting(subject) as calls:
        async for at in calls.awaits():
            cut = await calls.cut(at)
            if cut is None:
                continue
            exchange = await _answered_again(subject, cut.request, cut.held, _ONCE)
            if exchange.count == 0 and empty < _EMPTY_MAX:
                empty += 1
                await _refuse_emptied(subject, exchange, cut.held)
        for turn, (at, times) in enumerate(calls.repeats()):
            cut = await calls.cut_often(at, times)
            if cut is not None:
                await _given_back(subject, cut.held, turn)
    calls.look()
    await _finds_what_it_found(subject)


class _Said(NamedTuple):
    """What a finding says of the calls that were cancelled before."""

    wanted: str
    before: str
    hint: str


_ONCE: Final = _Said(
    "an answer to the same request, after a call was cancelled",
    "the call before was cancelled",
    "release in finally or async with; drop a connection whose answer was not read; do not cache a future",
)
_OFTEN: Final = _Said(
    "an answer to another request, after many calls were cancelled",
    "what is limited is not given back by calls that are cancelled",
    "each call that is cancelled there keeps a place of a semaphore, pool or queue: release in finally or async with",
)


_SIZES: Final = range(limits.TOP_K_MIN + 1, limits.TOP_K_MAX - 1)


async def _given_back(subject: Subject, held: str, turn: int) -> None:
    # In sizes of its own, or a cache would answer; a query that finds something, since others may be refused.
    request = RetrievalRequest(query=(await subject.found())[0].request.query, top_k=_SIZES[turn % len(_SIZES)])
    # A second time: what a cancelled call left to a thread may only be slow, and gives its place back when it ends.
    with contextlib.suppress(Hang):
        await _answered_again(subject, request, held, _OFTEN)
        return
    await _answered_again(subject, request, held, _OFTEN)


async def _refuse_emptied(subject: Subject, exchange: Exchange, held: str) -> None:
    top_k = exchange.request.top_k
    other = exchange.request.model_copy(
        deep=True, update={"top_k": top_k - 1 if top_k > limits.TOP_K_MIN else limits.TOP_K_MAX}
    )
    alike = await subject.attempt(other)
    if alike.count:
        raise Violation(
            wanted=f"results, of which the same query has {alike.count} with top_k {other.top_k}",
            saw=f"{exchange.size}; {_ONCE.before}{held}",
            hint="put an answer into a cache when it is there, and nothing before that",
            where=str(exchange),
        )


async def _answered_again(subject: Subject, request: RetrievalRequest, held: str, said: _Said) -> Exchange:
    before = f"; {said.before}{held}"
    try:
        exchange = await subject.attempt(request.model_copy(deep=True))
    except Hang as hang:
        raise Hang(wanted=said.wanted, saw=f"{hang.saw}{before}", hint=said.hint, where=hang.where) from None
    if exchange.error is None:
        return exchange
    refuse_unserved(exchange.error)
    raise Violation(
        wanted=said.wanted, saw=f"{exchange.came}{before}", hint=said.hint, where=show_request(exchange.request)
    )


async def _finds_what_it_found(subject: Subject) -> None:
    known = answered(await subject.survey())[0].request
    exchange = await subject.retrieve(known.model_copy(deep=True))
    if not exchange.count:
        raise Violation(
            wanted="the results that the same request had before other calls were cancelled",
            saw=exchange.size,
            hint="a connection that a cancelled call left behind is no empty answer: open another",
        )


CHECKS: Final[tuple[Check, ...]] = (
    cancellation_comes_out,
    nothing_is_left_of_a_cancelled_call,
    a_cancelled_call_spoils_no_other,
)
