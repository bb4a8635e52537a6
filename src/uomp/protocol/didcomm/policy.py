"""Which messages are let in: every one passes here, whatever road it came.

Most libraries stop at decryption and leave the binding of names to keys to the
application, which then trusts `from`. Here nobody sees a message before all of this.
"""

from collections.abc import Collection, Iterable
from typing import Final, Literal

import msgspec
import orjson
from msgspec import UNSET, UnsetType

from uomp.protocol.did import syntax
from uomp.protocol.didcomm.from_prior import MAX_AHEAD_SECONDS, check_times
from uomp.protocol.didcomm.message import (
    MAX_BARE_BYTES,
    MAX_ID_BYTES,
    MEDIA_TYPE,
    Attachment,
    Message,
    Plaintext,
    normalise_type,
)
from uomp.protocol.didcomm.refusal import Problem, RefusalError, malformed
from uomp.protocol.didcomm.unpack import Unpacked
from uomp.protocol.messages import types

MAX_LIFETIME_SECONDS: Final = 7 * 24 * 3600  # how long an id is remembered at most

# The prefix may be left out (RFC 7515, 4.1.9).
_MEDIA_TYPES: Final = frozenset({MEDIA_TYPE, MEDIA_TYPE.removeprefix("application/")})
_PROVED: Final = frozenset({"authcrypt", "tls"})


def check(
    unpacked: Unpacked,
    *,
    our_dids: Collection[str],
    now: int,
    require: Literal["authcrypt", "any"],
    max_bare: int = MAX_BARE_BYTES,
) -> Message:
    """Return the message if it may be handled.

    `now` is in epoch seconds. With `require="authcrypt"` the sender must be proved by
    authenticated encryption (or mutual TLS); `any` also takes signed and anonymous
    messages, never a bare plaintext. `max_bare` is the size in bytes of a message
    without its attachments. Replays are for the caller to refuse, by sender
    and `id`.

    Raises:
        RefusalError: with the problem code that the sender may be told.
    """
    # 1. The road: encrypted or signed, and by a known sender if need be.
    _check_road(unpacked, require)
    # 2. The members have their types; `body` is optional since v2.1. Without its
    #    attachments the message is small.
    _check_bare(unpacked, max_bare)
    plain = _convert(unpacked)
    _check_ids(plain)
    # 3. The media type, if it is there, is the one of a plaintext.
    if plain.typ is not None and plain.typ not in _MEDIA_TYPES:
        raise malformed("The media type of a message is not that of a plaintext.")
    # 4. The type is a message type URI.
    type_ = normalise_type(plain.type)
    # 5. `from` is who encrypted it, and who signed it.
    sender = _check_sender(unpacked, plain.frm)
    # 6. `to` names us, by the DID whose key opened it.
    _check_receiver(unpacked.recipient, plain.to, our_dids)
    # 7. It is neither expired nor from the future, nor good for too long.
    _check_times(plain, now, must_expire=types.must_expire(type_))
    # 8. A rotation was verified, and holds now.
    _check_rotation(unpacked, plain, now)
    # 9. Each attachment has one content, and no two have one name.
    if plain.attachments:
        _check_attachments(plain.attachments)
    return _message(unpacked, plain, type_, sender)


def _check_road(unpacked: Unpacked, require: str) -> None:
    if unpacked.layers == ("plain",):
        message = "A message is neither encrypted nor signed."
        raise RefusalError(Problem.UNTRUSTED, message)
    if require == "authcrypt" and _PROVED.isdisjoint(unpacked.layers):
        message = "A message is not encrypted by a known sender."
        raise RefusalError(Problem.UNTRUSTED, message)


def _check_bare(unpacked: Unpacked, max_bare: int) -> None:
    if unpacked.size <= max_bare:
        return
    message = unpacked.plaintext
    bare = {name: message[name] for name in message.keys() - {"attachments"}}
    if len(orjson.dumps(bare)) > max_bare:
        raise RefusalError(
            Problem.TOO_BIG, "A message is too big, its attachments apart."
        )


def _convert(unpacked: Unpacked) -> Plaintext:
    try:
        return msgspec.convert(unpacked.plaintext, Plaintext)
    except msgspec.ValidationError as error:
        raise malformed("A member of a message is missing or misbuilt.") from error


def _check_ids(plain: Plaintext) -> None:
    """Refuse ids over the limit in bytes; in characters it is kept already."""
    ids = (plain.thid, plain.pthid, *(plain.please_ack or ()), *(plain.ack or ()))
    for one in (plain.id, *ids):
        if one and not one.isascii() and len(one.encode()) > MAX_ID_BYTES:
            raise malformed("An id in a message is too long.")


def _check_sender(unpacked: Unpacked, frm: str | None) -> str | None:
    """Return the key id that proves `from`, None if nothing does."""
    proofs = [kid for kid in (unpacked.sender, unpacked.signer) if kid is not None]
    if proofs and frm is None:
        raise malformed("An authenticated message does not name its sender.")
    for kid in proofs:
        if frm is None or not syntax.same_did(syntax.did_of(kid), frm):
            message = "A message names another sender than the one who made it."
            raise RefusalError(Problem.UNTRUSTED, message)
    return proofs[0] if proofs else None


def _check_receiver(
    recipient: str | None,
    to: tuple[str, ...] | None,
    our_dids: Collection[str],
) -> None:
    ours: Iterable[str] = our_dids
    if recipient is not None:
        did = syntax.did_of(recipient)
        if not _among(did, our_dids):
            raise RefusalError(Problem.NOT_FOR_US, "A message is for another node.")
        ours = (did,)
    if to is not None and not any(_among(did, to) for did in ours):
        message = "A message is not addressed to whom it was encrypted for."
        raise RefusalError(Problem.UNTRUSTED, message)


def _among(did: str, dids: Collection[str]) -> bool:
    return did in dids or any(syntax.same_did(did, other) for other in dids)


def _check_times(plain: Plaintext, now: int, *, must_expire: bool) -> None:
    created, expires = plain.created_time, plain.expires_time
    if must_expire:
        if created is None or expires is None:
            raise malformed("A message of this type needs both its times.")
        if expires - created > MAX_LIFETIME_SECONDS:
            raise RefusalError(Problem.TIME, "A message is good for over 7 days.")
    if created is not None and created > now + MAX_AHEAD_SECONDS:
        raise RefusalError(Problem.TIME, "A message comes from the future.")
    if expires is not None and expires <= now:
        raise RefusalError(Problem.TIME, "A message has expired.")


def _check_rotation(unpacked: Unpacked, plain: Plaintext, now: int) -> None:
    if unpacked.from_prior is not None:
        check_times(unpacked.from_prior, now)
    elif plain.from_prior is not None:
        message = "A rotation came by a road on which it is not verified."
        raise RefusalError(Problem.UNTRUSTED, message)


def _check_attachments(attachments: tuple[Attachment, ...]) -> None:
    names = [one.id for one in attachments if one.id is not None]
    if len(names) != len(set(names)):
        raise malformed("Two attachments have one id.")
    for attachment in attachments:
        data = attachment.data
        contents = [data.base64, data.json, data.links]
        if sum(content is not UNSET for content in contents) != 1:
            raise malformed("An attachment has no content, or more than one.")
        if not isinstance(data.links, UnsetType) and not (data.hash and data.links):
            raise malformed("An attachment has links, and no hash or no link.")


def _message(
    unpacked: Unpacked, plain: Plaintext, type_: str, sender: str | None
) -> Message:
    return Message(
        id=plain.id,
        type=type_,
        frm=plain.frm,
        to=plain.to or (),
        thid=plain.thid,
        pthid=plain.pthid,
        created_time=plain.created_time,
        expires_time=plain.expires_time,
        body=plain.body or {},
        attachments=plain.attachments or (),
        please_ack=plain.please_ack or (),
        ack=plain.ack or (),
        from_prior=unpacked.from_prior,
        sender=sender,
        return_route=plain.return_route or "none",
        authenticated=sender is not None,
    )
