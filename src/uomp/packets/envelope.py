"""The shape of the sealed payload envelope (UOMP 15.6), checked without any key."""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from uomp.errors import Code, LocalError, VerificationError
from uomp.packets.canonical import check_hash_string, encode, sha256
from uomp.packets.keys import KEY_BYTES
from uomp.packets.multibase import b64_decode_lenient
from uomp.packets.signing import ED25519, SIGNATURE_BYTES
from uomp.packets.times import parse_time

ALGORITHM = "ECDH-X25519-AES256GCM"
NONCE_BYTES = 12
TAG_BYTES = 16
MAX_ID_CHARS = 8192  # a long-form DID carries its whole document

_SIGNATURE_LABELS = frozenset({ED25519, "EdDSA"})  # the second is read only
_UNBOUND = frozenset({"ciphertext", "hash", "size", "signature"})

_REQUIRED = frozenset(
    {
        *("payload_id", "session_id", "agent_id", "timestamp", "format"),
        *("encryption", "ciphertext", "size", "hash"),
    }
)
_ENCRYPTION_REQUIRED = frozenset({"algorithm", "sender_public_key", "nonce"})
_ENCRYPTION_OPTIONAL = frozenset({"recipient_key_id", "key_commitment"})
_SIGNATURE_REQUIRED = frozenset({"algorithm", "public_key_id", "signature_value"})

_TEXT = re.compile(rf"[^\x00-\x1f\x7f\ud800-\udfff]{{1,{MAX_ID_CHARS}}}")
_PAYLOAD_ID = re.compile(r"pay_[A-Za-z0-9_-]{1,64}", re.ASCII)
_NAME = r"[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126}"  # RFC 6838, 4.2
_MEDIA_TYPE = re.compile(rf"{_NAME}/{_NAME}(?:; ?{_NAME}=[\x21-\x7e]{{1,127}})*")


class EnvelopeInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What an envelope says in clear.

    `timestamp` is ISO 8601 with a zone, `format` a media type, `recipient_key_id` the
    DID URL of the recipient's X25519 key.
    """

    payload_id: str
    session_id: str
    agent_id: str
    timestamp: str
    format: str
    recipient_key_id: str | None = None


class EnvelopeSignature(msgspec.Struct, frozen=True, kw_only=True):
    """The outer signature as claimed; `value` is 64 bytes over `signed`."""

    public_key_id: str
    value: bytes
    signed: bytes


class CheckedEnvelope(msgspec.Struct, frozen=True, kw_only=True):
    """An envelope whose shape, hash and size are right; nothing else is known yet.

    `aad` is what the sender bound to the ciphertext, which ends with its tag. `size` is
    in bytes of plaintext. Without a `commitment` an envelope is from an older client.
    """

    info: EnvelopeInfo
    sender_public_key: bytes
    nonce: bytes
    commitment: bytes | None
    ciphertext: bytes
    aad: bytes
    hash: str
    size: int
    signature: EnvelopeSignature | None


def check_envelope(value: object) -> CheckedEnvelope:
    """Check all that a store without keys can check.

    Raises:
        VerificationError: `SCHEMA_VIOLATION` for members that are missing, unknown or
            malformed; `UNSUPPORTED_ALGORITHM`; `INTEGRITY_MISMATCH` if `hash` or
            `size` is not that of the ciphertext.
    """
    # 1. The members.
    envelope = _members(value, _REQUIRED, frozenset({"signature"}))
    encryption = _members(
        envelope["encryption"], _ENCRYPTION_REQUIRED, _ENCRYPTION_OPTIONAL
    )
    info = check_info(envelope, encryption)
    # 2. The algorithm.
    if encryption["algorithm"] != ALGORITHM:
        message = "The envelope is encrypted with an unknown algorithm."
        raise VerificationError(Code.UNSUPPORTED_ALGORITHM, message)
    # 3. The hash and the size.
    ciphertext = b64_decode_lenient(_text(envelope, "ciphertext"))
    size = envelope["size"]
    if type(size) is not int or size < 0:
        raise _malformed("size")
    if check_hash_string(envelope["hash"]) != sha256(ciphertext):
        message = "The hash is not that of the ciphertext."
        raise VerificationError(Code.INTEGRITY_MISMATCH, message)
    if size != len(ciphertext) - TAG_BYTES:
        message = "The size is not that of the content."
        raise VerificationError(Code.INTEGRITY_MISMATCH, message)
    commitment = None
    if "key_commitment" in encryption:
        commitment = decode_exactly(encryption, "key_commitment", KEY_BYTES)
    return CheckedEnvelope(
        info=info,
        sender_public_key=decode_exactly(encryption, "sender_public_key", KEY_BYTES),
        nonce=decode_exactly(encryption, "nonce", NONCE_BYTES),
        commitment=commitment,
        ciphertext=ciphertext,
        aad=_encode({k: v for k, v in envelope.items() if k not in _UNBOUND}),
        hash=envelope["hash"],
        size=size,
        signature=_signature(envelope),
    )


def envelope_signing_input(envelope: Mapping[str, Any]) -> bytes:
    """Return what the outer signature signs: the JCS bytes without `signature`.

    Raises:
        VerificationError: `SCHEMA_VIOLATION` if JCS cannot represent the envelope.
    """
    return _encode({k: v for k, v in envelope.items() if k != "signature"})


def check_info(
    envelope: Mapping[str, Any], encryption: Mapping[str, Any]
) -> EnvelopeInfo:
    """Return the clear members, the recipient's key id out of `encryption`.

    Raises:
        VerificationError: `SCHEMA_VIOLATION`.
    """
    if not _PAYLOAD_ID.fullmatch(_text(envelope, "payload_id")):
        raise _malformed("payload_id")
    if not _MEDIA_TYPE.fullmatch(_text(envelope, "format")):
        raise _malformed("format")
    try:
        parse_time(_text(envelope, "timestamp"))
    except LocalError as error:
        raise _malformed("timestamp") from error
    key_id = None
    if "recipient_key_id" in encryption:
        key_id = _identifier(encryption, "recipient_key_id")
    return EnvelopeInfo(
        payload_id=envelope["payload_id"],
        session_id=_identifier(envelope, "session_id"),
        agent_id=_identifier(envelope, "agent_id"),
        timestamp=envelope["timestamp"],
        format=envelope["format"],
        recipient_key_id=key_id,
    )


def decode_exactly(members: Mapping[str, Any], name: str, size: int) -> bytes:
    """Return a base64 member of exactly `size` bytes.

    Raises:
        VerificationError: `SCHEMA_VIOLATION`.
    """
    decoded = b64_decode_lenient(_text(members, name))
    if len(decoded) != size:
        raise _malformed(name)
    return decoded


def _signature(envelope: Mapping[str, Any]) -> EnvelopeSignature | None:
    if "signature" not in envelope:
        return None
    members = _members(envelope["signature"], _SIGNATURE_REQUIRED, frozenset())
    if _text(members, "algorithm") not in _SIGNATURE_LABELS:
        message = "The envelope is signed with an unknown algorithm."
        raise VerificationError(Code.UNSUPPORTED_ALGORITHM, message)
    return EnvelopeSignature(
        public_key_id=_identifier(members, "public_key_id"),
        value=decode_exactly(members, "signature_value", SIGNATURE_BYTES),
        signed=envelope_signing_input(envelope),
    )


def _members(
    value: object, required: frozenset[str], optional: frozenset[str]
) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise VerificationError(Code.SCHEMA_VIOLATION, "A part is not an object.")
    names = set(value)
    if not required <= names or not names <= required | optional:
        message = "The envelope lacks a member or has an unknown one."
        raise VerificationError(Code.SCHEMA_VIOLATION, message)
    return value


def _text(members: Mapping[str, Any], name: str) -> str:
    text = members[name]
    if not isinstance(text, str):
        raise _malformed(name)
    return text


def _identifier(members: Mapping[str, Any], name: str) -> str:
    text = _text(members, name)
    if not _TEXT.fullmatch(text):
        raise _malformed(name)
    return text


def _malformed(name: str) -> VerificationError:
    return VerificationError(Code.SCHEMA_VIOLATION, f"The member {name} is malformed.")


def _encode(value: dict[str, Any]) -> bytes:
    try:
        return encode(value)
    except LocalError as error:
        message = "The envelope cannot be written as canonical JSON."
        raise VerificationError(Code.SCHEMA_VIOLATION, message) from error
