"""How ``OpenAIFileSearchProvider`` waits, is cancelled, retries, closes, and keeps to event loops."""

import asyncio
import gc
import time
from typing import Any

import openai
import pytest
from openai_subjects import BASES, HANDBOOK, SECRET, answer_of, ask, client_of, context, over, over_url

from knowledge_adapters.openai_file_search_provider import OpenAIFileSearchProvider
from knowledge_fakes.vendors.openai_service import VectorStoreService
from knowledge_fakes.vendors.serving import serving
from knowledge_provider import CancelSignal, RetrievalContext, RetrievalRequest, errors, services

REQUEST = RetrievalRequest(query="release policy")


# The deadline


@pytest.mark.parametrize("how", ["held", "drip"])
def test_the_hosts_deadline_ends_the_wait(how: str) -> None:
    """Also when the answer comes a byte at a time, so that no time-out of the client's passes; the server sees it."""
    service = VectorStoreService()

    async def main(url: str) -> str:
        provider = over_url(url)
        await answer_of(provider)
        service.answer(how)
        with pytest.raises(errors.KnowledgeTimeoutError) as caught:
            await answer_of(provider, seconds=0.2)
        assert await asyncio.to_thread(service.gone.wait, 10)
        await provider.close()
        return caught.value.code

    with serving(service.app) as url:
        assert asyncio.run(main(url)) == "knowledge_timeout"


@pytest.mark.parametrize("how", ["rate limited", "unavailable", "server error"])
def test_retries_of_a_client_of_yours_do_not_outlast_the_deadline(how: str) -> None:
    """A client that would try a thousand times, for hours, is ended like any other."""
    service = VectorStoreService()
    service.answer(how)
    provider = over(service, client=lambda: client_of(service.app, max_retries=1000))
    started = time.monotonic()
    with pytest.raises(errors.KnowledgeTimeoutError):
        asyncio.run(answer_of(provider, seconds=0.3))
    assert time.monotonic() - started < 5
    assert {search.retry for search in service.searches} >= {0}


def test_a_client_of_yours_keeps_its_retries() -> None:
    """Within the deadline they are its own affair; the one that the provider makes has none."""
    service = VectorStoreService()
    service.answer("conflict")
    provider = over(service, client=lambda: client_of(service.app, max_retries=1))
    with pytest.raises(errors.KnowledgeFailedError):
        ask(provider)
    assert [search.retry for search in service.searches] == [0, 1]


def test_one_store_that_hangs_does_not_cost_the_answers_of_the_others() -> None:
    """Clause 9.1: it is given up a little before the deadline, and reported."""
    service = VectorStoreService()
    service.answer("held", "vs_people")
    found = asyncio.run(answer_of(over(service, BASES), seconds=0.5))
    assert len(found["results"]) == 5
    assert [(report.status, report.reason) for report in found["sources"]] == [
        ("hit", None),
        ("failed", "timeout"),
        ("hit", None),
    ]


def test_several_stores_have_nine_tenths_of_what_is_left_and_one_has_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the others' answers are out before the deadline when one hangs."""
    limits: list[float | None] = []
    time_limit = services.time_limit

    def noted(signal: CancelSignal) -> Any:
        limits.append(signal.remaining())
        return time_limit(signal)

    monkeypatch.setattr(services, "time_limit", noted)
    for stores in (HANDBOOK, BASES):
        known = RetrievalContext(owner_id="alice", signal=CancelSignal(deadline=50.0, clock=lambda: 40.0))
        asyncio.run(over(VectorStoreService(), stores).retrieve(REQUEST, known))
    asyncio.run(answer_of(over(VectorStoreService())))
    assert limits == [10.0, 9.0, 9.0, 9.0, None]


def test_stores_are_asked_at_the_same_time() -> None:
    """Clause 9.1: each is answered only when all have been asked."""
    service = VectorStoreService()
    together = asyncio.Barrier(3)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await together.wait()
        await service.app(scope, receive, send)

    found = asyncio.run(asyncio.wait_for(answer_of(over(service, BASES, client=lambda: client_of(app))), 30))
    assert len(found["results"]) == 5


# Cancellation


def test_a_cancelled_signal_starts_no_work() -> None:
    """Clause 7.3."""
    service = VectorStoreService()
    told = context()
    told.signal.cancel()
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(over(service).retrieve(REQUEST, told))
    assert service.searches == []


def test_cancellation_comes_out_reaches_the_server_and_leaves_no_task() -> None:
    """Clauses 7.1 and 7.2, with three stores under way; and the provider still works afterwards."""
    service = VectorStoreService()
    service.answer("held")

    async def main(url: str) -> int:
        provider = over_url(url)
        asking = asyncio.create_task(answer_of(provider))
        assert await asyncio.to_thread(service.held.wait, 10)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert await asyncio.to_thread(service.gone.wait, 10)
        assert asyncio.all_tasks() == {asyncio.current_task()}
        service.answer("sound")
        found = await answer_of(provider)
        await provider.close()
        return len(found["results"])

    with serving(service.app) as url:
        assert asyncio.run(main(url)) == 5


def test_cancelling_several_searches_ends_them_all() -> None:
    """Clause 7.2."""
    service = VectorStoreService()
    service.answer("held")

    under_way = asyncio.Barrier(4)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await under_way.wait()
        await service.app(scope, receive, send)

    async def main() -> None:
        asking = asyncio.create_task(answer_of(over(service, BASES, client=lambda: client_of(app))))
        await under_way.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())


# Loops and closing


def test_it_works_on_one_loop_after_another_and_nothing_is_left_to_complain() -> None:
    """Clause 2.4: a client of a loop that has ended is let go without a task or an error on the next one."""
    told: list[dict[str, Any]] = []

    async def main(provider: OpenAIFileSearchProvider, *, close: bool) -> int:
        asyncio.get_running_loop().set_exception_handler(lambda _, what: told.append(what))
        found = await answer_of(provider)
        gc.collect()
        assert asyncio.all_tasks() == {asyncio.current_task()}
        if close:
            await provider.close()
        return len(found["results"])

    service = VectorStoreService()
    clients = [client_of(service.app) for _ in range(3)]
    provider = over(service, client=clients.copy().pop)
    assert [asyncio.run(main(provider, close=number == 2)) for number in range(3)] == [5, 5, 5]
    assert [client.is_closed() for client in clients] == [True, False, False]
    assert told == []


def test_its_own_client_is_collected_quietly() -> None:
    """The one that the client would make for itself starts a task on whatever loop runs when it is collected."""

    async def main() -> None:
        OpenAIFileSearchProvider({"a": "vs_a"}, key="k", label="L", api_key=SECRET)
        gc.collect()
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())


def test_a_client_of_yours_stays_open() -> None:
    """What the user passed in is the user's."""

    async def main() -> bool:
        async with client_of(VectorStoreService().app) as client:
            provider = over(VectorStoreService(), client=client)
            await answer_of(provider)
            await provider.close()
            return client.is_closed()

    assert asyncio.run(main()) is False


def test_a_client_that_was_made_for_it_is_closed() -> None:
    """And its connections with it: nothing is left for the loop to warn of."""
    made: list[openai.AsyncOpenAI] = []

    def make() -> openai.AsyncOpenAI:
        made.append(openai.AsyncOpenAI(api_key=SECRET, base_url=f"{address}/v1"))
        return made[0]

    async def main() -> bool:
        provider = over(VectorStoreService(), client=make)
        await answer_of(provider)
        await provider.close()
        await provider.close()
        return made[0].is_closed()

    with serving(VectorStoreService().app) as address:
        assert asyncio.run(main()) is True
    assert len(made) == 1


def test_after_closing_it_raises_and_is_unavailable() -> None:
    """Clause 2.2."""
    provider = over(VectorStoreService())

    async def main() -> str:
        await answer_of(provider)
        await provider.close()
        with pytest.raises(errors.KnowledgeFailedError, match="closed"):
            await answer_of(provider)
        return (await provider.health()).status

    assert asyncio.run(main()) == "unavailable"


def test_health_ends_within_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clause 2.1: the wait for each store is bounded, whatever the client's time-out is."""
    service = VectorStoreService()
    service.answer("held", "vs_people")
    waited: list[float | None] = []
    wait_for = asyncio.wait_for

    async def soon(asking: Any, seconds: float | None) -> Any:
        waited.append(seconds)
        return await wait_for(asking, 0.2)

    monkeypatch.setattr(asyncio, "wait_for", soon)
    assert asyncio.run(over(service, BASES).health()).status == "degraded"
    assert waited == [4, 4, 4]


def test_many_calls_at_once_do_not_mix() -> None:
    """Clause 7.5: 32 calls at once give what the same calls give one after another."""
    queries = ["release policy", "sick leave", "报销政策", "support hours"] * 8
    provider = over(VectorStoreService(), BASES)

    async def all_at_once() -> list[dict[str, Any]]:
        return await asyncio.gather(*(answer_of(provider, query) for query in queries))

    def ids(results: list[Any]) -> list[str]:
        return [result.id for result in results]

    one_after_another = [ids(ask(provider, query)) for query in queries]
    assert [ids(found["results"]) for found in asyncio.run(all_at_once())] == one_after_another


def test_the_request_and_the_context_are_not_changed() -> None:
    """Clause 3.8."""
    request = RetrievalRequest(query="release", filters={"language": ["en"]}, knowledge_base_ids=("people",))
    before = request.model_copy(deep=True)
    known = RetrievalContext(owner_id="alice", signal=CancelSignal(deadline=time.monotonic() + 30))
    asyncio.run(over(VectorStoreService(), BASES, scope=lambda _: {"binding": True}).retrieve(request, known))
    assert request == before
