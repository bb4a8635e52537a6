"""`memory.db`: the owner's items (UOMP section 11)."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from uomp.errors import Code, LocalError
from uomp.node.database import Database, Row, from_json, to_json
from uomp.packets import canonical
from uomp.packets.items import MemoryItem

_COLUMNS = "key, value, tags, sensitivity, source, created_at, updated_at, description"
_BY_KEY = f"SELECT {_COLUMNS} FROM items WHERE key = ?"  # noqa: S608
_BY_TAG = (
    f"SELECT {_COLUMNS} FROM items JOIN item_tags ON item = id"  # noqa: S608
    " WHERE tag = ? ORDER BY key"
)
_PAGE = f"SELECT {_COLUMNS} FROM items WHERE key > ? ORDER BY key LIMIT ?"  # noqa: S608


class MemoryStore:
    """Items by key and by tag. The caller opens the transaction for every change."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def get(self, key: str) -> MemoryItem | None:
        """Return the item, or None."""
        row = self.database.row(_BY_KEY, key)
        return None if row is None else _to_item(row)

    def by_tag(self, tag: str) -> list[MemoryItem]:
        """Return every item that bears the tag, by key."""
        return [_to_item(row) for row in self.database.rows(_BY_TAG, tag)]

    def page(self, after: str, limit: int) -> list[MemoryItem]:
        """Return up to `limit` items whose key follows `after`, by key."""
        return [_to_item(row) for row in self.database.rows(_PAGE, after, limit)]

    def all(self) -> Iterator[MemoryItem]:
        """Yield every item by key, a page at a time."""
        after = ""
        while page := self.page(after, 500):
            yield from page
            after = page[-1].key

    def put(self, item: MemoryItem) -> int:
        """Insert the item, or replace the one with its key and keep `created_at`.

        What is written again is not forgotten any more. Returns the row number, which
        a replacement keeps.
        """
        row = self.database.row(
            "INSERT INTO items (key, value, tags, sensitivity, source, created_at,"
            " updated_at, description) VALUES (?,?,?,?,?,?,?,?)"
            " ON CONFLICT (key) DO UPDATE SET value = excluded.value,"
            " tags = excluded.tags, sensitivity = excluded.sensitivity,"
            " source = excluded.source, updated_at = excluded.updated_at,"
            " description = excluded.description, version = version + 1"
            " RETURNING id",
            item.key,
            to_json(item.value),
            to_json(item.tags),
            item.sensitivity,
            item.source,
            item.created_at,
            item.updated_at,
            item.description,
        )
        assert row is not None  # noqa: S101 - RETURNING gives the row that was written
        number = int(row[0])
        self.database.run("DELETE FROM item_tags WHERE item = ?", number)
        for tag in dict.fromkeys(item.tags):
            self.database.run("INSERT INTO item_tags VALUES (?, ?)", tag, number)
        forgotten = "DELETE FROM tombstones WHERE fingerprint = ?"
        self.database.run(forgotten, fingerprint(item))
        return number

    def remove(self, key: str, removed_at: str) -> MemoryItem:
        """Delete the item and leave a tombstone of its value.

        Raises:
            LocalError: `NOT_FOUND`.
        """
        item = self.get(key)
        if item is None:
            raise LocalError(Code.NOT_FOUND, f'There is no item "{key}".')
        self.database.run("DELETE FROM items WHERE key = ?", key)
        self.database.run(
            "INSERT OR REPLACE INTO tombstones VALUES (?, ?)",
            fingerprint(item),
            removed_at,
        )
        return item

    def is_forgotten(self, item: MemoryItem) -> bool:
        """Say whether the owner removed an item with this key and value."""
        found = "SELECT 1 FROM tombstones WHERE fingerprint = ?"
        return self.database.row(found, fingerprint(item)) is not None

    def tags(self) -> list[tuple[str, int]]:
        """Return each tag with its number of items, by tag."""
        return [
            (str(tag), int(count))
            for tag, count in self.database.rows(
                "SELECT tag, count(*) FROM item_tags GROUP BY tag ORDER BY tag"
            )
        ]

    def counts(self) -> dict[str, int]:
        """Return the number of items by sensitivity."""
        return {
            str(level): int(count)
            for level, count in self.database.rows(
                "SELECT sensitivity, count(*) FROM items GROUP BY sensitivity"
            )
        }

    def existing(self, keys: Iterable[str]) -> set[str]:
        """Return which of the keys are in the store."""
        return {key for key in keys if self.database.row(_BY_KEY, key) is not None}


def fingerprint(item: MemoryItem) -> str:
    """Return the hash of key and value by which a removed item is known again."""
    return canonical.digest([item.key, item.value])


def _to_item(row: Row) -> MemoryItem:
    key, value, tags, sensitivity, source, created_at, updated_at, description = row
    return MemoryItem(
        key=key,
        value=from_json(value),
        tags=tuple(from_json(tags)),
        sensitivity=sensitivity,
        source=source,
        created_at=created_at,
        updated_at=updated_at,
        description=description,
    )


class Imports:
    """Imports under way: staged in batches, then moved in one transaction."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._database = store.database

    def begin(self, import_id: str, digest: str, now: str) -> tuple[str, int]:
        """Begin an import, or go on with the one of the same input and options.

        Returns its id and how many outcomes of the reader are staged already.
        """
        found = "SELECT import_id, outcomes FROM imports WHERE digest = ?"
        row = self._database.row(found, digest)
        if row is not None:
            return str(row[0]), int(row[1])
        insert = "INSERT INTO imports (import_id, digest, started_at) VALUES (?,?,?)"
        self._database.run(insert, import_id, digest, now)
        return import_id, 0

    def stage(
        self, import_id: str, first: int, outcomes: int, items: Sequence[MemoryItem]
    ) -> None:
        """Keep a batch: `outcomes` results of the reader from number `first` on.

        Raises:
            LocalError: `STATE_CONFLICT`, if the batch does not follow the last one.
        """
        known = "SELECT outcomes FROM imports WHERE import_id = ?"
        row = self._database.row(known, import_id)
        if row is None or int(row[0]) != first:
            raise LocalError(Code.STATE_CONFLICT, "The import is not at that place.")
        for number, item in enumerate(items):
            self._database.run(
                "INSERT INTO import_items VALUES (?, ?, ?, ?)",
                import_id,
                first * 1_000_000 + number,
                item.key,
                to_json(item.to_json()),
            )
        update = "UPDATE imports SET outcomes = outcomes + ? WHERE import_id = ?"
        self._database.run(update, outcomes, import_id)

    def finish(self, import_id: str, *, replace: bool, same_ok: bool) -> dict[str, int]:
        """Move every staged item into the store.

        An item that is there already with the same value and tags adds nothing when
        `same_ok` is set. Any other item that is there is refused unless `replace`.

        Raises:
            LocalError: `IMPORT_REFUSED`, naming the keys; nothing has changed then.
                `NOT_FOUND`, if there is no such import.
        """
        known = "SELECT 1 FROM imports WHERE import_id = ?"
        if self._database.row(known, import_id) is None:
            raise LocalError(Code.NOT_FOUND, f"There is no import {import_id}.")
        done = {"added": 0, "replaced": 0, "unchanged": 0}
        refused: list[str] = []
        for item in self._staged(import_id):
            old = self._store.get(item.key)
            if old is not None and same_ok and _same(old, item):
                done["unchanged"] += 1
            elif old is not None and not replace:
                refused.append(item.key)
            else:
                self._store.put(item)
                done["added" if old is None else "replaced"] += 1
        if refused:
            raise LocalError(
                Code.IMPORT_REFUSED,
                f"{len(refused)} items are there already; give --replace to change "
                "them. The first are: " + ", ".join(refused[:5]) + ".",
            )
        self.drop(import_id)
        return done

    def _staged(self, import_id: str) -> Iterator[MemoryItem]:
        last = -1
        page = (
            "SELECT number, item FROM import_items WHERE import_id = ?"
            " AND number > ? ORDER BY number LIMIT 200"
        )
        while rows := self._database.rows(page, import_id, last):
            for number, item in rows:
                yield item_from_json(from_json(item))
                last = number

    def drop(self, import_id: str) -> None:
        """Forget the import and what it staged."""
        self._database.run("DELETE FROM imports WHERE import_id = ?", import_id)


def item_from_json(value: dict[str, Any]) -> MemoryItem:
    """Read an item that this program wrote.

    Raises:
        LocalError: `INVALID_REQUEST`, if it is not one.
    """
    try:
        return msgspec.convert(value, MemoryItem)
    except msgspec.ValidationError as error:
        raise LocalError(
            Code.INVALID_REQUEST, f"An item is malformed: {error}"
        ) from error


def same_value(one: MemoryItem, other: MemoryItem) -> bool:
    """Say whether two values are the same JSON: `true` is not `1`."""
    return canonical.encode(one.value) == canonical.encode(other.value)


def _same(old: MemoryItem, new: MemoryItem) -> bool:
    return same_value(old, new) and (
        (set(old.tags), old.sensitivity, old.description)
        == (set(new.tags), new.sensitivity, new.description)
    )
