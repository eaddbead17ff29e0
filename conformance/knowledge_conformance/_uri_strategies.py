"""Strategies for URIs that may be shown, that may not, and that carry a credential; knows the URI policy's rules alone.

Each rule is spelled in the ways that browsers read alike, since a check that compares text sees only one of them.
"""

import string
from collections.abc import Callable, Iterable
from ipaddress import IPv4Address, IPv6Address, ip_network
from typing import Final, Literal
from urllib.parse import quote

from hypothesis import strategies as st

from knowledge_conformance._text_strategies import from_families
from knowledge_provider import limits

UriKind = Literal["public", "private", "credential"]
"""Whether the URI policy keeps a URI, drops it for its place, or drops it for what it carries."""

_SCHEMES: Final = st.sampled_from(["https", "http", "HTTPS"])
_PUBLIC_HOSTS: Final = st.sampled_from(
    [
        "example.com",
        "en.wikipedia.org",
        "wiki.internal.example.org",
        "bücher.example.net",
        "8.8.8.8",
        "[2606:4700::1111]",
    ]
)
_WORDS: Final = st.text(st.characters(exclude_categories=["Cs"]), max_size=8).map(quote)

_PRIVATE_IPV4: Final = (
    *("127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16", "0.0.0.0/8", "100.64.0.0/10"),
    *("169.254.169.254/32", "169.254.170.2/32", "100.100.100.200/32", "168.63.129.16/32", "224.0.0.0/4", "240.0.0.0/4"),
)
_PRIVATE_IPV6: Final = ("::/127", "fc00::/7", "fe80::/10", "ff00::/8", "2001:db8::/32", "fd00:ec2::254/128")
_PRIVATE_NAMES: Final = from_families(
    (
        ("wiki", "router", "db-1"),
        ("localhost", "router.local", "db.internal", "x.home.arpa", "a.test", "a.invalid", "a.example", "a.onion"),
        ("nas.lan", "wiki.corp", "a.intranet", "a.private", "a.localdomain", "db.default.svc", "db.service.consul"),
        ("metadata.google.internal", "metadata.tencentyun.com", "instance-data.ec2.internal"),
        ("127.0.0.1.nip.io", "a.sslip.io", "lvh.me", "a.localtest.me"),
        ("a..b", "a" * 64 + ".com", "a_b.c0m", "1.2.3.4.5"),
    )
)
_NOT_PUBLIC: Final = (
    *("", " ", "/relative", "//example.com/x", "www.example.com", "https://", "http:///", "https://[::1", "not a uri"),
    *(
        "file:///etc/passwd",
        "ftp://example.com/x",
        "javascript:alert(1)",
        "data:text/html,x",
        "s3://bucket/key",
        "urn:a:b",
    ),
    *(
        "smb://nas/share",
        "C:\\docs\\a.txt",
        "https://example.com/" + "a" * limits.URI_MAX,
        "https://example.com/\ud800",
    ),
)

_SECRET_NAMES: Final = (
    *("token", "access_token", "refresh_token", "id_token", "auth_token", "oauth_token", "private_token", "sas_token"),
    *("key", "api_key", "x-api-key", "secret", "client_secret", "secret_key", "access_key", "subscription-key"),
    *(
        "password",
        "passwd",
        "pwd",
        "pass",
        "auth",
        "authorization",
        "credentials",
        "jwt",
        "session",
        "sid",
        "PHPSESSID",
    ),
    *("signature", "sig", "hmac", "oauth_signature", "ticket", "SAMLResponse", "otp", "verify", "hdnts", "__token__"),
    *("X-Amz-Signature", "X-Amz-Credential", "X-Amz-Security-Token", "AWSAccessKeyId", "X-Goog-Signature"),
    *("GoogleAccessId", "Key-Pair-Id", "OSSAccessKeyId", "x-oss-signature", "q-signature", "x-obs-security-token"),
)
_SPELLINGS: Final[tuple[Callable[[str], str], ...]] = (
    str,
    str.upper,
    lambda name: name.replace("_", "-"),
    lambda name: name.replace("-", "_"),
    lambda name: "".join(f"%{ord(character):02x}" for character in name),
    lambda name: f"{name}[]",
    lambda name: f"?{name}",
    lambda name: f"+{name}%20",
    lambda name: f"{name[0]}\t{name[1:]}",
)
_FULL_WIDTH: Final = str.maketrans(string.digits + ".", "０１２３４５６７８９。")


def _addresses(blocks: Iterable[str]) -> st.SearchStrategy[int]:
    networks = [ip_network(block) for block in blocks]
    return st.builds(
        lambda network, bits: int(network.network_address) | bits & int(network.hostmask),
        st.sampled_from(networks),
        st.integers(0, 2**128 - 1),
    )


_IPV4_SPELLINGS: Final[tuple[Callable[[int], str], ...]] = (
    lambda n: str(IPv4Address(n)),
    str,
    hex,
    lambda n: f"{n:#o}".replace("o", ""),
    lambda n: f"{n >> 24}.{n & 0xFFFFFF}",
    lambda n: ".".join(f"{byte:#x}" for byte in n.to_bytes(4, "big")),
    lambda n: f"{IPv4Address(n)}.",
    lambda n: str(IPv4Address(n)).translate(_FULL_WIDTH),
    lambda n: "".join(f"%{ord(character):02x}" for character in str(IPv4Address(n))),
    # Inside IPv6: mapped, translated, compatible, NAT64, 6to4 and Teredo.
    lambda n: f"[::ffff:{IPv4Address(n)}]",
    lambda n: f"[{IPv6Address(0xFFFF << 48 | 0 << 32 | n)}]",
    lambda n: f"[{IPv6Address(0xFFFF_0000 << 32 | n)}]",
    lambda n: f"[64:ff9b::{IPv4Address(n)}]",
    lambda n: f"[{IPv6Address(0x2002 << 112 | n << 80)}]",
    lambda n: f"[{IPv6Address(0x2001 << 112 | (n ^ 0xFFFF_FFFF))}]",
)


def _called(makers: Iterable[Callable[..., str]], *arguments: st.SearchStrategy[object]) -> st.SearchStrategy[str]:
    return st.builds(lambda make, *values: make(*values), st.sampled_from(list(makers)), *arguments)


_PRIVATE_HOSTS: Final = (
    _PRIVATE_NAMES
    | _PRIVATE_NAMES.map(lambda name: f"{name.upper()}.")
    | _called(_IPV4_SPELLINGS, _addresses(_PRIVATE_IPV4))
    | _addresses(_PRIVATE_IPV6).map(lambda n: f"[{IPv6Address(n)}]")
)

_PUBLIC: Final = st.builds(
    "{}://{}{}/{}{}{}".format,
    _SCHEMES,
    _PUBLIC_HOSTS,
    st.sampled_from(["", ":8443"]),
    _WORDS,
    st.just("")
    | st.builds("?{}={}".format, st.sampled_from(["q", "page", "tokenizer", "country_code", "max_tokens"]), _WORDS),
    st.sampled_from(["", "#part", "#access_token=x"]),
)

_PRIVATE: Final = st.sampled_from(_NOT_PUBLIC) | st.builds(
    "{}:{}{}{}".format,
    _SCHEMES,
    st.sampled_from(["//", "/", "", "\\\\", "/\\/", "//@", "//\t"]),
    _PRIVATE_HOSTS,
    st.sampled_from(["/", ":8080/x", "?q=1", ""]),
)

_USER_INFO: Final = st.builds(
    "{}:{}{}@{}/{}".format,
    _SCHEMES,
    st.sampled_from(["//", "/", "", "\\\\", "/\\/"]),
    st.sampled_from(
        ["user:password", ":password", "user", "user:", "%75ser:p%40ss", "a@b:c", "us\ter:pass\nword", "ü:ö"]
    ),
    _PUBLIC_HOSTS | st.sampled_from(["localhost", "10.0.0.1"]),
    _WORDS,
)
_QUERY_SECRET: Final = st.builds(
    "{}://{}/?{}{}=0{}".format,
    _SCHEMES,
    _PUBLIC_HOSTS,
    st.sampled_from(["", "q=1&", "q=1;", "&&", "q=a%26b&"]),
    _called(_SPELLINGS, st.sampled_from(_SECRET_NAMES)),
    st.sampled_from(["", "&q=1", "#part"]),
)
_CREDENTIAL: Final = (
    _USER_INFO
    | _QUERY_SECRET
    | st.sampled_from(
        [
            "https://example.com/?code=0&state=0",
            "https://example.com/x?sv=0&se=0&sp=r&sig=0",
            "https://example.com/x;jsessionid=0?q=1",
            "https://example.com/x;JSESSIONID=0",
            "postgres://user:password@db.example.com/x",
        ]
    )
)
_BY_KIND: Final = {"public": _PUBLIC, "private": _PRIVATE, "credential": _CREDENTIAL}


def uris(*kinds: UriKind) -> st.SearchStrategy[str]:
    """Texts in a URI's place, of the ``kinds`` named, or of all three.

    ``public``: the URI policy keeps them. ``private``: it drops them for their place, their scheme or their form, in
    every spelling of an address that browsers read. ``credential``: they carry one (policy, rules 3 and 6), as
    user-info, in a query name in any spelling, or in the path. No secret in them is real.
    """
    return st.one_of([_BY_KIND[kind] for kind in kinds or _BY_KIND])
