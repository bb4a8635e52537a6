"""A packet that arrives, by message or from a file, and the receipt for it."""

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
from uomp.packets.receipts import build_receipt, verify_receipt
from uomp.packets.rules import Arrival, check_arrival
from uomp.packets.verify import VerifiedPacket
from uomp.protocol.did.resolve import same_did, short_form
from uomp.protocol.messages import types
from uomp.protocol.messages.bodies import PayloadReady, ReceiptBody, parse_body

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
        _log_failure(core, message, body, error)
        _receipt(core, message, body, data, error=error)
        _answer(core, message, "refused", {"code": error.code, "comment": str(error)})
        return
    _receipt(core, message, body, data, status=_STATUS[received.status])
    answer = {"packet_hash": received.packet_hash, "packet_id": received.packet_id}
    _answer(core, message, "delivered", answer)


_STATUS = {"pending": "accepted", "opaque": "stored_opaque"}


def _require_invitation(core: Core, message: Incoming, body: PayloadReady) -> None:
    """Strangers may send no packet uninvited (design section 4, floods)."""
    peer = core.peers.get(message.frm)
    if peer is not None and peer.may_send:
        return
    if core.asked.expects(message.thid, message.peer):
        return
    held = core.held.find(body.session_id or "", message.peer)
    if held is None:
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
    known = core.inbox.find(outer.hash)
    if known is not None:
        if known.message_id == origin.message_id:
            _advance(core, outer)
            return known
        raise VerificationError(
            Code.REPLAY_DETECTED, "This packet is in the inbox already.", step="replay"
        )
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
    received = Received(
        packet_hash=outer.hash,
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
    origin = Origin(message_id=canonical.sha256(data), sender=BY_FILE)
    with core.ledger.transaction():
        packets = check_packet(core, data)
        if core.inbox.find(packets[0].hash) is not None:
            raise VerificationError(
                Code.REPLAY_DETECTED,
                "This packet is in the inbox already.",
                step="replay",
            )
        received = take(core, data, origin)
    return {"packet_id": received.packet_id, "packet_hash": received.packet_hash}


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


def _log_failure(
    core: Core, message: Incoming, body: PayloadReady, error: VerificationError
) -> None:
    core.log(
        Entry(
            action="security_event",
            allowed=False,
            reason=f"{error.code} at {error.step or 'verification'}: {error}"[:500],
            session_id=body.session_id or "none",
            peer=message.peer,
            packet_hash=body.hash[:80],
            detail={"packet_id": body.payload_id[:200]},
        )
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
