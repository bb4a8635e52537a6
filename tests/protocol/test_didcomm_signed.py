"""Signed messages: by a key of the signer's document, named wherever it is named."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from didcomm_peers import ALICE, BOB, MALLORY, NOW, opened, ping, resolve
from uomp.packets.canonical import encode
from uomp.packets.multibase import b64url_decode, b64url_encode
from uomp.packets.signing import Ed25519Signer, Signer
from uomp.protocol.did.document import DidDocument
from uomp.protocol.didcomm.build import plaintext
from uomp.protocol.didcomm.jws import MAX_SIGNATURES, sign_message
from uomp.protocol.didcomm.refusal import Problem, RefusalError
from uomp.protocol.didcomm.unpack import unpack

PLAIN = plaintext(ping())
SIGNED = sign_message(PLAIN, ALICE.signer)

Json = dict[str, Any]


def made(
    protected: Json, *, header: Json | None = None, signer: Signer = ALICE.signer
) -> bytes:
    """Sign a message under headers of our choice."""
    text = b64url_encode(json.dumps(protected).encode())
    body = b64url_encode(PLAIN)
    entry: Json = {
        "protected": text,
        "signature": b64url_encode(signer.sign(f"{text}.{body}".encode())),
    }
    if header is not None:
        entry["header"] = header
    return json.dumps({"payload": body, "signatures": [entry]}).encode()


def rewrite(change: Callable[[Json], Any]) -> bytes:
    value = json.loads(SIGNED)
    change(value)
    return json.dumps(value).encode()


def test_our_signatures_name_the_key_in_both_places() -> None:
    (entry,) = json.loads(SIGNED)["signatures"]
    protected = json.loads(b64url_decode(entry["protected"]))
    assert entry["header"]["kid"] == protected["kid"] == ALICE.signer.key_id
    assert (protected["alg"], protected["typ"]) == (
        "EdDSA",
        "application/didcomm-signed+json",
    )


@pytest.mark.parametrize(
    ("protected", "header"),
    [
        ({"alg": "EdDSA", "kid": ALICE.signer.key_id}, None),
        ({"alg": "EdDSA"}, {"kid": ALICE.signer.key_id}),
        ({"alg": "Ed25519", "kid": ALICE.signer.key_id}, {}),
        ({"alg": "EdDSA", "kid": ALICE.signer.key_id, "other": 1}, {"more": 1}),
    ],
)
def test_a_key_may_be_named_in_either_place(protected: Json, header: Json) -> None:
    assert opened(made(protected, header=header)).signer == ALICE.signer.key_id


def test_a_flattened_signature_is_read() -> None:
    value = json.loads(SIGNED)
    flat = {"payload": value["payload"]} | value["signatures"][0]
    assert opened(json.dumps(flat).encode()).signer == ALICE.signer.key_id
    both = json.dumps(flat | value).encode()
    with pytest.raises(RefusalError, match="at once"):
        opened(both)


def test_several_signatures_of_one_sender_must_all_verify() -> None:
    value = json.loads(SIGNED)
    other = json.loads(made({"alg": "EdDSA", "kid": ALICE.signer.key_id}))
    value["signatures"] += other["signatures"]
    assert opened(json.dumps(value).encode()).signer == ALICE.signer.key_id
    value["signatures"][1]["signature"] = b64url_encode(bytes(64))
    with pytest.raises(RefusalError) as caught:
        opened(json.dumps(value).encode())
    assert caught.value.problem is Problem.CRYPTO


@pytest.mark.parametrize(
    "protected",
    [
        {"alg": "none"},
        {"alg": "HS256"},
        {"alg": "ES256"},
        {"alg": ["EdDSA"]},
        {},
        {"alg": "EdDSA", "crit": ["b64"], "b64": False},
        {"alg": "EdDSA", "crit": []},
        {"alg": "EdDSA", "deep": [[[[[1]]]]]},
        {"alg": "EdDSA", "kid": 7},
        {"alg": "EdDSA", "kid": "x"},
    ],
)
@pytest.mark.requirement("DER-6")
def test_one_algorithm_and_no_extension_is_understood(protected: Json) -> None:
    with pytest.raises(RefusalError):
        opened(made({"kid": ALICE.signer.key_id} | protected))


@pytest.mark.parametrize("name", ["jwk", "jku", "x5u", "x5c"])
@pytest.mark.requirement("DER-6")
def test_a_key_that_a_header_brings_counts_for_nothing(name: str) -> None:
    raw = MALLORY.signing.public_key().public_bytes_raw()
    jwk = {"kty": "OKP", "crv": "Ed25519", "x": b64url_encode(raw)}
    header = {"alg": "EdDSA", "kid": ALICE.signer.key_id, name: jwk}
    forged = Ed25519Signer(ALICE.signer.key_id, MALLORY.signing)
    with pytest.raises(RefusalError) as caught:
        opened(made(header, signer=forged))
    assert caught.value.problem is Problem.CRYPTO
    assert opened(made(header)).signer == ALICE.signer.key_id


@pytest.mark.parametrize(
    "change",
    [
        lambda v: v["signatures"][0]["header"].update(kid=f"{ALICE.did}#key-9"),
        lambda v: v["signatures"][0]["header"].update(kid=MALLORY.signer.key_id),
        lambda v: v["signatures"][0]["header"].update(alg="EdDSA"),
        lambda v: v["signatures"][0]["header"].update(crit=[]),
        lambda v: v["signatures"][0].update(header=[]),
        lambda v: v["signatures"][0].update(protected="AAAA"),
        lambda v: v["signatures"][0].update(protected=b64url_encode(b"[]")),
        lambda v: v["signatures"][0].update(protected="A" * 40_000),
        lambda v: v["signatures"][0].update(signature="AAAA"),
        lambda v: v["signatures"][0].update(signature=""),
        lambda v: v["signatures"][0].pop("signature"),
        lambda v: v["signatures"][0].pop("protected"),
        lambda v: v.update(signatures=[]),
        lambda v: v.update(signatures={}),
        lambda v: v.update(signatures=[7]),
        lambda v: v.update(signatures=v["signatures"] * (MAX_SIGNATURES + 1)),
        lambda v: v.update(payload=b64url_encode(PLAIN + b" ")),
        lambda v: v.update(payload=v["payload"] + "="),
        lambda v: v.update(payload=b64url_encode(b"[]")),
        lambda v: v.update(payload=7),
    ],
)
def test_a_signed_message_that_was_changed_is_refused(
    change: Callable[[Json], Any],
) -> None:
    with pytest.raises(RefusalError):
        opened(rewrite(change))


def test_a_key_that_may_not_authenticate_signs_no_message() -> None:
    signer = Ed25519Signer(ALICE.kid, ALICE.signing)
    with pytest.raises(RefusalError) as caught:
        opened(sign_message(PLAIN, signer))
    assert caught.value.problem in {Problem.UNTRUSTED, Problem.CRYPTO}


@pytest.mark.parametrize("where", ["protected", "header"])
def test_no_document_is_fetched_for_a_key_that_is_not_the_senders(where: str) -> None:
    kid = "did:web:127.0.0.1#k"
    protected = (
        {"alg": "EdDSA", "kid": kid} if where == "protected" else {"alg": "EdDSA"}
    )
    asked: list[str] = []

    def watch(did: str) -> DidDocument:
        asked.append(did)
        return resolve(did)

    keys = {BOB.kid: BOB.key}
    for header in ({"kid": kid}, {"kid": MALLORY.signer.key_id}):
        packed = made(protected, header=header)
        with pytest.raises(RefusalError):
            unpack(packed, secrets=keys, resolve=watch)
    assert asked == []
    assert unpack(SIGNED, secrets=keys, resolve=watch).signer
    assert asked == [ALICE.did]


def test_a_signed_message_without_sender_is_refused() -> None:
    value = {"id": "1", "type": "https://didcomm.org/empty/1.0/empty"}
    with pytest.raises(RefusalError, match="does not name its sender"):
        opened(sign_message(encode(value), ALICE.signer))
    assert json.loads(PLAIN)["created_time"] == NOW
