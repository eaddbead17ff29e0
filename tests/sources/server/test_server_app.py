"""The HTTP API of a task's sources: what is bound, added, removed and listed, and what each wrong request is told."""

import asyncio
import json
import sqlite3
import threading
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic.alias_generators import to_camel
from source_api import BOUND, DOCUMENT, DOCUMENTS, REMOVAL, WHOLE, app_over, as_described, ask, detail
from starlette.concurrency import run_in_threadpool

from knowledge_fakes.sources import PagingSource, ScriptedSource, mixed_registry, reference
from knowledge_provider import KnowledgeUnavailableError
from knowledge_provider.sources import (
    BindingStorage,
    MemoryStorage,
    Row,
    SourceRegistry,
    SQLiteStorage,
    TaskBindings,
    read_reference,
)
from knowledge_provider.sources.bindings import Change, Rows

JSON_TYPE = {"content-type": "application/json"}
SECRET = "sk-4eC39HqLyjWDarjtT1zdp7dc"


@pytest.fixture
def bindings() -> TaskBindings:
    return TaskBindings(MemoryStorage())


def send(bindings: TaskBindings, method: str, path: str, **options: Any) -> httpx.Response:
    return as_described(ask(app_over(bindings), method, path, **options), method, path)


def test_what_is_bound_is_listed(bindings: TaskBindings) -> None:
    """In order, as it was bound, for its own task alone; a task that has nothing has an empty list."""
    bindings.add("t1", DOCUMENT, {"provider": "handbook", "id": "people", "name": "People"})
    answer = send(bindings, "GET", BOUND).json()
    assert answer["items"][0] == DOCUMENT
    assert answer["items"][1]["name"] == "People"
    assert answer["total"] == 2
    other = ask(app_over(bindings), "GET", BOUND.replace("t1", "t2"))
    assert (other.status_code, other.json()) == (200, {"items": [], "total": 0, "warnings": []})


@pytest.mark.parametrize("spelled", [str, to_camel])
def test_references_are_added_and_removed(bindings: TaskBindings, spelled: Any) -> None:
    """In either spelling; the answer is what is bound then, and the body of a removal is the document's."""
    sent = {spelled(name): value for name, value in DOCUMENT.items()}
    added = send(bindings, "POST", BOUND, json={"refs": [sent, {"provider": "ap", "id": "kb-2"}]})
    assert (added.status_code, added.json()["items"][0], added.json()["total"]) == (200, DOCUMENT, 2)
    again = send(bindings, "POST", BOUND, json={"refs": [{**sent, "target_name": "New"}]})
    assert [item.get("target_name") for item in again.json()["items"]] == ["New", None]
    removed = send(bindings, "POST", REMOVAL, json={"ref": sent})
    assert (removed.status_code, [item["id"] for item in removed.json()["items"]]) == (200, ["kb-2"])
    assert [ref.id for ref in bindings.list("t1").refs] == ["kb-2"]


def test_removing_twice_is_404(bindings: TaskBindings) -> None:
    """What is not bound, or no longer; nothing else is changed."""
    bindings.add("t1", DOCUMENT, reference("ap", "kb-2"))
    assert send(bindings, "POST", REMOVAL, json={"ref": DOCUMENT}).status_code == 200
    status, place, words = detail(send(bindings, "POST", REMOVAL, json={"ref": DOCUMENT}))
    assert (status, place) == (404, ["body", "ref"])
    assert words.startswith("ref: wanted one that is bound to the task")
    assert [ref.id for ref in bindings.list("t1").refs] == ["kb-2"]


def test_removing_a_part_of_what_is_bound_whole_is_409(bindings: TaskBindings) -> None:
    """And the whole of what is bound in parts: 404 would say that it is gone."""
    bindings.add("t1", WHOLE)
    assert detail(send(bindings, "POST", REMOVAL, json={"ref": DOCUMENT}))[:2] == (409, ["body", "ref"])
    assert len(bindings.list("t1").refs) == 1
    bindings.add("t1", DOCUMENT)
    assert detail(send(bindings, "POST", REMOVAL, json={"ref": WHOLE}))[:2] == (409, ["body", "ref"])
    assert bindings.list("t1").refs == (read_reference(DOCUMENT),)


REFERENCES: list[tuple[Any, list[str | int]]] = [
    (None, []),
    (7, []),
    ("ap", []),
    ([DOCUMENT], []),
    ({}, ["provider"]),
    ({"provider": "ap"}, ["id"]),
    ({"provider": "AP", "id": "kb-1"}, ["provider"]),
    ({**DOCUMENT, "id": 7}, ["id"]),
    ({**DOCUMENT, "id": {"$ne": ""}}, ["id"]),
    ({**DOCUMENT, "id": "x" * 161}, ["id"]),
    ({**DOCUMENT, "id": "https://files.example.com/kb"}, ["id"]),
    ({**DOCUMENT, "name": SECRET}, ["name"]),
    ({**DOCUMENT, "scope": "group?access_token=abc"}, ["scope"]),
    ({**DOCUMENT, "target_type": "database"}, ["target_type"]),
    ({**DOCUMENT, "targetType": "folder"}, ["target_type"]),
    ({**DOCUMENT, "folderIds": ["f-1"]}, ["folderIds"]),
    ({**DOCUMENT, SECRET: True}, []),
    ({**DOCUMENT, "mode": "all_accessible"}, ["id"]),
    ({"provider": "ap", "mode": "all_accessible", "targetType": "folder", "nodeId": "f-1"}, ["target_type"]),
    ({**DOCUMENT, "document_id": None, "node_id": None}, ["document_id"]),
    ({**DOCUMENT, "document_id": "\ud800"}, ["document_id"]),
]


@pytest.mark.parametrize(("ref", "place"), REFERENCES)
def test_a_reference_that_is_none_is_422(bindings: TaskBindings, ref: Any, place: list[str | int]) -> None:
    """Its field is named, and its place among several; no value is repeated, nothing is stored and nothing is lost."""
    bindings.add("t1", WHOLE)
    body = json.dumps({"refs": [reference("ap", "kb-2").model_dump(exclude_none=True), ref]})
    added = send(bindings, "POST", BOUND, content=body, headers=JSON_TYPE)
    assert detail(added)[:2] == (422, ["body", "refs", 1, *place])
    listed = send(bindings, "POST", DOCUMENTS, content=body, headers=JSON_TYPE)
    assert detail(listed)[:2] == (422, ["body", "refs", 1, *place])
    removed = send(bindings, "POST", REMOVAL, content=json.dumps({"ref": ref}), headers=JSON_TYPE)
    assert detail(removed)[:2] == (422, ["body", "ref", *place])
    assert not any(text in added.text + removed.text for text in (SECRET, "files.example.com", "database", "f-1"))
    assert bindings.list("t1").refs == (read_reference(WHOLE),)


BODIES: list[tuple[bytes, list[str | int]]] = [
    (b"", ["body"]),
    (b"{", ["body"]),
    (b"\xff", ["body"]),
    (b"[]", ["body"]),
    (b"null", ["body"]),
    (b"7", ["body"]),
    (b"1" * 5000, ["body"]),
    (b"[" * 100_000, ["body"]),
    (b'{"refs": [NaN]}', ["body"]),
    (b'{"refs": [], "refs": []}', ["body"]),
    (b"{}", ["body", "refs"]),
    (b'{"refs": null}', ["body", "refs"]),
    (b'{"refs": []}', ["body", "refs"]),
    (b'{"refs": {"provider": "ap", "id": "kb-2"}}', ["body", "refs"]),
    (b'{"refs": "ap"}', ["body", "refs"]),
    (b'{"ref": {"provider": "ap", "id": "kb-2"}}', ["body", "ref"]),
    (b'{"refs": [{"provider": "ap", "id": "kb-2"}], "mode": "replace"}', ["body", "mode"]),
    (b'{"refs": [{"provider": "ap", "id": "kb-2"}], "api_key=12345": 1}', ["body"]),
    (json.dumps({"refs": [{"provider": "ap", "id": f"k{place}"} for place in range(101)]}).encode(), ["body", "refs"]),
]


@pytest.mark.parametrize(("body", "place"), BODIES)
def test_a_body_that_is_none_is_422(bindings: TaskBindings, body: bytes, place: list[str | int]) -> None:
    """Not JSON, something else, too few, too many, or more than there is."""
    answer = send(bindings, "POST", BOUND, content=body, headers=JSON_TYPE)
    assert detail(answer)[:2] == (422, place)
    assert bindings.list("t1").refs == ()


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 415),
        ({"content-type": "text/plain"}, 415),
        ({"content-type": "application/x-www-form-urlencoded"}, 415),
        ({"content-type": "application/jsonp"}, 415),
        ({"content-type": "application/json", "content-encoding": "gzip"}, 415),
        ({"content-type": "application/json; charset=utf-8"}, 200),
        ({"content-type": "application/merge-patch+json"}, 200),
        ({"content-type": "Application/JSON", "content-encoding": "Identity"}, 200),
    ],
)
def test_only_json_is_read(bindings: TaskBindings, headers: dict[str, str], status: int) -> None:
    """A page of another site can send forms and plain text with a user's cookies, but no JSON."""
    body = json.dumps({"refs": [WHOLE]}).encode()
    assert send(bindings, "POST", BOUND, content=body, headers=headers).status_code == status
    assert len(bindings.list("t1").refs) == (status == 200)


def test_a_body_that_says_it_is_too_large_is_not_read(bindings: TaskBindings) -> None:
    """413, whatever is in it."""
    answer = send(bindings, "POST", BOUND, content=b" " * (256 * 1024 + 1), headers=JSON_TYPE)
    assert detail(answer)[:2] == (413, ["body"])


def test_a_body_without_a_length_is_read_to_the_limit(bindings: TaskBindings) -> None:
    """A client may never stop sending."""
    pulled = []

    async def endless() -> Any:
        while True:
            pulled.append(1)
            yield b" " * 65536

    answer = send(bindings, "POST", BOUND, content=endless(), headers=JSON_TYPE)
    assert detail(answer)[:2] == (413, ["body"])
    assert len(pulled) <= 6


@pytest.mark.parametrize("task", ["x" * 161, "%20", "%E2%80%8B", "%C2%A0"])
def test_a_task_without_an_id_is_422(task: str) -> None:
    """Nobody is asked about it."""
    asked: list[str] = []
    app = app_over(authorize=lambda _, task: asked.append(task))
    for path in (BOUND, DOCUMENTS):
        assert detail(ask(app, "GET", path.replace("t1", task)))[:2] == (422, ["path", "task_id"])
    assert asked == []


def test_more_than_a_task_can_have_is_422(bindings: TaskBindings) -> None:
    """All that is sent then is left out; what is bound can still get new names."""
    bindings.add("t1", *(reference("ap", f"kb-{place}") for place in range(1000)))
    refs = [{"provider": "ap", "id": "kb-7", "name": "Seven"}]
    assert send(bindings, "POST", BOUND, json={"refs": refs}).json()["items"][7]["name"] == "Seven"
    more = send(bindings, "POST", BOUND, json={"refs": [*refs, {"provider": "ap", "id": "one-more"}]})
    assert detail(more)[:2] == (422, ["body", "refs"])
    assert len(bindings.list("t1").refs) == 1000


def test_what_cannot_be_loaded_is_a_warning(tmp_path: Path) -> None:
    """So is a source that this deployment has not; the others are there."""
    path = tmp_path / "bindings.db"
    bindings = TaskBindings(SQLiteStorage(path))
    bindings.add("t1", WHOLE, reference("handbook", "people"))
    with sqlite3.connect(path) as connection:
        connection.execute("INSERT INTO bindings VALUES ('t1', 7, 'ap:explicit:x:knowledge_base:', '{')")
    connection.close()
    assert send(bindings, "GET", BOUND).json()["warnings"] == [
        {"key": "ap:explicit:x:knowledge_base:", "reason": "unreadable"},
        {"key": "ap:explicit:kb-1:knowledge_base:", "reason": "not_registered"},
    ]
    removed = send(bindings, "POST", REMOVAL, json={"ref": {"provider": "ap", "id": "x"}})
    assert [warning["reason"] for warning in removed.json()["warnings"]] == ["not_registered"]


# Listing.


def test_documents_of_what_is_bound_are_listed(bindings: TaskBindings) -> None:
    """A page of each provider; each says how it fared, and costs no other."""
    names = ["paging", "plain", "down", "elsewhere"]
    bindings.add("t1", *map(reference, names))
    answer = send(bindings, "GET", f"{DOCUMENTS}?limit=2&offset=1").json()
    assert answer["pagination_scope"] == "per_provider"
    assert [(page["provider"], page["status"], page["next_offset"]) for page in answer["pages"]] == [
        ("paging", "listed", 3),
        ("plain", "disabled", None),
        ("down", "disabled", None),
        ("elsewhere", "ignored", None),
    ]
    assert [document["target_name"] for document in answer["pages"][0]["documents"]] == ["Document 2", "Document 3"]
    past = send(bindings, "GET", f"{DOCUMENTS}?offset=1000000").json()["pages"][0]
    assert (past["status"], past["documents"], past["next_offset"]) == ("past_end", [], None)


def test_documents_of_what_is_not_bound_can_be_seen_first(bindings: TaskBindings) -> None:
    """And bound as they came; looking binds nothing."""
    refs = [{"provider": "handbook", "id": "people"}]
    (page,) = send(bindings, "POST", DOCUMENTS, json={"refs": refs, "limit": 1}).json()["pages"]
    assert (page["status"], page["next_offset"]) == ("listed", 1)
    assert bindings.list("t1").refs == ()
    assert send(bindings, "POST", BOUND, json={"refs": page["documents"]}).json()["items"] == page["documents"]


def test_a_source_is_asked_for_the_user() -> None:
    """Clause 10.9: the user whom the host named, and the task as the session."""
    seen: list[tuple[str, str]] = []

    class Lists(ScriptedSource):
        async def list_documents(self, refs: Any, context: Any, limit: int, offset: int) -> list[Any]:
            seen.append((context.owner_id, context.session_id))
            raise ConnectionError(f"https://lists.example.com/?token={SECRET}")

    app = app_over(registry=SourceRegistry(Lists("lists")))
    answer = ask(app, "POST", DOCUMENTS, json={"refs": [{"provider": "lists", "id": "kb-1"}]})
    assert seen == [("alice", "t1")]
    (page,) = answer.json()["pages"]
    assert (answer.status_code, page["status"], page["documents"]) == (200, "failed", [])
    assert SECRET not in answer.text


@pytest.mark.parametrize(
    ("method", "path", "body", "place"),
    [
        ("GET", f"{DOCUMENTS}?limt=2", None, ["query", "limt"]),
        ("GET", f"{BOUND}?limit=2", None, ["query", "limit"]),
        ("POST", f"{BOUND}?task=t2", {"refs": [WHOLE]}, ["query", "task"]),
        ("POST", f"{DOCUMENTS}?limit=2", {"refs": [WHOLE]}, ["query", "limit"]),
        ("POST", f"{REMOVAL}?{SECRET}=1", {"ref": WHOLE}, ["query"]),
    ],
)
def test_an_unknown_parameter_is_422(
    bindings: TaskBindings, method: str, path: str, body: Any, place: list[str]
) -> None:
    """As an unknown field is: one that is mistyped would be left out without a word."""
    status, where, words = detail(ask(app_over(bindings), method, path, json=body))
    assert (status, where) == (422, place)
    assert "Nothing was done." in words
    assert SECRET not in words
    assert bindings.list("t1").refs == ()


WINDOWS = [("limit", value) for value in (0, -1, 101, 10**30)] + [("offset", value) for value in (-1, 1_000_001)]


@pytest.mark.parametrize(("name", "value"), WINDOWS)
def test_a_window_out_of_range_is_422(name: str, value: int) -> None:
    """In the query and in the body; no source is asked."""
    source = PagingSource("paging")
    app = app_over(registry=SourceRegistry(source))
    assert detail(ask(app, "GET", f"{DOCUMENTS}?{name}={value}"))[:2] == (422, ["query", name])
    body = {"refs": [{"provider": "paging", "id": "kb-1"}], name: value}
    assert detail(ask(app, "POST", DOCUMENTS, json=body))[:2] == (422, ["body", name])
    assert source.pages == []


@pytest.mark.parametrize("value", ["", "x", "1.0", "1_0", "%EF%BC%91", "%2B1", "true", "1&limit=2"])
def test_a_window_that_is_no_number_is_422(bindings: TaskBindings, value: str) -> None:
    """Only plain digits are, and once."""
    assert detail(send(bindings, "GET", f"{DOCUMENTS}?limit={value}"))[:2] == (422, ["query", "limit"])


@pytest.mark.parametrize("value", [True, 1.0, "1", [1]])
def test_a_number_of_another_type_is_422(bindings: TaskBindings, value: Any) -> None:
    """JSON has numbers."""
    answer = send(bindings, "POST", DOCUMENTS, json={"refs": [WHOLE], "limit": value})
    assert detail(answer)[:2] == (422, ["body", "limit"])


# Methods and failures.


@pytest.mark.parametrize("path", [BOUND, REMOVAL, DOCUMENTS, "/openapi.json"])
def test_other_methods_are_refused_and_named(path: str) -> None:
    """405 and OPTIONS say which there are, to anybody; HEAD has the headers of GET."""
    app = app_over()
    options = ask(app, "OPTIONS", path, headers={"x-user": ""})
    refused = ask(app, "DELETE", path)
    assert (options.status_code, options.content, refused.status_code) == (204, b"", 405)
    assert options.headers["allow"] == refused.headers["allow"]
    head, get = ask(app, "HEAD", path), ask(app, "GET", path)
    assert head.status_code == get.status_code == (405 if path == REMOVAL else 200)
    assert head.content == b""
    assert head.headers == get.headers
    assert all(each.headers["cache-control"] == "no-store" for each in (options, refused, head, get))


@pytest.mark.parametrize("path", ["/", "/api/tasks/t1", f"{BOUND}/", f"{BOUND}/add", BOUND.replace("t1", "a%2Fb")])
def test_an_unknown_path_is_404(path: str) -> None:
    """As JSON, and without a redirect, which would lead to whatever host the client named."""
    assert detail(ask(app_over(), "GET", path))[0] == 404


class Broken(MemoryStorage):
    """A storage of somebody's own, that fails in its own words."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self._error = error

    def read(self, task_id: str) -> Rows:
        raise self._error

    def change(self, task_id: str, change: Change) -> Rows:
        raise self._error


@pytest.mark.parametrize(
    ("error", "status", "retry"),
    [
        (KnowledgeUnavailableError(f"postgres://u:{SECRET}@db"), 503, "1"),
        (KnowledgeUnavailableError(SECRET, retryable=False), 503, None),
        (ConnectionError(SECRET), 500, None),
        (RecursionError(SECRET), 500, None),
        (ExceptionGroup(SECRET, [ValueError(SECRET)]), 500, None),
    ],
)
def test_a_storage_that_fails_is_not_quoted(
    error: Exception, status: int, retry: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither to the client nor to the log, which has the class and the place."""
    app = app_over(Broken(error))
    for method, path, body in [("GET", BOUND, None), ("POST", BOUND, {"refs": [WHOLE]}), ("GET", DOCUMENTS, None)]:
        answer = as_described(ask(app, method, path, json=body), method, path)
        assert (answer.status_code, answer.headers.get("retry-after")) == (status, retry)
        assert SECRET not in answer.text
    assert SECRET not in caplog.text
    assert f"{type(error).__name__} at test_server_app.py:" in caplog.text


def test_a_file_that_is_held_is_503(tmp_path: Path) -> None:
    """And nothing is changed."""
    path = tmp_path / "bindings.db"
    bindings = TaskBindings(SQLiteStorage(path, timeout=0.05))
    bindings.add("t1", WHOLE)
    with sqlite3.connect(path, isolation_level=None) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        answer = send(bindings, "POST", REMOVAL, json={"ref": WHOLE})
        connection.execute("ROLLBACK")
    connection.close()
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert bindings.list("t1").refs == (read_reference(WHOLE),)


def test_a_client_that_leaves_is_no_failure(caplog: pytest.LogCaptureFixture) -> None:
    """Nothing is stored and nothing is logged."""

    async def receive() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    async def send_nowhere(_: Any) -> None:
        return None

    storage: BindingStorage = MemoryStorage()
    headers = [(b"content-type", b"application/json"), (b"x-user", b"alice")]
    scope = {"type": "http", "method": "POST", "path": BOUND, "headers": headers, "query_string": b""}
    asyncio.run(app_over(storage)(scope, receive, send_nowhere))
    assert caplog.records == []
    assert storage.read("t1") == ()


def test_the_registry_is_asked_as_it_is_now(bindings: TaskBindings) -> None:
    """A source that is registered later is no warning any more."""
    registry = mixed_registry()
    app = app_over(bindings, registry=registry)
    bindings.add("t1", WHOLE)
    assert len(ask(app, "GET", BOUND).json()["warnings"]) == 1
    registry.register(ScriptedSource("ap"))
    assert ask(app, "GET", BOUND).json()["warnings"] == []


def test_what_cannot_be_loaded_is_removed_by_the_key_of_its_warning() -> None:
    """Clause 10.4: a client has no reference of it; another key is unknown, and ref and key are not sent together."""
    storage = MemoryStorage()
    storage.change("t1", lambda rows: (*rows, Row("garbage", "{}")))
    app = TaskBindings(storage)
    (warning,) = send(app, "GET", BOUND).json()["warnings"]
    assert detail(send(app, "POST", REMOVAL, json={"key": "other"}))[0] == 404
    for body in ({"key": 7}, {"key": "garbage", "ref": WHOLE}):
        assert detail(send(app, "POST", REMOVAL, json=body))[:2] == (422, ["body", "key"])
    removed = send(app, "POST", REMOVAL, json={"key": warning["key"]})
    assert (removed.status_code, removed.json()["warnings"]) == (200, [])


def test_a_storage_that_waits_takes_none_of_the_hosts_threads() -> None:
    """However many requests wait for it, what the host does in its own threads goes on."""
    released = threading.Event()

    class Waiting(MemoryStorage):
        def read(self, task_id: str) -> Any:
            released.wait()
            return super().read(task_id)

    async def scene() -> tuple[str, set[int]]:
        transport = httpx.ASGITransport(app=app_over(Waiting(), authorize=an_async_user))
        async with httpx.AsyncClient(transport=transport, base_url="http://api.test") as client:
            asked = [asyncio.create_task(client.get(BOUND)) for _ in range(60)]
            for _ in range(20):
                await asyncio.sleep(0)
            async with asyncio.timeout(10):
                said = await run_in_threadpool(lambda: "there")
            released.set()
            return said, {answer.status_code for answer in await asyncio.gather(*asked)}

    try:
        assert asyncio.run(scene()) == ("there", {200})
    finally:
        released.set()


async def an_async_user(*_: object) -> str:
    return "alice"
