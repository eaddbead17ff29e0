"""Mistakes with health and closing of several providers; knows section 2 of the contract, no way of catching them."""

import asyncio
from typing import Any

from knowledge_fakes.composite_faults._declared import fault
from knowledge_fakes.plain_composite import PlainComposite
from knowledge_provider import CancelSignal, RetrievalContext, RetrievalRequest


@fault("KP-922", "KP-932", fragment="raised ConnectionError")
class HealthRaises(PlainComposite):
    """A child's health that raises takes the composite's along, and the status page shows a broken host."""

    async def health(self) -> dict[str, Any]:
        for child in self.children.values():
            if hasattr(child, "health"):
                await child.health(CancelSignal())
        return await super().health()


@fault("KP-922", fragment="no answer")
class HealthHangs(PlainComposite):
    """A child's health is waited for without an end."""

    async def health(self) -> dict[str, Any]:
        for child in self.children.values():
            if hasattr(child, "health"):
                await self.call(child.health)
        return await super().health()


@fault("KP-922", fragment="'ready'")
class AlwaysReady(PlainComposite):
    """The composite says that it is ready, since it has no back end of its own."""

    async def health(self) -> dict[str, Any]:
        return {"status": "ready"}


@fault("KP-923", "KP-932", fragment="that hanging was not")
class CloseStopsAtTheFirst(PlainComposite):
    """Children are closed one after another, and the first that raises leaves the others open."""

    async def close(self) -> None:
        for child in self.children.values():
            if hasattr(child, "close"):
                await child.close()


@fault("KP-923", fragment="that raising was not")
class CloseIsExpected(PlainComposite):
    """Every child is taken to have a close, and one that has none leaves the others open."""

    async def close(self) -> None:
        await asyncio.gather(*(child.close() for child in self.children.values()), return_exceptions=True)


@fault("KP-923", fragment="close() to end")
class CloseHangs(PlainComposite):
    """Closing waits for each child without an end."""

    async def close(self) -> None:
        for child in self.children.values():
            if hasattr(child, "close"):
                await self.call(child.close)


@fault("KP-923", fragment="that raising was not")
class CloseForgets(PlainComposite):
    """Closing the composite closes nothing."""

    async def close(self) -> None:
        pass


# Clauses 2.2 and 2.4: a search later, and elsewhere.


@fault("KP-930", fragment="0 results after close()")
class ClosedIsEmpty(PlainComposite):
    """A closed composite answers that there is nothing, so that nobody sees an exception at the end."""

    is_closed = False

    async def close(self) -> None:
        await super().close()
        self.is_closed = True

    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
        return {"results": [], "sources": []} if self.is_closed else await super().retrieve(request, context)


@fault("KP-931", fragment="attached to a different loop")
class TwoLoops(PlainComposite):
    """What the first call makes belongs to its event loop, and every later call needs it."""

    loop: asyncio.AbstractEventLoop | None = None

    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
        self.loop = self.loop or asyncio.get_running_loop()
        if self.loop is not asyncio.get_running_loop():
            raise RuntimeError("attached to a different loop")
        return await super().retrieve(request, context)


@fault("KP-931", fragment="bound to a different event loop")
class LockOfTheFirstLoop(PlainComposite):
    """One search at a time: the lock is made once, and keeps to the loop on which a search first waited for another."""

    lock: asyncio.Lock | None = None

    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
        self.lock = self.lock or asyncio.Lock()
        async with self.lock:
            return await super().retrieve(request, context)
