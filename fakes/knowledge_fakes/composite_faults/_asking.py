"""Mistakes with what children are asked, when, and for how long; knows clauses 9.1, 9.6 and 4.2, no way of catching."""

import asyncio
import inspect
from collections.abc import Coroutine, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from typing import Any

from knowledge_fakes._plain_calls import Ending
from knowledge_fakes.composite_faults._declared import fault
from knowledge_fakes.plain_composite import PlainComposite
from knowledge_provider import CancelSignal, KnowledgeTimeoutError, RetrievalContext, RetrievalRequest

Calls = Mapping[str, Coroutine[Any, Any, Ending]]


@contextmanager
def _unasked(calls: Calls) -> Iterator[None]:
    """Children that are not asked any more leave no coroutine behind, of which Python would warn in another test."""
    try:
        yield
    finally:
        for call in calls.values():
            if inspect.getcoroutinestate(call) == inspect.CORO_CREATED:
                call.close()


@fault(
    "KP-903", "KP-901", "KP-902", "KP-904", "KP-905", "KP-906", "KP-907", "KP-908", "KP-909", "KP-910", "KP-911",
    "KP-912", "KP-914", "KP-916", "KP-917", "KP-919", "KP-920", "KP-921", "KP-925", "KP-927", "KP-932",
    fragment="raised",
)  # fmt: skip
class NaiveGather:
    """All children are gathered and their lists concatenated, as the retrieval protocol's document shows it."""

    def __init__(self, children: Mapping[str, Any], *, timeout: float = 5.0) -> None:
        self.children = list(children.values())
        self.timeout = timeout

    def describe(self) -> Any:
        return self.children[0].describe()

    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
        answers = await asyncio.gather(*(child.retrieve(request, context) for child in self.children))
        return {"results": [row for answer in answers for row in _rows(answer)]}


def _rows(answer: Any) -> Any:
    return answer["results"] if isinstance(answer, dict) else answer


# Clause 9.1: when they are asked, and how long they are waited for.


@fault("KP-901", fragment="1 at the same time")
class AskedOneAfterAnother(PlainComposite):
    """Each child is awaited before the next one is asked, so the whole takes the sum."""

    async def wait(self, calls: Calls, seconds: float) -> dict[str, Ending]:
        found: dict[str, Ending] = {}
        with _unasked(calls):
            for key, call in calls.items():
                found |= await super().wait({key: call}, seconds)
        return found


@fault("KP-901", fragment="4 at the same time")
class FourAtOnce(PlainComposite):
    """At most four children are asked at a time, so the whole takes the sum of the slowest of each four."""

    async def wait(self, calls: Calls, seconds: float) -> dict[str, Ending]:
        found: dict[str, Ending] = {}
        waiting = iter(calls.items())
        with _unasked(calls):
            while some := dict(islice(waiting, 4)):
                found |= await super().wait(some, seconds)
        return found


@fault("KP-901", "KP-906", fragment="20 at the same time")
class FirstTwentyChildren(PlainComposite):
    """Only the first twenty children are asked, and the others seem not to be there."""

    async def ask_all(self, request: RetrievalRequest, context: RetrievalContext) -> dict[str, Ending]:
        everyone = self.children
        self.children = dict(islice(everyone.items(), 20))
        try:
            return await super().ask_all(request, context)
        finally:
            self.children = everyone


@fault("KP-901", fragment="at the same time")
class SynchronousChildrenOnTheLoop(PlainComposite):
    """A synchronous child is called like any other, and holds the event loop while it works."""

    async def ask(self, key: str, request: RetrievalRequest, context: RetrievalContext) -> Ending:
        try:
            answer = self.children[key].retrieve(request, context)
            return Ending(await answer if hasattr(type(answer), "__await__") else answer)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            return Ending(error=error)


@fault("KP-902", "KP-903", "KP-905", "KP-906", "KP-907", "KP-908", "KP-921", "KP-922", fragment="raised TimeoutError")
class OneDeadlineForAll(PlainComposite):
    """One time-out stands around everything, so the slowest child costs what all of them found."""

    async def wait(self, calls: Calls, seconds: float) -> dict[str, Ending]:
        async with asyncio.timeout(seconds):
            return await super().wait(calls, 2 * seconds)


@fault(
    "KP-902", "KP-903", "KP-905", "KP-906", "KP-907", "KP-908", "KP-916", "KP-921", "KP-922", "KP-923",
    fragment="no answer",
)  # fmt: skip
class NoDeadline(PlainComposite):
    """Children are trusted to end, and one that never does is waited for without an end."""

    async def wait(self, calls: Calls, seconds: float) -> dict[str, Ending]:  # noqa: ARG002 - the mistake
        return await super().wait(calls, 3600)


@fault("KP-905", fragment="within 1.4 s")
class WaitsForTheCancelled(PlainComposite):
    """Each child stands in asyncio.wait_for, which waits until a cancelled call has ended."""

    async def wait(self, calls: Calls, seconds: float) -> dict[str, Ending]:
        return dict(zip(calls, await asyncio.gather(*(_waited(call, seconds) for call in calls.values())), strict=True))


async def _waited(call: Coroutine[Any, Any, Ending], seconds: float) -> Ending:
    try:
        found = await asyncio.wait_for(call, seconds)
    except TimeoutError:
        return Ending(error=KnowledgeTimeoutError())
    return Ending(error=KnowledgeTimeoutError()) if isinstance(found.error, asyncio.CancelledError) else found


@fault("KP-921", fragment="within 1.5 s")
class CallersDeadlineIgnored(PlainComposite):
    """Each child has the composite's own time, however little the caller has left."""

    def seconds(self, context: RetrievalContext) -> float:  # noqa: ARG002 - the mistake
        return self.timeout


# Clauses 9.6 and 2.3: who is told to stop.


@fault("KP-912", fragment="that first was still running")
class ShieldedChildren(PlainComposite):
    """The children are shielded, so that a cache gets their answers, and go on when the caller has gone."""

    async def wait(self, calls: Calls, seconds: float) -> dict[str, Ending]:
        tasks = {key: asyncio.ensure_future(call) for key, call in calls.items()}
        self.running.update(tasks.values())
        await asyncio.shield(asyncio.wait(tasks.values(), timeout=seconds))
        return await super().wait({key: _value(task) for key, task in tasks.items()}, 0.001)


async def _value(task: "asyncio.Task[Ending]") -> Ending:
    return await task


@fault("KP-912", "KP-905", fragment="raised knowledge_provider.errors.KnowledgeAllSourcesFailedError")
class CancellationIsAFailure(PlainComposite):
    """The caller's cancellation is taken for one more failure of the children."""

    async def wait(self, calls: Calls, seconds: float) -> dict[str, Ending]:
        try:
            return await super().wait(calls, seconds)
        except BaseException as error:  # the mistake
            return {key: Ending(error=error) for key in calls}


@fault("KP-912", "KP-916", fragment="that third was still running")
class SignalOfItsOwn(PlainComposite):
    """Children get a signal that nobody ever cancels, so a synchronous one works on for a caller who has gone."""

    async def ask(self, key: str, request: RetrievalRequest, context: RetrievalContext) -> Ending:
        return await super().ask(key, request, context.model_copy(update={"signal": CancelSignal()}))


@fault("KP-916", fragment="the call of first")
class LateChildrenRunOn(PlainComposite):
    """A child whose deadline has passed is forgotten, but not told, and works on."""

    def stop(self, tasks: Mapping[str, "asyncio.Task[Ending]"]) -> None:
        if any(task.done() for task in tasks.values()):
            return
        super().stop(tasks)


@fault("KP-927", fragment="that first, second was asked")
class SignalReadTooLate(PlainComposite):
    """The caller's signal is not looked at before the children are asked."""

    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
        own = CancelSignal(deadline=context.signal.deadline)
        context.signal.add_callback(lambda: asyncio.get_running_loop().call_soon(own.cancel))
        return await super().retrieve(request, context.model_copy(update={"signal": own}))


# Clauses 4.2, 7.5 and 9.2: what they are asked, and for whom.


@fault("KP-928", "KP-929", fragment="a result to")
class CollectedOnTheComposite(PlainComposite):
    """What children answer is collected on the composite, which calls at the same time fill together."""

    async def ask_all(self, request: RetrievalRequest, context: RetrievalContext) -> dict[str, Ending]:
        self.endings: dict[str, Ending] = {}
        self.endings |= await super().ask_all(request, context)
        await asyncio.sleep(0)
        return self.endings


@fault("KP-913", "KP-929", fragment="of 'service-account'")
class ServiceAccount(PlainComposite):
    """Every child is asked as the composite's own service account, which may see everything."""

    def context_of(self, context: RetrievalContext) -> RetrievalContext:
        return super().context_of(context).model_copy(update={"owner_id": "service-account"})


@fault("KP-913", fragment="of 'owner_id-0'")
class ContextMadeAnew(PlainComposite):
    """Children get a context made anew from the owner alone, and their logs cannot be joined with the turn's."""

    def context_of(self, context: RetrievalContext) -> RetrievalContext:
        return RetrievalContext(owner_id=context.owner_id, signal=super().context_of(context).signal)


@fault("KP-913", "KP-917", "KP-929", fragment="of 'owner_id-1'")
class LastCallersContext(PlainComposite):
    """The context is kept on the composite while its children are called, so the last caller's is everyone's."""

    async def ask(self, key: str, request: RetrievalRequest, context: RetrievalContext) -> Ending:
        self.context = context
        await asyncio.sleep(0)
        return await super().ask(key, request, self.context)


@fault("KP-913", "KP-929", fragment="knowledge_base_ids=")
class BasesForgotten(PlainComposite):
    """Children get a request made anew from the query, without the bases that it is restricted to."""

    def request_of(self, request: RetrievalRequest) -> RetrievalRequest:
        return RetrievalRequest(query=request.query, top_k=request.top_k, filters=request.filters)


@fault("KP-913", fragment="top_k=3")
class TopKDivided(PlainComposite):
    """Each child is asked for its share of top_k, and where one finds little the answer is not filled."""

    def request_of(self, request: RetrievalRequest) -> RetrievalRequest:
        share = max(1, request.top_k // len(self.children))
        return request.model_copy(deep=True, update={"top_k": share})


@fault("KP-917", fragment="the caller's own request")
class OneRequestForAll(PlainComposite):
    """Every child gets the caller's own request, and what one does to it the others see."""

    def request_of(self, request: RetrievalRequest) -> RetrievalRequest:
        return request


@fault("KP-917", fragment="the caller's own request")
class OneContextForAll(PlainComposite):
    """Every child gets the caller's own context, with its signal, and one that cancels it cancels all."""

    def context_of(self, context: RetrievalContext) -> RetrievalContext:
        return context


@fault("KP-919", fragment="2 results")
class FiltersHandedOn(PlainComposite):
    """Filters are handed to every child, whether it claims to honour them or not."""

    def refuse_filters(self, request: RetrievalRequest) -> None:
        pass


@fault("KP-919", fragment="1 result")
class FiltersOnlyForSome(PlainComposite):
    """With filters, only those children are asked that can honour them, and the others seem to know nothing."""

    def refuse_filters(self, request: RetrievalRequest) -> None:
        pass

    async def ask(self, key: str, request: RetrievalRequest, context: RetrievalContext) -> Ending:
        if request.filters and not self.claims[key].get("filters"):
            return Ending([])
        return await super().ask(key, request, context)
