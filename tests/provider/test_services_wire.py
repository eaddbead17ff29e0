"""What may go over the wire to a remote service, where it may be led, and how much of an answer is read."""

import asyncio
import gzip
import tracemalloc
from collections.abc import AsyncGenerator

import pytest

from knowledge_provider import errors
from knowledge_provider.services import plain_url, read_body, sendable, stays_at_origin

SECRET = "sk-hunter2"

# Redirects

KB = "https://kb.example.com/search"


@pytest.mark.parametrize("there", ["https://kb.example.com/other?page=2", "https://KB.example.com/"])
def test_a_redirect_at_the_same_origin_keeps_to_it(there: str) -> None:
    """Scheme, host and port."""
    assert stays_at_origin(KB, there.replace("KB", "kb"))


@pytest.mark.parametrize(
    "there",
    [
        "https://other.example.com/",
        "https://kb.example.com:8443/",
        "https://kb.example.com.evil.example/",
        "https://user@kb.example.com/",
        "http://169.254.169.254/latest",
        "https://127.0.0.1/",
        "https://[::1]/",
        "http://kb.example.com/search",
    ],
)
def test_a_redirect_elsewhere_is_refused_unless_it_is_allowed(there: str) -> None:
    """Public or private: nobody but the user knows where a question may go."""
    with pytest.raises(errors.KnowledgeFailedError, match="redirects"):
        stays_at_origin(KB, there)


def test_a_host_that_is_allowed_is_another_origin_all_the_same() -> None:
    """So no credential goes there; and nothing goes from HTTPS to HTTP, by any host."""
    allowed = ("other.example.com", "127.0.0.1", "::1", "kb.example.com")
    assert not stays_at_origin(KB, "https://other.example.com/", allowed)
    assert not stays_at_origin(KB, "https://127.0.0.1:8443/", allowed)
    assert not stays_at_origin("http://kb.example.com/", "http://[::1]/", allowed)
    assert not stays_at_origin("http://kb.example.com/", "https://kb.example.com/", allowed)
    for there in ("http://other.example.com/", "http://kb.example.com/", "ftp://other.example.com/"):
        with pytest.raises(errors.KnowledgeFailedError):
            stays_at_origin(KB, there, allowed)


# What is sent


@pytest.mark.parametrize(
    ("url", "plain"),
    [
        ("https://kb.example.com/search?v=2", "https://kb.example.com/search?v=2"),
        ("http://localhost:8000", "http://localhost:8000/"),
        ("http://10.0.0.7/a", "http://10.0.0.7/a"),
        ("HTTPS://KB.Example.com:443/a", "https://kb.example.com/a"),
    ],
)
def test_a_url_is_read_as_browsers_read_it(url: str, plain: str) -> None:
    """Where it leads is the user's affair, so private hosts are fine."""
    assert plain_url(url) == plain


@pytest.mark.parametrize(
    "url",
    [
        "kb.example.com/search",
        "/search",
        "ftp://kb.example.com/",
        "https://",
        f"https://user:{SECRET}@kb.example.com/",
        f"https://user:{SECRET}/x@kb.example.com:port/",
        f"https://localhost/search?api_key={SECRET}",
        "https://kb.example.com/\ud800",
    ],
)
def test_a_url_with_a_credential_or_of_no_use_is_refused_without_repeating_it(url: str) -> None:
    """Clause 6.4: clients write URLs to their logs."""
    with pytest.raises(ValueError, match="wanted an absolute HTTP URL") as caught:
        plain_url(url)
    assert SECRET not in str(caught.value)


def test_headers_are_as_given_with_names_in_lower_case() -> None:
    """So that one does not come twice in two spellings."""
    assert sendable({"X-Tenant": "a b", "accept": "*/*"}) == {"x-tenant": "a b", "accept": "*/*"}


@pytest.mark.parametrize(
    "value", [f"{SECRET}\n", f"{SECRET}\r\nX-Admin: 1", f" {SECRET}", f"{SECRET}é", "\x00", 3, None]
)
def test_a_header_that_http_cannot_carry_is_refused_without_repeating_it(value: object) -> None:
    """Clause 6.4, and nobody smuggles in a second header."""
    for headers in ({"x-key": value}, {value: "x"}):
        with pytest.raises(ValueError, match="printable ASCII") as caught:
            sendable(headers)  # type: ignore[arg-type]  # on purpose
        assert SECRET not in str(caught.value)


# What comes back


async def _chunks(body: bytes, size: int) -> AsyncGenerator[bytes]:
    for start in range(0, len(body), size):
        yield body[start : start + size]


def _read(body: bytes, most: int, size: int = 100, **options: bool) -> bytes:
    return asyncio.run(read_body(_chunks(body, size), most, **options))


@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_a_body_is_whole_however_it_was_cut(size: int) -> None:
    """Field case 37: nothing is decoded before it is whole."""
    body = "知识库🙂".encode() * 50
    assert _read(body, len(body), size) == _read(gzip.compress(body, mtime=0), len(body), size, gzip=True) == body


def test_a_body_is_read_no_further_than_its_limit() -> None:
    """The rest is not even asked for."""
    asked = []

    async def endless() -> AsyncGenerator[bytes]:
        while True:
            asked.append(1)
            yield b"0123456789"

    with pytest.raises(errors.KnowledgeInvalidResponseError, match="at most 25 bytes"):
        asyncio.run(read_body(endless(), 25))
    assert len(asked) == 3
    assert _read(b"0123456789", 10) == b"0123456789"


def test_gzip_is_unpacked_no_further_than_its_limit() -> None:
    """A few kilobytes that hold megabytes take no memory; what is held is measured."""
    packed = gzip.compress(b" " * 50_000_000, mtime=0)
    tracemalloc.start()
    with pytest.raises(errors.KnowledgeInvalidResponseError, match="at most 1000 bytes"):
        _read(packed, 1_000, 1_000_000, gzip=True)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1_000_000


@pytest.mark.parametrize(
    "body",
    [b"<html>", b"\x1f\x8b" + b"\xff" * 20, b"\x00", gzip.compress(b"whole", mtime=0)[:-3], b""],
    ids=["html", "head", "zero", "cut off", "nothing"],
)
def test_what_is_no_gzip_or_cut_off_is_a_failure(body: bytes) -> None:
    """Clause 5.10."""
    with pytest.raises(errors.KnowledgeInvalidResponseError, match="gzip"):
        _read(body, 1_000, gzip=True)
