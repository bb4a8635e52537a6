"""Signed receipts: what a receiver says of a packet it was given (A-101).

A receipt names the packet and its outcome. It does not promise that the memory is used.
"""

from dataclasses import InitVar, dataclass
from datetime import datetime
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from uomp.errors import Code, PeerError, VerificationError
from uomp.packets import canonical, strict
from uomp.packets.header import Did, Hash, Id, Signature, check_time, convert, violation
from uomp.packets.issuers import (
    KeyResolver,
    SameDid,
    admit_key,
    check_algorithm,
    did_part,
    equal_dids,
    find_key,
    is_signed,
)
from uomp.packets.multibase import b64_encode
from uomp.packets.signing import ED25519, Signer
from uomp.packets.steps import MAX_FUTURE
from uomp.packets.times import parse_time

MAX_RECEIPT_BYTES: Final = 64 << 10  # three long-form DIDs and some more

Status = Literal["accepted", "rejected", "stored_opaque"]
# Status, and whether there is no error. What is kept unread may say why (PAM-5.3-4).
_CONTRADICTIONS: Final = {("accepted", False), ("rejected", True)}
_SIGNATURE_MEMBERS: Final = {"algorithm", "public_key_id", "signature_value"}


class Receipt(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A receipt as it is written: nothing of it is known to be true.

    `receiver` is the DID of who is to have signed it, `issuer` that of who sent the
    packet. A rejection has the code of its `error`, an acceptance has none.
    """

    packet_id: Id
    packet_hash: Hash
    issuer: Did
    receiver: Did
    status: Status
    error: Annotated[str, Meta(pattern=r"^[A-Z][A-Z0-9_]{0,63}\Z")] | None
    timestamp: str
    signature: Signature


_PROOF: Final = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifiedReceipt:
    """A receipt that its receiver has signed. Only `verify_receipt` makes one.

    `key_id` is the DID URL of the key. `timestamp` is ISO 8601, the receiver's word.
    """

    proof: InitVar[object]
    packet_id: str
    packet_hash: str
    issuer: str
    receiver: str
    status: Status
    error: str | None
    timestamp: str
    key_id: str

    def __post_init__(self, proof: object) -> None:
        if proof is not _PROOF:
            raise TypeError("only verify_receipt makes a VerifiedReceipt")


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
    """Make and sign a receipt; `receiver` is the signer's DID.

    Raises:
        VerificationError: `SCHEMA_VIOLATION`, if it would not verify.
    """
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
    _check_structure(receipt)
    return receipt


def receipt_signing_input(receipt: dict[str, Any]) -> bytes:
    """Return the bytes that are signed: JCS of the receipt without its signature."""
    return canonical.encode(
        {name: value for name, value in receipt.items() if name != "signature"}
    )


def verify_receipt(
    receipt: object,
    keys: KeyResolver,
    *,
    now: datetime,
    same_did: SameDid = equal_dids,
    seen_at: datetime | None = None,
) -> VerifiedReceipt:
    """Return the receipt, given as JSON bytes or value, if its receiver signed it.

    Raises:
        VerificationError: with the code of the check that failed.
    """
    # 1. Structure; nothing that the signature would not cover.
    value = _read(receipt) if isinstance(receipt, bytes) else receipt
    typed, signed = _check_structure(value)
    # 2. Algorithm.
    check_algorithm(typed.signature, keys, now)
    # 3. The signer is the receiver.
    key_id = typed.signature.public_key_id
    if not same_did(did_part(key_id), typed.receiver):
        raise _bad_signature()
    # 4. Its key.
    at = parse_time(typed.timestamp)
    key = find_key(keys, key_id, at)
    public = admit_key(key, at=at, now=now, seen_at=seen_at)
    # 5. The signature.
    if not is_signed(typed.signature, public, signed):
        raise _bad_signature()
    # 6. Not from the future.
    if at > now + MAX_FUTURE:
        raise VerificationError(
            Code.STALE_TIMESTAMP, "The receipt is dated in the future."
        )
    return VerifiedReceipt(
        proof=_PROOF,
        packet_id=typed.packet_id,
        packet_hash=typed.packet_hash,
        issuer=typed.issuer,
        receiver=typed.receiver,
        status=typed.status,
        error=typed.error,
        timestamp=typed.timestamp,
        key_id=key_id,
    )


def _read(data: bytes) -> object:
    try:
        return strict.loads(data, max_bytes=MAX_RECEIPT_BYTES).value
    except PeerError as error:
        raise violation("a receipt is not strict JSON") from error


def _check_structure(value: object) -> tuple[Receipt, bytes]:
    receipt: Receipt = convert(value, Receipt, "the receipt")
    if not isinstance(value, dict) or set(value["signature"]) != _SIGNATURE_MEMBERS:
        raise violation("a receipt's signature has a member too many")
    canonical.check_hash_string(receipt.packet_hash)
    check_time(receipt.timestamp, "receipt.timestamp")
    if (receipt.status, receipt.error is None) in _CONTRADICTIONS:
        raise violation("the status and the error of a receipt do not fit")
    try:
        return receipt, receipt_signing_input(value)
    except canonical.CanonicalError as error:
        raise violation("a receipt holds what JCS cannot write") from error


def _bad_signature() -> VerificationError:
    return VerificationError(
        Code.SIGNATURE_INVALID, "The receipt is not signed by its receiver."
    )
