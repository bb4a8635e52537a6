"""Packets and sealed envelopes as files: `uomp packet make|seal|open`."""

from typing import Any

import msgspec
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from uomp.errors import Code, LocalError, VerificationError
from uomp.node.clock import new_id, random_bytes
from uomp.node.core import Core
from uomp.node.service import grants
from uomp.node.service.asking import find_peer
from uomp.node.service.handoffs import base_header, items_packet, resharing
from uomp.node.service.packing import recipients_of
from uomp.node.stores.audit import Entry
from uomp.packets import canonical, sealing, strict
from uomp.packets.build import PacketDraft, build_packet
from uomp.packets.multibase import b64_decode, b64_encode
from uomp.protocol.did.resolve import did_of, short_form
from uomp.protocol.scope import Scope

NONCE_BYTES = 12


class Making(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to put into a packet: items of ours, or a text."""

    keys: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    text: str | None = None
    to: str | None = None
    intent: str = ""
    reshare: str | tuple[str, ...] = "none"


class Sealing(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Bytes to seal, as base64, for the owner of a DID. `format` is a media type."""

    data: str
    to: str
    format: str = "application/uomp-packet+json"
    session_id: str = "none"


class Opening(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A sealed envelope as JSON text."""

    envelope: str
    allow_uncommitted: bool = False


def make(core: Core, making: Making) -> dict[str, Any]:
    """Make and sign a packet, and return it.

    Raises:
        LocalError: `INVALID_REQUEST` or `NOT_FOUND`.
    """
    with core.ledger.transaction():
        packet = (
            _text(core, making) if making.text is not None else _items(core, making)
        )
        packet_hash = canonical.digest(packet)
        if making.to is not None:
            audience = short_form(find_peer(core, making.to))
            core.chains.sent(audience, packet["header"]["sequence"], packet_hash)
        core.log(
            Entry(
                action="packet_made",
                allowed=True,
                reason="made by the owner",
                session_id="owner",
                agent_id="owner",
                tags=making.tags,
                packet_hash=packet_hash,
            )
        )
    return {"packet": packet, "packet_hash": packet_hash}


def _items(core: Core, making: Making) -> dict[str, Any]:
    items = grants.exposed(core, Scope(keys=making.keys, tags=making.tags))
    if not items:
        raise LocalError(Code.NOT_FOUND, "No item has that key or tag.")
    to = None if making.to is None else short_form(find_peer(core, making.to))
    return items_packet(
        core, items, to=to, intent=making.intent, reshare=making.reshare
    )


def _text(core: Core, making: Making) -> dict[str, Any]:
    if making.keys or making.tags:
        raise LocalError(Code.INVALID_REQUEST, "Give either a text or keys and tags.")
    to = None if making.to is None else short_form(find_peer(core, making.to))
    header = {
        **base_header(core, to, making.intent),
        "memory_type": "basic_plain_text",
        "reshare": resharing(core, making.reshare),
    }
    draft = PacketDraft(header=header, payload={"text": making.text})
    return build_packet(draft, core.packet_signer())


def seal_for(core: Core, wish: Sealing) -> dict[str, Any]:
    """Seal bytes for the owner of a DID; the envelope is signed by us outside.

    Raises:
        PeerError: `DID_NOT_RESOLVED` or `KEY_NOT_FOUND`.
    """
    document = core.resolve(find_peer(core, wish.to))
    receiver = recipients_of(document)[0]
    info = sealing.EnvelopeInfo(
        payload_id=new_id("pay"),
        session_id=wish.session_id,
        agent_id=core.did,
        timestamp=core.now_text(),
        format=wish.format,
        recipient_key_id=receiver.kid,
    )
    envelope = sealing.seal(
        b64_decode(wish.data),
        info,
        recipient=receiver.public,
        ephemeral=X25519PrivateKey.generate(),
        nonce=random_bytes(NONCE_BYTES),
    )
    return {"envelope": sealing.attach_signature(envelope, core.packet_signer())}


def open_envelope(core: Core, wish: Opening) -> dict[str, Any]:
    """Open an envelope sealed for us; its outer signature is checked first.

    Raises:
        VerificationError: with the code of the check that failed.
    """
    value = strict.loads(wish.envelope.encode()).value
    checked = sealing.check_envelope(value)
    signer = None
    if checked.signature is not None:
        key_id = checked.signature.public_key_id
        signer = did_of(key_id)
        key = core.resolve(signer).signing_key(key_id)
        sealing.verify_envelope_signature(checked, key)
        if not _same_agent(signer, value):
            raise VerificationError(
                Code.SIGNATURE_INVALID,
                "The envelope is signed by another than its agent.",
            )
    plain = sealing.open_sealed(
        checked,
        core.identity.keys.agreement,
        allow_uncommitted=wish.allow_uncommitted,
    )
    return {
        "data": b64_encode(plain),
        "format": value["format"],
        "signed_by": signer,
        "payload_id": value["payload_id"],
    }


def _same_agent(signer: str, value: dict[str, Any]) -> bool:
    agent = str(value.get("agent_id"))
    return not agent.startswith("did:") or short_form(agent) == short_form(signer)
