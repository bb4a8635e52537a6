"""The conformance vectors hold, and are those that their generator makes."""

import json
from base64 import b64decode
from collections.abc import Callable
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import rfc8785
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from support.packets import VECTORS, Json, Keys, verified
from uomp.errors import Code, VerificationError
from uomp.packets import canonical
from uomp.packets.issuers import SigningKey
from uomp.packets.nesting import verify_nested
from uomp.packets.parts import verify_part
from uomp.packets.receipts import verify_receipt
from uomp.packets.rules import Arrival, check_arrival
from uomp.packets.times import parse_time
from uomp.packets.verify import STEPS, verify_packet
from vectors.packets import generate

HERE = VECTORS / "packets"
FILES = sorted(path for path in HERE.glob("*.json") if path.name != "keys.json")

# What no packet alone can show: they are about stores, transfers and other messages.
_ELSEWHERE = {
    Code.REPLAY_DETECTED,
    Code.PACKET_NOT_FOUND,
    Code.CHUNK_INVALID,
    Code.TRANSFER_INCOMPLETE,
    Code.ATTACHMENT_HASH_MISMATCH,
    Code.ATTACHMENT_UNAVAILABLE,
    Code.DECRYPTION_FAILED,
    Code.NOT_AUTHORIZED,
    Code.UNSUPPORTED_MEMORY_TYPE,  # the packet itself is good
}


def load(path: Path) -> Json:
    made: Json = json.loads(path.read_bytes())
    return made


def keys() -> Keys:
    """Return the keys as any implementation would read them, from the file."""

    def read(one: Json) -> SigningKey:
        def end(name: str) -> datetime | None:
            return parse_time(one[name]) if name in one else None

        return SigningKey(
            did=one["did"],
            key_id=one["key_id"],
            algorithm=one["algorithm"],
            public=bytes.fromhex(one["public_hex"]),
            valid_until=end("valid_until"),
            revoked_at=end("revoked_at"),
        )

    return Keys(*map(read, load(HERE / "keys.json")["keys"]))


def data_of(vector: Json) -> bytes:
    if "input_base64" in vector:
        return b64decode(vector["input_base64"])
    text: str = vector["input"]
    return text.encode()


def _packet(vector: Json) -> Json:
    seen = vector.get("seen_at")
    found = verify_packet(
        data_of(vector),
        keys(),
        now=parse_time(vector["now"]),
        seen_at=None if seen is None else parse_time(seen),
    )
    return {
        "packet_hash": found.hash,
        "signed_hash": found.signed_hash,
        "signer": found.signer_did,
        "key_id": found.key_id,
        "reformatted": found.reformatted,
        "understood": found.understood,
        "payload_hash": canonical.digest(found.payload),
    }


def _nested(vector: Json) -> Json:
    verify_nested(data_of(vector), keys(), now=parse_time(vector["now"]))
    return _packet(vector)


def _part(vector: Json) -> Json:
    verify_part(data_of(vector), keys(), now=parse_time(vector["now"]))
    return {}


def _receipt(vector: Json) -> Json:
    verify_receipt(data_of(vector), keys(), now=parse_time(vector["now"]))
    return {}


def _arrival(vector: Json) -> Json:
    sequence, hash_ = vector["last"]
    arrival = Arrival(
        our_dids=vector["our_dids"],
        now=parse_time(vector["now"]),
        last=(sequence, hash_),
    )
    warnings = check_arrival(verified(data_of(vector)), arrival)
    return {"warnings": len(warnings)}


RUN: dict[str, Callable[[Json], Json]] = {
    "packet": _packet,
    "nested": _nested,
    "part": _part,
    "receipt": _receipt,
    "arrival": _arrival,
}


@pytest.mark.requirement("SYS-11", "SYS-12", "PAM-2.1-1", "PAM-2.2-3", "PAM-5.2-1")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_vector_holds(path: Path) -> None:
    vector = load(path)
    assert path.name.endswith(".fail.json") == (vector["code"] is not None)
    run = RUN[vector["kind"]]
    if vector["code"] is None:
        assert run(vector) == vector["expected"]
        return
    with pytest.raises(VerificationError) as refused:
        run(vector)
    assert refused.value.code == vector["code"]
    if "step" in vector["expected"]:
        number = vector["expected"]["step"]
        assert refused.value.step == f"{number} {STEPS[number - 1][0]}"


def test_the_files_are_those_that_the_generator_makes() -> None:
    assert {path.name: path.read_bytes() for path in HERE.glob("*.json")} == (
        generate.files()
    )


def _codes(names: set[str]) -> set[Code]:
    return {Code(name) for name in names}


@pytest.mark.requirement("PAM-E-1", "PAM-E-3", "PAM-E-4", "PAM-E-5", "PAM-E-6")
def test_every_code_of_a_packet_has_a_vector() -> None:
    every = list(Code)
    first = every.index(Code.UNSUPPORTED_PROTOCOL_VERSION)
    last = every.index(Code.ITEMS_ROOT_MISMATCH)
    wanted = set(every[first : last + 1]) - _ELSEWHERE
    vectors: list[Any] = [load(path) for path in FILES]
    assert _codes({one["code"] for one in vectors if one["code"]}) == wanted
    steps = {one["expected"].get("step") for one in vectors} - {None}
    assert steps == set(range(1, len(STEPS) + 1))


def _verify_plainly(data: bytes) -> bool:
    """Verify a packet of a did:key with no line of this program."""
    packet = json.loads(data)
    signed = {
        name: packet[name] for name in packet if name not in {"payload", "signature"}
    }
    multikey = packet["signature"]["public_key_id"].partition("#")[2]
    number = 0
    for char in multikey.removeprefix("z"):
        number = number * 58 + _BASE58.index(char)
    raw = number.to_bytes(34, "big").removeprefix(b"\xed\x01")
    signature = b64decode(packet["signature"]["signature_value"])
    payload = sha256(rfc8785.dumps(packet["payload"])).hexdigest()
    try:
        Ed25519PublicKey.from_public_bytes(raw).verify(signature, rfc8785.dumps(signed))
    except InvalidSignature:
        return False
    return bool(packet["integrity_hash"] == f"sha256:{payload}")


_BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


@pytest.mark.requirement("SYS-19", "PAM-2.2-10")
def test_a_verifier_that_shares_no_code_with_ours_agrees() -> None:
    packets = [one for path in FILES if (one := load(path))["kind"] == "packet"]
    good = [data_of(one) for one in packets if one["code"] is None]
    known = [data for data in good if b'"did:key:' in data]
    assert len(known) > 15
    assert all(map(_verify_plainly, known))
    crypto = {"SIGNATURE_INVALID", "INTEGRITY_MISMATCH"}
    bad = [
        data_of(one)
        for one in packets
        if one["code"] in crypto and one["expected"]["step"] in {9, 10}
    ]
    changed = [data for data in bad if b"did:key" in data and b"==" in data]
    assert len(changed) >= 5
    assert not any(map(_verify_plainly, changed))
