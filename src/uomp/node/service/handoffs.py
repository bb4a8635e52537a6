"""Packets that leave: with a grant, as the answer to a read, or by the owner's hand."""

from typing import Any

import msgspec

from uomp.errors import Code, LocalError
from uomp.node.clock import new_id, random_bytes
from uomp.node.core import Core
from uomp.node.service import grants
from uomp.node.service.asking import find_peer
from uomp.node.service.checking import check_packet
from uomp.node.service.outgoing import Draft, queue
from uomp.node.service.packing import PACKET_MEDIA_TYPE
from uomp.node.service.sessions import describe
from uomp.node.stores.audit import Entry
from uomp.node.stores.handoffs import Handoff
from uomp.node.stores.sessions import SessionRecord
from uomp.packets import canonical
from uomp.packets.build import PacketDraft, build_packet
from uomp.packets.items import MemoryItem
from uomp.packets.nesting import hand_on
from uomp.protocol.did.resolve import same_did, short_form
from uomp.protocol.messages import types
from uomp.protocol.messages.bodies import PayloadReady
from uomp.protocol.scope import Scope, parse_scopes

SEED_BYTES = 32


class Sending(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the owner hands over: a packet of the inbox, or items of ours."""

    to: str
    packet: str | None = None
    keys: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    intent: str = ""
    reshare: str | tuple[str, ...] = "none"


class Outbound(msgspec.Struct, frozen=True, kw_only=True):
    """A packet that is ready, and the message that carries it."""

    to: str
    packet: dict[str, Any]
    items: int
    message_type: str
    thid: str | None = None
    session_id: str | None = None
    inner_hash: str | None = None
    intent: str = ""


def approve(core: Core, request_id: str, selection: grants.Selection) -> dict[str, Any]:
    """Grant a request and send the packet of what was granted.

    Raises:
        LocalError: `NOT_FOUND` or `STATE_CONFLICT`; nothing has changed then.
    """
    with core.ledger.transaction():
        request = core.requests.get(request_id)
        record = grants.grant(core, request, selection)
        sent = (
            _send_granted(core, record, request.message_id) if selection.packet else {}
        )
    return {"session": describe(record), "packet": sent or None}


def _send_granted(
    core: Core, record: SessionRecord, thread: str
) -> dict[str, Any] | None:
    """Send what the grant covers now, if it is something and fits into a message.

    A packet that is too large is not made: the agent reads within the session instead.
    """
    items = grants.exposed(core, parse_scopes(record.granted_scopes).read)
    if not items:
        return None
    try:
        return send_out(
            core,
            Outbound(
                to=record.agent_did,
                packet=items_packet(core, items, to=record.agent_did, session=record),
                items=len(items),
                message_type=types.PAYLOAD_READY,
                thid=thread,
                session_id=record.session_id,
            ),
        )
    except LocalError as error:
        if error.code is not Code.PACKET_TOO_LARGE:
            raise
        return {"too_large": True, "items": len(items)}


def items_packet(
    core: Core,
    items: list[MemoryItem],
    *,
    to: str | None,
    session: SessionRecord | None = None,
    intent: str = "",
    reshare: str | tuple[str, ...] = "none",
) -> dict[str, Any]:
    """Make the signed packet of these items, for one audience or for nobody in special.

    Runs in the ledger's open transaction: it takes the next place in the chain.
    """
    header = {
        **base_header(core, to, intent),
        "memory_type": _memory_type(items),
        "reshare": resharing(core, session.reshare if session else reshare),
    }
    if session is not None:
        header["session_id"] = session.session_id
        header["uomp_session_id"] = session.session_id
        header["grant"] = {"session_id": session.session_id, "jti": session.jti}
    draft = PacketDraft(
        header=header, items=tuple(items), items_seed=random_bytes(SEED_BYTES)
    )
    return build_packet(draft, core.packet_signer())


def base_header(core: Core, to: str | None, intent: str) -> dict[str, Any]:
    """Return the header members that every packet of ours has.

    With an audience come its place in the chain of packets for that audience.
    """
    made: dict[str, Any] = {
        "protocol_version": "1.0",
        "packet_id": new_id("mem"),
        "agent_id": core.identity.did,
        "session_id": new_id("sess"),
        "timestamp": core.now_text(),
    }
    if core.config.node.name:
        made["agent_name"] = core.config.node.name
    if intent:
        made["intent"] = intent
    if to is not None:
        sequence, previous = core.chains.last_sent(short_form(to))
        made["audience"] = [short_form(to)]
        made["sequence"] = sequence + 1
        made["previous"] = previous
    return made


def _memory_type(items: list[MemoryItem]) -> str:
    """Conversations travel as such; anything else makes the packet a set of facts."""
    chats = all(
        isinstance(item.value, dict) and isinstance(item.value.get("messages"), list)
        for item in items
    )
    return "conversation_history" if chats and items else "knowledge_snippet"


def resharing(core: Core, reshare: str | tuple[str, ...] | list[str]) -> Any:  # noqa: ANN401
    """Return the header's `reshare` for the owner's wish: none, any, or some peers."""
    if reshare in ("none", "any"):
        return reshare
    names = [reshare] if isinstance(reshare, str) else list(reshare)
    return {"named": [short_form(find_peer(core, name)) for name in names]}


def send(core: Core, sending: Sending) -> dict[str, Any]:
    """Hand memory to a peer as the owner's own act.

    Raises:
        LocalError: `PACKET_NOT_FOUND`, `NOT_FOUND`, or `INVALID_REQUEST`.
        VerificationError: `RESHARE_REFUSED`, if the packet may not be passed on.
    """
    to = find_peer(core, sending.to)
    with core.ledger.transaction():
        core.peers.see(to, core.now_text())
        if sending.packet is not None:
            outbound = _hand_on(core, sending, to)
        else:
            outbound = _hand_over(core, sending, to)
        return send_out(core, outbound)


def _hand_over(core: Core, sending: Sending, to: str) -> Outbound:
    scope = Scope(keys=sending.keys, tags=sending.tags)
    items = grants.exposed(core, scope)
    if not items:
        raise LocalError(Code.NOT_FOUND, "No item has that key or tag.")
    packet = items_packet(
        core,
        items,
        to=short_form(to),
        intent=sending.intent,
        reshare=sending.reshare,
    )
    return Outbound(
        to=to,
        packet=packet,
        items=len(items),
        message_type=types.HANDOFF_DELIVER,
        intent=sending.intent,
    )


def _hand_on(core: Core, sending: Sending, to: str) -> Outbound:
    received = core.inbox.get(sending.packet or "")
    if received.status == "rejected":
        raise LocalError(Code.STATE_CONFLICT, "This packet was rejected here.")
    outer = check_packet(core, received.packet, received.received_at)[0]
    header = {
        **base_header(core, to, sending.intent),
        "memory_type": outer.header.memory_type,
        "reshare": resharing(core, sending.reshare),
    }
    draft = hand_on(outer, header, receiver=to, same_did=same_did)
    return Outbound(
        to=to,
        packet=build_packet(draft, core.packet_signer()),
        items=1,
        message_type=types.HANDOFF_DELIVER,
        inner_hash=received.packet_hash,
        intent=sending.intent,
    )


def send_out(core: Core, outbound: Outbound) -> dict[str, Any]:
    """Queue a packet, record it and take its place in the chain.

    Runs in the ledger's open transaction.

    Raises:
        LocalError: `PACKET_TOO_LARGE`.
    """
    data = canonical.encode(outbound.packet)
    most = largest(core)
    if len(data) > most:
        raise LocalError(
            Code.PACKET_TOO_LARGE, f"The packet has {len(data)} bytes; {most} fit."
        )
    header, packet_hash = outbound.packet["header"], canonical.sha256(data)
    audience = short_form(outbound.to)
    message_id = queue(core, _message(outbound, data, packet_hash))
    core.chains.sent(audience, header["sequence"], packet_hash)
    handoff = Handoff(
        packet_hash=packet_hash,
        packet_id=header["packet_id"],
        peer=audience,
        message_id=message_id,
        session_id=outbound.session_id,
        memory_type=header["memory_type"],
        items=outbound.items,
        size=len(data),
        inner_hash=outbound.inner_hash,
        sent_at=core.now_text(),
    )
    core.handoffs.add(handoff)
    core.log(
        Entry(
            action="packet_sent",
            allowed=True,
            reason="granted" if outbound.session_id else "handed over by the owner",
            session_id=outbound.session_id or "none",
            agent_id=audience,
            peer=audience,
            packet_hash=packet_hash,
            response_size=len(data),
            detail={"packet_id": handoff.packet_id, "items": outbound.items},
        )
    )
    return _describe(handoff)


def largest(core: Core) -> int:
    """Return how many bytes a packet may have, so that its message can be taken."""
    return core.config.didcomm.max_message_bytes // 2  # base64 twice adds 78 %


def _message(outbound: Outbound, data: bytes, packet_hash: str) -> Draft:
    return Draft(
        to=outbound.to,
        type=outbound.message_type,
        body=PayloadReady(
            payload_id=outbound.packet["header"]["packet_id"],
            hash=packet_hash,
            size=len(data),
            format=PACKET_MEDIA_TYPE,
            mode="inline",
            session_id=outbound.session_id,
            intent=outbound.intent,
        ),
        thid=outbound.thid,
        session_id=outbound.session_id,
        attachment=data,
    )


def listing(core: Core) -> list[dict[str, Any]]:
    """Return what was handed over, oldest first."""
    return [_describe(one) for one in core.handoffs.all()]


def show(core: Core, packet: str) -> list[dict[str, Any]]:
    """Return the handoffs of one packet with their receipts.

    Raises:
        LocalError: `PACKET_NOT_FOUND`.
    """
    return [_describe(one) for one in core.handoffs.get(packet)]


def _describe(handoff: Handoff) -> dict[str, Any]:
    made: dict[str, Any] = msgspec.to_builtins(handoff)
    return made
