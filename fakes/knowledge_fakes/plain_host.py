"""``PlainHost``: clause 8 in one small class, a method for each duty; knows the contract, not the reference host.

It shares nothing with ``KnowledgeHost`` but the pure functions, so that checks of hosts do not take the habits of one
host for the contract. It is for tests: no telemetry and no settings. ``factory`` is a target.
"""

import asyncio
import inspect
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any, Final

from knowledge_fakes import _plain_reading as read
from knowledge_fakes._plain_calls import Ending, ending
from knowledge_provider import (
    CancelSignal,
    CitationLedger,
    ProviderDescription,
    RetrievalContext,
    RetrievalRequest,
    errors,
    limits,
    normalize_response,
)
from knowledge_provider.text import is_blank, short_text

_GRACE_SECONDS: Final = 0.25
_TURNS: Final = 256


class PlainHost:
    """A conformant host that has each duty of clause 8 in a method of its own, to be overridden one at a time."""

    def __init__(
        self,
        provider: Any,
        *,
        timeout: float = 10.0,
        knowledge_bases: Iterable[str] | None = None,
        turns: int = _TURNS,
    ) -> None:
        self.provider = provider
        self.timeout = timeout
        self.turns = turns
        self.bases: Any = None if knowledge_bases is None else read.base_ids(list(knowledge_bases))
        self.left: set[object] = set()
        self.ledgers: OrderedDict[tuple[str, ...], CitationLedger] = OrderedDict()
        self.closing: asyncio.Future[Any] | None = None
        self.described: ProviderDescription | None = None if provider is None else self.compose(provider)
        self.key: str = self.described.key if self.described else ""

    def compose(self, provider: Any) -> ProviderDescription:
        """Clause 8.1: the description, or an error that names the fault."""
        return read.composed(provider)

    @property
    def configured(self) -> bool:
        """Clause 8.2."""
        return self.described is not None

    def describe(self) -> dict[str, Any]:
        """Clause 8.2: what the host may tell of itself."""
        about = self.described.model_dump() if self.described else {}
        # Foreign text, whatever it is of.
        about |= {"label": short_text(about["label"], limits.LABEL_MAX)} if about else {}
        disclosed = {"knowledge_bases": list(self.bases)} if self.described and self.bases is not None else {}
        return {"configured": self.configured, **about, **disclosed}

    def capabilities(self) -> list[str]:
        """Clause 8.2: what an agent may rely on."""
        if self.described is None:
            return []
        return ["knowledge", *sorted(name for name, claimed in self.described.capabilities.items() if claimed)]

    def require_provider(self) -> None:
        """Clauses 8.2 and 8.12: there is none, or it is closed."""
        if self.described is None or self.closing:
            raise errors.KnowledgeUnconfiguredError("There is no knowledge provider to search; configure one.")

    def require_owner(self, context: RetrievalContext) -> None:
        """Clause 8.3."""
        if is_blank(context.owner_id):
            raise errors.KnowledgeOwnerRequiredError("The context names no owner, whose knowledge is searched.")

    def read_query(self, query: Any) -> str:
        """Clause 8.3."""
        if not (asked := short_text(query, limits.QUERY_MAX)):
            raise errors.KnowledgeQueryRequiredError("The query has nothing visible in it; say what to look for.")
        return asked

    def read_top_k(self, top_k: Any) -> int:
        """Clause 8.3."""
        return read.number_of_results(top_k)

    def read_base_ids(self, knowledge_base_ids: Any) -> tuple[str, ...]:
        """Clause 8.3."""
        return read.base_ids(knowledge_base_ids)

    def allowed_bases(self, ids: tuple[str, ...]) -> tuple[str, ...]:
        """Clause 8.4."""
        return ids if self.bases is None else tuple(id_ for id_ in ids if id_ in self.bases)

    def require_time(self, context: RetrievalContext) -> None:
        """Clause 8.7: cancelled before the call."""
        context.signal.raise_if_cancelled()

    async def search(
        self,
        query: Any,
        *,
        context: RetrievalContext,
        top_k: Any = limits.TOP_K_DEFAULT,
        knowledge_base_ids: Any = (),
        filters: Any = None,
    ) -> Any:
        """One search, each duty in its place."""
        self.require_provider()
        self.require_owner(context)
        asked, limit = self.read_query(query), self.read_top_k(top_k)
        self.require_time(context)
        allowed = self.allowed_bases(self.read_base_ids(knowledge_base_ids))
        if not allowed and read.asks_for_bases(knowledge_base_ids):
            return self.outcome([], asked, limit, context)
        request = self.request(asked, limit, allowed, filters)
        return self.outcome(await self.answer(request, context), asked, limit, context)

    def request(self, query: str, limit: int, bases: tuple[str, ...], filters: Any) -> Any:
        """Clause 8.5: nothing but the four fields."""
        return RetrievalRequest(query=query, top_k=limit, knowledge_base_ids=bases, filters=filters or {})

    async def answer(self, request: Any, context: RetrievalContext) -> Any:
        """Clause 8.11: what the provider answers; raises what has become of it otherwise."""
        signal = CancelSignal(deadline=min(time.monotonic() + self.timeout, context.signal.deadline or float("inf")))
        own = context.model_copy(update={"signal": signal})
        found = await self.wait(self.call(self.provider.retrieve, request, own), signal, context.signal)
        if found is None:
            raise self.late()
        if found.error is not None:
            raise self.failure(found.error) from found.error
        return found.value

    async def call(self, method: Callable[..., Any], *arguments: object) -> Ending:
        """Clause 8.6: where a method runs; a synchronous one must not hold the loop."""
        return await ending(method, *arguments, left=self.left)

    async def wait(self, call: Any, signal: CancelSignal, stop: CancelSignal) -> Ending | None:
        """Clauses 8.6 and 8.7: until the signal's deadline, or until the caller says stop; None when it is late."""
        running, stopped = asyncio.ensure_future(call), asyncio.ensure_future(stop.wait())
        try:
            await asyncio.wait({running, stopped}, timeout=signal.remaining(), return_when=asyncio.FIRST_COMPLETED)
            stop.raise_if_cancelled()
        except asyncio.CancelledError:
            self.abandon(running, signal, "cancelled")
            await asyncio.wait({running}, timeout=_GRACE_SECONDS)
            raise
        finally:
            stopped.cancel()
        if not running.done():
            self.abandon(running, signal, "timeout")
            return None
        # A provider may cancel its own task.
        return Ending(error=asyncio.CancelledError()) if running.cancelled() else running.result()

    def abandon(self, running: "asyncio.Future[Ending]", signal: CancelSignal, reason: str) -> None:
        """Clauses 8.6 and 8.7: tell a call to stop, and count it until it does."""
        signal.cancel(reason)
        running.cancel()
        self.left.add(running)
        running.add_done_callback(self.left.discard)

    def late(self) -> BaseException:
        """Clause 8.6."""
        return errors.KnowledgeTimeoutError(f"No answer within {self.timeout} s; try again.", provider_key=self.key)

    def failure(self, error: BaseException) -> BaseException:
        """Clause 8.11."""
        return read.failure_of(error, self.key)

    def outcome(self, answer: Any, query: str, limit: int, context: RetrievalContext) -> Any:
        """Clauses 8.8 and 8.10."""
        return normalize_response(answer, query=query, limit=limit, citations=self.ledger(context))

    def ledger(self, context: RetrievalContext) -> CitationLedger:
        """Clause 8.9: that of the turn, of which the latest are kept; a turn without an id has its own each time."""
        if is_blank(context.turn_id):
            return CitationLedger()
        turn = (context.owner_id, context.session_id, context.turn_id)
        ledger = self.ledgers.setdefault(turn, CitationLedger())
        self.ledgers.move_to_end(turn)
        if len(self.ledgers) > self.turns:
            self.ledgers.popitem(last=False)
        return ledger

    async def health(self) -> dict[str, Any]:
        """Clause 2.1: a provider without it is ready, and one that cannot tell in time is unavailable."""
        if self.described is None:
            return {"status": "unconfigured"}
        if (method := read.method_of(self.provider, "health")) is None:
            return {"status": "ready"}
        return read.health_of(await self.ask(method, limits.HEALTH_SECONDS))

    async def ask(self, method: Callable[..., Any], seconds: float) -> Any:
        """What health or close gives within the time, and None where it gives nothing."""
        signal = CancelSignal(deadline=time.monotonic() + seconds)
        takes_it = errors.read_or_none(lambda: inspect.signature(method).parameters)
        found = await self.wait(self.call(method, *[signal] * bool(takes_it)), signal, CancelSignal())
        return found and found.value

    async def close(self) -> None:
        """Clause 8.12: once, and whoever comes meanwhile waits for the same."""
        if self.closing is None:
            self.closing = asyncio.ensure_future(self.close_provider())
        await asyncio.shield(self.closing)

    async def close_provider(self) -> None:
        """Clause 8.12: what it raises costs nobody anything any more."""
        if self.described and (method := read.method_of(self.provider, "close")) is not None:
            await self.ask(method, self.timeout)

    def tool_definition(self) -> dict[str, Any] | None:
        """Clauses 8.2 and 8.13."""
        return read.tool(self.bases) if self.described else None

    async def call_tool(self, arguments: Any, context: RetrievalContext) -> Any:
        """Clause 8.13: three arguments and no other."""
        query, top_k, ids = (read.argument(arguments, name) for name in ("query", "top_k", "knowledge_base_ids"))
        return await self.search(query, context=context, top_k=top_k, knowledge_base_ids=ids)


def factory(
    provider: Any,
    *,
    timeout: float = 10.0,
    knowledge_bases: Iterable[str] | None = None,
    turns: int = _TURNS,
) -> PlainHost:
    """A host over the provider, or over None; ``timeout`` in seconds for one call, citations of the last ``turns``."""
    return PlainHost(provider, timeout=timeout, knowledge_bases=knowledge_bases, turns=turns)
