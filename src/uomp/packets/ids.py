"""Random identifiers with a readable prefix (requirement DER-22)."""

from base64 import urlsafe_b64encode
from typing import Literal

ID_BYTES = 18  # 144 random bits, 24 characters with no padding

Prefix = Literal["sess", "log", "pay", "del", "mem", "req", "imp", "jti"]


def make_id(prefix: Prefix, random_bytes: bytes) -> str:
    """Return `prefix_` and 24 base64url characters of 18 fresh random bytes."""
    if len(random_bytes) != ID_BYTES:
        raise ValueError("an id takes 18 random bytes")
    return f"{prefix}_{urlsafe_b64encode(random_bytes).decode()}"
