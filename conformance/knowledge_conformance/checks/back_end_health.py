"""Clause 2.1: what health() says of a back end that is down. Knows the four words; judges no answer but to compare."""

from typing import Final

from knowledge_conformance import outages
from knowledge_conformance.calls import Ending
from knowledge_conformance.check import Check, Inapplicable, Level, Violation, calls_where
from knowledge_conformance.checks.back_end import cut_check, words_of
from knowledge_conformance.cutting import Cutting, cutting
from knowledge_conformance.exchange import as_dict
from knowledge_conformance.outages import Outage
from knowledge_conformance.plain import copied, model_fields
from knowledge_conformance.recording import Recording
from knowledge_conformance.render import show_error
from knowledge_conformance.subject import Subject
from knowledge_provider import Health
from knowledge_provider.text import is_a

_HINT: Final = "catch the back end's errors and answer {'status': 'unavailable'}; bound the probe's time"
_NO_CALL: Final = "health() makes no call through httpx, httpx2, aiohttp, urllib3 or requests, so it knows of no outage"


# Clause 2.1
@cut_check(
    "KP-212",
    clause="2.1",
    level=Level.MUST,
    needs=("KP-201", "KP-502"),
    calls=calls_where("inject_network_faults", 6),
)
async def health_tells_an_outage(subject: Subject) -> None:
    """health() of a provider whose back end is down ends within 5 s, does not raise, and is not ready.

    That is when somebody looks at a status page. Asked while connections are refused, while nothing comes, and while
    what comes is a status of 503 or a page of HTML. Ready is wrong where retrieve fails in the same way; a health that
    makes no call is not judged.
    """
    async with cutting(subject, words_of(subject)) as cut:
        if subject.member("health") is None:
            raise Inapplicable("the provider has no health(), so it counts as ready")
        for outage in _kinds(cut.words):
            ending, asked = await cut.health(outage)
            if asked:
                _refuse_no_status(subject, ending, outage)
                if outage.code == "knowledge_unavailable" and _is_ready(ending):
                    await _refuse_ready(subject, cut, outage)
                subject.observe()
    if not subject.observations:
        raise Inapplicable(_NO_CALL)


def _kinds(words: str) -> list[Outage]:
    silent, _ = outages.silence(Recording(()))
    page = next(each for each in outages.bodies(Recording(()), words) if "HTML" in each.said)
    return [outages.connection()[0], outages.unavailable(words), page, silent]


def _refuse_no_status(subject: Subject, ending: Ending, outage: Outage) -> None:
    if ending.hung or ending.error is not None:
        raise Violation(
            wanted=f"a status within {subject.health_seconds:g} s",
            saw=ending.instead if ending.error is None else f"raised {show_error(ending.error)}",
            hint=_HINT,
            where=f"health(), with {outage.said}",
        )


def _is_ready(ending: Ending) -> bool:
    report = model_fields(ending.value) if is_a(ending.value, Health) else as_dict(ending.value)
    return report is not None and copied(report.get("status")) == "ready"


async def _refuse_ready(subject: Subject, cut: Cutting, outage: Outage) -> None:
    # A provider with a fallback may be ready all the same.
    (request,) = await subject.unasked(1)
    trial = await cut.trial(outage, request)
    if trial.asked and trial.exchange.error is not None:
        raise Violation(
            wanted="the status unavailable",
            saw="ready, though retrieve fails in the same way",
            hint=_HINT,
            where=f"health(), with {outage.said}",
        )


CHECKS: Final[tuple[Check, ...]] = (health_tells_an_outage,)
