"""Clauses 7.1 and 8 for a synchronous provider: each duty once more in a thread. Knows no asynchronous provider.

A host that lacks this is told so here, and the checks of everything else run all the same.
"""

import asyncio
import threading
from typing import Final

from knowledge_conformance.check import Check, Level, Violation, check
from knowledge_conformance.checks.host_calling import (
    LATE_ERROR,
    LATE_THEN_FRESH,
    after_a_late_one,
    goes_unreported,
    is_fresh,
    is_told,
    times_out,
)
from knowledge_conformance.checks.host_cancelling import cancelled_by_its_signal, cancelled_by_its_task
from knowledge_conformance.checks.host_failing import ENDINGS, TIMEOUTS, endings, kept_apart, ordinary, told
from knowledge_conformance.checks.host_lifecycle import health_of, is_closed_once, is_status
from knowledge_conformance.host_subject import DEADLINE, HostSubject
from knowledge_fakes.scripted import BlockingProvider, Flag, SyncScriptedProvider
from knowledge_provider import limits

_HELD_SECONDS: Final = 2.0
# Together more than the threads of any bound that deserves the name.
_LOADS: Final = (80, 220)
_STATUSES: Final = ("ready", "degraded")


# Clauses 8.6 and 7.4
@check("KP-835", clause="8.6", level=Level.MUST, needs=("KP-827",))
async def a_synchronous_provider_leaves_the_loop_free(subject: HostSubject) -> None:
    """While a synchronous provider works, the event loop goes on.

    Called on the loop, it stops everything else in the agent, the deadline too.
    """
    flag = Flag()
    freed: list[bool] = []

    def wait_for_the_loop(*_: object) -> list[object]:
        freed.append(flag.wait_in_thread(_HELD_SECONDS))
        return []

    async with subject.host(SyncScriptedProvider([wait_for_the_loop])) as host:
        asyncio.get_running_loop().call_later(0.01, flag.set)
        await host.search()
    if freed != [True]:
        raise Violation(
            wanted="the event loop to run while retrieve does",
            saw=f"that it stood still for {_HELD_SECONDS:g} s",
            hint="call a plain retrieve in a thread",
        )
    subject.observe()


# Clause 8.6
@check("KP-810", clause="8.6", level=Level.MUST, needs=("KP-809", "KP-835"))
async def the_deadline_ends_the_wait_for_a_thread(subject: HostSubject) -> None:
    """At its deadline a search raises knowledge_timeout when a synchronous provider does not return.

    A thread cannot be stopped, so the host stops waiting for it.
    """
    await times_out(subject, BlockingProvider())


# Clauses 8.6 and 7.1
@check("KP-855", clause="8.6", level=Level.MUST, needs=("KP-810", "KP-833"))
async def tells_a_thread_at_the_deadline(subject: HostSubject) -> None:
    """At the deadline the signal of a synchronous provider is cancelled.

    A thread has no task to cancel: its signal is all that it can look at.
    """
    provider = BlockingProvider()
    await is_told(subject, provider, provider.told, "cancelled signal")


# Clause 7.1
@check("KP-834", clause="7.1", level=Level.MUST, needs=("KP-810",))
async def threads_are_bounded(subject: HostSubject) -> None:
    """Calls of a synchronous provider that hangs are bounded in number, and a host that has too many still answers.

    With a thread for each search, a back end that hangs takes the whole process with it, not only its own answers.
    """
    provider, searches = BlockingProvider(), 0
    async with subject.host(provider, deadline=DEADLINE) as host:
        with provider:
            for more in _LOADS:
                searches += more
                endings = await asyncio.gather(*(host.attempt() for _ in range(more)))
                if any(ending.error is None for ending in endings):
                    raise Violation(
                        wanted="an exception of each search whose call hangs",
                        saw=f"{sum(ending.error is None for ending in endings)} answers to {more} searches",
                        hint="refuse what comes beyond the bound: KnowledgeUnavailableError",
                    )
                # Clause 7.1 names no number. Whoever runs fewer calls than there are searches has a bound.
                if len(provider.calls) < searches:
                    subject.observe()
                    return
    raise Violation(
        wanted=f"fewer calls in threads than searches, at the latest when {searches} of them hang",
        saw=f"{len(provider.calls)} calls",
        hint=f"let at most some dozens of calls run in threads ({limits.CONCURRENCY_MAX}, for one), and refuse more",
    )


# Clause 8.6
@check("KP-836", clause="8.6", level=Level.SHOULD, needs=("KP-835",))
async def threads_do_not_hold_up_the_end(subject: HostSubject) -> None:
    """A synchronous provider runs in a daemon thread, so that one which never returns does not hold up the exit.

    Python waits for the threads of an executor when a loop or a process ends: asyncio.to_thread makes such threads.
    """
    daemons: list[bool] = []

    def look(*_: object) -> list[object]:
        daemons.append(threading.current_thread().daemon)
        return []

    async with subject.host(SyncScriptedProvider([look])) as host:
        await host.search()
    if daemons != [True]:
        raise Violation(
            wanted="a daemon thread",
            saw="a thread that Python waits for",
            hint="use threading.Thread(daemon=True), or knowledge_provider.adapting.DaemonThreads",
        )
    subject.observe()


# Clause 8.6
@check("KP-856", clause="8.6", level=Level.MUST, needs=("KP-810", "KP-811"))
async def a_threads_late_answer_goes_nowhere(subject: HostSubject) -> None:
    """What a synchronous provider answers after the deadline goes nowhere: not into another search or its citations.

    A thread always ends some day, and nobody can cancel it.
    """
    is_fresh(await after_a_late_one(subject, BlockingProvider(LATE_THEN_FRESH, held=1)))
    subject.observe()


# Clause 8.6
@check("KP-857", clause="8.6", level=Level.SHOULD, needs=("KP-856",))
async def a_threads_late_end_is_not_reported(subject: HostSubject) -> None:
    """When a synchronous provider ends late, with an answer or a failure, the event loop reports nothing.

    A future that was given up is done; giving it a result is an error in the log for each slow call.
    """
    await goes_unreported(subject, *(BlockingProvider(answers, held=1) for answers in (LATE_THEN_FRESH, LATE_ERROR)))


# Clauses 8.7 and 7.1
@check("KP-858", clause="8.7", level=Level.MUST, needs=("KP-835", "KP-838", "KP-839"))
async def cancelling_reaches_a_thread(subject: HostSubject) -> None:
    """Cancelled while a synchronous provider works, by its task or its signal, a search ends and the provider is told.

    The search does not wait for the thread, which cannot be stopped; the cancelled signal tells it to stop itself.
    """
    await cancelled_by_its_task(subject, BlockingProvider())
    await cancelled_by_its_signal(subject, BlockingProvider())


# Clause 8.11
@check("KP-859", clause="8.11", level=Level.MUST, needs=("KP-821", "KP-835", "KP-845"))
async def a_failure_in_a_thread_is_told(subject: HostSubject) -> None:
    """Whatever a synchronous provider raises is knowledge_provider_failed with its key, too.

    What comes out of a thread takes another way: a future refuses a StopIteration, and whoever awaits it waits on.
    """
    plain = ordinary()
    for name, ending in await endings(subject, SyncScriptedProvider, [*plain, *ENDINGS, *TIMEOUTS]):
        told(name, ending)
        if name in plain:
            kept_apart(name, ending)
        subject.observe()


# Clauses 8.12 and 2.1
@check("KP-860", clause="8.12", level=Level.MUST, needs=("KP-822", "KP-825", "KP-835"))
async def a_synchronous_provider_is_closed(subject: HostSubject) -> None:
    """A synchronous provider is closed once and asked for its health, too.

    To await what is no coroutine is an error, and one that a host swallows where it closes.
    """
    await is_closed_once(subject, SyncScriptedProvider())
    for status in _STATUSES:
        is_status(await health_of(subject, SyncScriptedProvider(health={"status": status})), status)
        subject.observe()


CHECKS: Final[tuple[Check, ...]] = (
    a_synchronous_provider_leaves_the_loop_free,
    the_deadline_ends_the_wait_for_a_thread,
    tells_a_thread_at_the_deadline,
    threads_are_bounded,
    threads_do_not_hold_up_the_end,
    a_threads_late_answer_goes_nowhere,
    a_threads_late_end_is_not_reported,
    cancelling_reaches_a_thread,
    a_failure_in_a_thread_is_told,
    a_synchronous_provider_is_closed,
)
