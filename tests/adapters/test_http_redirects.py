"""Where ``HTTPProvider`` is led and where not, and what goes along; and what it never says to anybody."""

import logging
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from http_subjects import SECRET, URL, ask, failed, ids, over, said

from knowledge_adapters.http_provider import HTTPProvider
from knowledge_fakes.vendors.http_service import KnowledgeService
from knowledge_fakes.vendors.serving import serving

# Redirects


class Hosts:
    """A web of hosts: each URL redirects to the next one, and the last answers; remembers who was sent what."""

    def __init__(self, *locations: str, status: int = 307) -> None:
        self.locations, self.status = list(locations), status
        self.asked: list[httpx.Request] = []

    def respond(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        if len(self.asked) <= len(self.locations):
            return httpx.Response(self.status, headers={"location": self.locations[len(self.asked) - 1]})
        return httpx.Response(200, json=[{"id": "a", "content": "text"}])

    @property
    def urls(self) -> list[str]:
        return [str(request.url) for request in self.asked]


def guarded(hosts: Hosts, url: str = URL, **options: Any) -> HTTPProvider:
    """With a credential in every place that may hold one."""
    cookies, header = {"session": SECRET}, {"X-Client-Key": SECRET}
    client = httpx.AsyncClient(
        transport=httpx.MockTransport(hosts.respond), cookies=cookies, headers=header, auth=("client", SECRET)
    )
    headers = {"Authorization": f"Bearer {SECRET}", "X-API-Key": SECRET}
    return over(hosts.respond, url, client=client, headers=headers, **options)


def sent(request: httpx.Request) -> str:
    return f"{request.url} {request.headers.multi_items()} {request.content!r}"


@pytest.mark.parametrize("status", [307, 308])
def test_a_redirect_at_the_same_origin_is_followed_with_everything(status: int) -> None:
    """The question is posted again, as it was."""
    hosts = Hosts("/v2/search", "https://kb.example.com/v3/search", status=status)
    assert ids(ask(guarded(hosts))) == ["a"]
    assert [url.rpartition("com")[2] for url in hosts.urls] == ["/search", "/v2/search", "/v3/search"]
    assert {request.method for request in hosts.asked} == {"POST"}
    assert len({request.content for request in hosts.asked}) == 1
    assert {request.headers["x-api-key"] for request in hosts.asked} == {SECRET}


@pytest.mark.parametrize("status", [301, 302, 303])
def test_a_redirect_that_would_ask_something_else_is_not_followed(status: int) -> None:
    """It turns a POST into a GET, often of a login page; that is a failure."""
    hosts = Hosts("/login", status=status)
    assert failed(guarded(hosts)).code == "knowledge_provider_failed"
    assert hosts.urls == [URL]


@pytest.mark.parametrize(
    "location",
    [
        "https://other.example.com/y",
        "//other.example.com/y",
        "https://kb.example.com:8443/search",
        "http://169.254.169.254/",
        "https://10.0.0.7/",
        "https://localhost/",
        "http://kb.example.com/search",
        f"https://user:{SECRET}@kb.example.com/",
        "ftp://kb.example.com/",
        "https://[",
        "javascript:alert(1)",
    ],
)
def test_a_redirect_elsewhere_is_not_followed(location: str) -> None:
    """Field case 35 (openai/openai-python#3516): public or private; nothing at all is sent there."""
    hosts = Hosts(location)
    error = failed(guarded(hosts))
    assert error.code in ("knowledge_provider_failed", "knowledge_unavailable")
    assert hosts.urls == [URL]
    assert SECRET not in str(error)


@pytest.mark.parametrize("location", ["https://other.example.com/y", "https://10.0.0.7:8443/y"])
def test_a_host_that_is_allowed_gets_the_question_and_no_credential(location: str) -> None:
    """Neither ours nor the client's: not from headers, cookies or auth."""
    hosts = Hosts(location)
    assert ids(ask(guarded(hosts, redirect_hosts=("other.example.com", "10.0.0.7")))) == ["a"]
    assert hosts.urls == [URL, location]
    assert SECRET in sent(hosts.asked[0])
    assert SECRET not in sent(hosts.asked[1])
    assert "authorization" not in hosts.asked[1].headers
    assert hosts.asked[0].content == hosts.asked[1].content
    assert hosts.asked[1].headers["content-type"] == "application/json"


def test_credentials_do_not_come_back_on_the_way_back() -> None:
    """Who was led away once may be led in a circle, and is then no longer who came with them."""
    hosts = Hosts("https://other.example.com/y", URL)
    assert ids(ask(guarded(hosts, redirect_hosts=("other.example.com", "kb.example.com")))) == ["a"]
    assert hosts.urls == [URL, "https://other.example.com/y", URL]
    assert [SECRET in sent(request) for request in hosts.asked] == [True, False, False]


def test_https_never_becomes_http() -> None:
    """Also at a host that is allowed, and after another step."""
    hosts = Hosts("https://other.example.com/y", "http://other.example.com/z")
    failed(guarded(hosts, redirect_hosts=("other.example.com",)))
    assert hosts.urls == [URL, "https://other.example.com/y"]


def test_the_number_of_redirects_is_bounded() -> None:
    """Four questions in all, whether redirected or tried again."""
    hosts = Hosts(*[f"/{n}" for n in range(100)])
    failed(guarded(hosts))
    assert len(hosts.asked) == 4


# What is never said


@pytest.mark.parametrize("way", [None, "unauthorized", "login_page", "broken_off", "moved"])
def test_no_log_or_output_has_a_credential(
    way: str | None, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """Clause 6.4: httpx and httpcore log every request, with its URL."""
    caplog.set_level(logging.DEBUG)
    with serving(KnowledgeService(way, token=SECRET if way is None else None).app) as url:
        provider = HTTPProvider(
            f"{url}/search", key="k", label="L", headers={"Authorization": f"Bearer {SECRET}", "X-API-Key": SECRET}
        )
        if way is None:
            assert ask(provider)
        else:
            failed(provider)
    assert any(record.name.startswith("http") for record in caplog.records)
    assert SECRET not in caplog.text
    assert SECRET not in "".join(capfd.readouterr())


@pytest.mark.parametrize("broken", [lambda _: {"x-key": f"{SECRET}\n"}, lambda _: {f"{SECRET} x": "1\n"}])
def test_a_header_that_cannot_be_sent_is_not_repeated(broken: Callable[[Any], dict[str, str]]) -> None:
    """Httpx would write it into its error."""
    assert SECRET not in said(failed(over(KnowledgeService(), scope=broken)))
