"""``retrieve_merged``: built-in knowledge and a task's sources in one call (clause 10.5); knows the order alone.

This file awaits. What becomes of an answer is in ``_answered_records``, and how a source is called in ``registry``.
"""

import asyncio
import inspect
import logging
import time
from collections.abc import Awaitable, Iterable, Sequence
from typing import Any, Final

from pydantic import BaseModel

from knowledge_provider import asking, limits
from knowledge_provider._contexts import read_context
from knowledge_provider._origins import why
from knowledge_provider.cancel import read_seconds
from knowledge_provider.models import RetrievalContext
from knowledge_provider.provider_calls import Ending, ProviderCalls
from knowledge_provider.sources._answered_records import (
    SourceAnswer,
    ignored,
    merged,
    read_built_in,
    read_source,
    without,
)
from knowledge_provider.sources._asking import SOURCE_SECONDS, Turns, by_provider, of_each, share
from knowledge_provider.sources._standing import BINDING_LEVEL, standing
from knowledge_provider.sources.records import MergedRecords, SourceStatus
from knowledge_provider.sources.references import ExternalKnowledgeRef
from knowledge_provider.sources.registry import References, RegisteredSource, SourceRegistry, read_registry
from knowledge_provider.text import class_name, is_a

_LOG: Final = logging.getLogger(__name__)
# Rule N1.
_ANSWERS: Final[tuple[type, ...]] = (list, tuple, dict, BaseModel)


async def retrieve_merged(
    query: str,
    *,
    context: RetrievalContext,
    registry: SourceRegistry,
    refs: Iterable[ExternalKnowledgeRef] = (),
    built_in: Awaitable[object] | object = (),
    top_k: int = limits.TOP_K_DEFAULT,
    timeout: float = SOURCE_SECONDS,  # noqa: ASYNC109 - `asyncio.timeout` waits for who swallows it
    built_in_timeout: float = limits.CALL_SECONDS_DEFAULT,
) -> MergedRecords:
    """The built-in hits, first and in their order, and then each source's in its own; with a summary of all.

    All are asked at the same time. What one of them does costs its own records alone, and is in its status; nothing
    found is no error here, since ``status`` tells "nothing" from "not everything could be asked".

    Args:
        query: What is looked for, by rule N5 at most 500 code points.
        context: Who asks; each source gets it with a signal of its own.
        registry: Where the sources of ``refs`` are found. One that is missing is ``ignored``.
        refs: What is bound to the task, as ``TaskBindings`` lists it.
        built_in: What the host found itself, an outcome or a provider's answer, or what can be awaited for one, such
            as ``host.search(...)``. All of it stays, up to 64 records. Where it raises, the others stay all the same.
        top_k: Records of each source at most, from 1 to 8.
        timeout: Seconds for each source. The caller's deadline shortens them, to nine tenths of what is left of it.
        built_in_timeout: Seconds for ``built_in``, shortened in the same way.

    Raises:
        KnowledgeOwnerRequiredError: The context names no owner (clause 10.9).
        KnowledgeQueryRequiredError: The query has nothing visible in it.
        KnowledgeReferenceInvalidError: One of ``refs`` is none; the message names the field.
        TypeError: ``context``, ``registry`` or a number has another type; or ``built_in`` is neither an answer nor
            awaitable, such as a function.
        ValueError: A time is not above 0.
        asyncio.CancelledError: The caller's task or signal was cancelled; then the sources' were, too.
    """
    try:
        _require_answer(built_in)
        question = _Question(query, context, registry, top_k, timeout)
        groups = await by_provider(refs)
        own_seconds = share(context.signal, read_seconds(built_in_timeout))
        # Clause 7.3.
        context.signal.raise_if_cancelled()
        own, *others = await of_each(
            [None, *groups],
            lambda group: _built_in(built_in, question, own_seconds) if group is None else question.ask(*group),
            _cut_off,
        )
    finally:
        _leave(built_in)
    # Clause 9.6: the signal may have been cancelled and not the task.
    context.signal.raise_if_cancelled()
    answers = others if _is_nothing(built_in) else [own, *others]
    _log(answers)
    return merged(answers)


class _Question:
    """What every source is asked, read and checked once."""

    def __init__(
        self, query: object, context: RetrievalContext, registry: SourceRegistry, top_k: object, timeout: object
    ) -> None:
        # Clauses 10.9 and 8.3.
        self.context = read_context(context)
        self.query = asking.read_query(query)
        self.top_k = asking.read_top_k(top_k)
        self.registry = read_registry(registry)
        self.turns = Turns()
        self.seconds = share(self.context.signal, read_seconds(timeout))

    async def ask(self, name: str, refs: References) -> SourceAnswer:
        source = self.registry.get(name)
        # Clause 10.3.
        if source is None:
            return ignored(name, refs)
        return await ask_source(
            source, self.query, refs, self.context, top_k=self.top_k, seconds=self.seconds, turns=self.turns
        )


async def ask_source(
    source: RegisteredSource,
    query: str,
    refs: References,
    context: RetrievalContext,
    *,
    top_k: int,
    seconds: float,
    turns: Turns,
) -> SourceAnswer:
    """Ask one source for records of the references that it says stand; raises ``CancelledError`` alone (clause 9.2)."""
    began = time.monotonic()
    checked = await source.validate_refs(refs, BINDING_LEVEL, context, seconds)
    # By identity: an exception may be of any class, and be anything when it is asked for its truth.
    if checked.error is not None or checked.timed_out:
        return read_source(source.name, refs, checked, top_k)
    kept = await turns.read(lambda: standing(checked.value, refs))
    if not kept:
        return read_source(source.name, refs, Ending(error=LookupError("none of the references stands")), top_k)
    left = max(0.0, seconds - (time.monotonic() - began))
    ending = await source.retrieve(query, kept, context, left)
    answer = await turns.read(lambda: read_source(source.name, kept, ending, top_k))
    asked = set(map(id, kept))
    return without(answer, [ref for ref in refs if id(ref) not in asked])


def _require_answer(built_in: object) -> None:
    # What is awaited may come to anything, and that is in its status; this here is a mistake in the caller's own line.
    if any(is_a(built_in, kind) for kind in _ANSWERS) or inspect.isawaitable(built_in):
        return
    raise TypeError(
        "built_in must be an answer (an Outcome, a list, or a dict with results) or what can be awaited for one, since "
        f"nothing else could give the host's own records; got {class_name(built_in)}: pass host.search(...), called "
        "and not awaited, or leave it out"
    )


async def _built_in(found: Any, question: _Question, seconds: float) -> SourceAnswer:
    if not inspect.isawaitable(found):
        return read_built_in(Ending(found))
    return read_built_in(await ProviderCalls(_BuiltIn(found)).retrieve(_ANY, question.context, seconds))


class _BuiltIn:
    """What is awaited for the host's own answer, in the shape that ``ProviderCalls`` calls."""

    def __init__(self, found: Awaitable[object]) -> None:
        self._found = found

    async def retrieve(self, _: object, __: RetrievalContext) -> object:
        return await self._found


# It is asked already: what ``ProviderCalls`` hands on is not looked at.
_ANY: Final[Any] = None


def _cut_off(group: tuple[str, References] | None) -> SourceAnswer:
    ending = Ending(error=asyncio.CancelledError())
    return read_built_in(ending) if group is None else read_source(*group, ending, top_k=1)


def _is_nothing(built_in: object) -> bool:
    return is_a(built_in, tuple) and not built_in


def _leave(built_in: object) -> None:
    # Or it would say, when it is collected, that it was never awaited.
    if inspect.iscoroutine(built_in) and inspect.getcoroutinestate(built_in) == inspect.CORO_CREATED:
        built_in.close()


def _log(answers: Sequence[SourceAnswer]) -> None:
    for answer in answers:
        _log_one(answer.status, answer.error)
        for status in answer.inner:
            _log_one(status, None)


def _log_one(status: SourceStatus, error: BaseException | None) -> None:
    # Clause 10.8: ids, status, slug and count, and of what was raised its class and place; never its words, a query, a
    # content or a URL.
    level = logging.WARNING if status.status == "failed" else logging.INFO
    _LOG.log(
        level,
        "knowledge source %s [%s]: %s, %s, %d records%s",
        status.key,
        ", ".join(map(ascii, status.source_ids)),
        status.status,
        status.reason or "no reason",
        status.count or 0,
        why(error),
    )
