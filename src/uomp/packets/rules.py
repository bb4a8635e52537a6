"""What a receiver enforces beyond authenticity: audience, expiry, chain."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

import msgspec

from uomp.errors import Code, VerificationError
from uomp.packets.issuers import SameDid, equal_dids
from uomp.packets.times import parse_time
from uomp.packets.verify import VerifiedPacket

GAP: Final = "packets of this issuer are missing before this one"
ROLLBACK: Final = "this packet is older than one that came before it"


class Arrival(msgspec.Struct, frozen=True, kw_only=True):
    """Who receives, when, and what came last from this issuer.

    `last` is sequence and hash of the issuer's last packet for us, or 0 and None.
    `allow_rollback` is the owner's wish to go back to an older one.
    """

    our_dids: Sequence[str]
    now: datetime
    last: tuple[int, str | None] = (0, None)
    allow_rollback: bool = False


def check_arrival(
    packet: VerifiedPacket, arrival: Arrival, *, same_did: SameDid = equal_dids
) -> tuple[str, ...]:
    """Enforce the rules of receipt and return warnings for the owner.

    Raises:
        VerificationError: `AUDIENCE_MISMATCH`, `PACKET_EXPIRED`, or `SEQUENCE_GAP`
            where the chain goes back or forks, or a state has no place in one.
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
    check_expiry(packet, arrival.now)
    # 3. Its place in the issuer's chain is after what came before.
    if header.sequence is not None:
        return _check_chain(packet, arrival)
    # 4. A state says its place: an old one must not pass for a new one.
    if header.memory_type == "internal_state" and not arrival.allow_rollback:
        raise _out_of_place("An agent's state does not say its place in a chain.")
    return ()


def check_expiry(packet: VerifiedPacket, now: datetime) -> None:
    """Refuse what has expired; also for packets inside another one.

    Raises:
        VerificationError: `PACKET_EXPIRED`.
    """
    expires = packet.header.expires_at
    if expires is not None and now >= parse_time(expires):
        raise VerificationError(
            Code.PACKET_EXPIRED, "The packet has expired.", step="expiry"
        )


def _check_chain(packet: VerifiedPacket, arrival: Arrival) -> tuple[str, ...]:
    sequence, previous = packet.header.sequence or 0, packet.header.previous
    last, last_hash = arrival.last
    if sequence <= last:
        if arrival.allow_rollback:
            return (ROLLBACK,)
        raise _out_of_place("The packet's place in its issuer's chain was taken.")
    if sequence == last + 1 and last and previous != last_hash:
        raise _out_of_place("The packet does not follow the last one of its issuer.")
    return (GAP,) if sequence > last + 1 else ()


def _out_of_place(message: str) -> VerificationError:
    return VerificationError(Code.SEQUENCE_GAP, message, step="sequence")
