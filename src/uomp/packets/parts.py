"""Parts: some items of a signed packet, provable without the others.

A part carries what the signature covers, and the disclosed items with their salts and
their proofs under the header's `items_root`. Nothing else of the payload is in it: not
the seed, not the other items.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from uomp.errors import Code, VerificationError
from uomp.packets import merkle
from uomp.packets.build import ALWAYS_SIGNED, SIGNED_IF_THERE
from uomp.packets.header import Header, convert, violation
from uomp.packets.items import MemoryItem
from uomp.packets.payloads import (
    check_item,
    item_leaf,
    item_leaves,
    read_seed,
    salt_of,
)
from uomp.packets.verify import KeyResolver, SameDid, Work, run_step

_HEX: Final = r"^[0-9a-f]{64}\Z"
# Steps 2 to 9 and 11 of a packet; the payload itself is not there to be checked.
_STEPS: Final = (2, 3, 4, 5, 6, 7, 8, 9, 11)


class Disclosed(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One item with its place, its salt and its proof; both in hex."""

    index: Annotated[int, Meta(ge=0)]
    item: dict[str, Any]
    salt: Annotated[str, Meta(pattern=_HEX)]
    proof: tuple[Annotated[str, Meta(pattern=_HEX)], ...]


class VerifiedPart(msgspec.Struct, frozen=True, kw_only=True):
    """The header and the disclosed items of a part that has verified."""

    header: Header
    signer_did: str
    items: tuple[MemoryItem, ...]


def make_part(packet: dict[str, Any], indexes: Sequence[int]) -> dict[str, Any]:
    """Return the part of a packet of ours that discloses the items at `indexes`.

    Raises:
        VerificationError: `SCHEMA_VIOLATION`, if the packet is not made of items.
        IndexError: there is no such item.
    """
    payload = packet["payload"]
    if "items" not in payload:
        raise violation("it is not made of items")
    leaves, seed = item_leaves(payload), read_seed(payload)
    signed = [*ALWAYS_SIGNED, *SIGNED_IF_THERE, "signature"]
    return {
        **{name: packet[name] for name in signed if name in packet},
        "size": len(leaves),
        "disclosed": [
            {
                "index": index,
                "item": payload["items"][index],
                "salt": salt_of(seed, index).hex(),
                "proof": [step.hex() for step in merkle.inclusion_proof(leaves, index)],
            }
            for index in indexes
        ],
    }


def verify_part(
    value: object, keys: KeyResolver, *, now: datetime, same_did: SameDid
) -> VerifiedPart:
    """Verify a part: the signature of its packet, then each item's proof.

    Raises:
        VerificationError: with the code of the check that failed.
    """
    if not isinstance(value, dict):
        raise violation("a part is not an object")
    rest = dict(value)
    disclosed = convert(
        rest.pop("disclosed", None), tuple[Disclosed, ...], "part.disclosed"
    )
    size = convert(rest.pop("size", None), Annotated[int, Meta(ge=1)], "part.size")
    if "payload" in rest:
        raise violation("a part has no payload")
    # The payload is not here; a place is held for it so that the steps can run.
    work = Work(b"", keys, now, same_did, value={**rest, "payload": None})
    for number in _STEPS:
        run_step(number, work)
    root = _root(work.header)
    return VerifiedPart(
        header=work.header,
        signer_did=work.key.did,
        items=tuple(_item(one, size, root) for one in disclosed),
    )


def _root(header: Header) -> bytes:
    if header.items_root is None:
        raise violation("a part's packet is not made of items")
    return bytes.fromhex(header.items_root.removeprefix("sha256:"))


def _item(one: Disclosed, size: int, root: bytes) -> MemoryItem:
    item: MemoryItem = convert(one.item, MemoryItem, "part.disclosed.item")
    check_item(item)
    holds = merkle.verify_inclusion(
        leaf=item_leaf(one.item, bytes.fromhex(one.salt)),
        index=one.index,
        size=size,
        proof=[bytes.fromhex(step) for step in one.proof],
        root=root,
    )
    if not holds:
        raise VerificationError(
            Code.ITEMS_ROOT_MISMATCH, "An item is not under the packet's root."
        )
    return item
