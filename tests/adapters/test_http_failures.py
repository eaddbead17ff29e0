"""How ``HTTPProvider`` fails: by which code, with which words, and when it tries again."""

import asyncio
import socket
from contextlib import closing

import http_subjects as subjects
import httpx
import pytest
import respx
from http_subjects import SECRET, URL, ask, failed, over, said

from knowledge_adapters.http_provider import HTTPProvider
from knowledge_fakes.vendors.http_service import FAULTS, KnowledgeService
from knowledge_fakes.vendors.serving import serving
from knowledge_provider import errors

CODES = {
    "bad_request": "knowledge_provider_failed",
    "unauthorized": "knowledge_unauthorized",
    "forbidden": "knowledge_unauthorized",
    "not_found": "knowledge_provider_failed",
    "request_timeout": "knowledge_provider_failed",
    "rate_limited": "knowledge_rate_limited",
    "rate_limited_now": "knowledge_rate_limited",
    "broken": "knowledge_unavailable",
    "bad_gateway": "knowledge_unavailable",
    "unavailable": "knowledge_unavailable",
    "unavailable_now": "knowledge_unavailable",
    "error_envelope": "knowledge_provider_failed",
    "error_text": "knowledge_provider_failed",
    "error_code": "knowledge_rate_limited",
    "login_page": "knowledge_invalid_response",
    "no_content": "knowledge_invalid_response",
    "empty": "knowledge_invalid_response",
    "no_results": "knowledge_invalid_response",
    "null_results": "knowledge_invalid_response",
    "results_by_name": "knowledge_invalid_response",
    "no_text": "knowledge_invalid_response",
    "truncated": "knowledge_invalid_response",
    "other_charset": "knowledge_invalid_response",
    "too_deep": "knowledge_invalid_response",
    "too_long": "knowledge_invalid_response",
    "gzip_bomb": "knowledge_invalid_response",
    "no_gzip": "knowledge_invalid_response",
    "other_packing": "knowledge_invalid_response",
    "silent": "knowledge_provider_failed",
    "stalled": "knowledge_provider_failed",
    "drip": "knowledge_provider_failed",
    "broken_off": "knowledge_unavailable",
    "moved": "knowledge_provider_failed",
    "moved_for_now": "knowledge_provider_failed",
    "found": "knowledge_provider_failed",
    "see_other": "knowledge_provider_failed",
}
RETRYABLE = {"request_timeout", "silent", "stalled", "drip"}


# Codes


@pytest.mark.parametrize("way", FAULTS)
def test_every_way_to_fail_has_its_code(way: str) -> None:
    """Field cases 33 and 41, clauses 5.10, 6.4 and 7.6: no results, no words of the service's, no key."""
    provider = over(KnowledgeService(way), timeout=0.1, headers={"Authorization": f"Bearer {SECRET}"})
    error = failed(provider)
    assert error.code == CODES[way]
    code_is = error.code in ("knowledge_unavailable", "knowledge_rate_limited")
    assert error.retryable is (code_is or way in RETRYABLE)
    assert "own words" not in said(error)
    assert SECRET not in said(error)


def test_every_way_to_fail_is_known_here() -> None:
    """The table above is the documentation's, too."""
    assert set(CODES) == set(FAULTS)


@pytest.mark.parametrize(
    "way", ["too_long", "gzip_bomb", "broken_off", "stalled", "drip", "login_page", "rate_limited"]
)
def test_the_same_over_a_real_connection(way: str) -> None:
    """With httpx's own transport: half an answer is a connection that broke, and not a short answer."""
    with serving(KnowledgeService(way).app) as url:
        error = failed(HTTPProvider(f"{url}/search", key="k", label="L", timeout=0.2))
    assert error.code == CODES[way]


def test_a_refused_connection_and_an_unknown_host_are_unavailable() -> None:
    """Nobody listens at a port that was just free; a name under .invalid is never known (RFC 2606)."""
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        port = listening.getsockname()[1]
    for url in (f"http://127.0.0.1:{port}/search", "http://kb.invalid/search"):
        error = failed(HTTPProvider(url, key="k", label="L"))
        assert (error.code, error.retryable) == ("knowledge_unavailable", True)


@pytest.mark.parametrize(
    ("raised", "code", "retryable"),
    [
        (httpx.ConnectError(SECRET), "knowledge_unavailable", True),
        (httpx.ReadError(SECRET), "knowledge_unavailable", True),
        (httpx.RemoteProtocolError(SECRET), "knowledge_unavailable", True),
        (httpx.ReadTimeout(SECRET), "knowledge_provider_failed", True),
        (httpx.ConnectTimeout(SECRET), "knowledge_provider_failed", True),
        (httpx.PoolTimeout(SECRET), "knowledge_provider_failed", True),
        (TimeoutError(SECRET), "knowledge_provider_failed", True),
        (ConnectionResetError(SECRET), "knowledge_unavailable", True),
        (RuntimeError(SECRET), "knowledge_provider_failed", False),
        (httpx.DecodingError(SECRET), "knowledge_invalid_response", False),
    ],
)
def test_what_httpx_raises_is_one_failure_with_fixed_words(raised: Exception, code: str, retryable: bool) -> None:
    """Clause 7.6: a client's own time-out is not the host's; the original is the cause, and not in the message."""
    with respx.mock:
        respx.post(URL).mock(side_effect=raised)
        error = failed(HTTPProvider(URL, key="k", label="L"))
    assert (error.code, error.retryable) == (code, retryable)
    assert error.__cause__ is raised
    assert SECRET not in str(error)


def test_a_clients_own_timeout_is_an_ordinary_failure() -> None:
    """It may be shorter than ours."""
    with serving(KnowledgeService("silent").app) as url:
        client = httpx.AsyncClient(timeout=0.05)
        error = failed(HTTPProvider(f"{url}/search", key="k", label="L", client=client))
    assert (error.code, error.retryable) == ("knowledge_provider_failed", True)
    assert isinstance(error.__cause__, httpx.TimeoutException)


def test_a_failure_in_the_contracts_own_terms_passes_as_it_is() -> None:
    """A transport written with this package in mind may say more than an adapter can guess."""
    own = errors.KnowledgeUnauthorizedError()

    def refuse(_: httpx.Request) -> httpx.Response:
        raise own

    assert failed(over(refuse)) is own


def test_scores_that_are_none_are_a_failure_where_there_are_to_be_some() -> None:
    """Clause 5.4: NaN is no score."""
    provider = over(KnowledgeService("not_a_number"), score_kind="similarity")
    assert failed(provider).code == "knowledge_invalid_response"


# Trying again


@pytest.mark.parametrize("way", ["rate_limited_now", "unavailable_now"])
def test_it_tries_again_where_the_service_says_when(way: str) -> None:
    """``Retry-After`` with 429 or 503; after three more tries the refusal stands."""
    service = KnowledgeService(way, times=3)
    assert ask(over(service))
    assert len(service.seen) == 4
    assert len({seen.body for seen in service.seen}) == 1
    service = KnowledgeService(way)
    assert failed(over(service)).retry_after == 0
    assert len(service.seen) == 4


@pytest.mark.parametrize("way", ["unavailable", "broken", "request_timeout", "unauthorized", "not_found", "broken_off"])
def test_it_does_not_try_again_by_itself(way: str) -> None:
    """The host decides, which knows what a second try would cost."""
    service = KnowledgeService(way, times=1)
    failed(over(service))
    assert len(service.seen) == 1


def test_it_does_not_wait_beyond_its_time() -> None:
    """Seven seconds are more than are left, so the refusal comes at once and says so."""
    service = KnowledgeService("rate_limited", times=1)
    assert failed(over(service, timeout=5)).retry_after == 7
    assert len(service.seen) == 1


# Closing


def test_after_closing_it_raises_and_a_client_of_the_callers_stays_open() -> None:
    """Clause 2.2: twice is fine."""

    async def main() -> None:
        client = httpx.AsyncClient(transport=httpx.MockTransport(KnowledgeService().respond))
        provider = over(KnowledgeService(), client=client)
        assert provider.health().status == "ready"
        assert await subjects.asked(provider)
        await provider.close()
        await provider.close()
        with pytest.raises(errors.KnowledgeFailedError, match="closed"):
            await subjects.asked(provider)
        assert provider.health().status == "unavailable"
        assert not client.is_closed
        await client.aclose()

    asyncio.run(main())


def test_a_client_that_its_owner_closed_is_a_failure() -> None:
    """Clause 5.10."""

    async def main() -> None:
        client = httpx.AsyncClient(transport=httpx.MockTransport(KnowledgeService().respond))
        await client.aclose()
        with pytest.raises(errors.KnowledgeFailedError):
            await subjects.asked(over(KnowledgeService(), client=client))

    asyncio.run(main())
