"""Every conformant provider against the clauses that are easy to check from outside."""

import asyncio
import importlib
import inspect
import math
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import pairwise
from types import NoneType
from typing import Any, cast

import pytest

from knowledge_fakes.conformant import CONFORMANT, Conformant
from knowledge_provider import (
    CancelSignal,
    Health,
    ProviderDescription,
    RetrievalContext,
    RetrievalRequest,
    RetrievalResult,
    Source,
    error_code,
)
from knowledge_provider.errors import KnowledgeFiltersUnsupportedError, KnowledgeUnavailableError

CONTEXT = RetrievalContext(owner_id="alice", session_id="s", turn_id="t", trace_id="x")
HOSTILE = ("'", '"', "NEAR(", "a:b AND -c*", "'; DROP TABLE x; --", '{"a": [', "{{ 7 * 7 }}", "🚢" * 250, "审" * 500)

each = pytest.mark.parametrize("case", CONFORMANT.values(), ids=CONFORMANT)


def factory(case: Conformant) -> Callable[[], Any]:
    """What the target string leads to."""
    module, _, name = case.target.partition(":")
    return cast("Callable[[], Any]", getattr(importlib.import_module(module), name))


async def settled(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value


async def closed(provider: Any) -> None:
    if hasattr(provider, "close"):
        await settled(provider.close())


@asynccontextmanager
async def opened(case: Conformant) -> AsyncGenerator[Any]:
    """The provider behind a target, closed at the end."""
    made = await settled(factory(case)())
    async with AsyncExitStack() as stack:
        if hasattr(made, "__aenter__"):
            made = await stack.enter_async_context(made)
        elif hasattr(made, "__enter__"):
            made = stack.enter_context(made)
        yield made
        await closed(made)


def other_tasks() -> set[asyncio.Task[Any]]:
    return {task for task in asyncio.all_tasks() if task is not asyncio.current_task()}


async def all_ended() -> bool:
    """Whether every other task ends within the 100 ms of clause 7.2."""
    left = other_tasks()
    return not left or not (await asyncio.wait(left, timeout=0.1))[1]


def every(scene: Callable[[Any, Conformant], Awaitable[None]]) -> Callable[[Conformant], None]:
    """A test that plays ``scene`` with each provider, and sees that nothing is left of it (clause 2.3)."""

    async def play(case: Conformant) -> None:
        async with opened(case) as provider:
            await scene(provider, case)
        assert await all_ended()

    @each
    def test(case: Conformant) -> None:
        threads = set(threading.enumerate())
        asyncio.run(play(case))
        assert set(threading.enumerate()) <= threads

    test.__doc__ = scene.__doc__
    return test


async def ask(provider: Any, query: str, context: RetrievalContext = CONTEXT, **rest: Any) -> list[Any]:
    answer: Any = await settled(provider.retrieve(RetrievalRequest(query=query, **rest), context))
    return [*(cast("Any", answer["results"]) if type(answer) is dict else answer)]


def models(results: list[Any]) -> list[RetrievalResult]:
    return [RetrievalResult.model_validate(result) for result in results]


def ids(results: list[Any]) -> list[str]:
    return [result.id for result in models(results)]


def claims(provider: Any) -> dict[str, bool]:
    return ProviderDescription.model_validate(provider.describe()).capabilities


def test_there_are_many_and_each_says_what_it_is() -> None:
    """At least twelve, each with its own name, target, case, and several queries."""
    assert len(CONFORMANT) >= 12
    assert len({case.case for case in CONFORMANT.values()}) == len(CONFORMANT)
    assert all(case.case.endswith(".") and "\n" not in case.case for case in CONFORMANT.values())
    assert all(case.target == f"knowledge_fakes.conformant:{case.name}" for case in CONFORMANT.values())
    assert all(len(case.queries) >= 3 for case in CONFORMANT.values())


@every
async def test_the_description_is_valid_and_stays_equal(provider: Any, case: Conformant) -> None:
    """Clauses 1.2 to 1.7."""
    first = provider.describe()
    expected = ProviderDescription.model_validate(first).model_copy(deep=True)
    capabilities = first.capabilities if isinstance(first, ProviderDescription) else first.get("capabilities", {})
    capabilities["spoilt"] = True
    assert ProviderDescription.model_validate(provider.describe()) == expected


@every
async def test_health_is_left_out_or_ready(provider: Any, case: Conformant) -> None:
    """Clause 2.1."""
    health = getattr(provider, "health", None)
    if health is None:
        assert case.name in {"slots", "minimal"}
        return
    wanted = [CancelSignal()] if inspect.signature(health).parameters else []
    assert Health.model_validate(await settled(health(*wanted))).status == "ready"


@every
async def test_each_query_returns_something_else(provider: Any, case: Conformant) -> None:
    """Clauses 3.3, 3.6, 5.1 to 5.3: bounded by top_k, each id once, repeatable, and queries can be told apart."""
    answers = {query: ids(await ask(provider, query, top_k=8)) for query in case.queries}
    assert all(answers.values())
    assert len(set(map(tuple, answers.values()))) == len(answers)
    for query, answer in answers.items():
        assert len(set(answer)) == len(answer)
        assert ids(await ask(provider, query, top_k=1)) == answer[:1]
        assert ids(await ask(provider, query, top_k=8)) == answer


def is_plain(value: Any) -> bool:
    """Clause 5.7: by exact type, all the way down, and no NaN."""
    if type(value) in (dict, RetrievalResult, Source):
        entries = dict(cast("dict[Any, Any]", value)).items()
        return all(type(name) is str and is_plain(item) for name, item in entries)
    return type(value) in (str, int, bool, NoneType) or (type(value) is float and math.isfinite(value))


@every
async def test_answers_are_plain_and_show_what_is_claimed(provider: Any, case: Conformant) -> None:
    """Clauses 1.9, 5.4, 5.7 and 6.3: scores that fall and links where they are claimed, and none where not."""
    claimed = claims(provider)
    for query in case.queries:
        answer = await ask(provider, query, top_k=8)
        assert all(map(is_plain, answer))
        results = models(answer)
        scores = [result.score for result in results if result.score is not None]
        uris = [result.source.uri for result in results if result.source and result.source.uri]
        assert len(scores) == len(results) * claimed.get("scores", False)
        assert len(uris) == len(results) * claimed.get("citations", False)
        assert all(one >= two for one, two in pairwise(scores))
        assert all((score < 0) == (case.name == "negative_scores") for score in scores)
        assert all(uri.startswith("https://handbook.example.com/") for uri in uris)


@every
async def test_filters_are_honoured_or_refused(provider: Any, case: Conformant) -> None:
    """Clause 3.5."""
    query = case.queries[0]
    if not claims(provider).get("filters", False):
        with pytest.raises(KnowledgeFiltersUnsupportedError):
            await ask(provider, query, filters={"language": "en"})
        return
    language = models(await ask(provider, query))[0].metadata["language"]
    kept = models(await ask(provider, query, filters={"language": language}))
    assert kept
    assert {result.metadata["language"] for result in kept} == {language}
    assert await ask(provider, query, filters={"language": "none"}) == []


@every
async def test_knowledge_bases_restrict(provider: Any, case: Conformant) -> None:
    """Clause 3.4: nothing from an unknown base, and a known one answers with a part of the whole."""

    async def within(*bases: str) -> set[str]:
        return set(ids(await ask(provider, query, top_k=8, knowledge_base_ids=bases)))

    for query in case.queries:
        parts = [await within(base) for base in ("engineering", "people", "support")]
        whole = {key for part in parts for key in part}
        assert set(ids(await ask(provider, query, top_k=8))) <= whole
        assert sum(map(len, parts)) == len(whole)
        if case.name == "strict_bases":
            with pytest.raises(Exception, match="another one came") as refused:
                await within("nowhere", "people")
            assert error_code(refused.value) == "knowledge_base_unknown"
        else:
            assert await within("nowhere") == set()
            assert await within("nowhere", "people") == parts[1]


@every
async def test_no_match_is_an_empty_answer_and_no_text_fails(provider: Any, case: Conformant) -> None:
    """Clauses 3.2, 3.7, 3.8: no filler, no exception, and request and context stay as they were."""
    assert await ask(provider, "zzqx nonsense 9731") == []
    for query in HOSTILE:
        request = RetrievalRequest(query=query, knowledge_base_ids=("people",))
        before = request.model_dump(), CONTEXT.model_dump()
        await settled(provider.retrieve(request, CONTEXT))
        assert (request.model_dump(), CONTEXT.model_dump()) == before


@every
async def test_an_already_cancelled_call_does_not_start(provider: Any, case: Conformant) -> None:
    """Clause 7.3: it ends in a cancellation and leaves no task or thread that was not there."""
    signal = CancelSignal()
    signal.cancel()
    threads, tasks = threading.active_count(), other_tasks()
    with pytest.raises(asyncio.CancelledError):
        await ask(provider, case.queries[0], RetrievalContext(owner_id="alice", signal=signal))
    assert (threading.active_count(), other_tasks()) == (threads, tasks)


@every
async def test_concurrent_calls_get_their_own_answers(provider: Any, case: Conformant) -> None:
    """Clause 7.5: 32 at once give what they give one after another."""
    queries = [case.queries[n % len(case.queries)] for n in range(32)]
    at_once = await asyncio.gather(*(ask(provider, query) for query in queries))
    alone = {query: await ask(provider, query) for query in case.queries}
    assert at_once == [alone[query] for query in queries]


async def cancelled_after(steps: int, call: Awaitable[Any]) -> bool:
    """Cancel ``call`` after so many turns of the loop; False when it was done before that."""
    task = asyncio.ensure_future(call)
    for _ in range(steps):
        await asyncio.sleep(0)
    if not task.cancel():
        await task
        return False
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(asyncio.shield(task), 1.0)
    return task.cancelled()


@every
async def test_cancelled_at_any_await_it_ends_and_works_afterwards(provider: Any, case: Conformant) -> None:
    """Clauses 7.1 and 7.2: the cancellation comes out within a second, and no task is left 100 ms later."""
    query = case.queries[0]
    expected = await ask(provider, query)
    for steps in range(1, 40):
        call = provider.retrieve(RetrievalRequest(query=query), CONTEXT)
        if not inspect.isawaitable(call):
            assert case.name in {"synchronous", "sync_context_manager", "minimal"}
            break
        went_on = await cancelled_after(steps, call)
        assert await all_ended()
        if not went_on:
            assert steps > 1
            break
    assert await ask(provider, query) == expected


@every
async def test_closing_twice_and_asking_afterwards(provider: Any, case: Conformant) -> None:
    """Clause 2.2: a call after close is refused, and never answered as if nothing was found."""
    await asyncio.gather(*(ask(provider, query) for query in case.queries))
    await closed(provider)
    await closed(provider)
    if hasattr(provider, "close"):
        with pytest.raises(KnowledgeUnavailableError):
            await ask(provider, "zzqx")
    else:
        assert case.name == "minimal"
        assert await ask(provider, case.queries[0])


@each
def test_a_second_loop_after_the_first_has_ended(case: Conformant) -> None:
    """Clause 2.4: also when nobody closed it on the first one. A context manager keeps to the loop that entered it."""
    if case.name.endswith("context_manager"):
        assert not hasattr(factory(case)(), "retrieve")
        return

    async def make_and_ask() -> tuple[Any, list[Any]]:
        provider = await settled(factory(case)())
        return provider, await ask(provider, case.queries[0])

    async def ask_and_close(provider: Any) -> list[Any]:
        try:
            return await asyncio.wait_for(ask(provider, case.queries[0]), 5.0)
        finally:
            await closed(provider)

    provider, first = asyncio.run(make_and_ask())
    assert asyncio.run(ask_and_close(provider)) == first
