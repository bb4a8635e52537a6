"""Ed25519 signatures behind the smallest interface that signing needs."""

from dataclasses import dataclass, field
from typing import Protocol

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import (
    Ed25519PrivateKey,
    Ed25519PublicKey,
)

ED25519 = "Ed25519"  # the `algorithm` member of every signature object
SIGNATURE_BYTES = 64


class Signer(Protocol):
    """Whatever can sign for one verification method of a DID document."""

    @property
    def key_id(self) -> str:
        """DID URL of the verification method, with its fragment."""
        ...

    def sign(self, data: bytes) -> bytes:
        """Return the 64-byte Ed25519 signature (RFC 8032) of `data`."""
        ...


@dataclass(frozen=True, slots=True)
class Ed25519Signer:
    """A signer that holds its private key in memory."""

    key_id: str
    private_key: Ed25519PrivateKey = field(repr=False, compare=False)

    def sign(self, data: bytes) -> bytes:
        """Return the 64-byte signature of `data`."""
        return self.private_key.sign(data)


def verify_ed25519(key: Ed25519PublicKey, signature: bytes, data: bytes) -> bool:
    """Tell whether `signature` is a valid RFC 8032 signature of `data`.

    The key must have passed `keys.admit_ed25519`: under a key of small order one
    signature fits many messages.
    """
    try:
        key.verify(signature, data)
    except InvalidSignature:
        return False
    return True
