"""The payloads: what each memory type must look like, and items and their root.

A payload *made of items* has `items` and `items_seed`. The header's `items_root` is
then the RFC 9162 root over H(0x00 ‖ salt_i ‖ JCS(item_i)), where salt_i is
HMAC-SHA256(items_seed, i as 8 bytes, big endian), so that single items can be shown
later without the others (`parts`).
"""

import hashlib
import hmac
import unicodedata
from collections.abc import Callable, Sequence
from typing import Any, Final

from uomp.errors import Code, LocalError, VerificationError
from uomp.packets import canonical, merkle
from uomp.packets.header import convert, violation
from uomp.packets.items import MemoryItem, check_key, check_tags
from uomp.packets.multibase import EncodingError, b64_decode, b64_encode
from uomp.packets.times import parse_time

SEED_BYTES: Final = 32
MAX_RENDERED: Final = 200_000  # characters of a text rendering

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
        if memory_type == "conversation_history":
            for item in items:
                _check_conversation(item.value)
        return items
    check(payload)
    return None


def _check_text(payload: dict[str, Any]) -> None:
    if set(payload) != {"text"} or not isinstance(payload["text"], str):
        raise violation("a basic_plain_text is an object with a text")


def _check_conversation(payload: object) -> None:
    messages = payload.get("messages") if isinstance(payload, dict) else None
    if not isinstance(messages, list):
        raise violation("a conversation has no messages")
    for message in messages:
        if not isinstance(message, dict) or not isinstance(message.get("role"), str):
            raise violation("a message has no role")
        if "content" not in message:
            raise violation("a message has no content")
        if not isinstance(message["content"], str | list | dict | None):
            raise violation("the content of a message is neither text nor parts")


def _check_snippet(payload: dict[str, Any]) -> None:
    if not isinstance(payload.get("text"), str):
        raise violation("a knowledge_snippet has no text")
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
    for item in items:
        check_item(item)
    return items


def check_item(item: MemoryItem) -> None:
    """Refuse an item that could not be stored as it is.

    Raises:
        VerificationError: `SCHEMA_VIOLATION`.
    """
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
    """Return the leaf hashes of a payload made of items."""
    seed = read_seed(payload)
    return [
        item_leaf(item, salt_of(seed, index))
        for index, item in enumerate(payload["items"])
    ]


def items_root(payload: dict[str, Any]) -> str:
    """Return `sha256:` and the root over the items."""
    return f"sha256:{merkle.root(item_leaves(payload)).hex()}"


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


def render_payload(payload: object, fallback: str | None = None) -> str:
    """Return a payload as plain text for a person, with no control characters."""
    if isinstance(payload, dict):
        text = "\n\n".join(_lines(payload))
    else:
        text = ""
    shown = text or fallback or "(nothing that can be shown as text)"
    return clean(shown[:MAX_RENDERED])


def _lines(payload: dict[str, Any]) -> list[str]:
    if isinstance(payload.get("text"), str):
        return [payload["text"]]
    if isinstance(payload.get("messages"), list):
        title = payload.get("title")
        head = [f"# {title}"] if isinstance(title, str) else []
        return head + [_message(one) for one in payload["messages"]]
    found: list[str] = []
    for item in payload.get("items", ()):
        value = item.get("value") if isinstance(item, dict) else None
        body = "\n".join(_lines(value)) if isinstance(value, dict) else str(value)
        found.append(f"[{item.get('key')}]\n{body}")
    return found


def _message(message: object) -> str:
    if not isinstance(message, dict):
        return ""
    content = message.get("content")
    if isinstance(content, list):
        content = " ".join(part if isinstance(part, str) else "[…]" for part in content)
    return f"{message.get('role')}: {content}"


def clean(text: str) -> str:
    """Take out what could command a terminal or turn the writing direction."""
    return "".join(
        char if char in "\n\t" or unicodedata.category(char)[0] != "C" else "\ufffd"
        for char in text
    )
