"""The scripted vector-store service: it answers as the API does, and fails as it is told."""

import asyncio
from collections.abc import Mapping
from typing import Any

import httpx2
import pytest
from openai import APIStatusError, AsyncOpenAI
from openai_subjects import SECRET, client_of, subject

from knowledge_fakes.handbook import load_handbook
from knowledge_fakes.vendors.openai_answers import ANSWERS
from knowledge_fakes.vendors.openai_service import Chunk, VectorStoreService, handbook_stores
from knowledge_provider import KnowledgeError, RetrievalContext, RetrievalRequest

CHUNKS = [
    Chunk(f"{n}", "release", f"file-{n}", "a.md", f"release {n}", {"n": n, "odd": n % 2 == 1, "name": f"no {n}"})
    for n in range(4)
]


def service_of(*chunks: Chunk, **options: Any) -> VectorStoreService:
    return VectorStoreService({"vs_a": chunks or CHUNKS}, **options)


async def _called(service: VectorStoreService, **body: Any) -> Any:
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=service.app)) as client:
        asked = {"query": "release", "max_num_results": 10, **body}
        return await client.post("http://service/v1/vector_stores/vs_a/search", json=asked)


def found(service: VectorStoreService, **body: Any) -> list[str]:
    answer = asyncio.run(_called(service, **body))
    assert answer.status_code == 200, answer.text
    return [row["content"][0]["text"] for row in answer.json()["data"]]


def refused(service: VectorStoreService, **body: Any) -> int:
    return int(asyncio.run(_called(service, **body)).status_code)


def test_the_vendors_client_reads_its_answers() -> None:
    """Strictly: a page that lacks something which the API has would be refused."""
    service = VectorStoreService()

    async def main() -> Any:
        async with client_of(service.app, _strict_response_validation=True) as client:
            return await client.vector_stores.search("vs_people", query="sick leave", max_num_results=2)

    page = asyncio.run(main())
    assert len(page.data) == 2
    assert page.data[0].score > page.data[1].score > 0
    assert page.data[0].attributes["department"] == "people"
    assert [search.body for search in service.searches] == [{"query": "sick leave", "max_num_results": 2}]
    assert (service.searches[0].store, service.searches[0].retry, service.searches[0].key) == ("vs_people", 0, SECRET)


def test_the_stores_hold_the_whole_handbook_and_its_bases() -> None:
    """A document is a file, and each of its sections a chunk."""
    passages, stores = load_handbook().passages, handbook_stores()
    assert [chunk.key for chunk in stores["vs_handbook"]] == list(passages)
    parts = [chunk.key for store, held in stores.items() if store != "vs_handbook" for chunk in held]
    assert sorted(parts) == sorted(passages)
    assert len({chunk.file_id for chunk in stores["vs_handbook"]}) < len(passages)


_FILTERS: list[tuple[Mapping[str, Any], set[int]]] = [
    ({"type": "eq", "key": "n", "value": 1}, {1}),
    ({"type": "eq", "key": "n", "value": True}, set()),
    ({"type": "eq", "key": "odd", "value": True}, {1, 3}),
    ({"type": "ne", "key": "n", "value": 1}, {0, 2, 3}),
    ({"type": "gt", "key": "n", "value": 2}, {3}),
    ({"type": "gte", "key": "n", "value": 2}, {2, 3}),
    ({"type": "lt", "key": "n", "value": 1}, {0}),
    ({"type": "lte", "key": "n", "value": 1}, {0, 1}),
    ({"type": "in", "key": "name", "value": ["no 1", "no 2", 3]}, {1, 2}),
    ({"type": "nin", "key": "n", "value": [1, 2]}, {0, 3}),
    ({"type": "in", "key": "odd", "value": [1, 0]}, set()),
    ({"type": "eq", "key": "absent", "value": 1}, set()),
    ({"type": "ne", "key": "absent", "value": 1}, set()),
    (
        {
            "type": "and",
            "filters": [{"type": "eq", "key": "odd", "value": True}, {"type": "gt", "key": "n", "value": 1}],
        },
        {3},
    ),
    (
        {"type": "or", "filters": [{"type": "eq", "key": "n", "value": 0}, {"type": "eq", "key": "n", "value": 3}]},
        {0, 3},
    ),
]


@pytest.mark.parametrize(("wanted", "numbers"), _FILTERS)
def test_filters_compare_attributes(wanted: Mapping[str, Any], numbers: set[int]) -> None:
    """JSON's true and 1 are two values."""
    assert set(found(service_of(), filters=wanted)) == {f"release {n}" for n in numbers}


@pytest.mark.parametrize(
    "body",
    [
        {"query": None},
        {"query": ["release"]},
        {"max_num_results": 0},
        {"max_num_results": 51},
        {"max_num_results": "5"},
        {"filters": {"n": 1}},
        {"filters": {"type": "like", "key": "n", "value": 1}},
        {"filters": {"type": "gt", "key": "n", "value": "x"}},
        {"filters": {"type": "in", "key": "n", "value": "12"}},
        {"filters": {"type": "in", "key": "odd", "value": [True]}},
        {"filters": {"type": "and", "filters": 1}},
    ],
)
def test_what_the_api_would_not_read_is_refused(body: dict[str, Any]) -> None:
    """A search that is wrong must not look as if it was right."""
    assert refused(service_of(), **body) == 400


def test_only_its_key_opens_it_and_only_its_stores_are_there() -> None:
    """As the API does: 401 and 404, for a search and for a look at a store."""

    async def statuses(service: VectorStoreService, store: str, **options: Any) -> list[int]:
        async with client_of(service.app, **options) as client:
            return [await _status(client, store, search=search) for search in (True, False)]

    locked = service_of(api_key="sk-other")
    assert asyncio.run(statuses(locked, "vs_a")) == [401, 401]
    assert asyncio.run(statuses(service_of(api_key=SECRET), "vs_a")) == [200, 200]
    assert asyncio.run(statuses(service_of(), "vs_b")) == [404, 404]


async def _status(client: AsyncOpenAI, store: str, *, search: bool) -> int:
    try:
        if search:
            await client.vector_stores.search(store, query="release")
        else:
            await client.vector_stores.retrieve(store)
    except APIStatusError as error:
        return error.status_code
    return 200


def test_a_store_is_told_alone_or_with_all_how_to_answer() -> None:
    """By name or by a function; a name that is none is a mistake of the test."""
    service = VectorStoreService()
    service.answer("server error")
    service.answer("sound", "vs_people")

    async def main() -> list[int]:
        async with client_of(service.app) as client:
            return [await _status(client, store, search=True) for store in ("vs_people", "vs_support")]

    assert asyncio.run(main()) == [200, 500]
    with pytest.raises(KeyError):
        service.answer("no such way")


@pytest.mark.parametrize("how", ANSWERS)
def test_every_way_can_be_asked_for_with_and_without_rows(how: str) -> None:
    """It gives a reply, whatever was found."""
    row = {
        "file_id": "f",
        "filename": "a.md",
        "score": 0.5,
        "attributes": {},
        "content": [{"type": "text", "text": "a. b"}],
    }
    for rows in ([], [row] * 3):
        assert 200 <= ANSWERS[how](rows, 2).status < 600


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (None, None),
        ("unauthorized", "knowledge_unauthorized"),
        ("rate_limited", "knowledge_rate_limited"),
        ("unavailable", "knowledge_unavailable"),
        ("timeout", "knowledge_provider_failed"),
        ("invalid_response", "knowledge_invalid_response"),
    ],
)
def test_the_subject_answers_as_the_handbook_or_fails_as_named(fault: str | None, code: str | None) -> None:
    """For the table of what all adapters do alike."""
    request = RetrievalRequest(query="release policy")

    async def main() -> tuple[str | None, list[str]]:
        async with subject(fault) as provider:
            try:
                answer = await provider.retrieve(request, RetrievalContext(owner_id="alice"))
            except KnowledgeError as error:
                return error.code, []
            return None, [result.content for result in answer["results"]]

    contents = [] if code else [result["content"] for result in load_handbook().search(request)]
    assert asyncio.run(main()) == (code, contents)
