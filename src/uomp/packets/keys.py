"""Which foreign public keys are let in.

Libraries disagree on weak keys: some verify signatures under an Ed25519 key of small
order (one signature then fits many messages), some agree on an all-zero X25519 secret.
Every key from elsewhere passes here first, so that no such difference can matter.
"""

from functools import lru_cache
from typing import Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import (
    X25519PrivateKey,
    X25519PublicKey,
)

from uomp.errors import Code, VerificationError

KEY_BYTES = 32
_CACHED_KEYS = 4096  # about 1 MB; a node talks to fewer peers at a time

_P: Final = 2**255 - 19  # the field of Curve25519
_L: Final = 2**252 + 27742317777372353535851937790883648493  # its prime order
_Y_MASK: Final = 2**255 - 1  # the top bit of an Ed25519 key is the sign of x


def _one_killing_torsion() -> int:
    """Return a scalar that is 1 or -1 modulo `_L`, 0 modulo 8, and clamped.

    Clamped scalars (RFC 7748) have bit 254 set and bit 255 clear: of such a scalar and
    its negative modulo 8 L, one does.
    """
    scalar = 8 * pow(8, -1, _L)
    return scalar if scalar >> 254 == 1 else 8 * _L - scalar


_PROBE: Final = X25519PrivateKey.from_private_bytes(
    _one_killing_torsion().to_bytes(KEY_BYTES, "little")
)


@lru_cache(maxsize=_CACHED_KEYS)
def admit_ed25519(raw: bytes) -> Ed25519PublicKey:
    """Return the key if its encoding is canonical and its order is the large prime.

    Raises:
        VerificationError: `KEY_REFUSED`.
    """
    y = int.from_bytes(raw, "little") & _Y_MASK
    if len(raw) != KEY_BYTES or y >= _P or y == 1:
        raise _refused("An Ed25519 key is not 32 bytes, or not canonical.")
    # The point as u of X25519 (RFC 7748, 4.1). The probe keeps its part of prime order,
    # up to the sign that u does not see, and drops the rest: only a point with nothing
    # else comes back unchanged. On the twist the probe is no identity, so a y that is
    # on no curve point does not come back either.
    u = (1 + y) * pow(1 - y, -1, _P) % _P
    encoded = u.to_bytes(KEY_BYTES, "little")
    if _probe(encoded) != encoded:
        raise _refused("An Ed25519 key is not a point of prime order.")
    return Ed25519PublicKey.from_public_bytes(raw)


@lru_cache(maxsize=_CACHED_KEYS)
def admit_x25519(raw: bytes) -> X25519PublicKey:
    """Return the key if its encoding is canonical and no secret with it is all zero.

    Raises:
        VerificationError: `KEY_REFUSED`.
    """
    if len(raw) != KEY_BYTES or int.from_bytes(raw, "little") >= _P:
        raise _refused("An X25519 key is not 32 bytes, or not canonical.")
    # Every clamped scalar is a multiple of 8, so a point of small order gives zero with
    # the probe as with any other key.
    if _probe(raw) is None:
        raise _refused("An X25519 key has a small order.")
    return X25519PublicKey.from_public_bytes(raw)


def _probe(u: bytes) -> bytes | None:
    """Multiply by the probe's scalar; None for the all-zero result."""
    try:
        return _PROBE.exchange(X25519PublicKey.from_public_bytes(u))
    except ValueError:
        return None


def _refused(message: str) -> VerificationError:
    return VerificationError(Code.KEY_REFUSED, message)
