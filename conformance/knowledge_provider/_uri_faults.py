"""``UriFault``: why a URI is not shown, as a word; knows no URI and no rule, so it can carry no secret."""

from enum import StrEnum


class UriFault(StrEnum):
    """Why the URI policy drops a URI. The value is a slug that may be printed: it holds nothing of the URI."""

    NOT_A_STRING = "not-a-string"
    LONE_SURROGATE = "lone-surrogate"
    OVERLONG = "overlong"
    NOT_ABSOLUTE = "not-absolute"
    PARSE_ERROR = "parse-error"
    SCHEME = "scheme"
    USERINFO = "userinfo"
    CREDENTIAL_QUERY = "credential-query"
    PRESIGNED_QUERY = "presigned-query"
    CREDENTIAL_PATH = "credential-path"
    METADATA_HOST = "metadata-host"
    PRIVATE_IPV4 = "private-ipv4"
    PRIVATE_IPV6 = "private-ipv6"
    EMBEDDED_IPV4 = "embedded-ipv4"
    SPECIAL_USE_DOMAIN = "special-use-domain"
    PRIVATE_SUFFIX = "private-suffix"
    REBINDING_HOST = "rebinding-host"
    SINGLE_LABEL = "single-label"
    BAD_DNS_NAME = "bad-dns-name"

    @property
    def is_credential(self) -> bool:
        """Whether the URI carries a credential (clause 6.1), rather than only not being public (clause 6.2)."""
        return self in (
            UriFault.USERINFO,
            UriFault.CREDENTIAL_QUERY,
            UriFault.PRESIGNED_QUERY,
            UriFault.CREDENTIAL_PATH,
        )
