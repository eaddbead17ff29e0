"""``AccessSubject``: what puts an access rule before a provider, as a check sees it, with every call bounded.

Knows one factory and how its providers are asked. It judges nothing but that they end and can be called.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

from knowledge_conformance import calls
from knowledge_conformance.check import Violation
from knowledge_conformance.exchange import Exchange, raised_at, results_of, show_request, text_of
from knowledge_conformance.plain import copied
from knowledge_conformance.render import show, show_error
from knowledge_conformance.settings import Settings
from knowledge_conformance.watched import Watched, refuse_hang
from knowledge_provider import CancelSignal, RetrievalContext, RetrievalRequest
from knowledge_provider.access import AccessScope

ANSWER_SECONDS: Final = 3.0
"""How long one search may take over providers that answer at once: a busy machine's time, and no rule's."""
CLOSE_SECONDS: Final = 2.0
_HANG_HINT: Final = "ask the provider a bounded number of times, and no longer than the caller's signal allows"

Identity = Callable[[RetrievalContext], Mapping[str, Any]]
"""Who asks in a run: any of ``tenant_id``, ``user_id`` and ``roles``, or nothing."""


def nobody(_context: RetrievalContext) -> dict[str, Any]:
    """A run that knows neither a tenant nor a user."""
    return {}


class Scoped:
    """One provider behind an access rule."""

    def __init__(self, subject: Watched, provider: Any) -> None:
        self._subject = subject
        self._provider = provider

    async def ask(self, request: RetrievalRequest, context: RetrievalContext | None = None) -> Exchange:
        """One search, whether it answers or raises; ``Hang`` when it does neither in time."""
        context = context or new_context()
        shown = show_request(request)
        self._subject.count(shown, ANSWER_SECONDS)
        ending = await calls.call(
            self._provider.retrieve,
            request.model_copy(deep=True),
            context,
            seconds=ANSWER_SECONDS,
            on_timeout=lambda: context.signal.cancel("timeout"),
        )
        refuse_hang(ending, shown, ANSWER_SECONDS, hint=_HANG_HINT, over_fakes=True)
        exchange = Exchange(request, context, ending.value, ending.error, ending.seconds)
        self._subject.answered(shown, str(exchange))
        return exchange

    async def answer(self, request: RetrievalRequest, context: RetrievalContext | None = None) -> Exchange:
        """One search that answers; raises ``Violation`` when it raises or answers what is no answer."""
        exchange = await self.ask(request, context)
        if exchange.error is not None or results_of(exchange.response) is None:
            raise Violation(
                wanted="an answer with the results that may be shown",
                saw=exchange.came,
                hint="leave out what may not be shown, and give on the rest as it came",
                where=show_request(request),
            )
        return exchange

    async def start(self, request: RetrievalRequest, context: RetrievalContext) -> "asyncio.Task[Any]":
        """A search as a task that a check can cancel; what it raises is a ``calls.Raised``."""
        self._subject.count(show_request(request), ANSWER_SECONDS)
        return asyncio.ensure_future(calls.shielded(self._provider.retrieve, request, context))

    async def close(self) -> None:
        """Close it, within a bound and whatever that raises: what closing means is not a check of access."""
        if callable(getattr(self._provider, "close", None)):
            await calls.call(self._provider.close, seconds=CLOSE_SECONDS)


class AccessSubject(Watched):
    """The factory of access rules under one check: ``factory(provider, scope, *, identity)``, synchronous or not."""

    def __init__(
        self, factory: Callable[..., Any], settings: Settings, *, announce: Callable[[str, float], None]
    ) -> None:
        super().__init__(settings, announce=announce)
        self._factory = factory

    @asynccontextmanager
    async def scoped(
        self, provider: object, scope: AccessScope | None, identity: Identity = nobody
    ) -> AsyncIterator[Scoped]:
        """The provider behind the rule, closed at the end; raises ``Violation`` when it cannot be made."""
        scoped = await self._compose(provider, scope, identity)
        try:
            yield scoped
        finally:
            await scoped.close()

    async def _compose(self, provider: object, scope: AccessScope | None, identity: Identity) -> Scoped:
        shown = f"factory(provider, {_shown_scope(scope)}, identity={identity.__name__.strip('<>_')})"
        self.count(shown, CLOSE_SECONDS)

        make = calls.on_loop(self._factory, provider, scope, identity=identity)
        ending = await calls.call(make, seconds=CLOSE_SECONDS)
        refuse_hang(ending, shown, CLOSE_SECONDS, hint=_HANG_HINT)
        made = ending.value
        if ending.error is not None or not callable(getattr(made, "retrieve", None)):
            saw = show(made) if ending.error is None else f"raised {show_error(ending.error)}{raised_at(ending.error)}"
            raise Violation(
                wanted="a provider that shows of another one what may be shown, in any of the five modes",
                saw=saw,
                hint="take a provider, an AccessScope or None for the rule's defaults, and identity as a keyword",
                where=shown,
            )
        return Scoped(self, made)


def new_context(owner: str = "conformance-owner", **fields: Any) -> RetrievalContext:
    """A context of this owner."""
    named = {"session_id": "s", "turn_id": "t", "trace_id": "x", "signal": CancelSignal(), **fields}
    return RetrievalContext(owner_id=owner, **named)


def shown_ids(exchange: Exchange) -> list[str]:
    """The id of each result that can be read, in order."""
    texts = (copied(text_of(entry, "id")) for _, entry in exchange.entries)
    return [text for text in texts if text is not None]


def _shown_scope(scope: AccessScope | None) -> str:
    if scope is None:
        return "None"
    named = {"tenant_id": scope.tenant_id, "user_id": scope.user_id, "roles": sorted(scope.roles) or None}
    given = [f"{name}={show(value)}" for name, value in named.items() if value is not None]
    return f"AccessScope({', '.join([repr(str(scope.mode)), *given])})"
