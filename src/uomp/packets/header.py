"""The header of a packet and its other signed parts, typed."""

from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from uomp.errors import Code, LocalError, VerificationError
from uomp.packets import canonical
from uomp.packets.times import parse_time

VERSION: Final = "1.0"
SUPPORTED_VERSIONS: Final = ("1.0",)
MAX_DID: Final = 8192  # characters; a long did:peer:4 is the longest
MAX_SEQUENCE: Final = 2**53 - 1

Did = Annotated[str, Meta(min_length=1, max_length=MAX_DID)]
Id = Annotated[str, Meta(min_length=1, max_length=256)]
Hash = Annotated[str, Meta(min_length=1, max_length=256)]
Text = Annotated[str, Meta(max_length=4000)]
# Header members that this version gives a meaning; others are kept, signed, ignored.
Encoding = Literal["raw_json", "base64_encoded_gzip", "x25519_aes256gcm"]


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


class Named(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The DIDs that a packet may be passed on to."""

    named: Annotated[tuple[Did, ...], Meta(min_length=1, max_length=64)]


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
    memory_type: Id
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
    audience: Did | Annotated[tuple[Did, ...], Meta(max_length=64)] | None = None
    expires_at: str | None = None
    sequence: Annotated[int, Meta(ge=1, le=MAX_SEQUENCE)] | None = None
    previous: Hash | None = None
    grant: Grant | None = None
    source_chain: Annotated[tuple[Link, ...], Meta(max_length=64)] = ()
    supersedes: Hash | Annotated[tuple[Hash, ...], Meta(max_length=64)] | None = None
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


class Signature(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The signature of a packet or a receipt; `signature_value` is base64."""

    algorithm: Annotated[str, Meta(max_length=64)]
    public_key_id: Annotated[str, Meta(min_length=1, max_length=MAX_DID + 256)]
    signature_value: Annotated[str, Meta(max_length=1024)]
    signed_data: tuple[str, ...] | None = None


class Attachment(msgspec.Struct, frozen=True, kw_only=True):
    """Data outside the packet, by its hash; `uri` is never fetched unasked (A-99)."""

    hash: Hash
    uri: Text | None = None
    media_type: Text | None = None
    size: Annotated[int, Meta(ge=0)] | None = None


Attachments = Annotated[tuple[Attachment, ...], Meta(min_length=1, max_length=256)]


def read_header(value: object) -> Header:
    """Read a header; aliases of A-89 and A-97 are understood.

    Raises:
        VerificationError: `SCHEMA_VIOLATION`, with the JSON path.
    """
    if not isinstance(value, dict):
        raise violation("the header is not an object")
    named = dict(value)
    for alias, name in _ALIASES.items():
        if alias in named and name not in named:
            named[name] = named.pop(alias)
    header: Header = convert(named, Header, "header")
    for name in ("timestamp", "expires_at"):
        text = getattr(header, name)
        if text is not None:
            check_time(text, f"header.{name}")
    for link in header.source_chain:
        check_time(link.timestamp, "header.source_chain")
        canonical.check_hash_string(link.packet_hash)
    for name in ("previous", "items_root"):
        if getattr(header, name) is not None:
            canonical.check_hash_string(getattr(header, name))
    return header


def convert(value: object, kind: Any, where: str) -> Any:  # noqa: ANN401
    """Convert JSON to a typed value.

    Raises:
        VerificationError: `SCHEMA_VIOLATION`, with the JSON path.
    """
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise violation(f"{where}: {error}") from error


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
