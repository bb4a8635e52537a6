"""Ending sessions: revoke, close, and what happens by itself as time goes by."""

from typing import Any

from uomp.node.core import Core
from uomp.node.service.outgoing import DAY, Draft, queue
from uomp.node.stores.audit import Entry
from uomp.node.stores.sessions import Held, SessionRecord
from uomp.protocol.messages import types
from uomp.protocol.messages.bodies import SessionRevoked
from uomp.protocol.session import FINAL, Move, Status


def revoke(core: Core, session_id: str, reason: str) -> SessionRecord:
    """Revoke a session: its token is void from here on, and the agent is told.

    Raises:
        LocalError: `SESSION_NOT_FOUND`.
    """
    with core.ledger.transaction():
        return _end(core, session_id, Move.REVOKE, reason)


def close(core: Core, session_id: str, reason: str) -> SessionRecord:
    """Close a session that has served its purpose; the agent is told.

    Raises:
        LocalError: `SESSION_NOT_FOUND`.
    """
    with core.ledger.transaction():
        return _end(core, session_id, Move.CLOSE, reason)


def _end(core: Core, session_id: str, move: Move, reason: str) -> SessionRecord:
    before = core.sessions.get(session_id)
    now = core.now_text()
    status = core.sessions.move(session_id, move, now, reason)
    if status is before.status:
        return before
    core.log(
        Entry(
            action=f"session_{status}",
            allowed=True,
            reason=reason or f"{status} by the owner",
            session_id=session_id,
            agent_id=before.agent_id,
            peer=before.agent_did,
        )
    )
    queue(
        core,
        Draft(
            to=before.agent_did,
            type=types.SESSION_REVOKED,
            body=SessionRevoked(session_id=session_id, revoked_at=now, reason=reason),
            thid=before.thread,
            # Told again until the session would have ended anyway.
            lifetime=max(DAY, before.expires_s - core.now_s()),
        ),
    )
    return core.sessions.get(session_id)


def pass_time(core: Core) -> None:
    """Expire what is due: sessions, requests, held sessions, remembered ids."""
    now_s, now = core.now_s(), core.now_text()
    with core.ledger.transaction():
        for session_id in core.sessions.due(now_s):
            record = core.sessions.get(session_id)
            core.sessions.move(session_id, Move.EXPIRE, now, "its time was over")
            core.log(
                Entry(
                    action="session_expired",
                    allowed=True,
                    reason="its time was over",
                    session_id=session_id,
                    agent_id=record.agent_id,
                    peer=record.agent_did,
                )
            )
        for request in core.requests.due(now_s):
            core.requests.decide(request.request_id, "expired", now)
            core.log(
                Entry(
                    action="request_expired",
                    allowed=False,
                    reason="nobody decided in time",
                    peer=request.sender,
                    detail={"request_id": request.request_id},
                )
            )
        core.held.expire(now)
        core.replay.prune(now_s)


def describe(record: SessionRecord) -> dict[str, Any]:
    """Return the owner's view of a session (UOMP section 13.2), without its token."""
    return {
        "session_id": record.session_id,
        "role": "owner",
        "agent_id": record.agent_id,
        "agent_did": record.agent_did,
        "status": record.status.value,
        "created_at": record.created_at,
        "expires_at": record.expires_at,
        "closed_at": record.closed_at,
        "requested_scopes": record.requested_scopes,
        "granted_scopes": record.granted_scopes,
        "token_hash": record.token_hash,
        "reads": record.used,
        "max_reads": record.max_reads,
        "reshare": record.reshare,
        "reason": record.reason,
    }


def describe_held(held: Held) -> dict[str, Any]:
    """Return the owner's view of a session that a peer granted to this node."""
    ended = held.status in {status.value for status in FINAL}
    return {
        "session_id": held.session_id,
        "role": "agent",
        "issuer": held.issuer,
        "status": held.status if ended else Status.ACTIVE.value,
        "granted_scopes": held.granted_scopes,
        "expires_at": held.expires_at,
        "received_at": held.received_at,
    }


def counts(core: Core) -> dict[str, int]:
    """Return how much waits for the owner and for peers."""
    return {
        "items": sum(core.items.counts().values()),
        "pending_requests": len(core.requests.all("pending")),
        "active_sessions": len(core.sessions.all(Status.ACTIVE)),
        "inbox": len(core.inbox.all("pending")) + len(core.inbox.all("opaque")),
        "outbox": len(core.outbox.all()),
        "audit_entries": core.audit.count(),
    }


def listing(core: Core) -> list[dict[str, Any]]:
    """Return every session: those granted here, then those held with others."""
    return [
        *(describe(record) for record in core.sessions.all()),
        *(describe_held(held) for held in core.held.all()),
    ]


def show(core: Core, session_id: str) -> dict[str, Any]:
    """Return one session of either kind.

    Raises:
        LocalError: `SESSION_NOT_FOUND`.
    """
    held = core.held.find(session_id)
    if held is not None and core.sessions.find(session_id) is None:
        return describe_held(held)
    return describe(core.sessions.get(session_id))
