"""What all peers together, and what one of them alone, may hold of a listener."""

import ipaddress
from collections import Counter
from types import TracebackType
from typing import Final, Self

SMALL_BODY: Final = 64 * 1024  # a body up to this passes even when memory is short

_PEER6_BITS: Final = 64  # one host may have all addresses of such a network


class BodyBudget:
    """The bytes of all bodies that are read or handled at this moment."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.held = 0

    def has_room(self, size: int, more: int) -> bool:
        """Tell whether a body may grow from `size` by `more` bytes; small ones may."""
        return size + more <= SMALL_BODY or self.held + more <= self.most


class Share:
    """The part of a budget that one request holds; leaving the block gives it back."""

    def __init__(self, budget: BodyBudget) -> None:
        self._budget = budget
        self._size = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._budget.held -= self._size

    def announce(self, size: int) -> bool:
        """Tell whether there is room for a body of this size; nothing is kept free."""
        return self._budget.has_room(0, size)

    def take(self, more: int) -> bool:
        """Take so many bytes more, if there is room for them."""
        if not self._budget.has_room(self._size, more):
            return False
        self._size += more
        self._budget.held += more
        return True


class Sources:
    """How many connections each source holds."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: Counter[str] = Counter()

    def enter(self, source: str) -> bool:
        """Count a connection; False, and not counted, if it is one too many."""
        if self._held[source] >= self._most:
            return False
        self._held[source] += 1
        return True

    def leave(self, source: str) -> None:
        """Count a connection no more."""
        self._held[source] -= 1
        if self._held[source] <= 0:
            del self._held[source]


def source_of(address: str) -> str:
    """Return what stands for one peer: an IPv4 address or the /64 of an IPv6 address.

    The result is empty for loopback, where many programs of one user meet, or a reverse
    proxy brings everybody; and for what is no IP address.
    """
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return ""
    if isinstance(found, ipaddress.IPv6Address):
        mapped = found.ipv4_mapped
        if mapped is None:
            network = ipaddress.ip_network((found, _PEER6_BITS), strict=False)
            return "" if found.is_loopback else str(network)
        found = mapped
    return "" if found.is_loopback else str(found)
