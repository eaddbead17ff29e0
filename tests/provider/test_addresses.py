"""Which addresses are public: the registries as data, and what IPv6 carries."""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knowledge_provider._addresses import IPV4_REGISTRY, IPV6_REGISTRY, address_fault, is_address
from knowledge_provider.uris import UriFault

Network = IPv4Network | IPv6Network
ROWS = [(ip_network(block), reachable) for block, reachable, _ in (*IPV4_REGISTRY, *IPV6_REGISTRY)]
METADATA = ["169.254.169.254", "169.254.170.2", "169.254.169.253", "169.254.0.23", "100.100.100.200", "192.0.0.192"]


def fault(address: str) -> UriFault | None:
    return address_fault(f"[{address}]" if ":" in address else address)


def most_specific_says(address: IPv4Address | IPv6Address) -> bool:
    """The decision by the standard library's containment, written another way than the code under test."""
    if address.is_multicast or (address.version == 6 and address not in ip_network("2000::/3")):
        return False
    around = [
        (net.prefixlen, reachable) for net, reachable in ROWS if net.version == address.version and address in net
    ]
    return max(around)[1] is True if around else True


def test_the_registries_are_complete_and_each_block_stands_once() -> None:
    """IANA's IPv4 registry has 26 blocks (one row names two) and the IPv6 one 25."""
    assert (len(IPV4_REGISTRY), len(IPV6_REGISTRY)) == (26, 25)
    assert len({net for net, _ in ROWS}) == len(ROWS)


@pytest.mark.parametrize(("net", "reachable"), ROWS, ids=[str(net) for net, _ in ROWS])
def test_a_block_is_decided_by_its_most_specific_row(net: Network, reachable: bool | None) -> None:
    """The first, middle and last address of each block, and its neighbours outside, get the longest match's answer."""
    first, last = int(net.network_address), int(net.broadcast_address)
    kind = type(net.network_address)
    for number in {
        first,
        first + (last - first) // 2,
        last,
        max(first - 1, 0),
        min(last + 1, 2**net.max_prefixlen - 1),
    }:
        address = kind(number)
        if str(address) not in METADATA and not str(address).startswith(("64:ff9b:", "::")):
            assert (fault(str(address)) is None) is most_specific_says(address), address


@pytest.mark.parametrize(
    "address",
    [
        "192.0.0.9", "192.0.0.10", "192.31.196.1", "192.52.193.1", "192.175.48.1", "8.8.8.8", "1.1.1.1", "192.0.1.0",
        "100.63.255.255", "100.128.0.0", "172.32.0.0", "223.255.255.255", "168.63.129.15",
        "2001:1::1", "2001:1::2", "2001:1::3", "2001:3::1", "2001:4:112::1", "2001:20::1", "2001:3f:ffff::1",
        "2620:4f:8000::1", "2606:4700:4700::1111", "2001:200::1", "2001:db9::", "3fff:1000::", "2003::1",
    ],
)  # fmt: skip
def test_globally_reachable_addresses_are_public(address: str) -> None:
    """What the registry calls reachable, and what it does not name, is public, also inside a block that is not."""
    assert fault(address) is None


@pytest.mark.parametrize(
    "address",
    [
        "0.0.0.0", "10.255.255.255", "100.64.0.1", "127.0.0.1", "172.31.255.255", "192.0.0.0", "192.0.0.7",
        "192.0.0.8", "192.0.0.11", "192.0.0.170", "192.0.0.171", "192.0.2.1", "192.88.99.1", "192.88.99.2",
        "192.168.0.1", "198.19.255.255",
        "198.51.100.7", "203.0.113.9", "224.0.0.1", "233.252.0.1", "239.255.255.255", "240.0.0.1",
        "255.255.255.255",
    ],
)  # fmt: skip
def test_special_multicast_and_reserved_ipv4_is_not_public(address: str) -> None:
    """Not globally reachable, deprecated, multicast and reserved addresses are private."""
    assert fault(address) is UriFault.PRIVATE_IPV4


@pytest.mark.parametrize(
    "address",
    [
        "::", "::1", "100::1", "100:0:0:1::1", "200::1", "2001:2::1", "2001:1::", "2001:1::4", "2001:4:113::1",
        "2001:10::1", "2001:40::1", "2001:100::1", "2001:db8::1", "3fff::1", "3fff:fff:ffff::1", "4000::1", "5f00::1",
        "e000::1", "fc00::1", "fdff::1", "fe80::1", "fec0::1", "ff02::1", "ff0e::101", "64:ff9b::8.8.8.8",
        "::ffff:8.8.8.8",
    ],
)  # fmt: skip
def test_ipv6_outside_global_unicast_or_special_is_not_public(address: str) -> None:
    """Everything outside 2000::/3 is private, and inside it what the registry does not call reachable."""
    assert fault(address) is UriFault.PRIVATE_IPV6


@pytest.mark.parametrize("address", [*METADATA, "168.63.129.16", "fd00:ec2::254"])
def test_a_cloud_metadata_address_is_named_as_one(address: str) -> None:
    """The addresses where clouds hand out credentials say so, also the one that is in no special block."""
    assert fault(address) is UriFault.METADATA_HOST


def carried_in(address: IPv4Address) -> list[IPv6Address]:
    """Every IPv6 form that the policy reads an IPv4 address out of."""
    low = int(address)
    flipped = low ^ 0xFFFF_FFFF
    bases = ("::ffff:0:0", "::ffff:0:0:0", "::", "64:ff9b::", "64:ff9b:1::", "64:ff9b:1:2:3:4::")
    six_to_four = int(IPv6Address("2002::")) | low << 80 | 1
    teredo = int(IPv6Address("2001:0:4136:e378:8000:63bf::")) | flipped
    return [IPv6Address(int(IPv6Address(base)) | low) for base in bases] + [
        IPv6Address(six_to_four),
        IPv6Address(teredo),
    ]


@pytest.mark.parametrize(
    "private", ["127.0.0.1", "10.0.0.1", "192.168.1.1", "169.254.169.254", "168.63.129.16", "224.0.0.1"]
)
def test_ipv6_that_carries_a_dropped_ipv4_is_named_so(private: str) -> None:
    """Mapped, translated, compatible, NAT64, 6to4 and Teredo forms hide no private address."""
    for address in carried_in(IPv4Address(private)):
        assert fault(str(address)) is UriFault.EMBEDDED_IPV4, address


@settings(deadline=None, max_examples=300)
@given(st.ip_addresses(v=4) | st.sampled_from([net for net, _ in ROWS if net.version == 4]).map(lambda net: net[0]))
def test_an_ipv4_answer_is_the_longest_matchs(address: IPv4Address) -> None:
    """For any address the answer is that of the standard library's containment over the same rows."""
    expected = most_specific_says(address) and str(address) != "168.63.129.16"
    assert (fault(str(address)) is None) is expected


@settings(deadline=None, max_examples=300)
@given(st.ip_addresses(v=4))
def test_no_ipv6_form_of_a_dropped_ipv4_is_public(address: IPv4Address) -> None:
    """Carrying an IPv4 address into IPv6 never makes it public."""
    if fault(str(address)) is not None:
        assert all(fault(str(form)) is not None for form in carried_in(address))


@settings(deadline=None, max_examples=300)
@given(st.ip_addresses(v=6))
def test_any_ipv6_address_gets_an_answer(address: IPv6Address) -> None:
    """A public answer is given only inside 2000::/3 and only where no block says otherwise."""
    if fault(str(address)) is None:
        assert most_specific_says(ip_address(str(address)))


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1", True),
        ("[::1]", True),
        ("127.0.0.1.example.com", False),
        ("example.com", False),
        ("127.0.0.1.", False),
    ],
)
def test_addresses_are_told_from_names(host: str, expected: bool) -> None:
    """Only four whole numbers, or brackets, make an address: a name may begin with one."""
    assert is_address(host) is expected
