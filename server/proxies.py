"""Proxies that are trusted, however a socket writes their addresses."""

from collections.abc import Iterable, Iterator
from ipaddress import IPv4Network, IPv6Network, ip_network

IPV4 = IPv6Network("::ffff:0:0/96")  # as a socket of IPv6 writes it


def in_both_spellings(proxies: Iterable[str]) -> list[str]:
    """Where both kinds of addresses come to one port, 10.0.0.1 is seen there as ::ffff:10.0.0.1."""
    return [
        str(spelling) for each in proxies for spelling in _spellings(ip_network(each, strict=False))
    ]


def _spellings(network: IPv4Network | IPv6Network) -> Iterator[IPv4Network | IPv6Network]:
    yield network
    shift = IPV4.prefixlen
    first = int(network.network_address)
    if isinstance(network, IPv4Network):
        yield IPv6Network((int(IPV4.network_address) + first, shift + network.prefixlen))
    elif network.subnet_of(IPV4):
        yield IPv4Network((first - int(IPV4.network_address), network.prefixlen - shift))
