"""Handing a packet on: unaltered, inside one of one's own.

The outer packet's payload is `{"packet": <inner packet>}`, its memory type that of the
inner one, and the last link of its `source_chain` names the inner packet's hash. Each
packet is verified by itself, and each inner one must allow to be passed on.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

import msgspec

from uomp.errors import Code, VerificationError
from uomp.packets import canonical
from uomp.packets.build import PacketDraft, is_nested
from uomp.packets.encodings import GZIP, decompress
from uomp.packets.header import Header, Link, Named, read_header, violation
from uomp.packets.issuers import KeyResolver, SameDid, equal_dids
from uomp.packets.verify import VerifiedPacket, verify_packet

MAX_DEPTH: Final = 4  # packets inside one another


def hand_on(
    inner: VerifiedPacket,
    header: dict[str, Any],
    *,
    receiver: str,
    same_did: SameDid = equal_dids,
) -> PacketDraft:
    """Return the draft of a packet that hands `inner` on to `receiver`.

    `header` is that of the new packet, without `source_chain`. Whoever made `inner`,
    and whoever made a packet inside it, must allow this.

    Raises:
        VerificationError: `RESHARE_REFUSED`, or `SCHEMA_VIOLATION` where there would be
            too many packets inside one another.
    """
    inside = [inner.header, *_headers_inside(inner)]
    for one in inside:
        _check_leave(one, str(header["agent_id"]), (receiver,), same_did)
    if len(inside) == MAX_DEPTH:
        raise _too_deep()
    made = {
        **header,
        "memory_type": inner.header.memory_type,
        "source_chain": msgspec.to_builtins(extend_chain(inner)),
    }
    if inner.header.schema_uri is not None:  # a custom type is nothing without it
        made["schema_uri"] = inner.header.schema_uri
    return PacketDraft(
        header=made,
        payload={"packet": inner.value},
        fallback_text=inner.fallback_text,
    )


def extend_chain(inner: VerifiedPacket) -> tuple[Link, ...]:
    """Return the `source_chain` of a packet that is made from `inner` (A-105).

    Links are claims of who wrote them, but for the last one where the packet that it
    names is inside.
    """
    link = Link(
        agent_id=inner.signer_did,
        packet_hash=inner.hash,
        timestamp=inner.header.timestamp,
    )
    return (*inner.header.source_chain, link)


def _headers_inside(packet: VerifiedPacket) -> Iterator[Header]:
    """Yield the headers of the packets inside, outer first.

    They are read as they are written: `verify_nested` has verified them, and a changed
    one would be refused by the receiver.
    """
    payload = packet.payload
    while is_nested(payload):
        inner = payload["packet"]
        header = read_header(inner["header"])
        yield header
        payload = inner.get("payload")
        if header.payload_encoding == GZIP:
            payload = decompress(payload)


def check_reshare(
    packet: VerifiedPacket,
    sharer: str,
    receivers: tuple[str, ...],
    same_did: SameDid = equal_dids,
) -> None:
    """Refuse to pass a packet on to whom its issuer has not allowed.

    The issuer may always pass on its own.

    Raises:
        VerificationError: `RESHARE_REFUSED`.
    """
    _check_leave(packet.header, sharer, receivers, same_did)


def _check_leave(
    header: Header, sharer: str, receivers: tuple[str, ...], same_did: SameDid
) -> None:
    allowed = header.reshare
    if allowed == "any" or same_did(sharer, header.agent_id):
        return
    named = allowed.named if isinstance(allowed, Named) else ()
    # Without an audience a packet is for anyone, and nobody can name that.
    if receivers and all(
        any(same_did(receiver, one) for one in named) for receiver in receivers
    ):
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
    same_did: SameDid = equal_dids,
    seen_at: datetime | None = None,
) -> list[VerifiedPacket]:
    """Verify a packet and those inside it; return them, outermost first.

    Each one must allow everybody around it to pass it on to their audience. The
    arguments are those of `verify_packet`.

    Raises:
        VerificationError: with the code and the step of the first check that failed.
    """

    def verify(data: bytes) -> VerifiedPacket:
        return verify_packet(data, keys, now=now, same_did=same_did, seen_at=seen_at)

    found = [verify(data)]
    while is_nested(found[-1].payload):
        if len(found) == MAX_DEPTH:
            raise _too_deep()
        inner = verify(canonical.encode(found[-1].payload["packet"]))
        _check_link(found[-1], inner, same_did)
        for outer in found:
            sharer, receivers = outer.signer_did, outer.header.audiences()
            check_reshare(inner, sharer, receivers, same_did)
        found.append(inner)
    return found


def _check_link(
    outer: VerifiedPacket, inner: VerifiedPacket, same_did: SameDid
) -> None:
    """Hold what the outer packet says of the one inside against that one."""
    chain = outer.header.source_chain
    expected = extend_chain(inner)
    if not chain or chain[-1].packet_hash != inner.hash:
        raise violation("the source chain does not name the packet inside")
    if not same_did(chain[-1].agent_id, inner.signer_did):
        raise violation("the source chain names another issuer of the packet inside")
    if chain[:-1] != expected[:-1] or chain[-1].timestamp != expected[-1].timestamp:
        raise violation("the source chain does not go on that of the packet inside")
    if inner.header.memory_type != outer.header.memory_type:
        raise violation("the packet inside is of another memory type")


def _too_deep() -> VerificationError:
    return violation(f"more than {MAX_DEPTH} packets are inside one another")
