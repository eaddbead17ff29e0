"""The URI policy on faults that were reported in public, each with the number of its field case."""

import pytest

from knowledge_provider.uris import public_uri, uri_fault


@pytest.mark.parametrize(
    "uri",
    ["http://[64:ff9b::a9fe:a9fe]/", "http://[2002:7f00:1::]/", "http://[2002:0a00:0001::]/", "http://[64:ff9b:1::a00:1]/"],
)  # fmt: skip
def test_an_address_that_carries_a_private_one_is_dropped(uri: str) -> None:
    """Field case 55: NAT64 and 6to4 addresses hold an IPv4 address."""
    assert public_uri(uri) is None


@pytest.mark.parametrize(
    "uri",
    ["http://localhost./", "http://LOCALHOST../", "http://169.254.169.254./", "http://metadata.google.internal./"],
)
def test_a_trailing_dot_hides_nothing(uri: str) -> None:
    """Field case 57: local names, metadata names and addresses with the root's dot."""
    assert public_uri(uri) is None


@pytest.mark.parametrize(
    ("uri", "shown"),
    [
        ("https://127.0.0.1\\@docs.example.com/", None),
        ("https://docs.example.com\\@127.0.0.1/", "https://docs.example.com/@127.0.0.1/"),
        *((uri, None) for uri in ("https:\\\\10.0.0.5\\x", "http:/10.0.0.5/x", "http:10.0.0.5")),
        *((uri, None) for uri in ("///10.0.0.5/x", "//10.0.0.5/x")),
    ],
)
def test_the_browsers_reading_alone_decides(uri: str, shown: str | None) -> None:
    """Field case 59: backslashes, missing slashes and what only looks like a user name; no scheme, no link."""
    assert public_uri(uri) == shown


@pytest.mark.parametrize(
    ("uri", "shown"),
    [
        ("http://127\u30020\u30020\u30021/", None),
        ("http://\uff11\uff12\uff17.0.0.1/", None),
        ("http://\u24db\u24de\u24d2\u24d0\u24db\u24d7\u24de\u24e2\u24e3/", None),
        ("https://docs.example.com\uff03@internal.example.com/", None),
        ("https://ex\u0430mple.com/", "https://xn--exmple-4nf.com/"),
        ("https://xn--/", None),
    ],
    ids=ascii,
)
def test_a_host_is_judged_as_it_reads_after_idna(uri: str, shown: str | None) -> None:
    """Field case 61: full-width letters and full stops hide no host, and a mixed script is shown in ASCII."""
    assert public_uri(uri) == shown


@pytest.mark.parametrize("host", ["100.64.0.1", "198.18.0.1", "192.0.0.8", "224.0.0.1", "240.0.0.1", "0.0.0.0"])
def test_rarer_special_ranges_are_dropped(host: str) -> None:
    """Field case 63: carrier-grade NAT, benchmarking, multicast and reserved addresses are not public either."""
    assert public_uri(f"http://{host}/") is None


def assert_told_as_credential(uri: str) -> None:
    fault = uri_fault(uri)
    assert fault is not None
    assert fault.is_credential
    assert public_uri(uri) is None


@pytest.mark.parametrize(
    "uri",
    [
        "https://b.s3.example.com/x.pdf?X-Amz-Credential=A&X-Amz-Signature=ab12",
        "https://a.blob.example.com/x?sv=2022&sp=rl&sig=abc%3D",
        "https://s.example.com/x?Expires=1&Signature=z&OSSAccessKeyId=k",
        "https://g.example.com/x?x-goog-signature=1",
        "https://d.example.com/x?access_token=t",
        "https://d.example.com/x?API-KEY=k",
        "https://d.example.com/x?code=1&token=t",
    ],
)
def test_a_presigned_link_is_told_as_a_credential(uri: str) -> None:
    """Field case 65: whoever sees such a link can read the file; that its passage stays is shown with the outcome."""
    assert_told_as_credential(uri)


@pytest.mark.parametrize(
    "uri",
    [
        "https://oauth2:glpat-TEST@git.example.com/o/r",
        "https://ghp_TESTTOKEN@git.example.com/o/r.git",
        "https://user@git.example.com/",
    ],
)
def test_what_stands_before_the_host_is_told_as_a_credential(uri: str) -> None:
    """Field case 67: a bare user name is often itself the token."""
    assert_told_as_credential(uri)


@pytest.mark.parametrize("empty", ["@", ":@"])
def test_an_empty_name_with_an_empty_password_is_no_credential(empty: str) -> None:
    """Field case 67: nothing is given away."""
    assert public_uri(f"https://{empty}git.example.com/") == "https://git.example.com/"
