"""The plaintext message of DIDComm v2.1: as it is written, and as it was let in."""

import re
from functools import lru_cache
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from uomp.packets.multibase import b64_decode_lenient, b64url_encode
from uomp.protocol.did.syntax import MAX_DID_CHARS
from uomp.protocol.didcomm.from_prior import MAX_JWT_CHARS, FromPrior
from uomp.protocol.didcomm.refusal import malformed
from uomp.protocol.messages.types import SHORT_PREFIX, UOMP

MEDIA_TYPE: Final = "application/didcomm-plain+json"

MAX_ID_BYTES: Final = 256  # ids are kept to refuse replays
MAX_DIDS: Final = 100  # in `to`, as many as there may be recipient keys
MAX_ATTACHMENTS: Final = 64
MAX_ACKS: Final = 16  # kept with the message; a peer answers few at once
# All that is not in attachments is stored, logged and shown to the owner: a manifest or
# an answer has some KiB. Packets travel in attachments.
MAX_BARE_BYTES: Final = 256 * 1024
MAX_TIME: Final = 2**53 - 1  # epoch seconds
_MAX_TYPE_CHARS: Final = 512
_MAX_TEXT_CHARS: Final = 2_048
_MAX_LINKS: Final = 16
_CACHED_TYPES: Final = 256

# DIDComm v2.1, Message Type URI: doc-uri / protocol / version / message name.
_TYPE = re.compile(
    r"[a-z][a-z0-9+.-]*:[^\s\x00-\x1f\x7f]*?"
    r"[a-z0-9._-]+/\d[0-9A-Za-z.+-]*/[a-z0-9._-]+",
    re.ASCII,
)
_SHORT_NAME = re.compile(r"[a-z0-9-]{1,64}", re.ASCII)

Id = Annotated[
    str,
    Meta(min_length=1, max_length=MAX_ID_BYTES, pattern=r"^[^\x00-\x1f\x7f]+\Z"),
]
_Ack = Annotated[
    str, Meta(max_length=MAX_ID_BYTES, pattern=r"^[^\x00-\x1f\x7f]*\Z")
]  # the id of a message; "" stands for the message itself
_Did = Annotated[str, Meta(min_length=1, max_length=MAX_DID_CHARS)]
_Text = Annotated[str, Meta(max_length=_MAX_TEXT_CHARS)]
_Time = Annotated[int, Meta(ge=0, le=MAX_TIME)]


class AttachmentData(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where the content is: exactly one of `base64`, `json` and `links`.

    `hash` is a multihash in multibase; links need it and are never fetched unasked.
    """

    base64: str | UnsetType = UNSET
    json: Any = UNSET
    links: Annotated[tuple[_Text, ...], Meta(max_length=_MAX_LINKS)] | UnsetType = UNSET
    hash: Annotated[str, Meta(max_length=256)] | None = None
    jws: dict[str, Any] | None = None

    def __repr__(self) -> str:
        return "AttachmentData(…)"  # it may be a packet


class Attachment(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One attachment. `lastmod_time` is in epoch seconds, `byte_count` is a claim."""

    data: AttachmentData
    id: Id | None = None
    description: _Text | None = None
    filename: _Text | None = None
    media_type: _Text | None = None
    format: _Text | None = None
    lastmod_time: _Time | None = None
    byte_count: _Time | None = None

    def read(self) -> bytes:
        """Return the bytes of an inline base64 attachment.

        Raises:
            RefusalError: if it is not inline base64.
            EncodingError: if the base64 is broken.
        """
        if isinstance(self.data.base64, UnsetType):
            raise malformed("An attachment is not inline base64.")
        return b64_decode_lenient(self.data.base64)


class Plaintext(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    rename={"frm": "from"},
):
    """A message as it stands in JSON. As input it is typed, and no more than that."""

    id: Id
    type: Annotated[str, Meta(max_length=_MAX_TYPE_CHARS)]
    typ: str | None = None
    frm: _Did | None = None
    to: Annotated[tuple[_Did, ...], Meta(max_length=MAX_DIDS)] | None = None
    thid: Id | None = None
    pthid: Id | None = None
    created_time: _Time | None = None
    expires_time: _Time | None = None
    body: dict[str, Any] | None = None
    attachments: (
        Annotated[tuple[Attachment, ...], Meta(max_length=MAX_ATTACHMENTS)] | None
    ) = None
    please_ack: Annotated[tuple[_Ack, ...], Meta(max_length=MAX_ACKS)] | None = None
    ack: Annotated[tuple[_Ack, ...], Meta(max_length=MAX_ACKS)] | None = None
    from_prior: Annotated[str, Meta(max_length=MAX_JWT_CHARS)] | None = None
    return_route: Literal["none", "all", "thread"] | None = None

    def __repr__(self) -> str:
        return f"Plaintext({self.id}, {self.type})"  # the body may hold a token


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """A message that has passed the policy.

    `frm` is proved only if `authenticated`. `sender` is the key id that proves it (for
    mutual TLS, the DID). `type` is in its long form. Times are in epoch seconds.
    """

    id: str
    type: str
    frm: str | None
    to: tuple[str, ...]
    thid: str | None
    pthid: str | None
    created_time: int | None
    expires_time: int | None
    body: dict[str, Any]
    attachments: tuple[Attachment, ...]
    please_ack: tuple[str, ...]
    ack: tuple[str, ...]
    from_prior: FromPrior | None
    sender: str | None
    return_route: Literal["none", "all", "thread"]
    authenticated: bool

    def __repr__(self) -> str:
        return f"Message({self.id}, {self.type}, {self.sender})"

    @property
    def thread(self) -> str:
        """Id of the thread; a message without `thid` begins one."""
        return self.thid or self.id


def attach(id_: str, content: bytes, *, media_type: str) -> Attachment:
    """Return an inline attachment, in base64url as DIDComm v2 has it."""
    data = AttachmentData(base64=b64url_encode(content))
    return Attachment(id=id_, data=data, media_type=media_type)


@lru_cache(maxsize=_CACHED_TYPES)
def normalise_type(type_: str) -> str:
    """Return a message type in its long form.

    Raises:
        RefusalError: if it is neither a message type URI nor `uomp/` and a name.
    """
    name = type_.removeprefix(SHORT_PREFIX)
    if name != type_ and _SHORT_NAME.fullmatch(name):
        return f"{UOMP}/{name}"
    if len(type_) > _MAX_TYPE_CHARS or not _TYPE.fullmatch(type_):
        raise malformed("The type of a message is no message type URI.")
    return type_
