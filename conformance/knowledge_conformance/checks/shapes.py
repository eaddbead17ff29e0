"""Clauses 5.1 and 5.11: the shape of an answer. Knows lists and mappings, nothing of what a result says."""

from typing import Any, Final

from knowledge_conformance.check import Check, Inapplicable, Level, Violation, answer_check, check
from knowledge_conformance.exchange import Exchange, as_dict, place, results_of
from knowledge_conformance.plain import copied, model_fields
from knowledge_conformance.render import show
from knowledge_conformance.subject import Subject
from knowledge_provider import SourceReport
from knowledge_provider.text import finite_number, is_a, is_blank

_REPORT_STATUSES: Final = ("hit", "no_hit", "ignored", "failed")


# Clause 5.1
@answer_check("KP-501", clause="5.1", level=Level.MUST, needs=("KP-301",))
def answer_is_a_list(exchange: Exchange) -> int:
    """An answer is a list or tuple, or a mapping with one under "results".

    A host reads nothing else: a generator, a page object or an unawaited coroutine is an empty answer to it.
    """
    if results_of(exchange.response) is None:
        held = exchange.response
        results = show((as_dict(held) or {}).get("results"))
        raise Violation(
            wanted="a list or tuple of results, or {'results': [...]}",
            saw=f"a mapping whose results are {results}" if is_a(held, dict) else show(held),
            hint="collect the results in a list and return that",
        )
    return 1


# Clause 5.1
@answer_check("KP-502", clause="5.1", level=Level.MUST, needs=("KP-501",))
def items_are_results(exchange: Exchange) -> int:
    """Each item of an answer is a dict or a RetrievalResult.

    A host skips anything else, so a vendor's own document class means an empty answer.
    """
    for at, item in enumerate(exchange.items):
        if as_dict(item) is None:
            raise Violation(
                wanted="a dict or a RetrievalResult",
                saw=show(item),
                hint="translate the vendor's object: {'id': …, 'content': …}",
                where=place(exchange, f"results[{at}]"),
            )
    return len(exchange.items)


# Clause 5.11
@check("KP-518", clause="5.11", level=Level.MAY, needs=("KP-501",), surveyed=True)
async def source_reports_are_readable(subject: Subject) -> None:
    """Reports about several back ends, when there are any, say key, status, reason and count.

    They tell a host that an answer is incomplete. Status is hit, no_hit, ignored or failed.
    """
    for exchange in await subject.survey():
        subject.observe(_readable_reports(exchange))
    if not subject.observations:
        raise Inapplicable("the provider reports nothing about back ends of its own")


def _readable_reports(exchange: Exchange) -> int:
    held = (as_dict(exchange.response) or {}).get("sources") if is_a(exchange.response, dict) else None
    if held is None:
        return 0
    for at, report in enumerate(_reports(held)):
        unreadable = _unreadable(as_dict(model_fields(report) if is_a(report, SourceReport) else report) or {})
        if unreadable is not None:
            raise Violation(
                wanted=unreadable,
                saw=show(report),
                hint="report {'key': 'wiki', 'status': 'failed', 'reason': 'timeout', 'count': 0}",
                where=place(exchange, f"sources[{at}]"),
            )
    return 1


def _reports(held: object) -> list[object]:
    if is_a(held, list):
        return list.__getitem__(held, slice(None))
    return list(tuple.__iter__(held)) if is_a(held, tuple) else [held]


def _unreadable(report: dict[str, Any]) -> str | None:
    """What is wanted of a report that it has not, or None."""
    count = finite_number(report.get("count", 0))
    if is_blank(report.get("key")):
        return "a key that names the back end"
    if copied(report.get("status")) not in _REPORT_STATUSES:
        return f"a key, and a status of {', '.join(_REPORT_STATUSES)}"
    if is_blank(report.get("reason", "none")):
        return "a reason that is a string, or none"
    return None if type(count) is int and count >= 0 else "a count of results, or none"


CHECKS: Final[tuple[Check, ...]] = (
    answer_is_a_list,
    items_are_results,
    source_reports_are_readable,
)
