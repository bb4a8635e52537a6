"""Memory items (UOMP section 11)."""

import unicodedata
from typing import Any, Literal

import msgspec

from uomp.errors import Code, LocalError

MAX_KEY_BYTES = 512
MAX_TAG_BYTES = 256
MAX_TAGS = 64
RESERVED_KEYS = frozenset({"aggregate", "query"})  # routes of the Guard

Sensitivity = Literal["low", "medium", "high"]
Source = Literal["user", "agent"]


class MemoryItem(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One memory of the owner.

    Times are ISO 8601 in UTC with `Z`. `value` is any JSON value. Keys and tags are
    compared by code point, with no normalisation (A-16).
    """

    key: str
    value: Any
    tags: tuple[str, ...]
    sensitivity: Sensitivity
    source: Source
    created_at: str
    updated_at: str
    description: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the item as the JSON object that is stored, served and hashed."""
        made: dict[str, Any] = msgspec.to_builtins(self)
        return made


def check_key(key: str) -> None:
    """Refuse a key that could not be read back by every client.

    Raises:
        LocalError: `INVALID_REQUEST`, if the key is empty, over 512 bytes of UTF-8,
            reserved, or holds a control character.
    """
    if not key:
        raise LocalError(Code.INVALID_REQUEST, "A key is empty.")
    if key in RESERVED_KEYS:
        raise LocalError(Code.INVALID_REQUEST, f'The key "{key}" is reserved.')
    _check_text(key, MAX_KEY_BYTES, "A key")


def check_tags(tags: tuple[str, ...]) -> None:
    """Refuse an empty list of tags and tags that are empty, long or unprintable.

    Raises:
        LocalError: `INVALID_REQUEST`.
    """
    if not tags:
        raise LocalError(Code.INVALID_REQUEST, "An item has no tags.")
    if len(tags) > MAX_TAGS:
        raise LocalError(Code.INVALID_REQUEST, f"An item has over {MAX_TAGS} tags.")
    for tag in tags:
        if not tag:
            raise LocalError(Code.INVALID_REQUEST, "A tag is empty.")
        _check_text(tag, MAX_TAG_BYTES, "A tag")


def _check_text(text: str, limit: int, what: str) -> None:
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        message = f"{what} holds half of a surrogate pair."
        raise LocalError(Code.INVALID_REQUEST, message) from error
    if size > limit:
        raise LocalError(Code.INVALID_REQUEST, f"{what} is over {limit} bytes.")
    if not text.isprintable() and any(
        unicodedata.category(char) in {"Cc", "Cs"} for char in text
    ):
        raise LocalError(Code.INVALID_REQUEST, f"{what} holds a control character.")
