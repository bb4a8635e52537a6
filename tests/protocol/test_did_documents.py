"""Documents from elsewhere: read in all their spellings, or refused with one error."""

from typing import Any

import pytest

from didcomm_peers import ALICE, BOB, resolve
from support.documents import (
    AGREEING,
    AGREEMENT_MULTIKEY,
    DID,
    JWK,
    MULTIKEY,
    SIGNING,
    document,
    method,
)
from uomp.errors import Code, VerificationError
from uomp.packets.multibase import b64url_encode, base58_encode, encode_multikey
from uomp.protocol.did.document import parse_document
from uomp.protocol.did.resolve import DidError


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
    assert found.signing_key(f"{DID}#k").public_bytes_raw() == SIGNING
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
