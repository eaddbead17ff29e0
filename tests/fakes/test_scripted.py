"""The providers that do what a test tells them: answers in order, calls kept, and waits that only the test ends."""

import asyncio
import threading
from collections.abc import Awaitable
from typing import Any

import pytest

from knowledge_fakes.scripted import (
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
    KnowledgeProvider,
    ProviderDescription,
    RetrievalContext,
    RetrievalRequest,
)

REQUEST = RetrievalRequest(query="release policy")
RESULTS = [{"id": "a", "content": "one"}]
KINDS = [ScriptedProvider, SyncScriptedProvider]

each_kind = pytest.mark.parametrize("kind", KINDS)


def context() -> RetrievalContext:
    return RetrievalContext(owner_id="owner")


def asked(provider: Any) -> Any:
    """One answer, whichever way the provider is called."""

    async def ask() -> Any:
        answer = provider.retrieve(REQUEST, context())
        return await answer if isinstance(provider, ScriptedProvider) else answer

    return asyncio.run(ask())


# Scripts.


@each_kind
def test_answers_come_in_order_and_the_last_one_stays(kind: Any) -> None:
    """A test gives as many answers as differ."""
    provider = kind([[1], [2]])
    assert [asked(provider) for _ in range(4)] == [[1], [2], [2], [2]]


@each_kind
def test_without_answers_nothing_is_found(kind: Any) -> None:
    """The shortest script is none."""
    assert asked(kind()) == []


@each_kind
def test_an_answer_is_returned_as_it_is(kind: Any) -> None:
    """The very object, so that a test sees whether a host changes it."""
    assert asked(kind([RESULTS])) is RESULTS


@each_kind
@pytest.mark.parametrize("answer", [ValueError("x"), ValueError, asyncio.CancelledError(), SystemExit])
def test_an_exception_or_its_class_is_raised(kind: Any, answer: Any) -> None:
    """The very exception, where one is given."""
    wanted = answer if isinstance(answer, type) else type(answer)
    provider = kind([answer])
    found: list[BaseException] = []

    async def ask() -> None:
        try:
            given = provider.retrieve(REQUEST, context())
            await given if kind is ScriptedProvider else None
        except BaseException as error:
            found.append(error)

    asyncio.run(ask())
    assert type(found[0]) is wanted
    assert isinstance(answer, type) or found[0] is answer


@each_kind
def test_what_can_be_called_gets_the_request_and_the_context(kind: Any) -> None:
    """And its answer is the answer."""
    provider = kind([lambda request, given: (request.query, given.owner_id)])
    assert asked(provider) == ("release policy", "owner")


def test_a_coroutine_function_is_awaited_or_handed_over() -> None:
    """A synchronous provider that answers an awaitable is what a decorator often makes."""

    async def later(request: Any, _context: Any) -> Any:
        await asyncio.sleep(0)
        return request.query

    async def awaited() -> Any:
        given: Awaitable[Any] = SyncScriptedProvider([later]).retrieve(REQUEST, context())
        return await given

    assert asked(ScriptedProvider([later])) == "release policy" == asyncio.run(awaited())


@each_kind
@pytest.mark.parametrize("value", [ValueError("x"), ValueError, print, dict])
def test_anything_can_be_an_answer(kind: Any, value: Any) -> None:
    """``returning`` gives what a script would raise or call."""
    assert asked(kind([returning(value)])) is value


@each_kind
def test_every_call_is_kept(kind: Any) -> None:
    """The very request and context, in order."""
    provider, given = kind(), [context(), context()]

    async def ask() -> None:
        for each in given:
            answer = provider.retrieve(REQUEST, each)
            await answer if kind is ScriptedProvider else None

    asyncio.run(ask())
    assert [call.context for call in provider.calls] == given
    assert all(call.request is REQUEST for call in provider.calls)


@each_kind
def test_arguments_come_by_position(kind: Any) -> None:
    """A host that names them is told."""
    with pytest.raises(TypeError, match="positional"):
        kind().retrieve(request=REQUEST, context=context())


@each_kind
def test_it_is_a_provider(kind: Any) -> None:
    """The description is fresh each time, and says what was given."""
    provider = kind(key="wiki-2", label="Wiki", capabilities={"filters": True})
    told = provider.describe()
    assert ProviderDescription.model_validate(told).model_dump() == {
        "protocol_version": 1,
        "key": "wiki-2",
        "label": "Wiki",
        "capabilities": {"filters": True},
    }
    told["capabilities"]["scores"] = told["key"] = None
    assert provider.describe()["capabilities"] == {"filters": True}
    assert "capabilities" not in kind().describe()
    assert isinstance(kind(), KnowledgeProvider)


@each_kind
def test_health_is_there_where_it_is_scripted(kind: Any) -> None:
    """Called with the signal; raised, returned or called like an answer."""
    assert not hasattr(kind(), "health")

    async def health(answer: Any) -> Any:
        given = kind(health=answer).health(CancelSignal())
        return await given if kind is ScriptedProvider else given

    assert asyncio.run(health({"status": "ready"})) == {"status": "ready"}
    assert asyncio.run(health(lambda signal: {"status": signal.reason})) == {"status": None}
    with pytest.raises(ConnectionError):
        asyncio.run(health(ConnectionError))


@each_kind
def test_closing_is_counted(kind: Any) -> None:
    """Also where it is scripted to raise."""
    provider = kind(closing=RuntimeError("closed twice"))

    async def close() -> None:
        given = provider.close()
        await given if kind is ScriptedProvider else None

    for _ in range(2):
        with pytest.raises(RuntimeError):
            asyncio.run(close())
    assert provider.closed == 2


# Held calls.


def test_a_held_call_waits_for_the_test() -> None:
    """Released from another thread, it gives its answer."""

    async def hold() -> Any:
        provider = HeldProvider([RESULTS])
        call = asyncio.create_task(provider.retrieve(REQUEST, context()))
        await provider.started.wait()
        assert not call.done()
        threading.Thread(target=provider.release).start()
        answer = await call
        assert (provider.cancelled.is_set(), provider.told.is_set(), provider.ended.is_set()) == (False, False, True)
        return answer

    assert asyncio.run(hold()) is RESULTS


def test_a_held_call_says_that_it_was_cancelled() -> None:
    """Its cancellation comes out, and whether the signal was told is known apart from that."""

    async def cancel() -> tuple[bool, ...]:
        provider = HeldProvider()
        given = context()
        call = asyncio.create_task(provider.retrieve(REQUEST, given))
        await provider.started.wait()
        given.signal.cancel()
        told = provider.told.is_set(), provider.cancelled.is_set()
        call.cancel()
        await asyncio.wait({call})
        return *told, call.cancelled(), provider.cancelled.is_set(), provider.ended.is_set()

    assert asyncio.run(cancel()) == (True, False, True, True, True)


def test_a_deaf_call_goes_on_until_it_is_released() -> None:
    """However often it is cancelled; then it answers as if nothing had been."""

    async def cancel() -> Any:
        with DeafProvider([RESULTS]) as provider:
            call = asyncio.create_task(provider.retrieve(REQUEST, context()))
            await provider.started.wait()
            for _ in range(3):
                call.cancel()
                await asyncio.wait({call}, timeout=0)
            assert provider.cancelled.is_set()
            assert not call.done()
        return await call

    assert asyncio.run(cancel()) is RESULTS


def test_a_blocking_call_blocks_its_thread() -> None:
    """Whatever its signal says, until it is released."""

    async def block() -> Any:
        given = context()
        with BlockingProvider([RESULTS]) as provider:
            call = asyncio.create_task(asyncio.to_thread(provider.retrieve, REQUEST, given))
            await provider.started.wait()
            given.signal.cancel()
            assert provider.told.is_set()
            assert not provider.ended.is_set()
        return await call

    assert asyncio.run(block()) is RESULTS


@pytest.mark.parametrize("kind", [HeldProvider, DeafProvider])
def test_so_many_calls_are_held_and_no_more(kind: Any) -> None:
    """What comes after a call that was given up is answered at once, and the late answer is its own."""

    async def ask() -> Any:
        with kind([["first"], ["second"]], held=1) as provider:
            first = asyncio.create_task(provider.retrieve(REQUEST, context()))
            await provider.started.wait()
            second = await provider.retrieve(REQUEST, context())
        return await first, second

    assert asyncio.run(ask()) == (["first"], ["second"])


def test_a_flag_is_seen_on_every_loop_and_thread() -> None:
    """Set in one thread, waited for in two others."""
    flag = Flag()
    assert not flag.wait_in_thread(0)
    seen: list[bool] = []
    threads = [
        threading.Thread(target=lambda: seen.append(flag.wait_in_thread(5))),
        threading.Thread(target=lambda: seen.append(asyncio.run(flag.wait()) is None)),
    ]
    for thread in threads:
        thread.start()
    flag.set()
    flag.set()
    for thread in threads:
        thread.join()
    assert seen == [True, True]
    assert flag.is_set()
