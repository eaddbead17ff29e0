"""A provider whose network is in the kit's hands: asked while it works, and asked while it is cut.

Knows one subject, its network and what came of each trial. Whether that is right is for a check to say.
"""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Final

from knowledge_conformance.calls import Ending
from knowledge_conformance.check import Hang, Inapplicable, Inconclusive, Violation
from knowledge_conformance.exchange import Exchange, as_dict, text_of
from knowledge_conformance.network import Fate, Network, Reply, watched
from knowledge_conformance.outages import Outage, of_later_pages
from knowledge_conformance.parts import parts_of
from knowledge_conformance.plain import copied
from knowledge_conformance.recording import Recording, Where
from knowledge_conformance.render import show
from knowledge_conformance.subject import Subject
from knowledge_conformance.taint import found_in
from knowledge_provider import CancelSignal, RetrievalContext, RetrievalRequest

DEADLINE_SECONDS: Final = 1.0
"""How much time a call has while the network is cut; less where the settings give a call less."""

IN_A_ROW: Final = 2
"""Failures after which there is an ordinary answer: some clients give up for a while after three."""

NOT_ASKED: Final = (
    "the network is cut only where that is asked for: --inject-network-faults, or the setting of that name"
)
NO_CALL: Final = (
    "an answer made no call through httpx, httpx2, aiohttp, urllib3 or requests, so there is no network to cut"
)
_EVERYWHERE: Final = Where()
_SHOWN_MAX: Final = 3
_LATE_HINT: Final = "bound the whole call by context.signal.remaining(), retries and the reading of a body included"


def trials(count: int) -> int:
    """How many calls so many trials take at most, with the ordinary answers between them."""
    return count + (count - 1) // IN_A_ROW


@dataclass(frozen=True, slots=True)
class Trial:
    """A call while the network was cut; ``asked`` says that it tried to reach its back end."""

    outage: Outage
    exchange: Exchange
    asked: bool

    def __str__(self) -> str:
        """The call on one line, and what its network was like."""
        return f"{self.exchange}, with {self.outage.said}"


class Cutting:
    """One provider and its network. ``words`` are what a back end says that fails."""

    def __init__(self, subject: Subject, network: Network, known: list[Exchange], words: str) -> None:
        self.words: str = words
        self._subject = subject
        self._network = network
        self._known = known
        self._found: dict[str, set[str]] = {}
        # An answer of many results is the one that takes a second page.
        self._control: RetrievalRequest = max(known, key=lambda exchange: exchange.count).request
        self._pages = True
        self._recording = Recording(())
        self._failures = 0
        self._asked = False
        self._unjudged: list[str] = []

    async def record(self) -> Recording:
        """What an ordinary answer takes: the control. Raises ``Inapplicable`` when it makes no call."""
        for request in (self._control, *await self._subject.unasked(1)):
            self._network.calls.clear()
            exchange = await self._subject.retrieve(request.model_copy(deep=True))
            self._remember(exchange)
            if self._network.calls:
                self._control = request
                self._recording = Recording(tuple(self._network.calls), exchange.count)
                return self._recording
        raise Inapplicable(NO_CALL)

    async def trial(
        self,
        outage: Outage,
        request: RetrievalRequest,
        *,
        seconds: float | None = DEADLINE_SECONDS,
        where: Where = _EVERYWHERE,
    ) -> Trial:
        """One call, with ``seconds`` of time, while the calls of a client's that ``where`` says meet the outage.

        After ``IN_A_ROW`` failures an ordinary answer is asked for first. Raises ``Hang`` when the call does not end in
        the time for one.
        """
        await self.rest()
        self._network.calls.clear()
        fate = self._read_as(outage.fate, where)
        with self._network.cut(fate, where.step, later=where.later), said_of(outage):
            exchange = await self._subject.attempt(request.model_copy(deep=True), self._context(seconds))
        trial = Trial(outage, exchange, any(call.fate is not None for call in self._network.calls))
        if exchange.seconds > self._subject.settings.timeout:
            raise Hang(wanted=self._in_time, saw="that it took longer", hint=_LATE_HINT, where=str(trial))
        self._subject.show(str(trial))
        self._note(trial)
        return trial

    def _note(self, trial: Trial) -> None:
        failed = trial.exchange.error is not None
        self._failures = self._failures + 1 if failed else 0
        self._asked = self._asked or trial.asked
        if failed and not self._network.calls:
            self._unjudged.append(trial.outage.said)

    def refuse_unjudged(self) -> None:
        """Raise ``Inconclusive`` when calls failed without asking, and others did ask: of those nothing is known."""
        if self._asked and self._unjudged:
            shown = self._unjudged[:_SHOWN_MAX]
            more = len(self._unjudged) - len(shown)
            raise Inconclusive(
                f"after some failures it asked no more, and was not seen with {'; '.join(shown)}"
                + (f"; and {more} more" if more else ""),
                hint="turn a circuit breaker off where the provider is made for the kit, or let it bear three failures",
            )

    async def trial_at(self, where: Where, outage: Outage, request: RetrievalRequest) -> Trial:
        """One call as ``trial`` makes it; for later pages the control's, which had some.

        Where that makes no second call either, because a cache or a session has what the first one was for, every call
        of ``request`` meets the outage.
        """
        if where.later and self._pages:
            trial = await self.trial(of_later_pages(outage), self._control, where=where)
            self._pages = trial.asked
            if trial.asked:
                return trial
        return await self.trial(outage, request, where=_EVERYWHERE if where.later else where)

    async def health(self, outage: Outage | None = None) -> tuple[Ending, bool]:
        """One call of ``health`` while every call of a client's meets the outage, if any; and whether it made one."""
        self._network.calls.clear()
        with contextlib.ExitStack() as stack:
            if outage is not None:
                stack.enter_context(self._network.cut(outage.fate, patience=self._subject.health_seconds))
            ending = await self._subject.health()
        return ending, bool(self._network.calls)

    async def rest(self) -> None:
        """After several failures in a row an ordinary answer, so that what gives up after some more goes on asking."""
        if self._failures >= IN_A_ROW:
            self._failures = 0
            await self.whole(self._control)

    async def whole(self, request: RetrievalRequest) -> tuple[Exchange, bool]:
        """The same request with the network as it was, and whether that made a call."""
        self._network.calls.clear()
        exchange = await self._subject.attempt(request.model_copy(deep=True))
        if exchange.error is None:
            self._failures = 0
        self._remember(exchange)
        return exchange, bool(self._network.calls)

    async def failed(self, trial: Trial) -> bool:
        """Whether a call failed as it has to; False where it had an answer that it kept, which says nothing.

        Raises ``Violation`` when it found nothing, or made an answer out of the failure.
        """
        if trial.exchange.error is not None or not trial.asked:
            return trial.asked
        self.refuse_words(trial)
        if trial.exchange.count == 0:
            raise _no_failure(trial, f"{show(trial.exchange.response)}, as if nothing was found")
        # A copy that was kept is the answer that there is without the outage; what was saved of another one is not.
        usual, found = await self._ids_of(trial.exchange.request), _ids(trial.exchange)
        if trial.outage.partial and found < usual:
            raise _no_failure(trial, f"an answer with {len(found)} of the {len(usual)} results that there are")
        if (found != usual) if trial.outage.partial else not found <= usual:
            raise _no_failure(trial, f"an answer, whose first result has the content {show(_content(trial.exchange))}")
        return False

    def refuse_words(self, trial: Trial) -> None:
        """Raise ``Violation`` when the back end's own words stand in an answer."""
        texts = (copied(part) for _, part in parts_of(trial.exchange.response))
        if any(text is not None and found_in(text, {"its words": self.words}) for text in texts):
            raise _no_failure(trial, "an answer with the words in which the back end said that it failed")

    def _read_as(self, fate: Fate, where: Where) -> Fate:
        # With a fault in it, a provider that takes bad replies for answers gets such an answer in their place.
        misread, answer = self._subject.life.misread, self._recording.answer
        if misread is None or answer is None or not isinstance(fate, Reply):
            return fate
        from knowledge_fakes.faults import BadReply

        sound = self._recording.json
        read = None if sound is None else misread(BadReply(fate.status, fate.sent, sound, where.later))
        return fate if read is None else Reply(answer.status, answer.headers, json.dumps(read).encode())

    def _context(self, seconds: float | None) -> RetrievalContext:
        if seconds is None:
            return self._subject.context()
        left = min(seconds, self._subject.settings.timeout / 2)
        return self._subject.context(signal=CancelSignal(deadline=asyncio.get_running_loop().time() + left))

    @property
    def _in_time(self) -> str:
        return f"an error within {self._subject.settings.timeout:g} s"

    async def _ids_of(self, request: RetrievalRequest) -> set[str]:
        if request.query not in self._found:
            await self.whole(request)
        return self._found[request.query]

    def _remember(self, exchange: Exchange) -> None:
        self._found.setdefault(exchange.request.query, set()).update(_ids(exchange))


@contextlib.asynccontextmanager
async def cutting(subject: Subject, words: str) -> AsyncIterator[Cutting]:
    """The subject with its network in the kit's hands, for as long as the block lasts.

    Raises ``Inapplicable`` where nobody asked for it, ``Inconclusive`` where there is no answer to compare with, and at
    the end of a block that ends well what ``refuse_unjudged`` does.
    """
    if not subject.settings.inject_network_faults:
        raise Inapplicable(NOT_ASKED)
    known = await subject.found()
    with watched(subject.settings.timeout) as network:
        if network is None:
            raise Inconclusive("another run in this process has cut the network", hint="run one after the other")
        cut = Cutting(subject, network, known, words)
        yield cut
        cut.refuse_unjudged()


@contextlib.contextmanager
def said_of(outage: Outage) -> Iterator[None]:
    """Let a finding of the block say what the network was like; a ``Hang`` stays one."""
    try:
        yield
    except Hang as found:
        wanted = found.wanted.replace("an answer", "an error")
        raise Hang(wanted=wanted, saw=found.saw, hint=_LATE_HINT, where=f"{found.where}, with {outage.said}") from None
    except Violation as found:
        where = f"{found.where}, with {outage.said}"
        raise Violation(wanted=found.wanted, saw=found.saw, hint=found.hint, where=where) from None


def _no_failure(trial: Trial, saw: str) -> Violation:
    return Violation(
        wanted="an exception",
        saw=saw,
        hint="look at the status, then at the shape of what came, and raise for all that is no answer; what cannot be "
        "read is KnowledgeInvalidResponseError",
        where=str(trial),
    )


def _ids(exchange: Exchange) -> set[str]:
    found = (copied(text_of(entry, "id")) for _, entry in exchange.entries)
    return {each if each is not None else "" for each in found}


def _content(exchange: Exchange) -> object:
    first = as_dict(exchange.items[0]) if exchange.items else None
    return exchange.response if first is None else text_of(first, "content")
