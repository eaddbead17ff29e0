"""``ScopedProvider``: a provider of which each caller sees what their labels allow (clause 11); knows the asking.

This file awaits. What a label allows is in ``_labels``, and what becomes of an answer in ``_filtering``. Public through
``access``.
"""

import inspect
import logging
from collections import Counter
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from typing import Any, Final

from knowledge_provider import failing, limits
from knowledge_provider._closing import unclosed
from knowledge_provider._filtering import Filtered, filtered
from knowledge_provider._labels import AccessScope, Denial
from knowledge_provider.cancel import CancelSignal, read_seconds
from knowledge_provider.composition import compose
from knowledge_provider.errors import (
    KnowledgeError,
    KnowledgeFailedError,
    KnowledgeTimeoutError,
    KnowledgeUnavailableError,
)
from knowledge_provider.health import read_health
from knowledge_provider.models import RetrievalContext, RetrievalRequest
from knowledge_provider.provider_calls import Ending, ProviderCalls
from knowledge_provider.text import class_name, is_a

_LOG: Final = logging.getLogger(__name__)
# A second question that uses up the caller's time leaves some to give on what the first one found.
_SHARE: Final = 0.9

ScopeOf = Callable[[RetrievalContext], AccessScope]
"""Whose labels count, read from the context of one call. Called on the event loop, so it must not block."""


def owner_as_user(context: RetrievalContext) -> AccessScope:
    """The context's owner as a user without tenant or roles, in the mode ``deny_if_unlabeled``."""
    return AccessScope(user_id=context.owner_id)


class ScopedProvider:
    """A provider that answers from another one, and shows of it what the caller's scope allows, by labels.

    Labels are read from the metadata of each item as the inner provider gave it, before any of it is bounded (11.3).
    Where too few are left and there may be more, it asks once more, for 8, the most that a request can ask for. What
    was withheld is in the log, by reason and label, and nowhere in the answer: no count, and no source but failed ones.

    It describes itself as the inner one does, and keeps the contract where that does.

    Args:
        provider: Any object that keeps clauses 1.1 to 1.6.
        scope: One scope for all calls, or what gives a call's scope from its context. By default, the context's owner
            is the user.
        timeout: Seconds to wait for ``close()`` of the inner provider, and for more than a first answer shows where the
            caller has no deadline. Otherwise a search has the time of its caller.

    Raises:
        KnowledgeProviderInvalidError: The inner provider breaks a MUST of clauses 1.1 to 1.6.
        TypeError: ``scope`` is neither, or async, or ``timeout`` no finite number.
        ValueError: ``timeout`` is not above 0.
    """

    def __init__(
        self,
        provider: Any,
        scope: AccessScope | ScopeOf = owner_as_user,
        *,
        timeout: float = limits.CALL_SECONDS_DEFAULT,
    ) -> None:
        if not isinstance(scope, AccessScope) and (not callable(scope) or _is_async(scope)):
            raise TypeError(
                "scope must be an AccessScope or a function that gives one without awaiting; got "
                f"{'an async one' if callable(scope) else class_name(scope)}: without it, nobody knows what may be "
                "shown. Pass one, or leave it out"
            )
        self._description = compose(provider)
        self._calls = ProviderCalls(provider)
        self._scope = scope
        self._timeout = read_seconds(timeout)
        self._closed = False

    @property
    def abandoned(self) -> int:
        """How many calls of the inner provider were given up and still run."""
        return self._calls.abandoned

    def describe(self) -> dict[str, Any]:
        """The inner provider's description, fresh each time."""
        return self._description.model_dump(by_alias=True)

    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> dict[str, Any]:
        """Ask the inner provider, and answer with at most ``request.top_k`` items that the scope allows.

        Raises:
            KnowledgeInvalidResponseError: The inner provider answered what cannot be filtered.
            KnowledgeSourcesIncompleteError: Nothing may be shown, and a source behind the inner provider failed.
            KnowledgeTimeoutError: The caller's deadline passed first.
            KnowledgeUnavailableError: This provider is closed.
            KnowledgeFailedError: No scope could be had for this context.
            asyncio.CancelledError: The caller's task or signal was cancelled; then the inner call was, too.

        And whatever the inner provider raises.
        """
        # Clause 7.3.
        context.signal.raise_if_cancelled()
        self._require_open()
        scope = self._scope_of(context)
        first = filtered(await self._answer(request, context), scope, request.top_k)
        found = await self._more(first, request, context, scope) if _may_lack(first, request) else first
        self._log(found.withheld)
        return found.response(self._description.key)

    async def health(self, signal: CancelSignal) -> dict[str, str]:
        """The inner provider's health, or ``unavailable`` once closed (clause 2.1)."""
        signal.raise_if_cancelled()
        if self._closed:
            return {"status": "unavailable", "message": "closed"}
        # Clause 2.1: within 5 s, so the inner one has a little less.
        seconds = _share(signal, _SHARE * limits.HEALTH_SECONDS) or 0.0
        return read_health(await self._calls.health(seconds))

    async def close(self) -> None:
        """Close the inner provider; a search after it is refused (clause 2.2). One that does not end is in the log."""
        self._closed = True
        if how := unclosed(await self._calls.close(self._timeout)):
            _LOG.warning("close() of the knowledge provider %s %s", self._description.key, how)

    async def _answer(
        self, request: RetrievalRequest, context: RetrievalContext, seconds: float | None = None
    ) -> object:
        ending = await self._calls.retrieve(request, context, seconds)
        # Clause 9.6: the signal may have been cancelled and not the task.
        context.signal.raise_if_cancelled()
        error = _error(ending, self._description.key)
        if error is not None:
            raise error
        return ending.value

    async def _more(
        self, first: Filtered, request: RetrievalRequest, context: RetrievalContext, scope: AccessScope
    ) -> Filtered:
        wider = request.model_copy(update={"top_k": limits.TOP_K_MAX, "filters": deepcopy(request.filters)})
        try:
            seconds = self._seconds_for_more(context.signal) if first.kept else None
            second = filtered(await self._answer(wider, context, seconds), scope, limits.TOP_K_MAX)
        except Exception:
            # Clause 5.10: with nothing to show, not knowing whether there is more is not an empty answer.
            if not first.kept:
                raise
            return first
        if len(second.kept) > len(first.kept):
            return replace(second, kept=second.kept[: request.top_k])
        # Clause 5.10: what failed either time may have more, so with nothing to show this is not an empty answer.
        failed = {report["key"]: report for report in (*first.failed, *second.failed)}
        return replace(first, failed=tuple(failed.values()))

    def _seconds_for_more(self, signal: CancelSignal) -> float:
        # Also without a deadline: one that hangs must not take with it what the first question found.
        share = _share(signal, None)
        return self._timeout if share is None else share

    def _scope_of(self, context: RetrievalContext) -> AccessScope:
        try:
            scope = self._scope if isinstance(self._scope, AccessScope) else self._scope(context)
        except KnowledgeError:
            raise
        except Exception as error:
            raise _no_scope(f"raised {failing.error_kind(error)}", self._description.key) from error
        if not is_a(scope, AccessScope):
            raise _no_scope(f"gave {class_name(scope)}", self._description.key)
        return scope

    def _require_open(self) -> None:
        # Clause 2.2.
        if self._closed:
            raise KnowledgeUnavailableError(
                "Wanted an open provider, and this one was closed: it cannot tell whether there is an answer. Make "
                "another.",
                provider_key=self._description.key,
                retryable=False,
            )

    def _log(self, withheld: Counter[Denial]) -> None:
        # Clause 10.8: who, why and how many; never what.
        for (reason, label), count in withheld.items():
            level = logging.WARNING if reason == "label_invalid" else logging.INFO
            _LOG.log(level, "%s: withheld %d results: %s (%s)", self._description.key, count, reason, label)


def _is_async(scope: object) -> bool:
    return inspect.iscoroutinefunction(scope) or inspect.iscoroutinefunction(getattr(scope, "__call__", None))  # noqa: B004 - whether it is async, not whether it can be called


def _may_lack(found: Filtered, request: RetrievalRequest) -> bool:
    # An answer with fewer items than were asked for holds all that there is.
    return len(found.kept) < request.top_k <= found.came and request.top_k < limits.TOP_K_MAX


def _share(signal: CancelSignal, seconds: float | None) -> float | None:
    remaining = signal.remaining()
    known = [each for each in (seconds, None if remaining is None else _SHARE * remaining) if each is not None]
    return min(known, default=None)


def _error(ending: Ending, provider_key: str) -> BaseException | None:
    if ending.timed_out:
        return KnowledgeTimeoutError(
            "Wanted an answer before the caller's deadline, and none came: whether there is one is not known. Try "
            "again, or allow more time.",
            provider_key=provider_key,
        )
    # The provider's own error, since a host reads its code. What would end the caller's task or loop is wrapped.
    if ending.error is None or is_a(ending.error, Exception):
        return ending.error
    return failing.failure(ending.error, provider_key)


def _no_scope(came: str, provider_key: str) -> KnowledgeFailedError:
    return KnowledgeFailedError(
        f"Wanted an AccessScope for this context, and the function that gives one {came}: who reads is not known, so "
        "nothing is shown. Mend the function.",
        provider_key=provider_key,
    )
