"""Clauses 9.3 and 9.4: what a composite says of its children, and when it fails. Knows statuses, codes and health."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from knowledge_conformance.check import Check, Level, Violation, check
from knowledge_conformance.checks.composite_children import GIVEN_UP_SECONDS, REQUEST, finding, require_passages
from knowledge_conformance.composite_subject import CompositeSubject, reports
from knowledge_conformance.exchange import Exchange
from knowledge_conformance.plain import copied, plain
from knowledge_conformance.render import show
from knowledge_fakes.scripted import HeldProvider, ScriptedProvider, SyncScriptedProvider, returning
from knowledge_provider import error_code
from knowledge_provider.errors import (
    KnowledgeBaseUnknownError,
    KnowledgeFailedError,
    KnowledgeUnauthorizedError,
    read_or_none,
)

_REASONS: Final = ("timeout", "error", "invalid_response", "unauthorized", "not_registered")
_STATUSES: Final = ("hit", "no_hit", "ignored", "failed")
_CANARY: Final = "canary-7d1f"
# More than a batch or a list of the usual sizes holds, and fewer than the reports that a host reads.
_MANY: Final = 40
_DOWN: Final = f"GET https://api.example.com/?key={_CANARY} failed"


class _VendorError(Exception):
    """An error of a provider that was written without the contract's package."""

    code = "knowledge_unauthorized"


class _Wanted(NamedTuple):
    status: str
    found: int = 0
    reason: str | None = None


_EXPECTED: Final[Mapping[str, _Wanted]] = {
    "hit": _Wanted("hit", 2),
    "no-hit": _Wanted("no_hit"),
    "hanging": _Wanted("failed", reason="timeout"),
    "raising": _Wanted("failed", reason="error"),
    "refused": _Wanted("failed", reason="unauthorized"),
    "refused-too": _Wanted("failed", reason="unauthorized"),
    "nothing": _Wanted("failed", reason="invalid_response"),
    "nonsense": _Wanted("failed", reason="invalid_response"),
}


def _children() -> dict[str, Any]:
    return {
        "hit": finding("hit", "one", "two"),
        "no-hit": finding("no-hit"),
        "hanging": HeldProvider(key="hanging"),
        "raising": ScriptedProvider([ConnectionError(_DOWN)], key="raising"),
        "refused": ScriptedProvider([KnowledgeUnauthorizedError(_DOWN)], key="refused"),
        "refused-too": SyncScriptedProvider([_VendorError(_DOWN)], key="refused-too"),
        "nothing": ScriptedProvider([None], key="nothing"),
        "nonsense": ScriptedProvider([returning({"results": [{"title": "no id and no content"}]})], key="nonsense"),
    }


# Clause 9.3
@check("KP-906", clause="9.3", level=Level.MUST)
async def each_child_has_a_status(subject: CompositeSubject) -> None:
    """The answer's sources hold one report of each child: its status, its count, and a reason from the five slugs.

    An answer that is thinner than it could be looks like any other. Only the report tells the agent that a source was
    not heard, and an operator which one and why: without a free text, in which a key or a query may stand.
    """
    children = _children()
    with children["hanging"]:
        async with subject.composed(children, deadline=GIVEN_UP_SECONDS) as composite:
            exchange = await composite.answer(REQUEST)
    found = reports(exchange)
    for key, wanted in _EXPECTED.items():
        of_this = [report for report in found if copied(report.get("key")) == key]
        if len(of_this) != 1:
            raise _unreported(f"one report of the child {key}", f"{len(of_this)} of them")
        _require_report(key, of_this[0], wanted)
        subject.observe()
    if len(found) != len(_EXPECTED):
        raise _unreported(f"a report of each of {len(_EXPECTED)} children", f"{len(found)} reports")
    await _many_are_reported(subject)


async def _many_are_reported(subject: CompositeSubject) -> None:
    """However many there are, up to what a host reads; the last of them is the one that found something."""
    keys = [f"child-{number}" for number in range(_MANY)]
    children = {key: finding(key, *["one"] * (key == keys[-1])) for key in keys}
    async with subject.composed(children) as composite:
        exchange = await composite.answer(REQUEST)
    reported = [copied(report.get("key")) for report in reports(exchange)]
    unreported = [key for key in keys if key not in reported]
    if unreported:
        raise _unreported(f"a report of each of {_MANY} children", f"none of {unreported[0]}")
    require_passages(exchange, ("one",), hint="ask every child, however many there are")
    subject.observe(_MANY)


def _require_report(key: str, report: dict[str, Any], wanted: _Wanted) -> None:
    status, count, reason = (report.get(name) for name in ("status", "count", "reason"))
    if copied(status) != wanted.status:
        raise _unreported(f"the status {wanted.status!r} of {key} (out of {', '.join(_STATUSES)})", show(status))
    if plain(count) != wanted.found:
        raise _unreported(f"the count {wanted.found} of {key}, which is {wanted.status}", show(count))
    if wanted.reason is not None and copied(reason) != wanted.reason:
        raise _unreported(f"the reason {wanted.reason!r} of {key} (out of {', '.join(_REASONS)})", show(reason))
    if reason is not None and copied(reason) not in _REASONS:
        raise _unreported(f"no reason of {key}, or one of {', '.join(_REASONS)}", show(reason))


def _unreported(wanted: str, saw: str) -> Violation:
    hint = 'answer {"results": [...], "sources": [{"key": ..., "status": ..., "count": ..., "reason": ...}, ...]}'
    return Violation(wanted=wanted, saw=saw, hint=hint)


# Clause 9.4
@check("KP-907", clause="9.4", level=Level.MUST)
async def all_failed_is_a_failure(subject: CompositeSubject) -> None:
    """Where every child failed, the call fails with knowledge_all_sources_failed.

    As an empty answer an outage would read as if nothing was known, and the agent would answer from memory.
    """
    with HeldProvider(key="hanging") as hanging:
        children = {
            "raising": _raising("raising"),
            "hanging": hanging,
            "nothing": ScriptedProvider([None], key="nothing"),
        }
        await _require_code(subject, children, "knowledge_all_sources_failed", "all children failed")
    await _require_code(subject, {"alone": _raising("alone")}, "knowledge_all_sources_failed", "the only child failed")


# Clause 9.4
@check("KP-908", clause="9.4", level=Level.MUST)
async def no_hit_and_a_failure_is_a_failure(subject: CompositeSubject) -> None:
    """Where no child found anything and one failed, the call fails with knowledge_sources_incomplete.

    What was asked for may stand in the one that failed: "not found" would be a claim that nobody checked.
    """
    children: dict[str, Any] = {"empty": finding("empty"), "raising": _raising("raising")}
    await _require_code(subject, children, "knowledge_sources_incomplete", "one child found nothing, the other failed")
    with HeldProvider(key="hanging") as hanging:
        children = {"hanging": hanging, "empty": finding("empty"), "empty-too": finding("empty-too")}
        await _require_code(
            subject, children, "knowledge_sources_incomplete", "two children found nothing, the third did not answer"
        )


def _raising(key: str) -> ScriptedProvider:
    return ScriptedProvider([ConnectionError(_DOWN)], key=key)


async def _require_code(subject: CompositeSubject, children: Mapping[str, Any], code: str, where: str) -> None:
    async with subject.composed(children, deadline=GIVEN_UP_SECONDS) as composite:
        exchange = await composite.ask(REQUEST)
    if exchange.error is None or error_code(exchange.error) != code:
        raise Violation(
            wanted=f"an exception with the code {code}, where {where}",
            saw=exchange.came,
            hint="count the failed children before you answer: all of them, or one of them and no result",
        )
    subject.observe()


# Clause 3.7
@check("KP-915", clause="3.7", level=Level.MUST)
async def nothing_found_is_an_answer(subject: CompositeSubject) -> None:
    """Where every child answered and none found anything, the answer is an empty list: no exception, no filler.

    Otherwise a question without an answer reads as an outage, and is asked again and again.
    """
    children = {"first": finding("first"), "second": finding("second")}
    async with subject.composed(children) as composite:
        exchange = await composite.answer(REQUEST)
    if exchange.count:
        raise Violation(wanted="no result", saw=exchange.came, hint="return what the children found, and nothing else")
    _observe_if_asked(subject, *children.values())


# Clause 9.3
@check("KP-920", clause="9.3", level=Level.SHOULD)
async def a_refusal_is_not_a_failure(subject: CompositeSubject) -> None:
    """A child that refuses a knowledge base which it does not hold has not failed.

    Bases belong to one child or another. If every other child's refusal was a failure, each search in one base would
    be incomplete.
    """
    children = {"refusing": ScriptedProvider([KnowledgeBaseUnknownError()], key="refusing"), "empty": finding("empty")}
    async with subject.composed(children) as composite:
        exchange = await composite.ask(REQUEST.model_copy(update={"knowledge_base_ids": ("people",)}))
    if exchange.error is not None:
        raise _refusal_failed("an empty answer, where one child refused the base and the other found nothing", exchange)
    if any(copied(report.get("status")) == "failed" for report in reports(exchange)):
        raise _refusal_failed("the status 'ignored' (or 'no_hit') of the child that refused", exchange)
    _observe_if_asked(subject, children["refusing"])


def _refusal_failed(wanted: str, exchange: Exchange) -> Violation:
    saw = exchange.came if exchange.error is not None else "the status 'failed'"
    hint = "read knowledge_base_unknown and knowledge_filters_unsupported as 'ignored', with not_registered as reason"
    return Violation(wanted=wanted, saw=saw, hint=hint)


# Clause 5.10
@check("KP-914", clause="5.10", level=Level.MUST)
async def what_a_child_raised_stays_out(subject: CompositeSubject) -> None:
    """The text of a child's exception is neither in the answer nor in the message of the composite's own exception.

    It may hold a key, a query or a document; an agent would quote it, and a log would keep it.
    """
    down = _down()
    async with subject.composed({**down, "good": finding("good", "one")}) as composite:
        exchange = await composite.answer(REQUEST)
    if _CANARY in repr(plain(exchange.response)):
        raise _leak("an answer")
    _observe_if_asked(subject, *down.values())
    for empty in ({}, {"empty": finding("empty")}):
        down = _down()
        async with subject.composed({**down, **empty}) as composite:
            exchange = await composite.ask(REQUEST)
        if _CANARY in _said(exchange):
            raise _leak("an exception")
        _observe_if_asked(subject, *down.values())


def _down() -> dict[str, ScriptedProvider]:
    failed = ScriptedProvider([KnowledgeFailedError(_DOWN)], key="failed")
    return {"raising": _raising("raising"), "failed": failed}


def _observe_if_asked(subject: CompositeSubject, *children: ScriptedProvider) -> None:
    # Who asks no child keeps to it without doing anything, and that is no evidence.
    if all(child.calls for child in children):
        subject.observe()


def _said(exchange: Exchange) -> str:
    """What a log would hold of an ending, causes aside."""
    own = (exchange.error, getattr(exchange.error, "args", ()), getattr(exchange.error, "__notes__", ()))
    return f"{read_or_none(lambda: ''.join(map(str, own)))!s}{plain(exchange.response)!r}"


def _leak(where: str) -> Violation:
    return Violation(
        wanted=f"{where} without the text of what a child raised",
        saw="that text, with the key that is in it",
        hint="say which child and which of the five reasons; leave its own words to __cause__",
    )


CHECKS: Final[tuple[Check, ...]] = (
    each_child_has_a_status,
    all_failed_is_a_failure,
    no_hit_and_a_failure_is_a_failure,
    nothing_found_is_an_answer,
    a_refusal_is_not_a_failure,
    what_a_child_raised_stays_out,
)
