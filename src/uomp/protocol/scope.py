"""What a session may read and write (UOMP sections 6.4 and 7.2).

Comparison is exact, by code point, with no hierarchy and no wildcard (A-16).
"""

from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from uomp.errors import Code, PeerError
from uomp.packets.items import MAX_KEY_BYTES, MAX_TAG_BYTES, Sensitivity

# A grant must fit into a token of 6 KiB, and a person must be able to read it.
MAX_ENTRIES = 256

_SPELLINGS = {"denyTags": "deny_tags", "denyKeys": "deny_keys"}
_LISTS = ("tags", "keys", "deny_tags", "deny_keys")


class Scope(msgspec.Struct, frozen=True, kw_only=True):
    """The range of one action. Denials beat everything else."""

    tags: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    deny_tags: tuple[str, ...] = ()
    deny_keys: tuple[str, ...] = ()

    def is_empty(self) -> bool:
        """Say whether nothing is allowed."""
        return not self.tags and not self.keys

    def to_json(self) -> dict[str, list[str]]:
        """Return all four lists, as a token carries them."""
        return {name: list(getattr(self, name)) for name in _LISTS}


class Scopes(msgspec.Struct, frozen=True, kw_only=True):
    """The ranges of both actions."""

    read: Scope = Scope()
    write: Scope = Scope()

    def to_json(self) -> dict[str, dict[str, list[str]]]:
        """Return both ranges, as a token carries them."""
        return {"read": self.read.to_json(), "write": self.write.to_json()}


def parse_scopes(value: object) -> Scopes:
    """Read `requested_scopes` or `granted_scopes`.

    Either action may be absent and is then empty (A-29). Inside an action that is
    there, `tags` and `keys` are required (UOMP-6.4-2 and -3). `denyTags` and
    `denyKeys` are understood. Other members are ignored.

    Raises:
        PeerError: `INVALID_REQUEST`.
    """
    if not isinstance(value, Mapping):
        raise _invalid("scopes is not an object")
    return Scopes(
        read=_parse_scope(value.get("read"), "read"),
        write=_parse_scope(value.get("write"), "write"),
    )


def _parse_scope(value: object, where: str) -> Scope:
    if value is None:
        return Scope()
    if not isinstance(value, Mapping):
        raise _invalid(f"scopes.{where} is not an object")
    found: dict[str, tuple[str, ...]] = {}
    for name, entry in value.items():
        member = _SPELLINGS.get(name, name)
        if member not in _LISTS:
            continue
        if member in found:
            raise _invalid(f"scopes.{where}.{member} is given twice")
        found[member] = _parse_list(entry, f"scopes.{where}.{member}")
    for member in ("tags", "keys"):
        if member not in found:
            raise _invalid(f"scopes.{where} has no {member}")
    return Scope(**found)


def _parse_list(value: object, where: str) -> tuple[str, ...]:
    if not isinstance(value, list) or len(value) > MAX_ENTRIES:
        raise _invalid(f"{where} is not a list of at most {MAX_ENTRIES}")
    limit = MAX_KEY_BYTES if where.endswith("keys") else MAX_TAG_BYTES
    for entry in value:
        if not isinstance(entry, str) or not 0 < len(entry.encode()) <= limit:
            raise _invalid(f"{where} holds something that is not a name")
    return tuple(dict.fromkeys(value))


def _invalid(what: str) -> PeerError:
    return PeerError(Code.INVALID_REQUEST, f"The request is malformed: {what}.")


def refusal(
    scope: Scope, key: str, tags: Collection[str], sensitivity: Sensitivity
) -> str | None:
    """Return why an item may not be read, or None if it may (section 10.4, 6 to 8).

    The text is for the audit log, never for the peer.
    """
    # Step 6: the key, or one of the item's tags, is inside the range.
    named = key in scope.keys
    if not named and not any(tag in scope.tags for tag in tags):
        return "step 6: outside the granted range"
    # Step 7: no denial names the item; denials beat the allow lists.
    if key in scope.deny_keys or any(tag in scope.deny_tags for tag in tags):
        return "step 7: denied explicitly"
    # Step 8: an item of high sensitivity must be named by its key.
    if sensitivity == "high" and not named:
        return "step 8: high sensitivity needs the key"
    return None


def difference(requested: Scope, granted: Scope) -> dict[str, list[str]]:
    """Return what is granted beyond the request, by list (A-28)."""
    more = {
        name: sorted(set(getattr(granted, name)) - set(getattr(requested, name)))
        for name in ("tags", "keys")
    }
    return {name: entries for name, entries in more.items() if entries}


def public_json(scopes: Scopes) -> dict[str, Any]:
    """Return the scopes with empty lists left out, for people."""
    whole = scopes.to_json()
    return {
        action: {name: entries for name, entries in lists.items() if entries}
        for action, lists in whole.items()
        if any(lists.values())
    }
