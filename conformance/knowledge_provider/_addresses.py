"""Which IP addresses are public, by IANA's registries as data; knows no name, no URI and no network."""

import re
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address, ip_network
from typing import Final

from knowledge_provider._uri_faults import UriFault

# Both registries in full, as IANA published them on 2026-07-18: address block, "Globally Reachable", name. None is
# "N/A" or an empty cell (Teredo, 6to4 and what is deprecated): the registry does not affirm it, so it is not public.
# https://www.iana.org/assignments/iana-ipv4-special-registry/iana-ipv4-special-registry-1.csv
# https://www.iana.org/assignments/iana-ipv6-special-registry/iana-ipv6-special-registry-1.csv
# ``ipaddress.is_global`` is not used: its tables are those of the Python release, and it takes other decisions.
IPV4_REGISTRY: Final[tuple[tuple[str, bool | None, str], ...]] = (
    ("0.0.0.0/8", False, "This network"),
    ("0.0.0.0/32", False, "This host on this network"),
    ("10.0.0.0/8", False, "Private-Use"),
    ("100.64.0.0/10", False, "Shared Address Space"),
    ("127.0.0.0/8", False, "Loopback"),
    ("169.254.0.0/16", False, "Link Local"),
    ("172.16.0.0/12", False, "Private-Use"),
    ("192.0.0.0/24", False, "IETF Protocol Assignments"),
    ("192.0.0.0/29", False, "IPv4 Service Continuity Prefix"),
    ("192.0.0.8/32", False, "IPv4 dummy address"),
    ("192.0.0.9/32", True, "Port Control Protocol Anycast"),
    ("192.0.0.10/32", True, "Traversal Using Relays around NAT Anycast"),
    ("192.0.0.170/32", False, "NAT64/DNS64 Discovery"),
    ("192.0.0.171/32", False, "NAT64/DNS64 Discovery"),
    ("192.0.2.0/24", False, "Documentation (TEST-NET-1)"),
    ("192.31.196.0/24", True, "AS112-v4"),
    ("192.52.193.0/24", True, "AMT"),
    ("192.88.99.0/24", None, "Deprecated (6to4 Relay Anycast)"),
    ("192.88.99.2/32", False, "6a44-relay anycast address"),
    ("192.168.0.0/16", False, "Private-Use"),
    ("192.175.48.0/24", True, "Direct Delegation AS112 Service"),
    ("198.18.0.0/15", False, "Benchmarking"),
    ("198.51.100.0/24", False, "Documentation (TEST-NET-2)"),
    ("203.0.113.0/24", False, "Documentation (TEST-NET-3)"),
    ("240.0.0.0/4", False, "Reserved"),
    ("255.255.255.255/32", False, "Limited Broadcast"),
)
IPV6_REGISTRY: Final[tuple[tuple[str, bool | None, str], ...]] = (
    ("::1/128", False, "Loopback Address"),
    ("::/128", False, "Unspecified Address"),
    ("::ffff:0:0/96", False, "IPv4-mapped Address"),
    ("64:ff9b::/96", True, "IPv4-IPv6 Translat."),
    ("64:ff9b:1::/48", False, "IPv4-IPv6 Translat."),
    ("100::/64", False, "Discard-Only Address Block"),
    ("100:0:0:1::/64", False, "Dummy IPv6 Prefix"),
    ("2001::/23", False, "IETF Protocol Assignments"),
    ("2001::/32", None, "TEREDO"),
    ("2001:1::1/128", True, "Port Control Protocol Anycast"),
    ("2001:1::2/128", True, "Traversal Using Relays around NAT Anycast"),
    ("2001:1::3/128", True, "DNS-SD Service Registration Protocol Anycast"),
    ("2001:2::/48", False, "Benchmarking"),
    ("2001:3::/32", True, "AMT"),
    ("2001:4:112::/48", True, "AS112-v6"),
    ("2001:10::/28", None, "Deprecated (previously ORCHID)"),
    ("2001:20::/28", True, "ORCHIDv2"),
    ("2001:30::/28", True, "Drone Remote ID Protocol Entity Tags (DETs) Prefix"),
    ("2001:db8::/32", False, "Documentation"),
    ("2002::/16", None, "6to4"),
    ("2620:4f:8000::/48", True, "Direct Delegation AS112 Service"),
    ("3fff::/20", False, "Documentation"),
    ("5f00::/16", False, "Segment Routing (SRv6) SIDs"),
    ("fc00::/7", False, "Unique-Local"),
    ("fe80::/10", False, "Link-Local Unicast"),
)

# Not in the special-purpose registry: multicast has one of its own (RFC 5771). "Reserved" is 240.0.0.0/4 above.
_IPV4_MULTICAST: Final = ("224.0.0.0/4", False, "Multicast")

# Where clouds hand credentials to the machines that ask. One of them, 168.63.129.16, is in no special block.
_IPV4_METADATA: Final = frozenset(
    int(IPv4Address(address))
    for address in (
        "169.254.169.254",
        "169.254.170.2",
        "169.254.169.253",
        "169.254.0.23",
        "100.100.100.200",
        "192.0.0.192",
        "168.63.129.16",
    )
)
_IPV6_METADATA: Final = int(IPv6Address("fd00:ec2::254"))

_IPV4_BITS: Final = 0xFFFF_FFFF

# Where an IPv6 address carries an IPv4 one: block, bits to its right, and what to flip (Teredo inverts it).
_CARRIERS: Final = (
    ("::ffff:0:0/96", 0, 0),  # mapped
    ("::ffff:0:0:0/96", 0, 0),  # translated
    ("::/96", 0, 0),  # compatible
    ("64:ff9b::/96", 0, 0),  # NAT64
    ("64:ff9b:1::/48", 0, 0),  # NAT64, local use
    ("2002::/16", 80, 0),  # 6to4
    ("2001::/32", 0, _IPV4_BITS),  # Teredo
)
_IPV4_TEXT: Final = re.compile(r"[0-9]+(?:\.[0-9]+){3}")


def _bounds(block: str) -> tuple[int, int]:
    network = ip_network(block)
    return int(network.network_address), int(network.netmask)


def _longest_first(rows: Iterable[tuple[str, bool | None, str]]) -> tuple[tuple[int, int, bool], ...]:
    bounded = ((*_bounds(block), reachable is True) for block, reachable, _ in rows)
    return tuple(sorted(bounded, key=lambda row: row[1], reverse=True))


_IPV4_ROWS: Final = _longest_first((*IPV4_REGISTRY, _IPV4_MULTICAST))
_IPV6_ROWS: Final = _longest_first(IPV6_REGISTRY)
_GLOBAL_NETWORK, _GLOBAL_MASK = _bounds("2000::/3")
_CARRIER_ROWS: Final = tuple((*_bounds(block), shift, flip) for block, shift, flip in _CARRIERS)


def _reachable(address: int, rows: tuple[tuple[int, int, bool], ...]) -> bool:
    # The most specific block decides: 192.0.0.9 is reachable inside 192.0.0.0/24, which is not.
    return next((reachable for network, mask, reachable in rows if address & mask == network), True)


def _carried_ipv4(address: int) -> int | None:
    # ``::`` and ``::1`` lie in the compatible block but are addresses of their own (RFC 4291, 2.5.5.1).
    if address <= 1:
        return None
    carriers = ((shift, flip) for network, mask, shift, flip in _CARRIER_ROWS if address & mask == network)
    return next((((address >> shift) & _IPV4_BITS) ^ flip for shift, flip in carriers), None)


def _ipv4_fault(address: int) -> UriFault | None:
    if address in _IPV4_METADATA:
        return UriFault.METADATA_HOST
    return None if _reachable(address, _IPV4_ROWS) else UriFault.PRIVATE_IPV4


def _ipv6_fault(address: int) -> UriFault | None:
    if address == _IPV6_METADATA:
        return UriFault.METADATA_HOST
    carried = _carried_ipv4(address)
    if carried is not None and _ipv4_fault(carried):
        return UriFault.EMBEDDED_IPV4
    public = address & _GLOBAL_MASK == _GLOBAL_NETWORK and _reachable(address, _IPV6_ROWS)
    return None if public else UriFault.PRIVATE_IPV6


def is_address(host: str) -> bool:
    """Whether a host, as a WHATWG parser writes it, is an IPv6 (in brackets) or IPv4 address rather than a name."""
    return host.startswith("[") or _IPV4_TEXT.fullmatch(host) is not None


def address_fault(host: str) -> UriFault | None:
    """Say why an address is not public, or None; ``host`` is one that ``is_address`` accepts."""
    # URI policy, rule 4.
    if host.startswith("["):
        return _ipv6_fault(int(IPv6Address(host[1:-1])))
    return _ipv4_fault(int(IPv4Address(host)))
