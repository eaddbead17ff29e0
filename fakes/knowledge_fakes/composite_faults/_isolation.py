"""Mistakes that let one child's trouble reach the others; knows clause 9.2, no way of catching them."""

import asyncio
import inspect
from collections.abc import Coroutine, Mapping, Sequence
from itertools import accumulate
from typing import Any

from knowledge_fakes._plain_calls import Ending
from knowledge_fakes.composite_faults._declared import fault
from knowledge_fakes.plain_composite import Answer, PlainComposite, Row
from knowledge_provider import KnowledgeTimeoutError, RetrievalContext, RetrievalRequest
from knowledge_provider.errors import read_or_none

_BUDGET = 6000

Calls = Mapping[str, Coroutine[Any, Any, Ending]]


async def _asked(child: Any, request: RetrievalRequest, context: RetrievalContext) -> Any:
    if inspect.iscoroutinefunction(child.retrieve):
        return await child.retrieve(request, context)
    answer = await asyncio.to_thread(child.retrieve, request, context)
    return await answer if hasattr(type(answer), "__await__") else answer


class _Unshielded(PlainComposite):
    """What a child raises comes out of its call."""

    async def ask(self, key: str, request: RetrievalRequest, context: RetrievalContext) -> Ending:
        return Ending(await _asked(self.children[key], request, context))


@fault(
    "KP-904", "KP-902", "KP-903", "KP-905", "KP-906", "KP-907", "KP-908", "KP-914", "KP-920", "KP-921", "KP-922",
    "KP-932",
    fragment="raised",
)  # fmt: skip
class TaskGroupOfChildren(_Unshielded):
    """The children run in a task group, which cancels all of them when one fails."""

    async def wait(self, calls: Calls, seconds: float) -> dict[str, Ending]:
        async with asyncio.timeout(seconds), asyncio.TaskGroup() as group:
            tasks = {key: group.create_task(call) for key, call in calls.items()}
        return {key: task.result() for key, task in tasks.items()}


@fault("KP-904", "KP-906", fragment="raised")
class FirstExceptionStops(_Unshielded):
    """asyncio.wait returns at the first exception, and whoever has not answered by then is cancelled."""

    async def wait(self, calls: Calls, seconds: float) -> dict[str, Ending]:
        tasks = {key: asyncio.ensure_future(call) for key, call in calls.items()}
        try:
            await asyncio.wait(tasks.values(), timeout=seconds, return_when=asyncio.FIRST_EXCEPTION)
        finally:
            self.stop(tasks)
        await asyncio.wait(tasks.values(), timeout=0.05)
        return {key: _told(task) for key, task in tasks.items()}


def _told(task: "asyncio.Task[Ending]") -> Ending:
    if task.cancelled() or not task.done():
        return Ending(error=KnowledgeTimeoutError())
    return Ending(error=task.exception()) if task.exception() else task.result()


@fault("KP-904", fragment="stopped it")
class GatherReturningExceptions(_Unshielded):
    """gather(return_exceptions=True) is trusted with everything, and a SystemExit stops the event loop all the same."""

    async def wait(self, calls: Calls, seconds: float) -> dict[str, Ending]:
        bounded = {key: _bounded(call, seconds) for key, call in calls.items()}
        found = await asyncio.gather(*bounded.values(), return_exceptions=True)
        return {key: _ending(one) for key, one in zip(calls, found, strict=True)}


async def _bounded(call: Coroutine[Any, Any, Ending], seconds: float) -> Ending:
    task = asyncio.ensure_future(call)
    try:
        await asyncio.wait({task}, timeout=seconds)
    finally:
        late = not task.done()
        task.cancel()
    return Ending(error=KnowledgeTimeoutError()) if late else task.result()


def _ending(found: Any) -> Ending:
    return Ending(error=found) if isinstance(found, BaseException) else found


@fault("KP-904", fragment="raised AttributeError")
class CancelledErrorIsNoException(PlainComposite):
    """Failures are told by isinstance(x, Exception), which a CancelledError passes, to be read as an answer."""

    def read(self, key: str, found: Ending, request: RetrievalRequest) -> Answer:
        if found.error is not None and not isinstance(found.error, Exception):
            found = Ending(found.error.results)  # type: ignore[attr-defined]  # the mistake
        return super().read(key, found, request)


@fault("KP-904", fragment="raised")
class ExceptionsOnly(PlainComposite):
    """A child's call is guarded by except Exception, which its SystemExit and its CancelledError get past."""

    async def ask(self, key: str, request: RetrievalRequest, context: RetrievalContext) -> Ending:
        found = await super().ask(key, request, context)
        if found.error is not None and not isinstance(found.error, Exception):
            raise found.error
        return found

    def ended(self, task: "asyncio.Task[Ending]") -> Ending:
        return task.result()


@fault("KP-904", fragment="raised SystemExit")
class LooksAtWhatWasRaised(PlainComposite):
    """The exception's own attributes are read without a guard, and they are the child's code."""

    def failed(self, error: BaseException) -> Answer:
        return Answer("failed", "unauthorized") if getattr(error, "code", None) == 401 else super().failed(error)


@fault("KP-903", "KP-906", "KP-907", "KP-925", fragment="raised")
class AnswersAreTrusted(PlainComposite):
    """An answer is read as what it should be, and a child that answers something else raises for all."""

    def read(self, key: str, found: Ending, request: RetrievalRequest) -> Answer:
        if found.error is None:
            rows = found.value["results"] if isinstance(found.value, dict) else found.value
            found = Ending([{**row, "id": row["id"].strip()} for row in rows])
        return super().read(key, found, request)


@fault("KP-903", fragment="more than 1,000 items taken")
class AnswersAreIterated(PlainComposite):
    """Every answer is made a list of, to be read twice, and an iterator without an end is never finished."""

    def read(self, key: str, found: Ending, request: RetrievalRequest) -> Answer:
        held = read_or_none(lambda: dict.get(found.value, "results"))
        if hasattr(type(held), "__next__"):
            found = Ending({"results": [*held]})  # type: ignore[misc]  # the mistake
        return super().read(key, found, request)


@fault("KP-903", fragment="2 of its results")
class OneBudgetForAll(PlainComposite):
    """All results share a budget of characters, and one child's long texts leave no room for another's."""

    def merged(self, found: Sequence[Sequence[Row]], request: RetrievalRequest) -> list[Row]:
        rows = super().merged(found, request)
        sizes = accumulate(len(row["content"]) for row in rows)
        return [row for row, size in zip(rows, sizes, strict=True) if size <= _BUDGET]


@fault("KP-925", fragment="raised")
class AnswersAreCompared(PlainComposite):
    """Whether an answer is empty is asked of the answer itself, whose class may raise or leave."""

    def is_empty(self, response: object) -> bool:
        return response == [] or super().is_empty(response)


@fault("KP-924", fragment="1 result")
class KeyboardInterruptIsAFailure(PlainComposite):
    """except BaseException takes the user's Ctrl-C for one more failed source."""

    async def ask(self, key: str, request: RetrievalRequest, context: RetrievalContext) -> Ending:
        try:
            return await super().ask(key, request, context)
        except BaseException as error:  # the mistake
            return Ending(error=error)


@fault("KP-918", fragment="without it")
class FailureRemembered(PlainComposite):
    """A child that failed once is never asked again."""

    async def ask(self, key: str, request: RetrievalRequest, context: RetrievalContext) -> Ending:
        known: dict[str, Ending] = self.__dict__.setdefault("known", {})
        found = known.get(key) or await super().ask(key, request, context)
        if found.error is not None:
            known[key] = found
        return found
