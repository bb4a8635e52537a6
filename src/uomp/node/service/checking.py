"""Verifying a packet and whatever is inside it, with this node's keyring."""

from typing import Any

from uomp.node.core import Core
from uomp.node.keyring import Keyring
from uomp.packets.nesting import verify_nested
from uomp.packets.report import explain
from uomp.packets.times import parse_time
from uomp.packets.verify import VerifiedPacket
from uomp.protocol.did.resolve import same_did


def check_packet(
    core: Core, data: bytes, seen_at: str | None = None
) -> list[VerifiedPacket]:
    """Verify a packet and those inside it; return them, outermost first.

    `seen_at` is when this node first verified them, for a packet of the inbox: a key
    that has ended since was still good then (A-94).

    Raises:
        VerificationError: with the code and the step of the first check that failed.
    """
    return verify_nested(
        data,
        Keyring(core.resolve),
        now=core.now(),
        same_did=same_did,
        seen_at=None if seen_at is None else parse_time(seen_at),
    )


def reports(core: Core, packets: list[VerifiedPacket]) -> list[dict[str, Any]]:
    """Return a report for each packet, for the owner to look at."""
    keys = Keyring(core.resolve)
    return [
        explain(one.canonical, keys, now=core.now(), same_did=same_did).to_json()
        for one in packets
    ]
