"""Reports: every step told, nobody named who has not signed, and no exception."""

import json
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.packets import (
    ALICE,
    BOB,
    NOW,
    WEB,
    Json,
    Keys,
    changed,
    data_of,
    header,
    key_of,
    text_packet,
    unchecked,
    verified,
)
from uomp.errors import Code
from uomp.packets import canonical
from uomp.packets.report import OK, Report, canonical_forms, explain
from uomp.packets.verify import STEPS

PACKET = text_packet(intent="sharing", audience=[BOB.did], reshare="any")


def report(packet: Any, keys: Any = None, **options: Any) -> Report:
    options.setdefault("now", NOW)
    return explain(data_of(packet), keys or Keys(), **options)


def failed(found: Report) -> int:
    (number,) = [step.number for step in found.steps if step.ok is False]
    return number


@pytest.mark.requirement("PAM-2.2-9", "PAM-3.1-1")
def test_a_good_packet_is_told_step_by_step() -> None:
    found = report(PACKET)
    assert found.verdict == OK
    assert [(step.number, step.name) for step in found.steps] == [
        (number, name) for number, (name, _) in enumerate(STEPS, start=1)
    ]
    assert all(step.ok and not step.detail for step in found.steps)
    assert (found.signer, found.key_id) == (ALICE.did, ALICE.key_id)
    one = verified(PACKET)
    assert (found.packet_hash, found.signed_hash) == (one.hash, one.signed_hash)
    assert (found.packet_id, found.memory_type) == ("mem_1", "basic_plain_text")
    assert (found.understood, found.reformatted) == (True, False)
    assert found.reported == {
        "audience": [BOB.did],
        "expired": False,
        "reshare": "any",
        "intent": "sharing",
        "stale_key": False,
        "sealed": False,
    }
    assert json.loads(json.dumps(found.to_json()))["verdict"] == OK


def test_what_is_enforced_on_receipt_is_told_here() -> None:
    link = {
        "agent_id": BOB.did,
        "packet_hash": "sha256:" + "0" * 64,
        "timestamp": "2026-07-14T09:00:00Z",
    }
    members: Json = {
        "expires_at": "2026-07-14T10:15:00Z",
        "reshare": {"named": [BOB.did]},
        "sequence": 2,
        "previous": "sha256:" + "1" * 64,
        "source_chain": [link],
    }
    told = report(text_packet(**members)).reported
    assert told["expired"]
    assert {name: told[name] for name in members} == members


@pytest.mark.requirement("PAM-5.1-5", "PAM-5.1-3")
@pytest.mark.parametrize(
    ("packet", "verdict", "step"),
    [
        (b"no JSON", Code.SCHEMA_VIOLATION, 1),
        (unchecked({"text": "x"}, protocol_version="2.0"), None, 2),
        (changed(PACKET, "extra", to=1), Code.SCHEMA_VIOLATION, 3),
        (unchecked({"text": "x"}, must_understand=["x"]), None, 4),
        (changed(PACKET, "signature", "algorithm", to="RSA"), None, 5),
        (changed(PACKET, "signature", "signed_data", to=[]), None, 6),
        (changed(PACKET, "signature", "public_key_id", to=BOB.key_id), None, 7),
        (text_packet(WEB), Code.KEY_NOT_FOUND, 8),
        (changed(PACKET, "header", "intent", to="x"), Code.SIGNATURE_INVALID, 9),
        (changed(PACKET, "payload", "text", to="x"), Code.INTEGRITY_MISMATCH, 10),
        (unchecked({"text": "x"}, timestamp="2027-01-01T00:00:00Z"), None, 11),
        (unchecked({"no": "text"}), Code.SCHEMA_VIOLATION, 12),
        (
            unchecked(
                {"text": "x"},
                memory_type="knowledge_snippet",
                items_root="sha256:" + "0" * 64,
            ),
            Code.ITEMS_ROOT_MISMATCH,
            13,
        ),
    ],
)
def test_each_step_can_fail_and_then_nobody_is_named(
    packet: Any, verdict: Code | None, step: int
) -> None:
    found = report(packet)
    assert failed(found) == step
    assert found.verdict == verdict or verdict is None
    assert found.steps[step - 1].detail
    assert [one.ok for one in found.steps] == [
        True if number < step else False if number == step else None
        for number in range(1, 14)
    ]
    assert (found.signer, found.key_id, found.signed_hash) == (None, None, None)
    assert found.reported == {}


def test_other_bytes_of_the_same_packet_are_told_as_reformatted() -> None:
    found = report(json.dumps(PACKET, indent=1).encode())
    assert (found.verdict, found.reformatted) == (OK, True)
    assert found.packet_hash == report(PACKET).packet_hash


def test_a_key_that_was_good_then_is_told_good() -> None:
    keys = Keys(key_of(WEB, revoked_at=NOW, stale=True))
    packet = text_packet(WEB)
    assert report(packet, keys).verdict == Code.KEY_REVOKED
    found = report(packet, keys, seen_at=NOW - timedelta(minutes=1))
    assert found.verdict == OK
    assert found.reported["stale_key"]


def test_hostile_text_is_told_harmlessly() -> None:
    found = report(text_packet(intent="buy\x1b[2J\u202enow"))
    assert found.reported["intent"] == "buy\ufffd[2J\ufffdnow"
    evil = unchecked({"text": "x"}, reshare="\x1b[2Jevil`")
    detail = report(evil).steps[2].detail
    assert "evil" not in detail
    assert "$.reshare" in detail


def test_a_fault_of_the_keys_is_a_verdict_too() -> None:
    class Broken:
        def signing_key(self, *_: object) -> Any:
            raise RuntimeError("the database is away")

    found = report(PACKET, Broken())
    assert (found.verdict, failed(found)) == (Code.INTERNAL_ERROR, 8)
    assert "database" not in found.steps[7].detail


@given(data=st.binary(max_size=200))
@settings(max_examples=80)
def test_any_bytes_get_a_report(data: bytes) -> None:
    assert report(data).verdict == Code.SCHEMA_VIOLATION


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from([*PACKET, *PACKET["header"]]), inner, max_size=4
        )
    ),
    max_leaves=8,
)


@given(value=_JSON, name=st.sampled_from([*PACKET]))
@settings(max_examples=150)
def test_any_json_gets_a_report(value: Any, name: str) -> None:
    assert report(json.dumps(value).encode()).verdict != OK
    mutated = changed(PACKET, name, to=value)
    found = report(json.dumps(mutated).encode())
    assert found.verdict in {*map(str, Code)}
    assert len(found.steps) == 13


@given(value=_JSON, name=st.sampled_from([*PACKET["header"], "audience", "priority"]))
@settings(max_examples=100)
def test_any_signed_header_gets_a_report(value: Any, name: str) -> None:
    packet = unchecked({"text": "x"}, **{name: value})
    found = report(packet)
    assert len(found.steps) == 13
    assert (found.signer is not None) == (found.verdict == OK)


@pytest.mark.requirement("PAM-5.1-2")
def test_the_bytes_that_are_signed_and_hashed_can_be_shown() -> None:
    forms = canonical_forms(PACKET)
    assert set(forms) == {"signing-input", "payload", "whole"}
    assert canonical.sha256(forms["payload"]) == PACKET["integrity_hash"]
    assert canonical.sha256(forms["whole"]) == report(PACKET).packet_hash
    assert canonical.sha256(forms["signing-input"]) == report(PACKET).signed_hash
    with pytest.raises(KeyError):
        canonical_forms({"header": header()})
