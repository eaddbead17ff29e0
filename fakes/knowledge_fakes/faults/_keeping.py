"""Answers that are kept for the next who asks, or shared by who asks at once; knows shapes, and of a fault the key."""

import asyncio
from collections.abc import Callable
from typing import Any

from knowledge_fakes.faults._changing import Changed, ask, put_rows, rows_of
from knowledge_provider import RetrievalContext, RetrievalRequest


def keeping(sound: Any, key: Callable[[RetrievalRequest, RetrievalContext], object]) -> Changed:
    """The provider that answers again what it answered under the same ``key``, cut to ``top_k``.

    A blank owner is the sound one's to refuse, as ever.
    """
    held: dict[object, Any] = {}

    async def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        context.signal.raise_if_cancelled()
        name = key(request, context)
        if name not in held or not context.owner_id.strip():
            held[name] = await ask(sound, request, context)
        return put_rows(held[name], rows_of(held[name])[: request.top_k])

    return Changed(sound, retrieve=retrieve)


def one_flight(sound: Any, shares: Callable[[RetrievalRequest], bool]) -> Changed:
    """The provider to which equal requests that run at once are one call, whoever makes them, where it ``shares``.

    A blank owner is the sound one's to refuse, as ever.
    """
    running: dict[str, asyncio.Task[Any]] = {}

    async def retrieve(request: RetrievalRequest, context: RetrievalContext) -> Any:
        context.signal.raise_if_cancelled()
        if not shares(request) or not context.owner_id.strip():
            return await ask(sound, request, context)
        name = f"{id(asyncio.get_running_loop())} {request.model_dump_json()}"
        if name not in running:
            running[name] = asyncio.ensure_future(ask(sound, request, context))
            running[name].add_done_callback(lambda _task: running.pop(name, None))
        answer = await asyncio.shield(running[name])
        return put_rows(answer, rows_of(answer))

    return Changed(sound, retrieve=retrieve)
