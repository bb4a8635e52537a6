"""What is packed opens for those it is for, and for nobody else, and unchanged."""

import base64
import json
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from hypothesis import given, settings
from hypothesis import strategies as st

from didcomm_peers import (
    ALICE,
    BOB,
    CAROL,
    MALLORY,
    anon,
    auth,
    opened,
    ping,
    resolve,
    seed,
)
from uomp.errors import Code, UnavailableError
from uomp.packets.canonical import encode
from uomp.protocol.did.document import DidDocument
from uomp.protocol.didcomm.agreement import AgreementKey, RecipientKey
from uomp.protocol.didcomm.authcrypt import pack_authcrypt
from uomp.protocol.didcomm.build import plaintext
from uomp.protocol.didcomm.jwe import MAX_RECIPIENTS
from uomp.protocol.didcomm.jws import sign_message
from uomp.protocol.didcomm.message import attach
from uomp.protocol.didcomm.refusal import Problem, RefusalError
from uomp.protocol.didcomm.unpack import peek, unpack

PLAIN = plaintext(ping())
PACKED = auth(PLAIN)
SIGNED = sign_message(PLAIN, ALICE.signer)

Json = dict[str, Any]


def respelled(packed: bytes) -> bytes:
    """Write the same JSON as nobody does."""
    return json.dumps(json.loads(packed), indent=1).encode()


# ---- round trips -----------------------------------------------------------

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text("abcé", max_size=4), inner)
    ),
    max_leaves=10,
)


@settings(max_examples=60)
@given(st.dictionaries(st.text("abc", max_size=4), JSON, max_size=4), st.booleans())
@pytest.mark.requirement("SYS-5")
def test_what_is_packed_comes_out_as_it_was(body: Json, named: bool) -> None:  # noqa: FBT001
    data = plaintext(ping(body=body))
    found = opened(auth(data) if named else anon(data))
    assert found.plaintext == json.loads(data)
    assert found.sender == (ALICE.kid if named else None)
    assert found.recipient == BOB.kid
    assert found.layers == ("authcrypt" if named else "anoncrypt", "plain")


@pytest.mark.parametrize("size", [0, 1, 15, 16, 17, 1_000_000, 10_000_000])
@pytest.mark.requirement("SYS-5")
def test_bodies_of_every_size_come_through(size: int) -> None:
    data = plaintext(ping(body={"text": "x" * size}))
    for packed in (auth(data), anon(data)):
        assert opened(packed).plaintext["body"] == {"text": "x" * size}


@pytest.mark.parametrize("size", [1_000_000, 10_000_000])
@pytest.mark.requirement("SYS-5")
def test_large_attachments_come_through(size: int) -> None:
    made = attach("packet", b"x" * size, media_type="text/plain")
    data = plaintext(ping(attachments=(made,)))
    for packed in (auth(data), anon(data)):
        assert opened(packed).plaintext == json.loads(data)


@pytest.mark.parametrize("count", [2, 17, MAX_RECIPIENTS])
def test_each_of_many_receivers_can_open(count: int) -> None:
    keys = [
        AgreementKey(
            f"did:example:{n}#k", X25519PrivateKey.from_private_bytes(seed(f"{n}"))
        )
        for n in range(count)
    ]
    recipients = [
        RecipientKey(
            key.kid, X25519PrivateKey.from_private_bytes(seed(f"{n}")).public_key()
        )
        for n, key in enumerate(keys)
    ]
    # Any order is as good as any other.
    packed = {
        True: auth(PLAIN, ALICE, recipients[::-1]),
        False: anon(PLAIN, recipients),
    }
    for named, data in packed.items():
        for key in (keys[0], keys[count // 2], keys[-1]):
            found = unpack(data, secrets={key.kid: key}, resolve=resolve)
            assert found.plaintext == json.loads(PLAIN)
            assert found.sender == (ALICE.kid if named else None)
    with pytest.raises(RefusalError) as caught:
        opened(packed[True])
    assert caught.value.problem is Problem.NOT_FOR_US


def test_it_does_not_matter_in_which_order_the_members_stand() -> None:
    def reverse(value: Any) -> Any:
        if isinstance(value, dict):
            return {k: reverse(value[k]) for k in reversed(value)}
        return value

    reversed_ = json.dumps(reverse(json.loads(PACKED)), indent=2).encode()
    assert opened(reversed_) == opened(PACKED)


@pytest.mark.parametrize("count", [0, MAX_RECIPIENTS + 1])
def test_nothing_is_packed_for_nobody_or_for_too_many(count: int) -> None:
    keys = [
        RecipientKey(f"did:example:{n}#k", BOB.recipient.public) for n in range(count)
    ]
    with pytest.raises(RefusalError):
        auth(PLAIN, ALICE, keys)
    with pytest.raises(RefusalError):
        anon(PLAIN, keys)


def test_nothing_is_packed_for_one_key_twice() -> None:
    with pytest.raises(RefusalError):
        auth(PLAIN, ALICE, [BOB.recipient] * 2)


@pytest.mark.parametrize(
    ("cek", "iv"), [(bytes(32), bytes(16)), (bytes(64), bytes(12))]
)
def test_keys_of_another_length_are_not_used(cek: bytes, iv: bytes) -> None:
    with pytest.raises(ValueError, match="64 bytes"):
        pack_authcrypt(
            PLAIN,
            sender=ALICE.key,
            recipients=[BOB.recipient],
            ephemeral=ALICE.private,
            cek=cek,
            iv=iv,
        )


def test_the_same_keys_make_the_same_bytes() -> None:
    assert auth(PLAIN) == PACKED
    assert auth(PLAIN, salt="other") != PACKED


def test_a_remembered_secret_gives_what_a_new_key_object_gives() -> None:
    key = BOB.key
    for _ in range(2):
        found = unpack(PACKED, secrets={BOB.kid: key}, resolve=resolve)
        assert found == opened(PACKED)
    with pytest.raises(RefusalError):
        unpack(
            PACKED,
            secrets={BOB.kid: AgreementKey(BOB.kid, CAROL.private)},
            resolve=resolve,
        )


def test_a_key_shows_nothing_of_itself() -> None:
    assert repr(BOB.key) == f"AgreementKey({BOB.kid})"


# ---- layers ----------------------------------------------------------------

LAYERS = {
    ("anoncrypt", "authcrypt", "plain"): anon(PACKED),
    ("authcrypt", "signed", "plain"): auth(SIGNED),
    ("anoncrypt", "signed", "plain"): anon(SIGNED),
    ("anoncrypt", "authcrypt", "signed", "plain"): anon(auth(SIGNED)),
    ("signed", "plain"): SIGNED,
    ("plain",): PLAIN,
}


@pytest.mark.parametrize("layers", LAYERS, ids="-".join)
@pytest.mark.requirement("SYS-5")
def test_the_sender_is_known_through_every_layer(layers: tuple[str, ...]) -> None:
    found = opened(LAYERS[layers])
    assert found.layers == layers
    assert found.plaintext == json.loads(PLAIN)
    assert found.sender == (ALICE.kid if "authcrypt" in layers else None)
    assert found.signer == (ALICE.signer.key_id if "signed" in layers else None)


@pytest.mark.parametrize(
    "packed",
    [
        anon(anon(PLAIN)),
        auth(auth(PLAIN)),
        auth(anon(PLAIN)),
        anon(anon(anon(anon(anon(PLAIN))))),
    ],
    ids=["anon anon", "auth auth", "auth anon", "five"],
)
def test_other_nestings_are_refused(packed: bytes) -> None:
    with pytest.raises(RefusalError, match="nested"):
        opened(packed)


def test_an_envelope_inside_a_signature_is_refused() -> None:
    inner = json.loads(PACKED) | {"from": ALICE.did}
    with pytest.raises(RefusalError, match="nested"):
        opened(sign_message(json.dumps(inner).encode(), ALICE.signer))


def test_what_resolving_raises_of_its_own_goes_through() -> None:
    def later(did: str) -> DidDocument:
        raise UnavailableError(Code.PEER_UNREACHABLE, f"Not fetched yet: {did}")

    with pytest.raises(UnavailableError):
        unpack(anon(PACKED), secrets={BOB.kid: BOB.key}, resolve=later)


def test_a_sender_that_does_not_resolve_is_refused_as_such() -> None:
    stranger = AgreementKey("did:web:nowhere.example#k", MALLORY.private)
    packed = pack_authcrypt(
        PLAIN,
        sender=stranger,
        recipients=[BOB.recipient],
        ephemeral=CAROL.private,
        cek=bytes(64),
        iv=bytes(16),
    )
    with pytest.raises(RefusalError) as caught:
        opened(packed)
    assert caught.value.problem is Problem.DID
    assert caught.value.code is Code.ENVELOPE_REFUSED


# ---- peek ------------------------------------------------------------------


def test_the_outer_layer_is_told_without_a_key() -> None:
    header = peek(anon(PACKED))
    assert (header.kind, header.skid) == ("anoncrypt", None)
    assert header.recipients == (BOB.kid,)
    assert peek(PACKED).skid == ALICE.kid
    assert peek(SIGNED).signers == (ALICE.signer.key_id,)
    assert peek(PLAIN).kind == "plain"


@pytest.mark.parametrize("data", [b"", b"[]", b"{", b"7", b"\xff", PACKED[:-1]])
def test_what_is_no_message_is_refused(data: bytes) -> None:
    for read in (peek, opened):
        with pytest.raises(RefusalError) as caught:
            read(data)
        assert caught.value.problem is Problem.MALFORMED


def test_a_message_over_the_limit_is_refused_as_too_big() -> None:
    keys = {BOB.kid: BOB.key}
    for packed in (PACKED, respelled(PACKED)):
        size = len(packed)
        found = unpack(packed, secrets=keys, resolve=resolve, max_bytes=size)
        assert found == opened(PACKED)
        with pytest.raises(RefusalError) as caught:
            unpack(packed, secrets=keys, resolve=resolve, max_bytes=size - 1)
        assert caught.value.problem is Problem.TOO_BIG
        assert caught.value.problem.endswith("message_too_big")


# ---- who may read ----------------------------------------------------------


@pytest.mark.requirement("SYS-5")
def test_a_third_party_cannot_open_even_if_it_names_itself() -> None:
    with pytest.raises(RefusalError) as caught:
        opened(PACKED, MALLORY)
    assert caught.value.problem is Problem.NOT_FOR_US
    pretended = {BOB.kid: AgreementKey(BOB.kid, MALLORY.private)}
    with pytest.raises(RefusalError) as caught:
        unpack(PACKED, secrets=pretended, resolve=resolve)
    assert caught.value.problem is Problem.CRYPTO
    assert BOB.did.encode() in PACKED  # who it is for can be seen; not what it says
    assert base64.b64encode(PLAIN)[:40] not in PACKED


@pytest.mark.requirement("SYS-5")
def test_nobody_can_pack_in_the_name_of_another() -> None:
    forged = AgreementKey(ALICE.kid, MALLORY.private)
    packed = pack_authcrypt(
        PLAIN,
        sender=forged,
        recipients=[BOB.recipient],
        ephemeral=CAROL.private,
        cek=bytes(64),
        iv=bytes(16),
    )
    with pytest.raises(RefusalError, match="cannot be opened"):
        opened(packed)


def test_the_plaintext_is_canonical_json() -> None:
    assert encode(json.loads(PLAIN)) == PLAIN
    assert json.loads(PLAIN)["typ"] == "application/didcomm-plain+json"
