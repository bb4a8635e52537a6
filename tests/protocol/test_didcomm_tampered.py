"""Envelopes that were changed on the way, or built as none may be, are refused."""

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from hypothesis import given, settings
from hypothesis import strategies as st

from didcomm_peers import (
    ALICE,
    BOB,
    MALLORY,
    NOW,
    auth,
    opened,
    ping,
    seed,
)
from uomp.packets.multibase import b64url_decode, b64url_encode
from uomp.protocol.didcomm import jwe
from uomp.protocol.didcomm.agreement import write_epk
from uomp.protocol.didcomm.build import plaintext
from uomp.protocol.didcomm.content import CBC_HS512, encrypt
from uomp.protocol.didcomm.jws import sign_message
from uomp.protocol.didcomm.policy import check
from uomp.protocol.didcomm.refusal import RefusalError

PLAIN = plaintext(ping())
PACKED = auth(PLAIN)
SIGNED = sign_message(PLAIN, ALICE.signer)

Json = dict[str, Any]


def reheader(change: Callable[[Json], None], packed: bytes = PACKED) -> bytes:
    """Change the protected header; what it authenticates no longer fits."""
    value = json.loads(packed)
    header = json.loads(b64url_decode(value["protected"]))
    change(header)
    value["protected"] = b64url_encode(json.dumps(header).encode())
    return json.dumps(value).encode()


def rewrite(change: Callable[[Json], None], packed: bytes = PACKED) -> bytes:
    value = json.loads(packed)
    change(value)
    return json.dumps(value).encode()


@settings(max_examples=150)
@given(st.integers(0, len(PACKED) - 1), st.integers(0, 7))
@pytest.mark.requirement("SYS-5")
def test_no_bit_can_be_flipped(position: int, bit: int) -> None:
    changed = bytearray(PACKED)
    changed[position] ^= 1 << bit
    with pytest.raises(RefusalError):
        # Under another name of a member it is no envelope but a bare plaintext.
        check(opened(bytes(changed)), our_dids=(BOB.did,), now=NOW, require="any")


@pytest.mark.parametrize("member", ["iv", "ciphertext", "tag", "protected"])
def test_no_part_can_be_taken_from_another_message(member: str) -> None:
    other = json.loads(auth(PLAIN, salt="other"))
    with pytest.raises(RefusalError):
        opened(rewrite(lambda value: value.update({member: other[member]})))


@pytest.mark.parametrize(
    "change",
    [
        lambda h: h.update(zip="DEF"),
        lambda h: h.update(crit=["x"]),
        lambda h: h.update(crit=[]),
        lambda h: h.update(alg="dir"),
        lambda h: h.update(alg="PBES2-HS512+A256KW", p2c=2**31 - 1),
        lambda h: h.update(alg="ECDH-ES"),
        lambda h: h.update(alg="RSA-OAEP"),
        lambda h: h.update(enc="A128GCM"),
        lambda h: h.update(enc="XC20P"),
        lambda h: h.update(alg=7),
        lambda h: h.pop("enc"),
        lambda h: h.pop("skid"),
        lambda h: h.pop("apu"),
        lambda h: h.pop("apv"),
        lambda h: h.pop("epk"),
        lambda h: h.update(skid=MALLORY.kid),
        lambda h: h.update(skid="no key id"),
        lambda h: h.update(apu=h["apu"] + "="),
        lambda h: h["epk"].update(kty="EC"),
        lambda h: h["epk"].update(crv="P-256", kty="EC", y=h["epk"]["x"]),
        lambda h: h["epk"].update(d=h["epk"]["x"]),
        lambda h: h["epk"].update(x=h["epk"]["x"][:-1]),
        lambda h: h["epk"].update(x=7),
        lambda h: h["epk"].update(x=b64url_encode(b"\xff" * 32)),
        lambda h: h["epk"].update(x=b64url_encode(bytes(31) + b"\x80")),
        lambda h: h.update(epk=[]),
        lambda h: h.update(deep=[[[[[[1]]]]]]),
    ],
)
def test_a_protected_header_of_another_kind_is_refused(
    change: Callable[[Json], None],
) -> None:
    with pytest.raises(RefusalError):
        opened(reheader(change))


@pytest.mark.parametrize(
    "change",
    [
        lambda v: v.update(unprotected={"alg": "x"}),
        lambda v: v.update(unprotected={"zip": "DEF"}),
        lambda v: v.update(unprotected={"epk": {}}),
        lambda v: v.update(unprotected={"kid": "x"}),
        lambda v: v.update(unprotected=[]),
        lambda v: v.update(aad="AAAA"),
        lambda v: v.update(recipients=[]),
        lambda v: v.update(recipients=v["recipients"] * 2),
        lambda v: v.update(recipients=v["recipients"][0]),
        lambda v: v.update(encrypted_key=v.pop("recipients")[0]["encrypted_key"]),
        lambda v: v["recipients"][0].pop("header"),
        lambda v: v["recipients"][0].pop("encrypted_key"),
        lambda v: v["recipients"][0].update(encrypted_key="AAAA"),
        lambda v: v["recipients"][0].update(encrypted_key="="),
        lambda v: v["recipients"][0]["header"].update(alg="x"),
        lambda v: v["recipients"][0]["header"].update(crit=[]),
        lambda v: v["recipients"][0]["header"].update(epk={}),
        lambda v: v["recipients"][0]["header"].update(kid=7),
        lambda v: v["recipients"][0]["header"].update(kid=""),
        lambda v: v["recipients"][0]["header"].pop("kid"),
        lambda v: v.update(protected=v["protected"] + "="),
        lambda v: v.update(protected="A" * 70_000),
        lambda v: v.update(protected=7),
        lambda v: v.update(iv=v["iv"] + "=="),
        lambda v: v.update(tag=v["tag"][:22]),
        lambda v: v.update(tag=""),
        lambda v: v.update(ciphertext=""),
        lambda v: v.pop("iv"),
    ],
)
def test_an_envelope_built_otherwise_is_refused(
    change: Callable[[Json], None],
) -> None:
    with pytest.raises(RefusalError):
        opened(rewrite(change))


def test_what_is_unknown_and_harmless_is_ignored() -> None:
    def change(value: Json) -> None:
        value["extra"] = 1
        value["unprotected"] = {"note": 1}
        value["recipients"][0]["header"]["other"] = 1

    assert opened(rewrite(change)) == opened(PACKED)


@pytest.mark.parametrize(
    "pair",
    [
        (b'{"ciphertext":', b'{"ciphertext":"AA","ciphertext":'),
        (b'"header":{', b'"header":{"kid":"x",'),
    ],
)
def test_a_member_that_stands_twice_is_refused(pair: tuple[bytes, bytes]) -> None:
    changed = PACKED.replace(*pair)
    assert changed != PACKED
    with pytest.raises(RefusalError, match="two members"):
        opened(changed)


def test_a_header_member_that_stands_twice_is_refused() -> None:
    value = json.loads(PACKED)
    header = b64url_decode(value["protected"])
    twice = header.replace(b'{"alg":', b'{"alg":"none","alg":')
    value["protected"] = b64url_encode(twice)
    with pytest.raises(RefusalError, match="two members"):
        opened(json.dumps(value).encode())


def handmade(header: Json, beside: Json) -> bytes:
    """Make an anonymous envelope of members that our packer does not write."""
    cek, iv = seed("cek", 64), seed("iv", 16)
    ephemeral = X25519PrivateKey.from_private_bytes(seed("ephemeral"))
    apv = jwe.describe_parties(jwe.ANONCRYPT, None, [BOB.kid]).apv
    where: Json = {"alg": jwe.ANONCRYPT, "enc": CBC_HS512, "apv": apv} | header
    if "epk" not in beside:
        where["epk"] = write_epk(ephemeral)
    protected = b64url_encode(json.dumps(where).encode())
    sealed, tag = encrypt(cek, iv, PLAIN, protected.encode())
    parts = (jwe.ANONCRYPT.encode(), b64url_decode(header.get("apu", "")))
    info = b"".join(map(jwe.prefixed, (*parts, b64url_decode(apv))))
    secret = ephemeral.exchange(BOB.recipient.public)
    kek = jwe.derive_key(secret, info + (256).to_bytes(4))
    own = {"kid": BOB.kid} | {k: write_epk(ephemeral) for k in beside}
    recipient = jwe.Recipient(jwe.wrap_key(kek, cek), own)
    return jwe.write_jwe(protected, (iv, sealed, tag), [recipient])


@pytest.mark.parametrize(
    ("header", "beside"),
    [({}, {}), ({"apu": "QWxpY2U"}, {}), ({}, {"epk": True}), ({"typ": "x"}, {})],
)
def test_anonymous_envelopes_of_other_writers_open(header: Json, beside: Json) -> None:
    assert opened(handmade(header, beside)).plaintext == json.loads(PLAIN)


def test_an_ephemeral_key_in_two_places_is_refused() -> None:
    value = json.loads(handmade({}, {}))
    header = json.loads(b64url_decode(value["protected"]))
    value["recipients"][0]["header"]["epk"] = header["epk"]
    with pytest.raises(RefusalError, match="two places"):
        opened(json.dumps(value).encode())


def test_a_compressed_or_nested_bomb_is_not_unrolled() -> None:
    deep = b'{"a":' * 2_000 + b"1" + b"}" * 2_000
    for data in (deep, auth(deep), b"[" * 100_000):
        with pytest.raises(RefusalError):
            opened(data)


@settings(max_examples=150)
@given(st.binary(max_size=60) | st.text(max_size=40).map(str.encode))
def test_nothing_but_our_error_comes_out_of_bytes(data: bytes) -> None:
    for wrapped in (data, auth(data)):
        with suppress(RefusalError):
            opened(wrapped)


MEMBERS = st.sampled_from(
    [
        "protected",
        "recipients",
        "iv",
        "ciphertext",
        "tag",
        "header",
        "kid",
        "encrypted_key",
        "payload",
        "signatures",
        "signature",
        "unprotected",
        "from",
        "from_prior",
        "to",
        "id",
        "type",
        "epk",
        "skid",
    ]
)
PIECES = st.sampled_from(
    [*json.loads(PACKED).values(), ALICE.did, ALICE.kid, b64url_encode(b"{}"), ""]
)
SHAPES = st.dictionaries(
    MEMBERS,
    st.recursive(
        PIECES | st.none() | st.integers(),
        lambda inner: (
            st.lists(inner, max_size=2) | st.dictionaries(MEMBERS, inner, max_size=4)
        ),
        max_leaves=8,
    ),
    max_size=7,
)


@settings(max_examples=150)
@given(SHAPES, st.booleans())
def test_nothing_but_our_error_comes_out_of_a_shape(shape: Json, base: bool) -> None:  # noqa: FBT001
    value = json.loads(PACKED) | shape if base else shape
    data = json.dumps(value).encode()
    for wrapped in (data, auth(data), sign_message(data, ALICE.signer)):
        with suppress(RefusalError):
            found = opened(wrapped)
            check(found, our_dids=(BOB.did,), now=NOW, require="any")
