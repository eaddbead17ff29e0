"""Mistakes with the deadline and cancellation; knows clauses 8.6 and 8.7, no way of catching them."""

import asyncio
from collections.abc import Callable
from typing import Any, Final

from knowledge_fakes._plain_calls import Ending
from knowledge_fakes.host_faults._host_fault import host_fault
from knowledge_fakes.plain_host import PlainHost
from knowledge_provider import (
    CancelSignal,
    KnowledgeFailedError,
    KnowledgeTimeoutError,
    RetrievalContext,
    normalize_response,
)

_A_DAY: Final = 86_400.0


# Clause 8.6: the deadline.


@host_fault("KP-809", fragment="no end")
class WaitsForWhatItCancelled(PlainHost):
    """As asyncio.wait_for does, it waits for the call that it has cancelled, which may swallow that for ever."""

    async def wait(self, call: Any, signal: CancelSignal, stop: CancelSignal) -> Ending | None:
        running = asyncio.ensure_future(call)
        found = await super().wait(running, signal, stop)
        if found is None:
            await asyncio.wait({running})
        return found


@host_fault("KP-809", "KP-847", fragment="no end")
class NoDeadline(PlainHost):
    """The provider is waited for as long as it takes."""

    def __init__(self, provider: Any, *, timeout: float = 10.0, **settings: Any) -> None:
        del timeout
        super().__init__(provider, timeout=_A_DAY, **settings)


@host_fault("KP-809", fragment="an outcome")
class DeadlineIsAnEmptyAnswer(PlainHost):
    """A provider that is too slow has found nothing."""

    async def answer(self, request: Any, context: RetrievalContext) -> Any:
        try:
            return await super().answer(request, context)
        except KnowledgeTimeoutError:
            return []


@host_fault("KP-809", fragment="raised TimeoutError")
class DeadlineWithoutACode(PlainHost):
    """The deadline is a bare TimeoutError, which nobody can tell from any other."""

    def late(self) -> BaseException:
        return TimeoutError("the provider was too slow")


@host_fault("KP-809", fragment="KnowledgeFailedError")
class DeadlineIsAFailure(PlainHost):
    """The deadline has the code of any failure, so whoever waited for too short a time looks for a fault."""

    def late(self) -> BaseException:
        return KnowledgeFailedError("the provider was too slow", provider_key=self.key)


@host_fault("KP-855", fragment="no cancelled signal")
class DeadlineUntold(PlainHost):
    """The task of a call that is too slow is cancelled, and its signal is not, so no thread hears of it."""

    def abandon(self, running: "asyncio.Future[Ending]", signal: CancelSignal, reason: str) -> None:
        super().abandon(running, CancelSignal() if reason == "timeout" else signal, reason)


@host_fault("KP-833", fragment="no cancellation of its task")
class SlowCallsLeftRunning(PlainHost):
    """A call that is too slow is forgotten as it is, and goes on working for nobody."""

    def abandon(self, running: "asyncio.Future[Ending]", signal: CancelSignal, reason: str) -> None:
        if reason == "timeout":
            signal.cancel(reason)
        else:
            super().abandon(running, signal, reason)


@host_fault("KP-811", fragment="source_2")
class LateAnswersCited(PlainHost):
    """An answer that comes after its deadline is still read when it comes, and takes the next citation's number."""

    async def answer(self, request: Any, context: RetrievalContext) -> Any:
        self.asked_in = context
        return await super().answer(request, context)

    def abandon(self, running: "asyncio.Future[Ending]", signal: CancelSignal, reason: str) -> None:
        context: RetrievalContext | None = vars(self).get("asked_in")

        def note(ended: "asyncio.Future[Ending]") -> None:
            if context and not ended.cancelled() and ended.result().error is None:
                normalize_response(ended.result().value, query="late", citations=self.ledger(context))

        running.add_done_callback(note)
        super().abandon(running, signal, reason)


@host_fault("KP-811", fragment="['late']")
class LateAnswersServedNext(PlainHost):
    """An answer that comes too late is kept, and given to whoever asks next."""

    kept: Any = None

    async def answer(self, request: Any, context: RetrievalContext) -> Any:
        if self.kept is not None:
            kept, self.kept = self.kept, None
            return kept
        return await super().answer(request, context)

    def abandon(self, running: "asyncio.Future[Ending]", signal: CancelSignal, reason: str) -> None:
        def keep(ended: "asyncio.Future[Ending]") -> None:
            if not ended.cancelled():
                self.kept = ended.result().value

        running.add_done_callback(keep)
        super().abandon(running, signal, reason)


@host_fault("KP-837", fragment="1 reports")
class LateErrorsUnheard(PlainHost):
    """The task of a call that was given up keeps its error, which the loop reports when nobody has asked for it."""

    async def call(self, method: Callable[..., Any], *arguments: object) -> Ending:
        found = await super().call(method, *arguments)
        signal = getattr(arguments[-1], "signal", None) if arguments else None
        if found.error is not None and signal is not None and signal.cancelled:
            raise found.error
        return found


# Clause 8.6: the caller's own signal.


@host_fault("KP-862", fragment="the signal cancelled")
class CancelsItsCaller(PlainHost):
    """At the deadline the caller's own signal is cancelled, and every later search of the turn with it."""

    async def answer(self, request: Any, context: RetrievalContext) -> Any:
        try:
            return await super().answer(request, context)
        except KnowledgeTimeoutError:
            context.signal.cancel("timeout")
            raise


@host_fault("KP-862", fragment="KnowledgeTimeoutError")
class GivesTheTurnUp(PlainHost):
    """After one search that was too slow the rest of the turn is not searched for any more."""

    async def answer(self, request: Any, context: RetrievalContext) -> Any:
        given_up: set[int] = vars(self).setdefault("given_up", set())
        if id(context.signal) in given_up:
            raise self.late()
        try:
            return await super().answer(request, context)
        except KnowledgeTimeoutError:
            given_up.add(id(context.signal))
            raise


@host_fault("KP-863", fragment="still waited")
class CallersDeadlineIgnored(PlainHost):
    """The host's own deadline is the only one, and who has less time left gets nothing in it."""

    async def answer(self, request: Any, context: RetrievalContext) -> Any:
        with_no_end = CancelSignal()
        context.signal.add_callback(lambda: with_no_end.cancel(context.signal.reason or "cancelled"))
        return await super().answer(request, context.model_copy(update={"signal": with_no_end}))


# Clause 8.7: cancellation.


@host_fault("KP-812", fragment="an exception after")
class SignalReadTooLate(PlainHost):
    """The caller's signal is looked at after the call, so a turn that is over is still searched for."""

    def require_time(self, context: RetrievalContext) -> None:
        del context


@host_fault("KP-812", fragment="an outcome after 0 calls")
class CancelledIsAnEmptyAnswer(PlainHost):
    """A search that is cancelled before it begins finds nothing, and the agent goes on with that."""

    async def search(self, query: Any, *, context: RetrievalContext, **asked: Any) -> Any:
        if self.described and context.signal.cancelled:
            return normalize_response([], query=query)
        return await super().search(query, context=context, **asked)


@host_fault("KP-813", fragment="no cancelled signal")
class SignalOfItsOwn(PlainHost):
    """The provider's signal is cancelled at the deadline only, and a cancelled turn's threads work on."""

    def abandon(self, running: "asyncio.Future[Ending]", signal: CancelSignal, reason: str) -> None:
        super().abandon(running, signal if reason == "timeout" else CancelSignal(), reason)


@host_fault("KP-813", fragment="no cancelled task")
class ShieldedFromCancellation(PlainHost):
    """The call is shielded, so that a cancelled turn leaves it running."""

    def abandon(self, running: "asyncio.Future[Ending]", signal: CancelSignal, reason: str) -> None:
        if reason == "timeout":
            super().abandon(running, signal, reason)
        else:
            signal.cancel(reason)


@host_fault("KP-838", fragment="still waiting")
class CallersSignalUnheard(PlainHost):
    """The search ends when its task is cancelled, and not when the caller's signal is."""

    async def wait(self, call: Any, signal: CancelSignal, stop: CancelSignal) -> Ending | None:
        del stop
        return await super().wait(call, signal, CancelSignal())


@host_fault("KP-813", fragment="KnowledgeFailedError")
class CancellationIsAFailure(PlainHost):
    """A search that is cancelled while it waits ends as a failure of the provider."""

    async def answer(self, request: Any, context: RetrievalContext) -> Any:
        try:
            return await super().answer(request, context)
        except asyncio.CancelledError as error:
            raise self.failure(error) from error


@host_fault("KP-839", fragment="still waiting")
class CancellationWaits(PlainHost):
    """A cancelled search waits until the provider has ended, which one that swallows cancellation never does."""

    async def wait(self, call: Any, signal: CancelSignal, stop: CancelSignal) -> Ending | None:
        running = asyncio.ensure_future(call)
        try:
            return await super().wait(running, signal, stop)
        except asyncio.CancelledError:
            await asyncio.wait({running})
            raise
