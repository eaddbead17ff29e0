"""``SourceSubject``: a retrieval source as a check sees it, with every call counted, bounded and written down.

Knows one source and the references of the settings. It judges nothing but that a call ends.
"""

import asyncio
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, Final, Protocol

from knowledge_conformance import calls
from knowledge_conformance.check import Inapplicable, Inconclusive
from knowledge_conformance.exchange import Exchange
from knowledge_conformance.render import show
from knowledge_conformance.settings import Settings
from knowledge_conformance.subject import DEFAULT_OWNER, ProviderRaisedError, raised_hint
from knowledge_conformance.watched import Watched, refuse_hang
from knowledge_provider import CancelSignal, RetrievalContext, RetrievalRequest
from knowledge_provider.sources import ExternalKnowledgeRef

LEVEL: Final = "task"
"""What ``validate_refs`` is told: references are bound to a task."""
NAME_REFERENCES: Final = "references = [{ id = 'your-source' }] in the settings, or --source-reference ID"
_SHOWN_MAX: Final = 4
_NUMBERS: Final = count(1)

References = tuple[ExternalKnowledgeRef, ...]


@dataclass(frozen=True, slots=True)
class SourceExchange(Exchange):
    """A call of a source's ``retrieve``: its query stands in the request, and beside it what was asked for."""

    refs: References = ()

    def __str__(self) -> str:
        """The call on one line, as an author would write it."""
        return f"{show_asked(self.request.query, self.refs)} -> {self.came}"

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the explicit references that were asked for, each once."""
        return tuple(dict.fromkeys(ref.id for ref in self.refs if ref.mode == "explicit" and ref.id is not None))


class SourceSurveyor(Protocol):
    """Gives the shared survey of ordinary answers, made once for as long as its process lives."""

    async def __call__(self, subject: "SourceSubject") -> Sequence[SourceExchange]:
        """The survey's exchanges; the first time it is made with this subject's calls."""
        ...


class SourceSubject(Watched):
    """One retrieval source under one check."""

    def __init__(
        self,
        source: Any,
        settings: Settings,
        *,
        allowed: int,
        announce: Callable[[str, float], None],
        surveyor: SourceSurveyor,
    ) -> None:
        super().__init__(settings, announce=announce, allowed=allowed)
        self.source = source
        self._surveyor = surveyor
        self._name: Any = None

    # What a check says.

    def look_at(self, exchange: SourceExchange) -> None:
        """Make an exchange the call that a finding shows, unless the finding says another place."""
        shown = str(exchange)
        self.show(shown)
        if shown not in self.transcript:
            self.transcript.append(shown)

    async def survey(self) -> Sequence[SourceExchange]:
        """Answers to ordinary questions, shared by all checks of one process."""
        return await self._surveyor(self)

    async def found(self) -> list[SourceExchange]:
        """Those answers of the survey that have records; raises ``Inconclusive`` when none has one."""
        found = [exchange for exchange in await self.survey() if exchange.count]
        if not found:
            raise Inconclusive("no query returned a record", hint="pass --provider-query 'text'")
        return found

    # What a source is asked.

    def member(self, name: str) -> Any:
        """An attribute of the source, or None, which counts as absent; raises what a property raises."""
        try:
            return getattr(self.source, name, None)
        except BaseException as error:
            raise ProviderRaisedError(error, f"source.{name}", "reading an attribute must not fail") from error

    def optional(self, name: str) -> Any:
        """A method that a source may have; raises ``Inapplicable`` where it has none."""
        method = self.member(name)
        if method is None:
            raise Inapplicable(f"the source has no {name}")
        return method

    @property
    def can_list(self) -> bool:
        """Whether documents can be browsed (clause 10.7)."""
        claims = self.member("capabilities")
        return self.member("list_documents") is not None and claims.get("list_documents", True) is not False

    def listing(self) -> None:
        """Raise ``Inapplicable`` where browsing is disabled."""
        if not self.can_list:
            raise Inapplicable("the source has no list_documents, or its capabilities disable it")

    def references(self) -> References:
        """The references of the settings, of this source; raises ``Inconclusive`` where there is none."""
        if not self.settings.references:
            raise Inconclusive("the settings name no reference to ask the source for", hint=NAME_REFERENCES)
        return tuple(self.reference(**fields) for fields in self.settings.references)

    def reference(self, **fields: Any) -> ExternalKnowledgeRef:
        """A reference of this source, by the name that it had first, as a registry reads it once."""
        self._name = self._name or self.member("name")
        return ExternalKnowledgeRef(**{**fields, "provider": self._name})

    @property
    def owner(self) -> str:
        """As whom the kit asks: the first owner of the settings, where they name one."""
        return next(iter(self.settings.owners), DEFAULT_OWNER)

    def context(self, **changes: Any) -> RetrievalContext:
        """A fresh trusted context with its own signal; ``changes`` replace its fields, also by what no model allows."""
        number = next(_NUMBERS)
        fields = {
            "owner_id": self.owner,
            # Others in each call, as they are in each turn: what hangs on one changes.
            **{f"{name}_id": f"conformance-{name}-{number}" for name in ("session", "turn", "trace")},
            "signal": CancelSignal(deadline=asyncio.get_running_loop().time() + self.settings.timeout),
        }
        return RetrievalContext.model_construct(**{**fields, **changes})

    async def attempt(self, query: str, refs: References, context: RetrievalContext | None = None) -> SourceExchange:
        """One call of ``retrieve``, whether it answers or raises; ``Hang`` when it does neither in time."""
        context = context or self.context()
        # What was asked, whatever the source makes of the references that it gets.
        asked = tuple(ref.model_copy() for ref in refs)
        shown = show_asked(query, asked)
        ending = await self._called("retrieve", query, refs, context, shown=shown, signal=context.signal)
        request = RetrievalRequest(query=query)
        exchange = SourceExchange(
            request, context, ending.value, ending.error, ending.seconds, ending.awaited, refs=asked
        )
        self.answered(shown, str(exchange))
        return exchange

    async def retrieve(self, query: str, refs: References, context: RetrievalContext | None = None) -> SourceExchange:
        """One answered call. Raises ``ProviderRaisedError`` when it fails, ``Hang`` when it does not end."""
        exchange = await self.attempt(query, refs, context)
        if exchange.error is not None:
            hint = raised_hint("what the settings refer to", self.owner)
            raise ProviderRaisedError(exchange.error, show_asked(query, refs), hint) from exchange.error
        return exchange

    async def validate(self, refs: References) -> calls.Ending:
        """One call of ``validate_refs``, which is there."""
        return await self._called("validate_refs", refs, LEVEL, shown=f"validate_refs({show_refs(refs)}, {LEVEL!r})")

    async def list(
        self, refs: References, limit: int, offset: int, context: RetrievalContext | None = None
    ) -> calls.Ending:
        """One call of ``list_documents``, which is there."""
        context = context or self.context()
        shown = f"list_documents({show_refs(refs)}, context, {limit}, {offset})"
        return await self._called("list_documents", refs, context, limit, offset, shown=shown, signal=context.signal)

    async def start(self, query: str, refs: References, context: RetrievalContext) -> "asyncio.Task[Any] | None":
        """A call of ``retrieve`` as a task that a check can cancel, or None when it answered without one."""
        return await self._started("retrieve", query, refs, context, shown=show_asked(query, refs))

    async def start_list(
        self, refs: References, limit: int, offset: int, context: RetrievalContext
    ) -> "asyncio.Task[Any] | None":
        """The same of ``list_documents``, which is there."""
        shown = f"list_documents({show_refs(refs)}, context, limit={limit}, offset={offset})"
        return await self._started("list_documents", refs, context, limit, offset, shown=shown)

    async def _started(self, name: str, *arguments: object, shown: str) -> "asyncio.Task[Any] | None":
        self.count(shown, self.settings.timeout)
        begun = await calls.begin(self.member(name), *arguments)
        return asyncio.ensure_future(calls.finish(begun)) if inspect.isawaitable(begun) else None

    async def _called(
        self, name: str, *arguments: object, shown: str, signal: CancelSignal | None = None
    ) -> calls.Ending:
        seconds = self.settings.timeout
        self.count(shown, seconds)
        stop = None if signal is None else (lambda: signal.cancel("timeout"))
        ending = await calls.call(self.member(name), *arguments, seconds=seconds, on_timeout=stop)
        hint = "bound every wait of the source below the host's deadline (context.signal.remaining())"
        refuse_hang(ending, shown, seconds, hint=hint, wanted="an answer")
        return ending


def show_asked(query: str, refs: References) -> str:
    """A call of ``retrieve`` on one line, as an author would write it."""
    return f"retrieve({show(query)}, {show_refs(refs)}, context)"


def show_refs(refs: References) -> str:
    """References on one line, by what they name."""
    shown = [show_ref(ref) for ref in refs[:_SHOWN_MAX]]
    return f"[{', '.join([*shown, '…'] if len(refs) > len(shown) else shown)}]"


def show_ref(ref: ExternalKnowledgeRef) -> str:
    """What a reference names."""
    place = ref.document_id or ref.node_id
    return show(ref.id or ref.mode, limit=60) + (f"/{show(place, limit=60)}" if place else "")
