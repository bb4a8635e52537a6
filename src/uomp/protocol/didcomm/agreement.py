"""Keys that agree on secrets. Other curves would be further kinds of the same shape.

Only X25519 is here. A curve needs: an exchange that refuses weak peers, how its
ephemeral keys are written as a JWK, and an admission check in `packets.keys`.
"""

from dataclasses import dataclass
from typing import Final

from cryptography.hazmat.primitives.asymmetric.x25519 import (
    X25519PrivateKey,
    X25519PublicKey,
)

from uomp.packets.keys import KEY_BYTES
from uomp.packets.multibase import b64url_decode, b64url_encode
from uomp.protocol.didcomm.refusal import Problem, RefusalError, malformed

_KIND: Final = ("OKP", "X25519")
_P: Final = 2**255 - 19  # the field of Curve25519
_REMEMBERED_PEERS: Final = 1_024  # 64 bytes each; a node talks to fewer at a time


@dataclass(frozen=True, slots=True)
class RecipientKey:
    """Public key of a receiver under its key id; it must have been admitted."""

    kid: str
    public: X25519PublicKey


class AgreementKey:
    """A private key of ours under its key id.

    The secret it shares with another long-lived key never changes, so it is kept here,
    in the object that holds the private key anyway, and goes when that goes.
    """

    __slots__ = ("_private", "_shared", "kid")

    def __init__(self, kid: str, private: X25519PrivateKey) -> None:
        self.kid = kid
        self._private = private
        self._shared: dict[bytes, bytes] = {}

    def __repr__(self) -> str:
        return f"AgreementKey({self.kid})"

    def agree_once(self, ephemeral: X25519PublicKey) -> bytes:
        """Return the secret shared with a key that is used once.

        Raises:
            RefusalError: if the secret is all zero.
        """
        return exchange(self._private, ephemeral)

    def agree(self, peer: X25519PublicKey) -> bytes:
        """Return the secret shared with a long-lived key.

        Raises:
            RefusalError: if the secret is all zero.
        """
        raw = peer.public_bytes_raw()
        shared = self._shared.get(raw)
        if shared is None:
            shared = exchange(self._private, peer)
            if len(self._shared) >= _REMEMBERED_PEERS:
                self._shared.clear()
            self._shared[raw] = shared
        return shared


def exchange(private: X25519PrivateKey, public: X25519PublicKey) -> bytes:
    """Return the X25519 secret (RFC 7748, 6.1).

    Raises:
        RefusalError: if it is all zero, as with every public key of small order.
    """
    try:
        return private.exchange(public)
    except ValueError as error:
        raise RefusalError(Problem.CRYPTO, "A key has a small order.") from error


def write_epk(ephemeral: X25519PrivateKey) -> dict[str, str]:
    """Return the public half as the JWK for the header."""
    x = b64url_encode(ephemeral.public_key().public_bytes_raw())
    return {"crv": _KIND[1], "kty": _KIND[0], "x": x}


def read_epk(jwk: object) -> X25519PublicKey:
    """Return the ephemeral key of a header.

    Its order is not looked at: the exchange refuses what admission would, and saves an
    exchange for each message.

    Raises:
        RefusalError: if it is no canonical X25519 key.
        EncodingError: if it is not base64url.
    """
    if not isinstance(jwk, dict) or (jwk.get("kty"), jwk.get("crv")) != _KIND:
        raise RefusalError(Problem.CRYPTO, "The ephemeral key is on another curve.")
    x = jwk.get("x")
    if not isinstance(x, str) or "d" in jwk:
        raise malformed("The ephemeral key is no public JWK.")
    raw = b64url_decode(x)
    if len(raw) != KEY_BYTES or int.from_bytes(raw, "little") >= _P:
        raise RefusalError(Problem.CRYPTO, "The ephemeral key is not canonical.")
    return X25519PublicKey.from_public_bytes(raw)
