"""``Subject``: the provider as a check sees it, with every call counted, bounded and written down.

Knows one provider and its settings. It judges nothing: a check decides what an answer means.
"""

import asyncio
import contextlib
import inspect
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from itertools import cycle, islice
from typing import TYPE_CHECKING, Any, Final, Protocol

from knowledge_conformance import calls
from knowledge_conformance.channels import Leak
from knowledge_conformance.check import Inconclusive
from knowledge_conformance.exchange import Exchange, misused, raised_at, show_request
from knowledge_conformance.leftovers import Standing, fresh_executor
from knowledge_conformance.manner import METHODS, Manner, Method, Step, answer_fields, description_kind
from knowledge_conformance.render import show_error
from knowledge_conformance.settings import Settings
from knowledge_conformance.threads import end_idle_threads
from knowledge_conformance.watched import Watched, refuse_hang
from knowledge_provider import CancelSignal, RetrievalContext, RetrievalRequest, limits

if TYPE_CHECKING:
    # A user's ordinary run has no use for the faults.
    from knowledge_fakes.faults import Misread

DEFAULT_OWNER: Final = "conformance-owner"
HANG_HINT: Final = "bound every wait of the provider below the host's deadline (context.signal.remaining())"


def raised_hint(asked: str, owner: str) -> str:
    """What to do about an error where what was ``asked`` has to be answered."""
    return (
        f"{asked} is answered: mend the line that raised; when the back end is down, start it or use a fake; the kit "
        f"asks as the owner {owner!r}, and [owners] in the settings names another"
    )


class ProviderRaisedError(Exception):
    """The provider raised where the contract wants an answer; ``where`` is the call, ``__cause__`` what it raised."""

    def __init__(self, error: BaseException, where: str, hint: str) -> None:
        super().__init__(f"{show_error(error)}{raised_at(error)}")
        self.where = where
        self.hint = hint


@dataclass(slots=True)
class Life:
    """What a check may know of its provider's life: what ``stood`` there before it was made.

    ``executor`` is the loop's default one. ``entered`` means that a context manager holds the provider, on the loop
    that it was entered on; ``spent`` that another check closed it, where it is one object for the whole run.
    ``overheard`` is what came out of the declared secrets while it was made, where that was listened to. ``misread`` is
    a fault of it: what it reads in the place of replies that are no answer.
    """

    stood: Standing
    executor: Executor
    entered: bool = False
    spent: bool = False
    overheard: list[Leak] = field(default_factory=list)
    misread: "Misread | None" = None


class Surveyor(Protocol):
    """Gives the shared survey of ordinary answers, made once for as long as its process lives."""

    async def __call__(self, subject: "Subject") -> Sequence[Exchange]:
        """The survey's exchanges; the first time it is made with this subject's calls."""
        ...

    def unasked(self, count: int) -> list[RetrievalRequest]:
        """At most ``count`` requests that were never asked in this process."""
        ...


class Subject(Watched):
    """One provider under one check; its calls are bounded, counted and announced.

    ``target`` is the provider's name, ``module:obj``, where it has one, so that it can be made in another process.
    """

    def __init__(
        self,
        provider: Any,
        settings: Settings,
        *,
        allowed: int,
        announce: Callable[[str, float], None],
        surveyor: Surveyor,
        target: str | None = None,
        life: Life | None = None,
    ) -> None:
        super().__init__(settings, announce=announce, allowed=allowed)
        # Whatever was checked before, the calls of this check meet in the same threads.
        end_idle_threads()
        self.provider = provider
        self._life = life
        self.target = target
        self._surveyor = surveyor
        self._awaited: dict[Method, bool] = {}
        self._exchange: Exchange | None = None
        self._description: object = None

    # What a check says.

    def look_at(self, exchange: Exchange) -> None:
        """Make an exchange the call that a finding shows, unless the finding says another place."""
        shown = str(exchange)
        self._exchange = exchange
        self.show(shown)
        if shown not in self.transcript:
            self.transcript.append(shown)
        self._asks(exchange.request)

    async def survey(self) -> Sequence[Exchange]:
        """Answers to ordinary requests, shared by all checks of one process."""
        survey = await self._surveyor(self)
        for exchange in survey:
            self._asks(exchange.request)
            self._exchange = exchange
        return survey

    async def found(self) -> list[Exchange]:
        """Those answers of the survey that have results; raises ``Inconclusive`` when no query returned one."""
        found = [exchange for exchange in await self.survey() if exchange.count]
        if not found:
            raise Inconclusive("no query returned a result", hint="pass --provider-query 'text'")
        return found

    def _asks(self, request: RetrievalRequest) -> None:
        self.asks(show_request(request), request)

    async def unasked(self, count: int) -> list[RetrievalRequest]:
        """``count`` requests of this corpus, as far as it goes such as were never asked: no cache has their answers.

        Raises ``Inconclusive`` when no query returned a result.
        """
        known = [exchange.request for exchange in await self.found()]
        others = cycle(RetrievalRequest(query=request.query, top_k=request.top_k) for request in known)
        return [*self._surveyor.unasked(count), *islice(others, count)][:count]

    @property
    def life(self) -> Life:
        """The provider's life so far; where nobody says more, it begins now."""
        if self._life is None:
            loop = asyncio.get_running_loop()
            self._life = Life(Standing.now(loop), fresh_executor(loop))
        return self._life

    def manner(self, opened: tuple[Step, ...]) -> Manner:
        """How the provider was called so far, and as what it answered; ``opened`` are the steps that led to it."""
        return Manner(
            opened=opened,
            awaited=tuple(name for name in METHODS if self._awaits(name)),
            signalled=calls.takes_argument(self._member_or_none("health")),
            described=description_kind(self._description),
            **answer_fields(self._exchange),
        )

    def _awaits(self, name: Method) -> bool:
        if name == "retrieve" and self._exchange is not None:
            return self._awaited.get(name, self._exchange.awaited)
        return self._awaited.get(name, calls.is_async(self._member_or_none(name)))

    def _member_or_none(self, name: str) -> Any:
        with contextlib.suppress(ProviderRaisedError):
            return self.member(name)
        return None

    # What a provider is asked.

    def member(self, name: str) -> Any:
        """An attribute of the provider, or None, which counts as absent (clause 1.1); raises what a property raises."""
        try:
            return getattr(self.provider, name, None)
        except BaseException as error:
            raise ProviderRaisedError(error, f"provider.{name}", "reading an attribute must not fail") from error

    @property
    def owner(self) -> str:
        """As whom the kit asks: the first owner of the settings, where they name one."""
        return next(iter(self.settings.owners), DEFAULT_OWNER)

    def context(self, **changes: Any) -> RetrievalContext:
        """A fresh trusted context with its own signal; ``changes`` replace its fields."""
        deadline = asyncio.get_running_loop().time() + self.settings.timeout
        fields = {
            "owner_id": self.owner,
            "session_id": "conformance-session",
            "turn_id": "conformance-turn",
            "trace_id": "conformance-trace",
            "signal": CancelSignal(deadline=deadline),
        }
        return RetrievalContext(**{**fields, **changes})

    async def describe(self) -> Any:
        """What ``describe()`` answers, called on the loop's own thread as a host does; raises what it raises."""
        self.count("describe()", self.settings.timeout)
        try:
            self._description = self.provider.describe()
        except BaseException as error:
            hint = "describe() needs no back end: answer what is known when the provider is made"
            raise ProviderRaisedError(error, "describe()", hint) from error
        return self._description

    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext | None = None) -> Exchange:
        """One answered call. Raises ``ProviderRaisedError`` when it fails, ``Hang`` when it does not end."""
        exchange = await self.attempt(request, context)
        if exchange.error is not None:
            hint = misused(exchange.error) or raised_hint("a valid request", self.owner)
            raise ProviderRaisedError(exchange.error, show_request(request), hint) from exchange.error
        return exchange

    async def attempt(self, request: RetrievalRequest, context: RetrievalContext | None = None) -> Exchange:
        """One call, whether it answers or raises; ``Hang`` when it does neither within the time for one call."""
        context = context or self.context()
        # What was asked, whatever the provider makes of the request that it gets (clause 3.8).
        asked = request.model_copy(deep=True)
        shown = show_request(asked)
        self.asks(shown, asked)
        self.count(shown, self.settings.timeout)
        ending = await calls.call(
            self.member("retrieve"),
            request,
            context,
            seconds=self.settings.timeout,
            on_timeout=lambda: context.signal.cancel("timeout"),
        )
        self._awaited["retrieve"] = ending.awaited
        refuse_hang(ending, shown, self.settings.timeout, hint=HANG_HINT, wanted="an answer")
        exchange = Exchange(asked, context, ending.value, ending.error, ending.seconds, ending.awaited)
        self._exchange = exchange
        self.answered(shown, str(exchange))
        return exchange

    @property
    def health_seconds(self) -> float:
        """How long a call of ``health`` may take (clause 2.1)."""
        # To see that a fault hangs there a trial need not wait for so long.
        return min(limits.HEALTH_SECONDS, self.settings.timeout) if self.settings.trial else limits.HEALTH_SECONDS

    async def health(self) -> calls.Ending:
        """One call of ``health``, with a signal when it takes one (clause 2.1)."""
        health = self.member("health")
        self.count("health()", self.health_seconds)
        arguments = (CancelSignal(),) if calls.takes_argument(health) else ()
        ending = await calls.call(health, *arguments, seconds=self.health_seconds)
        self._awaited["health"] = ending.awaited
        return ending

    async def close(self) -> calls.Ending:
        """One call of ``close()``; an ending that hung is a ``Hang``."""
        self.count("close()", self.settings.timeout)
        ending = await calls.call(self.member("close"), seconds=self.settings.timeout)
        self._awaited["close"] = ending.awaited
        # What a call keeps in its thread is the thread's, and a host's executor ends after its provider.
        end_idle_threads()
        refuse_hang(ending, "close()", self.settings.timeout, hint=HANG_HINT, wanted="an answer")
        return ending

    async def start(
        self,
        request: RetrievalRequest,
        context: RetrievalContext,
        stepped: Callable[[Awaitable[Any]], Awaitable[Any]] = lambda begun: begun,
    ) -> "asyncio.Task[Any] | None":
        """A call of ``retrieve`` as a task that a check can cancel, or None when it answered without one.

        ``stepped`` puts something around what is awaited.
        """
        self._asks(request)
        self.count(show_request(request), self.settings.timeout)
        begun = await calls.begin(self.member("retrieve"), request, context)
        self._awaited["retrieve"] = inspect.isawaitable(begun)
        return asyncio.ensure_future(calls.finish(stepped(begun))) if inspect.isawaitable(begun) else None
