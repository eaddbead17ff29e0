"""How ``plain_composite`` asks its children, and how long it waits for them; knows time and tasks, no answer."""

import asyncio
import inspect
import time
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Final

from knowledge_fakes import _plain_reading as read
from knowledge_fakes._plain_calls import Ending, ending
from knowledge_provider import CancelSignal, ProviderDescription, RetrievalContext, RetrievalRequest, errors, limits
from knowledge_provider.errors import read_or_none

_GRACE_SECONDS: Final = 0.25
_HEALTH_SHARE: Final = 0.5


class PlainChildren:
    """Several providers by their keys, with clauses 9.1, 9.2 and 9.6 and section 2 in a method for each duty."""

    def __init__(self, children: Mapping[str, Any], *, timeout: float = 5.0) -> None:
        self.children: dict[str, Any] = dict(children)
        self.timeout = timeout
        self.claims: dict[str, dict[str, bool]] = {
            key: self.compose(child).capabilities for key, child in self.children.items()
        }
        self.left: set[object] = set()
        self.running: set[object] = set()

    def compose(self, child: Any) -> ProviderDescription:
        """Clause 1.3: refused when it is composed, never at the first turn."""
        return read.composed(child)

    async def ask_all(self, request: RetrievalRequest, context: RetrievalContext) -> dict[str, Ending]:
        """Clauses 9.1 and 9.6: all at the same time, each until its deadline, and none beyond its caller."""
        contexts = {key: self.context_of(context) for key in self.children}
        calls = {key: self.ask(key, self.request_of(request), contexts[key]) for key in self.children}
        return await self.until_stopped(calls, contexts, context)

    async def until_stopped(
        self,
        calls: Mapping[str, Coroutine[Any, Any, Ending]],
        contexts: Mapping[str, RetrievalContext],
        context: RetrievalContext,
    ) -> dict[str, Ending]:
        """Clause 9.6: no call goes on when its caller is cancelled, or has been answered."""

        def stop() -> None:
            for own in contexts.values():
                own.signal.cancel("cancelled")

        context.signal.add_callback(stop)
        try:
            return await self.wait(calls, self.seconds(context))
        finally:
            context.signal.remove_callback(stop)
            stop()

    def request_of(self, request: RetrievalRequest) -> RetrievalRequest:
        """Clause 9.2: what a child does to its request it does to its own."""
        return request.model_copy(deep=True)

    def context_of(self, context: RetrievalContext) -> RetrievalContext:
        """Clauses 4.2 and 9.2: the caller's identity, and a signal of the child's own."""
        deadline = time.monotonic() + self.seconds(context)
        return context.model_copy(update={"signal": CancelSignal(deadline=deadline)})

    def seconds(self, context: RetrievalContext) -> float:
        """Clause 9.1: a child's time, some of the caller's left over for the answer."""
        remaining = context.signal.remaining()
        return self.timeout if remaining is None else min(self.timeout, 0.8 * remaining)

    async def ask(self, key: str, request: RetrievalRequest, context: RetrievalContext) -> Ending:
        """Clause 9.2: whatever a child raises is a value, also what would stop the loop."""
        return await ending(self.children[key].retrieve, request, context, left=self.left)

    async def wait(self, calls: Mapping[str, Coroutine[Any, Any, Ending]], seconds: float) -> dict[str, Ending]:
        """How each call ended; one that did not is told to stop, and left behind if it does not."""
        tasks = {key: asyncio.ensure_future(call) for key, call in calls.items()}
        self.running.update(tasks.values())
        try:
            await asyncio.wait(tasks.values(), timeout=seconds)
        except asyncio.CancelledError:
            self.stop(tasks)
            await asyncio.wait(tasks.values(), timeout=_GRACE_SECONDS)
            raise
        late = {key for key, task in tasks.items() if not task.done()}
        self.stop(tasks)
        return {key: self.late() if key in late else self.ended(task) for key, task in tasks.items()}

    def stop(self, tasks: Mapping[str, "asyncio.Task[Ending]"]) -> None:
        """Clause 9.6: none that can be stopped goes on."""
        for task in tasks.values():
            task.add_done_callback(self.running.discard)
            task.cancel()

    def late(self) -> Ending:
        """Clause 9.1: the child's deadline has passed."""
        return Ending(error=errors.KnowledgeTimeoutError())

    def ended(self, task: "asyncio.Task[Ending]") -> Ending:
        """Clause 9.2: a child may cancel its own task."""
        return Ending(error=asyncio.CancelledError()) if task.cancelled() else task.result()

    async def health(self) -> dict[str, Any]:
        """Clause 2.1: of all children at once, each within a bound; one without is ready."""
        endings = await self.each("health", _HEALTH_SHARE * limits.HEALTH_SECONDS)
        said = [read.health_of(found.value)["status"] for found in endings.values()]
        said += ["ready"] * (len(self.children) - len(said))
        return {"status": said[0] if len(set(said)) == 1 else "degraded"}

    async def close(self) -> None:
        """Clause 2.2: every child, whatever another one's does."""
        await self.each("close", self.timeout)

    async def each(self, name: str, seconds: float) -> dict[str, Ending]:
        """How this method of each child that has it ends."""
        methods = {key: read.method_of(child, name) for key, child in self.children.items()}
        calls = {key: self.call(method) for key, method in methods.items() if method}
        return await self.wait(calls, seconds) if calls else {}

    async def call(self, method: Callable[..., Any]) -> Ending:
        """A call of health or close, with a signal where it takes one."""
        takes_it = read_or_none(lambda: inspect.signature(method).parameters)
        return await ending(method, *[CancelSignal()] * bool(takes_it), left=self.left)
