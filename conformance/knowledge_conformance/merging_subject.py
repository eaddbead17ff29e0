"""``MergingSubject``: what merges sources, as a check sees it, with every call bounded, counted and announced.

Knows one factory and how to read what it merges. It judges nothing but that a call ends.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pydantic import BaseModel

from knowledge_conformance import calls
from knowledge_conformance.check import Violation
from knowledge_conformance.exchange import as_dict, raised_at
from knowledge_conformance.plain import copied, model_fields
from knowledge_conformance.render import show, show_error
from knowledge_conformance.settings import Settings
from knowledge_conformance.source_subject import References, show_ref
from knowledge_conformance.watched import Watched, refuse_hang
from knowledge_provider import CancelSignal, RetrievalContext
from knowledge_provider.sources import ExternalKnowledgeRef
from knowledge_provider.text import is_a

SOURCE_SECONDS: Final = 2.0
"""The deadline that a check gives each source, unless one of them never answers: enough on a busy machine."""
SLACK_SECONDS: Final = 1.0
"""Beyond that deadline: what merging may take itself, on a busy machine."""
HANG_HINT: Final = "wait for each source until its own deadline, with asyncio.wait, and then leave it behind"
QUERY: Final = "release policy"
_READ_MAX: Final = 4096
_SHOWN_MAX: Final = 4

BuiltIn = Callable[[str, RetrievalContext], Coroutine[Any, Any, Any]]


@dataclass(frozen=True, slots=True)
class Merged:
    """One call and what came of it: ``records`` and ``summary`` as plain dictionaries, as far as they can be read."""

    shown: str
    value: object = None
    error: BaseException | None = None

    @property
    def records(self) -> list[dict[str, Any]]:
        """The records in their order; empty where there is no such list."""
        return _entries(self.value, "records")

    @property
    def summary(self) -> list[dict[str, Any]]:
        """The entries about the sources; empty where there is no such list."""
        return _entries(self.value, "summary")

    @property
    def is_answer(self) -> bool:
        """Whether it has a list of records and one of what became of each source."""
        return all(_listed(self.value, name) is not None for name in ("records", "summary"))

    @property
    def came(self) -> str:
        """What came of the call, in words."""
        if self.error is not None:
            return f"raised {show_error(self.error)}{raised_at(self.error)}"
        if not self.is_answer:
            return show(self.value)
        return "1 record" if len(self.records) == 1 else f"{len(self.records)} records"

    def contents(self) -> list[str]:
        """The content of each record that can be read, in order: by it a check knows which source it is from."""
        texts = (copied(record.get("content")) for record in self.records)
        return [text for text in texts if text is not None]


class Merging:
    """One merging function under a check; its answers are due ``seconds`` after they were asked for."""

    def __init__(self, subject: "MergingSubject", merge: Callable[..., Any], seconds: float) -> None:
        self.seconds = seconds
        self._subject = subject
        self._merge = merge

    async def ask(
        self, refs: Iterable[ExternalKnowledgeRef], query: str = QUERY, context: RetrievalContext | None = None
    ) -> Merged:
        """One call, whether it answers or raises; ``Hang`` when it does neither in time."""
        held = tuple(refs)
        context, shown = context or new_context(), _shown(query, held)
        self._subject.count(shown, self.seconds)
        ending = await calls.call(
            self._play(query, held, context), seconds=self.seconds, on_timeout=lambda: context.signal.cancel("timeout")
        )
        refuse_hang(ending, shown, self.seconds, hint=HANG_HINT, over_fakes=True)
        merged = Merged(shown, ending.value, ending.error)
        self._subject.answered(shown, f"{shown} -> {merged.came}")
        return merged

    async def answer(
        self, refs: Iterable[ExternalKnowledgeRef], query: str = QUERY, context: RetrievalContext | None = None
    ) -> Merged:
        """One call that answers; raises ``Violation`` when it raises or answers something else."""
        merged = await self.ask(refs, query, context)
        if not merged.is_answer:
            raise Violation(
                wanted="an answer with records and a summary",
                saw=merged.came,
                hint="catch what a source raises, whatever it is, and go on with the others; answer MergedRecords, or "
                "{'records': [...], 'summary': [...]}",
                where=merged.shown,
            )
        return merged

    async def start(self, refs: References, context: RetrievalContext) -> "asyncio.Task[Any]":
        """A call as a task that a check can cancel; what it raises is a ``calls.Raised``."""
        self._subject.count(_shown(QUERY, refs), self.seconds)
        return asyncio.ensure_future(calls.shielded(self._play(QUERY, refs, context)))

    def _play(self, query: str, refs: References, context: RetrievalContext) -> Callable[[], Awaitable[Any]]:
        return calls.on_loop(self._merge, query, context=context, refs=refs)


class MergingSubject(Watched):
    """The factory under one check: ``factory(built_in, sources, *, timeout=…)``, synchronous or not."""

    def __init__(
        self, factory: Callable[..., Any], settings: Settings, *, announce: Callable[[str, float], None]
    ) -> None:
        super().__init__(settings, announce=announce)
        self._factory = factory

    async def over(
        self, sources: Sequence[Any], built_in: BuiltIn | None = None, *, deadline: float = SOURCE_SECONDS
    ) -> Merging:
        """What merges these sources, each with ``deadline`` seconds for a call; raises ``Violation`` where it is none.

        Without ``built_in`` the host itself finds nothing.
        """
        shown = f"factory(built_in, {len(sources)} sources, timeout={deadline:g})"
        self.count(shown, SLACK_SECONDS)
        make = calls.on_loop(self._factory, built_in or _nothing, tuple(sources), timeout=deadline)
        ending = await calls.call(make, seconds=SLACK_SECONDS)
        refuse_hang(ending, shown, SLACK_SECONDS, hint=HANG_HINT)
        if ending.error is not None or not callable(ending.value):
            raise Violation(
                wanted="an async function, to be called as merge(query, *, context, refs)",
                saw=show(ending.value) if ending.error is None else f"raised {show_error(ending.error)}",
                hint="take the host's own search, the sources, and timeout as a keyword; return what merges",
                where=shown,
            )
        return Merging(self, ending.value, deadline + SLACK_SECONDS)


def new_context(**fields: Any) -> RetrievalContext:
    """A context of the kit's own owner, unless ``fields`` say otherwise, also by what no model allows."""
    usual = {"owner_id": "conformance-owner", "session_id": "s", "turn_id": "t", "trace_id": "x"}
    return RetrievalContext.model_construct(**{**usual, "signal": CancelSignal(), **fields})


async def _nothing(query: str, context: RetrievalContext) -> list[Any]:
    del query, context
    return []


def _shown(query: str, refs: References) -> str:
    shown = [f"{ref.provider}:{show_ref(ref)}" for ref in refs[:_SHOWN_MAX]]
    return f"merge({show(query)}, context=…, refs=[{', '.join([*shown, '…'] if len(refs) > len(shown) else shown)}])"


def _listed(value: object, name: str) -> Sequence[Any] | None:
    fields = as_dict(model_fields(value) if is_a(value, BaseModel) else value)
    held = (fields or {}).get(name)
    if is_a(held, list):
        return list.__getitem__(held, slice(0, _READ_MAX))
    return tuple.__getitem__(held, slice(0, _READ_MAX)) if is_a(held, tuple) else None


def _entries(value: object, name: str) -> list[dict[str, Any]]:
    read = (as_dict(model_fields(each) if is_a(each, BaseModel) else each) for each in _listed(value, name) or ())
    return [fields for fields in read if fields is not None]
