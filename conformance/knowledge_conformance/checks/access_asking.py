"""How a rule asks, and how much it shows (clause 11.3 and those of providers); knows counts and time, no failure."""

import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from knowledge_conformance.access_subject import AccessSubject, new_context, shown_ids
from knowledge_conformance.apart import shown_apart
from knowledge_conformance.check import Check, Hang, Level, Violation, check
from knowledge_conformance.checks.access_rows import (
    ALICE,
    REQUEST,
    answer_of,
    index,
    knowing,
    row,
)
from knowledge_conformance.render import show
from knowledge_fakes.scripted import HeldProvider, ScriptedProvider
from knowledge_provider import CancelSignal, RetrievalRequest, limits, normalize_response

MINE: Final[Mapping[str, Any]] = {"user_id": "alice"}
BOBS: Final[Mapping[str, Any]] = {"user_id": "bob"}
_CALLS_MAX: Final = 8
_DEADLINE: Final = 0.5
_SLACK: Final = 1.0
# Of a caller who is in no hurry.
_WHOLE: Final = 30.0


def rows_of(labels: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Rows with these labels, by their places."""
    return [row(f"row-{place}", dict(each)) for place, each in enumerate(labels)]


# Clause 3.3
@check("KP-1113", clause="3.3", level=Level.MUST, needs=("KP-1121",))
async def never_more_than_were_asked_for(subject: AccessSubject) -> None:
    """At most top_k results are shown, however many the provider gives, or are asked for to have some left.

    A host plans by top_k. Who asks for eight to be able to withhold some must still answer with the two that were
    wanted.
    """
    rows = rows_of([MINE] * 20)
    for top_k in (1, 2, 5, limits.TOP_K_MAX):
        request = REQUEST.model_copy(update={"top_k": top_k})
        for provider in (knowing(rows), ScriptedProvider([rows])):
            async with subject.scoped(provider, ALICE) as scoped:
                exchange = await scoped.answer(request)
            if shown_ids(exchange) != [each["id"] for each in rows[:top_k]]:
                raise Violation(
                    wanted=f"the first {top_k} of {len(rows)} results that may be shown, since top_k is {top_k}",
                    saw=f"{exchange.size}: {', '.join(shown_ids(exchange)[:10])}",
                    hint="stop at request.top_k, in the provider's order",
                )
            subject.observe()


# Clause 5.9
@check("KP-1114", clause="5.9", level=Level.MUST, needs=("KP-1121",))
async def what_is_shown_stays_what_it_is(subject: AccessSubject) -> None:
    """A result that is shown keeps its id, content, score, source and metadata, and its place before the next one.

    A rule decides who sees something, not what it says. A host may look at the labels once more.
    """
    source = {"id": "d", "title": "Approvals", "uri": "https://a.example.com/d", "locator": "p 3"}
    whole = [
        row("first", {**MINE, "department": "people", "revision": 3, "binding": True}, source=source, score=0.9),
        row("hidden", dict(BOBS), score=0.8),
        row("second", {"visibility": "public", "tenant_id": "acme"}, score=0.7),
        {**row("third", dict(MINE), score=0.6), "content": "First line\n\tand a second one, 审批 🚢"},
    ]
    exchange = await answer_of(subject, whole, ALICE)
    wanted = _normalized([each for each in whole if each["id"] != "hidden"])
    found = _normalized(exchange.response)
    for expected, came in zip(wanted, [*found, *[{}] * len(wanted)], strict=False):
        for name, held in expected.items():
            if came.get(name) != held:
                wanted_one, saw = shown_apart(held, came.get(name))
                raise Violation(
                    wanted=f"{expected['id']} with its {name}: {wanted_one}",
                    saw=f"{show(came.get('id'))} with {saw}",
                    hint="give on each item as it came, in the order in which they came",
                )
        subject.observe()


def _normalized(response: object) -> list[dict[str, Any]]:
    return list(normalize_response(response, query=REQUEST.query, limit=limits.TOP_K_MAX).to_dict().get("results", []))


# Clause 3.5
@check("KP-1115", clause="3.5", level=Level.MUST, needs=("KP-1121",))
async def the_provider_is_asked_what_was_asked(subject: AccessSubject) -> None:
    """The provider gets the query, bases and filters of each request, its owner and its deadline, each time.

    What it does not get it cannot restrict itself to, and then the rule shows what the caller had excluded.
    """
    request = RetrievalRequest(
        query="release policy", top_k=2, knowledge_base_ids=("engineering",), filters={"language": "en"}
    )
    provider = knowing(rows_of([BOBS] * 8), capabilities={"filters": True})
    async with subject.scoped(provider, ALICE) as scoped:
        signal = CancelSignal(deadline=time.monotonic() + _WHOLE)
        await scoped.answer(request, new_context("alice", signal=signal))
    if not provider.calls:
        raise Violation(
            wanted="the provider to be asked", saw="no call of it", hint="ask it, and filter what it answers"
        )
    _require_time_told(provider)
    for call in provider.calls:
        for name in ("query", "knowledge_base_ids", "filters"):
            _require_same(name, getattr(request, name), getattr(call.request, name))
        _require_same("owner_id", "alice", call.context.owner_id)
        if not 1 <= call.request.top_k <= limits.TOP_K_MAX:
            raise Violation(
                wanted=f"top_k from 1 to {limits.TOP_K_MAX}",
                saw=show(call.request.top_k),
                hint="no provider has to accept more: ask for eight at most",
            )
        subject.observe()

    await _ask_anew(subject)


def _require_time_told(provider: ScriptedProvider) -> None:
    for call in provider.calls:
        deadline = call.context.signal.deadline
        if deadline is None:
            raise Violation(
                wanted="the caller's deadline for the provider, or an earlier one",
                saw="a signal without a deadline",
                hint="hand context on as it came, with its signal",
            )


async def _ask_anew(subject: AccessSubject) -> None:
    """The same query with other filters and bases: each is the provider's to answer."""
    provider = knowing(rows_of([MINE]), capabilities={"filters": True})
    asked = [
        RetrievalRequest(query="release policy", filters={"language": "en"}),
        RetrievalRequest(query="release policy", filters={"language": "de"}),
        RetrievalRequest(query="release policy", knowledge_base_ids=("people",)),
    ]
    async with subject.scoped(provider, ALICE) as scoped:
        for place, request in enumerate(asked):
            before = len(provider.calls)
            await scoped.answer(request, new_context("alice"))
            for call in provider.calls[before:]:
                _require_same("filters", request.filters, call.request.filters)
                _require_same("knowledge_base_ids", request.knowledge_base_ids, call.request.knowledge_base_ids)
            if len(provider.calls) == before:
                raise Violation(
                    wanted="the provider asked again for a query that was asked before with other filters or bases",
                    saw=f"{place} calls for {place + 1} different requests",
                    hint="keep no answer for another request; ask the provider each time",
                )
            subject.observe()


def _require_same(name: str, wanted: object, saw: object) -> None:
    if wanted != saw:
        own, came = shown_apart(wanted, saw)
        raise Violation(
            wanted=f"the request's own {name} for the provider: {own}",
            saw=came,
            hint="copy the request, and change nothing but top_k: request.model_copy(update={'top_k': …})",
        )


# Clause 11.3
@check("KP-1116", clause="11.3", level=Level.SHOULD, needs=("KP-1113",))
async def more_is_asked_for_where_too_few_are_left(subject: AccessSubject) -> None:
    """Where filtering left fewer than were asked for, and there may be more, more is asked for.

    What others may read must not push what is the reader's own out of the answer. A request can ask for eight.
    """
    request = REQUEST.model_copy(update={"top_k": 2})
    for labels, wanted in (
        ([BOBS, BOBS, BOBS, MINE, BOBS, MINE], ["row-3", "row-5"]),
        ([MINE, BOBS, BOBS, BOBS, BOBS, BOBS, BOBS, MINE], ["row-0", "row-7"]),
    ):
        exchange = await answer_of(subject, rows_of(labels), ALICE, request=request)
        if shown_ids(exchange) != wanted:
            raise Violation(
                wanted=f"{', '.join(wanted)}, which are among the first {limits.TOP_K_MAX} and the reader's own",
                saw=", ".join(shown_ids(exchange)) or "nothing",
                hint="where too few are left of a full answer, ask once more with top_k=8, within a part of "
                "signal.remaining(); where that does not end or fails, what came first is the answer",
            )
        subject.observe()


# Clause 11.3
@check("KP-1117", clause="11.3", level=Level.SHOULD, needs=("KP-1121",))
async def asking_for_more_has_an_end(subject: AccessSubject) -> None:
    """Asking for more has a bound, and stays within the caller's time: what was found by then is the answer.

    An index of which a reader may see nothing must not cost hundreds of calls, nor the result that came first.
    """
    provider = knowing(rows_of([BOBS] * 20))
    async with subject.scoped(provider, ALICE) as scoped:
        await scoped.answer(REQUEST.model_copy(update={"top_k": 2}))
    if len(provider.calls) > _CALLS_MAX:
        raise Violation(
            wanted=f"at most {_CALLS_MAX} calls of the provider for one search",
            saw=f"{len(provider.calls)} calls",
            hint="ask a second time at most, for the most that a request can ask for",
        )
    subject.observe()
    await _in_time(subject)


async def _in_time(subject: AccessSubject) -> None:
    rows = rows_of([MINE, BOBS, BOBS])
    with HeldProvider() as slow:
        provider = ScriptedProvider([index(rows), slow.retrieve])
        async with subject.scoped(provider, ALICE) as scoped:
            began = time.monotonic()
            signal = CancelSignal(deadline=began + _DEADLINE)
            try:
                exchange = await scoped.ask(REQUEST.model_copy(update={"top_k": 2}), new_context(signal=signal))
            except Hang as found:
                if found.lasting:
                    raise
                raise _late(found.saw) from None
            seconds = time.monotonic() - began
    if shown_ids(exchange) != ["row-0"] or seconds > _DEADLINE + _SLACK:
        raise _late(f"{exchange.came} after {seconds:.1f} s")
    subject.observe()


def _late(saw: str) -> Violation:
    return Violation(
        wanted=f"row-0, which came first, within the caller's {_DEADLINE:g} s, though asking for more hangs",
        saw=saw,
        hint="give the second question a part of signal.remaining(), and the first answer where it does not end",
    )


CHECKS: Final[tuple[Check, ...]] = (
    never_more_than_were_asked_for,
    what_is_shown_stays_what_it_is,
    the_provider_is_asked_what_was_asked,
    more_is_asked_for_where_too_few_are_left,
    asking_for_more_has_an_end,
)
"""Those of asking and answering; what is needed of them runs first."""
