"""Clauses 8.12 and 2.1 on the host's side: its health, and its end. Knows no request but one after the end."""

import asyncio
from typing import Any, Final

from knowledge_conformance.calls import Ending
from knowledge_conformance.check import Check, Level, Violation, check
from knowledge_conformance.host_subject import DEADLINE, SLACK, HostSubject, at_once
from knowledge_conformance.outcomes import entries, read_outcome
from knowledge_conformance.plain import model_fields
from knowledge_conformance.render import show, show_error
from knowledge_fakes.scripted import SECRET, Flag, ScriptedProvider, SyncScriptedProvider, returning
from knowledge_provider import PROTOCOL_VERSION, Health, limits
from knowledge_provider.text import is_a

_ANSWER: Final = [{"id": "approvals", "content": "Releases are approved by two people."}]
_STATUSES: Final = ("ready", "unconfigured", "degraded", "unavailable")
_CLOSERS: Final = 3
_NONSENSE: Final[tuple[Any, ...]] = (None, "ready", {"status": "fine"}, {"status": None}, [], {"message": "up"})


# Clause 8.12
@check("KP-822", clause="8.12", level=Level.MUST, needs=("KP-854",))
async def closes_the_provider_once(subject: HostSubject) -> None:
    """close() closes the provider, and once, however often and by however many it is called.

    A shutdown and a finally block both close. The second close of a pool that is closing breaks what still runs.
    """
    await is_closed_once(subject, ScriptedProvider([_ANSWER], closing=_a_moment))
    async with subject.host(_Endless()) as host:
        _ended_well([await host.close()])


async def is_closed_once(subject: HostSubject, provider: ScriptedProvider | SyncScriptedProvider) -> None:
    """Close a host several times, at once and again; raises ``Violation`` unless its provider was closed once."""
    async with subject.host(provider) as host:
        endings = [*await asyncio.gather(*(host.close() for _ in range(_CLOSERS))), await host.close()]
    _ended_well(endings)
    if provider.closed != 1:
        raise Violation(
            wanted="close() of the provider to be called once",
            saw=f"{provider.closed} calls for {len(endings)} of the host's",
            hint="keep the closing as one task, and let every caller wait for it",
        )
    subject.observe()


async def _a_moment() -> None:
    for _ in range(3):
        await asyncio.sleep(0)


def _ended_well(endings: list[Ending]) -> None:
    for ending in endings:
        if ending.error is not None:
            raise Violation(
                wanted="close() to end quietly",
                saw=f"raised {show_error(ending.error)}",
                hint="a provider without close() has nothing to close, and a host may be closed twice",
                where="host.close()",
            )


class _Endless:
    """A provider without close and health."""

    def describe(self) -> dict[str, Any]:
        return {"protocolVersion": PROTOCOL_VERSION, "key": "endless", "label": "Endless"}

    async def retrieve(self, request: object, context: object, /) -> list[object]:
        del request, context
        return []


class _TakesNothing(_Endless):
    """A provider whose health takes no signal."""

    async def health(self) -> dict[str, str]:
        return {"status": "degraded"}


# Clauses 8.12 and 2.2
@check("KP-846", clause="8.12", level=Level.SHOULD, needs=("KP-822",))
async def a_closed_host_is_not_empty(subject: HostSubject) -> None:
    """A search after close() raises; it never answers as if nothing was found.

    "There is nothing about that" would be said of a corpus that nobody looked into.
    """
    async with subject.host(ScriptedProvider([_ANSWER])) as host:
        await host.close()
        ending = await host.attempt()
    if ending.error is None and not entries(read_outcome(ending.value, "search after close()"), "results"):
        raise Violation(
            wanted="an exception",
            saw="an outcome without results",
            hint="raise KnowledgeUnconfiguredError once the host is closed",
        )
    subject.observe()


# Clause 8.12
@check("KP-847", clause="8.12", level=Level.SHOULD, needs=("KP-822",))
async def closing_ends(subject: HostSubject) -> None:
    """close() ends although the provider's does not, or raises.

    It is called where the process ends, and that waits for it.
    """
    flag = Flag()

    async def hang() -> None:
        await flag.wait()

    try:
        for closing in (hang, RuntimeError("closed already")):
            async with subject.host(ScriptedProvider(closing=closing), deadline=DEADLINE) as host:
                await host.close(seconds=limits.HEALTH_SECONDS + DEADLINE + SLACK)
                subject.observe()
    finally:
        flag.set()


# Clause 2.1
@check("KP-825", clause="2.1", level=Level.MUST, needs=("KP-854",))
async def passes_health_on(subject: HostSubject) -> None:
    """health() of the host is that of its provider; ready without one, and unconfigured without a provider.

    With or without a signal as its argument. The message is foreign text: one line, and short.
    """
    message = "Index\n\nis being \u202ebuilt " + "x" * limits.HEALTH_MESSAGE_MAX
    cases: list[tuple[Any, str]] = [(None, "unconfigured"), (_Endless(), "ready"), (_TakesNothing(), "degraded")]
    for status in _STATUSES:
        answer = {"status": status, "message": message}
        cases += [
            (ScriptedProvider(health=answer), status),
            (ScriptedProvider(health=Health.model_validate(answer)), status),
        ]
    for provider, wanted in cases:
        health = await health_of(subject, provider)
        is_status(health, wanted)
        said = health.get("message")
        if said is not None and (type(said) is not str or "\n" in said or len(said) > limits.HEALTH_MESSAGE_MAX):
            raise Violation(
                wanted=f"a message of one line and at most {limits.HEALTH_MESSAGE_MAX} characters",
                saw=show(said),
                hint="write it by rule N5",
                where="host.health()",
            )
        subject.observe()


# Clause 2.1
@check("KP-850", clause="2.1", level=Level.MUST, needs=("KP-825",))
async def a_failed_health_is_unavailable(subject: HostSubject) -> None:
    """A provider whose health raises, hangs or answers nonsense is unavailable, within five seconds.

    A status page asks all of them, and shows the one that cannot answer beside the others. It does not show what the
    provider raised: such a text may hold a key.
    """
    flag = Flag()

    async def hang(_: object) -> None:
        await flag.wait()

    broken: tuple[Any, ...] = (
        *(hang, RuntimeError(f"down: key {SECRET}"), SystemExit(1), asyncio.CancelledError(), TimeoutError()),
        *(returning(nonsense) for nonsense in _NONSENSE),
    )
    try:
        for health in await at_once(health_of(subject, ScriptedProvider(health=each)) for each in broken):
            is_status(health, "unavailable")
            if SECRET in str(health.get("message")):
                raise Violation(
                    wanted="a message in the host's own words",
                    saw="the text of the provider's exception",
                    hint="say that the health cannot be told, and leave why to the log",
                    where="host.health()",
                )
            subject.observe()
    finally:
        flag.set()


async def health_of(subject: HostSubject, provider: object) -> dict[str, Any]:
    """What a host over the provider says of its health, as plain data."""
    async with subject.host(provider) as host:
        told = await host.told("health")
    read = model_fields(told) if is_a(told, Health) else told
    return dict(read) if is_a(read, dict) else {"status": show(told)}


def is_status(health: dict[str, Any], wanted: str) -> None:
    """Raise ``Violation`` unless the health has this status."""
    if health.get("status") != wanted:
        raise Violation(
            wanted=f"the status {wanted}",
            saw=show(health.get("status")),
            hint="ask the provider within five seconds; without a health it is ready, and what cannot be read is "
            "unavailable",
            where="host.health()",
        )


CHECKS: Final[tuple[Check, ...]] = (
    closes_the_provider_once,
    a_closed_host_is_not_empty,
    closing_ends,
    passes_health_on,
    a_failed_health_is_unavailable,
)
