"""``CompositeSubject``: what makes composites, as a check sees it, with every call bounded, counted and announced.

Knows one factory and how to read what its composites answer. It judges nothing but that they end and can be called.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from itertools import islice
from typing import Any, Final

from pydantic import ValidationError

from knowledge_conformance import calls
from knowledge_conformance.check import Hang, Violation
from knowledge_conformance.exchange import Exchange, as_dict, raised_at, results_of, show_request, text_of
from knowledge_conformance.plain import copied, model_fields
from knowledge_conformance.render import show, show_error
from knowledge_conformance.settings import Settings
from knowledge_conformance.watched import Watched
from knowledge_provider import (
    CancelSignal,
    ProviderDescription,
    RetrievalContext,
    RetrievalRequest,
    SourceReport,
    error_code,
    limits,
)
from knowledge_provider.text import is_a

CHILD_SECONDS: Final = 2.0
"""The deadline that a check gives each child, unless one of them never answers: enough on a busy machine."""
SLACK_SECONDS: Final = 1.0
"""Beyond the children's deadline: what a composite may take itself, on a busy machine."""
CLOSE_SECONDS: Final = 2.0
OWNER: Final = "conformance-owner"
_KEYS_SHOWN: Final = 4

Children = Mapping[str, Any]


class Refusal(Violation):
    """The factory refused its children as invalid (``knowledge_provider_invalid``), which a check may allow."""


class Composite:
    """One composite under a check; its answers are due ``seconds`` after they were asked for."""

    def __init__(self, subject: Watched, provider: Any, seconds: float) -> None:
        self.provider = provider
        self.seconds = seconds
        self._subject = subject

    async def describe(self) -> ProviderDescription:
        """What it says of itself; raises ``Violation`` when that breaks clauses 1.2 to 1.6."""
        self._subject.count("describe()", self.seconds)
        try:
            return ProviderDescription.model_validate(self.provider.describe())
        except BaseException as error:
            # A validation error's text holds no input.
            saw = show_error(error) if isinstance(error, ValidationError) else f"raised {show_error(error)}"
            hint = "a composite is itself a version-1 provider: return protocolVersion, key, label and capabilities"
            raise Violation(wanted="a valid description", saw=saw, hint=hint) from error

    async def ask(
        self, request: RetrievalRequest, context: RetrievalContext | None = None, *, seconds: float | None = None
    ) -> Exchange:
        """One call, whether it answers or raises; ``Hang`` when it does neither within ``seconds`` or its own.

        The composite gets a copy of the request: what it lets a child do to it is seen by ``start``.
        """
        context = context or new_context()
        seconds = self.seconds if seconds is None else seconds
        self._subject.count(show_request(request), seconds)
        ending = await calls.call(
            self.provider.retrieve,
            request.model_copy(deep=True),
            context,
            seconds=seconds,
            on_timeout=lambda: context.signal.cancel("timeout"),
        )
        _refuse_hang(ending, show_request(request), seconds)
        exchange = Exchange(request, context, ending.value, ending.error, ending.seconds)
        self._subject.answered(show_request(request), str(exchange))
        return exchange

    async def answer(
        self, request: RetrievalRequest, context: RetrievalContext | None = None, *, seconds: float | None = None
    ) -> Exchange:
        """One call that answers; raises ``Violation`` when it raises, ``Hang`` when it does neither in time."""
        exchange = await self.ask(request, context, seconds=seconds)
        if exchange.error is not None or results_of(exchange.response) is None:
            raise Violation(
                wanted="an answer with the results of the children that have some",
                saw=exchange.came,
                hint="catch what a child raises, whatever it is, and go on with the others",
                where=show_request(request),
            )
        return exchange

    async def start(self, request: RetrievalRequest, context: RetrievalContext) -> "asyncio.Task[Any]":
        """A call with these very objects as a task that a check can cancel; what it raises is a ``calls.Raised``."""
        self._subject.count(show_request(request), self.seconds)
        return asyncio.ensure_future(calls.shielded(self.provider.retrieve, request, context))

    async def health(self) -> calls.Ending:
        """One call of ``health``, with a signal when it takes one (clause 2.1), whose time limit it has."""
        self._subject.count("health()", limits.HEALTH_SECONDS)
        arguments = (CancelSignal(),) if calls.takes_argument(self.provider.health) else ()
        return await calls.call(self.provider.health, *arguments, seconds=limits.HEALTH_SECONDS + SLACK_SECONDS)

    @property
    def can_close(self) -> bool:
        """Whether there is a ``close``, which is optional (clause 1.1)."""
        return callable(getattr(self.provider, "close", None))

    async def close(self) -> calls.Ending:
        """One call of ``close``, if there is one; ``Hang`` when it does not end."""
        if not self.can_close:
            return calls.Ending()
        self._subject.count("close()", CLOSE_SECONDS)
        ending = await calls.call(self.provider.close, seconds=CLOSE_SECONDS)
        _refuse_hang(ending, "close()", CLOSE_SECONDS)
        return ending


class CompositeSubject(Watched):
    """The factory of composites under one check: ``factory(children, *, timeout=…)``, synchronous or not."""

    def __init__(
        self, factory: Callable[..., Any], settings: Settings, *, announce: Callable[[str, float], None]
    ) -> None:
        super().__init__(settings, announce=announce)
        self._factory = factory

    @asynccontextmanager
    async def composed(self, children: Children, *, deadline: float = CHILD_SECONDS) -> AsyncIterator[Composite]:
        """A composite over the children, closed at the end; raises as ``compose`` does."""
        composite = await self.compose(children, deadline=deadline)
        try:
            yield composite
        except GeneratorExit:  # the loop is gone, and nothing can be awaited any more
            raise
        except BaseException:
            await self._dispose(composite)
            raise
        await self._dispose(composite)

    async def _dispose(self, composite: Composite) -> None:
        # Whatever comes of it: a check about closing closes one itself. A finding shows the call before.
        shown = self.shown
        await calls.call(composite.close, seconds=CLOSE_SECONDS)
        self.shown = shown

    async def compose(self, children: Children, *, deadline: float = CHILD_SECONDS) -> Composite:
        """A composite over the children, each with ``deadline`` seconds for a call.

        Raises ``Refusal`` when it refuses them as invalid, ``Violation`` when it fails otherwise or makes no provider.
        """
        shown = f"factory({{{_shown_keys(children)}}}, timeout={deadline:g})"
        self.count(shown, CLOSE_SECONDS)

        make = calls.on_loop(self._factory, dict(children), timeout=deadline)
        ending = await calls.call(make, seconds=CLOSE_SECONDS)
        _refuse_hang(ending, shown, CLOSE_SECONDS)
        if ending.error is not None:
            raise _not_composed(ending.error, shown)
        _require_provider(ending.value, shown)
        return Composite(self, ending.value, deadline + SLACK_SECONDS)


def new_context(**fields: Any) -> RetrievalContext:
    """A context of the kit's own owner, unless ``fields`` say otherwise."""
    return RetrievalContext(**{"owner_id": OWNER, "session_id": "s", "turn_id": "t", "trace_id": "x", **fields})


def contents(exchange: Exchange) -> list[str]:
    """The content of each result that can be read, in order: by it a check knows which child a result is from."""
    texts = (copied(text_of(entry, "content")) for _, entry in exchange.entries)
    return [text for text in texts if text is not None]


def reports(exchange: Exchange) -> list[dict[str, Any]]:
    """The entries of the answer's ``sources`` that can be read (clause 9.3)."""
    held = (as_dict(exchange.response) or {}).get("sources") if is_a(exchange.response, dict) else None
    return [fields for report in results_of(held) or () if (fields := _fields(report)) is not None]


def _fields(report: object) -> dict[str, Any] | None:
    return as_dict(model_fields(report) if is_a(report, SourceReport) else report)


def _shown_keys(children: Children) -> str:
    shown = [f"{show(key, limit=40)}: …" for key in islice(children, _KEYS_SHOWN)]
    return ", ".join([*shown, "…"] if len(children) > len(shown) else shown)


def _require_provider(made: Any, shown: str) -> None:
    for name in ("describe", "retrieve"):
        if not callable(getattr(made, name, None)):
            hint = "return an object with describe() and retrieve(request, context) (clause 1.1)"
            raise Violation(wanted=f"a provider with a callable {name}", saw=show(made), hint=hint, where=shown)


def _not_composed(error: BaseException, shown: str) -> Violation:
    kind = Refusal if error_code(error) == "knowledge_provider_invalid" else Violation
    return kind(
        wanted="a composite over these children",
        saw=f"raised {show_error(error)}{raised_at(error)}",
        hint="take a mapping of keys to version-1 providers, and timeout as a keyword",
        where=shown,
    )


def _refuse_hang(ending: calls.Ending, shown: str, seconds: float) -> None:
    if not ending.hung:
        return
    raise Hang(
        wanted=f"an end within {seconds:g} s",
        saw="it was still running after it was cancelled, too" if ending.left_running else "no answer",
        hint="wait for each child until its own deadline, with asyncio.wait, and then leave it behind",
        where=shown,
        # Its children are the kit's own.
        lasting=ending.left_running,
    )
