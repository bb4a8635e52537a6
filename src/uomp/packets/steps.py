"""The steps of verifying a packet, numbered, with one verdict code for each failure.

Steps 1 to 11 establish what was signed, by whom and when; only then is the payload
decoded and looked at (12, 13).
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from uomp.errors import Code, PeerError, UompError, VerificationError
from uomp.packets import canonical, strict
from uomp.packets.build import MAX_PACKET_BYTES, is_nested, signed_names, signing_input
from uomp.packets.encodings import GZIP, SEALED, decompress
from uomp.packets.envelope import check_envelope
from uomp.packets.header import (
    Header,
    Signature,
    check_must_understand,
    check_version,
    convert,
    read_attachments,
    read_header,
    violation,
)
from uomp.packets.issuers import (
    KeyResolver,
    SameDid,
    SigningKey,
    admit_key,
    check_algorithm,
    did_part,
    find_key,
    is_signed,
)
from uomp.packets.items import MemoryItem
from uomp.packets.payloads import CHECKERS, check_items_root, check_kind, check_payload
from uomp.packets.times import parse_time

# Clocks differ; four minutes ahead pass, an hour does not (PAM-3.2-9).
MAX_FUTURE: Final = timedelta(minutes=5)

_REQUIRED: Final = frozenset({"header", "payload", "integrity_hash", "signature"})
_OPTIONAL: Final = frozenset({"attachments", "fallback_text_representation"})


@dataclass
class Work:
    """A packet on its way through the steps, and what they found.

    `canonical` is the JCS bytes of the packet, `signed` those of its signing input.
    `seen_at` is a time at which the packet is known to have been there, if any.
    """

    data: bytes
    keys: KeyResolver
    now: datetime
    same_did: SameDid
    seen_at: datetime | None = None
    value: dict[str, Any] = field(default_factory=dict)
    canonical: bytes = b""
    reformatted: bool = False
    header: Header = field(init=False)
    signature: Signature = field(init=False)
    key: SigningKey = field(init=False)
    public: Ed25519PublicKey = field(init=False)
    signed: bytes = b""
    payload: Any = None
    items: tuple[MemoryItem, ...] | None = None
    understood: bool = False
    sealed: bool = False

    def has(self, name: str) -> bool:
        """Say whether a step that sets `name` has run."""
        return name in self.__dict__


def run_step(number: int, work: Work) -> None:
    """Run step `number`, counted from 1; whatever it raises names the step.

    Raises:
        VerificationError: the step failed.
    """
    name, check = STEPS[number - 1]
    step = f"{number} {name}"
    try:
        check(work)
    except VerificationError as error:
        error.step = step
        raise
    except UompError as error:
        raise VerificationError(error.code, str(error), step=step) from error


def _read(work: Work) -> None:
    try:
        loaded = strict.loads(work.data, max_bytes=MAX_PACKET_BYTES)
    except PeerError as error:
        code = Code.SCHEMA_VIOLATION
        if error.code is Code.PACKET_TOO_LARGE:
            code = Code.PACKET_TOO_LARGE
        message = f"The packet is not strict JSON: {error}"
        raise VerificationError(code, message) from error
    if not isinstance(loaded.value, dict):
        raise violation("it is not an object")
    work.value = loaded.value
    work.reformatted = not loaded.canonical
    work.canonical = work.data if loaded.canonical else canonical.encode(loaded.value)


def _check_version(work: Work) -> None:
    # Before the structure: that of another major version may be another.
    header = work.value.get("header")
    version = header.get("protocol_version") if isinstance(header, dict) else None
    if not isinstance(version, str):
        raise violation("it does not say its protocol version")
    check_version(version)


def _check_structure(work: Work) -> None:
    names = set(work.value)
    if missing := sorted(_REQUIRED - names):
        raise violation(f"it has no {missing[0]}")
    if names - _REQUIRED - _OPTIONAL:
        raise violation("it has a member that no signature covers")
    work.header = read_header(work.value["header"])
    work.signature = convert(work.value["signature"], Signature, "signature")
    canonical.check_hash_string(work.value["integrity_hash"])
    if "attachments" in names:
        read_attachments(work.value["attachments"])
    if not isinstance(work.value.get("fallback_text_representation", ""), str):
        raise violation("the fallback text is no text")


def _check_must_understand(work: Work) -> None:
    check_must_understand(work.header)


def _check_algorithm(work: Work) -> None:
    check_algorithm(work.signature, work.keys, work.now)


def _check_signed_data(work: Work) -> None:
    if list(work.signature.signed_data or ()) != signed_names(work.value):
        raise violation("signed_data is not the list of this version")


def _check_signer(work: Work) -> None:
    did = did_part(work.signature.public_key_id)
    if not work.same_did(did, work.header.agent_id):
        message = "The packet is signed by another than its agent."
        raise VerificationError(Code.SIGNATURE_INVALID, message)


def _find_key(work: Work) -> None:
    at = parse_time(work.header.timestamp)
    work.key = find_key(work.keys, work.signature.public_key_id, at)
    work.public = admit_key(work.key, at=at, now=work.now, seen_at=work.seen_at)


def _check_signature(work: Work) -> None:
    work.signed = signing_input(work.value)
    if not is_signed(work.signature, work.public, work.signed):
        raise VerificationError(Code.SIGNATURE_INVALID, "The signature is wrong.")


def _check_integrity(work: Work) -> None:
    # JCS sorts the members: first all that the signing input has, then the payload,
    # then the signature. So the payload's bytes are there already.
    before = len(work.signed[:-1] + b',"payload":')
    after = len(b',"signature":' + canonical.encode(work.value["signature"]) + b"}")
    payload = work.canonical[before:-after]
    if canonical.sha256(payload) != work.value["integrity_hash"]:
        message = "The payload is not the one that was signed."
        raise VerificationError(Code.INTEGRITY_MISMATCH, message)


def _check_time(work: Work) -> None:
    if parse_time(work.header.timestamp) > work.now + MAX_FUTURE:
        message = "The packet is dated in the future."
        raise VerificationError(Code.STALE_TIMESTAMP, message)


def _decode_payload(work: Work) -> None:
    header = work.header
    check_kind(header)
    work.payload = work.value["payload"]
    if header.payload_encoding == SEALED:
        check_envelope(work.payload)
        work.sealed = True
        return
    if header.payload_encoding == GZIP:
        work.payload = decompress(work.payload)
    if is_nested(work.payload):
        work.understood = True  # what is inside decides for itself
    elif header.memory_type in CHECKERS:
        work.items = check_payload(header.memory_type, work.payload)
        work.understood = True


def _check_root(work: Work) -> None:
    # Without a checker nobody says that the payload is made of items.
    if work.understood:
        check_items_root(work.payload, work.header.items_root)


STEPS: Final[tuple[tuple[str, Callable[[Work], None]], ...]] = (
    ("strict JSON within the size limit", _read),
    ("protocol version", _check_version),
    ("structure", _check_structure),
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
