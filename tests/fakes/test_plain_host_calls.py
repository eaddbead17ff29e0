"""The small host's calls: their deadline, their cancellation, what comes out of them, and the end of all."""

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any

import pytest

from knowledge_fakes.plain_host import factory
from knowledge_fakes.scripted import (
    RAISING,
    SECRET,
    BlockingProvider,
    DeafProvider,
    Flag,
    HeldProvider,
    ScriptedProvider,
    SyncScriptedProvider,
    returning,
)
from knowledge_provider import (
    CancelSignal,
    KnowledgeFailedError,
    KnowledgeTimeoutError,
    KnowledgeUnavailableError,
    KnowledgeUnconfiguredError,
    RetrievalContext,
    error_code,
    limits,
)

KINDS = [ScriptedProvider, SyncScriptedProvider]
HELD = [HeldProvider, DeafProvider, BlockingProvider]
SOON = 0.05


def context(**fields: Any) -> RetrievalContext:
    return RetrievalContext.model_construct(
        **{
            "owner_id": "owner",
            "session_id": "session",
            "turn_id": "turn",
            "trace_id": "trace",
            "signal": CancelSignal(),
            **fields,
        }
    )


def raised(coroutine: Coroutine[Any, Any, Any]) -> BaseException:
    """What comes out, whatever it is."""

    async def run() -> BaseException:
        try:
            await coroutine
        except BaseException as error:
            return error
        raise AssertionError("nothing was raised")

    return asyncio.run(run())


# Clauses 8.6 and 8.7.


@pytest.mark.parametrize("kind", HELD)
def test_the_deadline_ends_the_wait(kind: Any) -> None:
    """The provider is told and counted; its late answer goes nowhere, and the next one is the turn's first."""
    late, fresh = ([{"id": at, "content": at, "source": {"uri": f"https://a.com/{at}"}}] for at in ("late", "fresh"))

    async def search() -> Any:
        with kind([late, fresh], held=1) as provider:
            host = factory(provider, timeout=SOON)
            with pytest.raises(KnowledgeTimeoutError) as found:
                await host.search("x", context=context())
            assert found.value.provider_key == "scripted"
            await provider.told.wait()
            assert bool(host.left) is (kind is not HeldProvider)
        await provider.ended.wait()
        while host.left:  # noqa: ASYNC110 - a thread ends some time after its call, and has no event for that
            await asyncio.sleep(0)
        outcome = await host.search("x", context=context())
        return host.left, outcome.citations

    left, citations = asyncio.run(asyncio.wait_for(search(), 5))
    assert not left
    assert [(citation.id, citation.url) for citation in citations] == [("source_1", "https://a.com/fresh")]


def test_a_cancelled_signal_asks_nobody() -> None:
    """The turn is over."""
    provider, signal = ScriptedProvider(), CancelSignal()
    signal.cancel()
    assert isinstance(raised(factory(provider).search("x", context=context(signal=signal))), asyncio.CancelledError)
    assert not provider.calls


@pytest.mark.parametrize("way", ["task", "signal", "signal in a thread"])
@pytest.mark.parametrize("kind", HELD)
def test_cancellation_reaches_the_provider(kind: Any, way: str) -> None:
    """Whichever way the caller gives up, and whether the provider listens or not."""

    async def search() -> Any:
        given = context()
        with kind() as provider:
            call = asyncio.create_task(factory(provider).search("x", context=given))
            await provider.started.wait()
            if way == "task":
                call.cancel()
            elif way == "signal":
                given.signal.cancel()
            else:
                threading.Thread(target=given.signal.cancel).start()
            await asyncio.wait({call})
            await provider.told.wait()
            return call.cancelled(), kind is BlockingProvider or provider.cancelled.is_set()

    assert asyncio.run(search()) == (True, True)


def test_threads_are_bounded() -> None:
    """What comes beyond is refused at once."""

    async def search() -> int:
        with BlockingProvider() as provider:
            host = factory(provider, timeout=SOON)
            ends = await asyncio.gather(
                *(host.search("x", context=context()) for _ in range(40)), return_exceptions=True
            )
            assert sum(isinstance(end.__cause__, KnowledgeUnavailableError) for end in ends) == 8
            return len(provider.calls)

    assert asyncio.run(search()) == limits.CONCURRENCY_MAX


# Clause 8.11.


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", RAISING)
def test_whatever_a_provider_raises_is_told_in_the_hosts_words(kind: Any, name: str) -> None:
    """A refusal keeps its code, everything else is a failure; the provider's own text is in the cause alone."""
    error = RAISING[name]()
    found = raised(factory(kind([error], key="wiki")).search("x", context=context()))
    code = error_code(error)
    refused = code is not None and code.endswith(
        ("required", "unsupported", "base_unknown", "reference_invalid", "reference_unknown")
    )
    assert error_code(found) == (code if refused else "knowledge_provider_failed")
    assert found.provider_key == "wiki"  # type: ignore[attr-defined]  # an error of the contract's
    assert SECRET not in f"{found!r}{found}{vars(found)}"
    assert found.__cause__ is error or isinstance(found.__cause__, RuntimeError)


def test_a_cause_says_whether_to_try_again() -> None:
    """Where it has a code."""
    found = raised(factory(ScriptedProvider([RAISING["code_of_the_contract"]()])).search("x", context=context()))
    assert isinstance(found, KnowledgeFailedError)
    assert (found.retryable, found.retry_after) == (True, 7.0)


def test_the_users_interrupt_goes_through() -> None:
    """It is nobody's failure."""
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(factory(ScriptedProvider([KeyboardInterrupt])).search("x", context=context()))
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(factory(SyncScriptedProvider([KeyboardInterrupt])).search("x", context=context()))


# Clauses 8.12 and 2.1.


@pytest.mark.parametrize("kind", KINDS)
def test_it_closes_once(kind: Any) -> None:
    """However many close it; then there is nothing to search."""
    provider = kind(closing=RuntimeError("closed"))
    host = factory(provider)

    async def close() -> None:
        await asyncio.gather(host.close(), host.close(), host.close())
        await host.close()

    asyncio.run(close())
    assert provider.closed == 1
    assert isinstance(raised(host.search("x", context=context())), KnowledgeUnconfiguredError)


@pytest.mark.parametrize(
    ("health", "status"),
    [
        (None, "ready"),
        ({"status": "degraded", "message": "a\nb"}, "degraded"),
        (RuntimeError(SECRET), "unavailable"),
        (SystemExit, "unavailable"),
        ("up", "unavailable"),
        (returning(None), "unavailable"),
    ],
)
@pytest.mark.parametrize("kind", KINDS)
def test_health_is_the_providers(kind: Any, health: Any, status: str) -> None:
    """And what cannot be read is unavailable."""
    told = asyncio.run(factory(kind(health=health)).health())
    assert told["status"] == status
    assert SECRET not in str(told)
    assert "\n" not in told.get("message", "")


def test_a_health_that_hangs_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Within its own time."""
    monkeypatch.setattr(limits, "HEALTH_SECONDS", SOON)

    async def hang(_signal: CancelSignal) -> None:
        await Flag().wait()

    assert asyncio.run(factory(ScriptedProvider(health=hang)).health())["status"] == "unavailable"
