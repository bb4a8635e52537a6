"""Packets that left this node, their receipts, and the chains they stand in."""

from typing import Any

import msgspec

from uomp.errors import Code, LocalError
from uomp.node.database import Database, from_json, to_json

_COLUMNS = (
    "packet_hash, packet_id, peer, message_id, session_id, memory_type, items, size,"
    " inner_hash, sent_at, receipt, status"
)


class Handoff(msgspec.Struct, frozen=True, kw_only=True):
    """One packet given to one peer. `size` is bytes; `receipt` is the peer's own."""

    packet_hash: str
    packet_id: str
    peer: str
    message_id: str
    session_id: str | None
    memory_type: str
    items: int
    size: int
    inner_hash: str | None
    sent_at: str
    receipt: dict[str, Any] | None = None
    status: str = "queued"


class Handoffs:
    """What was handed over, in `ledger.db`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, handoff: Handoff) -> None:
        """Record a packet that goes out."""
        values = [getattr(handoff, name) for name in Handoff.__struct_fields__]
        marks = ",".join("?" * len(values))
        insert = f"INSERT INTO handoffs ({_COLUMNS}) VALUES ({marks})"  # noqa: S608
        self._database.run(insert, *values)

    def receipt(self, packet_hash: str, peer: str, receipt: dict[str, Any]) -> bool:
        """Keep the peer's first receipt for a packet; say if one was awaited."""
        self._database.run(
            "UPDATE handoffs SET receipt = ?, status = ?"
            " WHERE packet_hash = ? AND peer = ? AND receipt IS NULL",
            to_json(receipt),
            str(receipt.get("status")),
            packet_hash,
            peer,
        )
        return self._database.changes() == 1

    def lost(self, message_id: str) -> None:
        """Mark the packet of a message that was given up."""
        self._database.run(
            "UPDATE handoffs SET status = 'not_delivered'"
            " WHERE message_id = ? AND receipt IS NULL",
            message_id,
        )

    def refused(self, message_id: str, code: str) -> None:
        """Note that the peer has answered a delivery with a problem report."""
        self._database.run(
            "UPDATE handoffs SET status = ? WHERE message_id = ? AND receipt IS NULL",
            f"refused: {code}",
            message_id,
        )

    def all(self) -> list[Handoff]:
        """Return what was handed over, oldest first."""
        rows = self._database.rows(
            f"SELECT {_COLUMNS} FROM handoffs ORDER BY sent_at, packet_hash"  # noqa: S608
        )
        return [_to_handoff(row) for row in rows]

    def get(self, name: str) -> list[Handoff]:
        """Return a packet's handoffs by its id or hash.

        Raises:
            LocalError: `PACKET_NOT_FOUND`.
        """
        rows = self._database.rows(
            f"SELECT {_COLUMNS} FROM handoffs"  # noqa: S608
            " WHERE packet_id = ?1 OR packet_hash = ?1 ORDER BY sent_at",
            name,
        )
        if not rows:
            message = f"No packet {name} was handed over."
            raise LocalError(Code.PACKET_NOT_FOUND, message)
        return [_to_handoff(row) for row in rows]


class Chains:
    """The last packet for each audience, and the last one from each issuer."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def last_sent(self, audience: str) -> tuple[int, str | None]:
        """Return sequence and hash of our last packet for this audience; 0 and None."""
        return self._last("SELECT * FROM chains WHERE audience = ?", audience)

    def sent(self, audience: str, sequence: int, packet_hash: str) -> None:
        """Remember our last packet for this audience."""
        insert = "INSERT OR REPLACE INTO chains VALUES (?, ?, ?)"
        self._database.run(insert, audience, sequence, packet_hash)

    def last_received(self, issuer: str) -> tuple[int, str | None]:
        """Return sequence and hash of the issuer's last packet for us; 0 and None."""
        return self._last("SELECT * FROM received_chains WHERE issuer = ?", issuer)

    def received(self, issuer: str, sequence: int, packet_hash: str) -> None:
        """Remember the issuer's last packet for us."""
        insert = "INSERT OR REPLACE INTO received_chains VALUES (?, ?, ?)"
        self._database.run(insert, issuer, sequence, packet_hash)

    def _last(self, sql: str, name: str) -> tuple[int, str | None]:
        row = self._database.row(sql, name)
        return (0, None) if row is None else (int(row[1]), str(row[2]))


def _to_handoff(row: tuple[Any, ...]) -> Handoff:
    values = dict(zip(Handoff.__struct_fields__, row, strict=True))
    receipt = values["receipt"]
    return Handoff(
        **{**values, "receipt": None if receipt is None else from_json(receipt)}
    )
