"""Mistakes with cancelled calls and calls at once; knows section 7, no way of catching them."""

import asyncio
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
