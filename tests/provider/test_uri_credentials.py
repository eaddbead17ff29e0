"""Which parts of a URI are credentials, and what only looks like one."""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knowledge_provider.uris import UriFault, public_uri, uri_fault

PRESIGNED = [
    "x-amz-signature", "x-amz-credential", "x-amz-security-token", "awsaccesskeyid", "x-goog-signature",
    "x-goog-credential", "googleaccessid", "key-pair-id", "ossaccesskeyid", "x-oss-signature", "q-signature",
    "x-obs-security-token", "hdnts", "verify",
]  # fmt: skip
SECRETS = [
    "accesstoken", "refreshtoken", "idtoken", "authtoken", "oauthtoken", "bearertoken", "sessiontoken", "magictoken",
    "sastoken", "privatetoken", "token", "__token__", "clientsecret", "secret", "secretkey", "accesskey", "apikey",
    "xapikey", "subscriptionkey", "privatekey", "key", "password", "passwd", "pwd", "pass", "userpassword", "auth",
    "authorization", "credentials", "jwt", "sessionid", "session", "sid", "phpsessid", "jsessionid", "signature", "sig",
    "hmac", "oauthsignature", "ticket", "samlresponse", "otp",
]  # fmt: skip


@pytest.mark.parametrize("name", PRESIGNED)
def test_presigned_names_are_told(name: str) -> None:
    """Each name that only pre-signed links have is enough."""
    assert uri_fault(f"https://example.com/x?a=1&{name}=2") is UriFault.PRESIGNED_QUERY


@pytest.mark.parametrize("name", SECRETS)
def test_secret_names_are_told(name: str) -> None:
    """Each secret name is enough, also written as an array, in upper case and behind a second question mark."""
    for written in (name, name.upper(), f"{name}[]", f"?{name}", f"+{name}%20", f"%3F{name}", f"_{name}-"):
        assert uri_fault(f"https://example.com/x?a=1&{written}=2") is UriFault.CREDENTIAL_QUERY, written


@pytest.mark.parametrize(
    ("uri", "fault"),
    [
        ("https://example.com/?sig=1&sv=2", UriFault.PRESIGNED_QUERY),
        ("https://example.com/?se=1&SIG=2", UriFault.PRESIGNED_QUERY),
        ("https://example.com/?sp=1;sig=2", UriFault.PRESIGNED_QUERY),
        ("https://example.com/?sig=2", UriFault.CREDENTIAL_QUERY),
        ("https://example.com/?code=1&state=2", UriFault.CREDENTIAL_QUERY),
        ("https://example.com/?State=2;Code=1", UriFault.CREDENTIAL_QUERY),
        ("https://example.com/?a=1;access_token=2", UriFault.CREDENTIAL_QUERY),
        ("https://example.com/?a=1&amp;token=2", UriFault.CREDENTIAL_QUERY),
        ("https://example.com/?user[password]=2", UriFault.CREDENTIAL_QUERY),
        ("https://example.com/?%61ccess%5Ftoken=2", UriFault.CREDENTIAL_QUERY),
        ("https://example.com/?x-amz%2Dsignature=2", UriFault.PRESIGNED_QUERY),
        ("https://example.com/?to\tken=2", UriFault.CREDENTIAL_QUERY),
        ("https://example.com/?\u017fecret=2", UriFault.CREDENTIAL_QUERY),
        ("https://example.com/?token=", UriFault.CREDENTIAL_QUERY),
        ("https://example.com/a;jsessionid=1", UriFault.CREDENTIAL_PATH),
        ("https://example.com/a;JSessionID=1/b", UriFault.CREDENTIAL_PATH),
        ("https://example.com/a%3Bjsessionid%3D1", UriFault.CREDENTIAL_PATH),
        ("https://u@example.com/", UriFault.USERINFO),
        ("https://:p@example.com/", UriFault.USERINFO),
        ("https:\\u:p@example.com", UriFault.USERINFO),
    ],
)
def test_credentials_are_found_where_they_hide(uri: str, fault: UriFault) -> None:
    """Names count whole, decoded, case-folded and across both separators; pairs count together."""
    assert uri_fault(uri) is fault


@pytest.mark.parametrize(
    "rest",
    [
        "?tokenizer=1", "?q=password", "reset-password", "?code=1", "?state=1", "?sv=1&se=2&sp=3", "?keys=1",
        "?monkey=1", "?q=token%3D1", "?q=%26token%3D1", "?token%3D1", "?key", "?sessions=1", "?my.token=1", "a;b=c",
        "jsessionid=1",
        "?amp;q=1", "?=token", "?a=b=token",
    ],
)  # fmt: skip
def test_look_alikes_stay(rest: str) -> None:
    """Values, parts of words, bare words and the path's words are no credentials."""
    assert public_uri(f"https://example.com/{rest}") == f"https://example.com/{rest}"


@pytest.mark.parametrize(
    ("uri", "fault"),
    [
        ("postgres://user:pw@db/x", UriFault.USERINFO),
        ("redis://:pw@localhost:6379/0", UriFault.USERINFO),
        ("ftp://user:pw@host/", UriFault.USERINFO),
        ("jdbc:postgresql://user:pw@db/x", UriFault.USERINFO),
        ("jdbc:mysql://db/x?user=u&password=p", UriFault.CREDENTIAL_QUERY),
        ("view-source:https://token@example.com/", UriFault.USERINFO),
        ("git+https://token@example.com/o/r.git", UriFault.USERINFO),
        ("s3://bucket/key?X-Amz-Signature=1", UriFault.PRESIGNED_QUERY),
        ("file:///srv/a;jsessionid=1", UriFault.CREDENTIAL_PATH),
        ("http://user:pw@10.0.0.1/", UriFault.USERINFO),
        ("http://wiki.corp/?token=1", UriFault.CREDENTIAL_QUERY),
        ("http://user:pass@/", UriFault.USERINFO),
        ("http:\\\\user:pass@:x", UriFault.USERINFO),
        ("postgres://user:pw@db:port/x", UriFault.USERINFO),
        ("//user:pass@example.com/", UriFault.USERINFO),
        ("  //user@example.com/", UriFault.USERINFO),
        ("www.example.com/x?X-Goog-Signature=1", UriFault.PRESIGNED_QUERY),
        ("/files/x?sig=1&se=2#top", UriFault.PRESIGNED_QUERY),
        ("https://exa mple.com/?to\nken=1", UriFault.CREDENTIAL_QUERY),
        ("https://u:p@example.com/\ud800", UriFault.USERINFO),
        ("https://example.com/?token=\ud800", UriFault.CREDENTIAL_QUERY),
        ("https://u:p@example.com/" + "a" * 3000, UriFault.USERINFO),
        ("https://example.com/?X-Amz-Security-Token=" + "a" * 3000, UriFault.PRESIGNED_QUERY),
        ("https://example.com/?token=" + "é" * 600, UriFault.CREDENTIAL_QUERY),
    ],
    ids=lambda value: ascii(value)[:60],
)
def test_a_credential_is_told_before_every_other_fault(uri: str, fault: UriFault) -> None:
    """Clause 6.1 is answered for private, foreign, unreadable and over-long URIs too."""
    assert uri_fault(uri) is fault
    assert fault.is_credential


@pytest.mark.parametrize(
    ("uri", "fault"),
    [
        ("ssh://git@example.com/repo.git", UriFault.SCHEME),
        ("ssh://git@example.com:owner/repo.git", UriFault.PARSE_ERROR),
        ("git@example.com:owner/repo.git", UriFault.NOT_ABSOLUTE),
        ("abfss://container@account.dfs.core.windows.net/x", UriFault.SCHEME),
        ("mailto:alice@example.com", UriFault.SCHEME),
        ("alice@example.com", UriFault.NOT_ABSOLUTE),
        ("\\\\server@SSL\\share\\a.pdf", UriFault.NOT_ABSOLUTE),
        ("//cdn.example.com/@scope/x", UriFault.NOT_ABSOLUTE),
        ("http://@:x", UriFault.PARSE_ERROR),
        ("Lost? Password", UriFault.NOT_ABSOLUTE),
        ("/docs/a#b?token=1", UriFault.NOT_ABSOLUTE),
        ("https://example.com/#access_token=1" + "a" * 3000, UriFault.OVERLONG),
    ],
)
def test_what_names_a_place_is_no_credential(uri: str, fault: UriFault) -> None:
    """Logins, containers, mail addresses and plain words are dropped without being called a credential."""
    assert uri_fault(uri) is fault
    assert not fault.is_credential


def test_a_fragment_is_never_shown_and_never_a_fault() -> None:
    """What stands behind ``#`` goes, whatever it is."""
    assert public_uri("https://example.com/a?b#access_token=1") == "https://example.com/a?b"


@settings(deadline=None, max_examples=200)
@given(st.sampled_from([*PRESIGNED, *SECRETS]), st.data())
def test_a_credential_is_told_in_any_spelling(name: str, data: st.DataObject) -> None:
    """Upper case, escapes and inserted separators do not hide a name."""
    ways: list[Callable[[str], str]] = [
        str,
        str.upper,
        lambda c: f"%{ord(c):02x}",
        lambda c: c + "_",
        lambda c: f"-{c}",
    ]
    written = "".join(data.draw(st.sampled_from(ways))(letter) for letter in name)
    fault = uri_fault(f"https://example.com/?a=1&{written}=x")
    assert fault is not None
    assert fault.is_credential
