"""Mistakes with health and closing of several providers; knows section 2 of the contract, no way of catching them."""

import asyncio
from typing import Any

from knowledge_fakes.composite_faults._fault import fault
from knowledge_fakes.plain_composite import PlainComposite
from knowledge_provider import CancelSignal


@fault("KP-922", fragment="raised ConnectionError")
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


@fault("KP-923", fragment="that hanging was not")
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
