"""Which network addresses a peer may make this node call (threat T32).

A peer names its endpoint in its own DID, so without rules it could aim our messages at
services that only this machine or its network can reach.
"""

import ipaddress
import socket
from typing import Final

from aiohttp import ThreadedResolver
from aiohttp.abc import AbstractResolver, ResolveResult

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

# `is_global` alone is not enough: these carry an IPv4 address inside.
_NAT64: Final = ipaddress.ip_network("64:ff9b::/96")
_NAT64_LOCAL: Final = ipaddress.ip_network("64:ff9b:1::/48")
_LOW_32: Final = (1 << 32) - 1


def is_allowed(text: str, *, private: bool) -> bool:
    """Say whether an address may be called.

    `private` allows this machine and private networks. Link-local, multicast and
    unspecified addresses are never allowed: cloud metadata services live there.
    """
    address = _unwrap(ipaddress.ip_address(text.partition("%")[0]))
    if address.is_multicast or address.is_unspecified or address.is_link_local:
        return False
    local_nat64 = isinstance(address, ipaddress.IPv6Address) and address in _NAT64_LOCAL
    if address.is_loopback or address.is_private or local_nat64:
        return private
    return address.is_global


def _unwrap(address: Address) -> Address:
    """Return the IPv4 address inside a mapped, 6to4, Teredo or NAT64 one."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & _LOW_32)
    inside = address.ipv4_mapped or address.sixtofour
    if inside is None and address.teredo is not None:
        inside = address.teredo[1]
    return inside or address


def literal(host: str) -> str | None:
    """Return the address that a host name spells, in any of its forms, or None.

    `127.1`, `2130706433` and `0x7f000001` are 127.0.0.1 to the system's resolver.
    """
    try:
        return str(ipaddress.ip_address(host.strip("[]").partition("%")[0]))
    except ValueError:
        pass
    try:
        return socket.inet_ntoa(socket.inet_aton(host))
    except OSError:
        return None


class CheckedResolver(AbstractResolver):
    """Resolves names and drops the addresses that may not be called.

    The connection goes to the address that was checked, so a second look-up cannot
    put another one in its place.
    """

    def __init__(self, *, private: bool) -> None:
        self._private = private
        self._inner = ThreadedResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Return the addresses of `host` that may be called.

        Raises:
            OSError: there is none.
        """
        found = await self._inner.resolve(host, port, family)
        allowed = [
            one for one in found if is_allowed(one["host"], private=self._private)
        ]
        if not allowed:
            raise OSError("the name leads to no address that may be called")
        return allowed

    async def close(self) -> None:
        """Release the inner resolver."""
        await self._inner.close()
