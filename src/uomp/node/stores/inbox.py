"""`memory.db`: packets that wait for the owner, and where accepted items came from."""

from typing import Any

import msgspec

from uomp.errors import Code, LocalError
from uomp.node.database import Database, from_json, to_json

_COLUMNS = (
    "packet_hash, signed_hash, packet_id, message_id, sender, issuer, memory_type,"
    " session_id, thread, status, received_at, decided_at, report, packet"
)


class Received(msgspec.Struct, frozen=True, kw_only=True):
    """A verified packet in the inbox. DIDs are in their short form.

    `signed_hash` is over what the signature covers: it stays the same where somebody
    spells the key's DID or the algorithm in another way, so it is what replays share.
    `report` is the verification report, `packet` the packet's canonical bytes.
    """

    packet_hash: str
    signed_hash: str
    packet_id: str
    message_id: str
    sender: str
    issuer: str
    memory_type: str
    session_id: str | None
    thread: str | None
    status: str
    received_at: str
    decided_at: str | None = None
    report: dict[str, Any]
    packet: bytes


class Lineage(msgspec.Struct, frozen=True, kw_only=True):
    """Where an item came from: the packet, its issuer, and who handed it over."""

    packet_hash: str
    position: int
    issuer: str
    sender: str
    original_key: str
    accepted_at: str


class Inbox:
    """The inbox and the lineage of what was accepted from it."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, received: Received) -> None:
        """Keep a packet."""
        values = [
            to_json(received.report) if name == "report" else getattr(received, name)
            for name in Received.__struct_fields__
        ]
        marks = ",".join("?" * len(values))
        insert = f"INSERT INTO inbox ({_COLUMNS}) VALUES ({marks})"  # noqa: S608
        self._database.run(insert, *values)

    def find(self, signed_hash: str) -> Received | None:
        """Return a packet by the hash of what its signature covers, or None."""
        row = self._database.row(
            f"SELECT {_COLUMNS} FROM inbox WHERE signed_hash = ?",  # noqa: S608
            signed_hash,
        )
        return None if row is None else _to_received(row)

    def waiting(self, sender: str) -> int:
        """Return how many packets of a sender wait for the owner."""
        row = self._database.row(
            "SELECT count(*) FROM inbox WHERE sender = ?"
            " AND status IN ('pending', 'opaque')",
            sender,
        )
        return 0 if row is None else int(row[0])

    def get(self, name: str) -> Received:
        """Return a packet by its id, or by its hash or the beginning of that.

        Raises:
            LocalError: `PACKET_NOT_FOUND`, also where more than one would fit.
        """
        beginning = name if name.startswith("sha256:") else f"sha256:{name}"
        rows = self._database.rows(
            # What looks like a hash is one: no packet's id can stand in its place.
            f"SELECT {_COLUMNS} FROM inbox"  # noqa: S608
            " WHERE (packet_id = ?1 AND ?1 NOT LIKE 'sha256:%')"
            " OR packet_hash = ?2 OR (length(?2) >= 15"
            "  AND substr(packet_hash, 1, length(?2)) = ?2)",
            name,
            beginning,
        )
        if len(rows) != 1:
            message = f"There is no packet {name} in the inbox."
            if rows:
                message = f"More than one packet is called {name}; give its hash."
            raise LocalError(Code.PACKET_NOT_FOUND, message)
        return _to_received(rows[0])

    def all(self, status: str | None = None) -> list[Received]:
        """Return packets, oldest first."""
        rows = self._database.rows(
            f"SELECT {_COLUMNS} FROM inbox"  # noqa: S608
            " WHERE ?1 IS NULL OR status = ?1 ORDER BY received_at, packet_hash",
            status,
        )
        return [_to_received(row) for row in rows]

    def decide(self, packet_hash: str, status: str, now: str) -> None:
        """Settle a packet that waits.

        Raises:
            LocalError: `STATE_CONFLICT`, if it is settled already.
        """
        self._database.run(
            "UPDATE inbox SET status = ?, decided_at = ?"
            " WHERE packet_hash = ? AND status IN ('pending', 'opaque')",
            status,
            now,
            packet_hash,
        )
        if self._database.changes() != 1:
            raise LocalError(
                Code.STATE_CONFLICT, "The packet has been decided on already."
            )

    def add_lineage(self, item: int, lineage: Lineage) -> None:
        """Say where an item came from; a second way does not replace the first."""
        self._database.run(
            "INSERT OR IGNORE INTO lineage"
            " (item, packet_hash, position, issuer, sender,"
            " original_key, accepted_at) VALUES (?,?,?,?,?,?,?)",
            item,
            lineage.packet_hash,
            lineage.position,
            lineage.issuer,
            lineage.sender,
            lineage.original_key,
            lineage.accepted_at,
        )

    def lineage(self, key: str) -> list[Lineage]:
        """Return the ways an item came here, oldest first."""
        rows = self._database.rows(
            "SELECT packet_hash, position, issuer, sender, original_key, accepted_at"
            " FROM lineage JOIN items ON id = item WHERE key = ? ORDER BY accepted_at",
            key,
        )
        names = Lineage.__struct_fields__
        return [Lineage(**dict(zip(names, row, strict=True))) for row in rows]


def _to_received(row: tuple[Any, ...]) -> Received:
    values = dict(zip(Received.__struct_fields__, row, strict=True))
    return Received(**{**values, "report": from_json(values["report"])})
