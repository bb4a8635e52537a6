"""Verifying a packet and whatever is inside it, with this node's keyring."""

from typing import Any

from uomp.node.core import Core
from uomp.node.keyring import Keyring
from uomp.packets.nesting import verify_nested
from uomp.packets.report import explain
from uomp.packets.verify import VerifiedPacket
from uomp.protocol.did.resolve import same_did


def check_packet(core: Core, data: bytes) -> list[VerifiedPacket]:
    """Verify a packet and those inside it; return them, outermost first.

    Raises:
        VerificationError: with the code and the step of the first check that failed.
    """
    return verify_nested(data, Keyring(core.resolve), now=core.now(), same_did=same_did)


def reports(core: Core, packets: list[VerifiedPacket]) -> list[dict[str, Any]]:
    """Return a report for each packet, for the owner to look at."""
    keys = Keyring(core.resolve)
    return [
        explain(one.canonical, keys, now=core.now(), same_did=same_did).to_json()
        for one in packets
    ]
