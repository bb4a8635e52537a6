"""Sessions that this node's owner granted, and those it holds with others."""

from typing import Any

import msgspec

from uomp.errors import Code, LocalError
from uomp.node.database import Database, from_json, to_json
from uomp.protocol import guard
from uomp.protocol.session import FINAL, Move, Status, after

_COLUMNS = (
    "session_id, agent_id, agent_did, status, created_at, expires_at, expires_s,"
    " closed_at, requested_scopes, granted_scopes, claims, token_hash, jti, epoch,"
    " max_reads, used, reshare, thread, reason"
)
_JSON = frozenset({"requested_scopes", "granted_scopes", "claims", "reshare"})


class SessionRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A session (UOMP section 13.2). The token itself is nowhere, only its hash."""

    session_id: str
    agent_id: str
    agent_did: str
    status: Status
    created_at: str
    expires_at: str
    expires_s: int
    closed_at: str | None = None
    requested_scopes: dict[str, Any]
    granted_scopes: dict[str, Any] | None = None
    claims: dict[str, Any] | None = None
    token_hash: str | None = None
    jti: str | None = None
    epoch: int
    max_reads: int | None = None
    used: int = 0
    reshare: Any = None
    thread: str | None = None
    reason: str = ""


class Sessions:
    """The table of granted sessions and the blacklist, in `ledger.db`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, record: SessionRecord) -> None:
        """Insert a session."""
        values = [
            to_json(getattr(record, name)) if name in _JSON else getattr(record, name)
            for name in SessionRecord.__struct_fields__
        ]
        marks = ",".join("?" * len(values))
        insert = f"INSERT INTO sessions ({_COLUMNS}) VALUES ({marks})"  # noqa: S608
        self._database.run(insert, *values)

    def find(self, session_id: str) -> SessionRecord | None:
        """Return a session, or None."""
        row = self._database.row(
            f"SELECT {_COLUMNS} FROM sessions WHERE session_id = ?",  # noqa: S608
            session_id,
        )
        return None if row is None else _to_record(row)

    def get(self, session_id: str) -> SessionRecord:
        """Return a session.

        Raises:
            LocalError: `SESSION_NOT_FOUND`.
        """
        record = self.find(session_id)
        if record is None:
            message = f"There is no session {session_id}."
            raise LocalError(Code.SESSION_NOT_FOUND, message)
        return record

    def all(self, status: str | None = None) -> list[SessionRecord]:
        """Return sessions, newest first."""
        rows = self._database.rows(
            f"SELECT {_COLUMNS} FROM sessions"  # noqa: S608
            " WHERE ?1 IS NULL OR status = ?1 ORDER BY created_at DESC, session_id",
            status,
        )
        return [_to_record(row) for row in rows]

    def move(self, session_id: str, move: Move, now: str, reason: str = "") -> Status:
        """Move a session along the table and return its state.

        A revoke puts the token on the blacklist, also where the session had ended.

        Raises:
            LocalError: `SESSION_NOT_FOUND` or `STATE_CONFLICT`.
        """
        record = self.get(session_id)
        status = after(record.status, move)
        if status is not record.status:
            self._database.run(
                "UPDATE sessions SET status = ?, closed_at = ?, reason = ?"
                " WHERE session_id = ? AND status = ?",
                status,
                now if status in FINAL else None,
                reason,
                session_id,
                record.status,
            )
        if move is Move.REVOKE and record.jti is not None:
            self._database.run(
                "INSERT OR IGNORE INTO blacklist VALUES (?, ?, ?, ?)",
                record.jti,
                session_id,
                record.token_hash,
                record.expires_s,
            )
        return status

    def due(self, now_s: int) -> list[str]:
        """Return the ids of open sessions whose time is over."""
        rows = self._database.rows(
            "SELECT session_id FROM sessions"
            " WHERE status IN ('created', 'active') AND expires_s <= ?",
            now_s,
        )
        return [str(row[0]) for row in rows]

    def state(self, session_id: str, jti: str) -> guard.Session | None:
        """Return what a decision needs to know now, in one read."""
        row = self._database.row(
            "SELECT status, agent_id, agent_did, epoch, used, max_reads,"
            " EXISTS (SELECT 1 FROM blacklist"
            "  WHERE jti = ?2 OR blacklist.session_id = sessions.session_id)"
            " FROM sessions WHERE session_id = ?1",
            session_id,
            jti,
        )
        if row is None:
            return None
        status, agent_id, agent_did, epoch, used, max_reads, blacklisted = row
        return guard.Session(
            status=Status(status),
            agent_id=agent_id,
            agent_did=agent_did,
            epoch=epoch,
            used=used,
            max_reads=max_reads,
            blacklisted=bool(blacklisted),
        )

    def use(self, session_id: str) -> None:
        """Count one request against the quota, in the transaction of the decision."""
        update = "UPDATE sessions SET used = used + 1 WHERE session_id = ?"
        self._database.run(update, session_id)


def _to_record(row: tuple[Any, ...]) -> SessionRecord:
    values = dict(zip(SessionRecord.__struct_fields__, row, strict=True))
    for name in _JSON:
        if values[name] is not None:
            values[name] = from_json(values[name])
    return SessionRecord(**{**values, "status": Status(values["status"])})


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """A session that a peer granted to this node, with its token."""

    session_id: str
    issuer: str
    token: str
    status: str
    granted_scopes: dict[str, Any]
    expires_at: str
    received_at: str
    thread: str | None

    def __repr__(self) -> str:
        return f"Held({self.session_id}, {self.status})"


_HELD = (
    "session_id, issuer, token, status, granted_scopes, expires_at, received_at, thread"
)


class HeldSessions:
    """The table of sessions that peers granted to us."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, held: Held) -> None:
        """Keep a granted session; a repeated grant of the same one changes nothing."""
        self._database.run(
            f"INSERT OR IGNORE INTO held ({_HELD}) VALUES (?,?,?,?,?,?,?,?)",  # noqa: S608
            held.session_id,
            held.issuer,
            held.token,
            held.status,
            to_json(held.granted_scopes),
            held.expires_at,
            held.received_at,
            held.thread,
        )

    def find(self, session_id: str, issuer: str | None = None) -> Held | None:
        """Return a held session by its id, and by its issuer where that is given."""
        rows = self._database.rows(
            f"SELECT {_HELD} FROM held"  # noqa: S608
            " WHERE session_id = ?1 AND (?2 IS NULL OR issuer = ?2)",
            session_id,
            issuer,
        )
        return _to_held(rows[0]) if len(rows) == 1 else None

    def all(self) -> list[Held]:
        """Return held sessions, newest first."""
        rows = self._database.rows(
            f"SELECT {_HELD} FROM held ORDER BY received_at DESC"  # noqa: S608
        )
        return [_to_held(row) for row in rows]

    def expire(self, now: str) -> None:
        """Drop the tokens of held sessions whose time is over."""
        self._database.run(
            "UPDATE held SET token = '',"
            " status = CASE status WHEN 'active' THEN 'expired' ELSE status END"
            " WHERE expires_at <= ? AND token <> ''",
            now,
        )

    def end(self, session_id: str, issuer: str, status: str) -> bool:
        """Mark a held session as ended by its issuer; say if there was one."""
        self._database.run(
            "UPDATE held SET status = ? WHERE session_id = ? AND issuer = ?",
            status,
            session_id,
            issuer,
        )
        return self._database.changes() == 1


def _to_held(row: tuple[Any, ...]) -> Held:
    values = dict(zip(Held.__struct_fields__, row, strict=True))
    return Held(**{**values, "granted_scopes": from_json(values["granted_scopes"])})
