"""How ``OpenAIFileSearchProvider`` fails: one store, some of several, and what of it is told."""

import asyncio
import traceback
from collections.abc import Callable
from typing import Any

import httpx2
import openai
import pytest
from openai_subjects import BASES, SECRET, answer, answer_of, ask, client_of, context, over, over_url, row

from knowledge_fakes.vendors.openai_answers import as_json
from knowledge_fakes.vendors.openai_service import VectorStoreService
from knowledge_fakes.vendors.serving import serving
from knowledge_provider import KnowledgeHost, errors

_CODES = {
    "unauthorized": "knowledge_unauthorized",
    "forbidden": "knowledge_unauthorized",
    "rate limited": "knowledge_rate_limited",
    "server error": "knowledge_unavailable",
    "unavailable": "knowledge_unavailable",
    "bad gateway": "knowledge_unavailable",
    # A store that is gone stays so, and it is the table that names it, not the request.
    "deleted": "knowledge_provider_failed",
    "expired": "knowledge_provider_failed",
    "conflict": "knowledge_provider_failed",
    "request timeout": "knowledge_provider_failed",
    "error with status 200": "knowledge_provider_failed",
    "html": "knowledge_invalid_response",
    "array": "knowledge_invalid_response",
    "no data": "knowledge_invalid_response",
    "null for data": "knowledge_invalid_response",
    "truncated": "knowledge_invalid_response",
    "empty": "knowledge_invalid_response",
    "no content": "knowledge_invalid_response",
    "redirect": "knowledge_provider_failed",
    "no text": "knowledge_invalid_response",
    "no score": "knowledge_invalid_response",
    "nulls": "knowledge_invalid_response",
}


def failed(provider: Any, **fields: Any) -> errors.KnowledgeError:
    with pytest.raises(errors.KnowledgeError) as caught:
        ask(provider, **fields)
    return caught.value


@pytest.mark.parametrize(("how", "code"), _CODES.items())
def test_what_goes_wrong_has_one_code_and_is_asked_once(how: str, code: str) -> None:
    """Clause 5.10: nothing of it looks empty; and the client does not retry, since the host is told whether to."""
    service = VectorStoreService()
    service.answer(how)
    error = failed(over(service))
    assert error.code == code
    assert error.retryable is (how == "request timeout" or code in ("knowledge_rate_limited", "knowledge_unavailable"))
    assert len(service.searches) == 1
    assert "vs_" not in str(error)


@pytest.mark.parametrize(
    ("how", "code"),
    [
        ("redirect", "knowledge_invalid_response"),
        ("wrong encoding", "knowledge_invalid_response"),
        ("cut", "knowledge_unavailable"),
    ],
)
def test_what_only_a_connection_shows(how: str, code: str) -> None:
    """A redirect to a login page is followed and is no answer, nor is a body in another encoding than it says."""
    service = VectorStoreService()
    service.answer(how)

    async def main(url: str) -> str:
        provider = over_url(url)
        with pytest.raises(errors.KnowledgeError) as caught:
            await answer_of(provider)
        await provider.close()
        return caught.value.code

    with serving(service.app) as url:
        assert asyncio.run(main(url)) == code


def raising(error: Callable[[httpx2.Request], Exception]) -> Any:
    def handler(request: httpx2.Request) -> httpx2.Response:
        raise error(request)

    http = httpx2.AsyncClient(transport=httpx2.MockTransport(handler))
    return lambda: client_of(VectorStoreService().app, http_client=http)


def test_a_service_out_of_reach_is_unavailable_and_a_time_out_of_the_clients_own_an_ordinary_failure() -> None:
    """Clause 7.6: told apart from the host's deadline; another try may help with both."""
    service = VectorStoreService()
    refused = failed(over(service, client=raising(lambda _: httpx2.ConnectError("refused"))))
    late = failed(over(service, client=raising(lambda _: httpx2.ReadTimeout("late"))))
    assert (refused.code, refused.retryable) == ("knowledge_unavailable", True)
    assert (late.code, late.retryable) == ("knowledge_provider_failed", True)
    assert isinstance(refused.__cause__, openai.APIConnectionError)


def test_how_long_to_wait_is_said_where_the_service_says_it() -> None:
    """``retry_after`` in seconds."""
    service = VectorStoreService()
    service.answer("rate limited")
    assert failed(over(service)).retry_after == 7


# Secrets


@pytest.mark.parametrize("how", ["unauthorized", "forbidden"])
def test_a_key_that_the_service_repeats_is_told_to_nobody(how: str) -> None:
    """Clause 6.4, causes included: the vendor's error is left out where it holds the key, and kept where not."""
    service = VectorStoreService()
    service.answer(how)
    error = failed(over(service))
    assert SECRET not in "".join(traceback.format_exception(error))
    assert error.__context__ is None
    service.answer("deleted")
    assert isinstance(failed(over(service)).__cause__, openai.NotFoundError)


def test_a_key_that_http_cannot_send_is_told_to_nobody() -> None:
    """As of a client of the user's, whose key has the newline of the file that it was read from."""
    bad = f"{SECRET}\n"

    async def main(url: str) -> errors.KnowledgeError:
        http = openai.DefaultAsyncHttpxClient()
        async with openai.AsyncOpenAI(api_key=bad, base_url=f"{url}/v1", max_retries=0, http_client=http) as client:
            with pytest.raises(errors.KnowledgeError) as caught:
                await answer_of(over(VectorStoreService(), client=client))
        return caught.value

    with serving(VectorStoreService().app) as url:
        error = asyncio.run(main(url))
    assert SECRET not in "".join(traceback.format_exception(error))
    assert error.__cause__ is None


def test_the_services_own_words_are_not_repeated() -> None:
    """They may hold a record or a query (clause 8.11)."""
    service = VectorStoreService()
    for how in ("deleted", "expired", "server error", "html", "error with status 200", "no text"):
        service.answer(how)
        told = str(failed(over(service)))
        assert not any(word in told for word in ("vs_", "expired", "had an error", "Sign in", "overloaded", "Release"))


# One store of several


def test_expired_and_deleted_stores_do_not_cost_the_others_answers() -> None:
    """Field case 21: the one that works answers, the others are reported by base, each asked once, no id is echoed."""
    service = VectorStoreService()
    service.answer("deleted", "vs_people")
    service.answer("expired", "vs_support")
    found = answer(over(service, {"old": "vs_people", "x": "vs_support", "new": "vs_engineering"}))
    assert len(found["results"]) == 5
    reports = [(report.key, report.status, report.reason, report.count) for report in found["sources"]]
    assert reports == [("old", "failed", "error", 0), ("x", "failed", "error", 0), ("new", "hit", None, 5)]
    assert sorted(search.store for search in service.searches) == ["vs_engineering", "vs_people", "vs_support"]
    assert "vs_" not in repr(found)


@pytest.mark.parametrize(
    ("how", "reason"),
    [("forbidden", "unauthorized"), ("html", "invalid_response"), ("rate limited", "error"), ("unavailable", "error")],
)
def test_the_reason_is_a_slug(how: str, reason: str) -> None:
    """Clause 9.3."""
    service = VectorStoreService()
    service.answer(how, "vs_people")
    reports = answer(over(service, BASES))["sources"]
    assert [report.reason for report in reports] == [None, reason, None]


def test_nothing_found_and_a_store_that_failed_is_incomplete() -> None:
    """Clauses 5.10 and 9.4: an empty list would say that nothing is known."""
    service = VectorStoreService()
    service.answer("unavailable", "vs_people")
    error = failed(over(service, BASES), query="zzqx")
    assert isinstance(error, errors.KnowledgeSourcesIncompleteError)
    assert [(report.key, report.status) for report in error.sources] == [
        ("engineering", "no_hit"),
        ("people", "failed"),
        ("support", "no_hit"),
    ]
    assert error.retryable


def test_all_stores_failing_alike_fail_as_one_would() -> None:
    """A key that is refused is one fault, and when to try again is said once."""
    service = VectorStoreService()
    service.answer("unauthorized")
    assert failed(over(service, BASES)).code == "knowledge_unauthorized"
    service.answer("rate limited")
    error = failed(over(service, BASES))
    assert (error.code, error.retry_after) == ("knowledge_rate_limited", 7)


def test_all_stores_failing_differently_is_all_sources_failed() -> None:
    """Clause 9.4, with how each fared."""
    service = VectorStoreService()
    for how, store in zip(("unauthorized", "html", "deleted"), BASES.values(), strict=True):
        service.answer(how, store)
    error = failed(over(service, BASES))
    assert isinstance(error, errors.KnowledgeAllSourcesFailedError)
    assert [report.reason for report in error.sources] == ["unauthorized", "invalid_response", "error"]
    assert SECRET not in "".join(traceback.format_exception(error))


def test_a_base_alone_fails_as_itself() -> None:
    """Only the stores that were asked count."""
    service = VectorStoreService()
    service.answer("deleted", "vs_people")
    assert failed(over(service, BASES), knowledge_base_ids=("people",)).code == "knowledge_provider_failed"
    assert len(ask(over(service, BASES), knowledge_base_ids=("engineering",))) == 5


def test_behind_a_host_the_code_is_the_hosts_and_the_cause_the_adapters() -> None:
    """Clause 8.11: whether to try again, and when, gets through."""
    service = VectorStoreService()
    service.answer("rate limited")

    async def main() -> errors.KnowledgeError:
        host = KnowledgeHost(over(service))
        with pytest.raises(errors.KnowledgeError) as caught:
            await host.search("release", context=context())
        return caught.value

    error = asyncio.run(main())
    assert (error.code, error.retryable, error.retry_after) == ("knowledge_provider_failed", True, 7)


# Health


@pytest.mark.parametrize(
    ("failing", "status"),
    [
        ({}, "ready"),
        ({"vs_people": "expired"}, "degraded"),
        ({"vs_people": "deleted", "vs_support": "unavailable"}, "degraded"),
        (dict.fromkeys(BASES.values(), "expired"), "unavailable"),
        (dict.fromkeys(BASES.values(), "unauthorized"), "unavailable"),
    ],
)
def test_health_asks_for_each_store(failing: dict[str, str], status: str) -> None:
    """Clause 2.1: an answer, never an exception; a store that expired is found out before it is searched."""
    service = VectorStoreService()
    for store, how in failing.items():
        service.answer(how, store)
    assert asyncio.run(over(service, BASES).health()).status == status


def test_health_of_a_service_that_is_no_such_service_is_unavailable() -> None:
    """Whatever it answers, and when nothing is there."""
    service = VectorStoreService()
    for handler in (lambda _: httpx2.Response(200, text="<html>"), lambda _: httpx2.Response(200, json=[row()])):
        http = httpx2.AsyncClient(transport=httpx2.MockTransport(handler))
        provider = over(service, client=lambda http=http: client_of(service.app, http_client=http))
        assert asyncio.run(provider.health()).status == "unavailable"
    provider = over(service, client=raising(lambda _: httpx2.ConnectError("refused")))
    assert asyncio.run(provider.health()).status == "unavailable"


def test_health_without_a_client_says_so() -> None:
    """A function of yours that makes none is no reason to raise (clause 2.1)."""

    def make() -> openai.AsyncOpenAI:
        raise ValueError(SECRET)

    assert asyncio.run(over(VectorStoreService(), client=make).health()).status == "unavailable"


def test_a_page_that_is_too_long_is_not_read() -> None:
    """Clause 7.4: a hundred thousand rows would hold the event loop for a second."""
    service = VectorStoreService()
    service.answer(lambda _rows, _limit: as_json({"object": "list", "data": [row()] * 100_000}))
    error = failed(over(service))
    assert error.code == "knowledge_invalid_response"
    assert "1000000 bytes" in str(error)
