"""The keys of those who sign packets and receipts, and what is asked of a key."""

from collections.abc import Callable
from datetime import datetime
from typing import Final, Protocol

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from uomp.errors import Code, UompError, VerificationError
from uomp.packets.header import Signature
from uomp.packets.keys import admit_ed25519
from uomp.packets.multibase import EncodingError, b64_decode
from uomp.packets.signing import ED25519, SIGNATURE_BYTES, verify_ed25519

_LABELS: Final = (ED25519, "EdDSA")  # two spellings of one algorithm
# A label that the protocol names and that we do not verify.
_KNOWN_LABELS: Final = ("ECDSA-secp256k1",)

SameDid = Callable[[str, str], bool]


class SigningKey(msgspec.Struct, frozen=True, kw_only=True):
    """A public key as its DID document has it.

    `public` is the raw key, `algorithm` its kind, such as `Ed25519`. `valid_until` and
    `revoked_at` are aware times; `stale` says that the document was too old to be sure.
    """

    did: str
    key_id: str
    algorithm: str
    public: bytes
    valid_until: datetime | None = None
    revoked_at: datetime | None = None
    stale: bool = False


class KeyResolver(Protocol):
    """Where the keys of issuers come from; never from the packet itself."""

    def signing_key(self, key_id: str, at: datetime) -> SigningKey:
        """Return the key under this DID URL as it was at `at`.

        Raises:
            VerificationError: `KEY_NOT_FOUND`; `UNSUPPORTED_ALGORITHM` for a key of
                another kind than Ed25519; `KEY_REFUSED`.
        """
        ...


def equal_dids(first: str, second: str) -> bool:
    """Tell whether two DIDs are the same text: enough where none has two forms."""
    return first == second


def did_part(key_id: str) -> str:
    """Return the DID of a DID URL with a fragment."""
    return key_id.partition("#")[0]


def check_algorithm(signature: Signature, keys: KeyResolver, now: datetime) -> None:
    """Refuse every label but those of Ed25519 (PAM-5.1-4, A-92).

    A label of another kind than the key it stands beside is told apart from an
    algorithm that is not offered at all.

    Raises:
        VerificationError: `ALGORITHM_MISMATCH` or `UNSUPPORTED_ALGORITHM`.
    """
    if signature.algorithm in _LABELS:
        return
    if signature.algorithm in _KNOWN_LABELS:
        try:
            key = keys.signing_key(signature.public_key_id, now)
        except UompError:
            key = None
        if key is not None and key.algorithm == ED25519:
            raise _mismatch()
    raise VerificationError(
        Code.UNSUPPORTED_ALGORITHM, "The signature's algorithm is not supported."
    )


def find_key(keys: KeyResolver, key_id: str, at: datetime) -> SigningKey:
    """Return the key for a label that says Ed25519.

    Raises:
        VerificationError: as `keys` does, but `ALGORITHM_MISMATCH` for a key of another
            kind.
    """
    try:
        return keys.signing_key(key_id, at)
    except VerificationError as error:
        if error.code is Code.UNSUPPORTED_ALGORITHM:
            raise _mismatch() from error
        raise


def admit_key(
    key: SigningKey, *, at: datetime, now: datetime, seen_at: datetime | None = None
) -> Ed25519PublicKey:
    """Return the key if it is of the right kind, strong, and counts.

    `at` is the time that the signer claims, `seen_at` one at which the signed thing is
    known to have been there. The end of a key is held against a time that its holder
    cannot choose: whoever has an old key can date back (A-94).

    Raises:
        VerificationError: `ALGORITHM_MISMATCH`, `KEY_REVOKED` or `KEY_REFUSED`.
    """
    if key.algorithm != ED25519:
        raise _mismatch()
    known = seen_at or now
    if key.revoked_at is not None and known >= key.revoked_at:
        raise VerificationError(Code.KEY_REVOKED, "The signer's key was revoked.")
    if key.valid_until is not None and max(known, at) > key.valid_until:
        raise VerificationError(
            Code.KEY_REVOKED, "The signer's key was not valid any more."
        )
    return admit_ed25519(key.public)


def is_signed(signature: Signature, key: Ed25519PublicKey, signed: bytes) -> bool:
    """Tell whether the signature is one of these bytes, and base64 of 64 bytes."""
    try:
        raw = b64_decode(signature.signature_value)
    except EncodingError:
        return False
    return len(raw) == SIGNATURE_BYTES and verify_ed25519(key, raw, signed)


def _mismatch() -> VerificationError:
    return VerificationError(
        Code.ALGORITHM_MISMATCH, "The label does not fit the signer's key."
    )
