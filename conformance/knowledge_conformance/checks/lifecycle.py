"""Section 2 of the contract: health and closing. Knows the optional methods; judges no answer's content."""

from typing import Any, Final

from knowledge_conformance.calls import Ending
from knowledge_conformance.check import Check, Inapplicable, Inconclusive, Level, Violation, check
from knowledge_conformance.exchange import as_dict
from knowledge_conformance.plain import copied, model_fields
from knowledge_conformance.render import show, show_error
from knowledge_conformance.subject import Subject
from knowledge_conformance.survey import answered
from knowledge_provider import Health, RetrievalRequest, limits
from knowledge_provider.text import is_a

_HEALTH_STATUSES: Final = ("ready", "unconfigured", "degraded", "unavailable")


async def _health(subject: Subject) -> Ending:
    if subject.member("health") is None:
        raise Inapplicable("the provider has no health(), so it counts as ready")
    return await subject.health()


async def _report(subject: Subject) -> dict[str, Any]:
    ending = await _health(subject)
    report = ending.value
    fields = model_fields(report) if is_a(report, Health) else as_dict(report)
    if fields is None or copied(fields.get("status")) not in _HEALTH_STATUSES:
        raise Violation(
            wanted=f"a mapping whose status is one of {', '.join(_HEALTH_STATUSES)}",
            saw=show(report) if fields is None else f"status {show(fields.get('status'))}",
            hint="return {'status': 'ready'}",
            where="health()",
        )
    return fields


# Clause 2.1
@check("KP-201", clause="2.1", level=Level.MUST, needs=("KP-101", "KP-202"), calls=1)
async def health_is_a_known_status(subject: Subject) -> None:
    """health() answers a status of ready, unconfigured, degraded or unavailable.

    Hosts decide by the status whether to offer the knowledge tool at all; another word is read as a failure.
    """
    await _report(subject)
    subject.observe()


# Clause 2.1
@check("KP-202", clause="2.1", level=Level.MUST, needs=("KP-101",), calls=1)
async def health_ends(subject: Subject) -> None:
    """health() ends within 5 s and does not raise.

    A status page asks all providers. One whose back end is down answers 'unavailable': an exception or a hang would
    make it look as if the host itself was broken.
    """
    ending = await _health(subject)
    if ending.hung or ending.error is not None:
        raise Violation(
            wanted=f"a status within {limits.HEALTH_SECONDS:g} s",
            saw=ending.instead if ending.error is None else f"raised {show_error(ending.error)}",
            hint="catch the back end's errors and answer {'status': 'unavailable'}; bound the probe's time",
            where="health()",
        )
    subject.observe()


# Clause 2.1
@check("KP-203", clause="2.1", level=Level.SHOULD, needs=("KP-201",), calls=1)
async def health_message_is_short(subject: Subject) -> None:
    """A health message is a string of at most 500 characters.

    It is shown to a person beside the status.
    """
    message = (await _report(subject)).get("message", "")
    if message is not None and (type(message) is not str or len(message) > limits.HEALTH_MESSAGE_MAX):
        raise Violation(
            wanted=f"a string of at most {limits.HEALTH_MESSAGE_MAX} characters, or none",
            saw=show(message),
            hint="say in one sentence what is wrong, without the back end's own text",
            where="health()",
        )
    subject.observe()


async def _close(subject: Subject) -> None:
    if subject.member("close") is None:
        raise Inapplicable("the provider has no close()")
    ending = await subject.close()
    if ending.error is not None:
        raise Violation(
            wanted="close() to end quietly",
            saw=f"raised {show_error(ending.error)}",
            hint="let close() do nothing when there is nothing left to close",
            where="close()",
        )


# Clause 2.2
@check("KP-204", clause="2.2", level=Level.SHOULD, needs=("KP-101",), calls=2, closes=True)
async def closes_twice(subject: Subject) -> None:
    """close() may be called twice.

    A host that fails halfway closes again on its way out; the second call must not hide the first error.
    """
    for _ in range(2):
        await _close(subject)
        subject.observe()


# Clause 2.2
@check("KP-205", clause="2.2", level=Level.SHOULD, needs=("KP-204", "KP-301"), calls=3, surveyed=True, closes=True)
async def closed_is_not_empty(subject: Subject) -> None:
    """A call after close() raises or works again; it never answers as if nothing was found.

    An empty answer of a closed provider would be spoken as "there is nothing about that". It is closed after a search,
    each call in a task of its own, as a host makes them: what one opened, another has to close.
    """
    known = answered(await subject.survey())
    if not known:
        raise Inconclusive(
            "no query returned a result before the provider was closed", hint="pass --provider-query 'text'"
        )
    request = RetrievalRequest(query=known[0].request.query)
    await subject.attempt(request)
    await _close(subject)
    exchange = await subject.attempt(request)
    if exchange.error is None and exchange.count == 0:
        raise Violation(
            wanted="an error, or the results of before",
            saw="an empty answer to a query that had results before close()",
            hint="raise KnowledgeUnavailableError once the provider is closed",
        )
    subject.observe()


CHECKS: Final[tuple[Check, ...]] = (
    health_ends,
    health_is_a_known_status,
    health_message_is_short,
)
CLOSING_CHECKS: Final[tuple[Check, ...]] = (closes_twice, closed_is_not_empty)
