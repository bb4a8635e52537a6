"""Authorisation by message: asking a peer, and being asked (UOMP section 15.7)."""

from typing import Any

import msgspec

from uomp.errors import Code, EnvelopeError, LocalError, PeerError
from uomp.node.clock import new_id
from uomp.node.core import Core
from uomp.node.service.grants import preview
from uomp.node.service.incoming import Incoming
from uomp.node.service.outgoing import DAY, Draft, queue
from uomp.node.stores.audit import Entry
from uomp.node.stores.requests import Request
from uomp.node.stores.sessions import Held
from uomp.packets.times import format_time, parse_time
from uomp.protocol.did.resolve import short_form
from uomp.protocol.messages import types
from uomp.protocol.messages.bodies import (
    AuthorizeRequest,
    AuthorizeResponse,
    SessionRevoked,
    body_json,
    parse_body,
)
from uomp.protocol.scope import Scope, Scopes, parse_scopes, public_json

# A request that nobody answers leaves the queue after this long (seconds).
REQUEST_LIFETIME = 3 * DAY


class Question(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What this node's owner asks of a peer."""

    to: str
    keys: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    minutes: int = 30
    purpose: str = ""
    agent_id: str | None = None


def ask(core: Core, question: Question) -> str:
    """Ask a peer for memory; return the id of the request.

    Raises:
        PeerError: `DID_NOT_RESOLVED`, if the peer's DID cannot be used.
        LocalError: `INVALID_REQUEST`, if nothing is asked for.
    """
    scope = Scope(keys=question.keys, tags=question.tags)
    if scope.is_empty():
        raise LocalError(Code.INVALID_REQUEST, "Ask for at least one key or tag.")
    parse_scopes(Scopes(read=scope).to_json())
    to = find_peer(core, question.to)
    body = AuthorizeRequest(
        agent_id=question.agent_id or core.did,
        agent_name=core.config.node.name,
        requested_scopes=Scopes(read=scope).to_json(),
        duration_minutes=question.minutes,
        purpose=question.purpose,
        nonce=new_id("req"),
    )
    with core.ledger.transaction():
        core.peers.see(to, core.now_text())
        draft = Draft(
            to=to,
            type=types.AUTHORIZE_REQUEST,
            body=body,
            lifetime=REQUEST_LIFETIME,
        )
        message_id = queue(core, draft)
        core.asked.add(
            message_id, short_form(to), "authorize", body_json(body), core.now_text()
        )
        core.log(
            Entry(
                action="request_sent",
                allowed=True,
                reason="asked by the owner",
                agent_id=body.agent_id,
                tags=scope.tags,
                peer=short_form(to),
            )
        )
    return message_id


def find_peer(core: Core, who: str) -> str:
    """Return the DID that resolves for a DID or a contact's name.

    Raises:
        PeerError: `DID_NOT_RESOLVED`.
        LocalError: `NOT_FOUND`, for a name that no contact has.
    """
    did = who if who.startswith("did:") else core.peers.find(who).long
    if core.is_ours(did):
        raise LocalError(Code.INVALID_REQUEST, "That is this node's own DID.")
    core.resolve(did)
    return core.long_form(short_form(did)) or did


def on_authorize_request(core: Core, message: Incoming) -> None:
    """Queue a request for the owner. It grants nothing by itself (DER-14)."""
    body = parse_body(message.body, AuthorizeRequest)
    scopes = parse_scopes(body.requested_scopes)
    if body.profile != "remote":
        raise PeerError(Code.INVALID_REQUEST, "A request by message is remote.")
    if scopes.read.is_empty():
        raise PeerError(Code.INVALID_REQUEST, "A request asks for nothing.")
    core.peers.check_agent(message.frm, body.agent_id)
    peer = core.peers.get(message.frm)
    now_s = core.now_s()
    expires = min(message.expires_time or now_s, now_s + REQUEST_LIFETIME)
    request = Request(
        request_id=new_id("req"),
        message_id=message.id,
        sender=message.peer,
        body=message.body,
        status="pending",
        received_at=core.now_text(),
        expires_s=expires,
        decided_at=None,
        session_id=None,
    )
    core.requests.add(request, contact=peer is not None and peer.contact)
    core.log(
        Entry(
            action="request_received",
            allowed=True,
            reason="waits for the owner",
            agent_id=body.agent_id,
            tags=scopes.read.tags,
            peer=message.peer,
            request_size=message.size,
            detail={"request_id": request.request_id},
        )
    )


def on_authorize_response(core: Core, message: Incoming) -> None:
    """Take the answer to a request of ours, from the peer that was asked."""
    body = parse_body(message.body, AuthorizeResponse)
    asked = None if message.thid is None else core.asked.get(message.thid)
    if asked is None or (asked.peer, asked.kind) != (message.peer, "authorize"):
        raise EnvelopeError(Code.NOT_AUTHORIZED, "An answer came that nobody awaits.")
    now = core.now_text()
    answer = {
        "decision": body.decision,
        "session_id": body.session_id,
        "expires_at": body.expires_at,
        "granted_scopes": body.granted_scopes,
        "reason": body.reason,
    }
    if not core.asked.answer(asked.message_id, asked.peer, body.decision, answer, now):
        return  # answered already: the first answer stands
    if body.decision == "granted":
        core.held.add(_held(body, message, now))
    core.log(
        Entry(
            action="session_received",
            allowed=body.decision == "granted",
            reason=f"the peer has {body.decision} our request",
            session_id=body.session_id or "none",
            peer=message.peer,
        )
    )


def _held(body: AuthorizeResponse, message: Incoming, now: str) -> Held:
    if not (body.session_id and body.token and body.expires_at and body.granted_scopes):
        raise PeerError(Code.INVALID_REQUEST, "A grant came without its token.")
    return Held(
        session_id=body.session_id,
        issuer=message.peer,
        token=body.token,
        status="active",
        granted_scopes=public_json(parse_scopes(body.granted_scopes)),
        expires_at=format_time(parse_time(body.expires_at)),
        received_at=now,
        thread=message.thid,
    )


def on_session_revoked(core: Core, message: Incoming) -> None:
    """Mark a session as over that its issuer has ended.

    Where the grant itself never came, the request is answered by this.
    """
    body = parse_body(message.body, SessionRevoked)
    if message.thid is not None:
        answer = {"code": Code.SESSION_REVOKED, "comment": body.reason}
        core.asked.answer(
            message.thid, message.peer, "refused", answer, core.now_text()
        )
    if not core.held.end(body.session_id, message.peer, "revoked"):
        return  # not ours, or of another issuer: nothing to say
    core.log(
        Entry(
            action="session_ended_by_peer",
            allowed=True,
            reason="revoked by its issuer",
            session_id=body.session_id,
            peer=message.peer,
        )
    )


def describe(core: Core, request: Request) -> dict[str, Any]:
    """Return what the owner needs in order to decide: who, what, how much, how long."""
    body = parse_body(request.body, AuthorizeRequest)
    peer = core.peers.get(request.sender)
    scopes = parse_scopes(body.requested_scopes)
    return {
        "request_id": request.request_id,
        "status": request.status,
        "from": request.sender,
        "contact": peer.name if peer is not None and peer.contact else None,
        "agent_id": body.agent_id,
        "agent_name": body.agent_name,
        "purpose": body.purpose,
        "identity": "authenticated by its DID; publisher not verified",
        "requested": public_json(scopes),
        "minutes": body.duration_minutes,
        "retention": body.data_retention_policy,
        "exposes": preview(core, scopes.read),
        "received_at": request.received_at,
        "session_id": request.session_id,
    }


def describe_one(core: Core, message_id: str) -> dict[str, Any]:
    """Return one thing that this node has asked.

    Raises:
        LocalError: `NOT_FOUND`.
    """
    asked = core.asked.get(message_id)
    if asked is None:
        raise LocalError(Code.NOT_FOUND, f"This node has not asked {message_id}.")
    return {
        "request_id": asked.message_id,
        "to": asked.peer,
        "kind": asked.kind,
        "status": asked.status,
        "answer": asked.answer,
        "sent_at": asked.created_at,
        "answered_at": asked.answered_at,
    }


def describe_asked(core: Core) -> list[dict[str, Any]]:
    """Return what this node has asked of others, oldest first."""
    return [describe_one(core, asked.message_id) for asked in core.asked.all()]
