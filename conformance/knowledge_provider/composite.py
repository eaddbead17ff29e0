"""``CompositeProvider``: several providers behind one (clause 9); knows how they are asked, not what they answered.

This file awaits. What becomes of the children's answers is in ``merging``.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from pydantic import ValidationError

from knowledge_provider import limits, merging
from knowledge_provider._closing import unclosed
from knowledge_provider._origins import why
from knowledge_provider.cancel import CancelSignal, read_seconds
from knowledge_provider.composition import compose
from knowledge_provider.errors import (
    KnowledgeFiltersUnsupportedError,
    KnowledgeProviderInvalidError,
    KnowledgeUnavailableError,
)
from knowledge_provider.health import read_health
from knowledge_provider.models import ProviderDescription, RetrievalContext, RetrievalRequest
from knowledge_provider.normalize import normalize_response
from knowledge_provider.provider_calls import Ending, ProviderCalls
from knowledge_provider.text import class_name
from knowledge_provider.uris import read_hosts

_LOG: Final = logging.getLogger(__name__)
# A child that uses up the caller's time leaves some for the answers of the others.
_SHARE: Final = 0.9

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class _Child:
    key: str
    description: ProviderDescription
    calls: ProviderCalls

    def claims(self, capability: str) -> bool:
        return self.description.capabilities.get(capability, False)


class CompositeProvider:
    """Several providers as one that keeps the contract itself: what one of them does costs its own results alone.

    The children are asked at the same time. What was found stands under ``results``, with ids of the form
    ``child:id``, and how each child fared under ``sources``: its ``key``; its ``status``, which is ``hit``, ``no_hit``,
    ``ignored`` or ``failed``; its ``count`` of results; and a ``reason`` where it failed or was ignored.

    Args:
        children: Each provider by the key that it has here. A key follows the rule for a provider's key, with at most
            64 characters; the order is that of the results.
        timeout: Seconds for each child. A caller's deadline shortens them, to nine tenths of what is left of it.
        key: The composite's own key.
        label: The composite's own label.
        concatenate: One child's results after another's, instead of one from each in turn.
        allow_hosts: Host names or addresses that the URI policy lets pass although they are not public.
        max_content_chars: Code points of content in each result. A host cannot give back what is left out here: give
            this and ``allow_hosts`` to both.

    Raises:
        KnowledgeProviderInvalidError: There is no child, a child is no provider of protocol version 1, or a key or the
            label cannot be used.
        TypeError: ``children`` is no mapping, ``timeout`` no finite number, ``max_content_chars`` no int, or
            ``allow_hosts`` cannot be iterated.
        ValueError: ``timeout`` is not above 0, or ``max_content_chars`` below 1.
    """

    def __init__(
        self,
        children: Mapping[str, Any],
        *,
        timeout: float = 5.0,
        key: str = "composite",
        label: str = "Several knowledge sources",
        concatenate: bool = False,
        allow_hosts: Iterable[str] = (),
        max_content_chars: int = limits.CONTENT_MAX,
    ) -> None:
        self._timeout = read_seconds(timeout)
        self._children = _children(children)
        self._description = _description(key, label, self._children)
        self._concatenate = concatenate
        self._allow_hosts = read_hosts(allow_hosts)
        # Refused here, and not at the first search.
        normalize_response((), query="", max_content_chars=max_content_chars)
        self._max_content_chars = max_content_chars
        self._closed = False

    @property
    def abandoned(self) -> int:
        """How many calls of children were given up and still run: nothing can end a call that does not let itself."""
        return sum(child.calls.abandoned for child in self._children)

    def describe(self) -> dict[str, Any]:
        """A fresh description: ``scores`` is never claimed, ``filters`` if by all, ``citations`` if by any (9.5)."""
        return self._description.model_dump(by_alias=True)

    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> dict[str, Any]:
        """Ask every child, and answer with at most ``request.top_k`` results.

        Raises:
            KnowledgeFiltersUnsupportedError: There are filters, and not every child claims to honour any, so none was
                asked; or nothing was searched, since children refused these.
            KnowledgeAllSourcesFailedError: Every child failed.
            KnowledgeSourcesIncompleteError: Nothing was found, and a child failed.
            KnowledgeUnavailableError: The composite is closed.
            asyncio.CancelledError: The caller's task or signal was cancelled; then the children's were, too.
        """
        # Clause 7.3.
        context.signal.raise_if_cancelled()
        self._require_open()
        self._require_filters(request)
        answers = await self._answers(request, context)
        error = merging.refusal(answers, self._description.key) or merging.failure(answers, self._description.key)
        if error is not None:
            raise error
        return {
            "results": merging.merge(answers, request.top_k, concatenate=self._concatenate),
            "sources": merging.report_entries(answers),
        }

    async def health(self, signal: CancelSignal) -> dict[str, Any]:
        """Ready when every child is, unavailable when none can be used, and else degraded (clause 2.1)."""
        signal.raise_if_cancelled()
        if self._closed:
            return {"status": "unavailable", "message": "closed"}
        seconds = _share(signal, min(self._timeout, _SHARE * limits.HEALTH_SECONDS))
        statuses = await self._of_each(lambda child: child.calls.health(seconds), _status)
        return merging.health({child.key: status for child, status in zip(self._children, statuses, strict=True)})

    async def close(self) -> None:
        """Close every child, whatever another one does; a search after it is refused (clause 2.2).

        A child that does not end in time, or raises, is named in the log: it must neither keep the others open nor
        hide for what the composite is closed (clause 9.2).
        """
        self._closed = True
        await self._of_each(lambda child: child.calls.close(self._timeout), _log_unclosed)

    async def _answers(self, request: RetrievalRequest, context: RetrievalContext) -> list[merging.Answer]:
        # Clause 9.1.
        seconds = _share(context.signal, self._timeout)

        def read(child: _Child, ending: Ending) -> merging.Answer:
            return merging.read_answer(
                child.key,
                ending,
                top_k=request.top_k,
                allow_hosts=self._allow_hosts,
                max_content_chars=self._max_content_chars,
            )

        answers = await self._of_each(lambda child: child.calls.retrieve(_copy(request), context, seconds), read)
        # Clause 9.6: the signal may have been cancelled and not the task.
        context.signal.raise_if_cancelled()
        _log_failed(answers)
        return answers

    async def _of_each(
        self, call: Callable[[_Child], Coroutine[Any, Any, Ending]], read: Callable[[_Child, Ending], _T]
    ) -> list[_T]:
        """What ``read`` makes of a call of each child, all at the same time, in the children's order."""

        async def one(child: _Child) -> _T:
            return read(child, await call(child))

        # Clause 9.6: the group waits for all of them, also when it is cancelled.
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(child)) for child in self._children]
        # Clause 9.2: a task that was cancelled from within, and not with the group, is its child's matter.
        return [
            read(child, Ending(error=asyncio.CancelledError())) if task.cancelled() else task.result()
            for child, task in zip(self._children, tasks, strict=True)
        ]

    def _require_open(self) -> None:
        # Clause 2.2.
        if self._closed:
            raise KnowledgeUnavailableError(
                "Wanted open sources, and this composite was closed: it cannot tell whether there is an answer. "
                "Make another.",
                provider_key=self._description.key,
                retryable=False,
            )

    def _require_filters(self, request: RetrievalRequest) -> None:
        # Clause 3.5: refused, not ignored, and before any child is asked.
        deaf = [child.key for child in self._children if not child.claims("filters")]
        if request.filters and deaf:
            raise KnowledgeFiltersUnsupportedError(
                f"Wanted no filters, and {len(request.filters)} came. Of {len(self._children)} sources, {len(deaf)} "
                f"cannot honour them ({_some(deaf)}), and leaving them out would answer more than was asked for. Ask "
                "without filters, or ask a source that claims them.",
                provider_key=self._description.key,
            )


def _copy(request: RetrievalRequest) -> RetrievalRequest:
    # Clauses 3.8 and 9.2: a child that changes its request must not change another's.
    return request.model_copy(update={"filters": deepcopy(request.filters)})


def _status(_: _Child, ending: Ending) -> str:
    return read_health(ending)["status"]


def _share(signal: CancelSignal, seconds: float) -> float:
    """The seconds that a child may take of what the caller has left."""
    remaining = signal.remaining()
    return seconds if remaining is None else min(seconds, _SHARE * remaining)


def _log_failed(answers: Sequence[merging.Answer]) -> None:
    # Clause 10.8. Where another child found something, this is the only place that says what happened.
    for report, error in ((answer.report, answer.error) for answer in answers):
        if report.status == "failed":
            _LOG.warning("knowledge source %s: failed, %s%s", report.key, report.reason, why(error))


def _log_unclosed(child: _Child, ending: Ending) -> None:
    if how := unclosed(ending):
        _LOG.warning("close() of the knowledge source %s %s", child.key, how)


def _children(children: Mapping[str, Any]) -> tuple[_Child, ...]:
    if not isinstance(children, Mapping):
        raise TypeError(f"children must be a mapping of keys to providers; got {class_name(children)}")
    if not children:
        raise KnowledgeProviderInvalidError(
            "Wanted at least one child, and there is none: a search could only find nothing. Pass {key: provider}."
        )
    return tuple(_child(key, provider) for key, provider in children.items())


def _child(key: str, provider: Any) -> _Child:
    if not _is_key(key):
        raise KnowledgeProviderInvalidError(
            f"Wanted children's keys of at most {limits.KEY_MAX} lowercase letters, digits and hyphens that begin with "
            f"a letter or digit, and {ascii(key[: limits.KEY_MAX]) if type(key) is str else class_name(key)} came. "
            "Result ids and reports hold a key as it is. Choose keys like 'handbook'."
        )
    try:
        # Clause 1.3: refused when it is composed, never at the first turn.
        description = compose(provider)
    except KnowledgeProviderInvalidError as error:
        raise KnowledgeProviderInvalidError(f"The child {key} cannot be used. {error}", provider_key=key) from error
    return _Child(key, description, ProviderCalls(provider))


def _is_key(key: object) -> bool:
    return _described(key, "any", {}) is not None and type(key) is str and len(key) <= limits.KEY_MAX


def _description(key: str, label: str, children: Sequence[_Child]) -> ProviderDescription:
    # Clause 9.5.
    claims = {
        "filters": all(child.claims("filters") for child in children),
        "scores": False,
        "citations": any(child.claims("citations") for child in children),
    }
    description = _described(key, label, claims)
    if description is None:
        raise KnowledgeProviderInvalidError(
            "Wanted a composite with a key of lowercase letters, digits and hyphens and a label that is not blank, and "
            "others came. Hosts refuse such a provider. Leave both out, or choose others."
        )
    return description


def _described(key: object, label: object, claims: Mapping[str, bool]) -> ProviderDescription | None:
    # The rules for both stand in the model alone.
    said = {"protocolVersion": limits.PROTOCOL_VERSION, "key": key, "label": label, "capabilities": claims}
    try:
        return ProviderDescription.model_validate(said)
    except ValidationError:
        return None


def _some(keys: Sequence[str]) -> str:
    more = len(keys) - limits.SOURCE_REPORTS_MAX
    return ", ".join(keys[: limits.SOURCE_REPORTS_MAX]) + (f" and {more} more" if more > 0 else "")
