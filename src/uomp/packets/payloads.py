"""The payloads: what each memory type must look like, and items and their root.

A payload *made of items* has `items` and `items_seed`. The header's `items_root` is
then the RFC 9162 root over H(0x00 ‖ salt_i ‖ JCS(item_i)), where salt_i is
HMAC-SHA256(items_seed, i as 8 bytes, big endian), so that single items can be shown
later without the others (`parts`).
"""

import hashlib
import hmac
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from uomp.errors import Code, LocalError, VerificationError
from uomp.packets import canonical, merkle, strict
from uomp.packets.encodings import ENCODINGS
from uomp.packets.header import Header, convert, violation
from uomp.packets.items import MemoryItem, check_key, check_tags
from uomp.packets.multibase import EncodingError, b64_decode, b64_encode
from uomp.packets.text import render_payload
from uomp.packets.times import parse_time

__all__ = [
    "CHECKERS",
    "KNOWN_TYPES",
    "check_items",
    "check_items_root",
    "check_kind",
    "check_payload",
    "encode_payload",
    "item_leaf",
    "item_leaves",
    "items_payload",
    "items_root",
    "read_seed",
    "render_payload",
    "salt_of",
]

SEED_BYTES: Final = 32
_MADE_OF_ITEMS: Final = {"items", "items_seed"}

# Every name of A-89. Those without a checker below are kept as opaque for now.
KNOWN_TYPES: Final = (
    "basic_plain_text",
    "conversation_history",
    "internal_state",
    "knowledge_snippet",
    "knowledge_triplet",
    "task_trace",
    "tool_call_sequence",
)
CUSTOM: Final = "custom/"


def check_kind(header: Header) -> None:
    """Refuse an unknown encoding, and a type of one's own with no schema to its name.

    Raises:
        VerificationError: `SCHEMA_VIOLATION`.
    """
    if header.payload_encoding not in ENCODINGS:
        raise violation("the payload's encoding is not known")
    if header.memory_type.startswith(CUSTOM) and not header.schema_uri:
        raise violation("a custom type has no schema_uri")


def check_payload(memory_type: str, payload: object) -> tuple[MemoryItem, ...] | None:
    """Check a payload of a type that this node understands.

    Returns its items, or None where it is not made of items.

    Raises:
        VerificationError: `SCHEMA_VIOLATION`.
    """
    if not isinstance(payload, dict):
        raise violation("the payload is not an object")
    check = CHECKERS[memory_type]
    if "items" in payload or "items_seed" in payload:
        if memory_type == "basic_plain_text":
            raise violation("a basic_plain_text has no items")
        items = _read_items(payload)
        check_items(memory_type, items)
        return items
    check(payload)
    return None


def _check_text(payload: dict[str, Any]) -> None:
    if set(payload) != {"text"} or not isinstance(payload["text"], str):
        raise violation("a basic_plain_text is an object with a text")


class _Message(msgspec.Struct):
    """A message; other members than these are kept as they are."""

    role: Annotated[str, Meta(min_length=1)]
    content: str | list[Any] | None
    id: str | None = None
    at: str | None = None
    name: str | None = None
    parent: str | None = None


class _Conversation(msgspec.Struct):
    messages: list[_Message]


def _check_conversation(payload: object) -> None:
    convert(payload, _Conversation, "a conversation")


def _check_snippet(payload: dict[str, Any]) -> None:
    if not isinstance(payload.get("text"), str):
        raise violation("a knowledge_snippet has neither text nor items")
    for name in ("citations", "assumptions"):
        if not isinstance(payload.get(name, []), list):
            raise violation(f"{name} is not a list")


CHECKERS: Final[dict[str, Callable[[dict[str, Any]], None]]] = {
    "basic_plain_text": _check_text,
    "conversation_history": _check_conversation,
    "knowledge_snippet": _check_snippet,
}


def _read_items(payload: dict[str, Any]) -> tuple[MemoryItem, ...]:
    if "messages" in payload or "text" in payload:
        raise violation("a payload is made of items or it is not")
    items: tuple[MemoryItem, ...] = convert(
        payload.get("items"), tuple[MemoryItem, ...], "payload.items"
    )
    read_seed(payload)
    return items


def check_items(memory_type: str, items: Sequence[MemoryItem]) -> None:
    """Refuse items that could not be stored as they are, or are of another type.

    Raises:
        VerificationError: `SCHEMA_VIOLATION`.
    """
    for item in items:
        _check_item(item)
        if memory_type == "conversation_history":
            _check_conversation(item.value)


def _check_item(item: MemoryItem) -> None:
    try:
        check_key(item.key)
        check_tags(item.tags)
        parse_time(item.created_at)
        parse_time(item.updated_at)
    except LocalError as error:
        raise violation(f"an item: {error}") from error


def read_seed(payload: dict[str, Any]) -> bytes:
    """Return the seed of the salts.

    Raises:
        VerificationError: `SCHEMA_VIOLATION`.
    """
    seed = payload.get("items_seed")
    try:
        raw = b64_decode(seed) if isinstance(seed, str) else b""
    except EncodingError as error:
        raise violation("items_seed is not base64") from error
    if len(raw) != SEED_BYTES:
        raise violation("items_seed has not 32 bytes")
    return raw


def items_payload(items: Sequence[MemoryItem], seed: bytes) -> dict[str, Any]:
    """Return the payload made of these items; `seed` is 32 fresh random bytes."""
    if len(seed) != SEED_BYTES:
        raise ValueError("a seed has 32 bytes")
    made = [item.to_json() for item in items]
    return {"items": made, "items_seed": b64_encode(seed)}


def salt_of(seed: bytes, index: int) -> bytes:
    """Return the 32-byte salt of item `index`."""
    return hmac.digest(seed, index.to_bytes(8, "big"), hashlib.sha256)


def item_leaf(item: object, salt: bytes) -> bytes:
    """Return the leaf hash of one item, given as JSON."""
    return merkle.leaf_hash(salt + canonical.encode(item))


def item_leaves(payload: dict[str, Any]) -> list[bytes]:
    """Return the leaf hashes of a payload made of items, written once each."""
    items = payload["items"]
    written = canonical.encode_each(items, canonical.survey(items))
    return _leaves(written, read_seed(payload))


def _leaves(written: Sequence[bytes], seed: bytes) -> list[bytes]:
    return [
        merkle.leaf_hash(salt_of(seed, index) + item)
        for index, item in enumerate(written)
    ]


def items_root(payload: dict[str, Any]) -> str:
    """Return `sha256:` and the root over the items."""
    return _root(item_leaves(payload))


def _root(leaves: Sequence[bytes]) -> str:
    return f"sha256:{merkle.root(leaves).hex()}"


def encode_payload(payload: object, *, made_of_items: bool) -> tuple[bytes, str | None]:
    """Return the canonical bytes of a payload, and its root if it is made of items.

    `made_of_items` says whether `items` and `items_seed` mean that.

    Raises:
        CanonicalError: for what JCS cannot write.
        VerificationError: `SCHEMA_VIOLATION` for what no reader of packets would take.
    """
    found = canonical.survey(payload)
    if found.depth >= strict.MAX_DEPTH:
        raise violation(f"it is nested deeper than {strict.MAX_DEPTH}")
    if found.largest_magnitude() > canonical.MAX_SAFE_INTEGER:
        raise violation("a number is beyond 2^53-1; such a number goes as text")
    if not (
        made_of_items and isinstance(payload, dict) and set(payload) == _MADE_OF_ITEMS
    ):
        return canonical.encode_surveyed(payload, found), None
    if not isinstance(payload["items"], list):
        raise violation("the items are not a list")
    written = canonical.encode_each(payload["items"], found)
    seed = read_seed(payload)
    before, after = b'{"items":[', b'],"items_seed":"' + b64_encode(seed).encode()
    made = before + b",".join(written) + after + b'"}'
    return made, _root(_leaves(written, seed))


def check_items_root(payload: object, stated: str | None) -> None:
    """Compare the header's root with the items.

    Raises:
        VerificationError: `ITEMS_ROOT_MISMATCH`, also where one is there without the
            other.
    """
    made_of_items = isinstance(payload, dict) and "items" in payload
    expected = items_root(payload) if made_of_items else None  # type: ignore[arg-type]
    if stated != expected:
        raise VerificationError(
            Code.ITEMS_ROOT_MISMATCH, "The items are not those of the header's root."
        )
