"""Packets inside packets: handed on unaltered, with leave, and no further."""

from datetime import timedelta
from typing import Any

import pytest

from support.packets import (
    ALICE,
    BOB,
    CAROL,
    DAVE,
    NOW,
    Issuer,
    Json,
    Keys,
    changed,
    data_of,
    header,
    items_packet,
    key_of,
    sign_anything,
    text_packet,
    verified,
)
from uomp.errors import Code, VerificationError
from uomp.packets.build import PacketDraft, build_packet
from uomp.packets.encodings import compress
from uomp.packets.nesting import MAX_DEPTH, check_reshare, hand_on, verify_nested
from uomp.packets.verify import VerifiedPacket


def nested(packet: Any, **options: Any) -> list[VerifiedPacket]:
    options.setdefault("now", NOW)
    return verify_nested(data_of(packet), options.pop("keys", Keys()), **options)


def nested_refusal(packet: Any, **options: Any) -> Code:
    with pytest.raises(VerificationError) as refused:
        nested(packet, **options)
    return refused.value.code


def handed(packet: Json, sharer: Issuer, receiver: Issuer, **members: Any) -> Json:
    made = header(sharer, packet_id="mem_out", audience=[receiver.did], **members)
    draft = hand_on(verified(packet), made, receiver=receiver.did)
    return build_packet(draft, sharer.signer)


def wrapped(packet: Json, sharer: Issuer, **members: Any) -> Json:
    """Wrap a packet as `hand_on` does, without asking for leave."""
    inner = verified(packet)
    chain = [
        *packet["header"].get("source_chain", []),
        {
            "agent_id": inner.signer_did,
            "packet_hash": inner.hash,
            "timestamp": inner.header.timestamp,
        },
    ]
    made = header(
        sharer,
        **{"memory_type": inner.header.memory_type, "source_chain": chain, **members},
    )
    return sign_anything({"header": made, "payload": {"packet": packet}}, sharer)


@pytest.mark.requirement("PAM-5.3-8", "PAM-2.2-9")
def test_a_packet_travels_unaltered_inside_another() -> None:
    first = items_packet(2, reshare="any")
    outer, inner = nested(handed(first, BOB, CAROL, intent="for Carol"))
    assert inner.canonical == data_of(first)
    assert (outer.signer_did, inner.signer_did) == (BOB.did, ALICE.did)
    assert inner.items is not None
    assert outer.items is None
    (link,) = outer.header.source_chain
    assert (link.agent_id, link.packet_hash) == (ALICE.did, inner.hash)
    assert link.timestamp == inner.header.timestamp
    assert outer.header.memory_type == inner.header.memory_type


def test_a_packet_with_nothing_inside_is_alone() -> None:
    assert [one.signer_did for one in nested(text_packet())] == [ALICE.did]


def test_the_fallback_text_and_the_schema_travel_on_the_outside_too() -> None:
    draft = PacketDraft(
        header=header(
            memory_type="custom/rooms", schema_uri="urn:rooms", reshare="any"
        ),
        payload={"rooms": 3},
        fallback_text="Three rooms.",
    )
    outer, inner = nested(handed(build_packet(draft, ALICE.signer), BOB, CAROL))
    assert outer.fallback_text == inner.fallback_text == "Three rooms."
    assert outer.header.schema_uri == "urn:rooms"
    assert not inner.understood


@pytest.mark.parametrize(
    ("reshare", "allowed"),
    [
        ("none", False),
        ("any", True),
        ({"named": [CAROL.did]}, True),
        ({"named": [DAVE.did, CAROL.did]}, True),
        ({"named": [DAVE.did]}, False),
    ],
)
def test_sharer_and_receiver_both_ask_the_issuer_s_leave(
    reshare: Any,
    allowed: bool,  # noqa: FBT001
) -> None:
    first = text_packet(reshare=reshare)
    if allowed:
        assert len(nested(handed(first, BOB, CAROL))) == 2
        return
    with pytest.raises(VerificationError) as refused:
        handed(first, BOB, CAROL)
    assert refused.value.code == Code.RESHARE_REFUSED
    rude = wrapped(first, BOB, audience=CAROL.did)
    assert nested_refusal(rude) == Code.RESHARE_REFUSED


def test_by_default_nothing_is_passed_on_but_by_its_issuer() -> None:
    first = text_packet()
    assert nested_refusal(wrapped(first, BOB)) == Code.RESHARE_REFUSED
    assert len(nested(handed(first, ALICE, CAROL))) == 2
    check_reshare(verified(first), ALICE.did, ())


def test_all_of_an_audience_must_be_named() -> None:
    first = text_packet(reshare={"named": [CAROL.did]})
    both = wrapped(first, BOB, audience=[CAROL.did, DAVE.did])
    assert nested_refusal(both) == Code.RESHARE_REFUSED
    anyone = wrapped(first, BOB)
    assert nested_refusal(anyone) == Code.RESHARE_REFUSED


def test_an_issuer_s_leave_reaches_every_later_hand() -> None:
    # Alice allows Carol alone; Bob, in between, allows anyone.
    first = text_packet(reshare={"named": [CAROL.did]})
    second = handed(first, BOB, CAROL, reshare="any")
    assert len(nested(second)) == 2
    with pytest.raises(VerificationError) as refused:
        handed(second, CAROL, DAVE)
    assert refused.value.code == Code.RESHARE_REFUSED
    rude = wrapped(second, CAROL, audience=[DAVE.did])
    assert nested_refusal(rude) == Code.RESHARE_REFUSED


def test_leave_is_asked_inside_a_compressed_packet_as_well() -> None:
    first = text_packet(reshare={"named": [CAROL.did]})
    second = wrapped(first, BOB, audience=[CAROL.did], reshare="any")
    packed = {"payload_encoding": "base64_encoded_gzip"}
    second["header"] |= packed
    second["payload"] = compress(second["payload"])
    second = sign_anything(second, BOB)
    assert len(nested(second)) == 2
    third = wrapped(second, CAROL, reshare="any", audience=[DAVE.did])
    assert nested_refusal(third) == Code.RESHARE_REFUSED
    with pytest.raises(VerificationError) as refused:
        hand_on(verified(third), header(DAVE), receiver=BOB.did)
    assert refused.value.code == Code.RESHARE_REFUSED


def test_no_more_than_four_packets_are_inside_one_another() -> None:
    packet = text_packet(reshare="any")
    for _ in range(MAX_DEPTH - 1):
        packet = handed(packet, BOB, CAROL, reshare="any")
    assert len(nested(packet)) == MAX_DEPTH
    with pytest.raises(VerificationError) as refused:
        handed(packet, BOB, CAROL)
    assert refused.value.code == Code.SCHEMA_VIOLATION
    deeper = wrapped(packet, BOB)
    assert nested_refusal(deeper) == Code.SCHEMA_VIOLATION


@pytest.mark.requirement("SYS-12", "PAM-2.2-2")
def test_the_packet_inside_is_verified_by_itself() -> None:
    first = text_packet(reshare="any")
    for path, code in (
        (("payload", "text"), Code.INTEGRITY_MISMATCH),
        (("header", "intent"), Code.SIGNATURE_INVALID),
    ):
        forged = changed(first, *path, to="Evil.")
        outer = changed(wrapped(first, BOB), "payload", "packet", to=forged)
        assert nested_refusal(sign_anything(outer, BOB)) == code


def test_the_source_chain_must_name_what_is_inside() -> None:
    first, other = text_packet(reshare="any"), text_packet(packet_id="mem_2")
    link = wrapped(first, BOB)["header"]["source_chain"][0]
    assert len(nested(wrapped(first, BOB, source_chain=[link]))) == 2
    foreign = wrapped(other, BOB)["header"]["source_chain"][0]
    for chain in (
        [],
        [foreign],
        [link, link],
        [foreign, link],
        [link | {"agent_id": BOB.did}],
        [link | {"timestamp": "2026-07-14T09:59:59Z"}],
    ):
        packet = wrapped(first, BOB, source_chain=chain)
        assert nested_refusal(packet) == Code.SCHEMA_VIOLATION, chain


@pytest.mark.requirement("PAM-5.3-8")
def test_a_chain_goes_on_the_chain_of_what_is_inside() -> None:
    claimed = {
        "agent_id": DAVE.did,
        "packet_hash": "sha256:" + "0" * 64,
        "timestamp": "2026-07-14T09:00:00Z",
    }
    first = text_packet(reshare="any", source_chain=[claimed])
    second = handed(first, BOB, CAROL, reshare="any")
    third = handed(second, CAROL, DAVE)
    links = [one.agent_id for one in nested(third)[0].header.source_chain]
    assert links == [DAVE.did, ALICE.did, BOB.did]


def test_the_types_outside_and_inside_are_one() -> None:
    first = text_packet(reshare="any")
    packet = wrapped(first, BOB, memory_type="task_trace")
    assert nested_refusal(packet) == Code.SCHEMA_VIOLATION


def test_a_revoked_key_inside_counts_unless_the_packet_was_there_before() -> None:
    gone = NOW - timedelta(minutes=1)
    keys = Keys(key_of(ALICE, revoked_at=gone))
    packet = wrapped(text_packet(reshare="any"), BOB)
    assert nested_refusal(packet, keys=keys) == Code.KEY_REVOKED
    before = gone - timedelta(minutes=1)
    assert len(nested(packet, keys=keys, seen_at=before)) == 2


def test_what_only_looks_like_a_packet_inside_is_a_payload() -> None:
    plain = {"packet": {"weight": 3}}
    made = sign_anything({"header": header(memory_type="task_trace"), "payload": plain})
    (packet,) = nested(made)
    assert not packet.understood
    assert packet.payload == plain


def test_what_is_handed_on_unread_is_looked_at_first() -> None:
    """A sharer who has not verified what is inside does not crash over it."""
    inner = text_packet(reshare="any") | {"header": "no header"}
    link = wrapped(text_packet(), BOB)["header"]["source_chain"]
    made = {"header": header(BOB, reshare="any", source_chain=link)}
    packet = sign_anything(made | {"payload": {"packet": inner}}, BOB)
    with pytest.raises(VerificationError) as refused:
        hand_on(verified(packet), header(CAROL), receiver=DAVE.did)
    assert refused.value.code == Code.SCHEMA_VIOLATION
