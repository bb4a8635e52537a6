"""Receipts: who signed what of which packet."""

import json
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.packets import (
    ALICE,
    BOB,
    DATED,
    NOW,
    Issuer,
    Json,
    Keys,
    changed,
    key_of,
    text_packet,
    verified,
    without,
)
from uomp.errors import Code, UompError, VerificationError
from uomp.packets.canonical import encode
from uomp.packets.multibase import b64_encode
from uomp.packets.receipts import (
    VerifiedReceipt,
    build_receipt,
    receipt_signing_input,
    verify_receipt,
)
from uomp.packets.times import format_time

PACKET = verified(text_packet())


def receipt(status: str = "accepted", error: str | None = None, **changes: Any) -> Json:
    known: Json = {
        "packet_id": PACKET.header.packet_id,
        "packet_hash": PACKET.hash,
        "issuer": ALICE.did,
        "receiver": BOB.did,
        "timestamp": DATED,
        "signer": BOB.signer,
    }
    return build_receipt(status=status, error=error, **(known | changes))


RECEIPT = receipt()


def check(value: Any, keys: Keys | None = None, **options: Any) -> VerifiedReceipt:
    options.setdefault("now", NOW)
    return verify_receipt(value, keys or Keys(), **options)


def refusal(value: Any, keys: Keys | None = None, **options: Any) -> Code:
    with pytest.raises(UompError) as refused:
        check(value, keys, **options)
    assert isinstance(refused.value, VerificationError)
    return refused.value.code


def resigned(value: Json, someone: Issuer = BOB) -> Json:
    signed = receipt_signing_input(value)
    raw = b64_encode(someone.signer.sign(signed))
    return changed(value, "signature", "signature_value", to=raw)


@pytest.mark.requirement("PAM-2.3-6")
def test_a_receipt_names_the_packet_the_receiver_and_the_outcome() -> None:
    found = check(RECEIPT)
    assert (found.packet_id, found.packet_hash) == ("mem_1", PACKET.hash)
    assert (found.issuer, found.receiver) == (ALICE.did, BOB.did)
    assert (found.status, found.error) == ("accepted", None)
    assert (found.key_id, found.timestamp) == (BOB.key_id, DATED)


@pytest.mark.requirement("PAM-2.3-6", "PAM-E-2", "PAM-5.3-4")
@pytest.mark.parametrize(
    ("status", "error"),
    [
        ("rejected", "SIGNATURE_INVALID"),
        ("stored_opaque", None),
        ("stored_opaque", "UNSUPPORTED_MEMORY_TYPE"),
    ],
)
def test_a_receipt_says_why_a_packet_is_not_used(
    status: str, error: str | None
) -> None:
    found = check(receipt(status, error))
    assert (found.status, found.error) == (status, error)


def test_a_receipt_is_read_from_bytes_strictly() -> None:
    assert check(encode(RECEIPT)) == check(RECEIPT)
    assert check(json.dumps(RECEIPT, indent=2).encode()) == check(RECEIPT)
    doubled = encode(RECEIPT)[:-1] + b',"status":"rejected"}'
    for data in (doubled, b"{", b"", bytes(65 << 10)):
        assert refusal(data) == Code.SCHEMA_VIOLATION


@pytest.mark.parametrize(
    ("status", "error"),
    [
        ("accepted", "SIGNATURE_INVALID"),
        ("rejected", None),
        ("done", None),
        ("rejected", "\x1b[2J"),
        ("rejected", ""),
    ],
)
def test_a_receipt_that_contradicts_itself_is_not_signed(
    status: str, error: str | None
) -> None:
    with pytest.raises(VerificationError) as refused:
        receipt(status, error)
    assert refused.value.code == Code.SCHEMA_VIOLATION


@pytest.mark.parametrize(
    ("path", "value", "code"),
    [
        (("status",), "stored_opaque", Code.SIGNATURE_INVALID),
        (("packet_id",), "mem_2", Code.SIGNATURE_INVALID),
        (("packet_hash",), "sha256:" + "0" * 64, Code.SIGNATURE_INVALID),
        (("issuer",), BOB.did, Code.SIGNATURE_INVALID),
        (("receiver",), ALICE.did, Code.SIGNATURE_INVALID),
        (("timestamp",), "2026-07-14T10:00:01Z", Code.SIGNATURE_INVALID),
        (("packet_hash",), "sha3-256:" + "0" * 64, Code.UNSUPPORTED_ALGORITHM),
        (("packet_hash",), "md5", Code.SCHEMA_VIOLATION),
        (("timestamp",), "now", Code.SCHEMA_VIOLATION),
        (("receiver",), "Bob", Code.SCHEMA_VIOLATION),
        (("packet_id",), "a\x1b[2J", Code.SCHEMA_VIOLATION),
        (("extra",), 1, Code.SCHEMA_VIOLATION),
        (("signature", "extra"), 1, Code.SCHEMA_VIOLATION),
        (("signature", "signed_data"), None, Code.SCHEMA_VIOLATION),
        (("signature", "signed_data"), ["status"], Code.SCHEMA_VIOLATION),
        (("signature", "algorithm"), "RS256", Code.UNSUPPORTED_ALGORITHM),
        (("signature", "algorithm"), "ECDSA-secp256k1", Code.ALGORITHM_MISMATCH),
        (("signature", "signature_value"), "AAAA", Code.SIGNATURE_INVALID),
        (("signature", "signature_value"), "not base64", Code.SIGNATURE_INVALID),
        (("signature", "public_key_id"), ALICE.key_id, Code.SIGNATURE_INVALID),
        (("signature", "public_key_id"), BOB.did, Code.SCHEMA_VIOLATION),
        (("signature", "public_key_id"), BOB.did + "#other", Code.KEY_NOT_FOUND),
        (("packet_id",), "\ud800", Code.SCHEMA_VIOLATION),
    ],
)
def test_a_changed_receipt_is_refused(
    path: tuple[str, ...], value: Any, code: Code
) -> None:
    assert refusal(changed(RECEIPT, *path, to=value)) == code


@pytest.mark.parametrize("name", sorted(RECEIPT))
def test_a_receipt_lacks_nothing(name: str) -> None:
    assert refusal(without(RECEIPT, name)) == Code.SCHEMA_VIOLATION


def test_the_other_spelling_of_the_algorithm_is_read() -> None:
    assert check(changed(RECEIPT, "signature", "algorithm", to="EdDSA")).packet_id


def test_a_receipt_signed_by_another_is_no_receipt() -> None:
    forged = resigned(RECEIPT, ALICE)
    assert refusal(forged) == Code.SIGNATURE_INVALID
    named = changed(forged, "signature", "public_key_id", to=ALICE.key_id)
    assert refusal(named) == Code.SIGNATURE_INVALID


def test_a_receipt_from_the_future_is_refused() -> None:
    def dated(ahead: timedelta) -> Json:
        return receipt(timestamp=format_time(NOW + ahead))

    check(dated(timedelta(minutes=4)))
    assert refusal(dated(timedelta(hours=1))) == Code.STALE_TIMESTAMP


def test_a_receipt_by_a_key_that_has_ended_counts_if_it_was_there_before() -> None:
    gone = NOW - timedelta(minutes=1)
    for ended in ({"revoked_at": gone}, {"valid_until": gone}):
        keys = Keys(key_of(BOB, **ended))
        assert refusal(RECEIPT, keys) == Code.KEY_REVOKED
        before = gone - timedelta(seconds=1)
        check(RECEIPT, keys, seen_at=before)


def test_a_verified_receipt_cannot_be_made_by_hand() -> None:
    with pytest.raises(TypeError, match="only verify_receipt"):
        VerifiedReceipt(
            proof=object(),
            packet_id="mem_1",
            packet_hash=PACKET.hash,
            issuer=ALICE.did,
            receiver=BOB.did,
            status="accepted",
            error=None,
            timestamp=DATED,
            key_id=BOB.key_id,
        )


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.floats(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(_JSON)
@settings(max_examples=100)
def test_any_value_is_refused_with_our_error(value: Any) -> None:
    assert refusal(value) == Code.SCHEMA_VIOLATION


@given(name=st.sampled_from(sorted(RECEIPT)), value=_JSON)
@settings(max_examples=200)
def test_any_member_is_judged_with_our_error_alone(name: str, value: Any) -> None:
    mutated = changed(RECEIPT, name, to=value)
    if mutated != RECEIPT:
        assert refusal(mutated)
