"""Which host names are public, and which hosts an owner may add."""

from collections.abc import Callable, Iterator
from ipaddress import IPv4Address
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knowledge_provider.uris import UriFault, public_uri, uri_fault


@pytest.mark.parametrize(
    ("host", "fault"),
    [
        *((f"{prefix}{name}", UriFault.SPECIAL_USE_DOMAIN)
          for name in ("localhost", "local", "internal", "home.arpa", "test", "invalid", "example", "onion", "alt",
                       "in-addr.arpa", "ip6.arpa", "ipv4only.arpa", "resolver.arpa", "service.arpa")
          for prefix in ("", "a.", "a.b.", "_x.y-z.")),
        *((f"wiki.{last}", UriFault.PRIVATE_SUFFIX)
          for last in ("lan", "home", "corp", "intranet", "private", "localdomain", "localdomain6", "svc", "consul")),
        *((name, UriFault.METADATA_HOST)
          for name in ("metadata.google.internal", "instance-data.ec2.internal", "metadata.azure.internal",
                       "metadata.tencentyun.com")),
        *((f"10-0-0-1.{name}", UriFault.REBINDING_HOST)
          for name in ("nip.io", "sslip.io", "xip.io", "1u.ms", "rbndr.us", "traefik.me", "localtest.me")),
        *((name, UriFault.REBINDING_HOST)
          for name in ("localtest.me", "lvh.me", "localh.st", "vcap.me", "lacolhost.com", "a.b.lvh.me")),
        ("wiki", UriFault.SINGLE_LABEL), ("x-y-z", UriFault.SINGLE_LABEL),
        ("a..example.com", UriFault.BAD_DNS_NAME), (".example.com", UriFault.BAD_DNS_NAME),
        ("example.com..", UriFault.BAD_DNS_NAME), ("." , UriFault.BAD_DNS_NAME),
        (f"{'a' * 64}.com", UriFault.BAD_DNS_NAME), (".".join(["a" * 63] * 3) + f".{'a' * 62}", UriFault.BAD_DNS_NAME),
        ("a~b.example.com", UriFault.BAD_DNS_NAME), ("*.example.com", UriFault.BAD_DNS_NAME),
        ("a!b.com", UriFault.BAD_DNS_NAME), ("example.c0m", UriFault.BAD_DNS_NAME),
        ("example.c-m", UriFault.BAD_DNS_NAME), ("example.c_m", UriFault.BAD_DNS_NAME),
    ],
)  # fmt: skip
def test_names_that_are_not_public(host: str, fault: UriFault) -> None:
    """Special, private, rebinding, short and impossible names are dropped, with or without the final dot."""
    assert uri_fault(f"https://{host}/") is fault
    assert uri_fault(f"https://{host.upper()}./x") in (fault, UriFault.BAD_DNS_NAME)


@pytest.mark.parametrize(
    "host",
    [
        "example.com", "example.org", "example.net", "a.example.com", "nip.io", "sslip.io", "1u.ms", "traefik.me",
        "notlvh.me", "wiki.internal.example.org", "localhost.example.com", "mylocal.com", "metadata.example.com",
        "foo.arpa", "a_b.example.com", "xn--e1afmkfd.xn--p1ai", f"{'a' * 63}.com", "1-2.3.example.museum", "-a-.com",
        "x.metadata.tencentyun.com", "corp.com", "svc.dev", "example.com.", ".".join(["a" * 63] * 3) + f".{'a' * 61}",
    ],
)  # fmt: skip
def test_names_that_are_public(host: str) -> None:
    """A private word inside a public name, home pages of resolvers, long labels and underscores stay."""
    assert public_uri(f"https://{host}/") == f"https://{host}/"


@pytest.mark.parametrize(
    ("uri", "allowed"),
    [
        ("http://wiki/x", "wiki"), ("http://wiki/x", "WIKI."), ("http://wiki./x", "wiki"),
        ("http://wiki.corp:8080/", "wiki.corp"), ("http://10.0.0.5/", "10.0.0.5"), ("http://0x0a.5/", "10.0.0.5"),
        ("http://[fd00::1]/", "fd00::1"), ("http://[fd00:0::1]/", "[fd00::1]"), ("http://münchen.lan/", "MÜNCHEN.lan"),
    ],
)  # fmt: skip
def test_an_allowed_host_passes(uri: str, allowed: str) -> None:
    """A host is compared as a browser reads both, and one entry may be given as a plain string."""
    assert public_uri(uri) is None
    assert public_uri(uri, allow_hosts=["other.corp", allowed]) is not None
    assert public_uri(uri, allow_hosts=allowed) is not None
    assert uri_fault(uri, allow_hosts=iter([allowed])) is None


@pytest.mark.parametrize(
    ("uri", "allowed"),
    [
        ("http://a.wiki.corp/", "wiki.corp"), ("http://wiki.corp/", "corp"), ("http://wiki.corp/", "*.corp"),
        ("http://wiki.corp/", ".corp"), ("http://wiki.corp:8080/", "wiki.corp:8080"),
        ("http://wiki.corp/", "http://wiki.corp/"), ("http://wiki.corp/", "me@wiki.corp"),
        ("http://[::ffff:10.0.0.5]/", "10.0.0.5"), ("http://wiki/", ""), ("http://u:p@wiki.corp/", "wiki.corp"),
        ("http://wiki.corp/?token=1", "wiki.corp"), ("ftp://wiki.corp/", "wiki.corp"),
    ],
)  # fmt: skip
def test_an_allowed_host_lets_nothing_else_through(uri: str, allowed: str) -> None:
    """Exact hosts only, without port or scheme; credentials and other schemes never pass."""
    assert public_uri(uri, allow_hosts=[allowed]) is None


def test_an_entry_that_is_no_text_matches_nothing() -> None:
    """A wrong entry does no harm to the others."""
    entries: Any = [None, 5, object(), "\ud800", "wiki"]
    assert public_uri("http://wiki/", allow_hosts=entries) == "http://wiki/"
    assert public_uri("http://other/", allow_hosts=entries) is None


def _failing() -> Iterator[str]:
    yield "wiki"
    raise LookupError("the settings are gone")


@pytest.mark.parametrize("ask", [public_uri, uri_fault])
@pytest.mark.parametrize("value", ["http://wiki/", "https://example.com/", "ftp://x", "no link", None])
def test_a_wrong_parameter_is_said_for_every_value_alike(ask: Callable[..., object], value: object) -> None:
    """Or the mistake would show with the first private host, long after it was made; the cause is kept."""
    for wrong in (None, 5, object()):
        with pytest.raises(TypeError, match=f"allow_hosts must be an iterable .* got {type(wrong).__name__}"):
            ask(value, allow_hosts=wrong)
    with pytest.raises(TypeError, match="got generator, which raised LookupError") as caught:
        ask(value, allow_hosts=_failing())
    assert isinstance(caught.value.__cause__, LookupError)


# Spellings ------------------------------------------------------------

FULL_WIDTH = {ord(letter): ord(letter) + 0xFEE0 for letter in "abcdefghijklmnopqrstuvwxyz0123456789."}
quick = settings(deadline=None, max_examples=200)


def octal(number: int) -> str:
    return f"0{number:o}"


def spellings(address: IPv4Address) -> list[str]:
    """The ways in which browsers let one IPv4 address be written."""
    a, b, c, d = address.packed
    number = int(address)
    dotted = str(address)
    return [
        dotted, f"{dotted}.", str(number), hex(number), hex(number).upper().replace("X", "x"), octal(number),
        f"{a}.{number & 0xFFFFFF}", f"{a}.{b}.{number & 0xFFFF}", f"0x{a:x}.{octal(b)}.{c}.0X{d:X}",
        f"000{a:o}.{b}.{c}.{d}",
        "".join(f"%{ord(letter):02X}" for letter in dotted), dotted.replace(".", "。"), dotted.replace(".", "%2e"),
        dotted.translate(FULL_WIDTH),
    ]  # fmt: skip


@quick
@given(st.ip_addresses(v=4))
def test_an_ipv4_hosts_spelling_decides_nothing(address: IPv4Address) -> None:
    """Decimal, octal, hexadecimal, short, dotted, escaped and full-width forms get one answer."""
    expected = public_uri(f"http://{address}/x"), uri_fault(f"http://{address}/x")
    for host in spellings(address):
        assert (public_uri(f"http://{host}/x"), uri_fault(f"http://{host}/x")) == expected, host


@quick
@given(
    st.from_regex(r"[a-z]{1,8}(\.[a-z]{1,8}){0,2}", fullmatch=True) | st.sampled_from(["a.nip.io", "x.local", "a.com"])
)
def test_a_names_spelling_decides_nothing(host: str) -> None:
    """Case, escapes, full-width letters and a final dot get one answer."""
    expected = public_uri(f"https://{host}/"), uri_fault(f"https://{host}/")
    full_width = host.translate({ord(letter): chr(ord(letter) + 0xFEE0) for letter in "abcdefghijklmnopqrstuvwxyz."})
    for written in (
        host.upper(),
        "".join(f"%{ord(letter):02x}" for letter in host),
        full_width,
        host.replace(".", "｡"),
    ):
        assert (public_uri(f"https://{written}/"), uri_fault(f"https://{written}/")) == expected, written
    assert uri_fault(f"https://{host}./") is expected[1]
