"""The bounds: the deadline, calls that were given up, turns that are forgotten, and settings that are refused."""

import asyncio
import time
from typing import Any

import pytest
from host_scenes import context, run, until

from knowledge_fakes.scripted import (
    BlockingProvider,
    DeafProvider,
    HeldProvider,
    ScriptedProvider,
    SyncScriptedProvider,
)
from knowledge_provider import (
    CancelSignal,
    KnowledgeFailedError,
    KnowledgeHost,
    KnowledgeTimeoutError,
    KnowledgeUnavailableError,
)

FOUND = [{"id": "a", "content": "one"}]
KINDS = [HeldProvider, DeafProvider, BlockingProvider]


@pytest.mark.parametrize("kind", KINDS)
def test_the_deadline_ends_the_wait(kind: type[Any]) -> None:
    """Field case 77: where it swallows its cancellation, or blocks, the host returns, and what is late is lost."""

    async def scene() -> None:
        with kind([FOUND]) as provider:
            host = KnowledgeHost(provider, timeout=0.5)
            began = time.monotonic()
            with pytest.raises(
                KnowledgeTimeoutError, match=r"^Wanted an answer from scripted within 0\.5 seconds"
            ) as it:
                await host.search("policy", context=context())
            assert time.monotonic() - began < 0.7
            assert (it.value.provider_key, it.value.retryable) == ("scripted", True)
            assert provider.told.is_set()
            assert host.abandoned == (0 if kind is HeldProvider else 1)
        await until(lambda: not host.abandoned)
        assert (await host.search("policy", context=context())).status == "ok"

    run(scene())


@pytest.mark.parametrize("kind", KINDS)
def test_a_provider_that_is_down_costs_each_turn_its_deadline_and_no_more(kind: type[Any]) -> None:
    """Field case 75, without a circuit breaker: six turns are bounded each, and it is asked again when it is up."""

    async def scene() -> list[float]:
        took = []
        with kind([FOUND]) as provider:
            host = KnowledgeHost(provider, timeout=0.2)
            for turn in range(6):
                began = time.monotonic()
                with pytest.raises(KnowledgeTimeoutError):
                    await host.search("policy", context=context(turn_id=f"{turn}"))
                took.append(time.monotonic() - began)
            assert host.abandoned == (0 if kind is HeldProvider else 6)
            provider.release()
            assert (await host.search("policy", context=context(owner_id="bob"))).status == "ok"
        return took

    assert max(run(scene())) < 0.4


def test_the_callers_own_deadline_is_kept() -> None:
    """Clause 8.6: the earlier of both; none but the caller's signal knows how long the turn may take."""

    async def scene() -> None:
        signal = CancelSignal(deadline=time.monotonic() + 0.05)
        with HeldProvider() as provider, pytest.raises(KnowledgeTimeoutError):
            await KnowledgeHost(provider).search("policy", context=context(signal))

    run(scene())


def test_too_many_calls_that_hang_are_a_failure_at_once() -> None:
    """Clause 8.6: counted, and bounded; another try may help."""

    async def scene() -> KnowledgeFailedError:
        with BlockingProvider([FOUND]) as provider:
            host = KnowledgeHost(provider, timeout=0.1)
            searches = [host.search("policy", context=context()) for _ in range(33)]
            errors = await asyncio.gather(*searches, return_exceptions=True)
            assert {type(each) for each in errors} == {KnowledgeTimeoutError}
            assert (host.abandoned, len(provider.calls)) == (32, 32)
            with pytest.raises(KnowledgeFailedError) as refused:
                await host.search("policy", context=context())
        await until(lambda: not host.abandoned)
        return refused.value

    refused = run(scene())
    assert isinstance(refused.__cause__, KnowledgeUnavailableError)
    assert (refused.code, refused.retryable) == ("knowledge_provider_failed", True)


def test_a_healthy_synchronous_provider_answers_more_searches_than_there_are_threads() -> None:
    """And its health, which waits its turn too."""

    class Healthy(SyncScriptedProvider):
        def health(self) -> dict[str, str]:
            return {"status": "ready"}

    async def scene() -> None:
        host = KnowledgeHost(Healthy([lambda *_: time.sleep(0.002) or FOUND]))  # type: ignore[func-returns-value]
        searches = [asyncio.create_task(host.search("policy", context=context())) for _ in range(100)]
        assert await host.health() == {"status": "ready"}
        assert {outcome.status for outcome in await asyncio.gather(*searches)} == {"ok"}

    run(scene())


def test_a_slow_and_a_fast_search_of_a_turn_share_their_citations() -> None:
    """Clause 8.9: also where the turn was forgotten between them, which would give one id to two links."""
    may_answer = asyncio.Event()

    def link(name: str) -> list[dict[str, str]]:
        return [{"id": name, "content": "text", "url": f"https://example.com/{name}"}]

    class Slow(ScriptedProvider):
        async def retrieve(self, request: Any, context: Any) -> Any:
            if request.query == "slow":
                await may_answer.wait()
            return link(request.query)

    async def scene() -> list[str]:
        host = KnowledgeHost(Slow(), turns=1)
        slow = asyncio.create_task(host.search("slow", context=context()))
        await asyncio.sleep(0.01)
        await host.search("other", context=context(turn_id="u"))
        fast = await host.search("fast", context=context())
        may_answer.set()
        return [outcome.citations[0].id for outcome in (fast, await slow)]

    assert run(scene()) == ["source_1", "source_2"]


def test_a_lone_host_name_is_one_host() -> None:
    """Not its letters, and not a mistake that shows links to no one."""
    found = [
        {"id": "a", "content": "one", "url": "https://wiki.corp/a"},
        {"id": "b", "content": "two", "url": "http://w/"},
    ]
    host = KnowledgeHost(ScriptedProvider([found]), allow_hosts="wiki.corp")
    outcome = run(host.search("policy", context=context()))
    assert [result.url for result in outcome.results] == ["https://wiki.corp/a", None]


def test_the_least_recently_used_turn_is_forgotten() -> None:
    """Clause 8.9: bounded by ``turns``."""
    answers = [[{"id": "a", "content": "text", "url": f"https://example.com/{at}"}] for at in (1, 2, 3, 1)]
    host = KnowledgeHost(ScriptedProvider(answers), turns=1)

    async def scene() -> list[str]:
        turns = ["t", "t", "u", "t"]
        found = [await host.search("x", context=context(turn_id=each)) for each in turns]
        return [outcome.citations[0].id for outcome in found]

    assert run(scene()) == ["source_1", "source_2", "source_1", "source_1"]


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"timeout": 0}, ValueError),
        ({"timeout": -1.0}, ValueError),
        ({"timeout": float("inf")}, TypeError),
        ({"timeout": float("nan")}, TypeError),
        ({"timeout": True}, TypeError),
        ({"timeout": None}, TypeError),
        ({"timeout": "10"}, TypeError),
        ({"turns": 0}, ValueError),
        ({"turns": 1.5}, TypeError),
        ({"max_content_chars": 0}, ValueError),
        ({"max_content_chars": "4000"}, TypeError),
        ({"allow_hosts": 7}, TypeError),
        ({"knowledge_bases": "hr"}, TypeError),
        ({"knowledge_bases": [""]}, ValueError),
    ],
    ids=str,
)
def test_a_mistake_in_the_settings_is_told_when_the_host_is_made(
    settings: dict[str, Any], error: type[Exception]
) -> None:
    """Never at the first turn; also by a host that has no provider yet."""
    for provider in (ScriptedProvider(), None):
        with pytest.raises(error):
            KnowledgeHost(provider, **settings)
