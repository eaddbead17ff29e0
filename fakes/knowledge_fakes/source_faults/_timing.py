"""Mistakes with cancelled calls and calls at once; knows section 7, no way of catching them."""

import asyncio
import time
from typing import Any

from knowledge_fakes.source_faults._declared import fault
from knowledge_fakes.sources import HandbookSource, References
from knowledge_provider import CancelSignal, RetrievalContext


@fault("KP-1021", fragment="an answer")
class CancelledIsEmpty(HandbookSource):
    """A cancellation is caught with everything else, and becomes an empty answer."""

    async def retrieve(self, query: str, refs: References, context: RetrievalContext, /) -> Any:
        try:
            await asyncio.sleep(0)
        except BaseException:
            return []
        return await super().retrieve(query, refs, context)


@fault("KP-1022", fragment="result")
class SignalUnread(HandbookSource):
    """The signal is never looked at, and a call that is cancelled already does all its work."""

    async def retrieve(self, query: str, refs: References, context: RetrievalContext, /) -> Any:
        unread = context.model_copy(update={"signal": CancelSignal()})
        return await super().retrieve(query, refs, unread)


@fault("KP-1023", fragment="another call")
class ReferencesOnTheSource(HandbookSource):
    """What is asked for is kept on the source while the call goes on, and is the last caller's."""

    asked: tuple[str, References] = ("", ())

    async def retrieve(self, query: str, refs: References, context: RetrievalContext, /) -> Any:
        self.asked = (query, refs)
        await asyncio.sleep(0)
        return await super().retrieve(*self.asked, context)


@fault("KP-1037", fragment="in place 1")
class OrderTurns(HandbookSource):
    """What it finds has no order of its own, and stands another way round each time."""

    turned = False

    async def retrieve(self, query: str, refs: References, context: RetrievalContext, /) -> Any:
        found = await super().retrieve(query, refs, context)
        self.turned = not self.turned
        return found[::-1] if self.turned else found


@fault("KP-1038", fragment="a second event loop")
class LoopOfTheFirstCall(HandbookSource):
    """A future of the first call's loop is awaited in every call, also in those on another loop."""

    ready: "asyncio.Future[None] | None" = None

    async def retrieve(self, query: str, refs: References, context: RetrievalContext, /) -> Any:
        if self.ready is None:
            self.ready = asyncio.get_running_loop().create_future()
            asyncio.get_running_loop().call_soon(self.ready.set_result, None)
        if self.ready.get_loop() is not asyncio.get_running_loop():
            raise RuntimeError("attached to a different loop")
        await self.ready
        return await super().retrieve(query, refs, context)


@fault("KP-1038", fragment="bound to a different event loop")
class LockOfTheFirstLoop(HandbookSource):
    """A lock is made once, and keeps to the loop on which a call first had to wait for another."""

    lock: asyncio.Lock | None = None

    async def retrieve(self, query: str, refs: References, context: RetrievalContext, /) -> Any:
        self.lock = self.lock or asyncio.Lock()
        async with self.lock:
            await asyncio.sleep(0)
            return await super().retrieve(query, refs, context)


@fault("KP-1049", fragment="held for longer")
class HoldsTheLoop(HandbookSource):
    """A client that waits is called inside an async def, and everything else waits with it."""

    async def list_documents(self, refs: References, context: RetrievalContext, limit: int, offset: int, /) -> Any:
        found = await super().list_documents(refs, context, limit, offset)
        if limit > len(found):
            time.sleep(0.35)  # noqa: ASYNC251 - the mistake
        return found


@fault("KP-1032", fragment="a task in")
class WorkGoesOn(HandbookSource):
    """The search is shielded from its own cancellation, and goes on for nobody."""

    async def retrieve(self, query: str, refs: References, context: RetrievalContext, /) -> Any:
        context.signal.raise_if_cancelled()
        return await asyncio.shield(asyncio.ensure_future(self._work(query, refs, context)))

    async def _work(self, query: str, refs: References, context: RetrievalContext) -> Any:
        found = await super().retrieve(query, refs, context.model_copy(update={"signal": CancelSignal()}))
        # As long as a back end takes, but for those who have not gone.
        for _ in range(3):
            await asyncio.sleep(0.1 if context.signal.cancelled else 0)
        return found


@fault("KP-1036", fragment="an answer")
class CancelledListGoesOn(HandbookSource):
    """list_documents takes its cancellation for an error of the cache, and lists all the same."""

    async def list_documents(self, refs: References, context: RetrievalContext, limit: int, offset: int, /) -> Any:
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            return []
        return await super().list_documents(refs, context, limit, offset)


@fault("KP-1034", fragment="the answer to others")
class ValidatedOnTheSource(HandbookSource):
    """What validate_refs was asked last is kept on the source, and retrieve answers from that."""

    standing: References = ()

    def validate_refs(self, refs: References, binding_level: str, /) -> References:
        self.standing = super().validate_refs(refs, binding_level)
        return self.standing

    async def retrieve(self, query: str, refs: References, context: RetrievalContext, /) -> Any:
        kept = [ref for ref in self.standing if ref.is_whole and ref.id is not None]
        asked = all(ref.id in ("engineering", "people") and ref.is_whole for ref in refs)
        return await super().retrieve(query, tuple(kept) if kept and asked else refs, context)


@fault("KP-1033", fragment="another call")
class PageOnTheSource(HandbookSource):
    """Which page is asked for is kept on the source while the call goes on, and is the last caller's."""

    wanted: tuple[int, int] = (0, 0)

    async def list_documents(self, refs: References, context: RetrievalContext, limit: int, offset: int, /) -> Any:
        self.wanted = (limit, offset)
        await asyncio.sleep(0)
        return await super().list_documents(refs, context, *self.wanted)
