"""The reference's way of merging, in the shape that the kit checks: ``--merging=knowledge_fakes.merging:reference``."""

from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from knowledge_provider import RetrievalContext
from knowledge_provider.sources import MergedRecords, SourceRegistry, retrieve_merged


def reference(
    built_in: Callable[[str, RetrievalContext], Awaitable[Any]], sources: Iterable[Any], *, timeout: float = 5.0
) -> Callable[..., Awaitable[MergedRecords]]:
    """``retrieve_merged`` over these sources; ``timeout`` is in seconds, for each of them and for what is built in."""
    registry = SourceRegistry(*sources)

    async def merge(query: str, *, context: RetrievalContext, refs: Iterable[Any] = ()) -> MergedRecords:
        return await retrieve_merged(
            query, context=context, registry=registry, refs=refs, built_in=built_in(query, context),
            timeout=timeout, built_in_timeout=timeout,
        )  # fmt: skip

    return merge
