"""Sealed envelopes: shape, outer signature, and the cipher beneath."""

import json
from collections import Counter
from functools import partial

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import (
    X25519PublicKey,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from support.sealed import (
    INFO,
    NONCE,
    OTHER_KEY,
    PLAINTEXT,
    RECIPIENT,
    SENDER,
    SIGNER,
    SIGNER_KEY,
    VECTORS,
    flipped,
    refusal,
    sealed,
    with_ciphertext,
)
from uomp.errors import Code, LocalError, VerificationError
from uomp.packets.canonical import encode
from uomp.packets.keys import admit_ed25519
from uomp.packets.sealing import (
    EnvelopeInfo,
    attach_signature,
    check_envelope,
    decrypt_aes_gcm,
    encrypt_aes_gcm,
    envelope_signing_input,
    open_sealed,
    seal,
    verify_envelope_signature,
)

# ---- the shape -------------------------------------------------------------

WRONG: list[tuple[str, object]] = [
    ("payload_id", "pay_"),
    ("payload_id", "sess_x"),
    ("payload_id", "pay_../../x"),
    ("payload_id", "pay_x\n"),
    ("payload_id", 1),
    ("session_id", ""),
    ("session_id", None),
    ("session_id", "a\0b"),
    ("agent_id", "x" * 8193),
    ("agent_id", ["stock-analyst"]),
    ("agent_id", "\ud800"),
    ("timestamp", "2026-07-14 10:15:00"),
    ("timestamp", "2026-07-14T10:15:00"),
    ("timestamp", 1783937700),
    ("format", "markdown"),
    ("format", "text/mark down"),
    ("format", "text/html\n"),
    ("format", ""),
    ("size", "12"),
    ("size", 12.0),
    ("size", True),
    ("size", -1),
    ("size", None),
    ("hash", ""),
    ("hash", "e75d"),
    ("hash", None),
    ("ciphertext", ""),
    ("ciphertext", "3827"),
    ("ciphertext", "3827gcSyy/dO4gVA4w6I0m++d45a4buxEL6FlR=="),
    ("ciphertext", "3827gcSyy/dO4gVA4w6I0m++d45a4buxEL6FlQ==\n"),
    ("ciphertext", 1),
    ("encryption", None),
    ("encryption", []),
    ("encryption", {}),
    ("signature", None),
    ("signature", {}),
    ("signature", "x"),
    ("extra", 1),
    ("", 1),
]


@pytest.mark.parametrize(("name", "value"), WRONG)
def test_members_of_another_shape_are_refused(name: str, value: object) -> None:
    code = refusal(lambda: check_envelope(sealed() | {name: value}))
    assert code in {Code.SCHEMA_VIOLATION, Code.INTEGRITY_MISMATCH}


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("algorithm", "ECDH-X25519-AES128GCM", Code.UNSUPPORTED_ALGORITHM),
        ("algorithm", None, Code.UNSUPPORTED_ALGORITHM),
        ("algorithm", ["ECDH-X25519-AES256GCM"], Code.UNSUPPORTED_ALGORITHM),
        ("nonce", "AAECAwQFBgcICQo=", Code.SCHEMA_VIOLATION),
        ("nonce", None, Code.SCHEMA_VIOLATION),
        ("sender_public_key", "AAAA", Code.SCHEMA_VIOLATION),
        ("key_commitment", "AAAA", Code.SCHEMA_VIOLATION),
        ("key_commitment", None, Code.SCHEMA_VIOLATION),
        ("recipient_key_id", None, Code.SCHEMA_VIOLATION),
        ("recipient_key_id", "", Code.SCHEMA_VIOLATION),
        ("zip", "DEF", Code.SCHEMA_VIOLATION),
    ],
)
def test_encryption_of_another_shape_is_refused(
    name: str, value: object, code: Code
) -> None:
    envelope = sealed()
    envelope["encryption"][name] = value
    assert refusal(lambda: check_envelope(envelope)) is code


@pytest.mark.parametrize("name", sorted(sealed()))
def test_every_member_is_needed(name: str) -> None:
    envelope = sealed()
    del envelope[name]
    assert refusal(lambda: check_envelope(envelope)) is Code.SCHEMA_VIOLATION


@pytest.mark.parametrize("name", ["algorithm", "sender_public_key", "nonce"])
def test_every_member_of_the_encryption_is_needed(name: str) -> None:
    envelope = sealed()
    del envelope["encryption"][name]
    assert refusal(lambda: check_envelope(envelope)) is Code.SCHEMA_VIOLATION


@pytest.mark.parametrize("value", [None, [], "x", 1, {}, {1: 2}])
def test_what_is_no_envelope_is_refused(value: object) -> None:
    assert refusal(lambda: check_envelope(value)) is Code.SCHEMA_VIOLATION


@given(
    st.sampled_from([*sealed(), "signature", "other"]),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
        lambda inner: (
            st.lists(inner, max_size=2)
            | st.dictionaries(st.text(max_size=3), inner, max_size=2)
        ),
        max_leaves=4,
    ),
)
@settings(max_examples=150)
def test_only_our_error_escapes(name: str, value: object) -> None:
    envelope = sealed()
    if envelope.get(name) != value:
        refusal(lambda: open_sealed(envelope | {name: value}, RECIPIENT))


@pytest.mark.parametrize(
    "changes",
    [
        {"payload_id": "x"},
        {"session_id": ""},
        {"timestamp": "today"},
        {"format": "x"},
        {"recipient_key_id": ""},
        {"agent_id": "\ud800"},
    ],
)
def test_nothing_is_sealed_that_no_recipient_would_accept(
    changes: dict[str, str],
) -> None:
    members = {name: getattr(INFO, name) for name in INFO.__struct_fields__}
    with pytest.raises(LocalError) as caught:
        seal(
            PLAINTEXT,
            EnvelopeInfo(**members | changes),
            recipient=RECIPIENT.public_key(),
            ephemeral=SENDER,
            nonce=NONCE,
        )
    assert caught.value.code is Code.INVALID_REQUEST


def test_a_short_nonce_and_a_weak_recipient_key_are_refused() -> None:
    for recipient, nonce in [
        (RECIPIENT.public_key(), NONCE[:11]),
        (X25519PublicKey.from_public_bytes(bytes(32)), NONCE),
    ]:
        with pytest.raises(LocalError):
            seal(PLAINTEXT, INFO, recipient=recipient, ephemeral=SENDER, nonce=nonce)


# ---- the outer signature ---------------------------------------------------


def test_the_outer_signature_is_verified_without_decrypting() -> None:
    envelope = sealed()
    signed = attach_signature(envelope, SIGNER)
    assert signed["signature"]["algorithm"] == "Ed25519"
    assert signed["signature"]["public_key_id"] == "did:x#1"
    assert envelope_signing_input(signed) == encode(envelope)
    checked = verify_envelope_signature(signed, SIGNER_KEY)
    assert checked.signature is not None
    assert checked.signature.public_key_id == "did:x#1"
    assert open_sealed(checked, RECIPIENT) == PLAINTEXT
    assert "signature" not in envelope


def test_the_outer_signature_can_be_replaced_or_dropped() -> None:
    """It serves stores; the signature inside carries authenticity."""
    signed = attach_signature(sealed(), SIGNER)
    again = attach_signature(signed, SIGNER)
    assert again == signed
    del signed["signature"]
    assert open_sealed(signed, RECIPIENT) == PLAINTEXT


@pytest.mark.requirement("SYS-11")
def test_a_signed_envelope_verifies_for_nothing_else() -> None:
    signed = attach_signature(sealed(), SIGNER)
    invalid = Code.SIGNATURE_INVALID
    assert refusal(lambda: verify_envelope_signature(signed, OTHER_KEY)) is invalid
    assert refusal(lambda: verify_envelope_signature(sealed(), SIGNER_KEY)) is invalid
    other = with_ciphertext(signed, b"another" * 4)
    assert refusal(lambda: verify_envelope_signature(other, SIGNER_KEY)) is invalid
    for name in ("payload_id", "session_id", "agent_id", "timestamp", "format"):
        for text in flipped(signed[name]):
            changed = signed | {name: text}
            code = refusal(partial(verify_envelope_signature, changed, SIGNER_KEY))
            assert code in {invalid, Code.SCHEMA_VIOLATION}


def test_the_label_eddsa_is_read_as_ed25519_and_no_other_is() -> None:
    signed = attach_signature(sealed(), SIGNER)
    signed["signature"]["algorithm"] = "EdDSA"
    verify_envelope_signature(signed, SIGNER_KEY)
    for label in ("RSA", "ed25519", "ECDSA-secp256k1"):
        signed["signature"]["algorithm"] = label
        code = refusal(lambda: verify_envelope_signature(signed, SIGNER_KEY))
        assert code is Code.UNSUPPORTED_ALGORITHM


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("algorithm", ["Ed25519"]),
        ("public_key_id", ""),
        ("public_key_id", 1),
        ("signature_value", "AAAA"),
        ("signature_value", None),
        ("extra", 1),
    ],
)
def test_a_signature_of_another_shape_is_refused(name: str, value: object) -> None:
    signed = attach_signature(sealed(), SIGNER)
    signed["signature"][name] = value
    code = refusal(lambda: verify_envelope_signature(signed, SIGNER_KEY))
    assert code is Code.SCHEMA_VIOLATION


def test_what_canonical_json_lacks_gets_no_signing_input() -> None:
    for envelope in (sealed() | {"size": 2**53}, sealed() | {"encryption": b""}):
        code = refusal(partial(envelope_signing_input, envelope))
        assert code is Code.SCHEMA_VIOLATION


def test_nothing_but_an_envelope_is_signed_as_one() -> None:
    code = refusal(lambda: attach_signature({"header": {}}, SIGNER))
    assert code is Code.SCHEMA_VIOLATION


def test_the_key_of_the_outer_signature_is_an_admitted_one() -> None:
    key = admit_ed25519(SIGNER_KEY.public_bytes_raw())
    verify_envelope_signature(attach_signature(sealed(), SIGNER), key)


# ---- AES-GCM ---------------------------------------------------------------


@pytest.mark.requirement("SYS-13")
def test_the_wycheproof_cases_of_our_aes_gcm_are_judged_as_expected() -> None:
    document = json.loads((VECTORS / "wycheproof" / "aes_gcm_test.json").read_bytes())
    judged: Counter[str] = Counter()
    for group in document["testGroups"]:
        sizes = (group["keySize"], group["ivSize"], group["tagSize"])
        if sizes != (256, 96, 128):
            continue
        for case in group["tests"]:
            key, iv, aad, message, ct, tag = (
                bytes.fromhex(case[name])
                for name in ("key", "iv", "aad", "msg", "ct", "tag")
            )
            judged[case["result"]] += 1
            if case["result"] == "valid":
                assert decrypt_aes_gcm(key, iv, ct + tag, aad=aad) == message
                assert encrypt_aes_gcm(key, iv, message, aad=aad) == ct + tag
            else:
                with pytest.raises(VerificationError):
                    decrypt_aes_gcm(key, iv, ct + tag, aad=aad)
    assert judged == {"valid": 39, "invalid": 27}
