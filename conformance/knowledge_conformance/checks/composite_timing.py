"""Clauses 9.1 and 9.6: when children are asked, how long they are waited for, and what becomes of them.

Knows time and children that wait; judges no answer beyond whether passages came.
"""

import asyncio
import time
from collections.abc import Sequence
from typing import Any, Final

from knowledge_conformance.calls import GRACE_SECONDS, Raised, cancelled_by_the_host
from knowledge_conformance.check import Check, Level, Violation, check
from knowledge_conformance.checks.composite_children import (
    GIVEN_UP_SECONDS,
    PATIENCE_SECONDS,
    REQUEST,
    Meeting,
    Working,
    all_set,
    finding,
    require_passages,
)
from knowledge_conformance.composite_subject import Composite, CompositeSubject, new_context
from knowledge_conformance.exchange import show_request
from knowledge_conformance.render import show, show_error
from knowledge_fakes.scripted import DeafProvider, HeldProvider, ScriptedProvider, SyncScriptedProvider
from knowledge_provider import CancelSignal, RetrievalContext

_CALLER_SECONDS: Final = 0.5
_LONG_SECONDS: Final = 10.0

# More than a pool of threads, a semaphore or a batch of the usual sizes lets through at a time.
_MANY: Final = 40

_WAITING: Final = "wait for all children at once, and for each until its own deadline"


# Clause 9.1
@check("KP-901", clause="9.1", level=Level.MUST)
async def children_are_asked_together(subject: CompositeSubject) -> None:
    """Children are asked at the same time, synchronous ones too.

    The whole takes as long as the slowest, not the sum: asked one after another, or a few at a time, slow sources make
    a voice agent silent. A synchronous child that is called on the event loop holds up all the others, and the host.
    """
    meeting = Meeting(_MANY)
    children: dict[str, Any] = {
        "first": ScriptedProvider([meeting.wait], key="first"),
        "second": SyncScriptedProvider([meeting.wait_in_thread], key="second"),
        "third": ScriptedProvider([meeting.wait], key="third"),
        "fourth": SyncScriptedProvider([meeting.wait_in_thread], key="fourth"),
    }
    rest = [f"child-{number}" for number in range(len(children), _MANY)]
    children |= {key: ScriptedProvider([meeting.wait], key=key) for key in rest}
    async with subject.composed(children, deadline=2 * PATIENCE_SECONDS) as composite:
        await composite.ask(REQUEST)
    if meeting.together < len(children):
        raise Violation(
            wanted=f"all {len(children)} children to be asked before any of them has answered",
            saw=f"{meeting.together} at the same time",
            hint="start a task for each child before you await one; call a synchronous child in a thread",
        )
    subject.observe(len(children))


# Clause 9.1
@check("KP-902", clause="9.1", level=Level.MUST)
async def each_child_has_its_own_deadline(subject: CompositeSubject) -> None:
    """A child that does not answer is given up at its deadline, and what the others found is the answer.

    With one deadline over everything, or none, the slowest source decides whether there is an answer at all.
    """
    with HeldProvider(key="hanging") as hanging, Working("blocking", deaf=True) as blocking:
        children = {"hanging": hanging, "good": finding("good", "one", "two"), "blocking": blocking}
        async with subject.composed(children, deadline=GIVEN_UP_SECONDS) as composite:
            exchange = await composite.answer(REQUEST)
    require_passages(exchange, ("one", "two"), hint=_WAITING)
    subject.observe(len(children))


# Clause 9.1
@check("KP-921", clause="9.1", level=Level.SHOULD)
async def children_end_before_the_caller(subject: CompositeSubject) -> None:
    """Where the caller has less time than a child, the child is given up in time for the caller.

    context.signal says how long the host waits. A child's deadline behind it loses what the other children found.
    """
    context = new_context(signal=CancelSignal(deadline=time.monotonic() + _CALLER_SECONDS))
    with HeldProvider(key="hanging") as hanging:
        children = {"hanging": hanging, "good": finding("good", "one")}
        async with subject.composed(children, deadline=_LONG_SECONDS) as composite:
            seconds = _CALLER_SECONDS + composite.seconds - _LONG_SECONDS
            exchange = await composite.answer(REQUEST, context, seconds=seconds)
    require_passages(exchange, ("one",), hint="give each child less time than context.signal.remaining() says")
    subject.observe()


# Clause 9.2
@check("KP-905", clause="9.2", level=Level.MUST)
async def swallowed_cancellation_holds_nobody(subject: CompositeSubject) -> None:
    """A child that swallows its cancellation is left behind: neither the answer nor the caller waits for it.

    asyncio.wait_for, asyncio.timeout and a task group all wait until a cancelled task has ended, and one that retries
    on every exception never does.
    """
    with DeafProvider(key="deaf") as deaf:
        children = {"deaf": deaf, "good": finding("good", "one")}
        async with subject.composed(children, deadline=GIVEN_UP_SECONDS) as composite:
            exchange = await composite.answer(REQUEST)
    require_passages(exchange, ("one",), hint=_WAITING)
    subject.observe()
    with DeafProvider(key="deaf") as deaf:
        async with subject.composed({"deaf": deaf}, deadline=_LONG_SECONDS) as composite:
            await _cancelled(composite, [deaf])
    subject.observe()


# Clause 9.6
@check("KP-912", clause="9.6", level=Level.MUST)
async def cancellation_reaches_every_child(subject: CompositeSubject) -> None:
    """The caller's cancellation comes out within a second, and has ended every child's work by then.

    The user has gone on. Whatever goes on behind their back costs money, and delays the next turn. An asynchronous
    child is told by its task, a synchronous one by its context.signal.
    """
    with HeldProvider(key="first") as first, HeldProvider(key="second") as second, Working("third") as third:
        children: dict[str, Any] = {"first": first, "second": second, "third": third}
        async with subject.composed(children, deadline=_LONG_SECONDS) as composite:
            await _cancelled(composite, [first, second, third])
            for key, child in children.items():
                if child.started.is_set() and not await all_set([child.ended], GRACE_SECONDS):
                    raise Violation(
                        wanted="no child at work any more, once the caller's cancellation came out",
                        saw=f"that {key} was still running {GRACE_SECONDS:g} s later",
                        hint="cancel each child's task, and the signal that it was given, in an except or finally",
                    )
                subject.observe()


async def _cancelled(composite: Composite, children: Sequence[Any]) -> None:
    """Cancel a call while its children are at work; raises ``Violation`` unless that comes out in time."""
    context = new_context()
    task = await composite.start(REQUEST, context)
    # Not all of them come where they are asked one after another, which is KP-901's matter.
    await all_set([child.started for child in children], PATIENCE_SECONDS / 2)
    await cancelled_by_the_host(task, context.signal)
    if not task.cancelled():
        raise _kept_on(task, context)


def _kept_on(task: "asyncio.Task[Any]", context: RetrievalContext) -> Violation:
    value = task.result() if task.done() else None
    saw = f"raised {show_error(value.error)} instead" if type(value) is Raised else f"an answer: {show(value)}"
    return Violation(
        wanted=f"the cancellation to come out of retrieve within {GRACE_SECONDS:g} s",
        saw=saw if task.done() else "a call that was still running",
        hint="let asyncio.CancelledError through once the children are cancelled, and wait for none that goes on",
        where=f"{show_request(REQUEST)}, cancelled with its signal ({context.signal.reason})",
    )


# Clause 7.3
@check("KP-927", clause="7.3", level=Level.SHOULD)
async def a_cancelled_call_asks_nobody(subject: CompositeSubject) -> None:
    """With a signal that is cancelled already, no child is asked.

    The user has gone on before the call began. What the children would do for it costs as many times as there are
    children.
    """
    signal = CancelSignal()
    signal.cancel("cancelled before the call")
    children = {"first": finding("first", "one"), "second": finding("second", "two")}
    async with subject.composed(children) as composite:
        exchange = await composite.ask(REQUEST, new_context(signal=signal))
        asked = [key for key, child in children.items() if child.calls]
        await composite.ask(REQUEST)
    if asked or exchange.error is None:
        raise Violation(
            wanted="no child to be asked, and the call to raise",
            saw=f"that {', '.join(asked)} was asked" if asked else exchange.came,
            hint="begin retrieve with context.signal.raise_if_cancelled()",
        )
    # Who asks no child whatever the signal says shows nothing.
    if all(child.calls for child in children.values()):
        subject.observe()


CHECKS: Final[tuple[Check, ...]] = (
    children_are_asked_together,
    each_child_has_its_own_deadline,
    children_end_before_the_caller,
    swallowed_cancellation_holds_nobody,
    cancellation_reaches_every_child,
    a_cancelled_call_asks_nobody,
)
