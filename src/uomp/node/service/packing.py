"""From a queued message to an envelope, and what happens when it cannot go out."""

import msgspec
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from uomp.errors import Code, LocalError, PeerError
from uomp.node.clock import random_bytes
from uomp.node.core import Core
from uomp.node.stores.audit import Entry
from uomp.node.stores.outbox import Outgoing
from uomp.protocol.did.document import DidDocument
from uomp.protocol.did.services import DIDCOMM
from uomp.protocol.didcomm.agreement import RecipientKey
from uomp.protocol.didcomm.authcrypt import pack_authcrypt
from uomp.protocol.didcomm.build import plaintext
from uomp.protocol.didcomm.message import Plaintext, attach
from uomp.protocol.messages import types
from uomp.protocol.session import Status
from uomp.protocol.token import Claims, issue

PACKET_MEDIA_TYPE = "application/uomp-packet+json"
CEK_BYTES, IV_BYTES = 64, 16  # A256CBC-HS512


class Packed(msgspec.Struct, frozen=True):
    """An envelope and the URL it goes to."""

    endpoint: str
    envelope: bytes


def pack(core: Core, outgoing: Outgoing) -> Packed | None:
    """Encrypt a queued message for its recipient; None if its session has ended.

    Raises:
        UompError: the recipient has no key or no endpoint, or its DID is not known.
    """
    if not _may_leave(core, outgoing):
        return None
    peer = core.peers.get(outgoing.peer)
    document = core.resolve(outgoing.peer if peer is None else peer.long)
    endpoint = peer.endpoint if peer is not None and peer.endpoint else None
    # Our long form until the peer has shown that it knows it.
    ours = core.identity.short_did if peer and peer.knows_us else core.identity.did
    envelope = pack_authcrypt(
        plaintext(_complete(core, outgoing, ours)),
        sender=core.agreement_keys()[f"{ours}#key-2"],
        recipients=recipients_of(document),
        ephemeral=X25519PrivateKey.generate(),
        cek=random_bytes(CEK_BYTES),
        iv=random_bytes(IV_BYTES),
    )
    return Packed(endpoint or _endpoint(document), envelope)


def _may_leave(core: Core, outgoing: Outgoing) -> bool:
    """Re-check the session right before what was read with it leaves (threat T9)."""
    why = ""
    if core.now_s() >= outgoing.expires_s:
        why = "its time is over"
    elif outgoing.session_id is not None and outgoing.type != types.HANDOFF_REQUEST:
        record = core.sessions.find(outgoing.session_id)
        lives = record is not None and record.status is Status.ACTIVE
        if not lives or record is None or core.now_s() >= record.expires_s:
            why = "the session has ended"
    if why:
        with core.ledger.transaction():
            give_up(core, outgoing, why)
    return not why


def give_up(
    core: Core, outgoing: Outgoing, why: str, code: Code = Code.PEER_UNREACHABLE
) -> None:
    """Stop trying. Runs in the ledger's open transaction."""
    core.outbox.failed(outgoing.number, why)
    core.handoffs.lost(outgoing.message_id)
    answer = {"code": code, "comment": why}
    core.asked.answer(
        outgoing.message_id, outgoing.peer, "failed", answer, core.now_text()
    )
    core.log(
        Entry(
            action="not_delivered",
            allowed=False,
            reason=why[:500],
            session_id=outgoing.session_id or "none",
            peer=outgoing.peer,
            detail={"message_type": outgoing.type, "message_id": outgoing.message_id},
        )
    )


def _complete(core: Core, outgoing: Outgoing, ours: str) -> Plaintext:
    """Add what is not kept at rest: the token, and the packet as an attachment."""
    message = dict(outgoing.message)
    body = dict(message["body"])
    if outgoing.type == types.AUTHORIZE_RESPONSE and outgoing.session_id is not None:
        body["token"] = _token(core, outgoing.session_id)
    if outgoing.type == types.HANDOFF_REQUEST and outgoing.session_id is not None:
        body["token"] = _held_token(core, outgoing)
    made = msgspec.convert({**message, "from": ours, "body": body}, Plaintext)
    if outgoing.attachment is None:
        return made
    packet = attach("packet", outgoing.attachment, media_type=PACKET_MEDIA_TYPE)
    return msgspec.structs.replace(made, attachments=(packet,))


def _token(core: Core, session_id: str) -> str:
    claims = core.sessions.get(session_id).claims
    return issue(msgspec.convert(claims, Claims), core.token_signer())


def _held_token(core: Core, outgoing: Outgoing) -> str:
    held = core.held.find(outgoing.session_id or "", outgoing.peer)
    if held is None or not held.token:
        raise LocalError(Code.TOKEN_EXPIRED, "The session is over; its token is gone.")
    return held.token


def recipients_of(document: DidDocument) -> list[RecipientKey]:
    """Return every X25519 key of a DID; each of its owner's devices may hold one.

    Raises:
        PeerError: `KEY_NOT_FOUND`.
    """
    keys = [
        RecipientKey(method.id, document.agreement_key(method.id))
        for method in document.methods
        if method.kind == "X25519" and method.id in document.key_agreement
    ]
    if not keys:
        raise PeerError(Code.KEY_NOT_FOUND, "The peer has no X25519 key.")
    return keys


def _endpoint(document: DidDocument) -> str:
    for service in document.services:
        if service.type == DIDCOMM and service.uri:
            return service.uri
    raise PeerError(Code.PEER_UNREACHABLE, "The peer's DID names no endpoint.")
