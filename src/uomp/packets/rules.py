"""What a receiver enforces beyond authenticity: audience, expiry, chain."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

import msgspec

from uomp.errors import Code, VerificationError
from uomp.packets.times import parse_time
from uomp.packets.verify import SameDid, VerifiedPacket

GAP: Final = "packets of this issuer are missing before this one"


class Arrival(msgspec.Struct, frozen=True, kw_only=True):
    """Who receives, when, and what came last from this issuer.

    `last` is sequence and hash of the issuer's last packet for us, or 0 and None.
    """

    our_dids: Sequence[str]
    now: datetime
    last: tuple[int, str | None] = (0, None)


def check_arrival(
    packet: VerifiedPacket, arrival: Arrival, *, same_did: SameDid
) -> tuple[str, ...]:
    """Enforce the rules of receipt and return warnings for the owner.

    Raises:
        VerificationError: `AUDIENCE_MISMATCH`, `PACKET_EXPIRED`, or `SEQUENCE_GAP`
            where the chain goes back or forks.
    """
    header = packet.header
    # 1. It is for us, or for anyone.
    audiences = header.audiences()
    if audiences and not any(
        same_did(one, ours) for one in audiences for ours in arrival.our_dids
    ):
        raise VerificationError(
            Code.AUDIENCE_MISMATCH, "The packet is for another.", step="audience"
        )
    # 2. It has not expired.
    if header.expires_at and arrival.now >= parse_time(header.expires_at):
        raise VerificationError(
            Code.PACKET_EXPIRED, "The packet has expired.", step="expiry"
        )
    # 3. Its place in the issuer's chain is after what came before.
    return _check_chain(packet, arrival) if header.sequence is not None else ()


def _check_chain(packet: VerifiedPacket, arrival: Arrival) -> tuple[str, ...]:
    sequence, previous = packet.header.sequence or 0, packet.header.previous
    last, last_hash = arrival.last
    if sequence <= last:
        raise VerificationError(
            Code.SEQUENCE_GAP,
            "The packet's place in its issuer's chain was taken before.",
            step="sequence",
        )
    if sequence == last + 1 and last and previous != last_hash:
        raise VerificationError(
            Code.SEQUENCE_GAP,
            "The packet does not follow the last one of its issuer.",
            step="sequence",
        )
    return (GAP,) if sequence > last + 1 else ()
