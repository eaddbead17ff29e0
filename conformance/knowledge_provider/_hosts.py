"""Which host names are public, by their spelling alone; knows no address, no URI and no resolver."""

import re
from typing import Final

from knowledge_provider._uri_faults import UriFault

# Names that DNS can carry: labels of 1 to 63 characters, and a last one that cannot be read as a number.
_DNS_NAME: Final = re.compile(r"(?:[a-z0-9_-]{1,63}\.)*(?:[a-z]{1,63}|xn--[a-z0-9_-]{1,59})")
_DNS_NAME_MAX: Final = 253

# Special-use names (RFC 6761 and IANA's "Special-Use Domain Names", RFC 9476, ICANN's reservation of .internal):
# never public, nor is anything under them. example.com, .org and .net are public pages, so they are not here.
_SPECIAL_USE: Final = frozenset(
    {
        "localhost",
        "local",
        "internal",
        "home.arpa",
        "test",
        "invalid",
        "example",
        "onion",
        "alt",
        "in-addr.arpa",
        "ip6.arpa",
        "ipv4only.arpa",
        "resolver.arpa",
        "service.arpa",
    }
)

# Last labels that are private by convention (RFC 6762 appendix G, name collisions, Kubernetes, Consul).
_PRIVATE_LAST: Final = frozenset(
    {"lan", "home", "corp", "intranet", "private", "localdomain", "localdomain6", "svc", "consul"}
)

_METADATA_NAMES: Final = frozenset(
    {
        "metadata.google.internal",
        "instance-data.ec2.internal",
        "metadata.azure.internal",
        "metadata.tencentyun.com",
    }
)

# Public resolvers that answer with an address that the name itself chooses; their own home pages are public.
_REBINDING_UNDER: Final = frozenset({"nip.io", "sslip.io", "xip.io", "1u.ms", "rbndr.us", "traefik.me"})
# Names that resolve to the reader's own machine, with everything under them.
_LOOPBACK_NAMES: Final = frozenset({"localtest.me", "lvh.me", "localh.st", "vcap.me", "lacolhost.com"})


def without_root(host: str) -> str:
    """The host without one trailing dot, which makes a name absolute and changes nothing else."""
    return host.removesuffix(".")


def _is_rebinding(name: str, registered: str) -> bool:
    return registered in _LOOPBACK_NAMES or (registered in _REBINDING_UNDER and name != registered)


def _listed_fault(name: str) -> UriFault | None:
    # Every listed ending has one or two labels.
    *_, before, last = ("", *name.rsplit(".", 2))
    two = f"{before}.{last}"
    if name in _METADATA_NAMES:
        return UriFault.METADATA_HOST
    if last in _SPECIAL_USE or two in _SPECIAL_USE:
        return UriFault.SPECIAL_USE_DOMAIN
    if _is_rebinding(name, two):
        return UriFault.REBINDING_HOST
    return UriFault.PRIVATE_SUFFIX if last in _PRIVATE_LAST else None


def name_fault(host: str) -> UriFault | None:
    """Say why a host name, lower case and in ASCII as a WHATWG parser writes it, is not public, or None."""
    # URI policy, rule 5. What a name is listed for says more than that it is short or cannot resolve.
    name = without_root(host)
    if listed := _listed_fault(name):
        return listed
    if name and "." not in name:
        return UriFault.SINGLE_LABEL
    carried = len(name) <= _DNS_NAME_MAX and _DNS_NAME.fullmatch(name)
    return None if carried else UriFault.BAD_DNS_NAME
