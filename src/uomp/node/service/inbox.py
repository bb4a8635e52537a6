"""The inbox: what accepting a packet would do, and doing it, all or nothing.

Receiving is not writing: nothing of a packet is memory before the owner accepts it
(DER-9). Accepted items are `source: "agent"` and never of high sensitivity (DER-10).
"""

from collections.abc import Collection
from itertools import chain, count
from typing import Any, Literal

import msgspec

from uomp.errors import Code, LocalError
from uomp.node.core import Core
from uomp.node.service.checking import check_packet
from uomp.node.stores.audit import Entry
from uomp.node.stores.inbox import Lineage, Received
from uomp.node.stores.memory import same_value
from uomp.packets.items import MAX_KEY_BYTES, MemoryItem, check_key
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
    innermost = check_packet(core, received.packet, received.received_at)[-1]
    planned: list[Planned] = []
    written: dict[str, MemoryItem] = {}
    for position, item in enumerate(_items(innermost)):
        # What an earlier item of the same packet would write counts as there.
        old = written.get(item.key) or core.items.get(item.key)
        what = _compare(core, item, old)
        under = item.key if what == "new" else None
        if what == "conflict":
            # What agents bring never takes the place of a high item (UOMP-11.3-3).
            high = old is not None and old.sensitivity == "high"
            choice = "keep-both" if high and on_conflict == "replace" else on_conflict
            under = _on_conflict(core, received, written, item.key, choice)
        if under is not None:
            written[under] = item
        planned.append(Planned(item=item, position=position, what=what, under=under))
    return planned


def _items(packet: VerifiedPacket) -> list[MemoryItem]:
    """Return the packet's items; a packet not made of items is one item."""
    if packet.items is not None:
        return list(packet.items)
    return [
        MemoryItem(
            key=_packet_key(packet),
            value=packet.payload,
            tags=("handoff", packet.header.memory_type),
            sensitivity="low",
            source="agent",
            created_at=packet.header.timestamp,
            updated_at=packet.header.timestamp,
        )
    ]


def _packet_key(packet: VerifiedPacket) -> str:
    """Name a packet's item by the packet's id, or its hash where that is no name."""
    key = f"packet.{packet.header.packet_id}"
    try:
        check_key(key)
    except LocalError:
        return f"packet.{packet.hash.removeprefix('sha256:')[:16]}"
    return key


def _compare(core: Core, item: MemoryItem, old: MemoryItem | None) -> What:
    if core.items.is_forgotten(item):
        return "forgotten by you"
    if old is None:
        return "new"
    return "duplicate" if same_value(old, item) else "conflict"


def _on_conflict(
    core: Core,
    received: Received,
    written: Collection[str],
    key: str,
    choice: OnConflict,
) -> str | None:
    if choice == "skip":
        return None
    if choice == "replace":
        return key
    # Nothing is overwritten in silence, and the new key has a key's length.
    mark = f"~{received.packet_hash.removeprefix('sha256:')[:8]}"
    short = key.encode()[: MAX_KEY_BYTES - len(mark) - 6].decode(errors="ignore")
    more = (f"-{number}" for number in count(2))
    names = (f"{short}{mark}{end}" for end in chain([""], more))
    return next(
        one for one in names if one not in written and core.items.get(one) is None
    )


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
    innermost = check_packet(core, received.packet, received.received_at)[-1]
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
