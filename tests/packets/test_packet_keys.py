"""Whose key counts, which algorithm, and until when."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from support.packets import (
    ALICE,
    BOB,
    DATED,
    NOW,
    WEB,
    Keys,
    changed,
    issuer,
    key_of,
    refusal,
    text_packet,
    unchecked,
    verified,
)
from uomp.errors import Code, LocalError, VerificationError
from uomp.packets.verify import SigningKey

PACKET = text_packet()
WEB_PACKET = text_packet(WEB)


@pytest.mark.requirement("PAM-3.2-5", "PAM-2.2-5", "PAM-2.1-3")
@pytest.mark.parametrize("name", ["calendar-agent", "", "did:", "did:key:", "z6Mk", 7])
def test_the_agent_is_a_did_and_not_a_name(name: Any) -> None:
    packet = unchecked({"text": "x"}, agent_id=name)
    assert refusal(packet) == (Code.SCHEMA_VIOLATION, 3)


@pytest.mark.requirement("PAM-2.2-5")
@pytest.mark.parametrize("key_id", ["", ALICE.did, ALICE.did + "#", "#key-1", "key-1"])
def test_the_key_is_named_by_a_did_url(key_id: str) -> None:
    packet = changed(PACKET, "signature", "public_key_id", to=key_id)
    assert refusal(packet) == (Code.SCHEMA_VIOLATION, 3)


@pytest.mark.requirement("PAM-E-6", "PAM-5.1-3")
def test_an_unknown_key_and_a_wrong_key_have_different_codes() -> None:
    unknown = changed(PACKET, "signature", "public_key_id", to=ALICE.did + "#other")
    assert refusal(unknown) == (Code.KEY_NOT_FOUND, 8)
    assert refusal(WEB_PACKET) == (Code.KEY_NOT_FOUND, 8)
    wrong = Keys(key_of(WEB, public=BOB.public))
    assert refusal(WEB_PACKET, wrong) == (Code.SIGNATURE_INVALID, 9)
    assert verified(WEB_PACKET, Keys(key_of(WEB))).signer_did == WEB.did


@pytest.mark.requirement("PAM-3.2-6")
def test_each_of_two_active_keys_of_one_document_verifies() -> None:
    second = issuer(bytes([9]) * 32, WEB.did)
    key_id = WEB.did + "#key-2"
    by_second = unchecked({"text": "x"}, second)
    by_second["signature"]["public_key_id"] = key_id
    keys = Keys(key_of(WEB), key_of(second, key_id=key_id))
    assert verified(WEB_PACKET, keys).key_id == WEB.key_id
    assert verified(by_second, keys).key_id == key_id
    swapped = changed(by_second, "signature", "public_key_id", to=WEB.key_id)
    assert refusal(swapped, keys) == (Code.SIGNATURE_INVALID, 9)


@pytest.mark.requirement("PAM-2.2-5", "PAM-3.2-5")
def test_two_forms_of_a_did_are_one_where_the_receiver_says_so() -> None:
    packet = unchecked({"text": "x"}, WEB, agent_id="did:web:other.example")
    keys = Keys(key_of(WEB))
    assert refusal(packet, keys) == (Code.SIGNATURE_INVALID, 7)
    forms = {WEB.did, "did:web:other.example"}
    found = verified(packet, keys, same_did=lambda one, two: {one, two} <= forms)
    assert found.signer_did == WEB.did


@pytest.mark.requirement("PAM-3.2-1", "PAM-E-8", "PAM-2.2-4")
@pytest.mark.parametrize(
    "label",
    ["RS256", "RSA", "RSASSA-PSS", "ES256K", "ed25519", "Ed448", "none", "", "HS256"],
)
def test_other_algorithms_are_unsupported(label: str) -> None:
    packet = changed(PACKET, "signature", "algorithm", to=label)
    assert refusal(packet) == (Code.UNSUPPORTED_ALGORITHM, 5)


@pytest.mark.requirement("PAM-5.1-4", "PAM-E-8")
def test_a_label_that_does_not_fit_the_key_is_told_apart() -> None:
    packet = changed(PACKET, "signature", "algorithm", to="ECDSA-secp256k1")
    assert refusal(packet) == (Code.ALGORITHM_MISMATCH, 5)
    curve = Keys(key_of(WEB, algorithm="secp256k1", public=b"\x02" + bytes(32)))
    assert refusal(WEB_PACKET, curve) == (Code.ALGORITHM_MISMATCH, 8)
    fitting = changed(WEB_PACKET, "signature", "algorithm", to="ECDSA-secp256k1")
    assert refusal(fitting, curve) == (Code.UNSUPPORTED_ALGORITHM, 5)
    assert refusal(fitting) == (Code.UNSUPPORTED_ALGORITHM, 5)  # nobody has the key


@pytest.mark.requirement("PAM-3.2-1", "PAM-3.2-2")
@pytest.mark.parametrize("label", ["Ed25519", "EdDSA"])
def test_ed25519_has_two_spellings(label: str) -> None:
    assert verified(changed(PACKET, "signature", "algorithm", to=label)).understood


def test_a_weak_key_is_refused_though_its_signature_fits() -> None:
    identity = (1).to_bytes(32, "little")  # every signature of R = S·B fits it
    keys = Keys(key_of(WEB, public=identity))
    assert refusal(WEB_PACKET, keys) == (Code.KEY_REFUSED, 8)


@pytest.mark.requirement("PAM-E-7")
def test_a_revoked_key_verifies_nothing_that_was_not_there_before() -> None:
    gone = NOW - timedelta(minutes=1)
    keys = Keys(key_of(WEB, revoked_at=gone))
    # The packet says that it is older than the revocation; a thief would as well.
    assert WEB_PACKET["header"]["timestamp"] == DATED
    assert refusal(WEB_PACKET, keys) == (Code.KEY_REVOKED, 8)
    early = gone - timedelta(seconds=1)
    assert verified(WEB_PACKET, keys, seen_at=early).signer_did == WEB.did
    assert refusal(WEB_PACKET, keys, seen_at=gone) == (Code.KEY_REVOKED, 8)


@pytest.mark.requirement("PAM-E-7")
def test_a_key_is_held_against_its_end_by_a_time_that_is_sure() -> None:
    dated = datetime(2026, 7, 14, 10, 0, tzinfo=UTC)
    after, before = dated + timedelta(minutes=1), dated - timedelta(minutes=1)
    keys = Keys(key_of(WEB, valid_until=after))
    verified(WEB_PACKET, keys, now=after)
    assert refusal(WEB_PACKET, keys, now=NOW) == (Code.KEY_REVOKED, 8)
    verified(WEB_PACKET, keys, now=NOW, seen_at=dated)
    ended = Keys(key_of(WEB, valid_until=before))
    assert refusal(WEB_PACKET, ended, seen_at=before) == (Code.KEY_REVOKED, 8)


def test_a_key_from_an_old_document_is_marked() -> None:
    assert verified(WEB_PACKET, Keys(key_of(WEB, stale=True))).stale
    assert not verified(WEB_PACKET, Keys(key_of(WEB))).stale


@pytest.mark.parametrize(
    "error",
    [
        LocalError(Code.INVALID_REQUEST, "Not allowed."),
        VerificationError(Code.KEY_NOT_FOUND, "Not there."),
        VerificationError(Code.UNSUPPORTED_ALGORITHM, "A key is P-256."),
    ],
)
def test_whatever_refusal_the_keys_raise_is_one_of_step_8(error: Any) -> None:
    class Broken:
        def signing_key(self, *_: object) -> SigningKey:
            raise error

    keys: Any = Broken()
    told = error.code
    if told == Code.UNSUPPORTED_ALGORITHM:  # the label says Ed25519, the key is not
        told = Code.ALGORITHM_MISMATCH
    assert refusal(PACKET, keys) == (told, 8)


def test_a_key_of_somebody_else_does_not_speak_for_the_agent() -> None:
    """A resolver that answers with another's key makes that one the signer of none."""
    keys = Keys(key_of(BOB, key_id=WEB.key_id))
    assert refusal(WEB_PACKET, keys) == (Code.SIGNATURE_INVALID, 9)
