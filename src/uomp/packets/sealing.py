"""The sealed payload envelope (UOMP 15.6; A-70, A-71, A-100).

X25519 with a fresh key of the sender, HKDF-SHA256, AES-256-GCM. HKDF gives 64 bytes:
a key and a commitment to it. AES-GCM alone does not commit: one ciphertext can be made
to open under two keys. The commitment is compared before anything is decrypted.

The envelope may carry an outer signature of its sender, which anyone who stores the
envelope can verify without opening it.
"""

from collections.abc import Mapping
from hmac import compare_digest
from typing import Any

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import (
    X25519PrivateKey,
    X25519PublicKey,
)
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from uomp.errors import Code, LocalError, UompError, VerificationError
from uomp.packets.canonical import encode, sha256
from uomp.packets.envelope import (
    ALGORITHM,
    NONCE_BYTES,
    CheckedEnvelope,
    EnvelopeInfo,
    EnvelopeSignature,
    check_envelope,
    check_info,
    decode_exactly,
    envelope_signing_input,
)
from uomp.packets.keys import KEY_BYTES, admit_x25519
from uomp.packets.multibase import b64_encode
from uomp.packets.signing import ED25519, Signer, verify_ed25519

__all__ = [
    "ALGORITHM",
    "CheckedEnvelope",
    "EnvelopeInfo",
    "EnvelopeSignature",
    "attach_signature",
    "check_envelope",
    "decrypt_aes_gcm",
    "encrypt_aes_gcm",
    "envelope_signing_input",
    "open_sealed",
    "seal",
    "verify_envelope_signature",
]

_INFO = b"UOMP-payload-v1"


def seal(
    plaintext: bytes,
    info: EnvelopeInfo,
    *,
    recipient: X25519PublicKey,
    ephemeral: X25519PrivateKey,
    nonce: bytes,
) -> dict[str, Any]:
    """Encrypt for one recipient and return the envelope as a JSON object.

    `ephemeral` is a key made for this one envelope, `nonce` 12 random bytes.

    Raises:
        LocalError: `INVALID_REQUEST` if `info` or the nonce could not be accepted by a
            recipient, or if no secret can be agreed with the recipient's key.
    """
    sender_raw = ephemeral.public_key().public_bytes_raw()
    try:
        shared = ephemeral.exchange(recipient)
    except ValueError as error:
        message = "No secret can be agreed with the key of the recipient."
        raise LocalError(Code.INVALID_REQUEST, message) from error
    key, commitment = _derive(shared, sender_raw, recipient.public_bytes_raw())
    encryption = {
        "algorithm": ALGORITHM,
        "sender_public_key": b64_encode(sender_raw),
        "nonce": b64_encode(nonce),
        "key_commitment": b64_encode(commitment),
    }
    envelope = msgspec.structs.asdict(info) | {"encryption": encryption}
    key_id = envelope.pop("recipient_key_id")
    if key_id is not None:
        encryption["recipient_key_id"] = key_id
    try:
        check_info(envelope, encryption)
        decode_exactly(encryption, "nonce", NONCE_BYTES)
    except UompError as error:
        raise LocalError(Code.INVALID_REQUEST, str(error)) from error
    ciphertext = encrypt_aes_gcm(key, nonce, plaintext, aad=encode(envelope))
    return envelope | {
        "ciphertext": b64_encode(ciphertext),
        "size": len(plaintext),
        "hash": sha256(ciphertext),
    }


def open_sealed(
    envelope: Mapping[str, Any] | CheckedEnvelope,
    recipient: X25519PrivateKey,
    *,
    allow_uncommitted: bool = False,
) -> bytes:
    """Return the plaintext. The outer signature is not looked at.

    Raises:
        VerificationError: as `check_envelope` does; `KEY_REFUSED` for a weak key of the
            sender; `DECRYPTION_FAILED` if it was sealed for another key, if anything
            was changed, or without a commitment unless `allow_uncommitted`.
    """
    checked = _checked(envelope)
    # 1. The key of the sender.
    sender = admit_x25519(checked.sender_public_key)
    # 2. The shared secret, which cannot be zero now.
    recipient_raw = recipient.public_key().public_bytes_raw()
    shared = recipient.exchange(sender)
    key, commitment = _derive(shared, checked.sender_public_key, recipient_raw)
    # 3. The commitment, before any decryption.
    if checked.commitment is None:
        if not allow_uncommitted:
            message = "The envelope does not commit to its key."
            raise VerificationError(Code.DECRYPTION_FAILED, message)
    elif not compare_digest(checked.commitment, commitment):
        message = "The envelope is sealed for another key."
        raise VerificationError(Code.DECRYPTION_FAILED, message)
    # 4. The content and all that is bound to it.
    return decrypt_aes_gcm(key, checked.nonce, checked.ciphertext, aad=checked.aad)


def attach_signature(envelope: Mapping[str, Any], signer: Signer) -> dict[str, Any]:
    """Return a copy of the envelope with the outer signature of the signer.

    Raises:
        VerificationError: as `check_envelope` does; nothing else is ever signed.
    """
    bare = {name: member for name, member in envelope.items() if name != "signature"}
    check_envelope(bare)
    signature = {
        "algorithm": ED25519,
        "public_key_id": signer.key_id,
        "signature_value": b64_encode(signer.sign(envelope_signing_input(bare))),
    }
    return bare | {"signature": signature}


def verify_envelope_signature(
    envelope: Mapping[str, Any] | CheckedEnvelope, key: Ed25519PublicKey
) -> CheckedEnvelope:
    """Verify the outer signature without decrypting; return what was signed.

    `key` is that of `public_key_id`, admitted by `keys`; whose key it is, and whether
    it may speak for `agent_id`, is for the caller to decide.

    Raises:
        VerificationError: as `check_envelope` does; `SIGNATURE_INVALID`, also if there
            is no signature.
    """
    checked = _checked(envelope)
    claimed = checked.signature
    if claimed is None or not verify_ed25519(key, claimed.value, claimed.signed):
        message = "The envelope has no valid signature by this key."
        raise VerificationError(Code.SIGNATURE_INVALID, message)
    return checked


def encrypt_aes_gcm(key: bytes, nonce: bytes, plaintext: bytes, *, aad: bytes) -> bytes:
    """Encrypt with AES-256-GCM; the 16-byte tag ends the result."""
    return AESGCM(key).encrypt(nonce, plaintext, aad)


def decrypt_aes_gcm(key: bytes, nonce: bytes, sealed: bytes, *, aad: bytes) -> bytes:
    """Decrypt AES-256-GCM with the tag at the end.

    Raises:
        VerificationError: `DECRYPTION_FAILED`.
    """
    try:
        return AESGCM(key).decrypt(nonce, sealed, aad)
    except InvalidTag as error:
        message = "The content, or what is bound to it, was changed."
        raise VerificationError(Code.DECRYPTION_FAILED, message) from error


def _derive(shared: bytes, sender: bytes, recipient: bytes) -> tuple[bytes, bytes]:
    """Return the AES key and the commitment to it, 32 bytes each."""
    info = _INFO + sender + recipient
    made = HKDF(SHA256(), 2 * KEY_BYTES, salt=None, info=info).derive(shared)
    return made[:KEY_BYTES], made[KEY_BYTES:]


def _checked(envelope: Mapping[str, Any] | CheckedEnvelope) -> CheckedEnvelope:
    if isinstance(envelope, CheckedEnvelope):
        return envelope
    return check_envelope(envelope)
