"""What some of the faulty hosts do wrong, seen from outside and without the kit, which proves it for each of them."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from knowledge_fakes import plain_host
from knowledge_fakes.host_faults import HOST_FAULTS
from knowledge_fakes.scripted import (
    MALFORMED,
    SECRET,
    UNFIT,
    BlockingProvider,
    DeafProvider,
    HeldProvider,
    ScriptedProvider,
    SyncScriptedProvider,
    returning,
)
from knowledge_provider import CancelSignal, RetrievalContext

RESULTS = [
    {"id": "a", "content": "one", "score": 0.5, "source": {"title": "A", "uri": "https://example.com/a"}},
    {"id": "b", "content": "two", "score": 0.4, "source": {"title": "B", "uri": "https://example.com/b"}},
]
SOON = 0.05


def context(**fields: Any) -> RetrievalContext:
    given = {"owner_id": "owner", "session_id": "session", "turn_id": "turn", "signal": CancelSignal(), **fields}
    return RetrievalContext.model_construct(**given)


def host_of(name: str, provider: Any, **settings: Any) -> Any:
    return HOST_FAULTS[name].make(provider, **{"timeout": SOON, **settings})


async def ended(coroutine: Any, seconds: float = 1.0) -> Any:
    """What it answers or raises, or "still waiting"."""
    call = asyncio.ensure_future(coroutine)
    await asyncio.wait({call}, timeout=seconds)
    if not call.done():
        call.cancel()
        return "still waiting"
    return asyncio.CancelledError() if call.cancelled() else call.exception() or call.result()


def searched(host: Any, query: Any = "policy", **asked: Any) -> Any:
    return asyncio.run(ended(host.search(query, **{"context": context(), **asked})))


def test_a_cancelled_call_is_waited_for() -> None:
    """As ``asyncio.wait_for`` does, where the sound host's deadline holds."""

    async def search(make: Any) -> Any:
        with DeafProvider() as provider:
            return await ended(make(provider, timeout=SOON).search("x", context=context()), 4 * SOON)

    assert asyncio.run(search(HOST_FAULTS["waits_for_what_it_cancelled"].make)) == "still waiting"
    assert asyncio.run(search(plain_host.factory)).code == "knowledge_timeout"


def test_a_thread_is_not_told() -> None:
    """A coroutine is."""

    async def search(kind: Any) -> bool:
        with kind() as provider:
            await ended(host_of("threads_untold", provider).search("x", context=context()))
            return bool(provider.told.is_set())

    assert [asyncio.run(search(kind)) for kind in (HeldProvider, BlockingProvider)] == [True, False]


def test_a_late_answer_is_cited() -> None:
    """And the next search in the turn counts from two."""

    async def search() -> Any:
        with DeafProvider([RESULTS[:1], RESULTS[1:]], held=1) as provider:
            host = host_of("late_answers_cited", provider)
            await ended(host.search("x", context=context()))
        await provider.ended.wait()
        await asyncio.sleep(0)
        return await host.search("x", context=context())

    assert asyncio.run(search()).citations[0].id == "source_2"


@pytest.mark.parametrize(
    ("name", "raised"),
    [
        ("cancellation_of_the_providers", asyncio.CancelledError),
        ("timeout_of_the_providers", TimeoutError),
        ("foreign_error_goes_through", RuntimeError),
    ],
)
def test_a_providers_error_is_mistaken(name: str, raised: type[BaseException]) -> None:
    """For the host's own end, or for something that a caller can name."""
    found = searched(host_of(name, ScriptedProvider([raised()])))
    sound = searched(plain_host.factory(ScriptedProvider([raised()])))
    assert sound.code == "knowledge_provider_failed"
    assert getattr(found, "code", None) != sound.code


def test_an_error_is_repeated() -> None:
    """In the message, in a note, or as a result."""
    error = RuntimeError(SECRET)
    assert SECRET in str(searched(host_of("error_text_in_the_message", ScriptedProvider([error]))))
    assert SECRET in searched(host_of("error_text_in_a_note", ScriptedProvider([error]))).__notes__[0]
    assert SECRET in searched(host_of("failure_as_a_result", ScriptedProvider([error]))).results[0].content


@pytest.mark.parametrize(
    ("name", "unfit"),
    [
        ("version_by_int", ["version_true", "version_in_a_text", "version_1_5"]),
        ("key_by_match", ["key_with_a_newline"]),
        ("key_made_to_fit", ["key_with_a_newline", "key_with_capitals", "key_with_spaces", "key_with_an_underscore"]),
        ("optional_methods_unchecked", ["health_a_text", "close_a_boolean"]),
        ("composition_exits", []),
    ],
)
def test_what_is_no_provider_is_composed(name: str, unfit: list[str]) -> None:
    """Only where the mistake lies."""
    accepted = []
    for case, make in UNFIT.items():
        try:
            host_of(name, make())
        except BaseException:
            continue
        accepted.append(case)
    assert set(unfit) <= set(accepted)
    assert all(case.startswith(name.partition("_")[0]) or case in unfit for case in accepted)


def test_a_model_chooses_what_it_may_not() -> None:
    """The owner, the filters and the turn."""
    sent = {"query": "q", "owner_id": "eve", "filters": {"a": 1}, "turn_id": "another"}

    def came(name: str) -> Any:
        provider = ScriptedProvider()
        asyncio.run(host_of(name, provider).call_tool(sent, context()))
        return provider.calls[0]

    assert came("owner_from_the_arguments").context.owner_id == "eve"
    assert came("filters_from_the_arguments").request.filters == {"a": 1}
    assert came("turn_from_the_arguments").context.turn_id == "another"


def test_bases_are_opened() -> None:
    """That were not disclosed, or not asked for."""

    def came(name: str, *ids: str) -> Any:
        provider = ScriptedProvider()
        searched(host_of(name, provider, knowledge_bases=["docs"]), knowledge_base_ids=list(ids))
        return [call.request.knowledge_base_ids for call in provider.calls]

    assert came("undisclosed_bases_allowed", "hidden") == [("hidden",)]
    assert came("unknown_bases_widen", "hidden") == [()]
    assert came("bases_by_prefix", "docs-private", "other") == [("docs-private",)]


def test_a_folder_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a provider."""
    monkeypatch.chdir(tmp_path)
    host_of("folder_without_a_provider", None)
    assert [path.name for path in tmp_path.iterdir()] == [".knowledge"]


def test_an_answer_is_looked_at() -> None:
    """What raises when it is looked at comes out of the host."""
    for name in ("asks_whether_it_is_empty", "writes_it_to_the_log"):
        found = searched(host_of(name, SyncScriptedProvider([returning(MALFORMED["a_list_that_raises"]())])))
        assert isinstance(found, RuntimeError)


def test_it_closes_more_than_once() -> None:
    """Each time, or while it is being closed."""

    async def close(name: str) -> int:
        provider = ScriptedProvider(closing=returning(None))
        host = host_of(name, provider)
        await asyncio.gather(host.close(), host.close())
        await host.close()
        return provider.closed

    assert [asyncio.run(close(name)) for name in ("closes_twice", "closes_once_per_caller", "never_closes")] == [
        3,
        2,
        0,
    ]
