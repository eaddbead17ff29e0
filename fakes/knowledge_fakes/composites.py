"""Composites over the embedded provider, as targets; knows the handbook and the contract, no kit and no fault.

``pytest --provider=knowledge_fakes.composites:healthy`` checks several providers behind one as any other provider.
"""

from typing import Any

from knowledge_fakes.handbook import HandbookProvider, SyncHandbookProvider
from knowledge_provider import CompositeProvider, KnowledgeUnavailableError, RetrievalContext, RetrievalRequest


class TextsDownProvider(HandbookProvider):
    """The handbook with an index that answers and a store of texts that is down: whatever it finds, it cannot read."""

    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> dict[str, Any]:
        """Empty where nothing is found. Raises ``KnowledgeUnavailableError`` where something is (clause 5.10)."""
        answer = await super().retrieve(request, context)
        if answer["results"]:
            raise KnowledgeUnavailableError("The store of the texts cannot be reached. Start it, or ask again later.")
        return answer


class DownProvider(HandbookProvider):
    """A handbook whose back end cannot be reached at all, and which says so."""

    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> dict[str, Any]:
        """Raises ``KnowledgeUnavailableError`` (clause 5.10)."""
        await super().retrieve(request, context)
        raise KnowledgeUnavailableError("The back end cannot be reached. Start it, or ask again later.")


def healthy() -> CompositeProvider:
    """The handbook twice, once for the loop and once for a thread; results in turn from each."""
    return _composite("healthy")


def concatenated() -> CompositeProvider:
    """The same, one child's results after another's."""
    return _composite("concatenated", concatenate=True)


def one_failing() -> CompositeProvider:
    """Both handbooks, and a third that fails wherever they answer: it costs its own results alone."""
    return _composite("one-failing", failing=TextsDownProvider())


def one_down() -> CompositeProvider:
    """Both handbooks, and a third that always fails.

    Not conformant while that is so: where the others find nothing, nobody can say that there is nothing (clause 9.4),
    while the kit wants every request to be answered (clause 3.2).
    """
    return _composite("one-down", down=DownProvider())


def _composite(key: str, *, concatenate: bool = False, **others: HandbookProvider) -> CompositeProvider:
    children = {"handbook": HandbookProvider(), "sync": SyncHandbookProvider(), **others}
    return CompositeProvider(children, key=key, label=f"Handbooks, {key}", concatenate=concatenate)
