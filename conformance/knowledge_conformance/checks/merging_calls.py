"""Clauses 10.5 and 9.6: when sources are asked, and how long they are waited for. Knows time, no identity."""

import asyncio
import time
from collections.abc import Sequence
from typing import Any, Final

from knowledge_conformance.calls import GRACE_SECONDS, Raised, cancelled_by_the_host
from knowledge_conformance.check import Check, Level, Violation, check
from knowledge_conformance.checks.composite_children import (
    GIVEN_UP_SECONDS,
    PATIENCE_SECONDS,
    Meeting,
    Working,
    all_set,
    text,
)
from knowledge_conformance.checks.merging_sources import (
    SourceOf,
    asked_by,
    built_in,
    finding,
    refs_to,
    source_of,
)
from knowledge_conformance.merging_subject import (
    QUERY,
    SLACK_SECONDS,
    Merged,
    MergingSubject,
    new_context,
)
from knowledge_conformance.render import show, show_error
from knowledge_conformance.source_subject import References
from knowledge_fakes.scripted import DeafProvider, HeldProvider, ScriptedProvider, SyncScriptedProvider
from knowledge_provider import CancelSignal, RetrievalRequest

_CALLER_SECONDS: Final = 0.5
_LONG_SECONDS: Final = 10.0
# Later than any deadline here, and before a source that holds the loop has ended.
_LATE_SECONDS: Final = 2.5
_MANY: Final = 24


# Clause 10.5
@check("KP-1062", clause="10.5", level=Level.MUST)
async def all_are_asked_together(subject: MergingSubject) -> None:
    """All sources are asked at the same time, synchronous ones and the host's own search too.

    The whole takes as long as the slowest, not the sum. A synchronous source that is called on the event loop holds up
    all the others, and the host.
    """
    meeting = Meeting(_MANY + 1)
    sources: list[Any] = [source_of(ScriptedProvider([meeting.wait], key=f"s{number}")) for number in range(_MANY - 2)]
    sources += [source_of(SyncScriptedProvider([meeting.wait_in_thread], key=f"t{number}")) for number in range(2)]
    own = ScriptedProvider([meeting.wait], key="own")
    merging = await subject.over(sources, asked_by(own), deadline=2 * PATIENCE_SECONDS)
    await merging.ask(refs_to(sources))
    if meeting.together < _MANY + 1:
        raise Violation(
            wanted=f"{_MANY} sources and the host's own search to be asked before any of them has answered",
            saw=f"{meeting.together} at the same time",
            hint="start a task for each of them before you await one; call a synchronous source in a thread",
        )
    subject.observe(_MANY)


# Clause 10.5
@check("KP-1063", clause="10.5", level=Level.MUST)
async def each_source_has_a_deadline(subject: MergingSubject) -> None:
    """A source that does not answer is given up at its deadline, also where it swallows its cancellation or blocks.

    With one deadline over everything, or none, the slowest source decides whether there is an answer at all. What is
    asked with validate_refs before counts.
    """
    with HeldProvider(key="hanging") as hanging, DeafProvider(key="deaf") as deaf, Working("busy", deaf=True) as busy:
        sources = [source_of(hanging), finding("good", "one"), source_of(deaf), source_of(busy)]
        merging = await subject.over(sources, built_in("own"), deadline=GIVEN_UP_SECONDS)
        merged = await merging.answer(refs_to(sources))
        _require(merged, ("own", "one"))
        subject.observe(len(sources))
    with HeldProvider(key="hanging") as hanging, Working("busy", deaf=True) as busy:
        sources = [_Validating(hanging), finding("good", "one"), _Validating(busy)]
        merging = await subject.over(sources, built_in("own"), deadline=GIVEN_UP_SECONDS)
        began = time.monotonic()
        merged = await merging.answer(refs_to(sources))
        _require(merged, ("own", "one"))
        # What holds the event loop holds up the kit's own clock.
        if time.monotonic() - began > _LATE_SECONDS:
            raise Violation(
                wanted="the event loop to be free while validate_refs is asked, and its deadline to be kept",
                saw=f"an answer after more than {_LATE_SECONDS:g} s",
                hint="call a synchronous validate_refs in a thread, and let its time count as the source's",
                where=merged.shown,
            )
        subject.observe(len(sources))


class _Validating(SourceOf):
    """A source whose ``validate_refs`` takes as long as the provider's answer."""

    def __init__(self, provider: HeldProvider | Working) -> None:
        super().__init__(provider.describe()["key"], ScriptedProvider())
        self._validating = provider

    def validate_refs(self, refs: References, binding_level: str, /) -> Any:
        """Nothing for as long as it hangs."""
        return self._validating.retrieve(RetrievalRequest(query=f"{len(refs)} {binding_level}"), new_context())


def _require(merged: Merged, names: Sequence[str]) -> None:
    missing = [name for name in names if text(name) not in merged.contents()]
    if missing:
        raise Violation(
            wanted=f"the record {missing[0]} of a source that did nothing wrong",
            saw=f"{merged.came} without it",
            hint="wait for all of them at once, and for each until its own deadline",
            where=merged.shown,
        )


# Clause 10.5
@check("KP-1074", clause="10.5", level=Level.SHOULD)
async def sources_end_before_the_caller(subject: MergingSubject) -> None:
    """Where the caller has less time than a source, the source is given up in time for the caller.

    context.signal says how long the caller waits. A source's deadline behind it loses what the others found, and what
    the host knows itself.
    """
    context = new_context(signal=CancelSignal(deadline=time.monotonic() + _CALLER_SECONDS))
    with HeldProvider(key="hanging") as hanging:
        sources = [source_of(hanging), finding("good", "one")]
        merging = await subject.over(sources, built_in("own"), deadline=_LONG_SECONDS)
        merging.seconds = _CALLER_SECONDS + SLACK_SECONDS
        merged = await merging.answer(refs_to(sources), QUERY, context)
    _require(merged, ("own", "one"))
    subject.observe()


# Clause 9.6
@check("KP-1064", clause="9.6", level=Level.MUST)
async def cancellation_reaches_every_source(subject: MergingSubject) -> None:
    """The caller's cancellation comes out within a second, and has ended every source's work by then.

    The user has gone on. Whatever goes on behind their back costs money, and delays the next turn. An asynchronous
    source is told by its task, a synchronous one by its context.signal. Where the caller cancels its signal alone, the
    signals of all are cancelled too.
    """
    with HeldProvider(key="own") as own, HeldProvider(key="first") as first, Working("second") as second:
        sources = [source_of(first), source_of(second)]
        merging = await subject.over(sources, asked_by(own), deadline=_LONG_SECONDS)
        context = new_context()
        task = await merging.start(refs_to(sources), context)
        held: dict[str, Any] = {"the host's own search": own, "first": first, "second": second}
        await all_set([each.started for each in held.values()], PATIENCE_SECONDS / 2)
        await cancelled_by_the_host(task, context.signal)
        if not task.cancelled():
            raise _kept_on(task)
        for name, each in held.items():
            if each.started.is_set() and not await all_set([each.ended], GRACE_SECONDS):
                raise Violation(
                    wanted="no source at work any more, once the caller's cancellation came out",
                    saw=f"that {name} was still running {GRACE_SECONDS:g} s later",
                    hint="cancel each source's task, and the signal that it was given, in an except or finally",
                )
            subject.observe()
    await _signal_alone(subject)


async def _signal_alone(subject: MergingSubject) -> None:
    with HeldProvider(key="own") as own, HeldProvider(key="first") as first, Working("second") as second:
        sources = [source_of(first), source_of(second)]
        merging = await subject.over(sources, asked_by(own), deadline=_LONG_SECONDS)
        context = new_context()
        task = await merging.start(refs_to(sources), context)
        await all_set([each.started for each in (own, first, second)], PATIENCE_SECONDS / 2)
        context.signal.cancel("cancelled by the host")
        told = await all_set([each.told for each in (own, first, second) if each.started.is_set()], GRACE_SECONDS)
        task.cancel()
        await asyncio.wait({task}, timeout=GRACE_SECONDS)
        if not told:
            raise Violation(
                wanted="the signal of every source to be cancelled, once the caller's signal is",
                saw="one that was not",
                hint="give each source a signal of its own, which context.signal.add_callback(...) cancels",
            )
        subject.observe()


def _kept_on(task: "asyncio.Task[Any]") -> Violation:
    value = task.result() if task.done() else None
    saw = f"raised {show_error(value.error)} instead" if type(value) is Raised else f"an answer: {show(value)}"
    return Violation(
        wanted=f"the cancellation to come out within {GRACE_SECONDS:g} s",
        saw=saw if task.done() else "a call that was still running",
        hint="let asyncio.CancelledError through once the sources are cancelled, and wait for none that goes on",
    )


CHECKS: Final[tuple[Check, ...]] = (
    all_are_asked_together,
    each_source_has_a_deadline,
    sources_end_before_the_caller,
    cancellation_reaches_every_source,
)
