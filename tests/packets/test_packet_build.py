"""Making packets: the worked vector, and what a builder refuses to sign."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.packets import (
    ALICE,
    SEED,
    WORKED,
    data_of,
    header,
    item,
    items_packet,
    text_packet,
    verified,
)
from uomp.errors import Code, VerificationError
from uomp.packets import canonical
from uomp.packets.build import PacketDraft, build_packet
from uomp.packets.canonical import CanonicalError
from uomp.packets.report import canonical_forms

V8_HEADER = {
    "protocol_version": "1.0",
    "packet_id": "mem_abc123",
    "agent_id": WORKED["did:key"],
    "session_id": "project_alpha_20231027",
    "timestamp": "2023-10-27T14:30:00Z",
    "memory_type": "basic_plain_text",
}


def build(payload: Any = None, **options: Any) -> dict[str, Any]:
    made = header(**options.pop("header", {}))
    if payload is None and "items" not in options:
        payload = {"text": "Hello."}
    draft = PacketDraft(header=made, payload=payload, **options)
    return build_packet(draft, ALICE.signer)


def build_refused(payload: Any = None, **options: Any) -> Code:
    with pytest.raises(VerificationError) as refused:
        build(payload, **options)
    return refused.value.code


@pytest.mark.requirement("SYS-11", "PAM-2.2-1", "PAM-2.2-3", "PAM-5.1-2")
def test_the_worked_packet_is_made_byte_for_byte() -> None:
    draft = PacketDraft(header=V8_HEADER, payload={"text": "héllo"})
    packet = build_packet(draft, ALICE.signer)
    assert packet["integrity_hash"] == WORKED["PAM integrity_hash"]
    assert packet["signature"] == {
        "algorithm": "Ed25519",
        "public_key_id": ALICE.key_id,
        "signature_value": WORKED["PAM signature_value"],
        "signed_data": ["header", "integrity_hash"],
    }
    forms = canonical_forms(packet)
    assert forms["signing-input"].decode() == WORKED["PAM signing input"]
    assert forms["payload"].decode() == WORKED["PAM payload JCS"]
    assert canonical.sha256(forms["signing-input"]) == (
        "sha256:" + WORKED["sha256 of signing input"]
    )
    assert verified(packet).signer_did == WORKED["did:key"]


def test_what_is_built_verifies_and_says_all_that_was_put_in() -> None:
    packet = build(
        attachments=[{"hash": canonical.sha256(b"x"), "uri": "ipfs://x", "size": 1}],
        fallback_text="For those who do not know.",
        header={"intent": "sharing", "x-own": {"kept": [1, 2.5]}},
    )
    assert packet["signature"]["signed_data"] == [
        "header",
        "integrity_hash",
        "attachments",
        "fallback_text_representation",
    ]
    found = verified(packet)
    assert found.value == packet
    assert found.canonical == data_of(packet)
    assert found.hash == canonical.digest(packet)
    assert found.fallback_text == "For those who do not know."
    assert (found.understood, found.sealed, found.reformatted) == (True, False, False)


def test_a_packet_made_of_items_has_their_root() -> None:
    found = verified(items_packet(3))
    assert found.items == tuple(map(item, range(3)))
    assert found.header.items_root is not None


def test_the_same_draft_gives_the_same_packet() -> None:
    assert items_packet(5) == items_packet(5)


def test_building_does_not_change_the_draft() -> None:
    members = header(memory_type="knowledge_snippet")
    before = json.dumps(members)
    draft = PacketDraft(header=members, items=[item(1)], items_seed=SEED)
    build_packet(draft, ALICE.signer)
    assert json.dumps(members) == before


@pytest.mark.parametrize(
    ("members", "code"),
    [
        ({"protocol_version": "2.0"}, Code.UNSUPPORTED_PROTOCOL_VERSION),
        ({"must_understand": ["x-own"]}, Code.UNSUPPORTED_PROTOCOL_VERSION),
        ({"on_behalf_of": {"did": "x"}}, Code.UNSUPPORTED_PROTOCOL_VERSION),
        ({"payload_encoding": "zip"}, Code.SCHEMA_VIOLATION),
        ({"memory_type": "custom/x"}, Code.SCHEMA_VIOLATION),
        ({"timestamp": "yesterday"}, Code.SCHEMA_VIOLATION),
        ({"memory_type": "conversation_history"}, Code.SCHEMA_VIOLATION),
        ({"items_root": canonical.sha256(b"")}, Code.SCHEMA_VIOLATION),
    ],
)
def test_a_packet_that_would_be_refused_is_not_signed(
    members: dict[str, Any], code: Code
) -> None:
    assert build_refused(header=members) == code


def test_attachments_are_checked_before_they_are_signed() -> None:
    bad = Code.SCHEMA_VIOLATION
    assert build_refused(attachments=[{"uri": "ipfs://x"}]) == bad
    assert build_refused(attachments=[]) == bad
    sha3 = [{"hash": "sha3-256:" + "0" * 64}]
    assert build_refused(attachments=sha3) == Code.UNSUPPORTED_ALGORITHM


def test_an_item_that_could_not_be_kept_is_not_signed() -> None:
    chat = {"memory_type": "knowledge_snippet"}
    for bad in (item(1, key=""), item(1, tags=()), item(1, created_at="now")):
        code = build_refused(header=chat, items=[bad], items_seed=SEED)
        assert code == Code.SCHEMA_VIOLATION


def test_a_seed_of_another_size_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        build(
            header={"memory_type": "knowledge_snippet"},
            items=[item(1)],
            items_seed=b"short",
        )


def test_what_jcs_cannot_write_is_not_signed() -> None:
    with pytest.raises(CanonicalError):
        build({"text": "Half of a pair: \ud800"})
    with pytest.raises(CanonicalError):
        build(header={"x-own": float("nan")})


@pytest.mark.requirement("SYS-8", "PAM-5.1-1")
@given(text=st.text(st.characters(exclude_categories=["Cs"])))
@settings(max_examples=50)
def test_any_text_survives_the_way_there_and_back(text: str) -> None:
    found = verified(build({"text": text}))
    assert found.payload == {"text": text}


@pytest.mark.requirement("SYS-8")
def test_order_and_white_space_do_not_matter_and_a_character_does() -> None:
    packet = text_packet()
    shuffled = {name: packet[name] for name in sorted(packet, reverse=True)}
    shuffled["header"] = dict(reversed(packet["header"].items()))
    data = json.dumps(shuffled, indent=3).encode()
    found = verified(data)
    assert found.reformatted
    assert found.hash == verified(packet).hash
    assert found.canonical == data_of(packet)
    with pytest.raises(VerificationError):
        verified(data.replace(b"Hello.", b"Hello!"))
