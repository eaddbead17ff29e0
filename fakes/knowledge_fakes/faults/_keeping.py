"""Answers that are kept for the next who asks; knows the contract's shapes, and of a fault what it keeps them by."""

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
