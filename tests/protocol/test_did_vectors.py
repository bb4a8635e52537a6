"""DIDs resolve to the documents of their specifications, with no network."""

from typing import Any

import pytest

from didcomm_peers import vector
from uomp.packets.multibase import b64url_decode, base58_decode
from uomp.protocol.did import peer4
from uomp.protocol.did.document import parse_document
from uomp.protocol.did.key import did_key
from uomp.protocol.did.resolve import DidError, resolve_static

KEY_PAIRS = vector("did-key/ed25519-x25519.json")
X25519_DOCUMENTS = vector("did-key/x25519.json")["didDocument"]
OTHER_CURVES = ("did-key/nist-curves.json", "did-key/secp256k1.json")


def resolve(did: str) -> Any:
    return resolve_static(did, {})


@pytest.mark.requirement("SYS-18")
def test_numalgo_2_example_equals_its_document() -> None:
    case = vector("did-peer/numalgo2-spec.json")
    assert resolve(case["did"]).raw == case["didDocument"]


@pytest.mark.requirement("SYS-18")
def test_numalgo_4_example_equals_its_documents_in_both_forms() -> None:
    case = vector("did-peer/numalgo4-spec.json")
    made = peer4.create(case["inputDocument"])
    assert (made.long, made.short) == (case["long"], case["short"])
    assert resolve(made.long).raw == case["longDocument"]
    short = resolve_static(made.short, {made.short: made.long})
    assert short.raw == case["shortDocument"]


@pytest.mark.parametrize("number", range(6))
def test_documents_of_other_writers_can_be_put_in_a_numalgo_4(number: int) -> None:
    source = vector(f"did-peer/numalgo4-input-examples/{number}.json")
    made = peer4.create(source)
    document = resolve(made.long)
    assert document.also_known_as == (made.short,)
    signing = [m for m in document.methods if m.kind == "Ed25519"]
    for method in signing:
        assert document.signing_key(method.id).public_bytes_raw() == method.public


@pytest.mark.requirement("SYS-18")
def test_did_key_equals_the_document_of_the_specification() -> None:
    document = vector("did-key/current-spec-ed25519-multikey.json")
    assert resolve(document["id"]).raw == document


@pytest.mark.parametrize("did", KEY_PAIRS)
@pytest.mark.requirement("SYS-18")
def test_did_key_agrees_with_the_x25519_key_made_from_its_own(did: str) -> None:
    pair, document = KEY_PAIRS[did], resolve(did)
    kid, expected = _key(did, pair["keyAgreementKeyPair"])
    assert document.agreement_key(kid).public_bytes_raw() == expected
    kid, expected = _key(did, pair["verificationKeyPair"])
    assert document.signing_key(kid).public_bytes_raw() == expected
    assert did_key("Ed25519", expected) == did


@pytest.mark.parametrize("did", [*KEY_PAIRS, *X25519_DOCUMENTS])
def test_older_documents_of_did_key_are_read_as_ours(did: str) -> None:
    older = X25519_DOCUMENTS.get(did) or KEY_PAIRS[did]["didDocument"]
    theirs, ours = parse_document(older, did), resolve(did)
    assert theirs.key_agreement == ours.key_agreement
    kid = ours.key_agreement[0]
    assert theirs.agreement_key(kid) == ours.agreement_key(kid)


@pytest.mark.parametrize("name", OTHER_CURVES)
def test_a_did_key_on_another_curve_is_refused_plainly(name: str) -> None:
    dids = [key for key in _names(vector(name)) if key.startswith("did:key:")]
    assert dids
    for did in dids:
        with pytest.raises(DidError):
            resolve(did.partition("#")[0])


def _key(did: str, pair: dict[str, Any]) -> tuple[str, bytes]:
    if "publicKeyJwk" in pair:
        raw = b64url_decode(pair["publicKeyJwk"]["x"])
    else:
        raw = base58_decode(pair["publicKeyBase58"])
    return did + pair["id"].removeprefix(did), raw


def _names(value: Any) -> set[str]:
    if isinstance(value, list):
        return set().union(*map(_names, value))
    if isinstance(value, dict):
        return {*value}.union(*map(_names, value.values()))
    return set()
