"""Documents from elsewhere: read in all their spellings, or refused with one error."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from didcomm_peers import ALICE, BOB, KNOWN, MALLORY, resolve, seed
from uomp.errors import Code, VerificationError
from uomp.packets.multibase import b64url_encode, base58_encode, encode_multikey
from uomp.protocol.did import peer4
from uomp.protocol.did.document import parse_document
from uomp.protocol.did.resolve import DidError, did_of, resolve_static, same_did
from uomp.protocol.did.syntax import MAX_DID_CHARS

DID = "did:web:example.org"
SIGNING = ALICE.signing.public_key().public_bytes_raw()
AGREEING = ALICE.private.public_key().public_bytes_raw()
MULTIKEY = encode_multikey("Ed25519", SIGNING)
AGREEMENT_MULTIKEY = encode_multikey("X25519", AGREEING)
JWK = {"kty": "OKP", "crv": "Ed25519", "x": b64url_encode(SIGNING)}


def method(id_: str = "#k", **members: Any) -> dict[str, Any]:
    made = {"id": id_, "controller": DID, "type": "Multikey"}
    if not any(name.startswith("publicKey") for name in members):
        made["publicKeyMultibase"] = MULTIKEY
    return made | members


def document(**members: Any) -> dict[str, Any]:
    return {"@context": ["https://www.w3.org/ns/did/v1"], "id": DID} | members


def service(endpoint: Any, **members: Any) -> dict[str, Any]:
    made = {"id": "#s", "type": "DIDCommMessaging", "serviceEndpoint": endpoint}
    return document(service=[made | members])


# ---- what a node prints of itself ------------------------------------------


@pytest.mark.requirement("SYS-2", "SYS-18")
def test_a_node_has_a_key_to_sign_with_and_a_key_to_agree_with() -> None:
    for did in (ALICE.did, ALICE.forms.long):
        found = resolve(did)
        assert found.did == did
        assert found.signing_key(f"{did}#key-1") == ALICE.signing.public_key()
        assert found.agreement_key(f"{did}#key-2") == ALICE.private.public_key()
        (place,) = found.services
        assert (place.type, place.uri) == (
            "DIDCommMessaging",
            "https://alice.example/didcomm",
        )
        assert (place.accept, place.routing_keys) == (("didcomm/v2",), ())


def test_a_key_is_found_under_either_form_of_its_did() -> None:
    kid = f"{ALICE.forms.long}#key-1"
    assert resolve(ALICE.did).signing_key(kid) == ALICE.signing.public_key()
    with pytest.raises(VerificationError):
        resolve(BOB.did).signing_key(kid)


def test_the_raw_document_is_a_copy() -> None:
    resolve(ALICE.did).raw.clear()
    assert resolve(ALICE.did).raw["id"] == ALICE.did


# ---- keys ------------------------------------------------------------------


@pytest.mark.parametrize(
    "given_method",
    [
        method(),
        method(type="Ed25519VerificationKey2020", publicKeyMultibase=MULTIKEY),
        method(type="JsonWebKey2020", publicKeyJwk=JWK),
        method(type="JsonWebKey", publicKeyJwk={**JWK, "kid": "#other"}),
        method(
            type="Ed25519VerificationKey2018", publicKeyBase58=base58_encode(SIGNING)
        ),
    ],
)
def test_a_signing_key_is_read_in_every_suit(given_method: dict[str, Any]) -> None:
    listed = document(verificationMethod=[given_method], authentication=["#k"])
    embedded = document(assertionMethod=[given_method])
    for value in (listed, embedded):
        key = parse_document(value, DID).signing_key(f"{DID}#k")
        assert key.public_bytes_raw() == SIGNING


@pytest.mark.parametrize(
    "given_method",
    [
        method(publicKeyMultibase=AGREEMENT_MULTIKEY),
        method(type="X25519KeyAgreementKey2020", publicKeyMultibase=AGREEMENT_MULTIKEY),
        method(
            type="X25519KeyAgreementKey2019", publicKeyBase58=base58_encode(AGREEING)
        ),
        method(
            type="JsonWebKey2020",
            publicKeyJwk={"kty": "OKP", "crv": "X25519", "x": b64url_encode(AGREEING)},
        ),
    ],
)
def test_an_agreement_key_is_read_in_every_suit(given_method: dict[str, Any]) -> None:
    value = document(keyAgreement=[given_method])
    key = parse_document(value, DID).agreement_key(f"{DID}#k")
    assert key.public_bytes_raw() == AGREEING


def test_keys_on_other_curves_are_carried_and_not_used() -> None:
    jwk = {"kty": "EC", "crv": "P-256", "x": b64url_encode(bytes(32))}
    jwk["y"] = b64url_encode(bytes(31) + b"\1")
    value = method(type="JsonWebKey2020", publicKeyJwk=jwk)
    found = parse_document(document(keyAgreement=[value]), DID)
    assert found.methods[0].public == b"\x03" + bytes(32)
    with pytest.raises(VerificationError) as caught:
        found.agreement_key(f"{DID}#k")
    assert caught.value.code is Code.UNSUPPORTED_ALGORITHM


def test_a_method_of_a_foreign_type_is_passed_over() -> None:
    foreign = {"id": "#x", "controller": DID, "type": "RsaVerificationKey2018"}
    foreign["publicKeyPem"] = "…"
    value = document(verificationMethod=[foreign, method()], authentication=["#k"])
    assert [m.id for m in parse_document(value, DID).methods] == [f"{DID}#k"]


def test_a_key_serves_only_the_purpose_it_is_listed_for() -> None:
    agree = method("#a", publicKeyMultibase=AGREEMENT_MULTIKEY)
    value = document(
        verificationMethod=[method(), agree], assertionMethod=["#k"], keyAgreement=[]
    )
    found = parse_document(value, DID)
    assert found.signing_key(f"{DID}#k")
    for refused in (
        lambda: found.authentication_key(f"{DID}#k"),
        lambda: found.agreement_key(f"{DID}#a"),
        lambda: found.signing_key(f"{DID}#a"),
        lambda: found.signing_key("did:web:example.com#k"),
        lambda: found.signing_key("#k"),
    ):
        with pytest.raises(VerificationError) as caught:
            refused()
        assert caught.value.code is Code.KEY_NOT_FOUND


def test_a_key_for_agreement_cannot_sign_wherever_it_is_listed() -> None:
    agree = method(publicKeyMultibase=AGREEMENT_MULTIKEY)
    found = parse_document(document(authentication=[agree]), DID)
    with pytest.raises(VerificationError) as caught:
        found.signing_key(f"{DID}#k")
    assert caught.value.code is Code.UNSUPPORTED_ALGORITHM


@pytest.mark.parametrize("raw", [b"\1" + bytes(31), bytes(32), b"\xff" * 32])
def test_weak_keys_are_refused_when_they_are_used(raw: bytes) -> None:
    multikey = encode_multikey("Ed25519", raw)
    value = document(authentication=[method(publicKeyMultibase=multikey)])
    agree = encode_multikey("X25519", raw)
    other = document(keyAgreement=[method(publicKeyMultibase=agree)])
    for use in (
        lambda: parse_document(value, DID).signing_key(f"{DID}#k"),
        lambda: parse_document(other, DID).agreement_key(f"{DID}#k"),
    ):
        with pytest.raises(VerificationError) as caught:
            use()
        assert caught.value.code is Code.KEY_REFUSED


@pytest.mark.parametrize(
    "value",
    [
        document(id="did:web:example.com"),
        document(id=7),
        document(id="did:web:example.org#k"),
        {"verificationMethod": []},
        document(verificationMethod={}),
        document(verificationMethod=[7]),
        document(verificationMethod=[method(), method()]),
        document(verificationMethod=[method()], authentication=[method()]),
        document(verificationMethod=[method("did:web:example.com#k")]),
        document(verificationMethod=[method("k")]),
        document(verificationMethod=[method("#")]),
        document(verificationMethod=[method("#a\0b")]),
        document(verificationMethod=[method("#k?" + "x" * 300)]),
        document(verificationMethod=[method(publicKeyJwk=JWK) | method()]),
        document(verificationMethod=[method(publicKeyMultibase="z6Mk")]),
        document(verificationMethod=[method(publicKeyMultibase=7)]),
        document(
            verificationMethod=[
                method(
                    type="Ed25519VerificationKey2020",
                    publicKeyMultibase=AGREEMENT_MULTIKEY,
                )
            ]
        ),
        document(
            verificationMethod=[
                method(type="JsonWebKey2020", publicKeyJwk=JWK | {"d": JWK["x"]})
            ]
        ),
        document(
            verificationMethod=[
                method(type="JsonWebKey2020", publicKeyJwk=JWK | {"x": "AA"})
            ]
        ),
        document(
            verificationMethod=[
                method(type="JsonWebKey2020", publicKeyJwk=JWK | {"kty": "EC"})
            ]
        ),
        document(verificationMethod=[method(type="Multikey", publicKeyBase58="1")]),
        document(authentication="#k"),
        document(authentication=[7]),
        document(authentication=["#k"] * 65),
        document(verificationMethod=[method(f"#k{n}") for n in range(65)]),
        document(alsoKnownAs="did:web:example.net"),
        document(extra="x" * 70_000),
        document(extra=float("nan")),
        document(extra="\ud800"),
        [],
        None,
    ],
)
def test_a_document_that_breaks_the_rules_is_refused(value: object) -> None:
    with pytest.raises(DidError) as caught:
        parse_document(value, DID)
    assert caught.value.code is Code.DID_NOT_RESOLVED


def test_the_same_document_without_a_fault_is_taken() -> None:
    assert parse_document(document(verificationMethod=[method()]), DID).methods


# ---- services --------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "uris"),
    [
        (service("https://a.example"), ["https://a.example"]),
        (service({"uri": "https://a.example"}), ["https://a.example"]),
        (service([{"uri": "https://a.example"}, "did:web:b"]), None),
        (service([]), []),
        (service({}), []),
        (service({"origins": ["https://a.example"]}, type="LinkedDomains"), []),
        (service("https://a.example", type=["Other", "DIDCommMessaging"]), None),
        (document(), []),
    ],
)
def test_endpoints_are_read_in_every_spelling(
    value: dict[str, Any], uris: list[str] | None
) -> None:
    services = parse_document(value, DID).services
    if uris is None:
        assert {place.type for place in services} == {"DIDCommMessaging"}
    else:
        assert [place.uri for place in services] == uris


def test_the_older_spelling_keeps_routes_beside_the_endpoint() -> None:
    value = service("https://a.example", routingKeys=["did:web:m#1"], accept=["x"])
    (place,) = parse_document(value, DID).services
    assert (place.routing_keys, place.accept) == (("did:web:m#1",), ("x",))


@pytest.mark.parametrize(
    "value",
    [
        document(service={}),
        document(service=[7]),
        document(service=[{"id": "#s", "type": []}]),
        document(service=[{"type": "DIDCommMessaging", "serviceEndpoint": "x"}]),
        document(service=service("https://a.example")["service"] * 2),
        service([{"uri": "https://a.example"}] * 33),
        service({"uri": "x" * 10_000}),
        service({"uri": "x", "accept": [7]}),
        service({"uri": "x", "routingKeys": ["k"] * 33}),
    ],
)
def test_a_broken_service_is_refused(value: dict[str, Any]) -> None:
    with pytest.raises(DidError):
        parse_document(value, DID)


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


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(NAMES, VALUES, max_size=5))
def test_nothing_but_our_error_comes_out_of_a_document(value: dict[str, Any]) -> None:
    for made in (value, document() | value):
        try:
            found = parse_document(made, DID)
        except DidError:
            continue
        assert found.did == DID


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(["did:key:z", "did:peer:2.", "did:peer:4z", "did:peer:4", ""]),
    st.text("z6MkLSVEAD.:1-_%" + MULTIKEY, max_size=60),
)
def test_nothing_but_our_error_comes_out_of_a_did(head: str, tail: str) -> None:
    try:
        resolve_static(head + tail, KNOWN)
    except DidError as error:
        assert error.code is Code.DID_NOT_RESOLVED


@settings(max_examples=60, deadline=None)
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
