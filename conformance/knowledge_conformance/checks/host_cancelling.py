"""Clause 8.7: a search that its caller gives up. Knows signals and tasks; judges no answer."""

import asyncio
from typing import Any, Final

from knowledge_conformance.calls import GRACE_SECONDS, Raised
from knowledge_conformance.check import Check, Hang, Level, Violation, check
from knowledge_conformance.host_subject import QUERY, SLACK, HostSubject
from knowledge_conformance.render import show, show_error
from knowledge_fakes.scripted import BlockingProvider, DeafProvider, HeldProvider, ScriptedProvider
from knowledge_provider import CancelSignal

_ANSWER: Final = [{"id": "approvals", "content": "Releases are approved by two people."}]

Held = HeldProvider | BlockingProvider


# Clause 8.7
@check("KP-812", clause="8.7", level=Level.MUST, needs=("KP-854",))
async def cancelled_before_asks_nobody(subject: HostSubject) -> None:
    """With a signal that is cancelled already, a search raises and the provider is not invoked.

    The user has gone on. An answer, an empty one too, would be spoken into the next turn.
    """
    signal = CancelSignal()
    signal.cancel("the user went on")
    provider = ScriptedProvider([_ANSWER])
    async with subject.host(provider) as host:
        context = subject.context(signal=signal)
        async for where, ending in host.attempt_each_way({"query": QUERY}, context):
            if ending.error is None or provider.calls:
                raise Violation(
                    wanted="an exception, and no call of the provider",
                    saw=f"{'an outcome' if ending.error is None else 'an exception'} after {len(provider.calls)} calls",
                    hint="context.signal.raise_if_cancelled() before the provider is asked",
                    where=where,
                )
            subject.observe()


# Clause 8.7
@check("KP-813", clause="8.7", level=Level.MUST, needs=("KP-854",))
async def cancelling_the_task_reaches_the_provider(subject: HostSubject) -> None:
    """When the task that searches is cancelled, the provider's task and signal are, and the cancellation comes out.

    A turn that is interrupted stops the work it began: the back end is free again, and the provider's own clean-up
    runs.
    """
    await cancelled_by_its_task(subject, HeldProvider())


# Clause 8.7
@check("KP-838", clause="8.7", level=Level.MUST, needs=("KP-813",))
async def cancelling_the_signal_reaches_the_provider(subject: HostSubject) -> None:
    """When the caller's signal is cancelled, the provider's task and signal are, and the search ends.

    A caller in another thread has no task to cancel: the signal is all it has.
    """
    await cancelled_by_its_signal(subject, HeldProvider())


# Clause 8.7
@check("KP-839", clause="8.7", level=Level.MUST, needs=("KP-813",))
async def a_deaf_provider_does_not_hold_the_caller(subject: HostSubject) -> None:
    """A search that is cancelled ends although the provider ignores its cancellation.

    The caller would wait for the deadline of a turn that is over.
    """
    provider = DeafProvider()
    async with subject.host(provider) as host:
        with provider:
            task = host.begin()
            await _started(subject, provider, task)
            task.cancel()
            await _ends(task, cancelled=True)
            subject.observe()


async def cancelled_by_its_task(subject: HostSubject, provider: Held) -> None:
    """Cancel the task that searches, and see that it ends and the provider is told."""
    async with subject.host(provider) as host:
        with provider:
            task = host.begin()
            await _started(subject, provider, task)
            task.cancel()
            await _ends(task, cancelled=True)
            await _reached(subject, provider)
            subject.observe()


async def cancelled_by_its_signal(subject: HostSubject, provider: Held) -> None:
    """The same with the caller's signal."""
    async with subject.host(provider) as host:
        with provider:
            signal = CancelSignal()
            task = host.begin(context=subject.context(signal=signal))
            await _started(subject, provider, task)
            signal.cancel("the user went on")
            await _ends(task, cancelled=False)
            await _reached(subject, provider)
            subject.observe()


async def _started(subject: HostSubject, provider: Held, task: "asyncio.Task[Any]") -> None:
    if not await subject.happens(provider.started.wait(), 2 * SLACK):
        task.cancel()
        raise Violation(wanted="a call of the provider", saw="none", hint="a valid search asks the provider")


async def _ends(task: "asyncio.Task[Any]", *, cancelled: bool) -> None:
    """The task comes to its end without an answer, by its own cancellation where it was cancelled."""
    await asyncio.wait({task}, timeout=GRACE_SECONDS + SLACK)
    if not task.done():
        task.cancel()
        raise Hang(
            wanted=f"the search to end within {GRACE_SECONDS:g} s of its cancellation",
            saw="that it was still waiting",
            hint="cancel the provider's task, wait for it within a bound, and let the cancellation out",
        )
    if task.cancelled():
        return
    value = task.result()
    if type(value) is not Raised or cancelled:
        raise Violation(
            wanted="the cancellation to come out of search",
            saw=f"raised {show_error(value.error)}" if type(value) is Raised else f"an answer: {show(value)}",
            hint="do not turn asyncio.CancelledError into anything else",
        )


async def _reached(subject: HostSubject, provider: Held) -> None:
    told, cancelled = await subject.happens(provider.told.wait()), True
    if isinstance(provider, HeldProvider):
        cancelled = await subject.happens(provider.cancelled.wait())
    if not (told and cancelled):
        raise Violation(
            wanted="the provider's signal and task to be cancelled",
            saw=" and ".join(["no cancelled signal"] * (not told) + ["no cancelled task"] * (not cancelled)),
            hint="cancel the signal that the provider was given, and the task that runs it",
        )


CHECKS: Final[tuple[Check, ...]] = (
    cancelled_before_asks_nobody,
    cancelling_the_task_reaches_the_provider,
    cancelling_the_signal_reaches_the_provider,
    a_deaf_provider_does_not_hold_the_caller,
)
