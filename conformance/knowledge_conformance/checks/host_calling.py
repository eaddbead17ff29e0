"""Clause 8.6: a provider that takes too long. Knows deadlines and no threads; judges no answer but a late one."""

import asyncio
import contextlib
import gc
import time
from collections.abc import Iterator
from typing import Any, Final

from knowledge_conformance.calls import Ending, Raised
from knowledge_conformance.check import Check, Level, Violation, check
from knowledge_conformance.host_subject import DEADLINE, SLACK, DrivenHost, HostSubject, answered, at_once
from knowledge_conformance.outcomes import entries
from knowledge_conformance.render import show, show_error
from knowledge_fakes.scripted import BlockingProvider, DeafProvider, Flag, HeldProvider
from knowledge_provider import CancelSignal, RetrievalContext, error_code

_SETTLING_TURNS: Final = 10
_ATTEMPTS: Final = 5

LATE_THEN_FRESH: Final[tuple[object, ...]] = tuple(
    [{"id": name, "content": "text", "source": {"uri": f"https://example.org/{name}"}}] for name in ("late", "fresh")
)
"""What a provider answers that is held once."""
LATE_ERROR: Final[tuple[RuntimeError, list[object]]] = (RuntimeError("late, with a text of the provider's own"), [])
"""The same, where what comes late is a failure."""

Held = HeldProvider | BlockingProvider


# Clause 8.6
@check("KP-809", clause="8.6", level=Level.MUST, needs=("KP-854",))
async def the_deadline_ends_the_wait(subject: HostSubject) -> None:
    """At its deadline a search raises knowledge_timeout, even when the provider ignores its cancellation.

    asyncio.wait_for waits for a task that swallows its cancellation, so its time-out is none. A user who speaks to an
    agent hears nothing meanwhile.
    """
    await at_once(times_out(subject, provider) for provider in (HeldProvider(), DeafProvider()))


async def times_out(subject: HostSubject, provider: Held) -> None:
    """Search over a provider that does not answer, and see that it ends as a time-out."""
    # Here and below a provider is released before its host is closed, which may wait for its threads then.
    async with subject.host(provider, deadline=DEADLINE) as host:
        with provider:
            await time_out(host)
            subject.observe()


async def time_out(host: DrivenHost, **asked: Any) -> None:
    """A search that must meet its deadline; one that does not end at all is a ``Hang`` already."""
    ending = await host.attempt(**asked)
    if ending.error is None or error_code(ending.error) != "knowledge_timeout":
        raise Violation(
            wanted=f"an exception with the code knowledge_timeout after {DEADLINE:g} s",
            saw="an outcome" if ending.error is None else f"raised {show_error(ending.error)}",
            hint="wait with asyncio.wait(…, timeout=…), cancel the task, and raise KnowledgeTimeoutError",
        )


# Clause 8.6
@check("KP-833", clause="8.6", level=Level.MUST, needs=("KP-809",))
async def tells_the_provider_at_the_deadline(subject: HostSubject) -> None:
    """At the deadline the provider's task is cancelled.

    Otherwise the work that nobody waits for goes on, and one slow back end fills the host with it.
    """
    provider = HeldProvider()
    await is_told(subject, provider, provider.cancelled, "cancellation of its task")


async def is_told(subject: HostSubject, provider: Held, told: Flag, how: str) -> None:
    """Let a search miss its deadline, and see that the provider is told so."""
    async with subject.host(provider, deadline=DEADLINE) as host:
        with provider:
            await time_out(host)
            if not await subject.happens(told.wait()):
                raise Violation(
                    wanted="the provider to be told at the deadline",
                    saw=f"no {how}",
                    hint="cancel the signal that the provider was given, not the caller's own, and its task",
                )
            subject.observe()


# Clause 8.6
@check("KP-811", clause="8.6", level=Level.MUST, needs=("KP-809",))
async def a_late_answer_goes_nowhere(subject: HostSubject) -> None:
    """An answer that comes after the deadline goes nowhere: not into another search, not into the citations.

    It belongs to a question that was given up, perhaps by somebody else.
    """
    is_fresh(await after_a_late_one(subject, DeafProvider(LATE_THEN_FRESH, held=1)))
    subject.observe()


async def after_a_late_one(subject: HostSubject, provider: Held) -> dict[str, Any]:
    """The outcome of a search after one that was given up, and whose call has ended meanwhile."""
    async with subject.host(provider, deadline=DEADLINE) as host:
        with provider:
            await time_out(host)
            await _let_go(subject, provider)
            return answered(await _attempt_in_time(host), "a search after one that was given up")


async def _attempt_in_time(host: DrivenHost, context: RetrievalContext | None = None) -> Ending:
    # The deadline is a short one, and on a busy machine an answer that is there at once may miss it.
    for _ in range(_ATTEMPTS - 1):
        ending = await host.attempt(context=context)
        if ending.error is None or error_code(ending.error) != "knowledge_timeout":
            return ending
    return await host.attempt(context=context)


def is_fresh(outcome: dict[str, Any]) -> None:
    """Raise ``Violation`` where the outcome has anything of the late answer."""
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
    await goes_unreported(subject, DeafProvider(LATE_ERROR, held=1))


async def goes_unreported(subject: HostSubject, *providers: Held) -> None:
    """Search again after a call that ended late, and see that the loop's exception handler is told nothing."""
    with _reported() as reports:
        await at_once(after_a_late_one(subject, provider) for provider in providers)
        # The report comes when the forgotten task goes.
        gc.collect()
    if reports:
        raise Violation(
            wanted="nothing on the event loop's exception handler",
            saw=f"{len(reports)} reports",
            hint="look at the exception of a task that was abandoned, and give nothing to a future that is done",
            where="a search after one that was given up, and whose call ended late",
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


# Clause 8.6
@check("KP-862", clause="8.6", level=Level.MUST, needs=("KP-811",))
async def the_callers_signal_is_the_callers(subject: HostSubject) -> None:
    """At the deadline the caller's own signal is not cancelled, and a second search with the same context is made.

    A turn has one signal for all that it does. Cancelled by one slow search, it takes every later one with it.
    """
    provider = HeldProvider(LATE_THEN_FRESH, held=1)
    async with subject.host(provider, deadline=DEADLINE) as host:
        with provider:
            context = subject.context()
            await time_out(host, context=context)
            cancelled, before = context.signal.cancelled, len(provider.calls)
            ending = await _attempt_in_time(host, context)
    if cancelled or ending.error is not None or len(provider.calls) == before:
        raise Violation(
            wanted="the caller's signal as it was, and a second search with its context that reaches the provider",
            saw=f"the signal {'cancelled' if cancelled else 'not cancelled'}, and then "
            + ("an outcome" if ending.error is None else f"{show_error(ending.error)} raised"),
            hint="give each call a signal of its own, and cancel that one",
        )
    subject.observe()


# Clauses 8.6 and 8.7
@check("KP-863", clause="8.6", level=Level.SHOULD, needs=("KP-809",))
async def the_callers_deadline_counts(subject: HostSubject) -> None:
    """A deadline in the caller's signal that comes before the host's ends the wait.

    Whoever has half a second left cannot use what comes after ten. The contract speaks of the host's own deadline.
    """
    provider = HeldProvider()
    signal = CancelSignal(deadline=time.monotonic() + DEADLINE)
    async with subject.host(provider) as host:
        with provider:
            task = host.begin(context=subject.context(signal=signal))
            await asyncio.wait({task}, timeout=DEADLINE + SLACK)
            ended = task.done()
            task.cancel()
    if not ended or (not task.cancelled() and type(task.result()) is not Raised):
        raise Violation(
            wanted=f"an exception after {DEADLINE:g} s, which is the caller's deadline",
            saw="an outcome" if ended else f"that the search still waited {SLACK:g} s later",
            hint="wait until the earlier of the two: min(timeout, context.signal.remaining())",
        )
    subject.observe()


CHECKS: Final[tuple[Check, ...]] = (
    the_deadline_ends_the_wait,
    tells_the_provider_at_the_deadline,
    a_late_answer_goes_nowhere,
    a_late_failure_goes_nowhere,
    the_callers_signal_is_the_callers,
    the_callers_deadline_counts,
)
