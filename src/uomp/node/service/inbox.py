"""The inbox: what accepting a packet would do, and doing it, all or nothing.

Receiving is not writing: nothing of a packet is memory before the owner accepts it
(DER-9). Accepted items are `source: "agent"` and never of high sensitivity (DER-10).
"""

from typing import Any, Literal

import msgspec

from uomp.errors import Code, LocalError
from uomp.node.core import Core
from uomp.node.service.checking import check_packet
from uomp.node.stores.audit import Entry
from uomp.node.stores.inbox import Lineage, Received
from uomp.packets.items import MemoryItem
from uomp.packets.payloads import render_payload
from uomp.packets.verify import VerifiedPacket

OnConflict = Literal["keep-both", "skip", "replace"]
What = Literal["new", "duplicate", "conflict", "forgotten by you"]


class Planned(msgspec.Struct, frozen=True, kw_only=True):
    """What accepting would do with one item; `under` is the key it would get."""

    item: MemoryItem
    position: int
    what: What
    under: str | None


def plan(core: Core, name: str, on_conflict: OnConflict) -> dict[str, Any]:
    """Return what accepting a packet would do; changes nothing.

    Raises:
        LocalError: `PACKET_NOT_FOUND`.
        VerificationError: the packet does not verify any more.
    """
    received = core.inbox.get(name)
    planned = _plan(core, received, on_conflict)
    return {
        "packet_id": received.packet_id,
        "packet_hash": received.packet_hash,
        "status": received.status,
        "items": [_describe(one) for one in planned],
    }


def accept(core: Core, name: str, on_conflict: OnConflict) -> dict[str, Any]:
    """Write a packet's items in one transaction, with their lineage.

    Raises:
        LocalError: `PACKET_NOT_FOUND`, or `STATE_CONFLICT` if it is settled already or
            holds nothing that this node understands.
    """
    received = core.inbox.get(name)
    if received.status == "opaque":
        raise LocalError(
            Code.STATE_CONFLICT,
            f"This node keeps {received.memory_type} but does not understand it.",
        )
    now = core.now_text()
    with core.memory.transaction():
        core.inbox.decide(received.packet_hash, "accepted", now)
        planned = _plan(core, received, on_conflict)
        written = [one for one in planned if one.under is not None]
        for one in written:
            number = core.items.put(_own(one, now))
            core.inbox.add_lineage(number, _lineage(received, one, now))
        core.log_memory(
            Entry(
                action="packet_accepted",
                allowed=True,
                reason="accepted by the owner",
                session_id=received.session_id or "none",
                agent_id=received.issuer,
                peer=received.sender,
                packet_hash=received.packet_hash,
                detail={"keys": [one.under for one in written][:100]},
            )
        )
    return {
        "packet_id": received.packet_id,
        "packet_hash": received.packet_hash,
        "written": len(written),
        "items": [_describe(one) for one in planned],
    }


def _plan(core: Core, received: Received, on_conflict: OnConflict) -> list[Planned]:
    innermost = check_packet(core, received.packet)[-1]
    return [
        _plan_item(core, item, position, received.packet_hash, on_conflict)
        for position, item in enumerate(_items(innermost))
    ]


def _items(packet: VerifiedPacket) -> list[MemoryItem]:
    """Return the packet's items; a packet not made of items is one item."""
    if packet.items is not None:
        return list(packet.items)
    return [
        MemoryItem(
            key=f"packet.{packet.header.packet_id}",
            value=packet.payload,
            tags=("handoff", packet.header.memory_type),
            sensitivity="low",
            source="agent",
            created_at=packet.header.timestamp,
            updated_at=packet.header.timestamp,
        )
    ]


def _plan_item(
    core: Core,
    item: MemoryItem,
    position: int,
    packet_hash: str,
    on_conflict: OnConflict,
) -> Planned:
    old = core.items.get(item.key)
    what: What
    under: str | None
    if core.items.is_forgotten(item):
        what, under = "forgotten by you", None
    elif old is None:
        what, under = "new", item.key
    elif old.value == item.value:
        what, under = "duplicate", None
    else:
        what = "conflict"
        under = _on_conflict(item.key, packet_hash, on_conflict)
    return Planned(item=item, position=position, what=what, under=under)


def _on_conflict(key: str, packet_hash: str, choice: OnConflict) -> str | None:
    match choice:
        case "skip":
            return None
        case "replace":
            return key
        case "keep-both":  # nothing is overwritten in silence
            return f"{key}~{packet_hash.removeprefix('sha256:')[:8]}"


def _own(planned: Planned, now: str) -> MemoryItem:
    item = planned.item
    return msgspec.structs.replace(
        item,
        key=planned.under or item.key,
        source="agent",
        sensitivity="medium" if item.sensitivity == "high" else item.sensitivity,
        updated_at=now,
    )


def _lineage(received: Received, planned: Planned, now: str) -> Lineage:
    return Lineage(
        packet_hash=received.packet_hash,
        position=planned.position,
        issuer=received.issuer,
        sender=received.sender,
        original_key=planned.item.key,
        accepted_at=now,
    )


def _describe(planned: Planned) -> dict[str, Any]:
    return {
        "key": planned.item.key,
        "as": planned.under,
        "what": planned.what,
        "sensitivity": planned.item.sensitivity,
        "position": planned.position,
    }


def reject(core: Core, name: str) -> dict[str, Any]:
    """Turn a packet down. It stays known, so that it is not taken again.

    Raises:
        LocalError: `PACKET_NOT_FOUND` or `STATE_CONFLICT`.
    """
    received = core.inbox.get(name)
    with core.memory.transaction():
        core.inbox.decide(received.packet_hash, "rejected", core.now_text())
        core.log_memory(
            Entry(
                action="packet_rejected",
                allowed=False,
                reason="rejected by the owner",
                session_id=received.session_id or "none",
                agent_id=received.issuer,
                peer=received.sender,
                packet_hash=received.packet_hash,
            )
        )
    return {"packet_id": received.packet_id, "status": "rejected"}


def listing(core: Core, *, every: bool) -> list[dict[str, Any]]:
    """Return packets, oldest first: those that wait, or all of them."""
    waiting = ("pending", "opaque")
    return [_summary(one) for one in core.inbox.all() if every or one.status in waiting]


def _summary(received: Received) -> dict[str, Any]:
    return {
        "packet_id": received.packet_id,
        "packet_hash": received.packet_hash,
        "memory_type": received.memory_type,
        "issuer": received.issuer,
        "sender": received.sender,
        "session_id": received.session_id,
        "status": received.status,
        "received_at": received.received_at,
        "size": len(received.packet),
    }


def show(core: Core, name: str) -> dict[str, Any]:
    """Return a packet whole: its reports, outer first, its text, and its bytes.

    Raises:
        LocalError: `PACKET_NOT_FOUND`.
    """
    received = core.inbox.get(name)
    innermost = check_packet(core, received.packet)[-1]
    return {
        **_summary(received),
        "reports": received.report["reports"],
        "warnings": received.report["warnings"],
        "text": render_payload(innermost.payload, innermost.fallback_text),
        "packet": received.packet.decode(),
    }


def why(core: Core, key: str) -> dict[str, Any]:
    """Say where an item came from.

    Raises:
        LocalError: `NOT_FOUND`.
    """
    item = core.items.get(key)
    if item is None:
        raise LocalError(Code.NOT_FOUND, f'There is no item "{key}".')
    lineage = core.inbox.lineage(key)
    origin = "accepted from a packet" if lineage else "written or imported by you"
    return {
        "key": key,
        "source": item.source,
        "origin": origin,
        "lineage": [msgspec.to_builtins(one) for one in lineage],
    }
