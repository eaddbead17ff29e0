"""Clause 8.11: a provider that fails. Knows exceptions; judges no answer."""

import asyncio
import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from knowledge_conformance.calls import Ending
from knowledge_conformance.check import Check, Level, Violation, check
from knowledge_conformance.host_subject import DrivenHost, HostSubject
from knowledge_conformance.outcomes import entries
from knowledge_conformance.render import show, show_error
from knowledge_fakes.scripted import RAISING, SECRET, ScriptedProvider
from knowledge_provider import (
    KnowledgeFailedError,
    KnowledgeRateLimitedError,
    KnowledgeRequestError,
    KnowledgeUnauthorizedError,
    KnowledgeUnavailableError,
    error_code,
)

_KEY: Final = "failing-42"
_ANSWER: Final = [{"id": "approvals", "content": "Releases are approved by two people."}]
_REFUSALS: Final = frozenset(kind.code for kind in KnowledgeRequestError.__subclasses__())
_LONG_TEXT: Final = 300
_KEPT: Final = ("knowledge_filters_unsupported", "knowledge_base_unknown")

# What ends a task, a generator or a process when it comes from the host's own side.
ENDINGS: Final = (
    *("cancelled", "cancelled_with_a_text", "system_exit", "system_exit_0", "generator_exit", "stop_iteration"),
    *("stop_async_iteration", "abort", "base_exception", "group_with_a_cancellation", "group_with_an_exit"),
)
TIMEOUTS: Final = (
    *("timeout", "timeout_of_a_client", "timeout_of_asyncio", "knowledge_timeout", "code_of_a_time_out"),
)


def ordinary() -> list[str]:
    """The rest: what any library may raise. A refusal of the request is no failure (clause 3.2)."""
    apart = {*ENDINGS, *TIMEOUTS}
    return [name for name, make in RAISING.items() if name not in apart and error_code(make()) not in _REFUSALS]


# Clause 8.11
@check("KP-820", clause="8.11", level=Level.MUST, needs=("KP-854",))
async def a_failure_is_told_by_code_and_key(subject: HostSubject) -> None:
    """A provider's failure is knowledge_provider_failed with the provider's key, and keeps its own text to itself.

    The text of a vendor's error holds URLs with keys, records and queries, and the message of an exception is logged,
    shown and spoken. It stays in __cause__, for whoever debugs.
    """
    for name, ending in await endings(subject, ScriptedProvider, ordinary()):
        told(name, ending)
        kept_apart(name, ending)
        subject.observe()


# Clause 8.11
@check("KP-821", clause="8.11", level=Level.MUST, needs=("KP-820",))
async def a_failure_ends_nothing_else(subject: HostSubject) -> None:
    """CancelledError, SystemExit, GeneratorExit and their like are the provider's failure, and not the host's end.

    A provider's own CancelledError looks like the interruption of the turn, its SystemExit takes the agent down. The
    next search is answered as if nothing had been.
    """
    for name, ending in await endings(subject, ScriptedProvider, ENDINGS):
        told(name, ending)
        subject.observe()


# Clauses 8.11 and 7.6
@check("KP-845", clause="8.11", level=Level.MUST, needs=("KP-820",))
async def a_time_out_of_its_own_is_a_failure(subject: HostSubject) -> None:
    """A time-out inside the provider is its failure; knowledge_timeout is the host's own deadline alone.

    Whoever reads "time-out" after ten milliseconds raises the deadline, and the socket of the back end stays broken.
    """
    for name, ending in await endings(subject, ScriptedProvider, TIMEOUTS):
        told(name, ending)
        subject.observe()


# Clauses 8.11 and 3.2
@check("KP-843", clause="8.11", level=Level.SHOULD, needs=("KP-820",))
async def a_refusal_keeps_its_code(subject: HostSubject) -> None:
    """A provider that refuses filters or a knowledge base is understood: the refusal keeps its code.

    Refusing is not failing. The caller can mend the request, and trying it again does not help.
    """
    for code, ending in await endings(subject, ScriptedProvider, _KEPT):
        if ending.error is None or error_code(ending.error) != code:
            raise Violation(
                wanted=f"an exception with the code {code}",
                saw=_came(ending),
                hint="raise the contract's error of that code, with words of the host's own",
            )
        subject.observe()


# Clause 8.11
@check("KP-844", clause="8.11", level=Level.SHOULD, needs=("KP-820",))
async def a_failure_says_whether_to_try_again(subject: HostSubject) -> None:
    """Whether a failed search is worth another try, and when, is as the cause says.

    An agent that tries again at once what is limited, or refused, makes it worse.
    """
    causes: tuple[tuple[KnowledgeFailedError, bool, float | None], ...] = (
        (KnowledgeRateLimitedError("slow down", retry_after=7.0), True, 7.0),
        (KnowledgeUnavailableError("down"), True, None),
        (KnowledgeUnauthorizedError("refused"), False, None),
    )
    async with subject.host(ScriptedProvider([cause for cause, *_ in causes])) as host:
        for cause, retryable, after in causes:
            error = (await host.attempt()).error
            came = getattr(error, "retryable", None), getattr(error, "retry_after", None)
            if came != (retryable, after):
                raise Violation(
                    wanted=f"retryable {retryable} and retry_after {after} for {cause.code}",
                    saw=f"{show(came[0])} and {show(came[1])}",
                    hint="copy retryable and retry_after from a cause that has a code of the contract's",
                )
            subject.observe()


async def endings(subject: HostSubject, kind: Callable[..., object], names: Sequence[str]) -> list[tuple[str, Ending]]:
    """How searches end over a provider of the kind that raises these by name; and that the next one is answered."""
    script = [_raising(name) for name in names]
    async with subject.host(kind([*script, _ANSWER], key=_KEY)) as host:
        found = [(name, await host.attempt()) for name in names]
        await _still_answers(host)
    return found


def _raising(name: str) -> BaseException:
    # A host may log what its provider raises, and the text of a megabyte would fill what a run keeps of its output.
    return ValueError(f"{SECRET} " * _LONG_TEXT) if name == "text_without_an_end" else RAISING[name]()


async def _still_answers(host: DrivenHost) -> None:
    if not entries(await host.search(), "results"):
        raise Violation(wanted="the next search to be answered", saw="no results", hint="keep no state of a failure")


def told(name: str, ending: Ending) -> None:
    """Raise ``Violation`` unless the search ended as a failure of this provider's."""
    error = ending.error
    named = error is not None and (getattr(error, "provider_key", None) == _KEY or _KEY in show_error(error))
    if error is None or error_code(error) != "knowledge_provider_failed" or not named:
        raise Violation(
            wanted=f"knowledge_provider_failed with the provider's key after {name}",
            saw=_came(ending),
            hint="catch BaseException around the provider alone, let only your own cancellation and KeyboardInterrupt "
            "through, and raise KnowledgeFailedError(…, provider_key=…) from it",
        )


def kept_apart(name: str, ending: Ending) -> None:
    """Raise ``Violation`` where the provider's own text shows, or its exception is lost."""
    if ending.error is None:
        return
    said = "".join(_own_text(ending.error))
    if SECRET in said or "SYSTEM" in said:
        raise Violation(
            wanted=f"none of the provider's own text in the message after {name}",
            saw="some of it",
            hint="write the message in fixed words: the provider's key, and the cause's code where it has a known one",
        )
    if ending.error.__cause__ is None:
        raise Violation(
            wanted=f"the provider's exception in __cause__ after {name}",
            saw="no cause",
            hint="raise … from error",
        )


def _own_text(error: BaseException) -> Iterator[str]:
    """What shows of an exception without its causes: message, arguments, notes and attributes."""
    yield from traceback.format_exception_only(error)
    yield show_error(error, limit=4000)
    yield repr(error.args)
    yield repr({name: value for name, value in vars(error).items() if isinstance(value, str | int | float)})


def _came(ending: Ending) -> Any:
    if ending.error is None:
        return "an outcome"
    if isinstance(ending.error, asyncio.CancelledError):
        return "a cancellation that nobody asked for"
    return f"raised {show_error(ending.error)} with the code {error_code(ending.error)}"


CHECKS: Final[tuple[Check, ...]] = (
    a_failure_is_told_by_code_and_key,
    a_failure_ends_nothing_else,
    a_time_out_of_its_own_is_a_failure,
    a_refusal_keeps_its_code,
    a_failure_says_whether_to_try_again,
)
