"""Mistakes that a cancelled call shows, at one await or in the next call; knows clause 7.2, no way of catching them.

They are about async code, so a synchronous provider becomes one that works in a thread.
"""

import asyncio
import copy
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final
from weakref import WeakKeyDictionary

from knowledge_fakes.faults._changing import Changed, ask
from knowledge_fakes.faults._fault import fault
from knowledge_provider import CancelSignal, RetrievalContext, RetrievalRequest, limits

_SOON: Final = {"timeout": 0.5}
# Longer than a task may be left after a cancelled call, and shorter than one may be after close().
_LEFT: Final = 0.3
# More awaits than a call is cancelled at.
_POLLS: Final = 30


@fault("KP-702", fragment="an answer: []; it was cancelled in knowledge_fakes.faults.cancelling.retrieve")
def deaf_at_the_second_await(sound: Any) -> Any:
    """Only while the answer is read is a cancellation taken for a back end that has no more to say."""

    async def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        await asyncio.sleep(0)
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            return []
        return await ask(sound, request, context)

    return Changed(sound, retrieve=retrieve)


@fault("KP-702", fragment="an answer: []; it was cancelled in knowledge_fakes.faults.cancelling.retrieve")
def deaf_after_many_awaits(sound: Any) -> Any:
    """A call polls for its answer many times, and once, between two long loops, it takes a cancellation for the end."""

    async def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        for _ in range(_POLLS):
            await asyncio.sleep(0)
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            return []
        for _ in range(_POLLS):
            await asyncio.sleep(0)
        return await ask(sound, request, context)

    return Changed(sound, retrieve=retrieve)


@fault("KP-709", fragment="raised ConnectionError")
def broken_by_a_late_cancellation(sound: Any) -> Any:
    """An answer is read in many pieces, and only where the last one is checked a cancellation breaks the connection."""
    state = {"broken": False}

    async def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        context.signal.raise_if_cancelled()
        if state["broken"]:
            raise ConnectionError("an answer to another request is still to be read")
        for _ in range(_POLLS):
            await asyncio.sleep(0)
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            state["broken"] = True
            raise
        answer = await ask(sound, request, context)
        for _ in range(_POLLS):
            await asyncio.sleep(0)
        return answer

    return Changed(sound, retrieve=retrieve)


@fault("KP-702", fragment="a task in knowledge_fakes.faults.cancelling.note", waits=True)
def task_left_behind(sound: Any) -> Any:
    """Each search is noted by a task that is created and never waited for."""
    kept: set[Any] = set()

    async def note() -> None:
        await asyncio.sleep(_LEFT)

    async def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        context.signal.raise_if_cancelled()
        noting = asyncio.create_task(note())
        kept.add(noting)
        noting.add_done_callback(kept.discard)
        await asyncio.sleep(0)  # as a sound provider may never do, which could then not be cancelled
        return await ask(sound, request, context)

    return Changed(sound, retrieve=retrieve)


@fault("KP-702", fragment="a task in knowledge_fakes.faults.cancelling.spell")
def sibling_left_running(sound: Any) -> Any:
    """Two searches are waited for with asyncio.wait, which leaves them running when it is cancelled."""

    async def spell() -> None:
        await asyncio.sleep(_LEFT)

    async def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        context.signal.raise_if_cancelled()
        searching = asyncio.create_task(ask(sound, request, context))
        spelling = asyncio.create_task(spell())
        await asyncio.wait({searching, spelling}, return_when=asyncio.FIRST_COMPLETED)
        spelling.cancel()
        return await searching

    return Changed(sound, retrieve=retrieve)


@fault("KP-702", fragment="a task in knowledge_fakes.faults.cancelling.fly")
def shared_search_goes_on(sound: Any) -> Any:
    """Equal searches share a task, which is shielded from those who wait for it and goes on when nobody does."""
    flights: dict[tuple[str, str], asyncio.Task[Any]] = {}

    async def fly(request: RetrievalRequest, context: RetrievalContext) -> Any:
        await asyncio.sleep(0)
        answer = await ask(sound, request, context.model_copy(update={"signal": CancelSignal()}))
        # What is waited for is over at once, for the time that a run takes.
        await asyncio.sleep(_LEFT if context.signal.cancelled else 0)
        return answer

    async def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        context.signal.raise_if_cancelled()
        asked = context.owner_id, request.model_dump_json()
        if asked not in flights:
            flights[asked] = asyncio.create_task(fly(request, context))
            flights[asked].add_done_callback(lambda _: flights.pop(asked, None))
        return await asyncio.shield(flights[asked])

    return Changed(sound, retrieve=retrieve)


def _kept_when_cancelled(sound: Any, take: Callable[[], Awaitable[Callable[[], None]]]) -> Changed:
    """The provider that gives back what it took when a search ends and when it fails, and not when it is cancelled."""

    async def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        context.signal.raise_if_cancelled()
        give_back = await take()
        try:
            await asyncio.sleep(0)  # as above
            answer = await ask(sound, request, context)
        except Exception:
            give_back()
            raise
        give_back()
        return answer

    return Changed(sound, retrieve=retrieve)


@fault("KP-709", fragment="no answer: it waits in", settings=_SOON, waits=True)
def lock_not_released(sound: Any) -> Any:
    """A lock is released when the search ends and when it fails, and stays taken when it is cancelled."""
    locks: MutableMapping[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()

    async def take() -> Callable[[], None]:
        lock = locks.setdefault(asyncio.get_running_loop(), asyncio.Lock())
        await lock.acquire()
        return lock.release

    return _kept_when_cancelled(sound, take)


@fault("KP-709", fragment="what is limited is not given back", settings=_SOON, waits=True)
def place_not_given_back(sound: Any) -> Any:
    """So many searches as a host makes at once may run, and each that is cancelled keeps its place for ever."""
    places = asyncio.Semaphore(limits.CONCURRENCY_DEFAULT)

    async def take() -> Callable[[], None]:
        await places.acquire()
        return places.release

    return _kept_when_cancelled(sound, take)


@fault("KP-709", fragment="raised ConnectionError")
def connection_broken_by_a_cancellation(sound: Any) -> Any:
    """A cancelled call leaves half an answer in the one connection, which is of no use to the next."""

    def refuse() -> Any:
        raise ConnectionError("an answer to another request is still to be read")

    return _broken(sound, refuse)


@fault("KP-709", fragment="0 results")
def broken_connection_finds_nothing(sound: Any) -> Any:
    """What a cancelled call left in the connection is read as an answer without results, from then on."""
    return _broken(sound, list)


def _broken(sound: Any, refuse: Callable[[], Any]) -> Changed:
    state = {"broken": False}

    async def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        context.signal.raise_if_cancelled()
        if state["broken"]:
            return refuse()
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            state["broken"] = True
            raise
        return await ask(sound, request, context)

    return Changed(sound, retrieve=retrieve)


@fault("KP-709", fragment="raised asyncio.exceptions.CancelledError")
def cancelled_future_in_the_cache(sound: Any) -> Any:
    """Equal searches share a future, and one that was cancelled stays in the cache for all who ask the same later."""
    shared: dict[str, asyncio.Future[Any]] = {}

    async def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        context.signal.raise_if_cancelled()
        asked = request.model_dump_json()
        if asked not in shared:
            shared[asked] = asyncio.ensure_future(ask(sound, request, context))
        return await shared[asked]

    return Changed(sound, retrieve=retrieve)


@fault("KP-709", fragment="0 results")
def nothing_kept_for_a_cancelled_call(sound: Any) -> Any:
    """A cache holds the place of an answer with nothing until it is there, and for good where the call is cancelled."""
    kept: dict[str, Any] = {}

    async def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        context.signal.raise_if_cancelled()
        asked = f"{context.owner_id} {request.model_dump_json()}"
        if asked not in kept:
            kept[asked] = []
            await asyncio.sleep(0)
            kept[asked] = await ask(sound, request, context)
        return copy.deepcopy(kept[asked])

    return Changed(sound, retrieve=retrieve)
