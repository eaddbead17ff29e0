"""The API as a host has it: behind a real server, mounted in another app, and changed by many at once."""

import json
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from fastapi import FastAPI
from source_api import BOUND, DOCUMENTS, REMOVAL, WHOLE, app_over, ask
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp

from knowledge_fakes.vendors.serving import serving
from knowledge_provider.sources import SQLiteStorage, TaskBindings
from knowledge_provider.sources.server.openapi import OWN_DOCUMENT

# An import that fails, as where nothing is installed.
WITHOUT_STARLETTE = """
import sys
sys.modules["starlette"] = None
import knowledge_provider.sources
try:
    import knowledge_provider.sources.server
except ImportError as error:
    print(error)
"""


async def health(_: Request) -> Response:
    return JSONResponse({"status": "ready"})


def in_starlette(app: Starlette) -> ASGIApp:
    return Starlette(debug=True, routes=[Route("/api/tasks/{task_id}", health), Mount("/", app)])


def in_fastapi(app: Starlette) -> ASGIApp:
    host = FastAPI(debug=True)

    @host.get("/api/tasks/{task_id}")
    def task(task_id: str) -> dict[str, str]:
        return {"status": "ready"}

    host.mount("/", app)
    return host


def as_routes(app: Starlette) -> ASGIApp:
    return Starlette(debug=True, routes=[*app.routes, Route("/api/tasks/{task_id}", health)])


@pytest.mark.parametrize("mounted", [in_starlette, in_fastapi, as_routes])
def test_it_stands_beside_the_hosts_own_routes(mounted: object) -> None:
    """Mounted after them, or as routes among them; what it refuses is the same in each, also where a host debugs."""
    assert callable(mounted)
    app = mounted(app_over())
    assert ask(app, "GET", "/api/tasks/t1").json() == {"status": "ready"}
    assert ask(app, "POST", BOUND, json={"refs": [WHOLE]}).json()["total"] == 1
    assert ask(app, "GET", DOCUMENTS).json()["pages"][0]["status"] == "ignored"
    assert ask(app, "POST", REMOVAL, json={"ref": WHOLE}).json()["total"] == 0
    again = ask(app, "POST", REMOVAL, json={"ref": WHOLE})
    assert (again.status_code, again.json()["detail"][0]["loc"]) == (404, ["body", "ref"])
    assert ask(app, "PUT", BOUND).status_code == 405


def test_one_that_is_mounted_deeper_says_where_it_is() -> None:
    """Its paths are under the mount, as the document's ``servers`` has it."""
    app = Starlette(routes=[Mount("/knowledge", app_over())])
    assert ask(app, "GET", f"/knowledge{BOUND}").status_code == 200
    assert ask(app, "GET", "/knowledge/openapi.json").json()["servers"] == [{"url": "/knowledge"}]
    assert ask(app_over(), "GET", "/openapi.json").json()["servers"] == [{"url": "/"}]


@pytest.mark.parametrize("mounted", [in_starlette, in_fastapi, as_routes])
def test_its_document_can_be_had_beside_another(mounted: object) -> None:
    """FastAPI has one of its own under the usual name; a path that is none says where this one is."""
    assert callable(mounted)
    app = mounted(app_over())
    assert BOUND.replace("t1", "{task_id}") in ask(app, "GET", OWN_DOCUMENT).json()["paths"]
    said = ask(app_over(), "GET", "/api/tasks").json()["detail"][0]["msg"]
    assert OWN_DOCUMENT in said


def test_a_failure_inside_shows_no_traceback_where_the_host_debugs() -> None:
    """Not even then."""

    def broken(request: object, task: str) -> str:
        raise ZeroDivisionError

    for mounted in (in_starlette, in_fastapi, as_routes):
        answer = ask(mounted(app_over(authorize=broken)), "GET", BOUND)
        assert (answer.status_code, answer.headers["content-type"]) == (500, "application/json")
        assert not any(text in answer.text for text in ("Traceback", "ZeroDivision", ".py"))


def test_it_is_served() -> None:
    """Over a real connection, which stays open; the answer to HEAD has no body, and one that is too long is cut off."""
    with serving(app_over()) as url, httpx.Client(base_url=url, headers={"x-user": "alice"}) as client:
        assert client.post(BOUND, json={"refs": [WHOLE]}).json()["total"] == 1
        head, get = client.head(BOUND), client.get(BOUND)
        assert (head.content, head.headers["content-length"]) == (b"", str(len(get.content)))
        large = client.post(BOUND, content=b" " * 10**6, headers={"content-type": "application/json"})
        assert large.status_code == 413
        assert client.get(BOUND).json()["total"] == 1


@pytest.mark.parametrize(
    "sent",
    [
        b"Content-Length: 99\r\n\r\n{",
        b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n",
    ],
)
def test_a_client_that_breaks_off_stores_nothing(sent: bytes) -> None:
    """And takes nobody else's place."""
    with serving(app_over()) as url:
        place = urlsplit(url)
        with socket.create_connection((place.hostname or "", place.port or 0), timeout=10) as connection:
            head = f"POST {BOUND} HTTP/1.1\r\nHost: x\r\nX-User: a\r\nContent-Type: application/json\r\n"
            connection.sendall(head.encode() + sent)
        assert httpx.get(f"{url}{BOUND}", headers={"x-user": "alice"}).json()["total"] == 0


def test_many_at_once_lose_nothing(tmp_path: Path) -> None:
    """Each binds ten and removes five of them, in one task over one file, all at the same time."""
    bindings = TaskBindings(SQLiteStorage(tmp_path / "bindings.db", timeout=60.0))

    def ref(who: int, place: int) -> dict[str, str]:
        return {"provider": "ap", "id": f"{who}-{place}"}

    def change(who: int) -> list[int]:
        with httpx.Client(base_url=url, headers={"x-user": "alice"}, timeout=60.0) as client:
            added = [client.post(BOUND, json={"refs": [ref(who, place)]}).status_code for place in range(10)]
            removed = [client.post(REMOVAL, json={"ref": ref(who, place)}).status_code for place in range(0, 10, 2)]
            return added + removed

    with serving(app_over(bindings)) as url, ThreadPoolExecutor(8) as pool:
        assert {status for statuses in pool.map(change, range(8)) for status in statuses} == {200}
    assert sorted(each.id or "" for each in bindings.list("t1").refs) == sorted(
        f"{who}-{place}" for who in range(8) for place in range(1, 10, 2)
    )


def test_the_same_is_removed_by_one(tmp_path: Path) -> None:
    """Of many who remove it at once, all others are told that it is gone."""
    bindings = TaskBindings(SQLiteStorage(tmp_path / "bindings.db", timeout=60.0))
    bindings.add("t1", WHOLE)

    def remove(_: int) -> int:
        headers = {"x-user": "alice"}
        return httpx.post(f"{url}{REMOVAL}", json={"ref": WHOLE}, headers=headers, timeout=60.0).status_code

    with serving(app_over(bindings)) as url, ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(remove, range(8))) == [200, *[404] * 7]


def test_without_starlette_the_import_says_what_to_install() -> None:
    """And everything else of the package can be imported."""
    done = subprocess.run([sys.executable, "-c", WITHOUT_STARLETTE], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "pip install 'knowledge-provider-kit[server]'" in done.stdout


def test_the_package_loads_no_server() -> None:
    """Whoever does not serve pays nothing for it."""
    code = "import sys, json, knowledge_provider.sources; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = json.loads(done.stdout)
    assert "knowledge_provider.sources" in loaded
    assert not {"starlette", "anyio", "knowledge_provider.sources.server"} & set(loaded)
