"""``HostSubject``: a host as a check sees it, made over a provider of the kit's, with every call bounded and announced.

Knows the host's interface and nothing of what is behind it: a host that is not ours needs no more than these methods.
It judges nothing but that a call ends.
"""

import asyncio
import contextlib
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Mapping
from typing import Any, Final, TypeVar

from knowledge_conformance import calls
from knowledge_conformance.calls import Ending
from knowledge_conformance.check import Hang, Violation
from knowledge_conformance.outcomes import read_outcome
from knowledge_conformance.render import show, show_error
from knowledge_conformance.settings import Settings
from knowledge_conformance.watched import Watched
from knowledge_provider import CancelSignal, RetrievalContext, limits

QUERY: Final = "release policy"
PATIENCE: Final = 5.0
"""The deadline in seconds of a host whose deadline is not what a check looks at."""
DEADLINE: Final = 0.3
"""The deadline in seconds of a host that is made to meet it."""
SLACK: Final = 1.0
"""How long a host may take beyond a deadline: machines are busy, and a host that waits on waits for ever."""
CLOSING_SECONDS: Final = 1.0
"""How long a host gets to close when a check is over; what its closing means is another check's business."""

_BY_NAME: Final = frozenset({inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY})

Found = TypeVar("Found")


class HostSubject(Watched):
    """One factory of hosts under one check."""

    def __init__(
        self, factory: Callable[..., Any], settings: Settings, *, announce: Callable[[str, float], None]
    ) -> None:
        super().__init__(settings, announce=announce)
        self._factory = factory

    def takes(self, option: str) -> bool:
        """Whether the factory has a parameter of this name; ``**options`` may go to a host that refuses it."""
        try:
            parameters = inspect.signature(self._factory).parameters.values()
        except (TypeError, ValueError):  # a builtin, or an object that hides its signature
            return False
        return any(each.name == option and each.kind in _BY_NAME for each in parameters)

    def context(self, **changes: Any) -> RetrievalContext:
        """A fresh trusted context with its own signal; ``changes`` replace its fields, also by what no model allows."""
        fields = {
            "owner_id": "conformance-owner",
            "session_id": "conformance-session",
            "turn_id": "conformance-turn",
            "trace_id": "conformance-trace",
            "signal": CancelSignal(),
        }
        return RetrievalContext.model_construct(**{**fields, **changes})

    async def compose(self, provider: object, *, deadline: float = PATIENCE, **options: Any) -> Ending:
        """What calling the factory gives or raises."""

        def make() -> Any:
            return self._factory(provider, timeout=deadline, **options)

        return await self.bounded(f"factory({show(provider)}, timeout={deadline:g})", make, PATIENCE + SLACK)

    @contextlib.asynccontextmanager
    async def host(
        self, provider: object, *, deadline: float = PATIENCE, **options: Any
    ) -> AsyncIterator["DrivenHost"]:
        """A host over the provider, closed at the end; raises ``Violation`` when it cannot be made."""
        composed = await self.compose(provider, deadline=deadline, **options)
        if composed.error is not None:
            raise Violation(
                wanted="a host over a sound provider",
                saw=f"raised {show_error(composed.error)}",
                hint="factory(provider, *, timeout=seconds) returns the host, and refuses only what is no provider",
                where=self.shown,
            )
        driven = DrivenHost(self, composed.value, deadline)
        try:
            yield driven
        finally:
            await self.dispose(composed.value)

    async def dispose(self, host: Any) -> None:
        """Close a host that a check is done with, within a bound and whatever it raises."""
        with contextlib.suppress(BaseException):
            await calls.call(calls.on_loop(host.close), seconds=CLOSING_SECONDS)

    async def bounded(self, shown: str, function: Callable[[], Any], seconds: float) -> Ending:
        """One call of the host's code on the loop, sync or async; ``Hang`` when it does not end within ``seconds``."""
        self.count(shown, seconds)
        ending = await calls.call(calls.on_loop(function), seconds=seconds)
        if ending.hung:
            raise Hang(
                wanted=f"an end within {seconds:g} s",
                saw="it was still running after it was cancelled, too" if ending.left_running else "no end",
                hint="bound every wait of the host, and wait for a task that was cancelled within a bound as well",
                where=shown,
            )
        return ending

    async def happens(self, event: Awaitable[Any], seconds: float = SLACK) -> bool:
        """Whether what the kit's own provider is told comes within ``seconds``."""
        waiting = asyncio.ensure_future(event)
        await asyncio.wait({waiting}, timeout=seconds)
        happened = waiting.done()
        waiting.cancel()
        return happened


class DrivenHost:
    """One host, each of its methods as a bounded call."""

    def __init__(self, subject: HostSubject, host: Any, deadline: float) -> None:
        self.deadline = deadline
        self._subject = subject
        self._host = host

    async def attempt(self, query: Any = QUERY, *, context: RetrievalContext | None = None, **given: Any) -> Ending:
        """How ``search`` ends, whether it answers or raises; ``Hang`` when it does neither in time."""
        shown, search = self._search(query, context, given)
        return await self._subject.bounded(shown, search, self.deadline + SLACK)

    async def search(
        self, query: Any = QUERY, *, context: RetrievalContext | None = None, **given: Any
    ) -> dict[str, Any]:
        """The outcome that ``search`` answers; raises ``Violation`` when it raises or answers something else."""
        shown, _ = self._search(query, context, given)
        return answered(await self.attempt(query, context=context, **given), shown)

    async def attempt_each_way(
        self, arguments: Mapping[str, Any], context: RetrievalContext | None = None
    ) -> AsyncIterator[tuple[str, Ending]]:
        """How ``search`` ends and then ``call_tool``, asked the same, each with the call that it was."""
        ending = await self.attempt(context=context, **arguments)
        yield self._subject.shown or "", ending
        ending = await self.attempt_tool(dict(arguments), context)
        yield self._subject.shown or "", ending

    def begin(self, query: Any = QUERY, *, context: RetrievalContext | None = None) -> "asyncio.Task[Any]":
        """``search`` as a task that a check can cancel; its result is the value, or ``calls.Raised``."""
        shown, search = self._search(query, context, {})
        self._subject.count(shown, self.deadline + SLACK)
        return asyncio.ensure_future(calls.shielded(calls.on_loop(search)))

    async def attempt_tool(self, arguments: Any, context: RetrievalContext | None = None) -> Ending:
        """How ``call_tool`` ends."""
        context = context or self._subject.context()
        return await self._called("call_tool", arguments, context, seconds=self.deadline + SLACK)

    async def call_tool(self, arguments: Any, context: RetrievalContext | None = None) -> dict[str, Any]:
        """The outcome that ``call_tool`` answers, as with ``search``."""
        return answered(await self.attempt_tool(arguments, context), f"host.call_tool({show(arguments)}, context)")

    async def close(self, *, seconds: float = PATIENCE) -> Ending:
        """How ``close`` ends, within ``seconds``."""
        return await self._called("close", seconds=seconds)

    async def asked(self, name: str) -> Ending:
        """How the method of this name ends, or reading the attribute of this name, within the time for a health."""
        return await self._called(name, seconds=limits.HEALTH_SECONDS + SLACK)

    async def told(self, name: str) -> Any:
        """What the method of this name answers, or the attribute's value: ``describe``, ``configured``, ``health``.

        Raises ``Violation`` when there is no such thing, or it raises.
        """
        ending = await self.asked(name)
        if ending.error is not None:
            raise Violation(
                wanted="an answer",
                saw=f"raised {show_error(ending.error)}",
                hint=f"host.{name} answers with what is known and never fails",
                where=f"host.{name}",
            )
        return ending.value

    @property
    def made(self) -> Any:
        """The host itself, to be looked at and not called."""
        return self._host

    async def disclosed(self) -> list[str] | None:
        """The knowledge bases that the host's tool names, or None where it names none, or there is no tool."""
        return bases_in(await self.told("tool_definition")) if self._has("tool_definition") else None

    def _has(self, name: str) -> bool:
        try:
            return hasattr(self._host, name)
        except BaseException:  # a property that raises is there, and the finding of whoever reads it
            return True

    def _search(
        self, query: Any, context: RetrievalContext | None, given: Mapping[str, Any]
    ) -> tuple[str, Callable[[], Any]]:
        trusted = context or self._subject.context()
        shown = ", ".join([show(query), *(f"{name}={show(value)}" for name, value in given.items())])
        return f"host.search({shown}, context=…)", lambda: self._host.search(query, context=trusted, **given)

    async def _called(self, name: str, *arguments: Any, seconds: float) -> Ending:
        def call() -> Any:
            member = getattr(self._host, name)
            return member(*arguments) if callable(member) else member

        shown = ", ".join(map(show, arguments))
        return await self._subject.bounded(f"host.{name}({shown})", call, seconds)


async def at_once(parts: Iterable[Coroutine[Any, Any, Found]]) -> list[Found]:
    """What the parts of a check find, run together since they mostly wait; raises the first one's finding, in order."""
    found = await asyncio.gather(*parts, return_exceptions=True)
    for each in found:
        if isinstance(each, BaseException):
            raise each
    return [each for each in found if not isinstance(each, BaseException)]


def answered(ending: Ending, where: str) -> dict[str, Any]:
    """The outcome of a call that should have answered; raises ``Violation`` when it raised."""
    if ending.error is not None:
        raise Violation(
            wanted="an outcome",
            saw=f"raised {show_error(ending.error)}",
            hint="whatever a provider answers becomes an outcome: search raises only for a reason of the contract's",
            where=where,
        )
    return read_outcome(ending.value, where)


def parameters_of(tool: Any) -> dict[str, Any]:
    """The properties of a tool's JSON schema, by whichever name the schema goes; empty where there are none."""
    definition = tool if isinstance(tool, dict) else {}
    schema: dict[str, Any] = next(
        (definition[name] for name in _SCHEMA_NAMES if isinstance(definition.get(name), dict)), {}
    )
    properties = schema.get("properties")
    return dict(properties) if isinstance(properties, dict) else {}


def bases_in(tool: Any) -> list[str] | None:
    """The base ids that a tool's definition lists, or None where it takes none."""
    bases = parameters_of(tool).get("knowledge_base_ids")
    items = bases.get("items") if isinstance(bases, dict) else None
    listed = items.get("enum") if isinstance(items, dict) else None
    return None if bases is None else [str(each) for each in listed or ()]


_SCHEMA_NAMES: Final = ("parameters", "input_schema", "inputSchema")
