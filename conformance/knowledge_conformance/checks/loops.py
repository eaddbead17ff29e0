"""Clause 2.4: a provider on a second event loop, and what it leaves of the first. Knows loops; judges no content."""

import asyncio
from collections.abc import Awaitable, Iterable, Sequence
from itertools import cycle
from typing import Final

from knowledge_conformance.check import Check, Hang, Inapplicable, Level, Violation, check
from knowledge_conformance.checks.leaving import refuse_left
from knowledge_conformance.checks.requests import refuse_unserved
from knowledge_conformance.exchange import Exchange
from knowledge_conformance.leftovers import processes_since, sockets_since, tasks_since
from knowledge_conformance.settings import Settings
from knowledge_conformance.subject import Subject
from knowledge_provider import RetrievalRequest, limits


async def _on_the_first(subject: Subject) -> Exchange:
    if subject.life.entered:
        raise Inapplicable("a context manager holds the provider, on the loop that it was entered on")
    if subject.life.spent:
        raise Inapplicable(
            "the provider is one object for the whole run, and closed by now; name what makes one to have this tried"
        )
    # The control: the same provider answers on its first loop.
    return await subject.retrieve((await _requests(subject))[0])


async def _requests(subject: Subject) -> list[RetrievalRequest]:
    known = await subject.found()
    # The first and the last: a cache of the first loop has no answer to another query.
    return [known[at].request.model_copy(deep=True) for at in (0, -1)]


ALONE: Final = (
    "an answer on a second event loop, after the first has ended",
    "make one client for each running loop, when it is first used there; asyncio's objects belong to one loop",
)
"""What is wanted of a call on a second loop, and what to do about one that fails."""
AT_ONCE: Final = (
    "an answer to each of several calls at once on a second event loop, after the first has ended",
    "make locks, semaphores and queues anew for each running loop, too: asyncio binds them where a call first waits",
)
"""The same of several calls at once."""

Came = Exchange | Hang


async def _works(subject: Subject) -> None:
    refuse_unanswered(await at_once([subject.attempt((await _requests(subject))[-1])]), *ALONE)
    # A lock that nobody waits for is on no loop yet. What turned calls away on the first loop says nothing on this one.
    if subject.met:
        refuse_unanswered(await _several(subject, limits.TOP_K_MAX // 2), *AT_ONCE)
    subject.observe()


async def _several(subject: Subject, size: int) -> list[Came]:
    """What came of calls at once, none of them equal where there are enough queries; sizes begin after ``size``."""
    # Queries that find something: what a provider makes of another is no matter of loops.
    queries = [*dict.fromkeys(known.request.query for known in await subject.found())]
    sizes = [(size + at // len(queries)) % limits.TOP_K_MAX + 1 for at in range(subject.settings.concurrency)]
    requests = [RetrievalRequest(query=query, top_k=size) for query, size in zip(cycle(queries), sizes, strict=False)]
    return await at_once(map(subject.attempt, requests))


async def at_once(asked: Iterable[Awaitable[Exchange]]) -> list[Came]:
    """What came of calls that are made at once; of them none is left behind when another does not end."""
    return [*await asyncio.gather(*map(_came, asked))]


async def _came(asked: Awaitable[Exchange]) -> Came:
    try:
        return await asked
    except Hang as hang:
        return hang


def all_answered(came: Sequence[Came]) -> bool:
    """Whether no call failed, so that what fails on another loop fails because of that."""
    return all(isinstance(each, Exchange) and each.error is None for each in came)


def refuse_unanswered(came: Sequence[Came], wanted: str, hint: str) -> None:
    """Raise ``Violation`` for the first call that did not end or raised."""
    for each in came:
        if isinstance(each, Hang):  # on the first loop it does not, so a host that stays on one is not held up
            raise Violation(wanted=wanted, saw=each.saw, hint=hint, where=each.where)
        if each.error is not None:
            refuse_unserved(each.error)
            raise Violation(wanted=wanted, saw=each.came, hint=hint, where=str(each))


def loop_calls(settings: Settings) -> int:
    """One call alone and several at once, on each of two loops."""
    return 2 + 2 * settings.concurrency


# Clause 2.4
@check(
    "KP-208",
    clause="2.4",
    level=Level.SHOULD,
    needs=("KP-301",),
    calls=loop_calls,
    surveyed=True,
    closes=True,
    later=_works,
)
async def works_on_a_second_loop(subject: Subject) -> None:
    """A provider works on a second event loop, after the first has ended.

    Tests, command lines and workers call asyncio.run again and again. A client that keeps to the first loop raises
    "attached to a different loop", or waits for ever, when a host starts over. On both loops a call is made alone and
    several at once, since a lock of asyncio keeps to the loop on which a call first had to wait for it.
    """
    exchange = await _on_the_first(subject)
    # What answers from a thread waits on no loop.
    if exchange.awaited:
        subject.met = all_answered(await _several(subject, 0))


async def _leaves_nothing(subject: Subject) -> None:
    try:
        exchange = await subject.attempt((await _requests(subject))[-1])
    except Hang:
        raise Inapplicable("the provider does not work on a second loop, see KP-208") from None
    if exchange.error is not None:
        raise Inapplicable("the provider does not work on a second loop, see KP-208")
    await subject.close()
    stood = subject.life.stood

    def look() -> list[str]:
        return [*tasks_since(stood), *(sockets_since(stood) or ()), *(processes_since(stood) or ())]

    await refuse_left(subject, look, "in close(), close the clients of loops that have ended too, or forget them")


# Clause 2.3
@check(
    "KP-211",
    clause="2.3",
    level=Level.MUST,
    needs=("KP-206", "KP-209", "KP-210"),
    calls=3,
    surveyed=True,
    closes=True,
    later=_leaves_nothing,
)
async def nothing_is_left_of_the_first_loop(subject: Subject) -> None:
    """Closed on a second event loop, a provider leaves nothing of the first either.

    What belongs to a loop that has ended cannot be closed as usual, and is easily forgotten: one connection, server or
    process stays for each time that a host starts over.
    """
    if subject.member("close") is None:
        raise Inapplicable("the provider has no close()")
    await _on_the_first(subject)


CLOSING_CHECKS: Final[tuple[Check, ...]] = (works_on_a_second_loop, nothing_is_left_of_the_first_loop)
