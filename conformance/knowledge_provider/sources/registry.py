"""``RetrievalSource`` and ``SourceRegistry``: the only way from a host to external sources (clauses 10.1, 10.3).

Knows what a source is and how it is called; no answer, record, binding or task.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from types import MappingProxyType
from typing import Any, Final, NamedTuple, Protocol, runtime_checkable

from knowledge_provider import limits
from knowledge_provider.errors import KnowledgeProviderInvalidError, read_or_none
from knowledge_provider.models import RetrievalContext
from knowledge_provider.provider_calls import Ending, ProviderCalls, is_async
from knowledge_provider.sources.references import ExternalKnowledgeRef
from knowledge_provider.text import class_name, is_a

References = tuple[ExternalKnowledgeRef, ...]

BUILT_IN: Final = "knowledge_base"
"""The ``source_type`` of what the host found itself; no source can have this name, for the underscore."""

_LETTERS: Final = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-")
_CAPABILITIES_READ_MAX: Final = 64
_METHODS: Final = ("retrieve", "validate_refs", "list_documents")


@runtime_checkable
class RetrievalSource(Protocol):
    """Any object with these three is a source (clause 10.1); arguments are passed by position.

    Optional beside them, and absent where None: ``validate_refs(refs, binding_level)``, which answers those of the
    references that stand, and ``list_documents(refs, context, limit, offset)``. All may be synchronous or not.
    """

    @property
    def name(self) -> str:
        """The provider id that references carry: lowercase letters, digits and hyphens, at most 64."""
        ...

    @property
    def capabilities(self) -> Mapping[str, bool]:
        """What it can do; ``list_documents: False`` disables browsing, whatever methods there are."""
        ...

    def retrieve(
        self, query: str, refs: References, context: RetrievalContext, /
    ) -> Sequence[Any] | Mapping[str, Any] | Awaitable[Any]:
        """Records from what ``refs`` name, best first, as in a provider's answer (clause 5.1); raises when it fails.

        A record has ``id`` and ``content``; ``source_id``, which is the ``id`` of the reference that it is from, and
        may be left out where there is one only; and where known ``title``, ``source_name``, ``source_uri`` and flat
        ``metadata``.
        """
        ...


class Question(NamedTuple):
    """What a method of a source is asked: its arguments, once the context of the call is there."""

    arguments: Callable[[RetrievalContext], tuple[object, ...]]


@dataclass(frozen=True, slots=True)
class RegisteredSource:
    """A source as it was when it was registered; calls of each method are bounded for themselves."""

    name: str
    capabilities: Mapping[str, bool]
    calls: Mapping[str, ProviderCalls]

    @property
    def can_list(self) -> bool:
        """Whether its documents can be browsed (clause 10.7)."""
        return "list_documents" in self.calls and self.capabilities.get("list_documents", True)

    @property
    def abandoned(self) -> int:
        """How many calls were given up and still run."""
        return sum(calls.abandoned for calls in self.calls.values())

    async def retrieve(self, query: str, refs: References, context: RetrievalContext, seconds: float) -> Ending:
        """Ask for records; raises ``CancelledError`` alone, when the caller's task or signal is cancelled."""
        return await self._ask("retrieve", Question(lambda own: (query, _copies(refs), own)), context, seconds)

    async def validate_refs(self, refs: References, level: str, context: RetrievalContext, seconds: float) -> Ending:
        """Ask which references stand; without the method, all of them. Raises as ``retrieve``."""
        if "validate_refs" not in self.calls:
            return Ending(refs)
        return await self._ask("validate_refs", Question(lambda _: (_copies(refs), level)), context, seconds)

    async def list_documents(
        self, refs: References, context: RetrievalContext, limit: int, offset: int, seconds: float
    ) -> Ending:
        """Ask for documents; only where ``can_list``. Raises as ``retrieve``."""
        asked = Question(lambda own: (_copies(refs), own, limit, offset))
        return await self._ask("list_documents", asked, context, seconds)

    async def _ask(self, method: str, question: Any, context: RetrievalContext, seconds: float) -> Ending:
        # Calls hand on what they are given, a request or a question of ours.
        return await self.calls[method].retrieve(question, context, seconds)


def _copies(refs: References) -> References:
    # Clause 3.4: what is bound says what a source may answer from, whatever that makes of what it was given.
    return tuple(ref.model_copy() for ref in refs)


class SourceRegistry:
    """The sources of a deployment by their names; core knows no other way to them (clause 10.3).

    Register at startup; registering and looking up are safe in any thread. A name that is not registered is no error:
    what is bound to it is ``ignored``.
    """

    def __init__(self, *sources: object) -> None:
        self._sources: dict[str, RegisteredSource] = {}
        for source in sources:
            self.register(source)

    @property
    def names(self) -> tuple[str, ...]:
        """The names that are registered, in the order of their coming."""
        return tuple(self._sources)

    def register(self, source: object) -> None:
        """Add a source; its name, capabilities and methods are read once, here.

        Raises ``KnowledgeProviderInvalidError`` when it is none by clause 10.1, or its name is taken.
        """
        read = registered(source)
        # `setdefault` is one step, also between threads.
        if self._sources.setdefault(read.name, read) is not read:
            raise _refusal(f"a name of its own, and {read.name} is registered already", "choose another name")

    def get(self, name: str) -> RegisteredSource | None:
        """The source of that name, or None."""
        return self._sources.get(name)


def read_registry(value: object) -> SourceRegistry:
    """The registry, as it came; raises ``TypeError`` for anything else, such as a list of sources."""
    if not is_a(value, SourceRegistry):
        raise TypeError(
            f"registry must be a SourceRegistry, since a source is found by its name in one; got {class_name(value)}: "
            "pass SourceRegistry(...) with your sources"
        )
    return value


class _Door:
    """One method of a source in the shape that ``ProviderCalls`` calls: on the loop, or in a thread if it may block."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.retrieve = partial(_awaited if is_async(function) else _called, function)


async def _awaited(function: Callable[..., Any], question: Question, context: RetrievalContext) -> Any:
    return await function(*question.arguments(context))


def _called(function: Callable[..., Any], question: Question, context: RetrievalContext) -> Any:
    return function(*question.arguments(context))


def registered(source: object) -> RegisteredSource:
    """The source as it is now, read once; raises ``KnowledgeProviderInvalidError`` when it is none by clause 10.1."""
    # A class has the names of its objects, and no method of it could be called as theirs.
    if is_a(source, type):
        raise _refusal("an object, and a class came", "register what the class makes, as in WikiSource()")
    methods = {method: read_or_none(partial(getattr, source, method, None)) for method in _METHODS}
    for method, function in methods.items():
        if not callable(function) and (method == "retrieve" or function is not None):
            raise _refusal(f"a callable {method}, and {class_name(function)} came", "add the method")
    return RegisteredSource(
        _name(read_or_none(lambda: getattr(source, "name", None))),
        _capabilities(read_or_none(lambda: getattr(source, "capabilities", None))),
        MappingProxyType({method: ProviderCalls(_Door(held)) for method, held in methods.items() if callable(held)}),
    )


def _name(value: object) -> str:
    # As clause 1.4 has it: a name stands in ids, keys and logs.
    name = str.__str__(value) if is_a(value, str) else ""
    if not 0 < len(name) <= limits.KEY_MAX or not _LETTERS.issuperset(name) or name.startswith("-"):
        raise _refusal(
            f"a name of at most {limits.KEY_MAX} lowercase letters, digits and hyphens, and another "
            f"{class_name(value)} came",
            "choose one like 'team-wiki'",
        )
    return name


def _capabilities(value: Any) -> Mapping[str, bool]:
    # As in clause 1.6: known ones mean something, others are kept. A mapping may have no end.
    held = read_or_none(lambda: dict(islice(value.items(), _CAPABILITIES_READ_MAX))) if _is_mapping(value) else None
    if not is_a(held, dict) or not all(type(name) is str and type(said) is bool for name, said in held.items()):
        raise _refusal(
            f"capabilities that map names to booleans, and {class_name(value)} came", "an empty dict will do"
        )
    return MappingProxyType(held)


def _is_mapping(value: Any) -> bool:
    return is_a(value, dict) or read_or_none(lambda: isinstance(value, Mapping)) is True


def _refusal(wanted: str, remedy: str) -> KnowledgeProviderInvalidError:
    return KnowledgeProviderInvalidError(
        f"A retrieval source is refused: wanted {wanted} (clause 10.1). References could not reach it. Mend the "
        f"source: {remedy}."
    )
