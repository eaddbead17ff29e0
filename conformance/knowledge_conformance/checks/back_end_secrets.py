"""Clauses 5.10 and 6.4: credentials in what comes out of a failure. Knows each kind of failure; judges no answer."""

from contextlib import nullcontext, suppress
from typing import Final, NamedTuple

from knowledge_conformance import outages
from knowledge_conformance.channels import Leak, Search, Texts, texts_of_answer, texts_of_error
from knowledge_conformance.check import Check, Hang, Inapplicable, Level, Violation, calls_where
from knowledge_conformance.checks.back_end import CONTROL_CALLS, cut_check, refuse_nothing_seen, words_of
from knowledge_conformance.cutting import DEADLINE_SECONDS, Cutting, cutting, trials
from knowledge_conformance.declared import searchable
from knowledge_conformance.exchange import show_request
from knowledge_conformance.listening import Listener, listening
from knowledge_conformance.outages import Outage
from knowledge_conformance.subject import Subject
from knowledge_provider import RetrievalRequest

_KINDS: Final = 14
_EVERY_KIND: Final = 22
_SILENCE_SECONDS: Final = 0.2
_HEALTH_CALLS: Final = 2


def _calls(kinds: int) -> int:
    return CONTROL_CALLS + _HEALTH_CALLS + trials(kinds)


# Clause 5.10, and 6.4: what a back end says is not the provider's own text.
@cut_check(
    "KP-525",
    clause="5.10",
    level=Level.MUST,
    needs=("KP-502",),
    calls=calls_where("inject_network_faults", _calls(_KINDS), thorough=_calls(_EVERY_KIND)),
)
async def a_failure_keeps_secrets(subject: Subject) -> None:
    """A failure does not tell the credentials that the back end was given.

    Services repeat the key that they refuse, and clients tell what they sent. An error with either in it carries the
    key into logs, traces and the reports of every host. Listened to: one failure of each kind, and health() while the
    back end is away.
    """
    async with cutting(subject, words_of(subject)) as cut:
        recording = await cut.record()
        secrets = {**searchable(subject.settings.secrets), **recording.credentials}
        if not secrets:
            raise Inapplicable("no call has a credential in a header or parameter named so, and secrets names none")
        search, kinds = Search(secrets), outages.planted(recording, secrets, every=subject.settings.thorough)
        with listening(search) as listener:
            hearing = _Hearing(subject, cut, search, listener)
            # Asked first: after many failures some clients ask no more.
            await hearing.of_health(kinds)
            await hearing.of_failures(kinds, outages.silence(recording))
        _refuse_leaks([leak for leak in search.ordered if leak.call])
        refuse_nothing_seen(subject)


class _Hearing(NamedTuple):
    """A subject whose network is cut, and a search for what comes out of it."""

    subject: Subject
    cut: Cutting
    search: Search
    listener: Listener

    async def of_health(self, kinds: list[Outage]) -> None:
        if self.subject.member("health") is None:
            return
        unauthorized = next(each for each in kinds if each.code == "knowledge_unauthorized")
        for outage in (kinds[0], unauthorized):
            self.search.call = f"health(), with {outage.said}"
            ending, _ = await self.cut.health(outage)
            self.search.look_at(_texts(ending.value, ending.error, "health"))
            self.listener.settle()

    async def of_failures(self, kinds: list[Outage], silence: list[Outage]) -> None:
        (usual,) = await self.subject.unasked(1)
        for outage in kinds:
            # A cache may keep what calls itself a success.
            (request,) = await self.subject.unasked(1) if outage.calls_itself_sound else (usual,)
            # An ordinary answer's is no failure's text.
            self.search.call = ""
            await self.cut.rest()
            self.listener.settle()
            self.search.call = f"{show_request(request)}, with {outage.said}"
            # That nobody waits for ever is for KP-520 to say.
            with suppress(Hang) if outage in silence else nullcontext():
                await self._of_failure(outage, request, _SILENCE_SECONDS if outage in silence else DEADLINE_SECONDS)
            self.listener.settle()

    async def _of_failure(self, outage: Outage, request: RetrievalRequest, seconds: float) -> None:
        trial = await self.cut.trial(outage, request, seconds=seconds)
        self.search.look_at(_texts(trial.exchange.response, trial.exchange.error, "answer"))
        self.subject.observe(trial.asked)


def _texts(value: object, error: BaseException | None, name: str) -> Texts:
    return texts_of_answer(value, name) if error is None else texts_of_error(error)


def _refuse_leaks(leaks: list[Leak]) -> None:
    if leaks:
        raise Violation(
            wanted="no credential in what comes out of a failure",
            saw=f"{leaks[0].found}, in {leaks[0].channel}",
            hint="say in words of your own what failed, and put what the back end said, and what it was sent, into no "
            "message, note or log",
            where=leaks[0].call,
        )


CHECKS: Final[tuple[Check, ...]] = (a_failure_keeps_secrets,)
