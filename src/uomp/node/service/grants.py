"""From a request to a session: what would be exposed, and the grant itself."""

from datetime import timedelta
from typing import Annotated, Any

import msgspec

from uomp.errors import Code, LocalError
from uomp.node.clock import new_id
from uomp.node.core import Core
from uomp.node.service.outgoing import Draft, queue
from uomp.node.stores.audit import Entry
from uomp.node.stores.requests import Request
from uomp.node.stores.sessions import SessionRecord
from uomp.packets.items import MemoryItem
from uomp.packets.times import format_time
from uomp.protocol.messages import types
from uomp.protocol.messages.bodies import (
    MAX_MINUTES,
    MIN_MINUTES,
    AuthorizeRequest,
    AuthorizeResponse,
    parse_body,
)
from uomp.protocol.scope import Scope, Scopes, difference, parse_scopes, refusal
from uomp.protocol.session import Move, Status
from uomp.protocol.token import VERSION, Claims, issue, token_hash

# Audit epoch of tokens; a restore from a backup raises it, so that old tokens die.
EPOCH_NAME = "token_epoch"
FIRST_EPOCH = 1


class Selection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the owner narrows a request; empty lists and None mean "as requested".

    `reshare` is "none", "any" or the DIDs that the packet may be passed on to.
    """

    keys: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    deny_keys: tuple[str, ...] = ()
    deny_tags: tuple[str, ...] = ()
    minutes: int | None = None
    max_reads: Annotated[int, msgspec.Meta(ge=1)] | None = None
    reshare: str | tuple[str, ...] = "none"
    widen: bool = False
    packet: bool = True


def epoch(core: Core) -> int:
    """Return the epoch that tokens of this node belong to."""
    row = core.ledger.row("SELECT value FROM meta WHERE name = ?", EPOCH_NAME)
    return FIRST_EPOCH if row is None else int(row[0])


def exposed(core: Core, scope: Scope) -> list[MemoryItem]:
    """Return every item that a read scope reaches now, by key."""
    found: dict[str, MemoryItem] = {}
    for key in scope.keys:
        item = core.items.get(key)
        if item is not None:
            found[key] = item
    for tag in scope.tags:
        found.update((item.key, item) for item in core.items.by_tag(tag))
    return [
        item
        for _, item in sorted(found.items())
        if refusal(scope, item.key, item.tags, item.sensitivity) is None
    ]


def preview(core: Core, scope: Scope) -> dict[str, Any]:
    """Return how many items each key and tag really exposes, for the owner."""
    every = exposed(core, scope)
    keys = {item.key for item in every}
    high = [item.key for item in every if item.sensitivity == "high"]
    return {
        "items": len(every),
        "high": high,
        "keys": {key: key in keys for key in scope.keys},
        "tags": {tag: sum(tag in item.tags for item in every) for tag in scope.tags},
        "sample": [item.key for item in every[:5]],
    }


def narrow(core: Core, requested: Scopes, selection: Selection) -> Scopes:
    """Apply the owner's selection to a request.

    Raises:
        LocalError: `STATE_CONFLICT`, if the selection exceeds the request and
            `widen` is not set (A-28), or allows nothing.
    """
    asked = requested.read
    chosen = bool(selection.keys or selection.tags)
    read = Scope(
        keys=selection.keys if chosen else asked.keys,
        tags=selection.tags if chosen else asked.tags,
        deny_keys=_union(asked.deny_keys, selection.deny_keys),
        deny_tags=_union(asked.deny_tags, selection.deny_tags),
    )
    if read.is_empty():
        raise LocalError(Code.STATE_CONFLICT, "The grant would allow nothing.")
    more = _beyond(core, asked, read)
    if more and not selection.widen:
        raise LocalError(
            Code.STATE_CONFLICT,
            "This grants more than was asked for: "
            + ", ".join(more)
            + ". Give --widen if you mean it.",
        )
    return Scopes(read=read)  # agents cannot write yet, whatever they ask (UOMP-11.3-2)


def _union(first: tuple[str, ...], second: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*first, *second)))


def _beyond(core: Core, asked: Scope, granted: Scope) -> list[str]:
    """Name what the grant reaches and the request does not.

    A key is within the request also where its item bears a requested tag.
    """
    more = difference(asked, granted)
    beyond = [f"tag {tag}" for tag in more.get("tags", ())]
    for key in more.get("keys", ()):
        item = core.items.get(key)
        if item is None or not any(tag in asked.tags for tag in item.tags):
            beyond.append(f"key {key}")
    return beyond


def grant(core: Core, request: Request, selection: Selection) -> SessionRecord:
    """Make the session of an approved request, with its token and its answer.

    Runs in the ledger's open transaction.

    Raises:
        LocalError: `STATE_CONFLICT` or `INVALID_REQUEST`.
    """
    body = parse_body(request.body, AuthorizeRequest)
    requested = parse_scopes(body.requested_scopes)
    core.peers.bind_agent(request.sender, body.agent_id)
    minutes = _minutes(body, selection)
    granted = narrow(core, requested, selection)
    record = _record(core, request, body, minutes=minutes)
    claims = _claims(core, record, granted, selection.max_reads)
    token = issue(claims, core.token_signer())
    core.sessions.add(
        msgspec.structs.replace(
            record,
            granted_scopes=granted.to_json(),
            claims=msgspec.to_builtins(claims),
            token_hash=token_hash(token),
            jti=claims.jti,
            max_reads=selection.max_reads,
            reshare=selection.reshare,
        )
    )
    now = core.now_text()
    core.sessions.move(record.session_id, Move.GRANT, now)
    core.requests.decide(request.request_id, "approved", now, record.session_id)
    _audit_grant(core, record, granted, _beyond(core, requested.read, granted.read))
    _answer(core, request, record, claims)
    return core.sessions.get(record.session_id)


def _minutes(body: AuthorizeRequest, selection: Selection) -> int:
    wanted = selection.minutes
    minutes = body.duration_minutes if wanted is None else wanted
    if not MIN_MINUTES <= minutes <= MAX_MINUTES:
        raise LocalError(
            Code.INVALID_REQUEST, f"A session lasts 1 to {MAX_MINUTES} minutes."
        )
    if minutes > body.duration_minutes and not selection.widen:
        raise LocalError(
            Code.STATE_CONFLICT,
            f"Only {body.duration_minutes} minutes were asked for. "
            "Give --widen if you mean it.",
        )
    return minutes


def _record(
    core: Core, request: Request, body: AuthorizeRequest, *, minutes: int
) -> SessionRecord:
    now = core.now().replace(microsecond=0)
    expires = now + timedelta(minutes=minutes)
    return SessionRecord(
        session_id=new_id("sess"),
        agent_id=body.agent_id,
        agent_did=request.sender,
        status=Status.CREATED,
        created_at=format_time(now),
        expires_at=format_time(expires),
        expires_s=int(expires.timestamp()),
        requested_scopes=parse_scopes(body.requested_scopes).to_json(),
        epoch=epoch(core),
        thread=request.message_id,
    )


def _claims(
    core: Core, record: SessionRecord, granted: Scopes, max_reads: int | None
) -> Claims:
    issued = core.now().replace(microsecond=0)
    return Claims(
        version=VERSION,
        session_id=record.session_id,
        agent_id=record.agent_id,
        jti=new_id("jti"),
        iss=core.did,
        sub=record.agent_did,
        iat=int(issued.timestamp()),
        exp=record.expires_s,
        issued_at=format_time(issued),
        expires_at=record.expires_at,
        epoch=record.epoch,
        scopes=granted.to_json(),
        limits=None if max_reads is None else {"max_read_queries": max_reads},
        profile="remote",
        audience=core.did,
        aud=core.did,
    )


def _audit_grant(
    core: Core, record: SessionRecord, granted: Scopes, beyond: list[str]
) -> None:
    core.log(
        Entry(
            action="session_granted",
            allowed=True,
            reason="granted by the owner" + (", more than requested" if beyond else ""),
            session_id=record.session_id,
            agent_id=record.agent_id,
            tags=granted.read.tags,
            peer=record.agent_did,
            detail={"granted": granted.to_json(), "beyond_request": beyond},
        )
    )


def _answer(
    core: Core, request: Request, record: SessionRecord, claims: Claims
) -> None:
    queue(
        core,
        Draft(
            to=request.sender,
            type=types.AUTHORIZE_RESPONSE,
            # The token is signed again when the message is packed, never kept here.
            body=AuthorizeResponse(
                decision="granted",
                session_id=record.session_id,
                token_type="Bearer",  # noqa: S106
                expires_at=record.expires_at,
                granted_scopes=claims.scopes,
                audience=claims.audience,
            ),
            thid=request.message_id,
            session_id=record.session_id,
            lifetime=max(60, record.expires_s - core.now_s()),
        ),
    )


def deny(core: Core, request: Request, reason: str) -> None:
    """Answer a request with no. Runs in the ledger's open transaction."""
    body = parse_body(request.body, AuthorizeRequest)
    core.requests.decide(request.request_id, "denied", core.now_text())
    core.log(
        Entry(
            action="request_denied",
            allowed=False,
            reason="denied by the owner",
            agent_id=body.agent_id,
            peer=request.sender,
            detail={"request_id": request.request_id},
        )
    )
    queue(
        core,
        Draft(
            to=request.sender,
            type=types.AUTHORIZE_RESPONSE,
            body=AuthorizeResponse(decision="denied", reason=reason),
            thid=request.message_id,
        ),
    )
