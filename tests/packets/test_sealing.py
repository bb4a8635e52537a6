"""The sealed payload envelope: vectors, tampering, two keys for one ciphertext."""

import copy
import json
from base64 import b64decode, b64encode, urlsafe_b64encode
from collections import Counter
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import (
    X25519PrivateKey,
    X25519PublicKey,
)
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from hypothesis import given, settings
from hypothesis import strategies as st

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
from uomp.packets.signing import Ed25519Signer

VECTORS = Path(__file__).parents[1] / "vectors"
WORKED = json.loads((VECTORS / "uomp-worked.json").read_bytes())

SENDER = X25519PrivateKey.from_private_bytes(bytes(range(32)))
RECIPIENT = X25519PrivateKey.from_private_bytes(bytes(range(32, 64)))
STRANGER = X25519PrivateKey.from_private_bytes(bytes(range(64, 96)))
NONCE = bytes(range(12))
PLAINTEXT = b"# Report\nOK\n"
INFO = EnvelopeInfo(
    payload_id="pay_xxx",
    session_id="sess_xxx",
    agent_id="stock-analyst",
    timestamp="2026-07-14T10:15:00Z",
    format="text/markdown",
)
# V-7 with the commitment: the design's values.
COMMITMENT = "100b6015455970ee7d64ffb0e37078009044512970f66f09006770c8098708aa"
COMMITTED_CIPHERTEXT = "3827gcSyy/dO4gVA4w6I0m++d45a4buxEL6FlQ=="

SIGNER = Ed25519Signer("did:x#1", Ed25519PrivateKey.from_private_bytes(bytes(32)))
SIGNER_KEY = SIGNER.private_key.public_key()
OTHER_KEY = Ed25519PrivateKey.from_private_bytes(bytes([1] * 32)).public_key()

Envelope = dict[str, Any]


def sealed(plaintext: bytes = PLAINTEXT) -> Envelope:
    return seal(
        plaintext,
        INFO,
        recipient=RECIPIENT.public_key(),
        ephemeral=SENDER,
        nonce=NONCE,
    )


def literal_v7() -> Envelope:
    envelope: Envelope = json.loads(WORKED["AAD"])
    return envelope | {
        "ciphertext": WORKED["ciphertext"],
        "hash": WORKED["envelope hash"],
        "size": WORKED["size"],
    }


def with_ciphertext(envelope: Envelope, ciphertext: bytes) -> Envelope:
    """Change the ciphertext as an attacker would, with hash and size to fit."""
    return envelope | {
        "ciphertext": b64encode(ciphertext).decode(),
        "hash": f"sha256:{sha256(ciphertext).hexdigest()}",
        "size": len(ciphertext) - 16,
    }


def refusal(act: Callable[[], object]) -> Code:
    with pytest.raises(VerificationError) as caught:
        act()
    return caught.value.code


def opening_refusal(envelope: Envelope, key: X25519PrivateKey = RECIPIENT) -> Code:
    return refusal(lambda: open_sealed(envelope, key))


@pytest.mark.requirement("SYS-13", "UOMP-15.6-3")
def test_the_worked_vector_v_7_with_its_commitment() -> None:
    envelope = sealed()
    encryption = envelope["encryption"]
    assert encryption["algorithm"] == "ECDH-X25519-AES256GCM"
    assert encryption["sender_public_key"] == WORKED["X25519 sender pub"]
    assert encryption["nonce"] == WORKED["nonce"]
    assert b64decode(encryption["key_commitment"]).hex() == COMMITMENT
    assert envelope["ciphertext"] == COMMITTED_CIPHERTEXT
    assert envelope["size"] == WORKED["size"]
    assert open_sealed(envelope, RECIPIENT) == PLAINTEXT


@pytest.mark.requirement("SYS-13")
def test_the_literal_vector_v_7_opens_only_with_the_flag() -> None:
    envelope = literal_v7()
    checked = check_envelope(envelope)
    assert checked.aad == WORKED["AAD"].encode()
    assert checked.hash == f"sha256:{WORKED['payloadHash']}"
    assert checked.commitment is None
    assert open_sealed(envelope, RECIPIENT, allow_uncommitted=True) == PLAINTEXT
    assert opening_refusal(envelope) is Code.DECRYPTION_FAILED


def test_a_wrong_commitment_is_refused_also_with_the_flag() -> None:
    envelope = sealed()
    envelope["encryption"]["key_commitment"] = b64encode(bytes(32)).decode()
    code = refusal(lambda: open_sealed(envelope, RECIPIENT, allow_uncommitted=True))
    assert code is Code.DECRYPTION_FAILED


def test_a_commitment_cannot_be_stripped() -> None:
    envelope = sealed()
    del envelope["encryption"]["key_commitment"]
    code = refusal(lambda: open_sealed(envelope, RECIPIENT, allow_uncommitted=True))
    assert code is Code.DECRYPTION_FAILED


@given(st.binary(max_size=100), st.binary(min_size=32, max_size=32))
@settings(max_examples=40, deadline=None)
def test_any_plaintext_comes_back_to_its_recipient_alone(
    plaintext: bytes, seed: bytes
) -> None:
    envelope = seal(
        plaintext,
        INFO,
        recipient=RECIPIENT.public_key(),
        ephemeral=X25519PrivateKey.from_private_bytes(seed),
        nonce=seed[:12],
    )
    received = json.loads(json.dumps(envelope))
    assert open_sealed(received, RECIPIENT) == plaintext
    assert received["size"] == len(plaintext)
    assert opening_refusal(received, STRANGER) is Code.DECRYPTION_FAILED


def test_the_key_id_of_the_recipient_is_carried_and_bound() -> None:
    info = EnvelopeInfo(
        payload_id="pay_1",
        session_id="sess_1",
        agent_id="did:example:a",
        timestamp="2026-07-14T10:15:00+02:00",
        format="application/json; charset=utf-8",
        recipient_key_id="did:example:b#key-2",
    )
    envelope = seal(
        b"", info, recipient=RECIPIENT.public_key(), ephemeral=SENDER, nonce=NONCE
    )
    assert envelope["encryption"]["recipient_key_id"] == "did:example:b#key-2"
    assert check_envelope(envelope).info == info
    assert open_sealed(envelope, RECIPIENT) == b""
    envelope["encryption"]["recipient_key_id"] = "did:example:b#key-3"
    assert opening_refusal(envelope) is Code.DECRYPTION_FAILED


def test_base64url_is_understood_from_others() -> None:
    """The literal text is bound, so only its maker can choose the alphabet."""
    envelope = literal_v7()
    raw = b64decode(envelope["ciphertext"])
    envelope["ciphertext"] = urlsafe_b64encode(raw).decode().rstrip("=")
    assert open_sealed(envelope, RECIPIENT, allow_uncommitted=True) == PLAINTEXT


# ---- tampering -------------------------------------------------------------


def flipped(text: str) -> list[str]:
    """Return the text with one bit of one character changed, for every character."""
    return [
        text[:place] + chr(ord(char) ^ bit) + text[place + 1 :]
        for place, char in enumerate(text)
        for bit in (1, 2, 4)
    ]


@pytest.mark.requirement("SYS-13")
@pytest.mark.parametrize(
    "name",
    [
        "payload_id",
        "session_id",
        "agent_id",
        "timestamp",
        "format",
        "ciphertext",
        "hash",
    ],
)
def test_no_bit_of_a_member_can_be_flipped(name: str) -> None:
    envelope = sealed()
    for text in flipped(envelope[name]):
        code = opening_refusal(envelope | {name: text})
        assert code in {
            Code.DECRYPTION_FAILED,
            Code.INTEGRITY_MISMATCH,
            Code.SCHEMA_VIOLATION,
            Code.UNSUPPORTED_ALGORITHM,
        }


@pytest.mark.requirement("SYS-13")
@pytest.mark.parametrize(
    "name", ["algorithm", "sender_public_key", "nonce", "key_commitment"]
)
def test_no_bit_of_the_encryption_can_be_flipped(name: str) -> None:
    envelope = sealed()
    for text in flipped(envelope["encryption"][name]):
        changed = envelope | {"encryption": envelope["encryption"] | {name: text}}
        assert opening_refusal(changed) in {
            Code.DECRYPTION_FAILED,
            Code.SCHEMA_VIOLATION,
            Code.UNSUPPORTED_ALGORITHM,
            Code.KEY_REFUSED,
        }


@pytest.mark.requirement("SYS-13")
def test_no_bit_of_the_ciphertext_can_be_flipped_even_with_a_fitting_hash() -> None:
    envelope = sealed()
    raw = b64decode(envelope["ciphertext"])
    for bit in range(len(raw) * 8):
        number = int.from_bytes(raw) ^ 1 << bit
        changed = with_ciphertext(envelope, number.to_bytes(len(raw)))
        assert opening_refusal(changed) is Code.DECRYPTION_FAILED


@pytest.mark.requirement("SYS-13")
def test_a_ciphertext_does_not_open_in_another_envelope() -> None:
    envelope = sealed()
    for name, value in [
        ("payload_id", "pay_yyy"),
        ("session_id", "sess_yyy"),
        ("agent_id", "another"),
        ("timestamp", "2026-07-14T10:15:01Z"),
        ("format", "text/html"),
    ]:
        code = opening_refusal(envelope | {name: value})
        assert code is Code.DECRYPTION_FAILED


def test_hash_and_size_are_those_of_the_ciphertext() -> None:
    envelope = sealed()
    assert envelope["hash"].removeprefix("sha256:") == (
        sha256(b64decode(envelope["ciphertext"])).hexdigest()
    )
    wrong = "sha256:" + "0" * 64
    for changed in (envelope | {"hash": wrong}, envelope | {"size": 13}):
        assert refusal(partial(check_envelope, changed)) is Code.INTEGRITY_MISMATCH
    other_hash = envelope | {"hash": "sha3-256:" + "0" * 64}
    assert refusal(lambda: check_envelope(other_hash)) is Code.UNSUPPORTED_ALGORITHM


@pytest.mark.parametrize("length", [0, 1, 15])
def test_a_ciphertext_too_short_for_its_tag_is_refused(length: int) -> None:
    changed = with_ciphertext(sealed(), bytes(length)) | {"size": 0}
    assert opening_refusal(changed) is Code.INTEGRITY_MISMATCH


@pytest.mark.parametrize("u", [0, 1, 2**255 - 20])
def test_a_sender_key_of_small_order_is_refused(u: int) -> None:
    envelope = sealed()
    envelope["encryption"]["sender_public_key"] = b64encode(
        u.to_bytes(32, "little")
    ).decode()
    assert opening_refusal(envelope) is Code.KEY_REFUSED


# ---- one ciphertext for two keys -------------------------------------------


def gf_multiply(x: int, y: int) -> int:
    """Multiply in the field of GHASH (NIST SP 800-38D, 6.3)."""
    made = 0
    for bit in range(127, -1, -1):
        if y >> bit & 1:
            made ^= x
        x = x >> 1 ^ (0xE1 << 120 if x & 1 else 0)
    return made


def gf_invert(x: int) -> int:
    made, square = 1 << 127, x
    for _ in range(127):  # to the power of 2^128 - 2
        square = gf_multiply(square, square)
        made = gf_multiply(made, square)
    return made


def ghash(h: int, data: bytes) -> int:
    made = 0
    for start in range(0, len(data), 16):
        block = int.from_bytes(data[start : start + 16].ljust(16, b"\0"))
        made = gf_multiply(made ^ block, h)
    return made


def salamander(keys: tuple[bytes, bytes], nonce: bytes, aad: bytes) -> bytes:
    """Return one ciphertext of two blocks, with a tag that is right for both keys."""
    lengths = (8 * len(aad)).to_bytes(8) + (8 * 32).to_bytes(8)
    padded = aad + bytes(-len(aad) % 16)
    first = bytes(range(16))
    parts = []
    for key in keys:
        block = Cipher(algorithms.AES(key), modes.ECB()).encryptor().update  # noqa: S305
        h = int.from_bytes(block(bytes(16)))
        mask = int.from_bytes(block(nonce + b"\0\0\0\1"))
        # tag = constant + second_block * h^2, linear in the second block.
        constant = ghash(h, padded + first + bytes(16) + lengths) ^ mask
        parts.append((constant, gf_multiply(h, h)))
    (constant_1, factor_1), (constant_2, factor_2) = parts
    second = gf_multiply(constant_1 ^ constant_2, gf_invert(factor_1 ^ factor_2))
    tag = constant_1 ^ gf_multiply(second, factor_1)
    return first + second.to_bytes(16) + tag.to_bytes(16)


def derived(recipient: X25519PublicKey) -> tuple[bytes, bytes]:
    info = (
        b"UOMP-payload-v1"
        + SENDER.public_key().public_bytes_raw()
        + recipient.public_bytes_raw()
    )
    made = HKDF(SHA256(), 64, salt=None, info=info).derive(SENDER.exchange(recipient))
    return made[:32], made[32:]


def test_a_ciphertext_that_is_valid_under_two_keys_opens_for_one_at_most() -> None:
    pairs = [derived(key.public_key()) for key in (RECIPIENT, STRANGER)]
    keys = (pairs[0][0], pairs[1][0])
    clear = json.loads(WORKED["AAD"])

    # The control: without a commitment both open it, and read different things.
    forged = with_ciphertext(clear, salamander(keys, NONCE, encode(clear)))
    texts = {
        open_sealed(forged, key, allow_uncommitted=True)
        for key in (RECIPIENT, STRANGER)
    }
    assert len(texts) == 2

    for owner, other, commitment in [
        (RECIPIENT, STRANGER, pairs[0][1]),
        (STRANGER, RECIPIENT, pairs[1][1]),
    ]:
        committed = copy.deepcopy(clear)
        committed["encryption"]["key_commitment"] = b64encode(commitment).decode()
        ciphertext = salamander(keys, NONCE, encode(committed))
        forged = with_ciphertext(committed, ciphertext)
        for key, _ in pairs:
            decrypt_aes_gcm(key, NONCE, ciphertext, aad=encode(committed))
        assert len(open_sealed(forged, owner)) == 32
        assert opening_refusal(forged, other) is Code.DECRYPTION_FAILED


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
@settings(max_examples=150, deadline=None)
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
