"""Queueing messages for peers, in the transaction of what causes them."""

import uuid
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from uomp.errors import UompError
from uomp.node.clock import random_bytes
from uomp.node.core import Core
from uomp.node.stores.outbox import Outgoing
from uomp.protocol.did.resolve import short_form
from uomp.protocol.messages import types
from uomp.protocol.messages.bodies import body_json, parse_body
from uomp.protocol.messages.problems import to_problem

DAY: Final = 86_400  # seconds
# A laptop may be closed for a weekend; the protocol's bound is seven days.
DEFAULT_LIFETIME: Final = 3 * DAY
MAX_LIFETIME: Final = 7 * DAY
STRANGER_LIFETIME: Final = 600  # of an answer to a peer the owner has not dealt with
MAX_STRANGER_REPLIES: Final = 4  # that wait for one such peer


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """A message before it has an id. `lifetime` is seconds, at most seven days.

    `attachment` is the bytes of one packet, sent as base64. `session_id` is set where
    the message depends on a session: its token, or memory that was read with it.
    """

    to: str
    type: str
    body: msgspec.Struct | dict[str, Any]
    thid: str | None = None
    pthid: str | None = None
    session_id: str | None = None
    attachment: bytes | None = None
    lifetime: int = DEFAULT_LIFETIME
    reply: bool = False
    """Sent by the node itself because a message came, not by its owner."""
    ack: Sequence[str] = ()
    please_ack: bool = False


def queue(core: Core, draft: Draft) -> str:
    """Put a message into the outbox and return its id.

    Raises:
        PeerError: `INVALID_REQUEST`, if a peer would refuse the body as malformed.
    """
    if draft.reply and not core.peers.is_known(draft.to):
        # What strangers provoke is short-lived and little.
        if core.outbox.waiting(short_form(draft.to)) >= MAX_STRANGER_REPLIES:
            return ""
        lifetime = min(draft.lifetime, STRANGER_LIFETIME)
        draft = msgspec.structs.replace(draft, lifetime=lifetime)
    created = core.now_s()
    message_id = str(uuid.UUID(bytes=random_bytes(16), version=4))
    expires = created + min(draft.lifetime, MAX_LIFETIME)
    body = draft.body if isinstance(draft.body, dict) else body_json(draft.body)
    if isinstance(draft.body, msgspec.Struct):
        parse_body(body, type(draft.body))  # our own limits hold for us too
    message = {
        "id": message_id,
        "type": draft.type,
        "to": [draft.to],
        "thid": draft.thid,
        "pthid": draft.pthid,
        "created_time": created,
        "expires_time": expires,
        "body": body,
        "ack": list(draft.ack) or None,
        "please_ack": [""] if draft.please_ack else None,
    }
    outgoing = Outgoing(
        message_id=message_id,
        peer=short_form(draft.to),
        type=draft.type,
        message={name: value for name, value in message.items() if value is not None},
        session_id=draft.session_id,
        attachment=draft.attachment,
        expires_s=expires,
    )
    core.outbox.add(outgoing, core.now_text())
    return message_id


def queue_problem(
    core: Core, to: str, error: UompError, *, pthid: str, args: Sequence[str] = ()
) -> str:
    """Answer a message with a problem report; `pthid` is that message's thread."""
    return queue(
        core,
        Draft(
            to=to,
            type=types.PROBLEM_REPORT,
            body=to_problem(error, *args),
            pthid=pthid,
            lifetime=DAY,
            reply=True,
        ),
    )
