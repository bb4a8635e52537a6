"""Parts: what they prove, and that nothing else of a packet is in them."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.packets import (
    ALICE,
    BOB,
    NOW,
    SEED,
    Json,
    Keys,
    changed,
    data_of,
    header,
    item,
    items_packet,
    sign_anything,
    text_packet,
    verified,
    without,
)
from uomp.errors import Code, LocalError, UompError, VerificationError
from uomp.packets.build import PacketDraft, build_packet
from uomp.packets.canonical import encode
from uomp.packets.multibase import b64_encode
from uomp.packets.parts import VerifiedPart, make_part, verify_part
from uomp.packets.payloads import items_payload, items_root, salt_of


def part_of(packet: Json, *indexes: int) -> Json:
    return make_part(verified(packet), indexes)


def check(part: Any) -> VerifiedPart:
    return verify_part(data_of(part), Keys(), now=NOW)


def refusal(part: Any) -> Code:
    with pytest.raises(UompError) as refused:
        check(part)
    assert type(refused.value) is VerificationError or isinstance(
        refused.value, VerificationError
    )
    return refused.value.code


PACKET = items_packet(5)
PART = part_of(PACKET, 1, 3)


def test_two_items_of_a_thousand_are_proven_and_nothing_else_is_told() -> None:
    packet = items_packet(1000)
    part = part_of(packet, 700, 7)
    found = check(part)
    assert [one.key for one in found.items] == ["fact.7", "fact.700"]
    assert found.signer_did == ALICE.did
    assert found.key_id == ALICE.key_id
    assert found.signed_hash == verified(packet).signed_hash
    data = encode(part)
    assert len(data) < 6000
    for number in {*range(1000)} - {7, 700}:
        assert f'"fact.{number}"'.encode() not in data
        assert f'"Fact {number}."'.encode() not in data
        assert salt_of(SEED, number).hex().encode() not in data
    for seed in (b64_encode(SEED), SEED.hex()):
        assert seed.encode() not in data


def test_a_sibling_hash_cannot_be_guessed_without_its_salt() -> None:
    """Of two packets that differ in the seed alone no hash is the same."""
    made = header(memory_type="knowledge_snippet")
    hashes: list[set[str]] = []
    for seed in (SEED, bytes(32)):
        draft = PacketDraft(header=made, items=[item(0), item(1)], items_seed=seed)
        part = part_of(build_packet(draft, ALICE.signer), 0)
        hashes.append(set(part["disclosed"][0]["proof"]))
    assert hashes[0].isdisjoint(hashes[1])


@given(st.sets(st.integers(0, 12), min_size=1))
@settings(max_examples=30)
def test_any_choice_of_items_verifies_in_its_order(places: set[int]) -> None:
    found = check(part_of(items_packet(13), *places))
    assert [one.key for one in found.items] == [f"fact.{n}" for n in sorted(places)]


def test_a_verified_part_cannot_be_made_by_hand() -> None:
    with pytest.raises(TypeError, match="only verify_part"):
        VerifiedPart(
            proof=object(),
            header=verified(PACKET).header,
            signer_did=ALICE.did,
            key_id=ALICE.key_id,
            signed_hash="",
            items=(),
        )


def test_a_part_of_a_compressed_packet_verifies_too() -> None:
    made = header(
        memory_type="knowledge_snippet", payload_encoding="base64_encoded_gzip"
    )
    draft = PacketDraft(header=made, items=[item(0), item(1)], items_seed=SEED)
    packet = build_packet(draft, ALICE.signer)
    assert isinstance(packet["payload"], str)
    assert [one.key for one in check(part_of(packet, 1)).items] == ["fact.1"]


def test_only_items_that_are_there_can_be_shown() -> None:
    for indexes in ((), (5,), (-1,), (0, 9)):
        with pytest.raises(LocalError) as refused:
            part_of(PACKET, *indexes)
        assert refused.value.code == Code.NOT_FOUND


def test_a_packet_without_items_has_no_parts() -> None:
    with pytest.raises(LocalError) as refused:
        part_of(text_packet(), 0)
    assert refused.value.code == Code.INVALID_REQUEST


@pytest.mark.parametrize(
    "beside",
    [
        {"fallback_text": "Fact 0. Fact 1."},
        {"attachments": [{"hash": "sha256:" + "0" * 64}]},
    ],
)
def test_what_stands_signed_beside_the_items_would_tell_more_than_a_part_may(
    beside: Json,
) -> None:
    draft = PacketDraft(
        header=header(memory_type="knowledge_snippet"),
        items=[item(0), item(1)],
        items_seed=SEED,
        **beside,
    )
    with pytest.raises(LocalError) as refused:
        part_of(build_packet(draft, ALICE.signer), 0)
    assert refused.value.code == Code.INVALID_REQUEST


@pytest.mark.parametrize(
    ("path", "value", "code"),
    [
        (("disclosed", 0, "item", "value"), "other", Code.ITEMS_ROOT_MISMATCH),
        (("disclosed", 0, "item", "extra"), 1, Code.ITEMS_ROOT_MISMATCH),
        (("disclosed", 0, "salt"), "0" * 64, Code.ITEMS_ROOT_MISMATCH),
        (("disclosed", 0, "proof"), [], Code.ITEMS_ROOT_MISMATCH),
        (("disclosed", 0, "proof", 0), "0" * 64, Code.ITEMS_ROOT_MISMATCH),
        (("disclosed", 0, "index"), 0, Code.ITEMS_ROOT_MISMATCH),
        (("disclosed", 0, "index"), 3, Code.SCHEMA_VIOLATION),
        (("disclosed", 0, "index"), -1, Code.SCHEMA_VIOLATION),
        (("disclosed", 0, "salt"), "0" * 63, Code.SCHEMA_VIOLATION),
        (("disclosed", 0, "proof"), ["00" * 32] * 54, Code.SCHEMA_VIOLATION),
        (("disclosed", 0, "more"), 1, Code.SCHEMA_VIOLATION),
        (("disclosed", 0, "item"), [], Code.SCHEMA_VIOLATION),
        (("disclosed",), [], Code.SCHEMA_VIOLATION),
        (("disclosed",), None, Code.SCHEMA_VIOLATION),
        (("disclosed",), PART["disclosed"][::-1], Code.SCHEMA_VIOLATION),
        (("disclosed",), [PART["disclosed"][0]] * 2, Code.SCHEMA_VIOLATION),
        (("size",), 1, Code.ITEMS_ROOT_MISMATCH),
        (("size",), 0, Code.SCHEMA_VIOLATION),
        (("size",), True, Code.SCHEMA_VIOLATION),
        (("payload",), None, Code.SCHEMA_VIOLATION),
        (("extra",), 1, Code.SCHEMA_VIOLATION),
        (("fallback_text_representation",), "x", Code.SCHEMA_VIOLATION),
        (("header", "intent"), "other", Code.SIGNATURE_INVALID),
        (("header", "items_root"), "sha256:" + "0" * 64, Code.SIGNATURE_INVALID),
        (("integrity_hash",), "sha256:" + "0" * 64, Code.SIGNATURE_INVALID),
        (("signature", "algorithm"), "RS256", Code.UNSUPPORTED_ALGORITHM),
    ],
)
def test_a_changed_part_is_refused(
    path: tuple[str | int, ...], value: Any, code: Code
) -> None:
    assert refusal(changed(PART, *path, to=value)) == code


@pytest.mark.parametrize("name", ["header", "integrity_hash", "signature", "size"])
def test_a_part_lacks_nothing(name: str) -> None:
    assert refusal(without(PART, name)) == Code.SCHEMA_VIOLATION


def test_what_is_not_strict_json_is_no_part() -> None:
    for data in (b"", b"[]", b"{", encode(PART)[:-1] + b',"size":5}'):
        assert refusal(data) == Code.SCHEMA_VIOLATION


def test_an_item_of_another_packet_is_not_under_the_root() -> None:
    other = part_of(items_packet(6), 1)
    assert check(other).items[0] == item(1)
    mixed = changed(PART, "disclosed", to=other["disclosed"])
    assert refusal(mixed) == Code.ITEMS_ROOT_MISMATCH


def test_a_packet_that_has_no_root_gives_no_part() -> None:
    plain = text_packet()
    forged = {name: plain[name] for name in ("header", "integrity_hash", "signature")}
    forged |= {"size": PART["size"], "disclosed": PART["disclosed"]}
    assert refusal(forged) == Code.SCHEMA_VIOLATION


def signed_items(*items: Json) -> Json:
    """Return a part of a packet whose issuer signed items that no builder takes."""
    payload: Json = {"items": list(items), "items_seed": b64_encode(SEED)}
    made = header(memory_type="conversation_history", items_root=items_root(payload))
    packet = sign_anything({"header": made, "payload": payload})
    part: Json = {
        name: packet[name] for name in ("header", "integrity_hash", "signature")
    }
    salt = salt_of(SEED, 0).hex()
    shown = {"index": 0, "item": items[0], "salt": salt, "proof": []}
    return part | {"size": 1, "disclosed": [shown]}


def test_items_of_a_part_are_held_to_the_rules_of_items_in_packets() -> None:
    chat = {"messages": [{"role": "user", "content": "Hello."}]}
    good = items_payload([item(0, chat)], SEED)["items"][0]
    assert check(signed_items(good)).items == (item(0, chat),)
    for bad in (
        good | {"key": ""},
        good | {"created_at": "now"},
        good | {"value": "no conversation"},
        {"key": "alone"},
    ):
        assert refusal(signed_items(bad)) == Code.SCHEMA_VIOLATION


def test_a_part_is_not_taken_for_a_packet_nor_a_packet_for_a_part() -> None:
    assert refusal(PACKET) == Code.SCHEMA_VIOLATION
    with pytest.raises(VerificationError):
        verified(PART)


def test_only_the_issuer_of_the_packet_is_named() -> None:
    stolen = changed(PART, "signature", "public_key_id", to=BOB.key_id)
    assert refusal(stolen) == Code.SIGNATURE_INVALID


@given(st.binary(max_size=200))
@settings(max_examples=50)
def test_any_bytes_are_refused_with_our_error(data: bytes) -> None:
    assert refusal(data) == Code.SCHEMA_VIOLATION


@given(bit=st.integers(0, len(encode(PART)) * 8 - 1))
@settings(max_examples=150)
def test_no_bit_of_a_part_can_be_flipped(bit: int) -> None:
    data = bytearray(encode(PART))
    data[bit // 8] ^= 1 << bit % 8
    try:
        found = verify_part(bytes(data), Keys(), now=NOW)
    except VerificationError:
        return
    # The size is the word of who made the part, and no more; see VerifiedPart.
    assert found.items == check(PART).items


def test_the_places_rise() -> None:
    places = [one["index"] for one in part_of(PACKET, 4, 0, 2, 4)["disclosed"]]
    assert all(low < high for low, high in pairwise(places))
