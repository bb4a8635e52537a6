"""The worked vectors V-1 to V-10: published values, made again by this code.

V-1, V-2, V-3 and V-5 are Keccak hashes for a chain. The program writes none of them
yet; what is checked here is that the published values follow from their formulas, by a
Keccak written for the tests, so that a later implementation can rely on them.
"""

import hashlib
import json
from base64 import b64decode

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given, settings
from hypothesis import strategies as st

from support.keccak import keccak256
from support.packets import RFC8032_TEST_1, WORKED, verified
from support.sealed import PLAINTEXT, RECIPIENT, literal_v7
from uomp.packets import canonical, merkle
from uomp.packets.build import PacketDraft, build_packet, signing_input
from uomp.packets.canonical import CanonicalError
from uomp.packets.deletion import (
    memory_hash,
    memory_hash_v2,
    memory_preimage,
    proof_signing_input,
)
from uomp.packets.multibase import b64_encode, encode_multikey
from uomp.packets.sealing import check_envelope, open_sealed
from uomp.packets.signing import Ed25519Signer
from uomp.protocol.token import token_hash

KEY = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(RFC8032_TEST_1))
READ = {
    "user.display_name": "Ada",
    "preference.theme": "dark",
    "preference.font_size": 14,
}


def test_the_keccak_of_the_tests_is_sha_3_but_for_its_padding() -> None:
    for size in (0, 1, 135, 136, 137, 272, 1000):
        data = bytes(range(256)) * 4
        data = data[:size]
        sha3 = hashlib.sha3_256(data).digest()
        assert keccak256(data, domain=0x06) == sha3
        assert keccak256(data) != sha3
    empty = "c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470"
    assert keccak256(b"").hex() == empty


def test_v_1_v_2_v_3_and_v_5_follow_from_their_formulas() -> None:
    agent, session, proof = "calendar_agent", "sess_abc123", "del_xxx"
    tags = WORKED["granted_tags_json"]
    assert canonical.encode(["identity:public", "preference"]).decode() == tags
    route, literal = "/v1/memory/{key}", "/v1/memory/preference.theme"
    expected = {
        agent: "agentHash(calendar_agent)",
        session + agent + tags: "sessionHash",
        route: f"endpointHash template {route}",
        literal: f"endpointHash literal {literal}",
        proof + session + WORKED["memory_hash"]: "deletionProofHash",
    }
    for text, name in expected.items():
        assert keccak256(text.encode()).hex() == WORKED[name], name


def test_v_4_the_memory_hash() -> None:
    assert memory_preimage(READ).decode() == WORKED["memory_hash preimage"]
    assert memory_hash(READ) == WORKED["memory_hash"]
    assert memory_hash({}) == WORKED["memory_hash empty"]
    assert memory_hash_v2(READ) == WORKED["memory_hash_v2"]
    pairs = json.loads(WORKED["memory_hash_v2 preimage"])
    assert canonical.digest(pairs) == memory_hash_v2(READ)


def test_a_withheld_value_counts_as_its_key_alone() -> None:
    hidden = frozenset({"preference.theme"})
    assert memory_preimage(READ, withheld=hidden).decode() == WORKED[
        "memory_hash preimage"
    ].replace('"dark"', "")
    changed = READ | {"preference.theme": "light"}
    assert memory_hash(READ, withheld=hidden) == memory_hash(changed, withheld=hidden)
    assert memory_hash_v2(READ, withheld=hidden) == memory_hash_v2(
        changed, withheld=hidden
    )
    assert memory_hash_v2(READ, withheld=hidden) != memory_hash_v2(READ)


def test_the_second_memory_hash_tells_apart_what_the_first_one_joins() -> None:
    one, other = {"a": 1, "b": 2}, {"a1b": 2}
    assert memory_preimage(one) == memory_preimage(other) == b"a1b2"
    assert memory_hash(one) == memory_hash(other)
    assert memory_hash_v2(one) != memory_hash_v2(other)


def test_keys_are_sorted_by_their_bytes() -> None:
    # By UTF-16 code unit, as JCS sorts names, it would be the other way round.
    read = {"\U00010000": 1, "\uffff": 2}
    assert memory_preimage(read) == "\uffff2\U000100001".encode()


def test_a_key_that_is_no_text_is_refused() -> None:
    for make in (memory_hash, memory_hash_v2):
        with pytest.raises(CanonicalError):
            make({"\ud800": 1})


@given(st.dictionaries(st.text(max_size=5), st.integers(-9, 9), max_size=6))
@settings(max_examples=30)
def test_the_order_of_reading_does_not_matter(read: dict[str, int]) -> None:
    try:
        expected = memory_hash(read)
    except CanonicalError:
        return
    backwards = dict(reversed(read.items()))
    assert memory_hash(backwards) == expected
    assert memory_hash_v2(backwards) == memory_hash_v2(read)


def test_v_6_the_deletion_proof() -> None:
    proof = json.loads(WORKED["deletion proof JCS"])
    signed = proof_signing_input(proof | {"proof_value": "anything"})
    assert signed.decode() == WORKED["deletion proof JCS"]
    assert b64_encode(KEY.sign(signed)) == WORKED["proof_value"]
    KEY.public_key().verify(b64decode(WORKED["proof_value"]), signed)


def test_v_6_the_did_of_the_key() -> None:
    public = KEY.public_key().public_bytes_raw()
    assert public.hex() == WORKED["ed25519 public (RFC 8032 test 1)"]
    assert f"did:key:{encode_multikey('Ed25519', public)}" == WORKED["did:key"]


@pytest.mark.requirement("SYS-13")
def test_v_7_the_sealed_envelope() -> None:
    """The published ciphertext has no commitment, so that only the flag opens it.

    What we write has one: tests/packets/test_sealing.py has its values.
    """
    envelope = literal_v7()
    checked = check_envelope(envelope)
    assert checked.aad.decode() == WORKED["AAD"]
    assert b64_encode(checked.nonce) == WORKED["nonce"]
    assert checked.hash == "sha256:" + WORKED["payloadHash"]
    assert open_sealed(envelope, RECIPIENT, allow_uncommitted=True) == PLAINTEXT


@pytest.mark.requirement("SYS-11", "PAM-2.2-1", "PAM-2.2-3")
def test_v_8_the_packet() -> None:
    header = json.loads(WORKED["PAM signing input"])["header"]
    key_id = f"{WORKED['did:key']}#{WORKED['did:key'].removeprefix('did:key:')}"
    draft = PacketDraft(header=header, payload=json.loads(WORKED["PAM payload JCS"]))
    packet = build_packet(draft, Ed25519Signer(key_id, KEY))
    assert signing_input(packet).decode() == WORKED["PAM signing input"]
    digest = hashlib.sha256(signing_input(packet)).hexdigest()
    assert digest == WORKED["sha256 of signing input"]
    assert packet["integrity_hash"] == WORKED["PAM integrity_hash"]
    assert packet["signature"]["signature_value"] == WORKED["PAM signature_value"]
    assert verified(packet).signer_did == WORKED["did:key"]


def test_v_9_the_merkle_root() -> None:
    leaves = list(map(merkle.leaf_hash, (b"a", b"b", b"c")))
    assert merkle.root(leaves).hex() == WORKED["merkle root RFC6962 [a,b,c]"]


def test_v_10_the_token_hash() -> None:
    assert token_hash("abc.def.ghi") == WORKED['token_hash of "abc.def.ghi"']


@pytest.mark.requirement("SYS-9")
def test_the_numbers_of_the_canonical_form() -> None:
    value = json.loads(WORKED["jcs numbers"])
    assert canonical.encode(value).decode() == WORKED["jcs numbers"]
