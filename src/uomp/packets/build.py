"""Making and signing packets."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from uomp.packets import canonical
from uomp.packets.header import Attachments, convert, read_header
from uomp.packets.items import MemoryItem
from uomp.packets.multibase import b64_encode
from uomp.packets.payloads import CHECKERS, check_payload, items_payload, items_root
from uomp.packets.signing import ED25519, Signer

# What a signature covers, in this order; the last two whenever they are there.
ALWAYS_SIGNED: Final = ("header", "integrity_hash")
SIGNED_IF_THERE: Final = ("attachments", "fallback_text_representation")


class PacketDraft(msgspec.Struct, frozen=True, kw_only=True):
    """A packet before it is signed.

    `header` is JSON without `items_root`. Either `payload` is given, or `items` with
    `items_seed` (32 fresh random bytes).
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
        VerificationError: `SCHEMA_VIOLATION`, if it would not verify.
        CanonicalError: if it holds what JCS cannot write.
    """
    header = dict(draft.header)
    payload = draft.payload
    if draft.items is not None:
        payload = items_payload(draft.items, draft.items_seed)
        header["items_root"] = items_root(payload)
    typed = read_header(header)
    plain = typed.payload_encoding == "raw_json"
    if plain and typed.memory_type in CHECKERS and not is_nested(payload):
        check_payload(typed.memory_type, payload)
    packet: dict[str, Any] = {
        "header": header,
        "payload": payload,
        "integrity_hash": canonical.digest(payload),
    }
    if draft.attachments is not None:
        convert(draft.attachments, Attachments, "attachments")
        packet["attachments"] = [dict(one) for one in draft.attachments]
    if draft.fallback_text is not None:
        packet["fallback_text_representation"] = draft.fallback_text
    packet["signature"] = {
        "algorithm": ED25519,
        "public_key_id": signer.key_id,
        "signature_value": b64_encode(signer.sign(signing_input(packet))),
        "signed_data": signed_names(packet),
    }
    return packet


def is_nested(payload: object) -> bool:
    """Say whether a payload holds another packet, handed on unaltered."""
    return isinstance(payload, dict) and set(payload) == {"packet"}
