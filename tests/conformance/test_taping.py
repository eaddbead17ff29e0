"""A network out of a recording: every client library is recorded, and answered without a back end."""

import asyncio
import gzip
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import httpx
import pytest
from doors import run, run_pytest
from network_calls import Ask, by_httpx, each_way

from knowledge_conformance import taping
from knowledge_conformance.catalogue import BY_ID
from knowledge_conformance.declared import read_declared
from knowledge_conformance.network import BODY_MAX, Break, Reply, watched
from knowledge_conformance.results import CheckOutcome, CheckResult
from knowledge_conformance.running import Run
from knowledge_conformance.settings import Settings
from knowledge_conformance.tape_file import TapeError, read_tape
from knowledge_conformance.taping import Taping, taped
from knowledge_conformance.target import TargetError, load, target_of
from knowledge_fakes.over_http import KEY, HTTPHandbookProvider
from knowledge_fakes.vendors.http_service import KnowledgeService
from knowledge_fakes.vendors.serving import serving

BODY = b'{"results": [1, 2, 3]}'
TOKEN = "issued-91c7d24e0b"
RESULT = CheckResult(id="KP-301", outcome=CheckOutcome.ERRORED, saw="raised", wanted="an answer")
FAULTS_OF_THE_NETWORK = [f"KP-{number}" for number in (519, 520, 521, 522, 523, 524, 525, 526, 707)]


async def app(scope: Any, receive: Any, send: Any) -> None:
    """A service that says the key which it was given, and one that it issues."""
    if scope["type"] == "http":
        headers = dict(scope["headers"])
        said = {"results": [1, 2, 3], "you": headers.get(b"x-api-key", b"").decode(), "access_token": TOKEN}
        answer = [(b"content-type", b"application/json"), (b"content-encoding", b"gzip"), (b"set-cookie", b"s=1")]
        await send({"type": "http.response.start", "status": 200, "headers": answer})
        await send({"type": "http.response.body", "body": gzip.compress(json.dumps(said).encode())})


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(app) as base:
        yield f"{base}/search?api_key=sk-hunter2"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "network.json"


def record(path: Path, *calls: Any, secrets: tuple[str, ...] = ()) -> None:
    with taped(Taping(recorded=str(path), secrets=secrets)):
        for call in calls:
            call()


@each_way
def test_what_was_recorded_is_answered_without_a_service(ask: Ask, path: Path) -> None:
    """By each library, with another key; also to who watches the network above it."""
    with serving(app) as base:
        url = f"{base}/search"
        record(path, lambda: ask(f"{url}?api_key=sk-hunter2"))
    with taped(Taping(played=str(path))), watched(1.0) as above:
        status, body = ask(f"{url}?api_key=another")
        assert above is not None
        heard = above.calls[0].heard()
    assert status == 200
    assert json.loads(body)["results"] == [1, 2, 3]
    assert heard is not None
    assert heard.body == body
    assert not {TOKEN, "sk-hunter2"} & set(
        path.read_text(encoding="utf-8").replace('"', " ").replace("\\", " ").split()
    )
    assert TOKEN not in path.read_text(encoding="utf-8")


@each_way
def test_what_was_not_recorded_is_no_call_to_anybody(ask: Ask, path: Path, url: str) -> None:
    """Though the service is there, the library says that it did not reach it."""
    record(path)
    with taped(Taping(played=str(path))), pytest.raises(Exception, match=Break.UNRECORDED.value):
        ask(url)


@each_way
def test_a_cut_goes_before_a_recording(ask: Ask, path: Path, url: str) -> None:
    """And what is cut is not recorded."""
    with taped(Taping(recorded=str(path))):
        with watched(1.0) as above:
            assert above is not None
            with above.cut(Reply(503)):
                assert ask(url)[0] == 503
        assert ask(url)[0] == 200
    (answers,) = read_tape(path).values()
    assert [answer.status for answer in answers] == [200]
    with taped(Taping(played=str(path))), watched(1.0) as above:
        assert above is not None
        with above.cut(Reply(503)):
            assert ask(url)[0] == 503
        assert ask(url)[0] == 200


def test_keys_that_were_sent_or_declared_are_in_no_file(path: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a header, in the query, in the body, and wherever the service says them again."""
    monkeypatch.setenv("TAPED_KEY", "declared-77aa31c9e0")
    read_declared(["TAPED_KEY"])

    def ask() -> None:
        with httpx.Client(trust_env=False) as client:
            headers = {"x-api-key": KEY, "authorization": "Bearer other-5e1f77ab90", "cookie": "sid=cookie-1122aabb"}
            body = {"q": "declared-77aa31c9e0", "client_secret": "hunter2-9f3b7c"}
            client.post(url.replace("sk-hunter2", "query-5f0c2a9d"), json=body, headers=headers)

    record(path, ask, secrets=("TAPED_KEY",))
    text = path.read_text(encoding="utf-8")
    sent = (KEY, "other-5e1f77ab90", "cookie-1122aabb", "declared-77aa31c9e0", "hunter2-9f3b7c", "query-5f0c2a9d")
    assert not [key for key in (*sent, TOKEN) if key in text]
    assert "results" in text
    assert "set-cookie" not in text


def test_a_repeated_call_is_answered_again(path: Path) -> None:
    """First in the order in which it was answered, then with the last."""
    statuses = iter([503, 200])
    transport = httpx.MockTransport(lambda _: httpx.Response(next(statuses)))

    def ask() -> int:
        with httpx.Client(transport=transport) as client:
            return client.get("http://service/").status_code

    record(path, ask, ask)
    with taped(Taping(played=str(path))):
        assert [ask() for _ in range(4)] == [503, 200, 200, 200]


def test_a_call_with_another_id_each_time_is_answered(path: Path) -> None:
    """What it asks decides, not when."""

    def ask(query: str, number: int) -> bytes:
        transport = httpx.MockTransport(lambda request: httpx.Response(200, content=f"to {query}"))
        with httpx.Client(transport=transport) as client:
            body = {"q": query, "id": f"7c9e6679-7425-40de-944b-{number:012}", "sent": 1772359200 + number}
            return client.post("http://service/", json=body).content

    record(path, lambda: ask("a", 1), lambda: ask("b", 2))
    with taped(Taping(played=str(path))):
        assert [ask("b", 3), ask("a", 4)] == [b"to b", b"to a"]


def test_an_answer_that_nobody_waited_for_is_none(path: Path, url: str) -> None:
    """Half of one would be taken for the whole."""

    def ask() -> None:
        with httpx.Client(trust_env=False) as client, client.stream("GET", url):
            pass

    async def ask_async() -> None:
        async with aiohttp.ClientSession() as session:
            with pytest.raises(asyncio.TimeoutError):
                await session.get(url.replace("search", "slow"), timeout=aiohttp.ClientTimeout(total=1e-9))

    record(path, ask, lambda: asyncio.run(ask_async()))
    assert read_tape(path) == {}


@pytest.mark.parametrize(("headers", "body"), [({}, b"x" * (BODY_MAX + 1)), ({"content-encoding": "br"}, b"no brotli")])
def test_what_cannot_be_recorded_is_said(path: Path, headers: dict[str, str], body: bytes) -> None:
    """A check's result is worth nothing then: neither is its recording."""

    class Whole(httpx.SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            yield body

    response = httpx.Response(200, headers=headers, stream=Whole())
    transport = httpx.MockTransport(lambda _: response)
    with taped(Taping(recorded=str(path))) as tape, httpx.Client(transport=transport) as client:
        assert tape is not None
        with client.stream("GET", "http://service/x?token=hunter2") as came:
            list(came.iter_raw())
        tape.keep()
        noted = tape.noted(RESULT.model_copy(update={"outcome": CheckOutcome.PASSED}))
    assert noted.outcome is CheckOutcome.INCONCLUSIVE
    assert "cannot have the answer to GET 'http://service/x'" in str(noted.saw)


def test_a_disk_that_is_full_is_said(path: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once the run goes on it cannot be stopped, but it is not good."""

    def full(*_arguments: object) -> None:
        raise TapeError(path, "cannot be written (No space left on device)")

    with taped(Taping(recorded=str(path))) as tape:
        assert tape is not None
        by_httpx(url)
        monkeypatch.setattr(taping, "add_to_tape", full)
        tape.keep()
        assert "No space left" in str(tape.noted(RESULT).saw)


def test_a_miss_is_said_where_it_may_have_made_a_difference(path: Path, url: str) -> None:
    """With the file, the call and what to do; a check that passes in spite of it passes."""
    record(path)
    passed = RESULT.model_copy(update={"outcome": CheckOutcome.PASSED})
    with taped(Taping(played=str(path))) as tape:
        assert tape is not None
        assert tape.noted(RESULT) == RESULT
        for found in (RESULT, passed):
            with pytest.raises(httpx.ConnectError):
                by_httpx(url)
            noted = tape.noted(found)
            assert noted.outcome is (CheckOutcome.PASSED if found is passed else CheckOutcome.INCONCLUSIVE)
            assert tape.noted(RESULT) == RESULT
            if found is RESULT:
                assert f"{path} has no answer to POST '{url.partition('?')[0]}'" in str(noted.saw)
                assert f"--record-network {path}" in str(noted.hint)


def test_a_process_plays_or_records_once(path: Path) -> None:
    """And gives the network back."""
    with taped(Taping(recorded=str(path))), pytest.raises(TapeError, match="another run"), taped(Taping(str(path))):
        pass
    with taped(Taping(played=str(path))) as tape:
        assert tape is not None


def test_libraries_are_hooked_before_anybody_imports_them(path: Path) -> None:
    """A provider may import its client in its first call."""
    code = (
        "import sys; from knowledge_conformance.taping import Taping, taped\n"
        f"with taped(Taping(recorded={str(path)!r})):\n"
        "    print(*sorted({'aiohttp', 'httpx', 'httpx2', 'urllib3'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "aiohttp httpx httpx2 urllib3\n"


# Whole runs.


def results(target: Any, **settings: Any) -> dict[str, CheckResult]:
    started = Run(target, Settings(inject_network_faults=True, **settings))
    try:
        return {check_id: started.result(BY_ID[check_id]) for check_id in FAULTS_OF_THE_NETWORK}
    finally:
        started.close()


@pytest.mark.parametrize(
    "client", ["with_httpx", "with_httpx2", "with_httpx_in_a_thread", "with_requests", "with_aiohttp", "two_steps"]
)
def test_the_network_is_cut_without_a_network(client: str, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The service is stopped, and each check of it passes as it did, with as much seen."""
    monkeypatch.setattr(sys, "path", [str(Path(__file__).parent), *sys.path])
    with serving(KnowledgeService(token="sk-hunter2-9f3b7c").app) as url:
        monkeypatch.setenv("KNOWLEDGE_SERVICE_URL", f"{url}/search")
        live = results(load(f"network_subjects:{client}"), record_network=str(path))
    played = results(load(f"network_subjects:{client}"), network_recording=str(path))
    assert {result.outcome for result in live.values()} == {CheckOutcome.PASSED}
    assert {name: (each.outcome, each.observations) for name, each in played.items()} == {
        name: (each.outcome, each.observations) for name, each in live.items()
    }
    assert "hunter2" not in path.read_text(encoding="utf-8")


class Forgiving(HTTPHandbookProvider):
    """Takes every failure for an empty answer."""

    async def retrieve(self, request: Any, context: Any) -> dict[str, Any]:
        try:
            return await super().retrieve(request, context)
        except Exception:
            context.signal.raise_if_cancelled()
            return {"results": []}


def test_a_mistake_is_caught_without_a_network(path: Path) -> None:
    """As it is with one."""
    results(target_of(HTTPHandbookProvider, "sound"), record_network=str(path))
    played = results(target_of(Forgiving, "forgiving"), network_recording=str(path))
    assert played["KP-521"].outcome is CheckOutcome.FAILED
    assert played["KP-519"].outcome is CheckOutcome.FAILED


def test_another_corpus_is_not_taken_for_the_recorded_one(path: Path) -> None:
    """What was not recorded is open, and the result says what to do."""
    results(target_of(HTTPHandbookProvider, "sound"), record_network=str(path))
    started = Run(
        target_of(HTTPHandbookProvider, "sound"),
        Settings(network_recording=str(path), queries=("holidays and sick leave",)),
    )
    try:
        found = started.result(BY_ID["KP-301"])
    finally:
        started.close()
    assert found.outcome is CheckOutcome.INCONCLUSIVE
    assert "has no answer to POST 'http://handbook.example.com/search'" in str(found.saw)


def test_another_process_has_the_recording_as_well(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A supervised child, and the one beside it that is asked the same; what one of them asked, the file has."""
    monkeypatch.setattr(sys, "path", [str(Path(__file__).parent), *sys.path])
    name, check = "network_subjects:with_httpx", BY_ID["KP-315"]
    with serving(KnowledgeService(token="sk-hunter2-9f3b7c").app) as url:
        monkeypatch.setenv("KNOWLEDGE_SERVICE_URL", f"{url}/search")
        recorded = Run(name, Settings(record_network=str(path))).only(check)
    played = Run(name, Settings(network_recording=str(path))).only(check)
    assert recorded.checks[0].outcome is CheckOutcome.PASSED
    assert played.checks == recorded.checks


def test_a_recording_has_what_another_run_may_ask(path: Path) -> None:
    """Where a call is cancelled differs, and so does what is answered: at its end a run asks the rest."""
    started = Run("knowledge_fakes.over_http:provider", Settings(record_network=str(path)))
    asked = started.only(BY_ID["KP-301"]).checks[0].calls
    assert asked < started.runner.calls <= asked + 100
    found = Run("knowledge_fakes.over_http:provider", Settings(network_recording=str(path))).only(BY_ID["KP-709"])
    assert found.checks[0].outcome is CheckOutcome.PASSED, found.checks[0]


def test_a_recording_keeps_to_the_budget(path: Path) -> None:
    """No call beyond what the run may make."""
    started = Run("knowledge_fakes.over_http:provider", Settings(record_network=str(path), max_calls=20))
    started.only(BY_ID["KP-301"])
    assert started.runner.calls <= 20


@pytest.mark.parametrize("name", ["network_recording", "record_network"])
def test_a_file_that_cannot_be_used_stops_the_run(name: str, path: Path) -> None:
    """Before anything is asked, on one line."""
    path.write_text("{}")
    started = Run("knowledge_fakes.over_http:provider", Settings(**{name: str(path)}))
    with pytest.raises(TargetError, match="is none: it has no field"):
        started.runner.open()
    started.runner.kill()


def test_a_thread_that_is_left_behind_gives_the_network_back(path: Path) -> None:
    """Another goes on without it."""
    begun, let_go = threading.Event(), threading.Event()

    def held() -> HTTPHandbookProvider:
        begun.set()
        let_go.wait(30)
        return HTTPHandbookProvider()

    record(path)
    started = Run(target_of(held, "held"), Settings(network_recording=str(path)))
    try:
        started.runner.start()
        assert begun.wait(30)
        started.runner.kill()
        with taped(Taping(played=str(path))) as tape:
            assert tape is not None
    finally:
        let_go.set()


def test_the_doors_record_and_play(tmp_path: Path) -> None:
    """Pytest and ``knowledge-kit``; the verdict with a recording says what it does not say."""
    script = Path(sys.executable).with_name("knowledge-kit")
    options = ("--provider=knowledge_fakes.over_http:provider", "provider::KP-519", "--inject-network-faults")
    assert run_pytest(tmp_path, *options, "--record-network=net.json").returncode == 0
    played = run_pytest(tmp_path, *options, "--network-recording=net.json")
    assert played.returncode == 0, played.stdout
    assert "network recording: nothing is said of connections" in " ".join(played.stdout.split())
    refused = run_pytest(tmp_path, *options, "--network-recording=none.json")
    assert refused.returncode == 4
    assert "the network recording none.json cannot be read (No such file or directory); record one" in refused.stdout
    command = (str(script), "run", "knowledge_fakes.over_http:provider", "--network-recording=none.json")
    assert run(tmp_path, command).stdout == (
        "knowledge-kit: the network recording none.json cannot be read (No such file or directory); record one where "
        "the back end can be reached: --record-network FILE\n"
    )
