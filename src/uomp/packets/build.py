"""Making and signing packets."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from uomp.errors import Code, VerificationError
from uomp.packets import canonical, strict
from uomp.packets.encodings import GZIP, SEALED, compress
from uomp.packets.envelope import check_envelope
from uomp.packets.header import (
    Header,
    check_must_understand,
    check_version,
    read_attachments,
    read_header,
    violation,
)
from uomp.packets.items import MemoryItem
from uomp.packets.multibase import b64_encode
from uomp.packets.payloads import (
    CHECKERS,
    check_kind,
    check_payload,
    encode_payload,
    items_payload,
)
from uomp.packets.signing import ED25519, Signer

MAX_PACKET_BYTES: Final = strict.MAX_BYTES
_MAX_SIGNATURE_BYTES: Final = 16 << 10  # its key id may hold a long-form DID

# What a signature covers, in this order; the last two whenever they are there.
ALWAYS_SIGNED: Final = ("header", "integrity_hash")
SIGNED_IF_THERE: Final = ("attachments", "fallback_text_representation")


class PacketDraft(msgspec.Struct, frozen=True, kw_only=True):
    """A packet before it is signed.

    `header` is JSON without `items_root`. Either `payload` is given, or `items` with
    `items_seed` (32 fresh random bytes). For a `payload_encoding` of
    `base64_encoded_gzip` the payload is given in clear and compressed here; for
    `x25519_aes256gcm` it is the sealed envelope.
    """

    header: Mapping[str, Any]
    payload: Any = None
    items: Sequence[MemoryItem] | None = None
    items_seed: bytes = b""
    attachments: Sequence[Mapping[str, Any]] | None = None
    fallback_text: str | None = None


def signed_names(packet: Mapping[str, Any]) -> list[str]:
    """Return the names of the parts that the signature of this packet must cover."""
    return [*ALWAYS_SIGNED, *(name for name in SIGNED_IF_THERE if name in packet)]


def signing_input(packet: Mapping[str, Any]) -> bytes:
    """Return the bytes that are signed: JCS of an object with the signed parts."""
    return canonical.encode({name: packet[name] for name in signed_names(packet)})


def build_packet(draft: PacketDraft, signer: Signer) -> dict[str, Any]:
    """Make and sign a packet.

    Raises:
        VerificationError: with the code of the check that it would fail.
        CanonicalError: if it holds what JCS cannot write.
    """
    header = dict(draft.header)
    payload = draft.payload
    if draft.items is not None:
        payload = items_payload(draft.items, draft.items_seed)
    of_items = draft.items is not None or str(header.get("memory_type")) in CHECKERS
    written, root = encode_payload(payload, made_of_items=of_items)
    if root is not None:
        header["items_root"] = root
    typed = _check_header(header)
    if typed.payload_encoding == SEALED:
        _check_sealed(draft)
    else:
        _check_payload(typed, payload)
    if typed.payload_encoding == GZIP:
        payload = compress(payload)
        written = canonical.encode(payload)
    packet: dict[str, Any] = {
        "header": header,
        "payload": payload,
        "integrity_hash": canonical.sha256(written),
        **_extras(draft),
    }
    signed = signing_input(packet)
    packet["signature"] = {
        "algorithm": ED25519,
        "public_key_id": signer.key_id,
        "signature_value": b64_encode(signer.sign(signed)),
        "signed_data": signed_names(packet),
    }
    if len(signed) + len(written) > MAX_PACKET_BYTES - _MAX_SIGNATURE_BYTES:
        raise VerificationError(Code.PACKET_TOO_LARGE, "The packet is too large.")
    return packet


def _check_header(header: dict[str, Any]) -> Header:
    typed = read_header(header)
    check_version(typed.protocol_version)
    check_must_understand(typed)
    check_kind(typed)
    return typed


def _check_payload(header: Header, payload: object) -> None:
    if not is_nested(payload) and header.memory_type in CHECKERS:
        made_of_items = check_payload(header.memory_type, payload) is not None
        if made_of_items != (header.items_root is not None):
            raise violation("a root and items come together")


def _check_sealed(draft: PacketDraft) -> None:
    check_envelope(draft.payload)
    if draft.fallback_text is not None:  # its place is in the envelope
        raise violation("a sealed payload has its text in clear beside it")


def _extras(draft: PacketDraft) -> dict[str, Any]:
    made: dict[str, Any] = {}
    if draft.attachments is not None:
        made["attachments"] = [dict(one) for one in draft.attachments]
        read_attachments(made["attachments"])
    if draft.fallback_text is not None:
        made["fallback_text_representation"] = draft.fallback_text
    return made


def is_nested(payload: object) -> bool:
    """Say whether a payload holds another packet, handed on unaltered."""
    if not isinstance(payload, dict) or set(payload) != {"packet"}:
        return False
    inner = payload["packet"]
    return isinstance(inner, dict) and {"header", "signature"} <= set(inner)
