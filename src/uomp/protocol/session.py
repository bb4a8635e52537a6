"""The life of a session as a table (UOMP section 13)."""

from enum import StrEnum

from uomp.errors import Code, LocalError


class Status(StrEnum):
    """The five states; the last three are final."""

    CREATED = "created"
    ACTIVE = "active"
    CLOSED = "closed"
    EXPIRED = "expired"
    REVOKED = "revoked"


class Move(StrEnum):
    """What can happen to a session."""

    GRANT = "grant"
    CLOSE = "close"
    EXPIRE = "expire"
    REVOKE = "revoke"
    PROVE = "prove"  # a deletion proof of a session bound to one task


MOVES: dict[tuple[Status, Move], Status] = {
    (Status.CREATED, Move.GRANT): Status.ACTIVE,
    (Status.CREATED, Move.CLOSE): Status.CLOSED,
    (Status.CREATED, Move.EXPIRE): Status.EXPIRED,
    (Status.CREATED, Move.REVOKE): Status.REVOKED,
    (Status.ACTIVE, Move.CLOSE): Status.CLOSED,
    (Status.ACTIVE, Move.EXPIRE): Status.EXPIRED,
    (Status.ACTIVE, Move.REVOKE): Status.REVOKED,
    (Status.ACTIVE, Move.PROVE): Status.CLOSED,
}

FINAL = frozenset({Status.CLOSED, Status.EXPIRED, Status.REVOKED})
# Ending what has ended changes nothing and is no error: a revoke never fails.
_IDEMPOTENT = frozenset({Move.CLOSE, Move.EXPIRE, Move.REVOKE})


def after(status: Status, move: Move) -> Status:
    """Return the state that follows.

    Raises:
        LocalError: `STATE_CONFLICT`, if the table has no such move.
    """
    if (status, move) in MOVES:
        return MOVES[status, move]
    if status in FINAL and move in _IDEMPOTENT:
        return status
    raise LocalError(
        Code.STATE_CONFLICT, f"A session that is {status} cannot be changed by {move}."
    )
