"""Verifying a packet.

Nothing of a packet is to be used before `verify_packet` has returned: what it returns
is another type. What is signed is what is returned. The steps are in `steps`.
"""

from dataclasses import InitVar, dataclass
from datetime import datetime
from typing import Any, Final

from uomp.errors import Code, VerificationError
from uomp.packets import canonical
from uomp.packets.build import MAX_PACKET_BYTES
from uomp.packets.header import Header
from uomp.packets.issuers import KeyResolver, SameDid, SigningKey, equal_dids
from uomp.packets.items import MemoryItem
from uomp.packets.steps import MAX_FUTURE, STEPS, Work, run_step

__all__ = [
    "MAX_FUTURE",
    "MAX_PACKET_BYTES",
    "STEPS",
    "KeyResolver",
    "SameDid",
    "SigningKey",
    "VerifiedPacket",
    "Work",
    "run_step",
    "verify_packet",
]

_PROOF: Final = object()


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class VerifiedPacket:
    """A packet that has passed every step. Only `verify_packet` makes one.

    `hash` is that of the whole packet, `canonical` its JCS bytes. `signed_hash` is that
    of the signing input alone: it stays what it is where somebody spells the signature
    otherwise (`EdDSA` for `Ed25519`, another form of the same DID), which changes
    `hash` and no more. `payload` is decoded. `understood` is False where this node has
    no handler for the memory type, `sealed` True where the payload is encrypted and was
    not looked into. `value` and `payload` must not be changed.
    """

    proof: InitVar[object]
    value: dict[str, Any]
    canonical: bytes
    header: Header
    payload: Any
    items: tuple[MemoryItem, ...] | None
    hash: str
    signed_hash: str
    signer_did: str
    key_id: str
    stale: bool
    reformatted: bool
    understood: bool
    sealed: bool

    def __post_init__(self, proof: object) -> None:
        if proof is not _PROOF:
            raise TypeError("only verify_packet makes a VerifiedPacket")

    def __repr__(self) -> str:
        return f"<VerifiedPacket {self.hash}>"  # what it remembers is nobody's log

    @property
    def fallback_text(self) -> str | None:
        """The text for those who do not understand the payload."""
        text: str | None = self.value.get("fallback_text_representation")
        return text

    def require_understood(self) -> None:
        """Refuse to use a payload that nobody here understands (PAM-5.3-4).

        Raises:
            VerificationError: `UNSUPPORTED_MEMORY_TYPE`.
        """
        if not self.understood:
            raise VerificationError(
                Code.UNSUPPORTED_MEMORY_TYPE,
                "The packet is good, but this node does not understand its memory.",
            )


def verify_packet(
    data: bytes,
    keys: KeyResolver,
    *,
    now: datetime,
    same_did: SameDid = equal_dids,
    seen_at: datetime | None = None,
) -> VerifiedPacket:
    """Run every step and return the verified packet.

    `same_did` says whether two DIDs are one (a did:peer:4 has two forms). `seen_at` is
    a trusted time at which the packet was there already, as a receipt gives it: a key
    that has ended since still counts then. Audience, expiry and replay are for the
    receiver to enforce (`rules`).

    Raises:
        VerificationError: with the code and the step of the first check that failed.
    """
    work = Work(data, keys, now, same_did, seen_at)
    for number in range(1, len(STEPS) + 1):
        run_step(number, work)
    return VerifiedPacket(
        proof=_PROOF,
        value=work.value,
        canonical=work.canonical,
        header=work.header,
        payload=work.payload,
        items=work.items,
        hash=canonical.sha256(work.canonical),
        signed_hash=canonical.sha256(work.signed),
        signer_did=work.key.did,
        key_id=work.key.key_id,
        stale=work.key.stale,
        reformatted=work.reformatted,
        understood=work.understood,
        sealed=work.sealed,
    )
