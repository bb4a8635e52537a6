"""The owner's own work on memory: put, get, remove, search, and imports."""

from collections.abc import Sequence
from typing import Any

import msgspec

from uomp.errors import Code, LocalError
from uomp.node.clock import new_id
from uomp.node.core import Core
from uomp.node.stores.audit import Entry
from uomp.packets import canonical
from uomp.packets.items import MemoryItem, Sensitivity, check_key, check_tags

# The owner acts here; there is no session and no agent.
OWNER = "owner"
MAX_PAGE = 1000


class NewItem(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An item that the owner writes. Times are set here."""

    key: str
    value: Any
    tags: tuple[str, ...]
    sensitivity: Sensitivity
    description: str | None = None


def put(core: Core, new: NewItem) -> MemoryItem:
    """Write an item; one with the same key is replaced and keeps `created_at`.

    Raises:
        LocalError: `INVALID_REQUEST`, for a key, a tag or a value that could not be
            served or packed later.
    """
    now = core.now_text()
    item = MemoryItem(**msgspec.structs.asdict(new), source="user", **_times(now))
    check_item(item)
    with core.memory.transaction():
        core.items.put(item)
        _audit(core, "write", item.key, item.tags)
    return get(core, item.key)


def _times(now: str) -> dict[str, Any]:
    return {"created_at": now, "updated_at": now}


def check_item(item: MemoryItem) -> None:
    """Refuse an item that could not be served or packed later.

    Raises:
        LocalError: `INVALID_REQUEST`.
    """
    check_key(item.key)
    check_tags(item.tags)
    canonical.encode(item.to_json())


def get(core: Core, key: str) -> MemoryItem:
    """Return an item of the owner's.

    Raises:
        LocalError: `NOT_FOUND`.
    """
    item = core.items.get(key)
    if item is None:
        raise LocalError(Code.NOT_FOUND, f'There is no item "{key}".')
    return item


def remove(core: Core, key: str) -> MemoryItem:
    """Delete an item; its value is remembered as one the owner does not want.

    Raises:
        LocalError: `NOT_FOUND`.
    """
    with core.memory.transaction():
        item = core.items.remove(key, core.now_text())
        _audit(core, "delete", key, item.tags)
    return item


def listing(core: Core, *, tag: str | None, after: str, limit: int) -> list[MemoryItem]:
    """Return up to `limit` items by key, those with the tag where one is given."""
    limit = max(1, min(limit, MAX_PAGE))
    if tag is None:
        return core.items.page(after, limit)
    return [item for item in core.items.by_tag(tag) if item.key > after][:limit]


def stats(core: Core) -> dict[str, Any]:
    """Return how many items there are, by sensitivity and by tag."""
    counts = core.items.counts()
    return {
        "items": sum(counts.values()),
        "sensitivity": counts,
        "tags": dict(core.items.tags()),
    }


def begin_import(core: Core, digest: str) -> dict[str, Any]:
    """Begin an import or go on with an interrupted one.

    `digest` stands for the input and the options: the same ones give the same import.
    """
    with core.memory.transaction():
        number, outcomes = core.imports.begin(new_id("imp"), digest, core.now_text())
    return {"import_id": number, "outcomes": outcomes}


def stage_import(
    core: Core, import_id: str, first: int, outcomes: int, items: Sequence[MemoryItem]
) -> None:
    """Keep a batch of an import. Nothing of it can be read before the import ends.

    Raises:
        LocalError: `INVALID_REQUEST` or `STATE_CONFLICT`.
    """
    for item in items:
        check_item(item)
    with core.memory.transaction():
        core.imports.stage(import_id, first, outcomes, items)


def finish_import(
    core: Core, import_id: str, *, replace: bool, same_ok: bool
) -> dict[str, int]:
    """Put everything that was staged into the store, in one transaction.

    Raises:
        LocalError: `IMPORT_REFUSED`; the store is then as before.
    """
    with core.memory.transaction():
        done = core.imports.finish(import_id, replace=replace, same_ok=same_ok)
        core.log_memory(
            Entry(
                action="import",
                allowed=True,
                reason="imported by the owner",
                session_id=OWNER,
                agent_id=OWNER,
                detail=dict(done),
            )
        )
    return done


def drop_import(core: Core, import_id: str) -> None:
    """Forget what was staged."""
    with core.memory.transaction():
        core.imports.drop(import_id)


def _audit(core: Core, action: str, key: str, tags: tuple[str, ...]) -> None:
    entry = Entry(
        action=action,
        allowed=True,
        reason="by the owner",
        session_id=OWNER,
        agent_id=OWNER,
        key=key,
        tags=tags,
    )
    core.log_memory(entry)
