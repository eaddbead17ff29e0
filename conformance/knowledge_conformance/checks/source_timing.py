"""Clauses 7.1, 7.3 and 7.5 for sources: cancelled calls, and calls at once. Judges no record's words."""

import asyncio
from typing import Any, Final

from knowledge_conformance.calls import GRACE_SECONDS, Raised, cancelled_by_the_host
from knowledge_conformance.check import Check, Inapplicable, Inconclusive, Level, Violation, check
from knowledge_conformance.exchange import text_of
from knowledge_conformance.interrupting import NEVER_WAITS
from knowledge_conformance.plain import Plain, plain
from knowledge_conformance.render import show, show_error
from knowledge_conformance.source_subject import References, SourceExchange, SourceSubject, show_asked
from knowledge_provider import CancelSignal

_AT_ONCE: Final = 8


# Clause 7.1
@check("KP-1021", clause="7.1", level=Level.MUST, needs=("KP-1004",), calls=1, surveyed=True)
async def cancellation_comes_out(subject: SourceSubject) -> None:
    """Cancelled while it waits, an async retrieve ends within a second and the cancellation comes out.

    The user has gone on. What swallows the cancellation, or turns it into an answer, keeps a dead turn alive. A call
    that never waits cannot be cancelled, and one in a thread is the host's to leave.
    """
    query, refs = _fresh(await subject.found(), 2), subject.references()
    context = subject.context()
    task = await subject.start(query, refs, context)
    await require_cancelled(task, context.signal, "retrieve", show_asked(query, refs))
    subject.observe()


async def require_cancelled(task: "asyncio.Task[Any] | None", signal: CancelSignal, name: str, shown: str) -> None:
    """Cancel a call while it waits; raises ``Violation`` unless that comes out, ``Inapplicable`` if it never waits.

    ``name`` is the method's, and ``shown`` how the call reads.
    """
    await asyncio.sleep(0)
    if task is None or task.done():
        raise Inapplicable(NEVER_WAITS)
    await cancelled_by_the_host(task, signal)
    if not task.cancelled():
        raise Violation(
            wanted=f"the cancellation to come out of {name} within {GRACE_SECONDS:g} s",
            saw=_instead(task),
            hint="let asyncio.CancelledError through: catch Exception, not BaseException; re-raise after cleaning up",
            where=shown,
        )


def _fresh(found: list[SourceExchange], number: int) -> str:
    # Not asked before, so that no cache answers.
    return f"{found[0].request.query} {number}"


def _instead(task: "asyncio.Task[Any]") -> str:
    if not task.done():
        return "a call that was still running"
    value = task.result()
    return f"raised {show_error(value.error)} instead" if type(value) is Raised else f"an answer: {show(value)}"


# Clause 7.3
@check("KP-1022", clause="7.3", level=Level.SHOULD, needs=("KP-1004",), calls=2, surveyed=True)
async def a_cancelled_call_starts_nothing(subject: SourceSubject) -> None:
    """With a signal that is cancelled already, retrieve starts no work and raises.

    The user has gone on: work that nobody waits for costs money and delays the next turn.
    """
    query, refs = _fresh(await subject.found(), 3), subject.references()
    signal = CancelSignal()
    signal.cancel("cancelled before the call")
    exchange = await subject.attempt(query, refs, subject.context(signal=signal))
    if exchange.error is None:
        raise Violation(
            wanted="no work: the call raises at once",
            saw=exchange.size,
            hint="begin retrieve with context.signal.raise_if_cancelled()",
            where=str(exchange),
        )
    # One that refuses this query always says nothing about its signal.
    if (await subject.attempt(query, refs)).error is not None:
        raise Inconclusive(
            "the same call failed with a signal that is not cancelled, too", hint="see what KP-1013 says of it"
        )
    subject.observe()


# Clause 7.5
@check("KP-1023", clause="7.5", level=Level.MUST, needs=("KP-1005",), calls=2 * _AT_ONCE, surveyed=True)
async def answers_are_not_mixed_up(subject: SourceSubject) -> None:
    """Calls at the same time never get each other's answers.

    What a call keeps on the source belongs to the last caller: one task is shown what another one asked for. The calls
    are made one after another, too, so that each answer is known.
    """
    asked = await _asked(subject)
    if len(asked) < 2:
        raise Inconclusive(
            "every query finds the same records under every reference, so that a mixed-up answer would not show",
            hint="name a query that finds other records (--provider-query), or a reference that holds others",
        )
    alone = [_ids(await subject.retrieve(*call)) for call in asked]
    together = await asyncio.gather(*(subject.attempt(*call) for call in asked))
    for at, exchange in enumerate(together):
        if exchange.error is not None:
            continue
        own = _ids(exchange)
        if own != alone[at] and own in alone:
            raise Violation(
                wanted="the answer to this call, as it is alone",
                saw="the answer to another call that was made at the same time",
                hint="keep what belongs to a call in local variables, or in a contextvars.ContextVar",
                where=str(exchange),
            )
        subject.observe()


async def _asked(subject: SourceSubject) -> list[tuple[str, References]]:
    """Calls whose answers the survey has shown to be different, a few of them."""
    different: dict[Plain, tuple[str, References]] = {}
    for exchange in await subject.found():
        different.setdefault(_ids(exchange), (exchange.request.query, exchange.refs))
    return list(different.values())[:_AT_ONCE]


def _ids(exchange: SourceExchange) -> Plain:
    return plain([text_of(entry, "id") for _, entry in exchange.entries])


CHECKS: Final[tuple[Check, ...]] = (
    cancellation_comes_out,
    a_cancelled_call_starts_nothing,
    answers_are_not_mixed_up,
)
