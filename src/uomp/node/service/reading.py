"""Reading by message: a token, some keys and tags, and a packet as the answer."""

from typing import Any

import msgspec

from uomp.errors import Code, LocalError, PeerError
from uomp.node.core import Core
from uomp.node.service import grants
from uomp.node.service.handoffs import Outbound, items_packet, largest, send_out
from uomp.node.service.incoming import Incoming
from uomp.node.service.outgoing import DAY, Draft, queue, queue_problem
from uomp.node.stores.audit import Entry
from uomp.packets import canonical
from uomp.packets.items import MemoryItem
from uomp.protocol import guard
from uomp.protocol.did.resolve import short_form
from uomp.protocol.messages import types
from uomp.protocol.messages.bodies import ReadRequest, body_json, parse_body
from uomp.protocol.scope import Scope, refusal
from uomp.protocol.token import Claims, verify

SUPPORTED = ("1.0",)


class Question(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to read within a session that a peer granted."""

    to: str
    session_id: str
    keys: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()


def ask(core: Core, question: Question) -> str:
    """Ask to read within a held session; return the id of the request.

    Whether the session still lives is the issuer's to say.

    Raises:
        LocalError: `SESSION_NOT_FOUND`, `TOKEN_EXPIRED` or `INVALID_REQUEST`.
    """
    if not question.keys and not question.tags:
        raise LocalError(Code.INVALID_REQUEST, "Read at least one key or tag.")
    peer = core.peers.find(question.to)
    held = core.held.find(question.session_id, peer.did)
    if held is None:
        raise LocalError(
            Code.SESSION_NOT_FOUND, "That peer has granted no such session."
        )
    if not held.token:
        raise LocalError(Code.TOKEN_EXPIRED, "The session is over; its token is gone.")
    # The token is put in when the message is packed; it is not kept in the outbox.
    body = ReadRequest(
        session_id=held.session_id, token="", keys=question.keys, tags=question.tags
    )
    draft = Draft(
        to=peer.long,
        type=types.HANDOFF_REQUEST,
        body=body,
        session_id=held.session_id,
        lifetime=DAY,
    )
    with core.ledger.transaction():
        message_id = queue(core, draft)
        asked = {**body_json(body), "token": None}
        core.asked.add(message_id, peer.did, "read", asked, core.now_text())
    return message_id


def on_read_request(core: Core, message: Incoming) -> None:
    """Decide one read, audit it, and send the packet.

    The audit entry is committed before the packet leaves; the session is looked at
    again right before that.

    A refusal is answered with a problem report that says its code and no more.

    Raises:
        PeerError: the request is malformed.
    """
    body = parse_body(message.body, ReadRequest)
    _check_versions(body)
    if not body.keys and not body.tags:
        raise PeerError(Code.INVALID_REQUEST, "A read names no key and no tag.")
    try:
        claims = _decide_session(core, message, body)
        items = _decide_targets(core, claims, body)
        packet = _packet(core, claims, items, body.budget)
    except _Refused as refused:
        # Answered here and not raised: the quota and the audit entry stand.
        _log(core, message, body, refused)
        thread = message.thread
        queue_problem(core, message.frm, PeerError(refused.code, ""), pthid=thread)
        return
    _log_read(core, message, claims, body, items)
    send_out(
        core,
        Outbound(
            to=message.frm,
            packet=packet,
            items=len(items),
            message_type=types.HANDOFF_DELIVER,
            thid=message.thread,
            session_id=claims.session_id,
        ),
    )


class _Refused(Exception):  # noqa: N818 - it carries a decision, it is no error
    def __init__(self, code: Code, reason: str, claims: Claims | None = None) -> None:
        super().__init__(reason)
        self.code, self.reason, self.claims = code, reason, claims


def _check_versions(body: ReadRequest) -> None:
    wanted = body.supported_versions or SUPPORTED
    if not any(version.partition(".")[0] == "1" for version in wanted):
        raise PeerError(
            Code.UNSUPPORTED_PROTOCOL_VERSION, "A read asks for other versions only."
        )


def _decide_session(core: Core, message: Incoming, body: ReadRequest) -> Claims:
    """Steps 1 to 5: the token, its session, the sender, the quota."""
    key = core.identity.keys.token.public_key()
    signer = core.token_signer()
    try:
        claims = verify(body.token, {signer.key_id: key}, now=core.now())
    except PeerError as error:
        raise _Refused(error.code, str(error)) from error
    place = guard.Place(
        profile="remote",
        audiences=[short_form(did) for did in core.our_dids()],
        sender=message.peer,
        epoch=grants.epoch(core),
    )
    session = core.sessions.state(claims.session_id, claims.jti)
    decision = guard.decide_session(claims, session, place)
    if not decision.allowed or body.session_id != claims.session_id:
        code = decision.code or Code.ACCESS_DENIED
        raise _Refused(code, decision.reason, claims)
    # Counted from here on, also where the scope refuses.
    core.sessions.use(claims.session_id)
    return claims


def _decide_targets(core: Core, claims: Claims, body: ReadRequest) -> list[MemoryItem]:
    """Steps 5b to 8, for every key and tag; one refusal refuses the whole read."""
    scope = claims.granted().read
    found: dict[str, MemoryItem] = {}
    for key in body.keys:
        item = core.items.get(key)
        _demand(guard.decide_kind(claims, "key"), claims)
        _demand(guard.decide_key(scope, key, item), claims)
        if item is not None:
            found[key] = item
    for tag in body.tags:
        _demand(guard.decide_kind(claims, "tag"), claims)
        _demand(guard.decide_tag(scope, tag), claims)
        found.update((item.key, item) for item in _with_tag(core, scope, tag))
    return [item for _, item in sorted(found.items())]


def _packet(
    core: Core, claims: Claims, items: list[MemoryItem], budget: int | None
) -> dict[str, Any]:
    record = core.sessions.get(claims.session_id)
    packet = items_packet(core, items, to=record.agent_did, session=record)
    most = largest(core) if budget is None else min(budget, largest(core))
    if len(canonical.encode(packet)) > most:
        raise _Refused(Code.PACKET_TOO_LARGE, f"over {most} bytes", claims)
    return packet


def _demand(decision: guard.Decision, claims: Claims) -> None:
    if not decision.allowed:
        code = decision.code or Code.ACCESS_DENIED
        raise _Refused(code, decision.reason, claims)


def _with_tag(core: Core, scope: Scope, tag: str) -> list[MemoryItem]:
    return [
        item
        for item in core.items.by_tag(tag)
        if refusal(scope, item.key, item.tags, item.sensitivity) is None
    ]


def _log_read(
    core: Core,
    message: Incoming,
    claims: Claims,
    body: ReadRequest,
    items: list[MemoryItem],
) -> None:
    core.log(
        Entry(
            action="read",
            allowed=True,
            reason="within the granted range",
            session_id=claims.session_id,
            agent_id=claims.agent_id,
            key=body.keys[0] if len(body.keys) == 1 else None,
            tags=body.tags,
            request_size=message.size,
            peer=message.peer,
            query_count_remaining=_remaining(core, claims.session_id),
            detail={"keys": [item.key for item in items][:200]},
        )
    )


def _remaining(core: Core, session_id: str) -> int | None:
    record = core.sessions.get(session_id)
    return None if record.max_reads is None else record.max_reads - record.used


def _log(core: Core, message: Incoming, body: ReadRequest, refused: _Refused) -> None:
    claims = refused.claims
    core.log(
        Entry(
            action="read",
            allowed=False,
            reason=f"{refused.code}: {refused.reason}",
            session_id=claims.session_id if claims else "unknown",
            agent_id=claims.agent_id if claims else "unknown",
            key=body.keys[0] if len(body.keys) == 1 else None,
            tags=body.tags[:16],
            request_size=message.size,
            peer=message.peer,
        )
    )
