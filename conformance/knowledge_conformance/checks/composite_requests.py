"""Clauses 3.5, 4.2, 4.3, 7.5 and 9.2: what each child is asked, and that calls and children keep to themselves."""

import asyncio
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from knowledge_conformance.check import Check, Level, Violation, check
from knowledge_conformance.checks.composite_children import Order, finding, in_order, nothing
from knowledge_conformance.composite_subject import CompositeSubject, contents, new_context
from knowledge_conformance.exchange import show_request
from knowledge_conformance.plain import Plain, plain
from knowledge_conformance.render import show
from knowledge_fakes.scripted import ScriptedProvider, SyncScriptedProvider
from knowledge_provider import RetrievalContext, RetrievalRequest, error_code

_MOMENT_SECONDS: Final = 0.05
_CALLERS: Final = 3
_FILTERED: Final = RetrievalRequest(query="release policy", filters={"language": "en"})
_FILTERS: Final = {"filters": True}


# Clause 4.2
@check("KP-913", clause="4.2", level=Level.MUST)
async def every_child_is_asked_the_same(subject: CompositeSubject) -> None:
    """Each child gets the caller's query, bases, filters and identity, also while others ask, and room for top_k.

    A child that is asked without the owner, or with another's, answers with what is not the caller's. One that is
    asked for less than top_k cannot fill the answer where the others find little.
    """
    children = {
        "first": ScriptedProvider([_later], key="first", capabilities=_FILTERS),
        "second": SyncScriptedProvider([nothing], key="second", capabilities=_FILTERS),
    }
    asked = [_asked_by(number) for number in range(2)]
    async with subject.composed(children) as composite:
        await asyncio.gather(*(composite.ask(*call) for call in asked))
    for key, child in children.items():
        got = [_Call(call.request, call.context) for call in child.calls]
        for each in got:
            if not any(each.is_of(call) for call in asked):
                raise _other(key, each, "which nobody asked")
        for each in asked:
            if not any(call.is_of(each) for call in got):
                raise _other(key, each, "which never came there")
            subject.observe()


class _Call(NamedTuple):
    """A request with the context that it came in."""

    request: RetrievalRequest
    context: RetrievalContext

    def is_of(self, asked: "_Call") -> bool:
        """Whether a child's call is what the caller asked; more results may be asked for, to have a choice."""
        request = self.request.model_copy(update={"top_k": asked.request.top_k})
        return self.request.top_k >= asked.request.top_k and _said(request, self.context) == _said(*asked)


async def _later(*_: object) -> Any:
    await asyncio.sleep(0)
    return nothing()


def _asked_by(number: int) -> _Call:
    request = RetrievalRequest(
        query=f"release policy {number}",
        top_k=6 + number,
        knowledge_base_ids=("engineering", f"base-{number}"),
        filters={"language": "en", "number": number},
    )
    identity = {name: f"{name}-{number}" for name in ("owner_id", "session_id", "turn_id", "trace_id")}
    return _Call(request, new_context(**identity))


def _other(key: str, call: _Call, how: str) -> Violation:
    return Violation(
        wanted=f"{key} to get each of the caller's requests as it is, with the caller's own identity",
        saw=f"{show_request(call.request)} of {show(call.context.owner_id)}, {how}",
        hint="hand the request on, and the context with nothing but its signal replaced: context.model_copy(...)",
    )


def _said(request: RetrievalRequest, context: RetrievalContext) -> Plain:
    asked = (request.query, request.top_k, request.knowledge_base_ids, request.filters)
    return plain((*asked, context.owner_id, context.session_id, context.turn_id, context.trace_id))


# Clause 7.5
@check("KP-928", clause="7.5", level=Level.MUST)
async def answers_are_not_mixed_up(subject: CompositeSubject) -> None:
    """Calls at the same time never get what children answered to another of them.

    What is collected on the composite, and not in the call, is everyone's: one user hears what another asked.
    """
    children = {key: ScriptedProvider([_echo], key=key) for key in ("first", "second")}
    requests = [RetrievalRequest(query=f"release policy {number}") for number in range(_CALLERS)]
    async with subject.composed(children) as composite:
        exchanges = await asyncio.gather(*(composite.answer(request) for request in requests))
    for exchange in exchanges:
        others = [content for content in contents(exchange) if content != exchange.request.query]
        if others or not exchange.count:
            raise Violation(
                wanted=f"the results to {show(exchange.request.query)}",
                saw=f"a result to {show(others[0])}" if others else exchange.came,
                hint="keep what children answer in local variables of the call",
                where=str(exchange),
            )
        subject.observe()


async def _echo(request: RetrievalRequest, _context: RetrievalContext) -> Any:
    await asyncio.sleep(0)
    return {"results": [{"id": request.query, "content": request.query}]}


# Clause 4.3
@check("KP-929", clause="4.3", level=Level.MUST)
async def no_answer_is_somebody_elses(subject: CompositeSubject) -> None:
    """The same question of another owner, or with other bases or filters, gets an answer of its own.

    A composite that remembers answers by the question, or lets calls share one that is under way, hands one owner's
    content to another. So does one that does so by a part of the request.
    """
    children = {key: ScriptedProvider([_reveal], key=key, capabilities=_FILTERS) for key in ("first", "second")}
    async with subject.composed(children) as composite:
        one_by_one = [await composite.answer(*call) for call in _alike()]
    # A composite that remembers nothing yet.
    async with subject.composed(children) as composite:
        at_once = await asyncio.gather(*(composite.answer(*call) for call in _alike()))
    for exchange in (*one_by_one, *at_once):
        wanted = _revealed(exchange.request, exchange.context)
        others = [content for content in contents(exchange) if content != wanted]
        if others or not exchange.count:
            raise Violation(
                wanted=f"results for {wanted}",
                saw=f"a result for {show(others[0])}" if others else exchange.came,
                hint="remember and share no answer, or only by the owner and the whole request",
                where=str(exchange),
            )
        subject.observe()


def _alike() -> list[_Call]:
    asked = RetrievalRequest(query="release policy")
    restricted = asked.model_copy(update={"knowledge_base_ids": ("engineering",)})
    filtered = asked.model_copy(update={"filters": {"language": "en"}})
    return [
        *(_Call(asked, new_context(owner_id=owner)) for owner in ("alice", "bob")),
        *(_Call(request, new_context(owner_id="alice")) for request in (restricted, filtered)),
    ]


def _revealed(request: RetrievalRequest, context: RetrievalContext) -> str:
    return f"{context.owner_id}, bases {[*request.knowledge_base_ids]}, filters {sorted(request.filters)}"


async def _reveal(request: RetrievalRequest, context: RetrievalContext) -> Any:
    # Long enough for the other calls to come.
    await asyncio.sleep(_MOMENT_SECONDS)
    return {"results": [{"id": "same", "content": _revealed(request, context)}]}


# Clause 3.5
@check("KP-919", clause="3.5", level=Level.SHOULD)
async def filters_are_refused_unless_all_can(subject: CompositeSubject) -> None:
    """Filters are refused, by their code, where one child does not claim them, and no child is asked.

    A child that cannot honour filters and is asked all the same answers with what they exclude. One that is left out
    without a word looks as if it knew nothing.
    """
    children = {"can": finding("can", "one", capabilities=_FILTERS), "cannot": finding("cannot", "two")}
    async with subject.composed(children) as composite:
        exchange = await composite.ask(_FILTERED)
    if exchange.error is None or error_code(exchange.error) != "knowledge_filters_unsupported":
        raise Violation(
            wanted="knowledge_filters_unsupported, since one of two children does not claim filters",
            saw=exchange.came,
            hint="raise KnowledgeFiltersUnsupportedError before any child is asked",
        )
    if children["cannot"].calls:
        raise Violation(
            wanted="no child to be asked with filters that another one cannot honour",
            saw="that the one was asked which does not claim them",
            hint="look at the children's claims before any of them is asked",
        )
    subject.observe()


# Clause 9.2
@check("KP-917", clause="9.2", level=Level.MUST)
async def a_child_changes_nothing_for_others(subject: CompositeSubject) -> None:
    """A child that writes into its request or context, or cancels its signal, does so for itself alone.

    Frozen models do not stop it: filters are a dictionary, object.__setattr__ sets an owner. A sibling that is asked
    with them answers another question, or for another owner.
    """
    asked, context = _FILTERED.model_copy(deep=True), new_context()
    said = _said(asked, context)
    undisturbed = await _got(subject, nothing, asked, context)
    disturbed = await _got(subject, _meddle, asked, context)
    if (_said(asked, context), context.signal.cancelled) != (said, False):
        raise _changed("the caller's own request, context and signal as they were", "them")
    if disturbed != undisturbed:
        raise _changed("the sibling to get what it gets beside any other child, with a live signal", "what it got")
    subject.observe(len(undisturbed))


async def _got(
    subject: CompositeSubject, beside: Callable[..., Any], request: RetrievalRequest, context: RetrievalContext
) -> list[tuple[Plain, bool]]:
    """What a child gets, and whether its signal is cancelled, once another one has been asked and done ``beside``."""
    order = Order(("other", "good"))
    got: list[tuple[Plain, bool]] = []

    def note(request: RetrievalRequest, context: RetrievalContext) -> dict[str, Any]:
        got.append((_said(request, context), context.signal.cancelled))
        return nothing()

    children = {
        "other": in_order(order, "other", beside, capabilities=_FILTERS),
        "good": in_order(order, "good", note, capabilities=_FILTERS),
    }
    async with subject.composed(children) as composite:
        # One that hangs is another check's matter.
        await asyncio.wait({await composite.start(request, context)}, timeout=composite.seconds)
    return got


def _meddle(request: RetrievalRequest, context: RetrievalContext) -> dict[str, Any]:
    request.filters.pop("language", None)
    object.__setattr__(request, "top_k", 1)
    object.__setattr__(context, "owner_id", "another-owner")
    context.signal.cancel("the back end hung up")
    return nothing()


def _changed(wanted: str, what: str) -> Violation:
    return Violation(
        wanted=wanted,
        saw=f"that a child had changed {what}",
        hint="give each child copies: request.model_copy(deep=True), and the context with a signal of its own",
    )


CHECKS: Final[tuple[Check, ...]] = (
    every_child_is_asked_the_same,
    answers_are_not_mixed_up,
    no_answer_is_somebody_elses,
    filters_are_refused_unless_all_can,
    a_child_changes_nothing_for_others,
)
