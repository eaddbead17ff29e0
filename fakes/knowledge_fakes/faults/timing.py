"""Mistakes with cancellation, the event loop and concurrency; knows section 7 of the contract, no way of catching them.

They are about async code, so a synchronous provider becomes one that works in a thread.
"""

import asyncio
import itertools
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from knowledge_fakes.faults._changing import Changed, Row, ask, rows_of
from knowledge_fakes.faults._fault import fault
from knowledge_provider import CancelSignal, RetrievalContext, RetrievalRequest

_POOL = 4


@fault("KP-701", "KP-703", "KP-205", fragment="an answer: []")
def cancellation_becomes_an_answer(sound: Any) -> Any:
    """Whatever is raised becomes an empty answer: a closed client, a cancelled call, a back end that is down."""

    async def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        try:
            await asyncio.sleep(0)
            return await ask(sound, request, context)
        except BaseException:  # the mistake
            return []

    return Changed(sound, retrieve=retrieve)


@fault("KP-701", fragment="raised TimeoutError")
def cancellation_becomes_an_error(sound: Any) -> Any:
    """Cancellation is taken for a time-out of the provider's own, and the host is told that the provider failed."""

    async def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        try:
            await asyncio.sleep(0)
            return await ask(sound, request, context)
        except asyncio.CancelledError:
            raise TimeoutError("the back end did not answer in time") from None

    return Changed(sound, retrieve=retrieve)


@fault("KP-701", fragment="an answer: ")
def cancellation_swallowed_once(sound: Any) -> Any:
    """A cancellation that arrives while a slot is waited for is suppressed, and the search is made all the same."""

    async def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            context = context.model_copy(update={"signal": CancelSignal()})
        return await ask(sound, request, context)

    return Changed(sound, retrieve=retrieve)


@fault("KP-701", fragment="a call that was still running", waits=True)
def slow_to_stop(sound: Any) -> Any:
    """A cancelled call tells its back end first, and waits for it to say that it has stopped."""

    async def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        context.signal.raise_if_cancelled()
        try:
            await asyncio.sleep(0)
            return await ask(sound, request, context)
        except asyncio.CancelledError:
            await asyncio.sleep(2)
            raise

    return Changed(sound, retrieve=retrieve)


@fault("KP-703", fragment="results")
def signal_is_ignored(sound: Any) -> Any:
    """The signal is never looked at, so a call of a turn that is over runs to its end."""

    async def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        return await ask(sound, request, context.model_copy(update={"signal": CancelSignal()}))

    return Changed(sound, retrieve=retrieve)


@fault("KP-703", fragment="the events open")
def signal_is_read_too_late(sound: Any) -> Any:
    """The index is opened before the signal is looked at."""

    async def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        Path(os.devnull).read_bytes()  # noqa: ASYNC240 - the mistake
        return await ask(sound, request, context)

    return Changed(sound, retrieve=retrieve)


@fault("KP-703", fragment="the events open")
def signal_is_read_too_late_in_a_thread(sound: Any) -> Any:
    """The index is opened in a worker thread before the signal is looked at."""

    async def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        await asyncio.to_thread(Path(os.devnull).read_bytes)
        return await ask(sound, request, context)

    return Changed(sound, retrieve=retrieve)


@fault("KP-703", fragment="the events open")
def plain_method_reads_the_signal_too_late(sound: Any) -> Any:
    """A plain method, which the host calls in a thread, opens the index before the signal is looked at."""

    def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        Path(os.devnull).read_bytes()
        return sound.retrieve(request, context)

    return Changed(sound, retrieve=retrieve)


@fault("KP-704", fragment="held for longer", waits=True)
def blocking_refresh(sound: Any) -> Any:
    """An answer that is kept from the last call is refreshed by a synchronous client inside an async def."""
    kept: dict[str, Any] = {}

    async def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        # Only the last answer is kept, so that a whole run does not wait in each of its calls.
        if request.model_dump_json() in kept:
            time.sleep(0.28)  # noqa: ASYNC251 - the mistake
        kept.clear()
        kept[request.model_dump_json()] = True
        return await ask(sound, request, context)

    return Changed(sound, retrieve=retrieve)


@fault("KP-705", fragment="the answer to another of the calls")
def last_request_wins(sound: Any) -> Any:
    """The request is kept on the provider while its slot is waited for, so the last caller's is asked for everyone."""
    state: dict[str, RetrievalRequest] = {}

    async def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        state["request"] = request
        await asyncio.sleep(0)
        return await ask(sound, state["request"], context)

    return Changed(sound, retrieve=retrieve)


@fault("KP-705", fragment="the answer to another of the calls")
def shared_result_list(sound: Any) -> Any:
    """Results are collected in one list on the provider, which calls at the same time fill together."""
    found: list[Row] = []

    async def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        found.clear()
        await asyncio.sleep(0)
        found.extend(rows_of(await ask(sound, request, context)))
        return list(found)

    return Changed(sound, retrieve=retrieve)


@fault("KP-701", fragment="an answer: []")
def deaf_past_the_cache(sound: Any) -> Any:
    """Answers are cached; only a call that has to ask the back end turns its cancellation into an empty answer."""

    async def miss(request: RetrievalRequest, context: RetrievalContext) -> Any:
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            return []
        return await ask(sound, request, context)

    return _cached(sound, miss)


@fault("KP-705", fragment="the answer to another of the calls")
def last_request_wins_past_the_cache(sound: Any) -> Any:
    """Answers are cached, and calls that ask the back end at the same time all keep the last caller's answer."""
    state: dict[str, RetrievalRequest] = {}

    async def miss(request: RetrievalRequest, context: RetrievalContext) -> Any:
        state["request"] = request
        await asyncio.sleep(0)
        return await ask(sound, state["request"], context)

    return _cached(sound, miss)


def _cached(sound: Any, miss: Callable[[RetrievalRequest, RetrievalContext], Any]) -> Changed:
    kept: dict[str, Any] = {}

    async def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        context.signal.raise_if_cancelled()
        asked = request.model_dump_json()
        if asked not in kept:
            kept[asked] = await miss(request, context)
        return kept[asked]

    return Changed(sound, retrieve=retrieve)


@fault("KP-701", fragment="an answer: []")
def deaf_behind_a_decorator(sound: Any) -> Any:
    """A plain method returns a coroutine, as a decorator makes it, and the coroutine swallows its cancellation."""

    async def search(request: RetrievalRequest, context: RetrievalContext) -> Any:
        context.signal.raise_if_cancelled()
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            return []
        return await ask(sound, request, context)

    def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        return search(request, context)

    return Changed(sound, retrieve=retrieve)


@fault("KP-705", fragment="the answer to another of the calls")
def last_request_wins_with_the_time(sound: Any) -> Any:
    """As where the last request wins; and each content tells when it was read, so that it is never the same twice."""
    state: dict[str, RetrievalRequest] = {}
    reads = itertools.count()

    async def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        state["request"] = request
        await asyncio.sleep(0)
        found = rows_of(await ask(sound, state["request"], context))
        return [{**row, "content": f"{row['content']} (read {next(reads)})"} for row in found]

    return Changed(sound, retrieve=retrieve)


@fault("KP-706", fragment="raised ConnectionError")
def fails_under_load(sound: Any) -> Any:
    """The pool has four connections, and a fifth call at the same time raises instead of waiting."""

    def refuse() -> Any:
        raise ConnectionError("the pool has no connection left")

    return _pooled(sound, refuse)


@fault("KP-706", fragment="another one")
def empty_under_load(sound: Any) -> Any:
    """A fifth call at the same time is turned away by the back end, which is taken for an empty answer."""
    return _pooled(sound, list)


def _pooled(sound: Any, refuse: Callable[[], Any]) -> Changed:
    running = 0

    async def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        nonlocal running
        if running == _POOL:
            return refuse()
        running += 1
        try:
            await asyncio.sleep(0)
            return await ask(sound, request, context)
        finally:
            running -= 1

    return Changed(sound, retrieve=retrieve)
