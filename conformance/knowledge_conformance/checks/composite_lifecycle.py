"""Clauses 2.1 to 2.4 for what stands over several providers: health, closing, and what is left. Judges no answer."""

import asyncio
from typing import Any, Final

from pydantic import ValidationError

from knowledge_conformance.calls import Ending
from knowledge_conformance.check import Check, Hang, Inapplicable, Level, Violation, check
from knowledge_conformance.checks.composite_children import (
    GIVEN_UP_SECONDS,
    REQUEST,
    Closeless,
    Working,
    all_set,
    finding,
    passage,
    require_passages,
)
from knowledge_conformance.checks.composite_loops import in_own_loop
from knowledge_conformance.checks.loops import AT_ONCE, Came, all_answered, at_once, refuse_unanswered
from knowledge_conformance.composite_subject import Composite, CompositeSubject
from knowledge_conformance.plain import model_fields
from knowledge_conformance.render import show, show_error
from knowledge_fakes.scripted import HeldProvider, ScriptedProvider
from knowledge_provider import Health, RetrievalRequest, limits
from knowledge_provider.text import is_a

_LEFT_SECONDS: Final = 0.5
"""How long after closing something may still be at work (clause 2.3)."""
_TURNS: Final = 3


# Clause 2.1
@check("KP-922", clause="2.1", level=Level.MUST)
async def health_survives_every_child(subject: CompositeSubject) -> None:
    """health() ends within 5 s with one of the four words, whatever a child's does, and is not ready where none is.

    A status page asks every provider. One child whose health raises or hangs must not take the page down, nor hide
    what the others say.
    """
    ready: dict[str, Any] = {"ready": finding("ready", health={"status": "ready"}), "without": finding("without")}
    raising = finding("raising", health=ConnectionError("the back end is down"))
    hanging = finding("hanging", health=_never)
    await _health(subject, ready)
    await _health(subject, {"without": finding("without")})
    await _health(subject, {"raising": raising, "hanging": hanging, **ready})
    health = await _health(subject, {"raising": raising, "unavailable": finding("unavailable", health=_DOWN)})
    if health.status == "ready":
        raise _unhealthy("another status than 'ready', where no child can be used", show(health.status))


_DOWN: Final = {"status": "unavailable", "message": "the index is being built"}


async def _never(*_: object) -> Any:
    await asyncio.Event().wait()


async def _health(subject: CompositeSubject, children: dict[str, Any]) -> Health:
    async with subject.composed(children, deadline=GIVEN_UP_SECONDS) as composite:
        if not callable(getattr(composite.provider, "health", None)):
            raise Inapplicable("the composite has no health, and counts as ready")
        ending = await composite.health()
    subject.observe()
    return _read(ending)


def _read(ending: Ending) -> Health:
    if ending.hung or ending.error is not None:
        saw = "no answer" if ending.error is None else f"raised {show_error(ending.error)}"
        raise _unhealthy(f"an answer within {limits.HEALTH_SECONDS:g} s", saw)
    value = model_fields(ending.value) if is_a(ending.value, Health) else ending.value
    try:
        return Health.model_validate(value)
    except ValidationError:
        raise _unhealthy("a status of ready, unconfigured, degraded or unavailable", show(value)) from None


def _unhealthy(wanted: str, saw: str) -> Violation:
    hint = "ask all children at once, each within a bound, and count what raises as unavailable"
    return Violation(wanted=wanted, saw=saw, hint=hint)


# Clause 2.2
@check("KP-923", clause="2.2", level=Level.SHOULD)
async def close_reaches_every_child(subject: CompositeSubject) -> None:
    """close() closes every child, whatever the closing of another one does, and ends.

    A host knows the composite alone. A child that is left out keeps its connections until the process ends.
    """
    children = {
        "raising": ScriptedProvider(key="raising", closing=RuntimeError("the pool is closed already")),
        "hanging": ScriptedProvider(key="hanging", closing=_never),
        "good": ScriptedProvider(key="good"),
    }
    composite = await subject.compose({"without": Closeless("without"), **children}, deadline=GIVEN_UP_SECONDS)
    if not composite.can_close:
        raise Inapplicable("the composite has no close: its children are left to whoever made them")
    try:
        await composite.close()
    except Hang as found:
        raise _unclosed("close() to end, where that of one child hangs", found.saw) from None
    for key, child in children.items():
        if not child.closed:
            raise _unclosed("every child to be closed", f"that {key} was not")
        subject.observe()


def _unclosed(wanted: str, saw: str) -> Violation:
    hint = "close all children at once, each within a bound, and let what one raises stop none"
    return Violation(wanted=wanted, saw=saw, hint=hint)


# Clause 2.2
@check("KP-930", clause="2.2", level=Level.SHOULD)
async def a_closed_composite_does_not_look_empty(subject: CompositeSubject) -> None:
    """A search after close() raises, or works again; it never answers as if nothing was found.

    A host that closes while a turn is still under way would tell the user that there is nothing about their question.
    """
    composite = await subject.compose({"first": finding("first", "one"), "second": finding("second", "two")})
    if not composite.can_close:
        raise Inapplicable("the composite has no close: nobody can search after it")
    before = await composite.ask(REQUEST)
    await composite.close()
    exchange = await composite.ask(REQUEST)
    if exchange.error is None and not exchange.count:
        raise Violation(
            wanted="an exception, or the results of the children",
            saw=f"{exchange.came} after close()",
            hint="raise KnowledgeUnavailableError in a closed composite: it cannot tell whether there is an answer",
        )
    # Who has never answered does not begin to raise by being closed.
    if before.error is None and before.count:
        subject.observe()


# Clause 2.4
@check("KP-931", clause="2.4", level=Level.SHOULD)
async def a_second_loop_will_do(subject: CompositeSubject) -> None:
    """A composite works on a second event loop after the first one has ended.

    Who calls asyncio.run once for each question, in a script or a worker, has another loop each time. A lock or a task
    that is kept from the first is of no use on the next. On both loops a call is made alone and several at once, since
    a lock of asyncio keeps to the loop on which a call first had to wait for it.
    """
    made: list[Composite] = []

    async def first() -> None:
        made.append(await subject.compose({"first": _taking_turns("first")}))
        await _finds(made[0])
        subject.met = all_answered(await _several(subject, made[0]))

    async def second() -> None:
        await _finds(made[0])
        # As in KP-208: what turned calls away on the first loop says nothing on this one.
        if subject.met:
            refuse_unanswered(await _several(subject, made[0]), *AT_ONCE)
        await made[0].close()

    await in_own_loop(first, where="on a first event loop")
    await in_own_loop(second, where="on a second event loop")
    subject.observe()


async def _finds(composite: Composite) -> None:
    hint = "keep no lock, queue, task or client between calls, or one for each loop"
    require_passages(await composite.answer(REQUEST), ("first",), hint=hint)


async def _several(subject: CompositeSubject, composite: Composite) -> list[Came]:
    # Each asks something else, so that none waits for another's answer.
    queries = (f"{REQUEST.query} {number}" for number in range(subject.settings.concurrency))
    return await at_once(composite.ask(RetrievalRequest(query=query)) for query in queries)


def _taking_turns(key: str) -> ScriptedProvider:
    """A child that lets others go on before it answers, so that whoever holds a lock meanwhile is waited for."""

    async def answer(*_: object) -> Any:
        for _turn in range(_TURNS):
            await asyncio.sleep(0)
        return {"results": [passage(key)]}

    return ScriptedProvider([answer], key=key)


# Clause 2.3
@check("KP-916", clause="2.3", level=Level.MUST)
async def nothing_is_left_after_closing(subject: CompositeSubject) -> None:
    """A child whose deadline has passed is told to stop: half a second after close() none of its work goes on.

    Calls that nobody waits for and nobody stops pile up, one with each search, until the process has no memory left.
    """
    with HeldProvider(key="first") as first, Working("second") as second:
        children = {"first": first, "second": second, "good": finding("good", "one")}
        composite = await subject.compose(children, deadline=GIVEN_UP_SECONDS)
        await composite.ask(REQUEST)
        await composite.close()
        for key, child in (("first", first), ("second", second)):
            # Who asks no child leaves nothing at work, and that is no evidence.
            if not child.started.is_set():
                continue
            if not await all_set([child.ended], _LEFT_SECONDS):
                raise Violation(
                    wanted=f"nothing at work {_LEFT_SECONDS:g} s after close()",
                    saw=f"the call of {key}, whose deadline had passed",
                    hint="at a child's deadline cancel its task, and the signal that it was given",
                )
            subject.observe()


CHECKS: Final[tuple[Check, ...]] = (
    health_survives_every_child,
    close_reaches_every_child,
    a_closed_composite_does_not_look_empty,
    a_second_loop_will_do,
    nothing_is_left_after_closing,
)
