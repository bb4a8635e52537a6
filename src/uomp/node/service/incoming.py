"""A message that has passed the policy, with its sender in the form we compare."""

from typing import Any

import msgspec

from uomp.errors import Code, EnvelopeError
from uomp.protocol.did.resolve import did_of, short_form
from uomp.protocol.didcomm.message import Attachment, Message


class Incoming(msgspec.Struct, frozen=True, kw_only=True):
    """One message for a handler.

    `frm` is the sender's proved DID as it was written, `peer` its short form, and
    `size` the bytes of the envelope.
    """

    id: str
    type: str
    frm: str
    peer: str
    thread: str
    thid: str | None
    pthid: str | None
    expires_time: int | None
    body: dict[str, Any]
    attachments: tuple[Attachment, ...]
    please_ack: tuple[str, ...]
    size: int

    def __repr__(self) -> str:
        return f"Incoming({self.type}, {self.id})"  # a body may hold a token


def incoming(message: Message, size: int) -> Incoming:
    """Return what handlers get.

    Raises:
        EnvelopeError: `ENVELOPE_REFUSED`, if nobody has proved to be the sender.
    """
    if message.frm is None or message.sender is None or not message.authenticated:
        raise EnvelopeError(Code.ENVELOPE_REFUSED, "A message has no proved sender.")
    # Of the two forms of a did:peer:4 the one that resolves, wherever it stands.
    frm = max(message.frm, did_of(message.sender), key=len)
    return Incoming(
        id=message.id,
        type=message.type,
        frm=frm,
        peer=short_form(frm),
        thread=message.thread,
        thid=message.thid,
        pthid=message.pthid,
        expires_time=message.expires_time,
        body=message.body,
        attachments=message.attachments,
        please_ack=message.please_ack,
        size=size,
    )
