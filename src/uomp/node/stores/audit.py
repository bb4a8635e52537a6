"""The audit log: what was asked and what was decided (UOMP section 18).

An entry is written to the `audit_outbox` of the file that changes, in the same
transaction, and copied here before the change is acknowledged. Each row carries the
leaf hash of its entry and a hash over the row before, so that an edit, a deletion in
the middle and a swap show.
"""

import hashlib
from collections.abc import Sequence
from typing import Any

import msgspec

from uomp.node.clock import new_id, random_bytes
from uomp.node.database import Database, from_json
from uomp.node.stores.schema import AUDIT
from uomp.packets import canonical
from uomp.packets.merkle import leaf_hash

SALT_BYTES = 16
UNKNOWN = "unknown"  # session or agent of a request whose token did not verify
GENESIS = bytes(32)


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One audit entry, section 18.1. Sizes are bytes; never a value, never a token."""

    action: str
    allowed: bool
    reason: str
    session_id: str = UNKNOWN
    agent_id: str = UNKNOWN
    key: str | None = None
    tags: tuple[str, ...] = ()
    request_size: int = 0
    response_size: int = 0
    query_count_remaining: int | None = None
    peer: str | None = None
    packet_hash: str | None = None
    detail: dict[str, Any] | None = None


def record(database: Database, timestamp: str, entry: Entry) -> None:
    """Write the entry in the transaction that is open on `database`."""
    made = {
        "id": new_id("log"),
        "timestamp": timestamp,
        **msgspec.to_builtins(entry),
        "salt": random_bytes(SALT_BYTES).hex(),
    }
    database.run("INSERT INTO audit_outbox (entry) VALUES (?)", canonical.encode(made))


class AuditLog:
    """`audit.db`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @staticmethod
    def migrations() -> Sequence[str]:
        """Return the scripts that make the tables."""
        return AUDIT

    def collect(self, source: str, database: Database) -> None:
        """Copy what waits in the outbox of `database`; after a crash, do it again.

        Raises:
            UnavailableError: `STORE_UNAVAILABLE`. Nothing may then be acknowledged.
        """
        waiting = database.rows("SELECT seq, entry FROM audit_outbox ORDER BY seq")
        if not waiting:
            return
        with self._database.transaction():
            for seq, entry in waiting:
                self._append(source, seq, entry)
        with database.transaction():
            database.run("DELETE FROM audit_outbox WHERE seq <= ?", waiting[-1][0])

    def _append(self, source: str, seq: int, entry: bytes) -> None:
        value = from_json(entry)
        # Known by its random id and not by its number: an older file that was put back
        # gives the same numbers to other entries.
        if self._database.row("SELECT 1 FROM log WHERE id = ?", value["id"]):
            return
        leaf = leaf_hash(entry)
        self._database.run(
            "INSERT INTO log (source, source_seq, id, timestamp, session_id, agent_id,"
            " action, allowed, entry, leaf, chain) VALUES (?,?,?,?,?,?,?,?,?,?,?)",
            source,
            seq,
            value["id"],
            value["timestamp"],
            value["session_id"],
            value["agent_id"],
            value["action"],
            int(value["allowed"]),
            entry,
            leaf,
            _link(self._head(), leaf),
        )

    def _head(self) -> bytes:
        row = self._database.row("SELECT chain FROM log ORDER BY number DESC LIMIT 1")
        return row[0] if row else GENESIS

    def entries(
        self, *, session_id: str | None = None, action: str | None = None, limit: int
    ) -> list[dict[str, Any]]:
        """Return entries, newest first, without their salts."""
        found = self._database.rows(
            "SELECT entry FROM log WHERE (?1 IS NULL OR session_id = ?1)"
            " AND (?2 IS NULL OR action = ?2) ORDER BY number DESC LIMIT ?3",
            session_id,
            action,
            limit,
        )
        return [_without_salt(from_json(entry)) for (entry,) in found]

    def verify(self) -> list[str]:
        """Return what is wrong with the log, by entry; nothing means it is whole."""
        wrong: list[str] = []
        before = GENESIS
        rows = self._database.rows(
            "SELECT number, id, entry, leaf, chain, timestamp, session_id, agent_id,"
            " action, allowed FROM log ORDER BY number"
        )
        for expected, row in enumerate(rows, start=1):
            number, name, entry, leaf, chain, *shown = row
            if number != expected:
                wrong.append(f"entry {expected} is missing before {name}")
                break
            if leaf_hash(entry) != leaf or _columns(entry) != [name, *shown]:
                wrong.append(f"entry {number} ({name}) was changed")
            if _link(before, leaf) != chain:
                wrong.append(f"entry {number} ({name}) does not follow the one before")
            before = chain
        given = self._database.row("SELECT seq FROM sqlite_sequence WHERE name = 'log'")
        if given is not None and given[0] > len(rows) and not wrong:
            wrong.append(f"the entries after {len(rows)} are missing")
        return wrong

    def count(self) -> int:
        """Return how many entries there are."""
        row = self._database.row("SELECT count(*) FROM log")
        return int(row[0]) if row else 0

    def close(self) -> None:
        """Close the file."""
        self._database.close()


def _link(before: bytes, leaf: bytes) -> bytes:
    return hashlib.sha256(before + leaf).digest()


def _columns(entry: bytes) -> list[Any]:
    """Return what the row's columns must say, as `verify` reads them."""
    names = ("id", "timestamp", "session_id", "agent_id", "action", "allowed")
    value = from_json(entry)
    return [value[name] for name in names]


def _without_salt(entry: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in entry.items() if name != "salt"}
