"""Verifying a packet in numbered steps, one verdict code for each failure.

Nothing of a packet is to be used before `verify_packet` has returned: what it returns
is another type. What is signed is what is returned.
"""

import gzip
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final, Protocol

import msgspec

from uomp.errors import Code, PeerError, UompError, VerificationError
from uomp.packets import canonical, strict
from uomp.packets.build import is_nested, signed_names, signing_input
from uomp.packets.header import (
    KNOWN,
    SUPPORTED_VERSIONS,
    Attachments,
    Header,
    Signature,
    convert,
    read_header,
    violation,
)
from uomp.packets.items import MemoryItem
from uomp.packets.keys import admit_ed25519
from uomp.packets.multibase import b64_decode
from uomp.packets.payloads import CHECKERS, CUSTOM, check_items_root, check_payload
from uomp.packets.signing import ED25519, SIGNATURE_BYTES, verify_ed25519
from uomp.packets.times import parse_time

MAX_PACKET_BYTES: Final = 64 << 20
MAX_UNPACKED_BYTES: Final = 64 << 20  # of a compressed payload
# Clocks differ; four minutes ahead pass, an hour does not (PAM-3.2-9).
MAX_FUTURE: Final = timedelta(minutes=5)

_REQUIRED: Final = frozenset({"header", "payload", "integrity_hash", "signature"})
_OPTIONAL: Final = frozenset({"attachments", "fallback_text_representation"})
_ALGORITHMS: Final = (ED25519, "EdDSA")  # two spellings of one algorithm

SameDid = Callable[[str, str], bool]


class SigningKey(msgspec.Struct, frozen=True, kw_only=True):
    """A public key as its DID document has it.

    `public` is the raw key. `valid_until` and `revoked_at` are aware times; `stale`
    says that the document was too old to be sure.
    """

    did: str
    key_id: str
    algorithm: str
    public: bytes
    valid_until: datetime | None = None
    revoked_at: datetime | None = None
    stale: bool = False


class KeyResolver(Protocol):
    """Where the keys of issuers come from; never from the packet itself."""

    def signing_key(self, key_id: str, at: datetime) -> SigningKey:
        """Return the key under this DID URL as it was at `at`.

        Raises:
            VerificationError: `KEY_NOT_FOUND`.
        """
        ...


_PROOF: Final = object()


class VerifiedPacket:
    """A packet that has passed every step. Only `verify_packet` makes one.

    `hash` is that of the whole packet, `canonical` its JCS bytes. `payload` is decoded.
    `understood` is False where this node has no handler for the memory type, `sealed`
    True where the payload is encrypted and was not looked into.
    """

    __slots__ = (
        "canonical",
        "hash",
        "header",
        "items",
        "key_id",
        "payload",
        "reformatted",
        "sealed",
        "signer_did",
        "stale",
        "understood",
        "value",
    )

    def __init__(self, proof: object, work: "Work") -> None:
        if proof is not _PROOF:
            raise TypeError("only verify_packet makes a VerifiedPacket")
        self.value: dict[str, Any] = work.value
        self.header: Header = work.header
        self.payload: Any = work.payload
        self.items: tuple[MemoryItem, ...] | None = work.items
        self.canonical: bytes = work.canonical
        self.hash: str = canonical.sha256(work.canonical)
        self.signer_did: str = work.key.did
        self.key_id: str = work.key.key_id
        self.stale: bool = work.key.stale
        self.reformatted: bool = work.reformatted
        self.understood: bool = work.understood
        self.sealed: bool = work.sealed

    @property
    def fallback_text(self) -> str | None:
        """The text for those who do not understand the payload."""
        text: str | None = self.value.get("fallback_text_representation")
        return text


@dataclass
class Work:
    """A packet on its way through the steps."""

    data: bytes
    keys: KeyResolver
    now: datetime
    same_did: SameDid
    value: dict[str, Any] = field(default_factory=dict)
    canonical: bytes = b""
    reformatted: bool = False
    header: Header = field(init=False)
    signature: Signature = field(init=False)
    key: SigningKey = field(init=False)
    payload: Any = None
    items: tuple[MemoryItem, ...] | None = None
    understood: bool = False
    sealed: bool = False

    def has(self, name: str) -> bool:
        """Say whether a step that sets `name` has run."""
        return name in self.__dict__


def _read(work: Work) -> None:
    if len(work.data) > MAX_PACKET_BYTES:
        raise VerificationError(Code.PACKET_TOO_LARGE, "The packet is too large.")
    try:
        loaded = strict.loads(work.data, max_bytes=MAX_PACKET_BYTES)
    except PeerError as error:
        code = Code.PACKET_TOO_LARGE
        if error.code is not code:
            code = Code.SCHEMA_VIOLATION
        raise VerificationError(
            code, f"The packet is not strict JSON: {error}"
        ) from error
    if not isinstance(loaded.value, dict):
        raise violation("it is not an object")
    work.value = loaded.value
    work.reformatted = not loaded.canonical
    work.canonical = work.data if loaded.canonical else canonical.encode(loaded.value)


def _check_structure(work: Work) -> None:
    names = set(work.value)
    if missing := sorted(_REQUIRED - names):
        raise violation(f"it has no {missing[0]}")
    if names - _REQUIRED - _OPTIONAL:
        raise violation("it has a member that nothing covers")
    work.header = read_header(work.value["header"])
    work.signature = convert(work.value["signature"], Signature, "signature")
    if work.signature.signed_data is None:
        raise violation("the signature does not say what it covers")
    canonical.check_hash_string(work.value["integrity_hash"])
    if "attachments" in names:
        for one in convert(work.value["attachments"], Attachments, "attachments"):
            canonical.check_hash_string(one.hash)
    if not isinstance(work.value.get("fallback_text_representation", ""), str):
        raise violation("the fallback text is no text")


def _check_version(work: Work) -> None:
    major, _, minor = work.header.protocol_version.partition(".")
    if major != "1" or not minor.isdigit():
        raise VerificationError(
            Code.UNSUPPORTED_PROTOCOL_VERSION,
            "The packet is of an unacceptable protocol version. Supported: "
            + ", ".join(SUPPORTED_VERSIONS),
        )


def _check_must_understand(work: Work) -> None:
    if set(work.header.must_understand) - KNOWN:
        raise VerificationError(
            Code.UNSUPPORTED_PROTOCOL_VERSION,
            "The packet demands that a header member be understood that is not known.",
        )
    if work.header.on_behalf_of is not None:
        raise VerificationError(
            Code.UNSUPPORTED_PROTOCOL_VERSION,
            "The packet is signed on behalf of another, which is not understood yet.",
        )


def _check_algorithm(work: Work) -> None:
    if work.signature.algorithm not in _ALGORITHMS:
        # A label that names another kind of key than the one it stands beside is told
        # apart from an algorithm that is not offered at all.
        try:
            kind = work.keys.signing_key(work.signature.public_key_id, work.now)
        except VerificationError:
            kind = None
        label = work.signature.algorithm
        if kind is not None and kind.algorithm == ED25519 and label.startswith("ECDSA"):
            raise VerificationError(
                Code.ALGORITHM_MISMATCH, "The label does not fit the signer's key."
            )
        raise VerificationError(
            Code.UNSUPPORTED_ALGORITHM, "The signature's algorithm is not supported."
        )


def _check_signed_data(work: Work) -> None:
    if list(work.signature.signed_data or ()) != signed_names(work.value):
        raise violation("signed_data is not the list of this version")


def _check_signer(work: Work) -> None:
    did = work.signature.public_key_id.partition("#")[0]
    if not work.same_did(did, work.header.agent_id):
        raise VerificationError(
            Code.SIGNATURE_INVALID, "The packet is signed by another than its agent."
        )


def _find_key(work: Work) -> None:
    at = parse_time(work.header.timestamp)
    key = work.keys.signing_key(work.signature.public_key_id, at)
    if key.algorithm != ED25519:
        raise VerificationError(
            Code.ALGORITHM_MISMATCH, "The label does not fit the signer's key."
        )
    if key.revoked_at is not None:
        raise VerificationError(Code.KEY_REVOKED, "The signer's key was revoked.")
    if key.valid_until is not None and at > key.valid_until:
        raise VerificationError(
            Code.KEY_REVOKED, "The signer's key was not valid then."
        )
    work.key = key


def _check_signature(work: Work) -> None:
    try:
        raw = b64_decode(work.signature.signature_value)
    except VerificationError as error:
        raise _bad_signature() from error
    if len(raw) != SIGNATURE_BYTES:
        raise _bad_signature()
    key = admit_ed25519(work.key.public)
    if not verify_ed25519(key, raw, signing_input(work.value)):
        raise _bad_signature()


def _bad_signature() -> VerificationError:
    return VerificationError(Code.SIGNATURE_INVALID, "The signature is wrong.")


def _check_integrity(work: Work) -> None:
    if canonical.digest(work.value["payload"]) != work.value["integrity_hash"]:
        raise VerificationError(
            Code.INTEGRITY_MISMATCH, "The payload is not the one that was signed."
        )


def _check_time(work: Work) -> None:
    if parse_time(work.header.timestamp) > work.now + MAX_FUTURE:
        raise VerificationError(
            Code.STALE_TIMESTAMP, "The packet is dated in the future."
        )


def _decode_payload(work: Work) -> None:
    header = work.header
    work.payload = work.value["payload"]
    if header.payload_encoding == "x25519_aes256gcm":
        work.sealed = True
        return
    if header.payload_encoding == "base64_encoded_gzip":
        work.payload = _unzip(work.payload)
    elif header.payload_encoding != "raw_json":
        raise violation("the payload's encoding is not known")
    if is_nested(work.payload):
        work.understood = True  # what is inside decides for itself
    elif header.memory_type in CHECKERS:
        work.items = check_payload(header.memory_type, work.payload)
        work.understood = True
    elif header.memory_type.startswith(CUSTOM) and header.schema_uri is None:
        raise violation("a custom type has no schema_uri")


def _unzip(payload: object) -> Any:  # noqa: ANN401
    """Decompress within limits: one member, nothing behind it (threat T30)."""
    if not isinstance(payload, str):
        raise violation("a compressed payload is not base64")
    raw = b64_decode(payload)
    machine = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    try:
        plain = machine.decompress(raw, MAX_UNPACKED_BYTES)
    except zlib.error as error:
        raise violation("a compressed payload is not gzip") from error
    if not machine.eof:
        raise VerificationError(
            Code.PACKET_TOO_LARGE, "A compressed payload is too large or cut off."
        )
    if machine.unused_data:
        raise violation("a compressed payload has something behind it")
    try:
        return strict.loads(plain, max_bytes=MAX_UNPACKED_BYTES).value
    except PeerError as error:
        raise violation("a compressed payload is not strict JSON") from error


def compress(payload: object) -> str:
    """Return the payload for `payload_encoding: base64_encoded_gzip`."""
    from uomp.packets.multibase import b64_encode  # noqa: PLC0415

    return b64_encode(gzip.compress(canonical.encode(payload), mtime=0))


def _check_root(work: Work) -> None:
    if not work.sealed:
        check_items_root(work.payload, work.header.items_root)


# The steps in their order; their numbers are those of docs/packets.md.
STEPS: Final[tuple[tuple[str, Callable[[Work], None]], ...]] = (
    ("strict JSON within the size limit", _read),
    ("structure", _check_structure),
    ("protocol version", _check_version),
    ("nothing that must be understood is unknown", _check_must_understand),
    ("signature algorithm", _check_algorithm),
    ("the signature covers what it must", _check_signed_data),
    ("the signer is the agent", _check_signer),
    ("the signer's key", _find_key),
    ("signature", _check_signature),
    ("integrity hash", _check_integrity),
    ("not from the future", _check_time),
    ("payload", _decode_payload),
    ("items root", _check_root),
)


def run_step(number: int, work: Work) -> None:
    """Run step `number`, counted from 1; whatever it raises names the step.

    Raises:
        VerificationError: the step failed.
    """
    name, check = STEPS[number - 1]
    try:
        check(work)
    except UompError as error:
        step = f"{number} {name}"
        raise VerificationError(error.code, str(error), step=step) from error


def _equal(first: str, second: str) -> bool:
    return first == second


def verify_packet(
    data: bytes, keys: KeyResolver, *, now: datetime, same_did: SameDid = _equal
) -> VerifiedPacket:
    """Run every step and return the verified packet.

    `same_did` says whether two DIDs are one (a did:peer:4 has two forms). Audience,
    expiry and replay are for the receiver to enforce (`rules`).

    Raises:
        VerificationError: with the code and the step of the first check that failed.
    """
    work = Work(data, keys, now, same_did)
    for number in range(1, len(STEPS) + 1):
        run_step(number, work)
    return finish(work)


def finish(work: Work) -> VerifiedPacket:
    """Return the verified packet; every step must have run."""
    return VerifiedPacket(_PROOF, work)
