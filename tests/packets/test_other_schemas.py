"""The JSON Schemas of items, receipts, parts and envelopes agree with the code."""

import copy
from typing import Any

import pytest

from support.packets import (
    ALICE,
    BOB,
    NOW,
    Keys,
    changed,
    item,
    items_packet,
    unchecked,
    verified,
    without,
)
from support.schemas import SEALED, fits, is_taken
from uomp.packets import canonical
from uomp.packets.multibase import b64_encode
from uomp.packets.parts import make_part, verify_part
from uomp.packets.payloads import items_root
from uomp.packets.receipts import build_receipt, receipt_signing_input, verify_receipt
from uomp.packets.sealing import attach_signature, check_envelope

HASH = "sha256:" + "0" * 64
FACTS = {"memory_type": "knowledge_snippet"}
ITEMS: list[tuple[str, Any, bool]] = [
    ("key", "x" * 512, True),
    ("key", "x" * 513, False),
    ("key", "", False),
    ("key", "aggregate", False),
    ("key", "a\u0007", False),
    ("key", 1, False),
    ("value", None, True),
    ("value", [1, {"a": 2.5}], True),
    ("tags", ["a"], True),
    ("tags", [], False),
    ("tags", [""], False),
    ("tags", ["x"] * 65, False),
    ("tags", "facts", False),
    ("sensitivity", "secret", False),
    ("source", "world", False),
    ("created_at", "today", False),
    ("description", "x", True),
    ("description", 1, False),
    ("more", 1, True),
]


@pytest.mark.parametrize(("name", "value", "good"), ITEMS)
def test_the_schema_and_the_code_agree_on_items(
    name: str,
    value: Any,
    good: bool,  # noqa: FBT001
) -> None:
    packet = items_packet(2)
    payload = copy.deepcopy(packet["payload"])
    payload["items"][1][name] = value
    packet = unchecked(payload, **FACTS, items_root=items_root(payload))
    assert (fits("packet", packet), is_taken(verified, packet)) == (good, good)


RECEIPT = build_receipt(
    packet_id="mem_1",
    packet_hash=HASH,
    issuer=ALICE.did,
    receiver=BOB.did,
    status="rejected",
    error="SIGNATURE_INVALID",
    timestamp="2026-07-14T10:00:00Z",
    signer=BOB.signer,
)


def receipt(*path: str, to: Any) -> Any:
    made = changed(RECEIPT, *path, to=to)
    value = b64_encode(BOB.signer.sign(receipt_signing_input(made)))
    return changed(made, "signature", "signature_value", to=value)


RECEIPTS: list[tuple[Any, bool]] = [
    (RECEIPT, True),
    (receipt("error", to=None), False),
    (receipt("error", to="some words"), False),
    (receipt("status", to="accepted"), False),
    (receipt("status", to="read"), False),
    (receipt("status", to="stored_opaque"), True),
    (receipt("packet_hash", to="0"), False),
    (receipt("receiver", to="bob"), False),
    (receipt("timestamp", to="now"), False),
    (receipt("more", to=1), False),
    (changed(RECEIPT, "signature", "signed_data", to=None), False),
    (changed(RECEIPT, "signature", "algorithm", to="EdDSA"), True),
    (changed(RECEIPT, "signature", "algorithm", to="ES256K"), False),
    *((without(RECEIPT, name), False) for name in RECEIPT),
]


@pytest.mark.requirement("PAM-2.3-6")
@pytest.mark.parametrize(("value", "good"), RECEIPTS)
def test_the_schema_and_the_code_agree_on_receipts(
    value: Any,
    good: bool,  # noqa: FBT001
) -> None:
    def check(one: Any) -> object:
        return verify_receipt(one, Keys(), now=NOW)

    assert (fits("receipt", value), is_taken(check, value)) == (good, good)


PART = make_part(verified(items_packet(5)), [1, 3])
PARTS: list[tuple[Any, bool]] = [
    (PART, True),
    (changed(PART, "payload", to={}), False),
    (changed(PART, "size", to=0), False),
    (changed(PART, "size", to="5"), False),
    (changed(PART, "disclosed", to=[]), False),
    (changed(PART, "disclosed", 0, "salt", to="AB" * 32), False),
    (changed(PART, "disclosed", 0, "proof", to=["00"]), False),
    (changed(PART, "disclosed", 0, "more", to=1), False),
    (changed(PART, "disclosed", 0, "index", to=-1), False),
    (changed(PART, "disclosed", 0, "item", to="x"), False),
    (changed(PART, "extra", to=1), False),
    *((without(PART, name), False) for name in PART),
]


@pytest.mark.parametrize(("value", "good"), PARTS)
def test_the_schema_and_the_code_agree_on_parts(
    value: Any,
    good: bool,  # noqa: FBT001
) -> None:
    def check(one: Any) -> object:
        return verify_part(canonical.encode(one), Keys(), now=NOW)

    assert (fits("part", value), is_taken(check, value)) == (good, good)


SIGNED = attach_signature(SEALED, ALICE.signer)
ENVELOPES: list[tuple[Any, bool]] = [
    (SEALED, True),
    (SIGNED, True),
    (without(SEALED, "encryption", "key_commitment"), True),
    (changed(SEALED, "payload_id", to="x"), False),
    (changed(SEALED, "format", to="text"), False),
    (changed(SEALED, "timestamp", to="now"), False),
    (changed(SEALED, "size", to="7"), False),
    (changed(SEALED, "hash", to="x"), False),
    (changed(SEALED, "more", to=1), False),
    (changed(SEALED, "encryption", "algorithm", to="RSA"), False),
    (changed(SEALED, "encryption", "nonce", to="AAAA"), False),
    (changed(SEALED, "encryption", "more", to=1), False),
    (changed(SEALED, "encryption", "key_commitment", to="AAAA"), False),
    (changed(SIGNED, "signature", "algorithm", to="RS256"), False),
    (changed(SIGNED, "signature", "more", to=1), False),
    *((without(SEALED, name), False) for name in SEALED),
    *(
        (without(SEALED, "encryption", name), False)
        for name in ("algorithm", "sender_public_key", "nonce")
    ),
]


@pytest.mark.requirement("UOMP-15.6-4", "UOMP-15.6-5", "UOMP-15.6-6")
@pytest.mark.parametrize(("value", "good"), ENVELOPES)
def test_the_schema_and_the_code_agree_on_sealed_envelopes(
    value: Any,
    good: bool,  # noqa: FBT001
) -> None:
    found = (fits("sealed-envelope", value), is_taken(check_envelope, value))
    assert found == (good, good)


def test_hashes_and_items_are_made_for_these_schemas() -> None:
    packet = items_packet(1)
    assert fits("packet", packet)
    assert packet["integrity_hash"] == canonical.digest(packet["payload"])
    assert verified(packet).items == (item(0),)
