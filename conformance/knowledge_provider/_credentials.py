"""Which parts of a URI are credentials, by their place and name; knows no host, and never returns what it found."""

import re
import string
from typing import Final
from urllib.parse import unquote, unquote_plus

from pydantic_core import Url

from knowledge_provider._uri_faults import UriFault
from knowledge_provider.limits import URI_MAX

_WEB_SCHEMES: Final = frozenset({"http", "https"})
_SEPARATORS: Final = re.compile("[&;]")
_LEFT_OUT: Final = str.maketrans("", "", "-_[]")
_LEADING: Final = "?" + string.whitespace
_SESSION_IN_PATH: Final = ";jsessionid="

# A text that no parser reads may be of any size. What is looked at holds every real link and costs milliseconds.
_LOOKED_AT_MAX: Final = 4 * URI_MAX
_TRIMMED: Final = "".join(map(chr, range(0x21)))
_INNER: Final = str.maketrans("", "", "\t\n\r")
# "scheme://info@", with wrappers such as "jdbc:" before it, "//info@", and HTTP with any slashes, as browsers read it.
_WRITTEN_INFO: Final = re.compile(
    r"(?:(?:([a-z][a-z0-9+.-]*):)*//|(https?):[/\\]*)([^/\\]*)@",
    re.IGNORECASE,
)


def _canonical(name: str) -> str:
    if "%" in name or "+" in name:
        name = unquote_plus(name)
    return name.casefold().strip().lstrip(_LEADING).translate(_LEFT_OUT)


def _named(*names: str) -> frozenset[str]:
    return frozenset(map(_canonical, names))


# Names that only a pre-signed link has, as their vendors write them. "__token__" compares as "token" does.
_PRESIGNED: Final = _named(
    "X-Amz-Signature",
    "X-Amz-Credential",
    "X-Amz-Security-Token",
    "AWSAccessKeyId",
    "X-Goog-Signature",
    "X-Goog-Credential",
    "GoogleAccessId",
    "Key-Pair-Id",
    "OSSAccessKeyId",
    "x-oss-signature",
    "q-signature",
    "x-obs-security-token",
    "hdnts",
    "verify",
)
# Azure's "sig" is a secret alone already; beside one of these it is a shared access signature.
_SAS_SIGNATURE: Final = "sig"
_SAS_FIELDS: Final = _named("sv", "se", "sp")

_SECRETS: Final = _named(
    "access_token",
    "refresh_token",
    "id_token",
    "auth_token",
    "oauth_token",
    "bearer_token",
    "session_token",
    "magic_token",
    "sas_token",
    "private_token",
    "token",
    "__token__",
    "client_secret",
    "secret",
    "secret_key",
    "access_key",
    "api_key",
    "X-API-Key",
    "subscription-key",
    "private_key",
    "key",
    "password",
    "passwd",
    "pwd",
    "pass",
    "user_password",
    "auth",
    "authorization",
    "credentials",
    "jwt",
    "sessionid",
    "session",
    "sid",
    "PHPSESSID",
    "JSESSIONID",
    "signature",
    "sig",
    "hmac",
    "oauth_signature",
    "ticket",
    "SAMLResponse",
    "otp",
)
# An OAuth answer: "code" alone is a country's or a product's.
_OAUTH_ANSWER: Final = _named("code", "state")


def _query_fault(query: str) -> UriFault | None:
    # URI policy, rule 6. A bare word is no parameter. With "=" the name decides, whatever the value: what looks empty
    # here ("token=;abc") may not be for a server that splits on "&" alone.
    parts = (part.partition("=") for part in _SEPARATORS.split(query))
    names = {_canonical(name) for name, equals, _ in parts if equals}
    if names & _PRESIGNED or (_SAS_SIGNATURE in names and names & _SAS_FIELDS):
        return UriFault.PRESIGNED_QUERY
    return UriFault.CREDENTIAL_QUERY if names & _SECRETS or names >= _OAUTH_ANSWER else None


def _path_fault(path: str) -> UriFault | None:
    return UriFault.CREDENTIAL_PATH if _SESSION_IN_PATH in unquote(path).casefold() else None


def _info_fault(scheme: str, username: str | None, password: str | None) -> UriFault | None:
    # URI policy, rule 3. On the web a user name alone is often the token itself. Elsewhere it is part of the place
    # (``abfss://container@account``) or a login (``ssh://git@host``), so only a password counts there.
    alone = scheme.lower().rpartition("+")[2] in ("", *_WEB_SCHEMES)
    return UriFault.USERINFO if password or (username and alone) else None


def credential_fault(url: Url) -> UriFault | None:
    """Say which credential a parsed URI carries outside its fragment, or None."""
    return (
        _info_fault(url.scheme, url.username, url.password)
        or (_query_fault(url.query) if url.query else None)
        or (_path_fault(url.path) if url.path else None)
    )


def _written_info_fault(text: str) -> UriFault | None:
    match = _WRITTEN_INFO.match(text)
    if match is None:
        return None
    username, _, password = match[3].partition(":")
    return _info_fault(match[1] or match[2] or "", username, password)


def written_credential_fault(text: str) -> UriFault | None:
    """Say which credential a text carries that is no HTTP(S) URI, or None; at most 8,000 characters are looked at.

    For what no parser reads (too long, no host, relative) and for wrapped URIs such as ``jdbc:postgresql://u:p@db``.
    """
    # A name that the cut ends has no "=" behind it, so it is not taken for a whole one.
    head = text[:_LOOKED_AT_MAX].strip(_TRIMMED).translate(_INNER)
    place, _, query = head.partition("#")[0].partition("?")
    return _written_info_fault(place) or _query_fault(query) or _path_fault(place)
