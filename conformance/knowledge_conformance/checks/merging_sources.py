"""Sources that checks hand to a merging host, and how their records are found again; knows no host and no finding."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from knowledge_conformance.checks.composite_children import passage
from knowledge_conformance.merging_subject import BuiltIn
from knowledge_conformance.source_subject import References
from knowledge_fakes.scripted import ScriptedProvider, SyncScriptedProvider
from knowledge_provider import RetrievalContext
from knowledge_provider.sources import ExternalKnowledgeRef

BOUND: Final = "kb-1"
"""The id of the reference to each source, unless a check says another."""


class SourceOf:
    """A source that a scripted provider answers for; it is asked with the query and the context alone.

    ``asked`` holds the references of each call.
    """

    capabilities: Mapping[str, bool] = MappingProxyType({})

    def __init__(self, name: str, provider: ScriptedProvider) -> None:
        self.name = name
        self.provider = provider
        self.asked: list[References] = []

    async def retrieve(self, query: Any, refs: References, context: RetrievalContext, /) -> Any:
        """What the provider answers."""
        self.asked.append(refs)
        return await self.provider.retrieve(query, context)


class SyncSourceOf:
    """The same of a synchronous provider."""

    capabilities: Mapping[str, bool] = MappingProxyType({})

    def __init__(self, name: str, provider: SyncScriptedProvider) -> None:
        self.name = name
        self._provider = provider

    def retrieve(self, query: Any, refs: References, context: RetrievalContext, /) -> Any:
        """What the provider answers."""
        del refs
        return self._provider.retrieve(query, context)


def source_of(provider: ScriptedProvider | SyncScriptedProvider) -> Any:
    """The source of a scripted provider, with its key as the name."""
    name = provider.describe()["key"]
    return SyncSourceOf(name, provider) if isinstance(provider, SyncScriptedProvider) else SourceOf(name, provider)


def finding(name: str, *names: str, **fields: Any) -> SourceOf:
    """A source that finds these passages, fresh each time; ``fields`` are each record's."""
    return SourceOf(name, ScriptedProvider([lambda *_: [passage(each, **fields) for each in names]], key=name))


def answering(name: str, answer: object) -> SourceOf:
    """A source that answers, or raises, as a script of ``ScriptedProvider`` says."""
    return SourceOf(name, ScriptedProvider([answer], key=name))


def built_in(*names: str) -> BuiltIn:
    """A host's own search, which finds these passages, fresh each time."""

    async def search(query: str, context: RetrievalContext) -> list[dict[str, Any]]:
        del query, context
        return [passage(name) for name in names]

    return search


def asked_by(provider: ScriptedProvider) -> BuiltIn:
    """A host's own search that a scripted provider answers."""

    async def search(query: Any, context: RetrievalContext) -> Any:
        return await provider.retrieve(query, context)

    return search


def ref(provider: str, source_id: str = BOUND, **fields: Any) -> ExternalKnowledgeRef:
    """A reference to a source."""
    return ExternalKnowledgeRef(provider=provider, id=source_id, **fields)


def refs_to(sources: Sequence[Any]) -> References:
    """A reference to each source, in their order."""
    return tuple(ref(source.name) for source in sources)
