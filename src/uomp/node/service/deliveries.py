"""A packet that arrives, by message or from a file, and the receipt for it."""

from datetime import timedelta
from typing import Any

import msgspec

from uomp.errors import Code, LocalError, PeerError, VerificationError
from uomp.node.core import Core
from uomp.node.keyring import Keyring
from uomp.node.service.checking import check_packet, reports
from uomp.node.service.incoming import Incoming
from uomp.node.service.outgoing import Draft, queue
from uomp.node.stores.audit import Entry
from uomp.node.stores.inbox import Received
from uomp.packets import canonical
from uomp.packets.nesting import check_reshare
from uomp.packets.receipts import build_receipt, verify_receipt
from uomp.packets.rules import Arrival, check_arrival, check_expiry
from uomp.packets.times import parse_time
from uomp.packets.verify import VerifiedPacket
from uomp.protocol.did.resolve import same_did, short_form
from uomp.protocol.messages import types
from uomp.protocol.messages.bodies import PayloadReady, ReceiptBody, parse_body

MAX_WAITING = 200  # packets of one peer that the owner has not decided on
INVITED_FOR = timedelta(days=7)  # after a question; a message lives no longer
BY_FILE = "file"  # the sender of a packet that the owner put in by hand


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    """How a packet came here."""

    message_id: str
    sender: str
    thread: str | None = None
    session_id: str | None = None


def on_delivery(core: Core, message: Incoming) -> None:
    """Take the packet of a `payload-ready` or a `deliver`, and send its receipt.

    Raises:
        UompError: the packet is not awaited, or cannot be read at all.
    """
    body = parse_body(message.body, PayloadReady)
    _require_invitation(core, message, body)
    data = _attached(message, body)
    origin = Origin(
        message_id=message.id,
        sender=message.peer,
        thread=message.thid,
        session_id=body.session_id,
    )
    try:
        received = take(core, data, origin)
    except VerificationError as error:
        event = msgspec.structs.replace(
            _failure(error, message.peer, body.hash),
            session_id=body.session_id or "none",
            detail={"packet_id": body.payload_id},
        )
        core.log(event)
        _receipt(core, message, body, data, error=error)
        _answer(core, message, "refused", {"code": error.code, "comment": str(error)})
        return
    status = "stored_opaque" if received.status == "opaque" else "accepted"
    _receipt(core, message, body, received.packet, status=status)
    answer = {"packet_hash": received.packet_hash, "packet_id": received.packet_id}
    _answer(core, message, "delivered", answer)


def _require_invitation(core: Core, message: Incoming, body: PayloadReady) -> None:
    """Strangers may send no packet uninvited (design section 4, floods)."""
    if core.inbox.waiting(message.peer) >= MAX_WAITING:
        raise PeerError(Code.QUOTA_EXCEEDED, "Too many packets of this peer wait.")
    peer = core.peers.get(message.frm)
    if peer is not None and peer.may_send:
        return
    asked = None if message.thid is None else core.asked.get(message.thid)
    if asked is not None and asked.peer == message.peer and asked.kind != "ping":
        age = core.now() - parse_time(asked.created_at)
        if age <= INVITED_FOR:
            return
    held = core.held.find(body.session_id or "", message.peer)
    if held is None or held.status != "active":
        raise PeerError(Code.NOT_AUTHORIZED, "A packet came that nobody asked for.")


def _attached(message: Incoming, body: PayloadReady) -> bytes:
    if body.mode != "inline" or len(message.attachments) != 1:
        raise PeerError(
            Code.INVALID_REQUEST, "A delivery has not exactly one attachment."
        )
    data = message.attachments[0].read()
    if canonical.sha256(data) != body.hash or len(data) != body.size:
        raise PeerError(
            Code.INTEGRITY_MISMATCH, "A packet is not the one that was announced."
        )
    return data


def take(core: Core, data: bytes, origin: Origin) -> Received:
    """Verify a packet and put it into the inbox.

    The same message again changes nothing, so that a crash in between does no harm.

    Raises:
        VerificationError: with the code of the first check that failed.
    """
    packets = check_packet(core, data)
    outer, innermost = packets[0], packets[-1]
    known = core.inbox.find(outer.signed_hash)
    if known is not None:
        if (known.message_id, known.sender) == (origin.message_id, origin.sender):
            _advance(core, outer)
            return known
        raise VerificationError(
            Code.REPLAY_DETECTED, "This packet is in the inbox already.", step="replay"
        )
    if origin.sender not in (BY_FILE, short_form(outer.signer_did)):
        check_reshare(outer, origin.sender, (core.did,), same_did)
    issuer = short_form(outer.signer_did)
    warnings = check_arrival(
        outer,
        Arrival(
            our_dids=tuple(core.our_dids()),
            now=core.now(),
            last=core.chains.last_received(issuer),
        ),
        same_did=same_did,
    )
    for inner in packets[1:]:
        check_expiry(inner, core.now())
    received = Received(
        packet_hash=outer.hash,
        signed_hash=outer.signed_hash,
        packet_id=outer.header.packet_id,
        message_id=origin.message_id,
        sender=origin.sender,
        issuer=short_form(innermost.signer_did),
        memory_type=innermost.header.memory_type,
        session_id=origin.session_id,
        thread=origin.thread,
        status="pending" if innermost.understood else "opaque",
        received_at=core.now_text(),
        report={"reports": reports(core, packets), "warnings": list(warnings)},
        packet=outer.canonical,
    )
    _keep(core, received)
    _advance(core, outer)
    return received


def _advance(core: Core, outer: VerifiedPacket) -> None:
    if outer.header.sequence is not None:
        issuer = short_form(outer.signer_did)
        core.chains.received(issuer, outer.header.sequence, outer.hash)


def _keep(core: Core, received: Received) -> None:
    with core.memory.transaction():
        core.inbox.add(received)
        core.log_memory(
            Entry(
                action="packet_received",
                allowed=True,
                reason="verified and in the inbox",
                session_id=received.session_id or "none",
                agent_id=received.issuer,
                peer=received.sender,
                packet_hash=received.packet_hash,
                request_size=len(received.packet),
            )
        )


def add_file(core: Core, text: str) -> dict[str, Any]:
    """Put a packet that came by another way into the inbox, after the same checks.

    Raises:
        VerificationError: with the code of the first check that failed.
    """
    data = text.encode()
    packet_hash = canonical.sha256(data)
    origin = Origin(message_id=packet_hash, sender=BY_FILE)
    try:
        with core.ledger.transaction():
            received = _take_file(core, data, origin)
    except VerificationError as error:
        with core.ledger.transaction():
            core.log(_failure(error, BY_FILE, packet_hash))
        raise
    return {"packet_id": received.packet_id, "packet_hash": received.packet_hash}


def _take_file(core: Core, data: bytes, origin: Origin) -> Received:
    packets = check_packet(core, data)
    if core.inbox.find(packets[0].signed_hash) is not None:
        raise VerificationError(
            Code.REPLAY_DETECTED, "This packet is in the inbox already.", step="replay"
        )
    return take(core, data, origin)


def _receipt(
    core: Core,
    message: Incoming,
    body: PayloadReady,
    data: bytes,
    *,
    status: str = "rejected",
    error: VerificationError | None = None,
) -> None:
    receipt = build_receipt(
        packet_id=body.payload_id,
        packet_hash=canonical.sha256(data),
        issuer=message.peer,
        receiver=core.identity.did,
        status=status,
        error=None if error is None else error.code.value,
        timestamp=core.now_text(),
        signer=core.packet_signer(),
    )
    queue(
        core,
        Draft(
            to=message.frm,
            type=types.HANDOFF_RECEIPT,
            body=ReceiptBody(receipt=receipt),
            thid=message.thread,
        ),
    )


def _answer(core: Core, message: Incoming, status: str, answer: dict[str, Any]) -> None:
    """Settle the read that this delivery answers, if there is one."""
    if message.thid is not None:
        core.asked.answer(message.thid, message.peer, status, answer, core.now_text())


def _failure(error: VerificationError, peer: str, packet_hash: str) -> Entry:
    """Return the security event of a packet that did not verify (PAM-4.1-7)."""
    return Entry(
        action="security_event",
        allowed=False,
        reason=f"{error.code} at {error.step or 'verification'}: {error}"[:500],
        peer=peer,
        packet_hash=packet_hash,
    )


def on_receipt(core: Core, message: Incoming) -> None:
    """Verify a receipt for a packet of ours and keep it.

    Raises:
        VerificationError: it is not signed by the peer that sent it.
    """
    value = parse_body(message.body, ReceiptBody).receipt
    receipt = verify_receipt(
        value, Keyring(core.resolve), now=core.now(), same_did=same_did
    )
    if short_form(receipt.receiver) != message.peer:
        raise VerificationError(
            Code.SIGNATURE_INVALID, "A receipt is of another than its sender."
        )
    if not core.handoffs.receipt(receipt.packet_hash, message.peer, value):
        raise LocalError(Code.PACKET_NOT_FOUND, "A receipt is for no packet of ours.")
    core.log(
        Entry(
            action="receipt_received",
            allowed=receipt.status != "rejected",
            reason=f"the peer's receipt says {receipt.status}",
            peer=message.peer,
            packet_hash=receipt.packet_hash,
        )
    )
