"""Mistakes with health and with closing; knows clauses 2.1 and 8.12 of the contract, no way of catching them."""

import asyncio
from typing import Any

from knowledge_fakes import _plain_reading as read
from knowledge_fakes._plain_calls import Ending
from knowledge_fakes.host_faults._host_fault import host_fault
from knowledge_fakes.plain_host import PlainHost
from knowledge_provider import RetrievalContext, normalize_response

# Clause 8.12.


@host_fault("KP-822", fragment="5 calls")
class ClosesTwice(PlainHost):
    """Each close() of the host closes the provider."""

    async def close(self) -> None:
        self.closing = None
        await super().close()


@host_fault("KP-822", fragment="3 calls")
class ClosesOncePerCaller(PlainHost):
    """That it is closed is noted when the provider has ended, so who closes meanwhile closes it again."""

    done = False

    async def close(self) -> None:
        if not self.done:
            self.closing = asyncio.ensure_future(self.close_provider())
            await asyncio.shield(self.closing)
            self.done = True


@host_fault("KP-822", fragment="0 calls")
class NeverCloses(PlainHost):
    """The provider is left as it is, and its connections with it."""

    async def close_provider(self) -> None:
        return


@host_fault("KP-846", fragment="an outcome without results")
class EmptyAfterClose(PlainHost):
    """A host that is closed finds nothing, and says so."""

    async def search(self, query: Any, *, context: RetrievalContext, **asked: Any) -> Any:
        if self.closing:
            return normalize_response([], query=query)
        return await super().search(query, context=context, **asked)


@host_fault("KP-847", fragment="no end")
class WaitsForAnyClose(PlainHost):
    """The provider may take as long as it likes to close, and the application never ends."""

    async def close_provider(self) -> None:
        if self.described and (method := read.method_of(self.provider, "close")):
            await self.call(method)


# Clause 2.1.


@host_fault("KP-850", fragment="SystemExit")
class HealthRaises(PlainHost):
    """What a provider's health raises comes out of the host's."""

    async def call(self, method: Any, *arguments: object) -> Any:
        found = await super().call(method, *arguments)
        if found.error is not None and method == read.method_of(self.provider, "health"):
            raise found.error
        return found


@host_fault("KP-850", fragment="the text of the provider's exception")
class HealthWithTheErrorsText(PlainHost):
    """What the provider's health raised stands in the message, with the address and the key that are in it."""

    async def call(self, method: Any, *arguments: object) -> Any:
        found = await super().call(method, *arguments)
        if found.error is not None and method == read.method_of(self.provider, "health"):
            return Ending({"status": "unavailable", "message": f"{found.error!r}"})
        return found


@host_fault("KP-850", fragment="no end")
class HealthWithoutAnEnd(PlainHost):
    """A health that hangs is waited for, and the page that shows it hangs too."""

    async def ask(self, method: Any, seconds: float) -> Any:
        return await super().ask(method, seconds if method == read.method_of(self.provider, "close") else 86_400.0)


@host_fault("KP-825", fragment="the status ready")
class WithoutHealthUnavailable(PlainHost):
    """A provider without health counts as unavailable."""

    async def health(self) -> dict[str, Any]:
        if self.described and read.method_of(self.provider, "health") is None:
            return {"status": "unavailable"}
        return await super().health()


@host_fault("KP-825", fragment="Index\\n\\nis being")
class HealthAsTold(PlainHost):
    """What the provider says of its health is given on as it is, in whatever words and of whatever length."""

    async def health(self) -> dict[str, Any]:
        method = read.method_of(self.provider, "health")
        found = await self.ask(method, 5.0) if method else None
        return found if isinstance(found, dict) else await super().health()


@host_fault("KP-825", fragment="the status degraded")
class AlwaysReady(PlainHost):
    """A provider that is configured counts as ready, and is not asked."""

    async def health(self) -> dict[str, Any]:
        return {"status": "ready"} if self.described else await super().health()
