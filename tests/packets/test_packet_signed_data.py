"""`signed_data` is compared with the list of the version, never used (threat T24)."""

from itertools import permutations
from typing import Any

import pytest

from support.packets import (
    ALICE,
    BOB,
    changed,
    header,
    refusal,
    sign_anything,
    text_packet,
    unchecked,
    verified,
    without,
)
from uomp.errors import Code
from uomp.packets import canonical
from uomp.packets.build import PacketDraft, build_packet
from uomp.packets.multibase import b64_encode

FULL = ["header", "integrity_hash", "attachments", "fallback_text_representation"]
PACKET = build_packet(
    PacketDraft(
        header=header(),
        payload={"text": "Hello."},
        attachments=[{"hash": "sha256:" + "0" * 64}],
        fallback_text="Hello.",
    ),
    ALICE.signer,
)
REFUSED = (Code.SCHEMA_VIOLATION, 6)


def listing(names: list[str]) -> dict[str, Any]:
    return changed(PACKET, "signature", "signed_data", to=names)


def signed_as(names: list[str], packet: dict[str, Any]) -> dict[str, Any]:
    """Return a packet whose signature really is over what it lists, and only that."""
    signed = canonical.encode({name: packet[name] for name in names if name in packet})
    value = b64_encode(ALICE.signer.sign(signed))
    made = changed(packet, "signature", "signature_value", to=value)
    return changed(made, "signature", "signed_data", to=names)


def test_the_full_list_in_its_order_is_accepted() -> None:
    assert PACKET["signature"]["signed_data"] == FULL
    verified(PACKET)
    verified(signed_as(FULL, PACKET))  # the negative control of what follows


@pytest.mark.requirement("PAM-2.2-7")
@pytest.mark.parametrize("name", FULL)
def test_a_dropped_name_is_refused(name: str) -> None:
    rest = [one for one in FULL if one != name]
    assert refusal(listing(rest)) == REFUSED
    assert refusal(signed_as(rest, PACKET)) == REFUSED


@pytest.mark.parametrize("name", FULL)
def test_a_doubled_name_is_refused(name: str) -> None:
    assert refusal(listing([*FULL, name])) == REFUSED
    assert refusal(signed_as([*FULL, name], PACKET)) == REFUSED


@pytest.mark.parametrize("name", ["payload", "signature", "extra", "", "Header"])
def test_an_added_name_is_refused(name: str) -> None:
    assert refusal(listing([*FULL, name])) == REFUSED
    assert refusal(signed_as([*FULL, name], PACKET)) == REFUSED


def test_every_other_order_is_refused() -> None:
    others = [list(names) for names in permutations(FULL) if list(names) != FULL]
    assert len(others) == 23
    assert {refusal(listing(names)) for names in others} == {REFUSED}


@pytest.mark.parametrize("names", [[], ["header"], ["integrity_hash"]])
def test_a_list_without_the_two_that_are_always_signed_is_refused(
    names: list[str],
) -> None:
    assert refusal(listing(names)) == REFUSED


@pytest.mark.parametrize("names", [None, "header", {"header": 1}, [1, 2], [["header"]]])
def test_what_is_no_list_of_names_is_refused(names: Any) -> None:
    packet = changed(PACKET, "signature", "signed_data", to=names)
    code, step = refusal(packet)
    assert code == Code.SCHEMA_VIOLATION
    assert step in (3, 6)


@pytest.mark.requirement("PAM-2.1-8")
@pytest.mark.parametrize("name", ["attachments", "fallback_text_representation"])
def test_a_part_cannot_be_taken_out_or_put_in(name: str) -> None:
    out = without(PACKET, name)
    assert refusal(out) == REFUSED
    rest = [one for one in FULL if one != name]
    relisted = changed(out, "signature", "signed_data", to=rest)
    assert refusal(relisted) == (Code.SIGNATURE_INVALID, 9)
    bare = text_packet()
    put = changed(bare, name, to=PACKET[name])
    assert refusal(put) == REFUSED
    relisted = changed(put, "signature", "signed_data", to=["header", name])
    assert refusal(relisted) == REFUSED


def test_the_payload_cannot_move_to_where_nobody_signed_it() -> None:
    moved = changed(PACKET, "payload", to={"text": "Evil."})
    assert refusal(moved) == (Code.INTEGRITY_MISMATCH, 10)
    beside = changed(moved, "original", to=PACKET["payload"])
    assert refusal(beside) == (Code.SCHEMA_VIOLATION, 3)
    inside = changed(PACKET, "payload", to={"payload": PACKET["payload"]})
    assert refusal(inside) == (Code.INTEGRITY_MISMATCH, 10)


def test_a_hash_of_another_payload_cannot_be_put_under_the_signature() -> None:
    other = {"text": "Evil."}
    packet = changed(PACKET, "payload", to=other)
    packet = changed(packet, "integrity_hash", to=canonical.digest(other))
    assert refusal(packet) == (Code.SIGNATURE_INVALID, 9)


def test_a_second_signature_has_no_place() -> None:
    for name in ("signature2", "signatures", "proof"):
        packet = changed(PACKET, name, to=PACKET["signature"])
        assert refusal(packet) == (Code.SCHEMA_VIOLATION, 3)
    nested = changed(PACKET, "signature", "signature", to=PACKET["signature"])
    assert refusal(nested) == (Code.SCHEMA_VIOLATION, 3)


def test_a_signature_of_one_packet_does_not_fit_another() -> None:
    first, second = text_packet(), text_packet(packet_id="mem_2")
    swapped = changed(second, "signature", to=first["signature"])
    assert refusal(swapped) == (Code.SIGNATURE_INVALID, 9)


@pytest.mark.requirement("PAM-2.2-5", "PAM-2.2-8")
def test_only_the_agent_of_the_header_can_sign() -> None:
    stolen = sign_anything(text_packet(ALICE), BOB)
    assert refusal(stolen) == (Code.SIGNATURE_INVALID, 7)
    # A key id of the right DID with a key of another.
    named = changed(stolen, "signature", "public_key_id", to=ALICE.key_id)
    assert refusal(named) == (Code.SIGNATURE_INVALID, 9)


def test_a_key_that_the_packet_brings_along_has_no_place() -> None:
    packet = changed(PACKET, "signature", "public_key", to=BOB.public.hex())
    assert refusal(packet) == (Code.SCHEMA_VIOLATION, 3)
    unlinked = unchecked({"text": "x"}, BOB, agent_id=ALICE.did)
    assert refusal(unlinked) == (Code.SIGNATURE_INVALID, 7)
