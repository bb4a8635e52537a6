"""No signature of one kind verifies as one of another kind."""

from typing import Any

import pytest

from support.packets import (
    ALICE,
    DATED,
    NOW,
    Json,
    Keys,
    items_packet,
    text_packet,
    verified,
)
from support.sealed import sealed
from uomp.errors import UompError
from uomp.packets import canonical
from uomp.packets.build import signing_input
from uomp.packets.deletion import proof_signing_input
from uomp.packets.multibase import b64_encode, b64url_decode
from uomp.packets.nesting import verify_nested
from uomp.packets.parts import make_part, verify_part
from uomp.packets.receipts import build_receipt, receipt_signing_input, verify_receipt
from uomp.packets.sealing import (
    attach_signature,
    envelope_signing_input,
    verify_envelope_signature,
)

PUBLIC = ALICE.signer.private_key.public_key()


def envelope() -> Json:
    return attach_signature(sealed() | {"agent_id": ALICE.did}, ALICE.signer)


def receipt() -> Json:
    return build_receipt(
        packet_id="mem_1",
        packet_hash=canonical.sha256(b""),
        issuer=ALICE.did,
        receiver=ALICE.did,
        status="accepted",
        error=None,
        timestamp=DATED,
        signer=ALICE.signer,
    )


def proof() -> Json:
    return {
        "deletion_proof_id": "del_1",
        "session_id": "sess_1",
        "agent_id": ALICE.did,
        "deleted_at": DATED,
        "memory_hash": canonical.sha256(b""),
        "method": "process_termination",
    }


def check_packet(value: Any) -> None:
    verify_nested(canonical.encode(value), Keys(), now=NOW)


def check_part(value: Any) -> None:
    verify_part(canonical.encode(value), Keys(), now=NOW)


def check_receipt(value: Any) -> None:
    verify_receipt(value, Keys(), now=NOW)


def check_envelope(value: Any) -> None:
    verify_envelope_signature(value, PUBLIC)


KINDS: dict[str, tuple[Any, Json, Any]] = {
    "packet": (check_packet, text_packet(), signing_input),
    "part": (check_part, make_part(verified(items_packet(2)), [0]), signing_input),
    "receipt": (check_receipt, receipt(), receipt_signing_input),
    "envelope": (check_envelope, envelope(), envelope_signing_input),
}


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_verifies_as_itself(kind: str) -> None:
    check, value, _ = KINDS[kind]
    check(value)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("other", KINDS)
def test_a_thing_of_one_kind_is_no_thing_of_another(kind: str, other: str) -> None:
    check, _, _ = KINDS[kind]
    _, value, _ = KINDS[other]
    if kind == other:
        return
    with pytest.raises(UompError):
        check(value)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("other", KINDS)
def test_a_signature_moved_to_another_kind_does_not_hold(kind: str, other: str) -> None:
    check, value, signed = KINDS[kind]
    _, donor, donor_signed = KINDS[other]
    if signed(value) == donor_signed(donor):
        assert kind == other
        return
    raw = donor["signature"]["signature_value"]
    moved = value | {"signature": value["signature"] | {"signature_value": raw}}
    with pytest.raises(UompError):
        check(moved)


def test_no_two_kinds_can_have_the_same_bytes_to_sign() -> None:
    """Each kind has a member that it must have and no other kind may have."""
    names = {
        kind: set(canonical_names(signed(value)))
        for kind, (_, value, signed) in KINDS.items()
        if kind != "part"  # the packet's own signature, on purpose
    }
    names["deletion proof"] = set(canonical_names(proof_signing_input(proof())))
    for kind, own in names.items():
        for other, theirs in names.items():
            assert kind == other or (own - theirs and theirs - own)


def canonical_names(data: bytes) -> list[str]:
    import orjson  # noqa: PLC0415

    return list(orjson.loads(data))


def test_a_token_s_signature_is_over_no_json() -> None:
    """A JWS signs `base64url.base64url`, which no canonical object can be."""
    for _, value, signed in KINDS.values():
        data: bytes = signed(value)
        assert data.startswith(b"{")
        with pytest.raises(UompError):
            b64url_decode(data.decode())


def test_a_deletion_proof_s_signature_is_nobody_else_s() -> None:
    raw = b64_encode(ALICE.signer.sign(proof_signing_input(proof())))
    for check, value, _ in KINDS.values():
        moved = value | {"signature": value["signature"] | {"signature_value": raw}}
        with pytest.raises(UompError):
            check(moved)
        signature = value["signature"] | {"signature_value": raw}
        with pytest.raises(UompError):
            check(proof() | {"signature": signature})
