"""Clause 9.2: what a child raises stays its own, but for Ctrl-C. Knows exceptions and children that raise them."""

import asyncio
from functools import partial
from typing import Any, Final

from knowledge_conformance.check import Check, Level, Violation, check
from knowledge_conformance.checks.composite_children import (
    REQUEST,
    Order,
    finding,
    in_order,
    passage,
    require_passages,
)
from knowledge_conformance.checks.composite_loops import in_own_loop, own_loop
from knowledge_conformance.composite_subject import CompositeSubject, new_context
from knowledge_conformance.exchange import Exchange
from knowledge_fakes.scripted import RAISING, ScriptedProvider, SyncScriptedProvider

_KEYS: Final = ("raising", "good")
# It says that it is a KeyboardInterrupt, and may be believed.
_INTERRUPTS: Final = frozenset({"lies_about_its_class"})
# Whoever logs all that is raised here, which is no fault, must stay below what a check may write in all.
_LONG: Final = "the back end is down " * 1000
_LONG_NAME: Final = "text_without_an_end"
_HINT: Final = (
    "await each child in a coroutine that catches BaseException and returns what it caught: a SystemExit in a task "
    "stops the event loop, and isinstance(x, Exception) does not see a CancelledError"
)


# Clause 9.2
@check("KP-904", clause="9.2", level=Level.MUST)
async def whatever_is_raised_stays_with_the_child(subject: CompositeSubject) -> None:
    """Whatever one child raises, the others' results are the answer.

    SystemExit, a CancelledError that nobody asked for, GeneratorExit, StopIteration, exception groups, and exceptions
    that raise when they are looked at: each has been the end of a host that caught Exception.
    """
    for name in sorted(RAISING.keys() - _INTERRUPTS):
        for child in (_raising_async, _raising_sync):
            where = f"beside a child that raises {name}"
            await in_own_loop(partial(_beside, subject, partial(child, name), where), where=where)
            subject.observe()
    await in_own_loop(
        partial(_beside, subject, _cancelling, "beside a child that cancels its own task"),
        where="beside a child that cancels its own task",
    )
    subject.observe()


async def _beside(subject: CompositeSubject, make: Any, where: str) -> None:
    order = Order(_KEYS)
    children = {"raising": make(order), "good": _good(order)}
    async with subject.composed(children) as composite:
        try:
            require_passages(await composite.answer(REQUEST), ("one",), hint=_HINT)
        except Violation as error:
            error.where = f"{error.where or subject.shown}, {where}"
            raise


def _good(order: Order) -> ScriptedProvider:
    # After the other one has raised: what cancels the siblings of a task that fails would come too late otherwise.
    return in_order(order, "good", lambda *_: {"results": [passage("one")]})


def _raising_async(name: str, order: Order) -> ScriptedProvider:
    return in_order(order, "raising", lambda *_: _raise(name))


def _raising_sync(name: str, order: Order) -> SyncScriptedProvider:
    def answer(*_: object) -> Any:
        try:
            _raise(name)
        finally:
            order.answered("raising")

    return SyncScriptedProvider([answer], key="raising")


def _raise(name: str) -> None:
    raise ValueError(_LONG) if name == _LONG_NAME else RAISING[name]()


def _cancelling(order: Order) -> ScriptedProvider:
    async def answer(*_: object) -> Any:
        task = asyncio.current_task()
        order.answered("raising")
        if task is not None:
            task.cancel()
        await asyncio.sleep(0)

    return ScriptedProvider([answer], key="raising")


# Clause 9.2
@check("KP-924", clause="9.2", level=Level.MUST)
async def keyboard_interrupt_goes_through(subject: CompositeSubject) -> None:
    """A KeyboardInterrupt goes through: it is the user's, who wants the process to end.

    Where it becomes one more failed source, Ctrl-C is ignored.
    """

    async def play() -> Exchange:
        order = Order(_KEYS)
        children = {"raising": in_order(order, "raising", lambda *_: _interrupt()), "good": _good(order)}
        async with subject.composed(children) as composite:
            return await composite.ask(REQUEST)

    ending = await own_loop(play)
    # Out of the call, or past it, out of the loop.
    error = ending.error if ending.value is None else ending.value.error
    if type(error) is not KeyboardInterrupt:
        raise Violation(
            wanted="a KeyboardInterrupt that a child raises to go through",
            saw=(Exchange(REQUEST, new_context(), error=error) if ending.value is None else ending.value).came,
            hint="catch KeyboardInterrupt before BaseException, and raise it again",
        )
    subject.observe()


def _interrupt() -> None:
    raise KeyboardInterrupt


# Clause 9.2
@check("KP-918", clause="9.2", level=Level.SHOULD)
async def a_failed_child_is_asked_again(subject: CompositeSubject) -> None:
    """A child that failed once is asked again by the next call.

    Back ends fail now and then. A composite that remembers the first failure for ever is thinner from day to day.
    """
    recovering = ScriptedProvider([ConnectionError("down"), lambda *_: {"results": [passage("one")]}], key="recovering")
    good = finding("good", "two")
    async with subject.composed({"recovering": recovering, "good": good}) as composite:
        await composite.ask(REQUEST)
        exchange = await composite.ask(REQUEST)
    if len(recovering.calls) < 2:
        raise Violation(
            wanted="the child that failed in the first call to be asked in the second",
            saw=f"{exchange.came} without it",
            hint="keep no failure from one call to the next, or only for a while, and after several",
        )
    subject.observe()


CHECKS: Final[tuple[Check, ...]] = (
    whatever_is_raised_stays_with_the_child,
    keyboard_interrupt_goes_through,
    a_failed_child_is_asked_again,
)
