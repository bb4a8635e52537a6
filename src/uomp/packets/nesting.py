"""Handing a packet on: unaltered, inside one of one's own.

The outer packet's payload is `{"packet": <inner packet>}`, its memory type that of the
inner one, and the last link of its `source_chain` names the inner packet's hash. Each
packet is verified by itself, and each inner one must allow to be passed on.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

import msgspec

from uomp.errors import Code, VerificationError
from uomp.packets import canonical
from uomp.packets.build import PacketDraft, is_nested
from uomp.packets.header import Link, Named, violation
from uomp.packets.verify import KeyResolver, SameDid, VerifiedPacket, verify_packet

MAX_DEPTH: Final = 4  # packets inside one another


def hand_on(
    inner: VerifiedPacket,
    header: dict[str, Any],
    *,
    receiver: str,
    same_did: SameDid,
) -> PacketDraft:
    """Return the draft of a packet that hands `inner` on to `receiver`.

    `header` is that of the new packet, without `source_chain`.

    Raises:
        VerificationError: `RESHARE_REFUSED`.
    """
    check_reshare(inner, str(header["agent_id"]), (receiver,), same_did)
    link = Link(
        agent_id=inner.signer_did,
        packet_hash=inner.hash,
        timestamp=inner.header.timestamp,
    )
    chain = [*inner.header.source_chain, link]
    made = {
        **header,
        "memory_type": inner.header.memory_type,
        "source_chain": [msgspec.to_builtins(one) for one in chain],
    }
    return PacketDraft(
        header=made,
        payload={"packet": inner.value},
        fallback_text=inner.fallback_text,
    )


def check_reshare(
    packet: VerifiedPacket,
    sharer: str,
    receivers: tuple[str, ...],
    same_did: SameDid,
) -> None:
    """Refuse to pass a packet on to whom its issuer has not allowed.

    The issuer may always pass on its own.

    Raises:
        VerificationError: `RESHARE_REFUSED`.
    """
    allowed = packet.header.reshare
    if allowed == "any" or same_did(sharer, packet.signer_did):
        return
    named = allowed.named if isinstance(allowed, Named) else ()
    for receiver in receivers:
        if not any(same_did(receiver, one) for one in named):
            break
    else:
        if receivers:
            return
    raise VerificationError(
        Code.RESHARE_REFUSED,
        "The issuer of the packet has not allowed it to be passed on.",
        step="reshare",
    )


def verify_nested(
    data: bytes,
    keys: KeyResolver,
    *,
    now: datetime,
    same_did: SameDid,
) -> list[VerifiedPacket]:
    """Verify a packet and those inside it; return them, outermost first.

    Raises:
        VerificationError: with the code and the step of the first check that failed.
    """
    found = [verify_packet(data, keys, now=now, same_did=same_did)]
    while is_nested(found[-1].payload):
        outer = found[-1]
        if len(found) == MAX_DEPTH:
            raise violation("too many packets are inside one another")
        inner = _open(outer, keys, now, same_did)
        check_reshare(inner, outer.signer_did, outer.header.audiences(), same_did)
        found.append(inner)
    return found


def _open(
    outer: VerifiedPacket,
    keys: KeyResolver,
    now: datetime,
    same_did: Callable[[str, str], bool],
) -> VerifiedPacket:
    inner_bytes = canonical.encode(outer.payload["packet"])
    inner = verify_packet(inner_bytes, keys, now=now, same_did=same_did)
    chain = outer.header.source_chain
    if not chain or chain[-1].packet_hash != inner.hash:
        raise violation("the source chain does not name the packet inside")
    if not same_did(chain[-1].agent_id, inner.signer_did):
        raise violation("the source chain names another issuer of the packet inside")
    if inner.header.memory_type != outer.header.memory_type:
        raise violation("the packet inside is of another memory type")
    return inner
