"""``KnowledgeHost``: the reference host (clause 8); knows the order of things, and leaves each to its own module.

This file awaits. How a provider is called is in ``provider_calls``, how a request is read in ``asking``, and what an
answer becomes in ``normalize``.
"""

import logging
from collections.abc import Iterable
from types import TracebackType
from typing import Any, Final, Self

from knowledge_provider import asking, failing, limits, telemetry
from knowledge_provider._closing import unclosed
from knowledge_provider._contexts import read_context
from knowledge_provider._once import Once
from knowledge_provider.cancel import read_seconds
from knowledge_provider.citations import CitationLedger
from knowledge_provider.composition import compose
from knowledge_provider.errors import KnowledgeUnconfiguredError
from knowledge_provider.health import read_health
from knowledge_provider.models import ProviderDescription, RetrievalContext, RetrievalRequest
from knowledge_provider.normalize import normalize_response
from knowledge_provider.outcome import Outcome
from knowledge_provider.provider_calls import GRACE, ProviderCalls
from knowledge_provider.text import short_text
from knowledge_provider.turns import Turns
from knowledge_provider.uris import read_hosts

_LOG: Final = logging.getLogger(__name__)


class KnowledgeHost:
    """Puts a provider behind a boundary that an agent can rely on, whatever the provider answers, raises or awaits.

    Nothing in a process can end what holds its event loop or its interpreter: a coroutine that blocks instead of
    awaiting, or a loop inside C. A deadline fires when the loop is free again, and what has been answered by then is
    an answer. The kit finds such a provider (KP-704).

    It works on any asyncio loop, on several one after another, and is closed with ``async with`` or ``close()``.
    Without a provider (None) it is a host that has no knowledge: it offers no tool, and a search raises.

    Args:
        provider: Any object that keeps clauses 1.1 to 1.6, or None.
        timeout: Seconds for one search. A caller's own deadline, in its context's signal, shortens them.
        knowledge_bases: The ids that may be asked for. They restrict only what is asked for: a search that asks for
            none goes to the provider without restriction, and may find what is in others. So a provider that holds
            more than these is not confined by them. None discloses nothing, and hands ids on as they are.
        allow_hosts: Host names or addresses that the URI policy lets pass although they are not public; a lone string
            is one of them.
        max_content_chars: Code points of content in each result.
        turns: How many turns keep their citations; those that were used last stay, with 4,096 links each.

    Raises:
        KnowledgeProviderInvalidError: The provider breaks a MUST of clauses 1.1 to 1.6; the message names the fault.
        TypeError: An argument has another type than is wanted.
        ValueError: A number is not above 0, or an id of a knowledge base is blank or too long.
    """

    def __init__(
        self,
        provider: object,
        *,
        timeout: float = limits.CALL_SECONDS_DEFAULT,
        knowledge_bases: Iterable[str] | None = None,
        allow_hosts: Iterable[str] = (),
        max_content_chars: int = limits.CONTENT_MAX,
        turns: int = 1024,
    ) -> None:
        self._timeout = read_seconds(timeout)
        self._bases = asking.read_disclosed(knowledge_bases)
        self._allow_hosts = read_hosts(allow_hosts)
        self._max_content_chars = max_content_chars
        self._turns = Turns(turns)
        self._closing = Once(self._close)
        # Clause 8.1: refused here, never at the first turn.
        self._description = None if provider is None else compose(provider)
        self._calls = ProviderCalls(provider)
        # So that a mistake in the settings is told here, too, and not at the first turn.
        self._outcome([], "", limits.TOP_K_DEFAULT, CitationLedger())
        telemetry.load()

    @property
    def configured(self) -> bool:
        """Whether there is a provider that has not been closed (clause 8.2)."""
        return self._open is not None

    @property
    def abandoned(self) -> int:
        """How many calls of the provider were given up and still run (clause 8.6)."""
        return self._calls.abandoned

    def describe(self) -> dict[str, Any]:
        """What an agent may be told about this host, as plain data; new at each call.

        ``configured``, and of a provider its ``key``, its ``label`` (one line of at most 120 code points), its
        ``protocol_version``, its ``capabilities``, and the ``knowledge_bases`` where they are disclosed.
        """
        description = self._open
        if description is None:
            return {"configured": False}
        bases = {} if self._bases is None else {"knowledge_bases": list(self._bases)}
        return {
            "configured": True,
            "key": description.key,
            "label": short_text(description.label, limits.LABEL_MAX),
            "protocol_version": description.protocol_version,
            "capabilities": _capabilities(description),
            **bases,
        }

    def capabilities(self) -> list[str]:
        """What an agent may rely on: ``knowledge`` and what the provider claims, or nothing without one (8.2)."""
        description = self._open
        if description is None:
            return []
        claimed = {name for name, claims in _capabilities(description).items() if claims}
        return ["knowledge", *sorted(claimed - {"knowledge"})]

    async def health(self) -> dict[str, str]:
        """``status``: one of ``ready``, ``unconfigured``, ``degraded`` and ``unavailable``; and perhaps a ``message``.

        Ends within 5 seconds; a provider that raises, hangs or answers nonsense is ``unavailable`` (clause 2.1).
        """
        if not self.configured:
            return {"status": "unconfigured"}
        return read_health(await self._calls.health(limits.HEALTH_SECONDS))

    async def search(
        self,
        query: object,
        *,
        context: RetrievalContext,
        top_k: object = limits.TOP_K_DEFAULT,
        knowledge_base_ids: object = (),
        filters: object = None,
    ) -> Outcome:
        """Ask the provider, and make an outcome of its answer (clauses 8.3 to 8.11).

        Args:
            query: What to look for; text of any length, normalised to at most 500 code points.
            context: Who asks, in which session and turn. Cancelling its signal cancels the search.
            top_k: How many results at most. Anything is read as a number from 1 to 8, and as 5 where it is none.
            knowledge_base_ids: A list of ids to search in; None or empty for no restriction, also by the bases that
                are disclosed.
            filters: A JSON object, or None. It reaches the provider whether or not that claims ``filters``; one that
                does not must refuse (clause 3.5), and one that ignores them answers more than was asked for.

        Raises:
            KnowledgeUnconfiguredError: There is no provider, or the host is closed.
            KnowledgeOwnerRequiredError: The context names no owner.
            KnowledgeQueryRequiredError: Nothing in the query is visible.
            KnowledgeFiltersUnsupportedError: The provider cannot honour the filters.
            KnowledgeBaseUnknownError: The provider does not hold the bases that were asked for.
            KnowledgeTimeoutError: The deadline passed first. The call is cancelled, and its late answer dropped.
            KnowledgeFailedError: The provider failed, or too many of its calls hang; the ``__cause__`` says which.
            TypeError: ``context`` is no ``RetrievalContext`` or one with fields of other types, or ``filters`` no dict.
            ValueError: ``filters`` cannot be written as JSON.
            asyncio.CancelledError: This task or the context's signal was cancelled.
        """
        description = self._require_provider()
        asker = read_context(context)
        wanted = asking.read_query(query)
        # Clause 8.7.
        asker.signal.raise_if_cancelled()
        count, bases = asking.read_top_k(top_k), asking.read_bases(knowledge_base_ids, self._bases)
        request = asking.request_of(wanted, count, bases, filters)
        # Before there is an answer: what outlives a huge one must not be put between its parts, or its memory stays.
        ledger = self._ledger(asker)
        # Clause 8.4: none of the bases is one to search, so nothing may answer for them.
        if bases.none_left:
            return self._outcome([], wanted, count, ledger)
        with telemetry.observed(description.key, count) as found:
            answer = await self._answer(request, asker, description.key)
            # Again: meanwhile the turn may have been forgotten, and begun anew by a faster search.
            outcome = self._outcome(answer, wanted, count, self._ledger(asker))
            found(len(outcome.results))
        return outcome

    def tool_definition(self) -> dict[str, Any] | None:
        """The model's tool, with its ``parameters`` as a JSON Schema; None without a provider (clauses 8.2, 8.13)."""
        return asking.tool_definition(self._bases) if self.configured else None

    async def call_tool(self, arguments: object, context: RetrievalContext) -> Outcome:
        """Search with a model's arguments, of which ``query``, ``top_k`` and ``knowledge_base_ids`` are read.

        Everything else is ignored, so that no model chooses an owner or a filter (clause 8.13). Raises as ``search``.
        """
        asked = asking.read_arguments(arguments)
        return await self.search(
            asked.get("query"),
            context=context,
            top_k=asked.get("top_k"),
            knowledge_base_ids=asked.get("knowledge_base_ids"),
        )

    async def close(self) -> None:
        """Close the provider, once, and wait for it at most ``timeout`` seconds; searches are refused from now on.

        Whoever calls it meanwhile, on whatever loop, waits for the same close. One that was cut off, because its loop
        ended before it, is begun again. A provider that does not end in time, or raises, is named in the log: it must
        not hide for what the host is closed.
        """
        # Clause 8.12.
        await self._closing.done(self._timeout + GRACE)

    async def _close(self) -> None:
        if self._description is None:
            return
        if how := unclosed(await self._calls.close(self._timeout)):
            _LOG.warning("close() of the knowledge provider %s %s", self._description.key, how)

    async def __aenter__(self) -> Self:
        """The host itself."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        """Close it."""
        await self.close()

    async def _answer(self, request: RetrievalRequest, context: RetrievalContext, provider_key: str) -> object:
        ending = await self._calls.retrieve(request, context, self._timeout)
        # Clause 8.6: told apart from a time-out of the provider's own, which is an error (7.6).
        if ending.timed_out:
            raise failing.timed_out(provider_key, self._timeout)
        # Clause 8.11.
        if ending.error is not None:
            raise failing.failure(ending.error, provider_key)
        return ending.value

    def _ledger(self, context: RetrievalContext) -> CitationLedger:
        return self._turns.ledger(context.owner_id, context.session_id, context.turn_id)

    def _outcome(self, answer: object, query: str, top_k: int, ledger: CitationLedger) -> Outcome:
        # Clauses 8.8 to 8.10.
        return normalize_response(
            answer,
            query=query,
            limit=top_k,
            max_content_chars=self._max_content_chars,
            allow_hosts=self._allow_hosts,
            citations=ledger,
        )

    @property
    def _open(self) -> ProviderDescription | None:
        return None if self._closing.begun else self._description

    def _require_provider(self) -> ProviderDescription:
        # Clause 8.2.
        description = self._open
        if description is None:
            raise KnowledgeUnconfiguredError(
                "Wanted a provider to search, and this host has none, or is closed: it cannot tell whether there is an "
                "answer. Make a host with a provider, or do not offer the search."
            )
        return description


def _capabilities(description: ProviderDescription) -> dict[str, bool]:
    # Names are the provider's words: on one line, and bounded, like every text that an agent may see.
    named = {short_text(name, limits.LABEL_MAX): claims for name, claims in description.capabilities.items()}
    return {name: claims for name, claims in list(named.items())[: limits.CAPABILITIES_MAX] if name}
