"""Requests that wait for the owner, and those this node has sent."""

from typing import Any

import msgspec

from uomp.errors import Code, LocalError
from uomp.node.database import Database, from_json, to_json

# Strangers share this many places (design section 4, floods).
MAX_PENDING_STRANGERS = 32
MAX_PENDING_STRANGER = 4  # of one stranger, so that one alone cannot fill them
MAX_PENDING_CONTACT = 8  # of one contact at a time

_COLUMNS = (
    "request_id, message_id, sender, body, status, received_at, expires_s,"
    " decided_at, session_id"
)


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """A request for authorisation. `sender` is a DID in its short form."""

    request_id: str
    message_id: str
    sender: str
    body: dict[str, Any]
    status: str
    received_at: str
    expires_s: int
    decided_at: str | None
    session_id: str | None


class Requests:
    """The queue in `ledger.db`. A request never becomes a session by itself."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, request: Request, *, contact: bool) -> None:
        """Queue a request.

        Raises:
            LocalError: `QUOTA_EXCEEDED`, if there is no place. `DUPLICATE_MESSAGE`, if
                the sender has used the message's id for a request before.
        """
        known = "SELECT 1 FROM requests WHERE sender = ? AND message_id = ?"
        if self._database.row(known, request.sender, request.message_id) is not None:
            raise LocalError(
                Code.DUPLICATE_MESSAGE, "A request has the id of an earlier one."
            )
        mine = MAX_PENDING_CONTACT if contact else MAX_PENDING_STRANGER
        full = self._count(_PENDING_OF, request.sender) >= mine
        if not contact:
            full = full or self._count(_PENDING_STRANGERS) >= MAX_PENDING_STRANGERS
        if full:
            raise LocalError(Code.QUOTA_EXCEEDED, "Too many requests wait already.")
        self._database.run(
            f"INSERT INTO requests ({_COLUMNS}) VALUES (?,?,?,?,?,?,?,?,?)",  # noqa: S608
            request.request_id,
            request.message_id,
            request.sender,
            to_json(request.body),
            request.status,
            request.received_at,
            request.expires_s,
            None,
            None,
        )

    def _count(self, sql: str, *values: str) -> int:
        row = self._database.row(sql, *values)
        return 0 if row is None else int(row[0])

    def prune(self, before: str) -> None:
        """Forget requests that ran out unanswered and came before `before`."""
        self._database.run(
            "DELETE FROM requests WHERE status = 'expired' AND received_at < ?", before
        )

    def get(self, request_id: str) -> Request:
        """Return a request.

        Raises:
            LocalError: `NOT_FOUND`.
        """
        row = self._database.row(
            f"SELECT {_COLUMNS} FROM requests WHERE request_id = ?",  # noqa: S608
            request_id,
        )
        if row is None:
            raise LocalError(Code.NOT_FOUND, f"There is no request {request_id}.")
        return _to_request(row)

    def all(self, status: str | None) -> list[Request]:
        """Return requests, oldest first; `status` None means all."""
        rows = self._database.rows(
            f"SELECT {_COLUMNS} FROM requests"  # noqa: S608
            " WHERE ?1 IS NULL OR status = ?1 ORDER BY received_at, request_id",
            status,
        )
        return [_to_request(row) for row in rows]

    def decide(
        self, request_id: str, status: str, now: str, session_id: str | None = None
    ) -> None:
        """Settle a pending request.

        Raises:
            LocalError: `STATE_CONFLICT`, if it is settled already.
        """
        self._database.run(
            "UPDATE requests SET status = ?, decided_at = ?, session_id = ?"
            " WHERE request_id = ? AND status = 'pending'",
            status,
            now,
            session_id,
            request_id,
        )
        if self._database.changes() != 1:
            raise LocalError(
                Code.STATE_CONFLICT, "The request has been answered already."
            )

    def due(self, now_s: int) -> list[Request]:
        """Return pending requests whose time is over."""
        rows = self._database.rows(
            f"SELECT {_COLUMNS} FROM requests"  # noqa: S608
            " WHERE status = 'pending' AND expires_s <= ?",
            now_s,
        )
        return [_to_request(row) for row in rows]


_PENDING_OF = "SELECT count(*) FROM requests WHERE status = 'pending' AND sender = ?"
_PENDING_STRANGERS = (
    "SELECT count(*) FROM requests WHERE status = 'pending'"
    " AND sender NOT IN (SELECT did FROM peers WHERE contact)"
)


def _to_request(row: tuple[Any, ...]) -> Request:
    values = dict(zip(Request.__struct_fields__, row, strict=True))
    return Request(**{**values, "body": from_json(values["body"])})


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """Something this node asked of a peer, and the answer if it came."""

    message_id: str
    peer: str
    kind: str
    body: dict[str, Any]
    status: str
    answer: dict[str, Any] | None
    created_at: str
    answered_at: str | None


class AskedTable:
    """What this node has asked of others, by message id."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(
        self, message_id: str, peer: str, kind: str, body: dict[str, Any], now: str
    ) -> None:
        """Remember a question; tokens are left out of `body` by the caller."""
        self._database.run(
            "INSERT INTO asked (message_id, peer, kind, body, status, created_at)"
            " VALUES (?, ?, ?, ?, 'waiting', ?)",
            message_id,
            peer,
            kind,
            to_json(body),
            now,
        )

    def get(self, message_id: str) -> Asked | None:
        """Return a question, or None."""
        row = self._database.row(
            f"SELECT {_ASKED} FROM asked WHERE message_id = ?",  # noqa: S608
            message_id,
        )
        return None if row is None else _to_asked(row)

    def all(self, kind: str | None = None) -> list[Asked]:
        """Return questions, oldest first."""
        rows = self._database.rows(
            f"SELECT {_ASKED} FROM asked"  # noqa: S608
            " WHERE ?1 IS NULL OR kind = ?1 ORDER BY created_at, message_id",
            kind,
        )
        return [_to_asked(row) for row in rows]

    def answer(
        self, message_id: str, peer: str, status: str, answer: dict[str, Any], now: str
    ) -> bool:
        """Keep the first final answer of the peer that was asked; say if it was one."""
        self._database.run(
            "UPDATE asked SET status = ?, answer = ?, answered_at = ?"
            " WHERE message_id = ? AND peer = ? AND status = 'waiting'",
            status,
            to_json(answer),
            now,
            message_id,
            peer,
        )
        return self._database.changes() == 1

    def expects(self, thread: str | None, peer: str) -> bool:
        """Say whether we have asked this peer for memory in this thread."""
        row = self._database.row(
            "SELECT 1 FROM asked WHERE message_id = ? AND peer = ?"
            " AND kind IN ('authorize', 'read')",
            thread,
            peer,
        )
        return row is not None


_ASKED = "message_id, peer, kind, body, status, answer, created_at, answered_at"


def _to_asked(row: tuple[Any, ...]) -> Asked:
    values = dict(zip(Asked.__struct_fields__, row, strict=True))
    answer = values["answer"]
    values["answer"] = None if answer is None else from_json(answer)
    return Asked(**{**values, "body": from_json(values["body"])})
