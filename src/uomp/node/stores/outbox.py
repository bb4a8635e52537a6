"""Messages that wait to be sent, and those that were received before."""

from collections.abc import Collection
from typing import Any, Final

import msgspec

from uomp.node.database import Database, from_json, to_json
from uomp.node.stores.peers import IS_KNOWN

RETRY_FIRST, RETRY_MOST = 1.0, 300.0  # seconds between two tries
_COLUMNS: Final = (
    "number, message_id, peer, type, message, session_id, attachment, expires_s,"
    " attempts, status, error"
)


# The oldest waiting message of each peer that is not busy, and whether the owner has
# dealt with the peer: named it, asked it, granted it something, holds its session.
_KNOWN: Final = IS_KNOWN.format(peer="outbox.peer")
_HEADS: Final = f"""
SELECT peer, min(number) AS number, next_try_s, {_KNOWN} AS known
FROM outbox
WHERE status = 'waiting' AND peer NOT IN (SELECT value FROM json_each(?1))
GROUP BY peer
"""  # noqa: S608 - nothing foreign is put into the text


class Outgoing(msgspec.Struct, frozen=True, kw_only=True):
    """A message with its recipient. A retry keeps the id and the expiry.

    `message` has every header and the body. Where the body needs a token, it holds
    the session's id instead, and the token is signed again when the message is packed.
    """

    number: int = 0
    message_id: str
    peer: str
    type: str
    message: dict[str, Any]
    session_id: str | None = None
    attachment: bytes | None = None
    expires_s: int
    attempts: int = 0
    status: str = "waiting"
    error: str | None = None


class Outbox:
    """The queue of messages in `ledger.db`; filled in the transaction of the cause."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, message: Outgoing, now: str) -> None:
        """Queue a message."""
        self._database.run(
            "INSERT INTO outbox (message_id, peer, type, message, session_id,"
            " attachment, created_at, expires_s, status)"
            " VALUES (?,?,?,?,?,?,?,?, 'waiting')",
            message.message_id,
            message.peer,
            message.type,
            to_json(message.message),
            message.session_id,
            message.attachment,
            now,
            message.expires_s,
        )

    def due(
        self, now_s: float, busy: Collection[str], *, known: bool, limit: int
    ) -> list[Outgoing]:
        """Return messages to try now: for each peer that is not busy, its oldest.

        `known` chooses between peers that the owner has dealt with and strangers.
        """
        rows = self._database.rows(
            f"SELECT {_COLUMNS} FROM outbox WHERE number IN (SELECT number FROM"  # noqa: S608
            f" ({_HEADS}) WHERE next_try_s <= ?2 AND known = ?3"
            "  ORDER BY number LIMIT ?4) ORDER BY number",
            _names(busy),
            now_s,
            int(known),
            max(limit, 0),
        )
        return [_to_outgoing(row) for row in rows]

    def next_try(self, busy: Collection[str]) -> float | None:
        """Return when a message for a peer that is not busy is due, or None."""
        row = self._database.row(
            f"SELECT min(next_try_s) FROM ({_HEADS})",  # noqa: S608
            _names(busy),
        )
        return None if row is None or row[0] is None else float(row[0])

    def waiting(self, peer: str) -> int:
        """Return how many messages wait for this peer."""
        count = "SELECT count(*) FROM outbox WHERE peer = ? AND status = 'waiting'"
        row = self._database.row(count, peer)
        return 0 if row is None else int(row[0])

    def prune(self, before: str) -> None:
        """Forget messages that were settled and are older than `before`."""
        self._database.run(
            "DELETE FROM outbox WHERE status <> 'waiting' AND created_at < ?", before
        )

    def sent(self, number: int) -> None:
        """Mark a message as taken by the peer; what was in it is dropped."""
        self._database.run(
            "UPDATE outbox SET status = 'sent', error = NULL, attachment = NULL,"
            " message = '{}', attempts = attempts + 1 WHERE number = ?",
            number,
        )

    def retry(self, message: Outgoing, now_s: float, error: str) -> None:
        """Try again later: 1 s, 2 s, 4 s and so on up to 5 minutes."""
        wait = min(RETRY_FIRST * 2**message.attempts, RETRY_MOST)
        self._database.run(
            "UPDATE outbox SET attempts = attempts + 1, next_try_s = ?, error = ?"
            " WHERE number = ?",
            now_s + wait,
            error,
            message.number,
        )

    def failed(self, number: int, error: str) -> None:
        """Give a message up."""
        self._database.run(
            "UPDATE outbox SET status = 'failed', error = ?, attachment = NULL,"
            " attempts = attempts + 1 WHERE number = ?",
            error,
            number,
        )

    def all(self) -> list[Outgoing]:
        """Return what waits or has failed, oldest first."""
        rows = self._database.rows(
            f"SELECT {_COLUMNS} FROM outbox WHERE status <> 'sent'"  # noqa: S608
            " ORDER BY number"
        )
        return [_to_outgoing(row) for row in rows]

    def wake(self, peer: str) -> None:
        """Try everything for this peer at once: it has just been heard of."""
        self._database.run(
            "UPDATE outbox SET next_try_s = 0 WHERE peer = ? AND status = 'waiting'",
            peer,
        )


def _names(peers: Collection[str]) -> str:
    return to_json(list(peers)).decode()


def _to_outgoing(row: tuple[Any, ...]) -> Outgoing:
    values = dict(zip([name.strip() for name in _COLUMNS.split(",")], row, strict=True))
    return Outgoing(**{**values, "message": from_json(values["message"])})


class Replay:
    """Ids of messages received, each kept until the message has expired (DER-13)."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def seen(self, sender: str, message_id: str) -> bool:
        """Say whether this sender's message was handled before."""
        found = "SELECT 1 FROM replay WHERE sender = ? AND message_id = ?"
        return self._database.row(found, sender, message_id) is not None

    def remember(self, sender: str, message_id: str, expires_s: int) -> None:
        """Remember a message in the transaction of its effect."""
        insert = "INSERT INTO replay VALUES (?, ?, ?)"
        self._database.run(insert, sender, message_id, expires_s)

    def prune(self, now_s: int) -> None:
        """Forget ids of messages that the policy would refuse as expired anyway."""
        self._database.run("DELETE FROM replay WHERE expires_s < ?", now_s)
