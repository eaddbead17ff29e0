"""Clauses 5.1 and 5.11: the shape of an answer. Knows lists and mappings, nothing of what a result says."""

from typing import Final

from knowledge_conformance.check import Check, Inapplicable, Level, Violation, answer_check, check
from knowledge_conformance.exchange import Exchange, as_dict, place, results_of
from knowledge_conformance.render import show
from knowledge_conformance.subject import Subject

_STATUSES: Final = ("hit", "no_hit", "ignored", "failed")


# Clause 5.1
@answer_check("KP-501", clause="5.1", level=Level.MUST, needs=("KP-301",))
def answer_is_a_list(exchange: Exchange) -> int:
    """An answer is a list or tuple, or a mapping with one under "results".

    A host reads nothing else: a generator, a page object or an unawaited coroutine is an empty answer to it.
    """
    if results_of(exchange.response) is None:
        held = exchange.response
        saw = f"a mapping whose results are {show(dict.get(held, 'results'))}" if isinstance(held, dict) else show(held)
        raise Violation(
            wanted="a list or tuple of results, or {'results': [...]}",
            saw=saw,
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
    if not isinstance(exchange.response, dict) or dict.get(exchange.response, "sources") is None:
        return 0
    reports = dict.get(exchange.response, "sources")
    for at, report in enumerate(reports if isinstance(reports, list | tuple) else [reports]):
        fields = as_dict(report) or {}
        if not isinstance(fields.get("key"), str) or fields.get("status") not in _STATUSES:
            raise Violation(
                wanted=f"a key, and a status of {', '.join(_STATUSES)}",
                saw=show(report),
                hint="report {'key': 'wiki', 'status': 'failed', 'reason': 'timeout', 'count': 0}",
                where=place(exchange, f"sources[{at}]"),
            )
    return 1


CHECKS: Final[tuple[Check, ...]] = (
    answer_is_a_list,
    items_are_results,
    source_reports_are_readable,
)
