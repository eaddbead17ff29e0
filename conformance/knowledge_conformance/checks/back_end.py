"""Clauses 5.10 and 7.6: what a provider makes of a back end that fails. Knows outages; judges what comes of them.

Each check has its control: an ordinary answer of the same provider, whose calls are recorded, and without which nothing
that fails afterwards would mean anything. What fails is the network of this process, never a back end.
"""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from itertools import cycle
from typing import Final

from knowledge_conformance import outages
from knowledge_conformance.check import (
    Check,
    Facet,
    Inapplicable,
    Inconclusive,
    Level,
    Phase,
    Violation,
    calls_where,
    check,
)
from knowledge_conformance.checks.judging import judge_all, judges_that_hold
from knowledge_conformance.cutting import NO_CALL, Cutting, Trial, cutting, said_of, trials
from knowledge_conformance.network import Break, Reply
from knowledge_conformance.outages import Outage
from knowledge_conformance.recording import Recording, Where
from knowledge_conformance.render import show, show_error
from knowledge_conformance.settings import Settings
from knowledge_conformance.subject import Subject
from knowledge_conformance.taint import canary
from knowledge_provider import RetrievalRequest, errors

_SILENCE_SECONDS: Final = 0.5
_SINGLE_DAMAGES: Final = 4
CONTROL_CALLS: Final = 2
"""Calls in which an ordinary answer is looked for that makes a call of a client's."""
_USUAL: Final = 1
_PAGES: Final = 1
_COMPOSITES: Final = frozenset({"knowledge_all_sources_failed", "knowledge_sources_incomplete"})
_CODES_HINT: Final = "knowledge_provider.services.refusal(status, retry_after) makes the error for a status"


def _calls(trials: int) -> Callable[[Settings], int]:
    return calls_where("inject_network_faults", trials)


cut_check: Final = partial(check, facet=Facet.BACK_END, surveyed=True, phase=Phase.BOUNDARIES)
"""Declares a check that asks while the network is cut."""


def words_of(subject: Subject) -> str:
    """What a back end that fails says in this run."""
    return canary("back end", subject.settings.seed)


async def _all_fail(
    subject: Subject, cut: Cutting, recording: Recording, those: Sequence[Outage], *, requests: int = 1
) -> None:
    """Try each outage on one request in turn; where an answer takes several calls, they begin at different ones."""
    asked = zip(those, cycle(recording.places), cycle(await subject.unasked(requests)), strict=False)
    for outage, where, request in asked:
        if await cut.failed(await cut.trial_at(where, outage, request)):
            subject.observe()
    refuse_nothing_seen(subject)


def refuse_nothing_seen(subject: Subject) -> None:
    """Raise ``Inconclusive`` when no trial met its outage."""
    if not subject.observations:
        raise Inconclusive(
            "no call was made while the network was cut, or what came was an answer that is the same without it",
            hint="turn a cache off, and a fallback, where the provider is made for the kit",
        )


# Clause 5.10
@cut_check(
    "KP-519",
    clause="5.10",
    level=Level.MUST,
    needs=("KP-502",),
    calls=_calls(CONTROL_CALLS + _USUAL + trials(_PAGES + 5)),
)
async def no_connection_is_a_failure(subject: Subject) -> None:
    """A back end that cannot be reached, or breaks off, gives an exception.

    To a caller, an empty answer means that there is nothing about the matter. While the back end is down nobody knows
    that, and an agent that says it is wrong with confidence.
    """
    async with cutting(subject, words_of(subject)) as cut:
        recording = await cut.record()
        await _all_fail(subject, cut, recording, [*outages.connection(), outages.broken_off(recording)])


# Clause 5.10
@cut_check(
    "KP-520", clause="5.10", level=Level.MUST, needs=("KP-502",), calls=_calls(CONTROL_CALLS + _USUAL + trials(2))
)
async def silence_is_a_failure(subject: Subject) -> None:
    """A back end that says nothing, or never comes to an end, gives an exception in time.

    A time-out between two bytes never fires while bytes come. Only a limit for the whole call ends it, and the
    host says in context.signal how much time there is.
    """
    async with cutting(subject, words_of(subject)) as cut:
        recording = await cut.record()
        (request,) = await subject.unasked(1)
        for outage in outages.silence(recording):
            if await cut.failed(await cut.trial(outage, request, seconds=_SILENCE_SECONDS)):
                subject.observe()
        refuse_nothing_seen(subject)


# Clause 5.10
@cut_check(
    "KP-521",
    clause="5.10",
    level=Level.MUST,
    needs=("KP-502",),
    calls=_calls(CONTROL_CALLS + _USUAL + trials(_PAGES + 9)),
)
async def a_refusal_is_a_failure(subject: Subject) -> None:
    """A status of 401, 403, 404, 408, 429, 500, 502 or 503 gives an exception.

    Many clients do not raise for a status, and the body of an error has no results in it: read as an answer, it says
    that nothing was found. Its text is no passage either.
    """
    async with cutting(subject, words_of(subject)) as cut:
        await _all_fail(subject, cut, await cut.record(), outages.statuses(cut.words))


# Clause 5.10
@cut_check(
    "KP-522",
    clause="5.10",
    level=Level.MUST,
    needs=("KP-502",),
    calls=_calls(CONTROL_CALLS + _USUAL + trials(_PAGES + 5)),
)
async def nonsense_is_a_failure(subject: Subject) -> None:
    """A reply that calls itself a success and is no answer gives an exception.

    A proxy's login page, an error in JSON, half a body: the status is 200, and there is no list of results. That there
    is none is not that it is empty.
    """
    async with cutting(subject, words_of(subject)) as cut:
        recording = await cut.record()
        # A cache may keep what calls itself a success: each has a request of its own.
        those = outages.bodies(recording, cut.words)
        await _all_fail(subject, cut, recording, those, requests=len(those))


# Clause 5.10
@cut_check(
    "KP-523",
    clause="5.10",
    level=Level.MUST,
    needs=("KP-522",),
    calls=_calls(CONTROL_CALLS + trials(8 + _SINGLE_DAMAGES)),
)
async def damage_is_noticed(subject: Subject) -> None:
    """A damaged copy of a sound reply gives an exception, or an answer that keeps the contract.

    Back ends change: a text becomes null, a number a string, a score NaN. What a host gets must be as sound as ever;
    and where nothing can be read any more, that is no empty answer.
    """
    judges = await judges_that_hold(subject)
    async with cutting(subject, words_of(subject)) as cut:
        recording = await cut.record()
        copies = outages.damaged(recording, seed=subject.settings.seed, single=_SINGLE_DAMAGES)
        if not copies:
            raise Inapplicable("the back end does not answer in JSON, so no copy of it can be damaged with care")
        for copy, request in zip(copies, await subject.unasked(len(copies)), strict=True):
            trial = await cut.trial(copy.outage, request, where=Where(recording.last_step))
            if trial.exchange.error is None and trial.asked:
                if trial.exchange.count == 0 and copy.whole:
                    await cut.failed(trial)
                with said_of(copy.outage):
                    judge_all(trial.exchange, judges)
            subject.observe(trial.asked)
        refuse_nothing_seen(subject)


# Clause 5.10
@cut_check("KP-524", clause="5.10", level=Level.MUST, needs=("KP-502",), calls=_calls(trials(5) + 5))
async def it_works_again(subject: Subject) -> None:
    """When the back end is there again, so is the provider.

    A client that was closed after an error, a token that was never fetched, a failure that is remembered: the back end
    was away for a second, and the provider until somebody restarts it.
    """
    async with cutting(subject, words_of(subject)) as cut:
        # No control first: the very first call of a provider may be the one that fails.
        those = _passing(cut.words)
        for outage, request in zip(those, await subject.unasked(len(those)), strict=True):
            trial = await cut.trial(outage, request)
            if trial.asked:
                await _answers_again(subject, cut, trial, request)
    if not subject.observations:
        raise Inapplicable(NO_CALL)


def _passing(words: str) -> list[Outage]:
    refused, _, late, reset = outages.connection()
    return [refused, reset, outages.unavailable(words), late, Outage("an empty body", Reply())]


async def _answers_again(subject: Subject, cut: Cutting, trial: Trial, request: RetrievalRequest) -> None:
    exchange, asked = await cut.whole(request)
    if exchange.error is not None or not (asked or exchange.count):
        raise Violation(
            wanted="an answer as soon as the back end is there again",
            saw="nothing, without asking" if exchange.error is None else exchange.came,
            hint="keep no state of a call that failed: make a client, a session and a token anew where they broke",
            where=f"{exchange}, after a call with {trial.outage.said}",
        )
    subject.observe()


# Clause 5.10
@cut_check("KP-526", clause="5.10", level=Level.SHOULD, needs=("KP-521",), calls=_calls(CONTROL_CALLS + trials(5)))
async def a_failure_says_what_it_is(subject: Subject) -> None:
    """An error with a code of the contract has the one that fits: unauthorized, rate limited, unavailable.

    Hosts decide by it whether to try again, after how long, and whom to tell. Errors without a code are none of this
    check's business: a provider may raise its own.
    """
    async with cutting(subject, words_of(subject)) as cut:
        await cut.record()
        (request,) = await subject.unasked(1)
        for outage in _with_codes(cut.words):
            trial = await cut.trial(outage, request)
            subject.observe(trial.asked and _has_its_code(trial))
    if not subject.observations:
        raise Inapplicable("its errors carry no code of the contract, which none has to")


def _with_codes(words: str) -> list[Outage]:
    unauthorized, _, _, _, limited, *_, unavailable, limited_for = outages.statuses(words)
    return [outages.connection()[0], unauthorized, limited, unavailable, limited_for]


def _has_its_code(trial: Trial) -> bool:
    error = trial.exchange.error
    code = None if error is None else errors.error_code(error)
    # Out of time is true as well, where a provider tries again; and of several back ends no one has a say.
    if error is None or code is None or code == "knowledge_timeout" or code in _COMPOSITES:
        return False
    if code != trial.outage.code:
        raise Violation(wanted=f"the code {trial.outage.code}", saw=code, hint=_CODES_HINT, where=str(trial))
    wait = errors.read_or_none(lambda: getattr(error, "retry_after", None))
    if "Retry-After" in trial.outage.said and wait != outages.RETRY_AFTER:
        wanted = f"retry_after {outages.RETRY_AFTER}, as the back end asks"
        raise Violation(wanted=wanted, saw=show(wait), hint=_CODES_HINT, where=str(trial))
    return True


# Clause 7.6
@cut_check("KP-707", clause="7.6", level=Level.SHOULD, needs=("KP-519",), calls=_calls(CONTROL_CALLS + 1))
async def a_time_out_is_its_own(subject: Subject) -> None:
    """A time-out inside the provider is an ordinary failure, not the host's deadline and not a cancellation.

    A host that takes it for its own deadline gives up a turn that had seconds left; one that takes it for a
    cancellation drops the turn without a word.
    """
    async with cutting(subject, words_of(subject)) as cut:
        await cut.record()
        (request,) = await subject.unasked(1)
        trial = await cut.trial(Outage("connections not made in time", Break.LATE), request, seconds=None)
    error = trial.exchange.error
    if error is None or not trial.asked or trial.exchange.context.signal.remaining() == 0:
        raise Inapplicable("a time-out of its client's did not come out of the provider")
    code = errors.error_code(error)
    if isinstance(error, asyncio.CancelledError) or type(error) is TimeoutError or code == "knowledge_timeout":
        raise Violation(
            wanted="an error of the provider's own, since the host's deadline had not passed",
            saw=f"raised {show_error(error)}" + (f" with the code {code}" if code else ""),
            hint="raise KnowledgeFailedError(…, retryable=True) from it; knowledge_timeout is the host's deadline",
        )
    subject.observe()


CHECKS: Final[tuple[Check, ...]] = (
    no_connection_is_a_failure,
    silence_is_a_failure,
    a_refusal_is_a_failure,
    nonsense_is_a_failure,
    damage_is_noticed,
    it_works_again,
    a_failure_says_what_it_is,
    a_time_out_is_its_own,
)
