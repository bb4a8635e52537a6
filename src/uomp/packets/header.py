"""The header of a packet and its other signed parts, typed."""

import re
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from uomp.errors import Code, LocalError, VerificationError
from uomp.packets import canonical
from uomp.packets.times import parse_time

VERSION: Final = "1.0"
SUPPORTED_VERSIONS: Final = (VERSION,)
MAX_DID: Final = 8192  # characters; a long did:peer:4 is the longest
MAX_SEQUENCE: Final = 2**53 - 1

# The same major version is compatible.
_COMPATIBLE: Final = re.compile(r"1\.(?:0|[1-9]\d{0,3})", re.ASCII)
# Names that are shown: no control characters, nothing that turns the writing direction.
_NAME: Final = r"^[^\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]+\Z"
_DID: Final = r"^did:[a-z0-9]+:[A-Za-z0-9._:%-]+"
_FRAGMENT: Final = r"#[A-Za-z0-9._~!$&'()*+,;=:@/?%-]{1,256}"
_TYPE: Final = r"^[A-Za-z0-9][A-Za-z0-9._+-]*(?:/[A-Za-z0-9][A-Za-z0-9._+-]*)*\Z"

Did = Annotated[str, Meta(max_length=MAX_DID, pattern=_DID + r"\Z")]
KeyId = Annotated[str, Meta(max_length=MAX_DID + 257, pattern=_DID + _FRAGMENT + r"\Z")]
Id = Annotated[str, Meta(min_length=1, max_length=256, pattern=_NAME)]
TypeName = Annotated[str, Meta(min_length=1, max_length=256, pattern=_TYPE)]
Hash = Annotated[str, Meta(min_length=1, max_length=256)]
Text = Annotated[str, Meta(max_length=4000)]


class Link(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One earlier stage of a packet: who signed what, when (A-105)."""

    agent_id: Did
    packet_hash: Hash
    timestamp: str
    signature: str | None = None


class Grant(msgspec.Struct, frozen=True, kw_only=True):
    """The session and the token id that allowed the export."""

    session_id: Id
    jti: Id


_Dids = Annotated[tuple[Did, ...], Meta(min_length=1, max_length=64)]


class Named(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The DIDs that a packet may be passed on to."""

    named: _Dids


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """A packet's header. Times are ISO 8601; hashes have the form `sha256:<hex>`.

    `agent_id` is the DID of the issuer. `session_id` is context and never authority
    (A-106). `sequence` and `previous` place the packet in the issuer's chain for its
    audience. `reshare` is enforced by honest nodes when a packet is handed on.
    """

    protocol_version: str
    packet_id: Id
    agent_id: Did
    session_id: Id
    timestamp: str
    memory_type: TypeName
    agent_name: Text | None = None
    intent: Text | None = None
    suggested_usage: Text | None = None
    priority: (
        Literal["low", "normal", "high"] | Annotated[int, Meta(ge=0, le=100)] | None
    ) = None
    confidence_score: Annotated[float, Meta(ge=0, le=1)] | None = None
    payload_encoding: str = "raw_json"
    schema_uri: Text | None = None
    schema_hash: Hash | None = None
    uomp_session_id: Id | None = None
    audience: Did | _Dids | None = None
    expires_at: str | None = None
    sequence: Annotated[int, Meta(ge=1, le=MAX_SEQUENCE)] | None = None
    previous: Hash | None = None
    grant: Grant | None = None
    source_chain: Annotated[tuple[Link, ...], Meta(max_length=64)] = ()
    supersedes: (
        Hash | Annotated[tuple[Hash, ...], Meta(min_length=1, max_length=64)] | None
    ) = None
    on_behalf_of: Any = None
    must_understand: Annotated[tuple[Id, ...], Meta(max_length=64)] = ()
    reshare: Literal["none", "any"] | Named = "none"
    items_root: Hash | None = None
    timestamp_token: str | None = None

    def audiences(self) -> tuple[str, ...]:
        """Return the DIDs that the packet is for; none means anyone."""
        if self.audience is None:
            return ()
        return (self.audience,) if isinstance(self.audience, str) else self.audience


KNOWN: Final = frozenset(Header.__struct_fields__)
_ALIASES: Final = {"type": "memory_type", "confidence": "confidence_score"}
# Read and kept, but this version does nothing by them: whoever demands that they be
# understood is refused.
_ONLY_KEPT: Final = frozenset(
    {"on_behalf_of", "schema_hash", "schema_uri", "supersedes", "timestamp_token"}
)
UNDERSTOOD: Final = (KNOWN | _ALIASES.keys()) - _ONLY_KEPT


class Signature(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The signature of a packet or a receipt; `signature_value` is base64."""

    algorithm: Annotated[str, Meta(max_length=64)]
    public_key_id: KeyId
    signature_value: Annotated[str, Meta(max_length=1024)]
    signed_data: tuple[str, ...] | None = None


class Attachment(msgspec.Struct, frozen=True, kw_only=True):
    """Data outside the packet, by its hash; `uri` is never fetched unasked (A-99)."""

    hash: Hash
    uri: Text | None = None
    media_type: Text | None = None
    size: Annotated[int, Meta(ge=0)] | None = None


Attachments = Annotated[tuple[Attachment, ...], Meta(min_length=1, max_length=256)]


def check_version(version: str) -> None:
    """Refuse a protocol version that is not compatible with ours.

    Raises:
        VerificationError: `UNSUPPORTED_PROTOCOL_VERSION`.
    """
    if not _COMPATIBLE.fullmatch(version):
        supported = ", ".join(SUPPORTED_VERSIONS)
        message = (
            f"The packet is of an unacceptable protocol version. Supported: {supported}"
        )
        error = VerificationError(Code.UNSUPPORTED_PROTOCOL_VERSION, message)
        error.public = message  # a peer is told what we speak (PAM-5.2-1)
        raise error


def read_header(value: object) -> Header:
    """Read a header; the aliases of A-89 and A-97 are understood.

    Raises:
        VerificationError: `SCHEMA_VIOLATION`, with the JSON path; or
            `UNSUPPORTED_ALGORITHM` for a hash that is not SHA-256.
    """
    if not isinstance(value, dict):
        raise violation("the header is not an object")
    named = dict(value)
    for alias, name in _ALIASES.items():
        if alias in named:
            if name in named:  # two readers might not take the same one
                raise violation(f"the header has both {name} and its alias")
            named[name] = named.pop(alias)
    header: Header = convert(named, Header, "header")
    _check_times(header)
    _check_hashes(header)
    return header


def _check_times(header: Header) -> None:
    check_time(header.timestamp, "header.timestamp")
    if header.expires_at is not None:
        check_time(header.expires_at, "header.expires_at")
    for link in header.source_chain:
        check_time(link.timestamp, "header.source_chain")


def _check_hashes(header: Header) -> None:
    superseded = header.supersedes or ()
    found = [header.previous, header.items_root, header.schema_hash]
    found += [superseded] if isinstance(superseded, str) else superseded
    found += [link.packet_hash for link in header.source_chain]
    for text in found:
        if text is not None:
            canonical.check_hash_string(text)


def check_must_understand(header: Header) -> None:
    """Refuse a header that demands more than this version understands.

    Raises:
        VerificationError: `UNSUPPORTED_PROTOCOL_VERSION`: the packet may be good, but
            not for this node.
    """
    if set(header.must_understand) - UNDERSTOOD:
        raise VerificationError(
            Code.UNSUPPORTED_PROTOCOL_VERSION,
            "The packet demands that a header member be understood that is not.",
        )
    if header.on_behalf_of is not None:
        raise VerificationError(
            Code.UNSUPPORTED_PROTOCOL_VERSION,
            "The packet is signed on behalf of another, which is not understood yet.",
        )


def read_attachments(value: object) -> tuple[Attachment, ...]:
    """Read the list of attachments.

    Raises:
        VerificationError: `SCHEMA_VIOLATION`, or `UNSUPPORTED_ALGORITHM` for a hash
            that is not SHA-256.
    """
    read: tuple[Attachment, ...] = convert(value, Attachments, "attachments")
    for one in read:
        canonical.check_hash_string(one.hash)
    return read


def check_attachment(attachment: Attachment, data: bytes) -> None:
    """Refuse bytes that are not those the packet was signed with.

    Raises:
        VerificationError: `ATTACHMENT_HASH_MISMATCH`.
    """
    fits = attachment.size in {None, len(data)}
    if not fits or canonical.sha256(data) != attachment.hash:
        raise VerificationError(
            Code.ATTACHMENT_HASH_MISMATCH, "An attachment is not the one it should be."
        )


def convert(value: object, kind: Any, where: str) -> Any:  # noqa: ANN401
    """Convert JSON to a typed value.

    Raises:
        VerificationError: `SCHEMA_VIOLATION`, with the JSON path.
    """
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise violation(f"{where}: {_say(str(error))}") from error


def _say(message: str) -> str:
    """Return what msgspec found, without anything that was sent.

    It quotes unknown member names and values that are not of a list.
    """
    if message.startswith(("Expected ", "Object missing required field ")):
        return message
    _, found, path = message.rpartition(" - at `$")
    place = f" (at ${path.rstrip('`')})" if found else ""
    return f"a member or a value that is not allowed{place}"


def check_time(text: str, where: str) -> None:
    """Refuse what is no ISO 8601 time with a zone.

    Raises:
        VerificationError: `SCHEMA_VIOLATION`.
    """
    try:
        parse_time(text)
    except LocalError as error:
        raise violation(f"{where} is no time") from error


def violation(what: str) -> VerificationError:
    """Return the error for a packet that is not built as it must be."""
    return VerificationError(Code.SCHEMA_VIOLATION, f"The packet is malformed: {what}.")
