"""One check against one subject gives one result. Knows how findings become outcomes; runs no process and no loop."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final

from knowledge_conformance.check import Blocked, Check, Hang, Inapplicable, Inconclusive, Level, Violation
from knowledge_conformance.faults import LEFT_ALONE
from knowledge_conformance.render import show_error
from knowledge_conformance.results import EVIDENCE_MAX, TRANSCRIPT_SHOWN, CheckOutcome, CheckResult
from knowledge_conformance.subject import ProviderRaisedError
from knowledge_conformance.watched import OutOfCallsError, Watched


async def run_check(check: Check, subject: Watched) -> CheckResult:
    """The check's result; whatever the provider or the check itself does comes back as an outcome."""
    return await run_part(check, subject, check.run) or _looked(check, subject)


async def run_part(check: Check, subject: Watched, part: Callable[[Any], Awaitable[None]]) -> CheckResult | None:
    """What a part of the check found, as its result, or None when it came to its end and found nothing."""
    try:
        await part(subject)
    except BaseException as error:  # a check that dies must say so, whatever killed it
        return _finding(check, subject, error)
    return None


async def run_later(check: Check, subject: Watched) -> CheckResult:
    """The result of a check whose first part found nothing, by its second."""
    found = None if check.later is None else await run_part(check, subject, check.later)
    return found or _looked(check, subject)


def _looked(check: Check, subject: Watched) -> CheckResult:
    # Too little seen is never a pass.
    if subject.observations >= check.minimum:
        return _result(check, subject, CheckOutcome.PASSED)
    return _result(
        check,
        subject,
        CheckOutcome.INCONCLUSIVE,
        wanted=f"at least {check.minimum} observations",
        saw=f"{subject.observations} observations",
        hint="name queries that your corpus answers: --provider-query 'text' (repeatable), or queries = [...]",
    )


def _finding(check: Check, subject: Watched, error: BaseException) -> CheckResult:
    match error:
        case Violation():
            return _violated(check, subject, error)
        case Inapplicable():
            return _result(check, subject, CheckOutcome.INAPPLICABLE, saw=str(error))
        case Blocked():
            return _result(check, subject, CheckOutcome.BLOCKED, saw=str(error))
        case Inconclusive():
            return _result(check, subject, CheckOutcome.INCONCLUSIVE, saw=str(error), hint=error.hint)
        case OutOfCallsError():
            return left_out(
                check,
                observations=subject.observations,
                calls=subject.calls - subject.shared,
                limit=subject.settings.max_calls,
            )
        case ProviderRaisedError():
            return _raised(check, subject, error)
        case asyncio.CancelledError() if _was_cancelled():
            saw = "the task that called it was cancelled"
            return host_broken(check, subject, saw=saw, hint="cancel and await only tasks that the provider started")
    return _kit_error(check, subject, error)


def _violated(check: Check, subject: Watched, found: Violation) -> CheckResult:
    strict = subject.settings.strict_should and check.level is Level.SHOULD
    lasting = isinstance(found, Hang) and found.lasting
    outcome = CheckOutcome.FAILED if check.binding or strict or lasting else CheckOutcome.ADVISORY
    where = found.where or subject.shown
    hint = f"{found.hint}; {_AT_ANY_LEVEL}" if lasting and not check.binding else found.hint
    made = _result(check, subject, outcome, wanted=found.wanted, saw=found.saw, hint=hint, where=where)
    return made.model_copy(update={"input": found.input or subject.input_of(where)})


_AT_ANY_LEVEL: Final = "a call that does not end fails its check at any level, since no host can wait for it"


def _raised(check: Check, subject: Watched, error: ProviderRaisedError) -> CheckResult:
    made = _result(
        check,
        subject,
        CheckOutcome.ERRORED,
        wanted="an answer",
        saw=f"raised {error}",
        hint=error.hint,
        where=error.where,
    )
    return made.model_copy(update={"input": subject.input_of(error.where)})


def _was_cancelled() -> bool:
    # Nobody cancels a check but a provider that goes through ``asyncio.all_tasks()``.
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def host_broken(check: Check, subject: Watched, *, saw: str, hint: str) -> CheckResult:
    """The failed result of a check whose provider reached past its own call; at no level does a host survive it."""
    return _result(
        check,
        subject,
        CheckOutcome.FAILED,
        wanted=f"{LEFT_ALONE}its caller's tasks and event loop alone",
        saw=saw,
        hint=hint,
        where=subject.shown,
    )


def stopped_loop(check: Check, subject: Watched, error: BaseException) -> CheckResult:
    """The failed result of a check whose provider stopped the loop that it ran on, with what came out of that."""
    if isinstance(error, RuntimeError):
        return host_broken(
            check, subject, saw=show_error(error), hint="stop and close only event loops that the provider made itself"
        )
    return host_broken(
        check,
        subject,
        saw=f"{show_error(error)} out of a task that the provider started, which stops the host's event loop",
        hint="catch exceptions inside your own tasks and let retrieve raise them",
    )


def _kit_error(check: Check, subject: Watched, error: BaseException) -> CheckResult:
    return _result(
        check,
        subject,
        CheckOutcome.KIT_ERROR,
        wanted="the check to come to an end",
        saw=f"raised {show_error(error)}",
        hint="this is the kit's fault, not the provider's: please report it with this text",
    )


def left_out(check: Check, *, observations: int, calls: int, limit: int) -> CheckResult:
    """The result of a check that ``--max-calls`` stopped or left out."""
    return CheckResult(
        id=check.id,
        outcome=CheckOutcome.INCONCLUSIVE,
        observations=observations,
        calls=calls,
        saw=f"stopped by --max-calls={limit}",
        hint="allow more calls of the provider: --max-calls N, which the processes of pytest-xdist share",
    )


_UNTOLD: Final = frozenset({CheckOutcome.PASSED, CheckOutcome.INAPPLICABLE})


def _result(check: Check, subject: Watched, outcome: CheckOutcome, **evidence: str | None) -> CheckResult:
    shown = {name: None if text is None else text[:EVIDENCE_MAX] for name, text in evidence.items()}
    told = () if outcome in _UNTOLD else [call[:EVIDENCE_MAX] for call in subject.transcript][-TRANSCRIPT_SHOWN:]
    return CheckResult(
        id=check.id,
        outcome=outcome,
        observations=subject.observations,
        calls=subject.calls - subject.shared,
        transcript=tuple(told),
        **shown,
    )
