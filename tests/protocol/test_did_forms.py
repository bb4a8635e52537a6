"""Forms of a DID, and DIDs that resolve to nothing."""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from didcomm_peers import ALICE, BOB, KNOWN, MALLORY, seed
from support.documents import AGREEMENT_MULTIKEY, DID, MULTIKEY, document, method
from uomp.packets.multibase import b64url_encode, base58_encode
from uomp.protocol.did import peer4
from uomp.protocol.did.document import parse_document
from uomp.protocol.did.resolve import (
    DidError,
    KnownForms,
    did_of,
    resolve_static,
    same_did,
)
from uomp.protocol.did.syntax import MAX_DID_CHARS, hash_text

# ---- forms -----------------------------------------------------------------


def test_both_forms_of_a_peer_did_name_one_subject() -> None:
    assert same_did(ALICE.did, ALICE.forms.long)
    assert same_did(ALICE.forms.long, ALICE.did)
    assert not same_did(ALICE.did, BOB.did)
    assert not same_did("did:web:a.example", "did:web:b.example")


def test_a_long_form_with_the_hash_of_another_names_nobody() -> None:
    stolen = f"{ALICE.did}:{MALLORY.forms.long.rpartition(':')[2]}"
    assert not same_did(stolen, ALICE.did)
    for known in ({ALICE.did: stolen}, lambda _: stolen):
        with pytest.raises(DidError):
            resolve_static(ALICE.did, known)
    with pytest.raises(DidError):
        resolve_static(stolen, {})


@pytest.mark.parametrize(
    "change",
    [
        {"id": "did:web:a"},
        {"alsoKnownAs": "x"},
        {"authentication": "#key-1"},
        {"authentication": ["did:web:a#key-1"]},
        {"verificationMethod": [method("did:web:a#key-1")]},
        {"verificationMethod": [{"type": "Multikey"}]},
        {"service": [{"id": "#s", "type": "x", "serviceEndpoint": "y" * 9_000}]},
        {"nan": {1, 2}},
    ],
)
def test_an_input_document_that_cannot_be_used_makes_no_did(
    change: dict[str, Any],
) -> None:
    with pytest.raises(DidError):
        peer4.create(ALICE.input_document() | change)


@pytest.mark.parametrize(
    "did",
    [
        "",
        "did",
        "did:key",
        "did:key:",
        "did:Key:z6Mk",
        "did:web:a\0b",
        "did:web:é",
        "did:key:z6MkNotAKey",
        "did:key:z" + "1" * 60,
        "did:web:example.org",
        "did:peer:0z6Mk",
        "did:peer:2",
        "did:peer:2.",
        "did:peer:2.X" + MULTIKEY,
        "did:peer:2.E" + MULTIKEY,
        "did:peer:2.V" + AGREEMENT_MULTIKEY,
        "did:peer:2.Vz6Mk",
        "did:peer:2.SAAAA",
        "did:peer:2.S" + b64url_encode(b"7"),
        "did:peer:2.S" + b64url_encode(b'{"t":"dm","type":"dm","s":"x"}'),
        "did:peer:2.S" + b64url_encode(b'{"t":"dm","s":"x","id":"did:web:a#s"}'),
        "did:peer:2" + (".V" + MULTIKEY) * 65,
        ALICE.did + "x",
        ALICE.did + ":",
        ALICE.did + ":zzz",
        "did:peer:4z" + "1" * 20,
    ],
)
def test_a_did_that_does_not_resolve_gives_one_kind_of_error(did: str) -> None:
    with pytest.raises(DidError):
        resolve_static(did, {})


def test_a_short_form_whose_long_form_is_not_known_does_not_resolve() -> None:
    forms: tuple[KnownForms, ...] = ({}, lambda _: None)
    for known in forms:
        with pytest.raises(DidError, match="not known"):
            resolve_static(ALICE.did, known)
    with pytest.raises(DidError):
        resolve_static(ALICE.did, {ALICE.did: BOB.forms.long})


@pytest.mark.parametrize(
    "encoded",
    [
        "",
        "u" + b64url_encode(b"\x80\x04{}"),
        "z",
        "z0OIl",
        "z" + base58_encode(b"\x80\x04"),
        "z" + base58_encode(b"\x80\x04[]"),
        "z" + base58_encode(b"\x80\x04{"),
        "z" + base58_encode(b"\x80\x04" + b'{"a":' * 20 + b"1" + b"}" * 20),
        "z" + base58_encode(b"\x80\x04" + b'{"alsoKnownAs":[],"alsoKnownAs":[]}'),
        "z" + base58_encode(b"\xed\x01{}"),
        "z" + base58_encode(b"\x80"),
    ],
)
def test_a_right_hash_makes_no_document_of_what_is_none(encoded: str) -> None:
    long = f"did:peer:4{hash_text(encoded)}:{encoded}"
    with pytest.raises(DidError):
        resolve_static(long, {})


def test_the_smallest_document_with_a_right_hash_resolves() -> None:
    encoded = "z" + base58_encode(b"\x80\x04{}")
    long = f"did:peer:4{hash_text(encoded)}:{encoded}"
    assert resolve_static(long, {}).methods == ()


def test_an_overlong_did_is_refused_before_any_work() -> None:
    head = ALICE.forms.long[:70]
    for length in (MAX_DID_CHARS + 1, 100_000):
        with pytest.raises(DidError, match="too long"):
            resolve_static(head.ljust(length, "2"), {})


def test_services_of_a_peer_2_in_one_list_are_read() -> None:
    body = b'[{"t":"dm","s":{"uri":"https://a.example","a":["didcomm/v2"]}}]'
    found = resolve_static(f"did:peer:2.V{MULTIKEY}.S{b64url_encode(body)}", {})
    assert found.services[0].uri == "https://a.example"
    assert found.services[0].accept == ("didcomm/v2",)


@pytest.mark.parametrize("text", ["x", "did:web:a/path#k", "did:web:a?q#k", "#k"])
def test_a_key_id_is_a_did_and_a_fragment(text: str) -> None:
    with pytest.raises(DidError):
        did_of(text)


def test_the_did_of_a_key_id_is_what_comes_before_the_fragment() -> None:
    assert did_of("did:web:a#k") == did_of("did:web:a") == "did:web:a"


# ---- whatever comes --------------------------------------------------------

NAMES = st.sampled_from(
    [
        "id",
        "type",
        "controller",
        "publicKeyJwk",
        "publicKeyMultibase",
        "publicKeyBase58",
        "service",
        "serviceEndpoint",
        "verificationMethod",
        "authentication",
        "keyAgreement",
        "alsoKnownAs",
        "@context",
        "uri",
        "accept",
        "routingKeys",
        "crv",
        "kty",
        "x",
        "y",
        "t",
        "s",
        "a",
        "r",
    ]
)
TEXTS = st.one_of(
    st.text(max_size=8),
    st.sampled_from(
        [DID, f"{DID}#k", "#k", "Multikey", "JsonWebKey2020", MULTIKEY, "OKP", "X25519"]
    ),
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=5)
    ),
    max_leaves=20,
)


@settings(max_examples=150)
@given(st.dictionaries(NAMES, VALUES, max_size=5))
def test_nothing_but_our_error_comes_out_of_a_document(value: dict[str, Any]) -> None:
    for made in (value, document() | value):
        try:
            found = parse_document(made, DID)
        except DidError:
            continue
        assert found.did == DID


@settings(max_examples=150)
@given(
    st.sampled_from(["did:key:z", "did:peer:2.", "did:peer:4z", "did:peer:4", ""]),
    st.text("z6MkLSVEAD.:1-_%" + MULTIKEY, max_size=60),
)
def test_nothing_but_our_error_comes_out_of_a_did(head: str, tail: str) -> None:
    with suppress(DidError):
        assert resolve_static(head + tail, KNOWN).did == head + tail


@settings(max_examples=60)
@given(st.integers(0, len(ALICE.forms.long) - 1), st.sampled_from("zA1.:"))
def test_a_long_form_with_one_character_changed_resolves_to_nothing(
    position: int, char: str
) -> None:
    long = ALICE.forms.long
    changed = long[:position] + char + long[position + 1 :]
    if changed != long:
        with pytest.raises(DidError):
            resolve_static(changed, {})


def test_seeds_make_different_peers() -> None:
    assert len({*KNOWN, *KNOWN.values()}) == 8
    assert seed("a") != seed("b")
