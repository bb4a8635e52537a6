"""Messages that are made to cost more than they weigh are refused before they do."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from didcomm_peers import ALICE, BOB, CAROL, NOW, anon, auth, opened, ping, resolve
from uomp.packets.canonical import encode
from uomp.packets.multibase import b64url_decode, b64url_encode
from uomp.packets.strict import MAX_DEPTH
from uomp.protocol.did.document import DidDocument
from uomp.protocol.did.syntax import MAX_DID_CHARS
from uomp.protocol.didcomm.agreement import RecipientKey
from uomp.protocol.didcomm.build import plaintext
from uomp.protocol.didcomm.from_prior import sign_prior
from uomp.protocol.didcomm.jwe import MAX_ENVELOPE_VALUES, MAX_RECIPIENTS
from uomp.protocol.didcomm.jws import sign_message
from uomp.protocol.didcomm.message import MAX_BARE_BYTES, Message
from uomp.protocol.didcomm.policy import check
from uomp.protocol.didcomm.refusal import Problem, RefusalError
from uomp.protocol.didcomm.unpack import (
    MAX_PLAIN_VALUES,
    Unpacked,
    peek,
    read_plaintext,
    unpack,
)
from uomp.protocol.messages import types

T = TypeVar("T")
PAGE = (Path(__file__).parents[2] / "docs" / "messages.md").read_text("utf-8")
PRIOR = sign_prior(iss=CAROL.did, sub=ALICE.did, iat=NOW, signer=CAROL.signer)
ROADS: list[Callable[[bytes], bytes]] = [
    auth,
    anon,
    lambda data: sign_message(data, ALICE.signer),
    lambda data: anon(auth(sign_message(data, ALICE.signer))),
]


def problem(read: Callable[[T], object], data: T) -> Problem:
    with pytest.raises(RefusalError) as caught:
        read(data)
    return caught.value.problem


def over_tls(data: bytes) -> Unpacked:
    return read_plaintext(data, sender=ALICE.did, recipient=BOB.did)


def message(**members: Any) -> bytes:
    return encode(json.loads(plaintext(ping())) | members)


def tiny(count: int) -> list[Any]:
    return [{"a": 0}] * (count // 2)


# ---- many values -----------------------------------------------------------


@pytest.mark.requirement("SYS-10")
@pytest.mark.parametrize("filler", [b"[]", b'{"a":0}', b'"x"', b"0"])
def test_a_layer_of_tiny_values_is_refused_without_a_key(filler: bytes) -> None:
    whole = json.loads(auth(plaintext(ping())))
    kids = b"[" + b",".join([filler] * MAX_ENVELOPE_VALUES) + b"]"
    start = b'"header":{'
    own = auth(plaintext(ping())).replace(start, start + b'"x":' + kids + b",")
    hidden = json.dumps(whole)[:-1].encode() + b',"x":' + kids + b"}"
    as_ours = b'{"ciphertext":' + kids + b"}"
    for data in (kids, hidden, as_ours, own, b'{"payload":' + kids + b"}"):
        assert problem(opened, data) is Problem.TOO_BIG
        assert problem(peek, data) is Problem.TOO_BIG


@pytest.mark.requirement("SYS-10")
@pytest.mark.parametrize("pack", ROADS)
def test_a_plaintext_of_tiny_values_is_refused(pack: Callable[[bytes], bytes]) -> None:
    inline = [{"data": {"json": tiny(MAX_PLAIN_VALUES)}}]
    fine = [{"data": {"json": tiny(MAX_PLAIN_VALUES - 1_000)}}]
    assert opened(pack(message(attachments=fine))).plaintext["attachments"] == fine
    data = message(attachments=inline)
    assert problem(opened, pack(data)) is Problem.TOO_BIG
    assert problem(over_tls, data) is Problem.TOO_BIG


def test_nobody_is_resolved_for_a_signed_message_of_tiny_values() -> None:
    asked: list[str] = []

    def note(did: str) -> DidDocument:
        asked.append(did)
        return resolve(did)

    def read(data: bytes) -> Unpacked:
        return unpack(data, secrets={}, resolve=note)

    many = message(attachments=[{"data": {"json": tiny(MAX_PLAIN_VALUES)}}])
    assert problem(read, sign_message(many, ALICE.signer)) is Problem.TOO_BIG
    assert asked == []
    assert read(sign_message(message(), ALICE.signer)).signer == ALICE.signer.key_id
    assert asked == [ALICE.did]


@pytest.mark.parametrize("pack", [auth, anon])
def test_an_envelope_for_as_many_as_may_be_is_within_its_values(
    pack: Callable[..., bytes],
) -> None:
    made = [
        RecipientKey(f"did:example:{n}#k", X25519PrivateKey.generate().public_key())
        for n in range(MAX_RECIPIENTS - 1)
    ]
    packed = pack(plaintext(ping()), recipients=(*made, BOB.recipient))
    assert len(peek(packed).recipients) == MAX_RECIPIENTS
    spaced = json.dumps(json.loads(packed), indent=4).encode()
    assert opened(spaced).plaintext["id"] == "ping-1"


# ---- many bytes ------------------------------------------------------------


def let_in(unpacked: Unpacked, **rules: Any) -> Message:
    return check(unpacked, our_dids=(BOB.did,), now=NOW, require="any", **rules)


@pytest.mark.requirement("SYS-10")
@pytest.mark.parametrize("pack", ROADS)
def test_only_attachments_make_a_message_large(pack: Callable[[bytes], bytes]) -> None:
    large = "x" * MAX_BARE_BYTES
    packet = [{"data": {"base64": large}}]
    whole = let_in(opened(pack(message(attachments=packet))))
    assert whole.attachments[0].data.base64 == large
    for members in (
        {"body": {"manifest": large}, "type": types.AUTHORIZE_REQUEST},
        {"body": {"manifest": large}, "attachments": [{"data": {"json": 1}}]},
        {"body": {"manifest": large}, "attachments": None},
        {"unknown": large},
        {"body": {large: 1}},
        {"please_ack": [large]},
    ):
        data = message(**members)
        assert problem(let_in, opened(pack(data))) is Problem.TOO_BIG
        assert problem(let_in, over_tls(data)) is Problem.TOO_BIG


def test_a_message_without_attachments_may_be_as_large_as_the_limit() -> None:
    room = MAX_BARE_BYTES - len(message(body={"text": ""}))
    for more, fits in ((0, True), (1, False)):
        unpacked = opened(auth(message(body={"text": "x" * (room + more)})))
        if fits:
            assert len(let_in(unpacked).body["text"]) == room
        else:
            assert problem(let_in, unpacked) is Problem.TOO_BIG
            let_in(unpacked, max_bare=MAX_BARE_BYTES + 1)


def test_a_message_as_deep_as_may_be_is_measured_too() -> None:
    deep: Any = 0
    for _ in range(MAX_DEPTH - 2):
        deep = [deep]
    assert let_in(opened(auth(message(body={"deep": deep})))).body == {"deep": deep}


def test_the_limits_that_other_nodes_are_told_are_those_of_the_code() -> None:
    for limit in (MAX_BARE_BYTES, MAX_PLAIN_VALUES, MAX_ENVELOPE_VALUES):
        assert f" {limit} " in PAGE


# ---- members that are used before they have a type -------------------------

ODD = [[], {}, [ALICE.did], {"a": 1}, 7, 0.5, True, "x" * (MAX_DID_CHARS + 1)]


@pytest.mark.parametrize("pack", ROADS)
@pytest.mark.parametrize("name", ["from", "from_prior"])
@pytest.mark.parametrize("odd", ODD, ids=lambda odd: repr(odd)[:12])
def test_a_member_of_another_type_is_refused_on_every_road(
    pack: Callable[[bytes], bytes], name: str, odd: object
) -> None:
    packed = pack(message(**{"from_prior": PRIOR, name: odd}))
    assert problem(opened, packed) is Problem.MALFORMED


@pytest.mark.parametrize("where", ["jwe", "jws", "jwt"])
@pytest.mark.parametrize("name", ["alg", "enc", "apu", "apv", "epk", "skid", "kid"])
@pytest.mark.parametrize("odd", [[], {}, [[]], {"x": []}, 7, True, "", None])
def test_header_members_of_another_type_are_refused(
    where: str, name: str, odd: object
) -> None:
    if where == "jwe":
        envelope = json.loads(auth(plaintext(ping())))
        header = json.loads(b64url_decode(envelope["protected"])) | {name: odd}
        envelope["protected"] = b64url_encode(encode(header))
        envelope["recipients"][0]["header"]["x"] = odd
    elif where == "jws":
        envelope = json.loads(sign_message(plaintext(ping()), ALICE.signer))
        header = {"alg": "EdDSA", "kid": ALICE.signer.key_id, name: odd}
        signature = envelope["signatures"][0]
        signature["protected"] = b64url_encode(encode(header))
    else:
        header = {"alg": "EdDSA", "kid": CAROL.signer.key_id, name: odd}
        _, body, value = PRIOR.split(".")
        text = f"{b64url_encode(encode(header))}.{body}.{value}"
        envelope = json.loads(auth(message(from_prior=text)))
    assert problem(opened, encode(envelope)) in set(Problem)


def test_a_sender_whose_key_id_is_too_long_is_refused() -> None:
    envelope = json.loads(auth(plaintext(ping())))
    header = json.loads(b64url_decode(envelope["protected"]))
    header["skid"] = f"{ALICE.did}#{'k' * 20_000}"
    header["apu"] = b64url_encode(header["skid"].encode())
    envelope["protected"] = b64url_encode(encode(header))
    assert problem(peek, encode(envelope)) is Problem.MALFORMED
