"""Signed receipts: what a receiver says of a packet it was given (A-101).

A receipt names the packet and its outcome. It does not promise that the memory is used.
"""

from datetime import datetime
from typing import Any, Final, Literal

import msgspec

from uomp.errors import Code, VerificationError
from uomp.packets import canonical
from uomp.packets.header import Did, Hash, Id, Signature, check_time, convert, violation
from uomp.packets.keys import admit_ed25519
from uomp.packets.multibase import b64_decode, b64_encode
from uomp.packets.signing import ED25519, SIGNATURE_BYTES, Signer, verify_ed25519
from uomp.packets.times import parse_time
from uomp.packets.verify import MAX_FUTURE, KeyResolver, SameDid

Status = Literal["accepted", "rejected", "stored_opaque"]
_ALGORITHMS: Final = (ED25519, "EdDSA")


class Receipt(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A receipt. `error` is the code of a rejection; unknown members are refused."""

    packet_id: Id
    packet_hash: Hash
    issuer: Did
    receiver: Did
    status: Status
    error: str | None = None
    timestamp: str
    signature: Signature


def build_receipt(  # noqa: PLR0913 - the members of a receipt
    *,
    packet_id: str,
    packet_hash: str,
    issuer: str,
    receiver: str,
    status: str,
    error: str | None,
    timestamp: str,
    signer: Signer,
) -> dict[str, Any]:
    """Make and sign a receipt; `receiver` is the signer's DID."""
    receipt: dict[str, Any] = {
        "packet_id": packet_id,
        "packet_hash": packet_hash,
        "issuer": issuer,
        "receiver": receiver,
        "status": status,
        "error": error,
        "timestamp": timestamp,
    }
    receipt["signature"] = {
        "algorithm": ED25519,
        "public_key_id": signer.key_id,
        "signature_value": b64_encode(signer.sign(receipt_signing_input(receipt))),
    }
    return receipt


def receipt_signing_input(receipt: dict[str, Any]) -> bytes:
    """Return the bytes that are signed: JCS of the receipt without its signature."""
    return canonical.encode(
        {name: value for name, value in receipt.items() if name != "signature"}
    )


def verify_receipt(
    value: object, keys: KeyResolver, *, now: datetime, same_did: SameDid
) -> Receipt:
    """Return the receipt if its receiver signed it.

    Raises:
        VerificationError: with the code of the check that failed.
    """
    # 1. Structure; nothing that the signature would not cover.
    receipt: Receipt = convert(value, Receipt, "the receipt")
    if not isinstance(value, dict) or receipt.signature.signed_data is not None:
        raise violation("a receipt's signature has a member too many")
    canonical.check_hash_string(receipt.packet_hash)
    check_time(receipt.timestamp, "receipt.timestamp")
    # 2. Algorithm.
    if receipt.signature.algorithm not in _ALGORITHMS:
        raise VerificationError(
            Code.UNSUPPORTED_ALGORITHM, "The receipt's algorithm is not supported."
        )
    # 3. The signer is the receiver.
    key_id = receipt.signature.public_key_id
    if not same_did(key_id.partition("#")[0], receipt.receiver):
        raise _bad_signature()
    # 4. Its key.
    at = parse_time(receipt.timestamp)
    key = keys.signing_key(key_id, at)
    if key.revoked_at is not None:
        raise VerificationError(Code.KEY_REVOKED, "The receiver's key was revoked.")
    # 5. The signature.
    raw = b64_decode(receipt.signature.signature_value)
    signed = receipt_signing_input(value)
    public = admit_ed25519(key.public)
    if len(raw) != SIGNATURE_BYTES or not verify_ed25519(public, raw, signed):
        raise _bad_signature()
    # 6. Not from the future.
    if at > now + MAX_FUTURE:
        raise VerificationError(
            Code.STALE_TIMESTAMP, "The receipt is dated in the future."
        )
    return receipt


def _bad_signature() -> VerificationError:
    return VerificationError(
        Code.SIGNATURE_INVALID, "The receipt is not signed by its receiver."
    )
