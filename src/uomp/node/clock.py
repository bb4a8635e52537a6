"""The one place that reads the time of day and the system's randomness.

Everything below `node` takes both as arguments. Tests that need another time pass
their own `Clock` to `Node`; no command or setting reaches it (requirement DER-26).
"""

import os
from datetime import UTC, datetime
from typing import Protocol

from uomp.packets.ids import ID_BYTES, Prefix, make_id


class Clock(Protocol):
    """Where a node gets the time."""

    def now(self) -> datetime:
        """Return the time of day, aware, in UTC."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        """Return the time of day in UTC."""
        return datetime.now(UTC)


def random_bytes(count: int) -> bytes:
    """Return `count` bytes of the operating system's randomness."""
    return os.urandom(count)


def new_id(prefix: Prefix) -> str:
    """Return a fresh identifier such as `sess_` and 24 characters."""
    return make_id(prefix, random_bytes(ID_BYTES))
