"""Clause 8.6: a provider that takes too long. Knows deadlines and threads; judges no answer but one that is late."""

import asyncio
import contextlib
import gc
import threading
from collections.abc import Iterator
from typing import Any, Final

from knowledge_conformance.check import Check, Level, Violation, check
from knowledge_conformance.host_subject import DEADLINE, SLACK, DrivenHost, HostSubject, answered, at_once
from knowledge_conformance.outcomes import entries
from knowledge_conformance.render import show, show_error
from knowledge_fakes.scripted import BlockingProvider, DeafProvider, Flag, HeldProvider, SyncScriptedProvider
from knowledge_provider import error_code, limits

_AT_ONCE: Final = 80
_BOUND: Final = 2 * limits.CONCURRENCY_MAX
_HELD_SECONDS: Final = 2.0
_SETTLING_TURNS: Final = 10
_ATTEMPTS: Final = 5

Held = HeldProvider | BlockingProvider


# Clause 8.6
@check("KP-809", clause="8.6", level=Level.MUST, needs=("KP-854",))
async def the_deadline_ends_the_wait(subject: HostSubject) -> None:
    """At its deadline a search raises knowledge_timeout, even when the provider ignores its cancellation.

    asyncio.wait_for waits for a task that swallows its cancellation, so its time-out is none. A user who speaks to an
    agent hears nothing meanwhile.
    """
    await at_once(_times_out(subject, provider) for provider in (HeldProvider(), DeafProvider()))


# Clause 8.6
@check("KP-810", clause="8.6", level=Level.MUST, needs=("KP-809", "KP-835"))
async def the_deadline_ends_the_wait_for_a_thread(subject: HostSubject) -> None:
    """At its deadline a search raises knowledge_timeout when a synchronous provider does not return.

    A thread cannot be stopped, so the host stops waiting for it.
    """
    await _times_out(subject, BlockingProvider())


async def _times_out(subject: HostSubject, provider: Held) -> None:
    # Here and below a provider is released before its host is closed, which may wait for its threads then.
    async with subject.host(provider, deadline=DEADLINE) as host:
        with provider:
            await _time_out(host)
            subject.observe()


async def _time_out(host: DrivenHost, **asked: Any) -> None:
    """A search that must meet its deadline; one that does not end at all is a ``Hang`` already."""
    ending = await host.attempt(**asked)
    if ending.error is None or error_code(ending.error) != "knowledge_timeout":
        raise Violation(
            wanted=f"an exception with the code knowledge_timeout after {DEADLINE:g} s",
            saw="an outcome" if ending.error is None else f"raised {show_error(ending.error)}",
            hint="wait with asyncio.wait(…, timeout=…), cancel the task, and raise KnowledgeTimeoutError",
        )


# Clauses 8.6 and 7.1
@check("KP-833", clause="8.6", level=Level.MUST, needs=("KP-810",))
async def tells_the_provider_at_the_deadline(subject: HostSubject) -> None:
    """At the deadline the provider is told: its task is cancelled, and a thread's signal is.

    Otherwise the work that nobody waits for goes on, and one slow back end fills the host with it.
    """
    held, blocking = HeldProvider(), BlockingProvider()
    await at_once(
        [
            _is_told(subject, held, held.cancelled, "cancellation of its task"),
            _is_told(subject, blocking, blocking.told, "cancelled signal"),
        ]
    )


async def _is_told(subject: HostSubject, provider: Held, told: Flag, how: str) -> None:
    async with subject.host(provider, deadline=DEADLINE) as host:
        with provider:
            await _time_out(host)
            if not await subject.happens(told.wait()):
                raise Violation(
                    wanted="the provider to be told at the deadline",
                    saw=f"no {how}",
                    hint="context.signal.cancel('timeout'), and task.cancel() where there is a task",
                )
            subject.observe()


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


# Clause 7.1
@check("KP-834", clause="7.1", level=Level.MUST, needs=("KP-810",))
async def threads_are_bounded(subject: HostSubject) -> None:
    """Calls of a synchronous provider that hangs are bounded in number, and a host that has too many still answers.

    With a thread for each search, a back end that hangs takes the whole process with it, not only its own answers.
    """
    provider = BlockingProvider()
    async with subject.host(provider, deadline=DEADLINE) as host:
        with provider:
            endings = await asyncio.gather(*(host.attempt() for _ in range(_AT_ONCE)))
            running, answers = len(provider.calls), sum(ending.error is None for ending in endings)
            if running > _BOUND or answers:
                raise Violation(
                    wanted=f"at most {_BOUND} calls in threads for {_AT_ONCE} searches, and no answer",
                    saw=f"{running} calls and {answers} answers",
                    hint=f"let at most {limits.CONCURRENCY_MAX} calls run in threads, and refuse what comes beyond",
                )
            subject.observe()


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
@check("KP-811", clause="8.6", level=Level.MUST, needs=("KP-810",))
async def a_late_answer_goes_nowhere(subject: HostSubject) -> None:
    """An answer that comes after the deadline goes nowhere: not into another search, not into the citations.

    It belongs to a question that was given up, perhaps by somebody else.
    """
    late = [{"id": "late", "content": "Too late.", "source": {"uri": "https://example.org/late"}}]
    fresh = [{"id": "fresh", "content": "In time.", "source": {"uri": "https://example.org/fresh"}}]
    providers = (DeafProvider([late, fresh], held=1), BlockingProvider([late, fresh], held=1))
    for outcome in await at_once(_after_a_late_one(subject, provider) for provider in providers):
        _is_fresh(outcome)
        subject.observe()


async def _after_a_late_one(subject: HostSubject, provider: Held) -> dict[str, Any]:
    """The outcome of a search after one that was given up, and whose call has ended meanwhile."""
    async with subject.host(provider, deadline=DEADLINE) as host:
        with provider:
            await _time_out(host)
            await _let_go(subject, provider)
            return await _in_time(host)


async def _in_time(host: DrivenHost) -> dict[str, Any]:
    # The deadline is a short one, and on a busy machine an answer that is there at once may miss it.
    for _ in range(_ATTEMPTS - 1):
        ending = await host.attempt()
        if ending.error is None or error_code(ending.error) != "knowledge_timeout":
            return answered(ending, "a search after one that was given up")
    return await host.search()


def _is_fresh(outcome: dict[str, Any]) -> None:
    found = [each.get("id") for each in entries(outcome, "results")]
    cited = [(each.get("id"), each.get("url")) for each in entries(outcome, "citations")]
    if found != ["fresh"] or cited != [("source_1", "https://example.org/fresh")]:
        raise Violation(
            wanted="the next search to have its own result, cited as source_1",
            saw=f"the results {show(found)}, cited as {show(cited)}",
            hint="normalise an answer only where somebody still waits for it",
        )


# Clause 8.6
@check("KP-837", clause="8.6", level=Level.SHOULD, needs=("KP-811",))
async def a_late_failure_goes_nowhere(subject: HostSubject) -> None:
    """A failure that comes after the deadline goes nowhere either.

    Python reports an exception that nobody looked at, with the provider's own text, to the log of the agent.
    """
    failing = [RuntimeError("late, with a text of the provider's own"), []]
    providers = (DeafProvider(failing, held=1), BlockingProvider(failing, held=1))
    with _reported() as reported:
        await at_once(_after_a_late_one(subject, provider) for provider in providers)
        # The report comes when the forgotten task goes.
        gc.collect()
    if reported:
        raise Violation(
            wanted="nothing on the event loop's exception handler",
            saw=f"{len(reported)} reports",
            hint="look at the exception of a task that was abandoned: task.add_done_callback(…)",
            where="a search after one that was given up, and whose call raised late",
        )
    subject.observe(len(providers))


@contextlib.contextmanager
def _reported() -> Iterator[list[str]]:
    """What the loop's exception handler is told inside the block."""
    loop, seen = asyncio.get_running_loop(), list[str]()
    before = loop.get_exception_handler()
    loop.set_exception_handler(lambda _, context: seen.append(str(context.get("message"))))
    try:
        yield seen
    finally:
        loop.set_exception_handler(before)


async def _let_go(subject: HostSubject, provider: Held) -> None:
    """Release what is held, and let the loop see that it ended."""
    provider.release()
    await subject.happens(provider.ended.wait())
    for _ in range(_SETTLING_TURNS):
        await asyncio.sleep(SLACK / 1000)


CHECKS: Final[tuple[Check, ...]] = (
    a_synchronous_provider_leaves_the_loop_free,
    the_deadline_ends_the_wait,
    the_deadline_ends_the_wait_for_a_thread,
    tells_the_provider_at_the_deadline,
    threads_are_bounded,
    threads_do_not_hold_up_the_end,
    a_late_answer_goes_nowhere,
    a_late_failure_goes_nowhere,
)
