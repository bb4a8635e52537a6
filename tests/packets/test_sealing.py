"""Sealed envelopes: who can open them, and what breaks them."""

import copy
import json
from base64 import b64decode, b64encode, urlsafe_b64encode
from functools import partial
from hashlib import sha256

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import (
    X25519PrivateKey,
    X25519PublicKey,
)
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from hypothesis import given, settings
from hypothesis import strategies as st

from support.sealed import (
    COMMITMENT,
    COMMITTED_CIPHERTEXT,
    INFO,
    NONCE,
    PLAINTEXT,
    RECIPIENT,
    SENDER,
    STRANGER,
    WORKED,
    flipped,
    literal_v7,
    opening_refusal,
    refusal,
    sealed,
    with_ciphertext,
)
from uomp.errors import Code
from uomp.packets.canonical import encode
from uomp.packets.sealing import (
    EnvelopeInfo,
    check_envelope,
    decrypt_aes_gcm,
    open_sealed,
    seal,
)


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
@settings(max_examples=40)
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
