"""Parts: some items of a signed packet, provable without the others.

A part carries what the signature covers, and the disclosed items with their salts and
their proofs under the header's `items_root`. Nothing else of the payload is in it: not
the seed, not the other items.
"""

from collections.abc import Iterable
from dataclasses import InitVar, dataclass
from datetime import datetime
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from uomp.errors import Code, LocalError, PeerError, VerificationError
from uomp.packets import canonical, merkle, strict
from uomp.packets.build import ALWAYS_SIGNED, MAX_PACKET_BYTES, SIGNED_IF_THERE
from uomp.packets.header import Header, convert, violation
from uomp.packets.issuers import KeyResolver, SameDid, equal_dids
from uomp.packets.items import MemoryItem
from uomp.packets.payloads import (
    check_items,
    item_leaf,
    item_leaves,
    read_seed,
    salt_of,
)
from uomp.packets.steps import Work, run_step
from uomp.packets.verify import VerifiedPacket

_HEX: Final = r"^[0-9a-f]{64}\Z"
_MAX_PROOF: Final = 53  # steps of a tree with 2^53 leaves
# What a packet must pass, but for reading it (1) and its payload (10, 12, 13), which is
# not there.
_STEPS: Final = (2, 3, 4, 5, 6, 7, 8, 9, 11)

_Hash = Annotated[str, Meta(pattern=_HEX)]
_Size = Annotated[int, Meta(ge=1, le=canonical.MAX_SAFE_INTEGER)]


class Disclosed(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One item with its place, its salt and its proof; both in hex."""

    index: Annotated[int, Meta(ge=0)]
    item: dict[str, Any]
    salt: _Hash
    proof: Annotated[tuple[_Hash, ...], Meta(max_length=_MAX_PROOF)]


_PROOF: Final = object()
_Disclosures = Annotated[tuple[Disclosed, ...], Meta(min_length=1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifiedPart:
    """The header and the disclosed items of a part. Only `verify_part` makes one.

    `signed_hash` is the one of the packet that the part is of. How many items that
    packet has, and at which places these are, is the word of who made the part.
    """

    proof: InitVar[object]
    header: Header
    signer_did: str
    key_id: str
    signed_hash: str
    items: tuple[MemoryItem, ...]

    def __post_init__(self, proof: object) -> None:
        if proof is not _PROOF:
            raise TypeError("only verify_part makes a VerifiedPart")


def make_part(packet: VerifiedPacket, indexes: Iterable[int]) -> dict[str, Any]:
    """Return the part of a packet that discloses the items at `indexes`, from 0.

    Raises:
        LocalError: `INVALID_REQUEST`, if the packet is not made of items or says more
            of them outside of its payload; `NOT_FOUND`, if there is no such item.
    """
    if packet.items is None:
        raise LocalError(Code.INVALID_REQUEST, "The packet is not made of items.")
    if any(name in packet.value for name in SIGNED_IF_THERE):
        # Both are signed, so they would have to be shown, whatever they say.
        message = "A packet with attachments or a fallback text has no parts."
        raise LocalError(Code.INVALID_REQUEST, message)
    places = sorted(set(indexes))
    if not places or places[0] < 0 or places[-1] >= len(packet.items):
        raise LocalError(Code.NOT_FOUND, "The packet has no such item.")
    leaves, seed = item_leaves(packet.payload), read_seed(packet.payload)
    proofs = merkle.inclusion_proofs(leaves)
    return {
        **{name: packet.value[name] for name in (*ALWAYS_SIGNED, "signature")},
        "size": len(leaves),
        "disclosed": [
            {
                "index": place,
                "item": packet.payload["items"][place],
                "salt": salt_of(seed, place).hex(),
                "proof": [step.hex() for step in proofs[place]],
            }
            for place in places
        ],
    }


def verify_part(
    data: bytes,
    keys: KeyResolver,
    *,
    now: datetime,
    same_did: SameDid = equal_dids,
) -> VerifiedPart:
    """Verify a part, given as JSON: the signature of its packet, then each proof.

    Raises:
        VerificationError: with the code of the check that failed.
    """
    # 1. Structure: a packet without payload, and what is disclosed of it.
    rest = _read(data)
    disclosed: tuple[Disclosed, ...] = convert(
        rest.pop("disclosed", None), _Disclosures, "part.disclosed"
    )
    size: int = convert(rest.pop("size", None), _Size, "part.size")
    places = [one.index for one in disclosed]
    if places != sorted(set(places)):
        raise violation("the items of a part are not in order")
    if set(rest) != {*ALWAYS_SIGNED, "signature"}:
        raise violation("a part has a member too many or too few")
    # 2. The steps of a packet, with a place held for the payload.
    work = Work(b"", keys, now, same_did, value={**rest, "payload": None})
    for number in _STEPS:
        run_step(number, work)
    # 3. The items and their proofs.
    root = _root(work.header)
    items = tuple(_item(one, size, root) for one in disclosed)
    check_items(work.header.memory_type, items)
    return VerifiedPart(
        proof=_PROOF,
        header=work.header,
        signer_did=work.key.did,
        key_id=work.key.key_id,
        signed_hash=canonical.sha256(work.signed),
        items=items,
    )


def _read(data: bytes) -> dict[str, Any]:
    try:
        value = strict.loads(data, max_bytes=MAX_PACKET_BYTES).value
    except PeerError as error:
        raise violation("a part is not strict JSON") from error
    if not isinstance(value, dict):
        raise violation("a part is not an object")
    return value


def _root(header: Header) -> bytes:
    if header.items_root is None:
        raise violation("a part's packet is not made of items")
    return bytes.fromhex(header.items_root.removeprefix("sha256:"))


def _item(one: Disclosed, size: int, root: bytes) -> MemoryItem:
    holds = merkle.verify_inclusion(
        leaf=item_leaf(one.item, bytes.fromhex(one.salt)),
        index=one.index,
        size=size,
        proof=[bytes.fromhex(step) for step in one.proof],
        root=root,
    )
    if not holds:
        raise VerificationError(
            Code.ITEMS_ROOT_MISMATCH,
            "An item is not under the packet's root.",
            step="13 items root",
        )
    item: MemoryItem = convert(one.item, MemoryItem, "part.disclosed.item")
    return item
