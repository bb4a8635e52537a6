"""Rotation of a DID: only the old one may name its successor, and to the new one."""

import json
from typing import Any

import pytest

from didcomm_peers import (
    ALICE,
    BOB,
    CAROL,
    MALLORY,
    NOW,
    anon,
    auth,
    opened,
    ping,
    resolve,
)
from uomp.packets.canonical import encode
from uomp.packets.signing import Ed25519Signer
from uomp.protocol.didcomm import jws
from uomp.protocol.didcomm.build import plaintext
from uomp.protocol.didcomm.from_prior import sign_prior, verify_prior
from uomp.protocol.didcomm.message import Message
from uomp.protocol.didcomm.policy import check
from uomp.protocol.didcomm.refusal import Problem, RefusalError
from uomp.protocol.didcomm.unpack import read_plaintext


def let_in(packed: bytes, *, now: int = NOW, require: Any = "authcrypt") -> Message:
    return check(opened(packed), our_dids=(BOB.did,), now=now, require=require)


def sent(**members: Any) -> bytes:
    return auth(encode(json.loads(plaintext(ping(expires_time=None))) | members))


def refused(packed: bytes, problem: Problem, **how: Any) -> None:
    with pytest.raises(RefusalError) as caught:
        let_in(packed, **how)
    assert caught.value.problem is problem


def rotation(**how: Any) -> str:
    claimed: dict[str, Any] = {
        "iss": CAROL.did,
        "sub": ALICE.did,
        "iat": NOW,
        "signer": CAROL.signer,
    }
    return sign_prior(**claimed | how)


def claims(**members: Any) -> str:
    named = {"iss": CAROL.did, "sub": ALICE.did, "iat": NOW} | members
    kept = {k: v for k, v in named.items() if v is not ...}
    return jws.sign_jwt(kept, CAROL.signer)


def test_a_did_is_followed_by_the_one_it_names() -> None:
    prior = let_in(sent(from_prior=rotation())).from_prior
    assert prior is not None
    assert (prior.iss, prior.sub, prior.iat) == (CAROL.did, ALICE.did, NOW)
    assert prior.kid == CAROL.signer.key_id


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (rotation(signer=MALLORY.signer), Problem.UNTRUSTED),
        (
            rotation(signer=Ed25519Signer(CAROL.signer.key_id, MALLORY.signing)),
            Problem.CRYPTO,
        ),
        (rotation(signer=Ed25519Signer(CAROL.kid, CAROL.signing)), Problem.UNTRUSTED),
        (rotation(sub=MALLORY.did), Problem.UNTRUSTED),
        (rotation(sub=None), Problem.UNTRUSTED),
        (rotation(iss=ALICE.did, signer=ALICE.signer), Problem.UNTRUSTED),
        (rotation(iss=ALICE.forms.long, signer=ALICE.signer), Problem.UNTRUSTED),
        (rotation(iss="did:web:a.example"), Problem.UNTRUSTED),
        (rotation(iat=NOW + 121), Problem.TIME),
        (claims(exp=NOW), Problem.TIME),
        (claims(nbf=NOW + 121), Problem.TIME),
        (claims(iat=...), Problem.MALFORMED),
        (claims(iat="now"), Problem.MALFORMED),
        (claims(iat=True), Problem.MALFORMED),
        (claims(exp=NOW + 0.5), Problem.MALFORMED),
        (claims(exp=None), Problem.MALFORMED),
        (claims(iss=...), Problem.MALFORMED),
        (claims(iss=7), Problem.MALFORMED),
        (claims(sub=7), Problem.MALFORMED),
        (rotation() + "AA", Problem.CRYPTO),
        (rotation().rpartition(".")[0], Problem.CRYPTO),
        ("x", Problem.MALFORMED),
        ("", Problem.MALFORMED),
        ("x" * 70_000, Problem.MALFORMED),
        (7, Problem.MALFORMED),
        ([], Problem.MALFORMED),
    ],
)
def test_a_rotation_that_does_not_hold_refuses_the_message(
    text: object, problem: Problem
) -> None:
    refused(sent(from_prior=text), problem)


def test_a_rotation_holds_until_it_expires() -> None:
    packed = sent(from_prior=claims(exp=NOW + 10))
    assert let_in(packed, now=NOW + 9).from_prior
    refused(packed, Problem.TIME, now=NOW + 10)


def test_a_relation_may_end_by_a_message_without_sender() -> None:
    data = json.loads(plaintext(ping(from_prior=rotation(sub=None))))
    del data["from"]
    message = let_in(anon(encode(data)), require="any")
    assert message.from_prior is not None
    assert (message.from_prior.iss, message.from_prior.sub) == (CAROL.did, None)
    assert not message.authenticated


def test_a_rotation_needs_a_sender_who_is_proved() -> None:
    packed = anon(plaintext(ping(from_prior=rotation())))
    refused(packed, Problem.UNTRUSTED, require="any")


def test_a_rotation_over_mutual_tls_is_not_taken_unverified() -> None:
    data = plaintext(ping(from_prior=rotation()))
    read = read_plaintext(data, sender=ALICE.did, recipient=BOB.did)
    with pytest.raises(RefusalError, match="not verified"):
        check(read, our_dids=(BOB.did,), now=NOW, require="authcrypt")


def test_nothing_is_resolved_for_a_rotation_to_somebody_else() -> None:
    asked: list[str] = []

    def watch(did: str) -> Any:
        asked.append(did)
        return resolve(did)

    with pytest.raises(RefusalError):
        verify_prior(rotation(sub=MALLORY.did), ALICE.did, watch)
    assert asked == []
    verify_prior(rotation(), ALICE.did, watch)
    assert asked == [CAROL.did]
