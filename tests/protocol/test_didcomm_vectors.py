"""Envelopes of others: the specification's examples and the hostile cases."""

import hmac
import json
from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import (
    X25519PrivateKey,
    X25519PublicKey,
)

from didcomm_peers import VECTORS, vector
from uomp.errors import EnvelopeError
from uomp.packets.multibase import b64url_decode
from uomp.protocol.did.document import DidDocument, parse_document
from uomp.protocol.didcomm import jwe
from uomp.protocol.didcomm.agreement import AgreementKey
from uomp.protocol.didcomm.content import Parts, decrypt, encrypt, hchacha20
from uomp.protocol.didcomm.message import Message
from uomp.protocol.didcomm.policy import check
from uomp.protocol.didcomm.refusal import Problem, RefusalError
from uomp.protocol.didcomm.unpack import Unpacked, peek, unpack

SPEC = "didcomm-v2-spec"
BOB, ALICE = "did:example:bob", "did:example:alice"
WIRE = "encrypted-auth-x25519-a256cbc-hs512"

# What the examples of the specification need that is not here yet, and why.
LATER = {
    "encrypted-anon-p384-a256cbc-hs512": "P-384 is not built yet",
    "encrypted-anon-p521-a256gcm": "P-521 is optional and not built",
    "encrypted-auth-sign-p256-a256cbc-hs512": "P-256 is not built yet",
    "encrypted-anon-auth-sign-p521-xc20p": "P-521 is optional and not built",
    "signed-es256": "ES256 is not built yet",
    "signed-es256k": "ES256K is not built yet",
}
OURS = {
    "encrypted-anon-x25519-xc20p": ("anoncrypt", "plain"),
    WIRE: ("authcrypt", "plain"),
    "signed-eddsa": ("signed", "plain"),
}

HOSTILE = vector("hostile-didcomm/cases.json")
CASES = {case["name"]: case for case in HOSTILE["cases"]}
TRUST, MALFORMED, CRYPTO = Problem.UNTRUSTED, Problem.MALFORMED, Problem.CRYPTO
# Why each case that must be refused is refused: not for something else by chance.
REASONS = {
    "spoof-from-authcrypt": (TRUST, "another sender"),
    "authcrypt-without-from": (MALFORMED, "does not name its sender"),
    "spoof-from-signed": (TRUST, "another than its sender"),
    "authcrypt-alice-over-sign-mallory": (TRUST, "another than its sender"),
    "from-prior-forged": (TRUST, "signed by another DID"),
    "from-prior-sub-mismatch": (TRUST, "to another DID"),
    "from-prior-expired": (MALFORMED, "A rotation has a time"),  # it has no iat
    "from-prior-iss-equals-sub": (TRUST, "to another DID"),
    "sender-key-not-in-keyAgreement": (TRUST, "no such key for this purpose"),
    "to-without-recipient": (TRUST, "not addressed to"),
    "expired-message": (Problem.TIME, "has expired"),
    "apv-wrong": (MALFORMED, "not of the receivers"),
    "apv-missing": (MALFORMED, "protected header"),
    "skid-apu-mismatch": (MALFORMED, "not of the sender"),
    "tag-bitflip": (CRYPTO, "cannot be opened"),
    "tag-truncated": (CRYPTO, "cannot be opened"),
    "iv-bitflip": (CRYPTO, "cannot be opened"),
    "ciphertext-bitflip": (CRYPTO, "cannot be opened"),
    "b64-padding": (MALFORMED, "base64url without padding"),
    "recipient-removed": (MALFORMED, "not of the receivers"),
    "unprotected-alg": (MALFORMED, "in two places"),
    "authcrypt-gcm": (CRYPTO, "not one we use"),
    "epk-other-curve": (CRYPTO, "another curve"),
    "plaintext-dup-keys": (MALFORMED, "two members of one name"),
    "plaintext-nan": (MALFORMED, "not JSON"),
    "plaintext-lone-surrogate": (MALFORMED, "not JSON"),
    "zip-def-valid": (MALFORMED, "Compression"),
    "crit-unknown-valid": (MALFORMED, "critical"),
    "epk-all-zero-contributory": (CRYPTO, "small order"),
    "epk-low-order-point": (CRYPTO, "small order"),
}


BINARY = frozenset({"key", "iv", "msg", "aad", "ct", "tag"})


def x25519_keys(jwks: Mapping[str, Mapping[str, str]]) -> dict[str, AgreementKey]:
    return {
        kid: AgreementKey(
            kid, X25519PrivateKey.from_private_bytes(b64url_decode(jwk["d"]))
        )
        for kid, jwk in jwks.items()
        if jwk["crv"] == "X25519" and kid.startswith(BOB)
    }


@cache
def hostile_documents() -> dict[str, DidDocument]:
    documents = HOSTILE["diddocs"]
    return {value["id"]: parse_document(value, value["id"]) for value in documents}


@cache
def spec_documents() -> dict[str, DidDocument]:
    found = {}
    for name in ("alice", "bob"):
        value = vector(f"{SPEC}/diddoc-{name}.json")
        found[value["id"]] = parse_document(value, value["id"])
    return found


@cache
def spec_keys() -> dict[str, AgreementKey]:
    return x25519_keys({k["kid"]: k for k in vector(f"{SPEC}/secrets-bob.json")})


def wire(name: str) -> bytes:
    return (VECTORS / SPEC / f"{name}.json").read_bytes()


def spec_unpack(name: str) -> Unpacked:
    documents = spec_documents()
    return unpack(wire(name), secrets=spec_keys(), resolve=documents.__getitem__)


def judge(name: str) -> Message:
    packed = json.dumps(CASES[name]["packed"]).encode()
    keys = x25519_keys(HOSTILE["keys"])
    documents = hostile_documents()
    opened = unpack(packed, secrets=keys, resolve=documents.__getitem__)
    return check(opened, our_dids=(BOB,), now=1_800_000_000, require="any")


# ---- the specification -----------------------------------------------------


def test_every_example_of_the_specification_is_accounted_for() -> None:
    files = (VECTORS / SPEC).glob("*.json")
    found = {f.stem for f in files if f.stem.startswith(("encrypted-", "signed-"))}
    assert found == {*LATER, *OURS}


@pytest.mark.parametrize("name", OURS)
@pytest.mark.requirement("SYS-5", "SYS-18")
def test_examples_of_the_specification_open(name: str) -> None:
    opened = spec_unpack(name)
    assert opened.layers == OURS[name]
    # The published plaintext lacks `typ`, and has https in its type.
    added = {
        "typ": "application/didcomm-plain+json",
        "type": "http://example.com/protocols/lets_do_lunch/1.0/proposal",
    }
    assert opened.plaintext == vector(f"{SPEC}/plaintext.json") | added
    proof = opened.sender or opened.signer
    assert (proof is None) == ("anoncrypt" in opened.layers)
    message = check(opened, our_dids=(BOB,), now=1_516_269_022, require="any")
    assert message.authenticated == (proof is not None)


@pytest.mark.parametrize("name", LATER)
def test_examples_that_need_other_curves_are_refused_plainly(name: str) -> None:
    with pytest.raises(RefusalError):
        spec_unpack(name)


def test_the_sender_of_the_authenticated_example_is_known_before_opening() -> None:
    header = peek(wire(WIRE))
    assert header.kind == "authcrypt"
    assert header.skid == f"{ALICE}#key-x25519-1"
    assert header.recipients == tuple(f"{BOB}#key-x25519-{n}" for n in (1, 2, 3))
    assert (header.alg, header.enc) == ("ECDH-1PU+A256KW", "A256CBC-HS512")


@pytest.mark.parametrize("number", [1, 2, 3])
@pytest.mark.requirement("SYS-5")
def test_each_key_of_the_receiver_opens_the_example(number: int) -> None:
    kid = f"{BOB}#key-x25519-{number}"
    documents = spec_documents()
    opened = unpack(
        wire(WIRE), secrets={kid: spec_keys()[kid]}, resolve=documents.__getitem__
    )
    assert opened.recipient == kid


# ---- key derivation --------------------------------------------------------


def test_ecdh_1pu_derives_the_key_of_the_draft_with_the_tag() -> None:
    case: dict[str, Any] = vector("ecdh-1pu-draft/kdf.json")[1]

    def private(name: str) -> X25519PrivateKey:
        raw = b64url_decode(case[name]["d"])
        return X25519PrivateKey.from_private_bytes(raw)

    receiver = AgreementKey("bob", private("bob"))
    once = receiver.agree_once(private("epk").public_key())
    secret = once + receiver.agree(private("alice").public_key())
    texts = (case["alg"].encode(), case["apu"].encode(), case["apv"].encode())
    info = b"".join(map(jwe.prefixed, texts)) + case["keydatalen"].to_bytes(4)
    tagged = info + jwe.prefixed(bytes.fromhex(case["cc_tag"]))
    assert jwe.derive_key(secret, tagged, bits=128).hex() == case["expected"]
    assert jwe.derive_key(secret, info, bits=128).hex() != case["expected"]


def test_the_other_vector_of_the_draft_is_on_a_curve_that_comes_later() -> None:
    other = vector("ecdh-1pu-draft/kdf.json")[0]
    assert other["epk"]["crv"] == "P-256"


def test_hchacha20_gives_the_subkey_of_its_draft() -> None:
    nonce = bytes.fromhex("000000090000004a0000000031415927")
    expected = "82413b4227b27bfed30e42508a877d73a0f9e4d58a74a853c12ec41326d3ecdc"
    assert hchacha20(bytes(range(32)), nonce).hex() == expected


# ---- hostile and honest ----------------------------------------------------


@pytest.mark.parametrize("name", CASES)
@pytest.mark.requirement("SYS-5", "DER-13")
def test_each_case_gets_its_verdict_for_its_own_reason(name: str) -> None:
    if CASES[name]["expect"] == "accept":
        assert judge(name).id
        return
    problem, words = REASONS[name]
    with pytest.raises(EnvelopeError, match=words) as caught:
        judge(name)
    assert isinstance(caught.value, RefusalError)
    assert caught.value.problem is problem


def test_the_cases_are_of_both_kinds() -> None:
    refused = {name for name, case in CASES.items() if case["expect"] == "reject"}
    assert refused == {*REASONS}
    assert len(CASES) == 40
    assert len(refused) == 30


def test_the_honest_rotation_is_told() -> None:
    prior = judge("honest-from-prior").from_prior
    assert prior is not None
    assert (prior.iss, prior.sub) == (ALICE, "did:example:mallory")


def test_a_zero_secret_is_refused_with_every_key_of_small_order() -> None:
    file = vector("wycheproof/x25519_test.json")
    key = AgreementKey("bob", X25519PrivateKey.from_private_bytes(bytes(32)))
    points = {
        test["public"]
        for group in file["testGroups"]
        for test in group["tests"]
        if "ZeroSharedSecret" in test["flags"]
    }
    assert len(points) > 5
    for point in points:
        public = X25519PublicKey.from_public_bytes(bytes.fromhex(point))
        for agree in (key.agree, key.agree_once):
            with pytest.raises(RefusalError) as caught:
                agree(public)
            assert caught.value.problem is Problem.CRYPTO


# enc: the file of Wycheproof, and the sizes in bits of key, IV and tag
CIPHERS = {
    "A256CBC-HS512": ("a256cbc_hs512_test", 512, 128, 256),
    "XC20P": ("xchacha20_poly1305_test", 256, 192, 128),
    "A256GCM": ("aes_gcm_test", 256, 96, 128),
}


@pytest.mark.parametrize("enc", CIPHERS)
def test_content_ciphers_judge_as_wycheproof_does(enc: str) -> None:
    name, *sizes = CIPHERS[enc]
    groups = vector(f"wycheproof/{name}.json")["testGroups"]
    tests = [
        {k: bytes.fromhex(v) if k in BINARY else v for k, v in test.items()}
        for group in groups
        if [group["keySize"], group["ivSize"], group["tagSize"]] == sizes
        for test in group["tests"]
    ]
    assert {test["result"] for test in tests} == {"valid", "invalid"}
    for test in tests:
        parts = Parts(test["iv"], test["ct"], test["tag"], test["aad"])
        if test["result"] == "valid":
            assert decrypt(enc, test["key"], parts) == test["msg"]
        else:
            with pytest.raises(RefusalError):
                decrypt(enc, test["key"], parts)


def test_our_content_cipher_writes_what_wycheproof_has() -> None:
    for group in vector("wycheproof/a256cbc_hs512_test.json")["testGroups"]:
        for test in group["tests"]:
            if test["result"] == "valid":
                fields = [bytes.fromhex(test[n]) for n in ("key", "iv", "msg", "aad")]
                sealed, tag = encrypt(*fields)
                assert (sealed.hex(), tag.hex()) == (test["ct"], test["tag"])


def test_a_padding_that_is_none_is_refused_though_its_tag_verifies() -> None:
    # The last block decrypts to other bytes if the block before it is changed.
    cek, iv = bytes(range(64)), bytes(16)
    sealed, _ = encrypt(cek, iv, bytes(16), b"")
    changed = bytes([sealed[0] ^ 0xFF]) + sealed[1:]
    for broken in (changed[:15] + bytes([sealed[15] ^ 0xFF]) + sealed[16:], b""):
        signed = iv + broken + bytes(8)
        tag = hmac.digest(cek[:32], signed, "sha512")[:32]
        with pytest.raises(RefusalError):
            decrypt("A256CBC-HS512", cek, Parts(iv, broken, tag, b""))
