"""The network under a provider's clients: every library meets what is injected, and nothing stays afterwards."""

import asyncio
import gzip
import sys
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import aiohttp
import httpx
import httpx2
import pytest
import requests
import urllib3
from network_calls import WAYS, Ask, by_httpx, by_requests, by_urllib3, each_way

from knowledge_conformance import network
from knowledge_conformance.network import Break, Network, Reply, heard, watched
from knowledge_fakes.vendors.serving import serving

BODY = b'{"results": [1, 2, 3]}'
SOUND = Reply(200, {"content-type": "application/json"}, BODY)
PATIENCE = 0.3


async def app(scope: Any, receive: Any, send: Any) -> None:
    """A service that answers the same to everything, packed."""
    if scope["type"] == "http":
        headers = [(b"content-type", b"application/json"), (b"content-encoding", b"gzip"), (b"x-of", b"service")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": gzip.compress(BODY)})


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(app) as base:
        yield f"{base}/search?key=sk-hunter2"


@contextmanager
def own_network(patience: float = PATIENCE) -> Iterator[Network]:
    """The network of this process, which nobody else has."""
    with watched(patience) as net:
        assert net is not None
        yield net


def library_of(error: BaseException) -> str:
    return type(error).__module__.partition(".")[0]


def expected(ask: Ask) -> str:
    return ask.__name__.split("_")[1]


@each_way
def test_a_call_that_goes_through_is_recorded(ask: Ask, url: str) -> None:
    """The client gets what the service sent, and so does the recording: unpacked, with its headers."""
    with own_network() as net:
        assert ask(url) == (200, BODY)
        (call,) = net.calls
        reply = call.heard()
    assert reply is not None
    assert (reply.status, reply.body) == (200, BODY)
    assert reply.headers["x-of"] == "service"
    assert not {"content-encoding", "content-length", "transfer-encoding"} & reply.headers.keys()
    assert call.method == "POST"
    assert call.url.endswith("/search?key=sk-hunter2")
    assert call.step == ("POST", call.url.partition("?")[0])
    assert call.host == "127.0.0.1"


BREAKS = {
    Break.REFUSED: {"ConnectError", "ConnectionError", "NewConnectionError", "ClientConnectorError"},
    Break.NO_SUCH_NAME: {"ConnectError", "ConnectionError", "NameResolutionError", "ClientConnectorDNSError"},
    Break.LATE: {"ConnectTimeout", "ConnectTimeoutError", "ConnectionTimeoutError"},
    Break.RESET: {"ReadError", "ConnectionError", "ProtocolError", "ClientOSError"},
}


@each_way
@pytest.mark.parametrize("how", BREAKS, ids=lambda how: how.name)
def test_a_break_is_the_librarys_own_exception(ask: Ask, how: Break, url: str) -> None:
    """A provider meets what it would meet: the exception that the library raises for that."""
    with own_network() as net, net.cut(how), pytest.raises(Exception, match=r".") as caught:
        ask(url)
    assert library_of(caught.value) == expected(ask)
    assert type(caught.value).__name__ in BREAKS[how]


@each_way
def test_a_reply_is_read_as_any_other(ask: Ask, url: str) -> None:
    """Status, headers and body."""
    with own_network() as net, net.cut(Reply(503, {"retry-after": "7"}, b"down")):
        assert ask(url) == (503, b"down")


@each_way
def test_an_empty_reply_is_read_as_any_other(ask: Ask, url: str) -> None:
    """No body at all."""
    with own_network() as net, net.cut(Reply(200)):
        assert ask(url) == (200, b"")


@each_way
def test_a_broken_reply_does_not_look_whole(ask: Ask, url: str) -> None:
    """The client is told that the connection broke in the middle of the body."""
    reply = Reply(200, SOUND.headers, BODY * 100, "broken")
    with own_network() as net, net.cut(reply), pytest.raises(Exception, match=r".") as caught:
        ask(url)
    assert library_of(caught.value) == expected(ask)


@each_way
def test_a_time_out_of_the_clients_own_is_not_waited_for(ask: Ask, url: str) -> None:
    """A minute of silence takes no minute, where a minute would be in time; the exception is the library's own."""
    began = time.monotonic()
    with own_network(100.0) as net, net.cut(Break.SILENT), pytest.raises(Exception, match=r"(?i)time") as caught:
        ask(url, timeout=60.0)
    assert time.monotonic() - began < 5
    assert library_of(caught.value) == expected(ask)


@each_way
def test_silence_without_a_time_out_lasts_until_the_network_is_back(ask: Ask, url: str) -> None:
    """Nothing comes while it is cut; then the connection is reset."""
    ended: list[BaseException] = []

    def work() -> None:
        try:
            ask(url, timeout=None)
        except Exception as error:
            ended.append(error)

    with own_network(30.0) as net:
        with net.cut(Break.SILENT):
            thread = threading.Thread(target=work, daemon=True)
            thread.start()
            wait_for(lambda: bool(net.calls))
            thread.join(0.1)
            assert thread.is_alive()
        thread.join(10)
    assert [library_of(error) for error in ended] == [expected(ask)]


def wait_for(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 30
    while not condition() and time.monotonic() < until:
        time.sleep(0.005)


@pytest.mark.parametrize("ask", [by_httpx, by_requests, by_urllib3], ids=lambda ask: ask.__name__)
def test_a_thread_is_not_held_for_ever(ask: Ask, url: str) -> None:
    """It may be the event loop's own: a while after nobody waits any more, it is let go."""
    with own_network(0.1) as net, net.cut(Break.SILENT), pytest.raises(Exception, match=r"(?i)reset|aborted"):
        ask(url, timeout=None)


@each_way
def test_a_slow_reply_comes_a_byte_at_a_time(ask: Ask, url: str) -> None:
    """It is not there after a while, though no wait for a byte was long; when the network is back, it breaks."""
    ended: list[BaseException] = []

    def work() -> None:
        try:
            ask(url, timeout=20.0)
        except Exception as error:
            ended.append(error)

    with own_network(30.0) as net:
        with net.cut(Reply(200, SOUND.headers, BODY * 1000, "slow")):
            thread = threading.Thread(target=work, daemon=True)
            thread.start()
            wait_for(lambda: bool(net.calls))
            thread.join(0.2)
            assert thread.is_alive()
        thread.join(10)
    assert [library_of(error) for error in ended] == [expected(ask)]


def test_a_short_reply_comes_slowly_and_whole(url: str) -> None:
    """As slow as it is, it ends."""
    with own_network(30.0) as net, net.cut(Reply(200, {}, b"abc", "slow")):
        assert {ask(url) for ask in WAYS.values()} == {(200, b"abc")}


def test_a_client_that_was_made_before_meets_it_too(url: str) -> None:
    """So does its open connection: providers keep clients for long."""
    with httpx.Client(trust_env=False) as client, requests.Session() as session:
        session.trust_env = False
        assert client.post(url).content == session.post(url).content == BODY
        with own_network() as net, net.cut(Reply(401)):
            assert client.post(url).status_code == session.post(url).status_code == 401
        assert client.post(url).content == session.post(url).content == BODY


def test_transports_that_stand_for_a_back_end_are_cut_too() -> None:
    """A mock's, and one that goes to an app in this process."""

    async def ask() -> list[int]:
        statuses = []
        for transport in (httpx.MockTransport(lambda _: httpx.Response(200)), httpx.ASGITransport(app=app)):
            async with httpx.AsyncClient(transport=transport) as client:
                statuses.append((await client.get("http://service/")).status_code)
        return statuses

    with own_network() as net:
        assert asyncio.run(ask()) == [200, 200]
        assert [reply.status for call in net.calls if (reply := call.heard()) is not None] == [200, 200]
        with net.cut(Reply(503)):
            assert asyncio.run(ask()) == [503, 503]


def test_only_one_step_can_be_cut(url: str) -> None:
    """The others go through."""
    with own_network() as net:
        by_httpx(url)
        with net.cut(Reply(503), net.calls[0].step):
            assert by_httpx(url)[0] == 503
            assert by_httpx(url.replace("/search", "/other"))[0] == 200


def test_only_later_pages_can_be_cut(url: str) -> None:
    """The first goes through, and so does the same question once more."""
    with own_network() as net, net.cut(Reply(503), later=True):
        assert by_httpx(url)[0] == 200
        assert by_httpx(url)[0] == 200
        assert by_httpx(f"{url}&page=2")[0] == 503
        assert by_httpx(f"{url}&page=2")[0] == 503
        assert by_httpx(url.replace("/search", "/other"))[0] == 200


def test_a_block_may_have_a_patience_of_its_own() -> None:
    """For calls that nobody waits for as long as for others."""
    net = Network(2.0)
    with net.cut(Break.SILENT, patience=5.0):
        assert net.skips(4.0)
        assert not net.skips(2.0)
    with net.cut(Break.SILENT):
        assert net.patience == 2.0
        assert not net.skips(4.0)


def test_no_hook_stays(url: str) -> None:
    """Afterwards the libraries are as they were, also when the block raised."""
    before = {name: vars(owner)[name] for owner, name in hooked_methods()}

    def fail() -> None:
        with watched(PATIENCE):
            assert any(vars(owner)[name] is not before[name] for owner, name in hooked_methods())
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert {name: vars(owner)[name] for owner, name in hooked_methods()} == before
    assert by_httpx(url) == (200, BODY)


def hooked_methods() -> list[tuple[Any, str]]:
    return [
        (httpx.HTTPTransport, "handle_request"),
        (httpx.AsyncHTTPTransport, "handle_async_request"),
        (urllib3.HTTPConnectionPool, "_make_request"),
        (aiohttp.BaseConnector, "connect"),
    ]


def test_a_process_has_one_network(url: str) -> None:
    """A second run in the process is told that it is taken, and gets it afterwards."""
    with watched(PATIENCE) as first:
        assert first is not None
        with watched(PATIENCE) as second:
            assert second is None
    with watched(PATIENCE) as third:
        assert third is not None


def test_nothing_is_imported_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A library that the provider does not use is not looked at."""
    for name in ("aiohttp", "httpx", "httpx2", "urllib3"):
        monkeypatch.delitem(sys.modules, name)
    with own_network():
        pass
    assert not {"aiohttp", "httpx", "httpx2", "urllib3"} & sys.modules.keys()


def test_another_version_of_a_library_is_left_alone(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    """What is not there under its name cannot be replaced; the rest is."""
    monkeypatch.setattr(urllib3, "__version__", "1.26.20")
    monkeypatch.delattr(httpx2, "AsyncHTTPTransport")
    with own_network() as net, net.cut(Reply(503)):
        assert by_urllib3(url) == (200, BODY)
        assert by_httpx(url)[0] == 503


def test_patience_is_used_up() -> None:
    """A client that tries again and again is as late as it would be."""
    net = Network(10.0)
    with net.cut(Break.SILENT):
        assert [net.skips(4.0), net.skips(4.0), net.skips(4.0), net.skips(2.0)] == [True, True, False, True]
        assert not net.skips(None)
    with net.cut(Break.SILENT):
        assert net.skips(10.0)


def test_what_is_written_down_is_bounded() -> None:
    """A client that tries for ever fills no memory."""
    net = Network(1.0)
    for _ in range(network.CALLS_MAX + 10):
        net.met("GET", "http://service/", {})
    assert len(net.calls) == network.CALLS_MAX


@pytest.mark.parametrize(
    ("packed", "pack"),
    [("gzip", gzip.compress), ("deflate", zlib.compress), ("", bytes)],
    ids=["gzip", "deflate", "not"],
)
def test_a_recording_is_unpacked(packed: str, pack: Callable[[bytes], bytes]) -> None:
    """So that a copy of it can be cut and changed."""
    assert heard(200, {"Content-Encoding": packed}, pack(BODY)).body == BODY


def test_what_cannot_be_unpacked_stays_as_it_is() -> None:
    """It is not the kit's matter why."""
    assert heard(200, {"content-encoding": "gzip"}, BODY).body == BODY


def test_a_reply_says_how_long_it_would_be() -> None:
    """Also one that breaks in the middle."""
    reply = Reply(200, {}, b"abcdef", "broken")
    assert reply.fields["content-length"] == "6"
    assert reply.sent == b"abc"
