"""The scripted knowledge service: sound answers in each shape, and each way to fail as HTTP shows it."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest

from knowledge_fakes.handbook import load_handbook
from knowledge_fakes.vendors.http_service import FAULTS, SOUND, TENANT, KnowledgeService
from knowledge_fakes.vendors.serving import serving
from knowledge_provider import RetrievalRequest

REQUEST = RetrievalRequest(query="release policy", top_k=3)
QUESTION = REQUEST.model_dump(by_alias=True, mode="json")
PLAIN = load_handbook().search(REQUEST)


def ask(
    service: KnowledgeService, question: Any = QUESTION, *, times: int = 1, headers: dict[str, str] | None = None
) -> httpx.Response:
    """The last of ``times`` answers, read to its end."""

    async def main() -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.MockTransport(service.respond), timeout=None) as client:
            for _ in range(times - 1):
                await client.post("https://kb.example.com/search", json=question, headers=headers)
            return await client.post("https://kb.example.com/search", json=question, headers=headers)

    return asyncio.run(main())


def test_it_answers_in_the_contracts_shape() -> None:
    """With the handbook's own ranking, ids, scores, sources and metadata; nothing found is an empty list."""
    assert ask(KnowledgeService()).json() == {"results": PLAIN}
    assert ask(KnowledgeService(), {"query": "zzqx nonsense 9731"}).json() == {"results": []}


@pytest.mark.parametrize("shape", ["list", "nested"])
def test_it_answers_in_other_shapes(shape: Any) -> None:
    """With the same ids and texts."""
    answer = ask(KnowledgeService(shape=shape)).json()
    found = answer if shape == "list" else answer["data"]["items"]
    keys = ("id", "content") if shape == "list" else ("key", "text")
    assert [tuple(item[key] for key in keys) for item in found] == [(each["id"], each["content"]) for each in PLAIN]


def test_it_remembers_what_it_was_asked() -> None:
    """Headers and question."""
    service = KnowledgeService()
    ask(service, headers={"X-Any": "thing"})
    assert [(seen.request, seen.headers["x-any"]) for seen in service.seen] == [(QUESTION, "thing")]


def test_it_keeps_to_filters_and_bases_and_refuses_other_filters_by_code() -> None:
    """As the handbook does."""
    question = QUESTION | {"knowledgeBaseIds": ["people"], "filters": {"language": "en"}}
    wanted = load_handbook().search(RetrievalRequest.model_validate(question))
    assert ask(KnowledgeService(), question).json() == {"results": wanted}
    refused = ask(KnowledgeService(), QUESTION | {"filters": {"colour": "red"}})
    assert refused.json()["error"]["code"] == "knowledge_filters_unsupported"


@pytest.mark.parametrize("question", [{}, {"query": ""}, {"query": "q", "topK": 9}, [], "text"])
def test_a_question_that_is_no_request_is_refused(question: Any) -> None:
    """An adapter that sends something else is found out."""
    assert ask(KnowledgeService(), question).status_code == 400


def test_it_wants_its_token_and_a_known_tenant() -> None:
    """401 and 403, and a tenant sees its own documents."""
    secured = KnowledgeService(token="abc")
    assert ask(secured).status_code == 401
    assert ask(secured, headers={"Authorization": "Bearer abc"}).status_code == 200
    kept = KnowledgeService(tenants={"alice": ["holidays"]})
    assert [ask(kept).status_code, ask(kept, headers={TENANT: "bob"}).status_code] == [403, 403]
    results = ask(kept, {"query": "sick leave"}, headers={TENANT: "alice"}).json()["results"]
    assert {result["source"]["id"] for result in results} == {"holidays"}


def test_a_way_that_there_is_not_is_refused() -> None:
    """A misspelt fault would let a test pass for nothing."""
    with pytest.raises(ValueError, match="choose from"):
        KnowledgeService("unavailible")


def test_it_fails_for_as_long_as_it_is_told() -> None:
    """For tests of trying again."""
    assert [ask(KnowledgeService("broken", times=2), times=n).status_code for n in (2, 3)] == [500, 200]


@pytest.mark.parametrize("way", SOUND)
def test_sound_ways_are_sound(way: str) -> None:
    """For a client that decodes as it should."""
    response = ask(KnowledgeService(way))
    results = json.loads(response.content.decode("utf-8-sig"))["results"]
    assert [result["id"] for result in results] == [result["id"] for result in PLAIN]


STATUSES = {
    "bad_request": 400,
    "unauthorized": 401,
    "forbidden": 403,
    "not_found": 404,
    "request_timeout": 408,
    "rate_limited": 429,
    "rate_limited_now": 429,
    "broken": 500,
    "bad_gateway": 502,
    "unavailable": 503,
    "unavailable_now": 503,
    "no_content": 204,
    "moved": 308,
    "moved_for_now": 307,
    "found": 302,
    "see_other": 303,
}
ENDLESS = {"silent", "stalled", "drip", "too_long", "gzip_bomb", "broken_off"}
UNREADABLE = {"no_gzip": httpx.DecodingError}


@pytest.mark.parametrize("way", sorted(FAULTS.keys() - ENDLESS - UNREADABLE.keys()))
def test_no_fault_looks_like_an_answer(way: str) -> None:
    """By its status, or else by a body that has no usable result in it."""
    response = ask(KnowledgeService(way))
    assert response.status_code == STATUSES.get(way, 200)
    assert ("retry-after" in response.headers) == (way.startswith("rate") or way == "unavailable_now")
    if way not in STATUSES:
        assert not _usable(response.content)


def _usable(body: bytes) -> bool:
    try:
        answer = json.loads(body.decode())
    except (ValueError, RecursionError):
        return False
    found = None if "error" in answer else answer.get("results")
    return isinstance(found, list) and any(result["content"] for result in found)


def test_redirects_lead_where_they_are_told() -> None:
    """And to a login page unless told."""
    assert ask(KnowledgeService("moved")).headers["location"] == "/login"
    assert ask(KnowledgeService("found", location="https://a.example/")).headers["location"] == "https://a.example/"


def test_bodies_that_are_too_long_do_not_end_by_themselves() -> None:
    """Each of the two is more than anybody should read; the second is small on the wire."""

    async def sizes(service: KnowledgeService, chunks: int) -> tuple[int, int]:
        client = httpx.AsyncClient(transport=httpx.MockTransport(service.respond))
        unpacked = 0
        async with client.stream("POST", "https://kb.example.com/search", json=QUESTION) as response:
            async for chunk in response.aiter_bytes():
                unpacked, chunks = unpacked + len(chunk), chunks - 1
                if not chunks:
                    break
            return response.num_bytes_downloaded, unpacked

    assert asyncio.run(sizes(KnowledgeService("too_long"), 100)) == (6_553_600, 6_553_600)
    wire, unpacked = asyncio.run(sizes(KnowledgeService("gzip_bomb"), 100))
    assert unpacked > 100 * wire


async def _silent(client: httpx.AsyncClient, url: str) -> None:
    with pytest.raises(httpx.ReadTimeout):
        await client.post(url, json=QUESTION, timeout=0.1)


async def _stalled(client: httpx.AsyncClient, url: str) -> None:
    async with client.stream("POST", url, json=QUESTION, timeout=0.2) as response:
        with pytest.raises(httpx.ReadTimeout):
            await response.aread()
    assert response.num_bytes_downloaded == 50


async def _dripping(client: httpx.AsyncClient, url: str) -> None:
    """No single read times out, and still it does not end."""
    ends = time.monotonic() + 0.3
    async with client.stream("POST", url, json=QUESTION, timeout=5) as response:
        async for chunk in response.aiter_raw():
            assert len(chunk) < 50
            if time.monotonic() > ends:
                break
    assert 1 < response.num_bytes_downloaded < 100


async def _broken_off(client: httpx.AsyncClient, url: str) -> None:
    with pytest.raises(httpx.RemoteProtocolError):
        await client.post(url, json=QUESTION)


async def _redirected(client: httpx.AsyncClient, url: str) -> None:
    response = await client.post(url, json=QUESTION, follow_redirects=True)
    assert (response.status_code, "Sign in" in response.text) == (200, True)


async def _sound(client: httpx.AsyncClient, url: str) -> None:
    assert (await client.post(url, json=QUESTION)).json() == {"results": PLAIN}
    assert (await client.get(url)).status_code == 405


@pytest.mark.parametrize(
    ("way", "look"),
    [
        (None, _sound),
        ("silent", _silent),
        ("stalled", _stalled),
        ("drip", _dripping),
        ("broken_off", _broken_off),
        ("found", _redirected),
    ],
)
def test_over_a_real_connection(way: str | None, look: Callable[[httpx.AsyncClient, str], Awaitable[None]]) -> None:
    """What only a connection can do."""

    async def main(url: str) -> None:
        async with httpx.AsyncClient() as client:
            await look(client, f"{url}/search")

    with serving(KnowledgeService(way).app) as url:
        asyncio.run(main(url))
