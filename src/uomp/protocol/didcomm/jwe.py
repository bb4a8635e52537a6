"""The JWE of DIDComm v2: general JSON, read strictly, one table of algorithms.

1. Bytes that this program writes are recognised by writing them again: such bytes hide
   no duplicate name. All others go through the strict reader.
2. `zip`, `crit`, an AAD of its own and header names in two places are refused.
3. What is authenticated is the protected header as received, never written anew.
"""

import hashlib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeVar

import msgspec
from cryptography.hazmat.primitives.keywrap import (
    InvalidUnwrap,
    aes_key_unwrap,
    aes_key_wrap,
)

from uomp.packets.multibase import b64url_decode, b64url_encode
from uomp.packets.strict import check_values, loads
from uomp.protocol.didcomm import content
from uomp.protocol.didcomm.refusal import Problem, RefusalError, malformed

MEDIA_TYPE: Final = "application/didcomm-encrypted+json"
AUTHCRYPT: Final = "ECDH-1PU+A256KW"
ANONCRYPT: Final = "ECDH-ES+A256KW"
MAX_MESSAGE_BYTES: Final = 32 * 1024 * 1024  # what `max_receive_bytes` tells peers
MAX_RECIPIENTS: Final = 100  # keys, not people: a DID may have several
# An envelope for all of them has under a thousand values; some agents write more.
MAX_ENVELOPE_VALUES: Final = 20_000

# The one list of what is understood. ECDH-1PU wraps only keys of AES-CBC with HMAC.
ENCRYPTIONS: Final = {
    AUTHCRYPT: frozenset({content.CBC_HS512}),
    ANONCRYPT: frozenset({content.CBC_HS512, "A256GCM", "XC20P"}),
}

_MAX_HEADER_CHARS: Final = 64 * 1024  # a long DID comes in it three times
_MAX_KID_CHARS: Final = 8_500
_HEADER_DEPTH: Final = 4
_REFUSED: Final = frozenset({"crit", "zip"})
_ONLY_PROTECTED: Final = _REFUSED | {"alg", "enc", "apu", "apv", "skid", "typ"}
_OUR_NAMES: Final = _ONLY_PROTECTED | {"apv", "epk"}
_OWN_START: Final = b'{"ciphertext":"'
_ONLY_KID: Final = {"kid"}
_KEK_BITS: Final = (256).to_bytes(4)
_CACHED_PARTIES: Final = 256  # under 4 MB with the longest ids

T = TypeVar("T")


class Recipient(msgspec.Struct, frozen=True):
    """One entry of `recipients`: the wrapped key in base64url, and whose it is."""

    encrypted_key: str
    header: dict[str, Any]


class Jwe(msgspec.Struct, frozen=True, omit_defaults=True):
    """A JWE in general JSON, not yet decoded. The order is that of our writing."""

    ciphertext: str
    iv: str
    protected: str
    recipients: list[Recipient]
    tag: str
    unprotected: dict[str, Any] | None = None
    aad: str | None = None


class Header(msgspec.Struct, frozen=True, omit_defaults=True):
    """The protected header. The order is that of our writing."""

    alg: str
    apv: str
    enc: str
    apu: str | None = None
    epk: dict[str, Any] | None = None
    skid: str | None = None
    typ: str | None = None


class Envelope(NamedTuple):
    """A JWE whose form is checked; nothing in it is authenticated yet.

    `info` is the fixed input of the key derivation, without the tag.
    """

    jwe: Jwe
    header: Header
    kids: tuple[str, ...]
    info: bytes


class Parties(NamedTuple):
    """Both ends of an envelope: header texts, and the input of the key derivation."""

    apu: str
    apv: str
    info: bytes


_jwe_decoder = msgspec.json.Decoder(Jwe)
_header_decoder = msgspec.json.Decoder(Header)
_encoder = msgspec.json.Encoder()


def read_own(data: bytes, max_bytes: int) -> Jwe | None:
    """Read an encrypted message if it is exactly as this program writes it.

    Raises:
        MalformedJson: `PACKET_TOO_LARGE` if it has more values than an envelope has.
    """
    if len(data) > max_bytes or not data.startswith(_OWN_START):
        return None
    # The ciphertext is one value. No text has more values than bytes.
    end = data.find(b'"', len(_OWN_START))
    if end < 0 or len(data) - end > MAX_ENVELOPE_VALUES:
        check_values(data, MAX_ENVELOPE_VALUES)
    return _read_own(data, _jwe_decoder)


def to_jwe(value: object) -> Jwe:
    """Convert a strictly read JSON value.

    Raises:
        RefusalError: if a member is missing or of another type.
    """
    return _convert(value, Jwe, "An encrypted message is not built as a JWE.")


def check_envelope(jwe: Jwe) -> Envelope:
    """Check everything about a JWE that needs no key.

    Raises:
        RefusalError: for a header, algorithm, list of recipients or party information
            that is not as DIDComm v2 wants it.
        EncodingError, MalformedJson: for a header that is not base64url of strict JSON.
    """
    header, names = _read_header(jwe.protected)
    # 1. One list of algorithms.
    if header.enc not in ENCRYPTIONS.get(header.alg, ()):
        raise RefusalError(Problem.CRYPTO, "The encryption is not one we use.")
    # 2. Names stand in one place.
    kids = _read_kids(jwe, names)
    # 3. The sender is named where it must be, and bound to the key derivation.
    skid = header.skid if header.alg == AUTHCRYPT else None
    if header.alg == AUTHCRYPT and skid is None:
        raise malformed("An authenticated envelope does not name its sender.")
    if skid is not None and len(skid) > _MAX_KID_CHARS:
        raise malformed("The key id of a sender is too long.")
    parties = describe_parties(header.alg, skid, kids)
    if skid is not None and header.apu != parties.apu:
        raise malformed("The party information is not of the sender.")
    # 4. So are the receivers.
    if header.apv != parties.apv:
        raise malformed("The party information is not of the receivers.")
    if skid is None and header.apu is not None:
        info = _make_info(
            header.alg, b64url_decode(header.apu), b64url_decode(header.apv)
        )
        return Envelope(jwe, header, kids, info)
    return Envelope(jwe, header, kids, parties.info)


def describe_parties(alg: str, skid: str | None, kids: Sequence[str]) -> Parties:
    """Return `apu` and `apv` for a sender, if there is one, and all receivers."""
    if len(kids) == 1:
        return _describe_pair(alg, skid, kids[0])
    return _describe(alg, skid, ".".join(sorted(kids)))


def derive_key(secret: bytes, info: bytes, *, bits: int = 256) -> bytes:
    """Return one round of the Concat KDF with SHA-256 (RFC 7518, 4.6.2).

    `info` is the fixed input; in ECDH-1PU it ends with the tag (draft-04, 2.3).
    """
    return hashlib.sha256(b"\0\0\0\1" + secret + info).digest()[: bits // 8]


def wrap_key(kek: bytes, cek: bytes) -> str:
    """Return the content key under AES key wrap, in base64url."""
    return b64url_encode(aes_key_wrap(kek, cek))


def unwrap_key(kek: bytes, wrapped: str) -> bytes:
    """Return the content key.

    Raises:
        RefusalError: if it was not wrapped with `kek`.
        EncodingError: if it is not base64url.
    """
    try:
        return aes_key_unwrap(kek, b64url_decode(wrapped))
    except (InvalidUnwrap, ValueError) as error:
        raise content.cannot_open() from error


def prefixed(data: bytes) -> bytes:
    """Return `data` after its length in four bytes."""
    return len(data).to_bytes(4) + data


def write_jwe(
    protected: str, body: tuple[bytes, bytes, bytes], recipients: list[Recipient]
) -> bytes:
    """Return the JSON of an encrypted message; `body` is IV, ciphertext and tag."""
    iv, ciphertext, tag = map(b64url_encode, body)
    return _encoder.encode(Jwe(ciphertext, iv, protected, recipients, tag))


def write_header(header: Header) -> str:
    """Return a protected header as it goes into the JWE."""
    return b64url_encode(_encoder.encode(header))


def decode_parts(jwe: Jwe) -> content.Parts:
    """Decode what the content cipher needs.

    Raises:
        EncodingError: if a part is not base64url.
    """
    return content.Parts(
        b64url_decode(jwe.iv),
        b64url_decode(jwe.ciphertext),
        b64url_decode(jwe.tag),
        jwe.protected.encode(),
    )


def check_recipients(kids: Sequence[str]) -> None:
    """Refuse none, too many, and the same one twice.

    Raises:
        RefusalError: in these cases.
    """
    if not 1 <= len(kids) <= MAX_RECIPIENTS or len(set(kids)) != len(kids):
        raise malformed("An envelope is for nobody, too many, or for one key twice.")


def _read_own(data: bytes, decoder: msgspec.json.Decoder[T]) -> T | None:
    """Read JSON if it is exactly as this program writes it, else return None."""
    try:
        value = decoder.decode(data)
        return value if _encoder.encode(value) == data else None
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None


def _convert(value: object, type_: type[T], message: str) -> T:
    try:
        return msgspec.convert(value, type_)
    except msgspec.ValidationError as error:
        raise malformed(message) from error


def _read_header(protected: str) -> tuple[Header, frozenset[str]]:
    if len(protected) > _MAX_HEADER_CHARS:
        raise malformed("A protected header is too long.")
    data = b64url_decode(protected)
    header = _read_own(data, _header_decoder)
    if header is not None:
        return header, _ONLY_PROTECTED if header.epk is None else _OUR_NAMES
    value = loads(data, max_depth=_HEADER_DEPTH).value
    message = "A protected header is not as DIDComm wants it."
    header = _convert(value, Header, message)
    if not _REFUSED.isdisjoint(value):
        raise malformed("Compression and critical extensions are not understood.")
    return header, _ONLY_PROTECTED.union(value)


def _read_kids(jwe: Jwe, names: frozenset[str]) -> tuple[str, ...]:
    if jwe.aad is not None:
        raise malformed("An encrypted message has additional data.")
    shared = jwe.unprotected or {}
    kids = []
    for recipient in jwe.recipients:
        own = recipient.header
        if (shared or own.keys() != _ONLY_KID) and _clash(names, shared, own):
            raise malformed("A header name stands in two places, or in a wrong one.")
        kid = own.get("kid")
        if not isinstance(kid, str) or not 0 < len(kid) <= _MAX_KID_CHARS:
            raise malformed("A receiver has no key id.")
        kids.append(kid)
    check_recipients(kids)
    return tuple(kids)


def _clash(
    names: frozenset[str], shared: Mapping[str, Any], own: Mapping[str, Any]
) -> bool:
    return not (
        names.isdisjoint(shared)
        and names.isdisjoint(own)
        and shared.keys().isdisjoint(own)
    )


@lru_cache(maxsize=_CACHED_PARTIES)
def _describe_pair(alg: str, skid: str | None, kid: str) -> Parties:
    return _describe(alg, skid, kid)


def _describe(alg: str, skid: str | None, receivers: str) -> Parties:
    apu = (skid or "").encode()
    apv = hashlib.sha256(receivers.encode()).digest()
    info = _make_info(alg, apu, apv)
    return Parties(b64url_encode(apu), b64url_encode(apv), info)


def _make_info(alg: str, apu: bytes, apv: bytes) -> bytes:
    return prefixed(alg.encode()) + prefixed(apu) + prefixed(apv) + _KEK_BITS
