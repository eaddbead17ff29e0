"""Every answer that a check gets is judged, not only the ordinary ones. Knows judges; asks the provider nothing."""

from collections.abc import Sequence

from knowledge_conformance.check import Check, Violation
from knowledge_conformance.exchange import Exchange
from knowledge_conformance.subject import Subject


async def judges_that_hold(subject: Subject) -> Sequence[Check]:
    """The binding checks of a single answer that all ordinary answers keep: one that they break is red already."""
    # Here, not at the top: the catalogue lists the checks that use this.
    from knowledge_conformance.catalogue import CHECKS

    survey = await subject.survey()
    binding = [each for each in CHECKS if each.judge is not None and each.binding]
    return [each for each in binding if all(_found(each, exchange) is None for exchange in survey)]


def judge_all(exchange: Exchange, judges: Sequence[Check]) -> None:
    """Raise the ``Violation`` of the first judge that an answer does not satisfy, naming that judge's check."""
    for each in judges:
        found = _found(each, exchange)
        if found is not None:
            raise Violation(
                wanted=f"{found.wanted} ({each.id}, which ordinary answers keep)",
                saw=found.saw,
                hint=found.hint,
                where=found.where or str(exchange),
            )


def _found(each: Check, exchange: Exchange) -> Violation | None:
    try:
        if each.judge is not None:
            each.judge(exchange)
    except Violation as found:
        return found
    return None
