"""What a receiver enforces beyond authenticity: audience, expiry, the chain."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.packets import (
    ALICE,
    BOB,
    CAROL,
    NOW,
    Json,
    text_packet,
    unchecked,
    verified,
)
from uomp.errors import Code, VerificationError
from uomp.packets.rules import GAP, ROLLBACK, Arrival, check_arrival, check_expiry
from uomp.packets.verify import VerifiedPacket

LAST = "sha256:" + "1" * 64
OTHER = "sha256:" + "2" * 64


def packet(**members: Any) -> VerifiedPacket:
    return verified(text_packet(**members))


def arrive(packet: VerifiedPacket, **options: Any) -> tuple[str, ...]:
    same_did = options.pop("same_did", lambda one, two: one == two)
    known: Json = {"our_dids": [BOB.did], "now": NOW}
    return check_arrival(packet, Arrival(**(known | options)), same_did=same_did)


def refusal(packet: VerifiedPacket, **options: Any) -> tuple[Code, str]:
    with pytest.raises(VerificationError) as refused:
        arrive(packet, **options)
    return refused.value.code, refused.value.step


def test_a_packet_for_anyone_may_arrive_anywhere() -> None:
    assert arrive(packet()) == ()


@pytest.mark.parametrize(
    "audience", [BOB.did, [BOB.did], [CAROL.did, BOB.did], [BOB.did] * 64]
)
def test_a_packet_for_us_may_arrive(audience: Any) -> None:
    assert arrive(packet(audience=audience)) == ()


@pytest.mark.parametrize("audience", [CAROL.did, [CAROL.did], [CAROL.did, ALICE.did]])
def test_a_packet_for_another_is_refused(audience: Any) -> None:
    refused = (Code.AUDIENCE_MISMATCH, "audience")
    assert refusal(packet(audience=audience)) == refused
    assert refusal(packet(audience=BOB.did), our_dids=[]) == refused


def test_any_of_our_dids_in_any_of_its_forms_will_do() -> None:
    ours = ["did:web:old.example", "did:web:bob.example"]
    told = packet(audience=BOB.did)
    assert refusal(told, our_dids=ours)[0] == Code.AUDIENCE_MISMATCH
    forms = {BOB.did, "did:web:bob.example"}
    same = lambda one, two: {one, two} <= forms  # noqa: E731
    assert arrive(told, our_dids=ours, same_did=same) == ()


def test_a_packet_is_taken_until_it_expires_and_not_when_it_does() -> None:
    assert arrive(packet(expires_at="2026-07-14T10:15:01Z")) == ()
    assert arrive(packet(expires_at="2026-07-14T12:15:01+02:00")) == ()
    refused = (Code.PACKET_EXPIRED, "expiry")
    assert refusal(packet(expires_at="2026-07-14T10:15:00Z")) == refused
    assert refusal(packet(expires_at="2026-07-13T10:15:00Z")) == refused
    check_expiry(packet(), NOW)


@pytest.mark.parametrize("text", ["", "tomorrow", "2026-07-15", "9999-99-99T00:00:00Z"])
def test_a_packet_whose_expiry_is_no_time_does_not_verify(text: str) -> None:
    with pytest.raises(VerificationError) as refused:
        verified(unchecked({"text": "x"}, expires_at=text))
    assert refused.value.code == Code.SCHEMA_VIOLATION


def test_the_next_of_a_chain_follows_the_last_one() -> None:
    assert arrive(packet(sequence=1)) == ()
    assert arrive(packet(sequence=8, previous=LAST), last=(7, LAST)) == ()


def test_a_gap_is_told_and_taken() -> None:
    assert arrive(packet(sequence=9, previous=OTHER), last=(7, LAST)) == (GAP,)
    assert arrive(packet(sequence=2, previous=OTHER)) == (GAP,)


@pytest.mark.parametrize("sequence", [1, 6, 7])
def test_a_place_that_was_taken_is_refused_unless_the_owner_goes_back(
    sequence: int,
) -> None:
    old = packet(sequence=sequence, previous=LAST)
    assert refusal(old, last=(7, LAST)) == (Code.SEQUENCE_GAP, "sequence")
    assert arrive(old, last=(7, LAST), allow_rollback=True) == (ROLLBACK,)


@pytest.mark.parametrize("previous", [OTHER, None])
def test_a_fork_of_the_chain_is_refused(previous: str | None) -> None:
    members = {} if previous is None else {"previous": previous}
    fork = packet(sequence=8, **members)
    assert refusal(fork, last=(7, LAST)) == (Code.SEQUENCE_GAP, "sequence")


def test_a_packet_outside_of_any_chain_is_taken_but_for_a_state() -> None:
    assert arrive(packet(), last=(7, LAST)) == ()
    state = {"memory_type": "internal_state"}
    loose = verified(unchecked({"step": 3}, **state))
    assert refusal(loose) == (Code.SEQUENCE_GAP, "sequence")
    assert arrive(loose, allow_rollback=True) == ()
    placed = verified(unchecked({"step": 3}, **state, sequence=1))
    assert arrive(placed) == ()
    assert refusal(placed, last=(1, LAST)) == (Code.SEQUENCE_GAP, "sequence")


@given(st.lists(st.integers(1, 6), min_size=1, max_size=8))
@settings(max_examples=40)
def test_however_packets_arrive_no_place_is_taken_twice(order: list[int]) -> None:
    chain: list[VerifiedPacket] = []
    for sequence in range(1, 7):
        members = {"previous": chain[-1].hash} if chain else {}
        chain.append(packet(sequence=sequence, **members))
    last: tuple[int, str | None] = (0, None)
    taken: list[int] = []
    for sequence in order:
        one = chain[sequence - 1]
        try:
            warnings = arrive(one, last=last)
        except VerificationError:
            assert sequence <= last[0]
            continue
        assert (GAP in warnings) == (sequence > last[0] + 1)
        last = (sequence, one.hash)
        taken.append(sequence)
    assert taken == sorted(set(taken))
