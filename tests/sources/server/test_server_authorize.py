"""Who may use the API: the host's own function, which is asked first, and believed in nothing but the user's id."""

import asyncio
import functools
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import fastapi
import pytest
from source_api import BOUND, DOCUMENTS, REMOVAL, WHOLE, app_over, ask, by_header, detail
from starlette.exceptions import HTTPException
from starlette.requests import Request

from knowledge_fakes.sources import ScriptedSource
from knowledge_provider.sources import MemoryStorage, SourceRegistry, TaskBindings, read_reference
from knowledge_provider.sources.server import external_sources_app

SECRET = "k-4711-secret"
REQUESTS: list[tuple[str, str, Any]] = [
    ("GET", BOUND, None),
    ("POST", BOUND, {"refs": [{"provider": "ap", "id": "kb-2"}]}),
    ("POST", REMOVAL, {"ref": WHOLE}),
    ("GET", DOCUMENTS, None),
    ("POST", DOCUMENTS, {"refs": [WHOLE]}),
]
each_request = pytest.mark.parametrize(("method", "path", "body"), REQUESTS)


def raising(error: BaseException) -> Callable[[Request, str], str | None]:
    def authorize(request: Request, task: str) -> str | None:
        raise error

    return authorize


def test_arguments_of_another_kind_make_no_app() -> None:
    """They are refused when the app is made, and not in its first request."""
    storage: Any = MemoryStorage()
    with pytest.raises(TypeError, match=r"bindings must be a TaskBindings.* MemoryStorage: pass TaskBindings"):
        external_sources_app(storage, registry=SourceRegistry(), authorize=by_header)
    registry: Any = [ScriptedSource("wiki")]
    with pytest.raises(TypeError, match=r"registry must be a SourceRegistry.* list: pass SourceRegistry"):
        external_sources_app(TaskBindings(storage), registry=registry, authorize=by_header)


@pytest.mark.parametrize("authorize", [None, "alice", 7])
def test_without_a_function_there_is_no_app(authorize: Any) -> None:
    """It would be open to everybody."""
    with pytest.raises(TypeError, match="Wanted a function as authorize"):
        external_sources_app(TaskBindings(MemoryStorage()), registry=SourceRegistry(), authorize=authorize)
    with pytest.raises(TypeError, match="authorize"):
        external_sources_app(TaskBindings(MemoryStorage()), registry=SourceRegistry())  # type: ignore[call-arg]


@each_request
@pytest.mark.parametrize(
    ("authorize", "status"),
    [
        (lambda *_: None, 401),
        (lambda *_: "", 401),
        (lambda *_: " \u200b", 401),
        (raising(PermissionError(SECRET)), 403),
        (raising(HTTPException(401, SECRET)), 401),
        (raising(HTTPException(403, SECRET)), 403),
        (raising(fastapi.HTTPException(403, SECRET)), 403),
        (raising(HTTPException(404, SECRET)), 404),
        (raising(HTTPException(429, SECRET)), 429),
        (raising(HTTPException(307, SECRET, {"Location": f"https://login.example.com/?token={SECRET}"})), 500),
        (raising(ValueError(SECRET)), 500),
        (raising(SystemExit(SECRET)), 500),
        (raising(BaseExceptionGroup(SECRET, [SystemExit(SECRET)])), 500),
        (raising(asyncio.CancelledError(SECRET)), 500),
        (lambda *_: True, 500),
        (lambda *_: 7, 500),
        (lambda *_: "\ud800", 500),
        (lambda: SECRET, 500),
    ],
)
def test_who_is_not_admitted_does_nothing(
    method: str, path: str, body: Any, authorize: Any, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever is asked: nothing is read or changed, and the host's words are neither answered nor logged."""
    bindings = TaskBindings(MemoryStorage())
    bindings.add("t1", WHOLE)
    answer = ask(app_over(bindings, authorize=authorize), method, path, json=body)
    assert answer.status_code == status
    assert answer.headers["cache-control"] == "no-store"
    assert "location" not in answer.headers
    assert set(answer.json()) == {"detail"}
    assert "kb-1" not in answer.text
    assert SECRET not in answer.text + caplog.text
    assert bindings.list("t1").refs == (read_reference(WHOLE),)


def test_a_task_that_does_not_exist_is_named() -> None:
    """The host alone knows; the body says which field it is."""
    status, place, words = detail(ask(app_over(authorize=raising(HTTPException(404))), "GET", BOUND))
    assert (status, place) == (404, ["path", "task_id"])
    assert words.startswith("task_id: wanted a task")


def test_of_the_hosts_headers_two_are_answered() -> None:
    """Those that tell a client how to go on."""
    headers = {
        "WWW-Authenticate": 'Bearer realm="tasks"',
        "Retry-After": "30",
        "X-Internal": SECRET,
        "Set-Cookie": "a=b",
    }
    answer = ask(app_over(authorize=raising(HTTPException(401, headers=headers))), "GET", BOUND)
    assert (answer.headers["www-authenticate"], answer.headers["retry-after"]) == ('Bearer realm="tasks"', "30")
    assert "x-internal" not in answer.headers


@pytest.mark.parametrize("value", ["日本", "a\r\nSet-Cookie: b=c"])
def test_a_header_that_http_cannot_carry_is_left_out(value: str) -> None:
    """And costs nobody the answer."""
    answer = ask(app_over(authorize=raising(HTTPException(401, headers={"WWW-Authenticate": value}))), "GET", BOUND)
    assert answer.status_code == 401
    assert not {"www-authenticate", "set-cookie"} & set(answer.headers)


@pytest.mark.parametrize("headers", [7, {7: "x"}, {"Retry-After": 30}])
def test_headers_that_are_none_are_a_failure_of_the_host(headers: Any) -> None:
    """As everything else that it may raise."""
    assert ask(app_over(authorize=raising(HTTPException(401, headers=headers))), "GET", BOUND).status_code == 500


def test_a_user_without_an_id_is_told_so() -> None:
    """Clause 10.9, with its code."""
    answer = ask(app_over(authorize=lambda *_: None), "GET", BOUND)
    assert answer.json()["detail"][0]["type"] == "knowledge_owner_required"


def test_what_is_wrong_with_the_function_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """For the host's author, without what it gave or raised."""
    ask(app_over(authorize=lambda *_: 7), "GET", BOUND)  # type: ignore[arg-type]
    assert "authorize gave a int; wanted the user's id as a string, or None" in caplog.text
    ask(app_over(authorize=raising(LookupError(SECRET))), "GET", BOUND)
    assert "LookupError at test_server_authorize.py:" in caplog.text


async def in_the_loop(request: Request, task: str) -> str | None:
    return by_header(request, task)


class Admits:
    async def __call__(self, request: Request, task: str) -> str | None:
        return by_header(request, task)


def later(request: Request, task: str) -> Awaitable[str | None]:
    return in_the_loop(request, task)


@pytest.mark.parametrize("authorize", [by_header, in_the_loop, Admits(), later, functools.partial(in_the_loop)])
def test_it_may_be_async_or_not(authorize: Any) -> None:
    """A function, a coroutine function, an object, and what gives something to await."""
    app = app_over(authorize=authorize)
    assert ask(app, "GET", BOUND).status_code == 200
    assert ask(app, "GET", BOUND, headers={"x-user": ""}).status_code == 401


def test_one_that_blocks_is_called_in_a_thread() -> None:
    """So that it holds nobody up; one that is async is called on the loop."""
    threads: list[threading.Thread] = []

    def blocks(request: Request, task: str) -> str:
        threads.append(threading.current_thread())
        return "alice"

    async def awaits(request: Request, task: str) -> str:
        threads.append(threading.current_thread())
        return "alice"

    ask(app_over(authorize=blocks), "GET", BOUND)
    ask(app_over(authorize=awaits), "GET", BOUND)
    assert threads[0] is not threading.current_thread()
    assert threads[1] is threading.current_thread()


def test_it_is_asked_before_anything_is_read() -> None:
    """With the request and the task's id; it may read the body itself, to verify a signature, and it is still there."""
    asked: list[tuple[str, str, bytes]] = []

    async def authorize(request: Request, task: str) -> str | None:
        asked.append((request.method, task, await request.body()))
        return by_header(request, task)

    app = app_over(authorize=authorize)
    path = BOUND.replace("t1", "%E4%BB%BB%E5%8A%A1")
    answer = ask(app, "POST", path, json={"refs": [WHOLE]})
    assert (answer.status_code, answer.json()["total"]) == (200, 1)
    assert asked[0][:2] == ("POST", "任务")
    assert b'"kb-1"' in asked[0][2]
    assert ask(app, "POST", path, content=b"{", headers={"x-user": ""}).status_code == 401
    assert ask(app, "GET", f"{DOCUMENTS}?limit=0", headers={"x-user": ""}).status_code == 401
