"""Verifying packets: every step refuses what it is there for, and nothing more."""

import gzip
import json
from base64 import b64decode, b64encode
from contextlib import suppress
from dataclasses import fields
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.packets import (
    ALICE,
    BOB,
    NOW,
    Keys,
    changed,
    data_of,
    header,
    refusal,
    sign_anything,
    text_packet,
    unchecked,
    verified,
    without,
)
from uomp.errors import Code, UompError, VerificationError
from uomp.packets.build import PacketDraft, build_packet, signing_input
from uomp.packets.times import format_time
from uomp.packets.verify import STEPS, VerifiedPacket, verify_packet

PACKET = build_packet(
    PacketDraft(
        header=header(intent="sharing"),
        payload={"text": "Hello, world."},
        attachments=[{"hash": "sha256:" + "0" * 64}],
        fallback_text="Hello.",
    ),
    ALICE.signer,
)
DATA = data_of(PACKET)


def test_there_are_thirteen_steps_in_this_order() -> None:
    assert [name for name, _ in STEPS] == [
        "strict JSON within the size limit",
        "protocol version",
        "structure",
        "nothing that must be understood is unknown",
        "signature algorithm",
        "the signature covers what it must",
        "the signer is the agent",
        "the signer's key",
        "signature",
        "integrity hash",
        "not from the future",
        "payload",
        "items root",
    ]


@pytest.mark.requirement("SYS-19", "PAM-2.2-8", "PAM-2.2-9", "PAM-2.2-10")
def test_a_packet_proves_its_issuer_with_nothing_but_the_key() -> None:
    keys = Keys()
    found = verified(DATA, keys, now=NOW + timedelta(days=3650))
    assert (found.signer_did, found.key_id) == (ALICE.did, ALICE.key_id)
    assert keys.asked == [ALICE.key_id]
    assert not found.stale


def test_a_verified_packet_cannot_be_made_by_hand() -> None:
    names = {field.name for field in fields(VerifiedPacket)}
    made_up: dict[str, Any] = dict.fromkeys(names, None) | {"proof": object()}
    with pytest.raises(TypeError, match="only verify_packet"):
        VerifiedPacket(**made_up)


# ---- 1 reading --------------------------------------------------------------


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b'"packet"',
        b"null",
        b"\xef\xbb\xbf" + DATA,
        DATA + b"{}",
        DATA[:-1],
        DATA.replace(b"world", b"w\xff"),
        DATA.decode().encode("utf-16"),
        DATA.replace(b'"text":', b'"text":"x","text":'),
        DATA[:-1] + b',"signature":{}}',
        DATA.replace(b'"Hello, world."', b"[" * 70 + b"]" * 70),
        DATA.replace(b'"Hello, world."', b"9007199254740993"),
        DATA.replace(b"world", b"\\ud800"),
        DATA.replace(b'"Hello, world."', b"NaN"),
    ],
)
def test_what_is_not_strict_json_is_refused_at_the_door(data: bytes) -> None:
    assert refusal(data) == (Code.SCHEMA_VIOLATION, 1)


@pytest.mark.requirement("PAM-E-12")
def test_a_packet_over_64_mib_is_refused_unread() -> None:
    assert refusal(bytes(64 << 20) + b"x") == (Code.PACKET_TOO_LARGE, 1)


@given(cut=st.integers(0, len(DATA) - 1))
@settings(max_examples=50)
def test_no_beginning_of_a_packet_is_a_packet(cut: int) -> None:
    assert refusal(DATA[:cut]) == (Code.SCHEMA_VIOLATION, 1)


# ---- 2 version, 3 structure -------------------------------------------------


@pytest.mark.requirement("PAM-5.2-1", "PAM-E-1")
@pytest.mark.parametrize(
    "version",
    ["2.0", "9.9", "0.9", "10.0", "1", "1.", "1.x", "v1.0", "1.00", "1.²", ""],
)
def test_another_major_version_is_refused_with_the_supported_ones(
    version: str,
) -> None:
    packet = unchecked({"text": "x"}, protocol_version=version)
    assert refusal(packet) == (Code.UNSUPPORTED_PROTOCOL_VERSION, 2)
    with pytest.raises(VerificationError) as refused:
        verified(packet)
    assert refused.value.public.endswith("Supported: 1.0")
    assert "unacceptable protocol version" in refused.value.public


def test_another_major_version_may_have_another_structure() -> None:
    data = b'{"header":{"protocol_version":"2.0","all":"new"},"proofs":[]}'
    assert refusal(data) == (Code.UNSUPPORTED_PROTOCOL_VERSION, 2)


@pytest.mark.requirement("PAM-5.2-3")
@pytest.mark.parametrize("version", ["1.0", "1.1", "1.27"])
def test_a_newer_minor_version_is_understood_and_its_additions_kept(
    version: str,
) -> None:
    members = {"protocol_version": version, "new_in_1_1": {"a": 1}}
    found = verified(unchecked({"text": "x"}, **members))
    assert found.value["header"]["new_in_1_1"] == {"a": 1}
    # Ignored, and yet signed.
    packet = changed(found.value, "header", "new_in_1_1", to={"a": 2})
    assert refusal(packet) == (Code.SIGNATURE_INVALID, 9)


@pytest.mark.requirement("PAM-2.1-1", "PAM-2.1-2", "PAM-2.2-4", "PAM-E-3")
@pytest.mark.parametrize("name", ["header", "payload", "integrity_hash", "signature"])
def test_no_part_may_be_missing(name: str) -> None:
    step = 2 if name == "header" else 3
    assert refusal(without(PACKET, name)) == (Code.SCHEMA_VIOLATION, step)


@pytest.mark.parametrize(
    "name", ["algorithm", "public_key_id", "signature_value", "signed_data"]
)
def test_no_member_of_the_signature_may_be_missing(name: str) -> None:
    code, step = refusal(without(PACKET, "signature", name))
    assert code == Code.SCHEMA_VIOLATION
    assert step == (6 if name == "signed_data" else 3)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("extra",), 1),
        (("payload2",), {}),
        (("signature", "batch"), {}),
        (("signature",), [PACKET["signature"], PACKET["signature"]]),
        (("signature",), None),
        (("attachments",), None),
        (("attachments",), []),
        (("attachments",), [{"uri": "ipfs://x"}]),
        (("attachments",), [{"hash": "md5"}]),
        (("fallback_text_representation",), None),
        (("fallback_text_representation",), {"text": "x"}),
        (("integrity_hash",), None),
        (("integrity_hash",), "sha256:" + "A" * 64),
        (("integrity_hash",), "sha256:" + "0" * 63),
        (("header",), "text"),
    ],
)
def test_parts_of_another_shape_are_refused(path: tuple[str, ...], value: Any) -> None:
    code, step = refusal(changed(PACKET, *path, to=value))
    assert code == Code.SCHEMA_VIOLATION
    assert step == (2 if path == ("header",) else 3)


@pytest.mark.requirement("PAM-3.2-3", "PAM-2.1-8")
@pytest.mark.parametrize(
    ("path", "hash_"),
    [
        (("integrity_hash",), "sha3-256:" + "0" * 64),
        (("attachments", 0, "hash"), "sha3-256:" + "0" * 64),
        (("header", "supersedes"), "blake3:" + "0" * 64),
        (("header", "schema_hash"), "sha512:" + "0" * 128),
    ],
)
def test_other_hashes_than_sha_256_are_named_unsupported(
    path: tuple[str | int, ...], hash_: str
) -> None:
    packet = changed(PACKET, *path, to=hash_)
    assert refusal(packet) == (Code.UNSUPPORTED_ALGORITHM, 3)


# ---- 4 must_understand ------------------------------------------------------


def test_what_must_be_understood_and_is_not_refuses_the_packet() -> None:
    refused = (Code.UNSUPPORTED_PROTOCOL_VERSION, 4)
    for name in ("x-own", "timestamp_token", "schema_uri", "on_behalf_of"):
        packet = unchecked({"text": "x"}, must_understand=[name])
        assert refusal(packet) == refused, name


def test_what_must_be_understood_and_is_does_no_harm() -> None:
    names = ["audience", "expires_at", "reshare", "type"]
    assert verified(unchecked({"text": "x"}, must_understand=names)).understood


def test_a_packet_on_behalf_of_another_is_refused_for_now() -> None:
    packet = unchecked({"text": "x"}, on_behalf_of={"did": BOB.did})
    assert refusal(packet) == (Code.UNSUPPORTED_PROTOCOL_VERSION, 4)


# ---- 9, 10 signature and hash -----------------------------------------------


@pytest.mark.requirement(
    "SYS-12", "PAM-2.2-1", "PAM-2.2-2", "PAM-5.1-5", "PAM-E-5", "PAM-E-4"
)
def test_a_changed_payload_and_a_changed_header_are_told_apart() -> None:
    payload = changed(PACKET, "payload", "text", to="Hello; world.")
    assert refusal(payload) == (Code.INTEGRITY_MISMATCH, 10)
    other = changed(PACKET, "header", "intent", to="selling")
    assert refusal(other) == (Code.SIGNATURE_INVALID, 9)


@pytest.mark.requirement("PAM-2.2-11", "PAM-2.1-8")
@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("header", "timestamp"), "2026-07-14T10:00:01Z"),
        (("header", "session_id"), "project_beta"),
        (("integrity_hash",), "sha256:" + "1" * 64),
        (("attachments", 0, "hash"), "sha256:" + "1" * 64),
        (("attachments", 0, "uri"), "https://evil.example"),
        (("fallback_text_representation",), "Bye."),
    ],
)
def test_everything_but_the_payload_is_under_the_signature(
    path: tuple[str | int, ...], value: Any
) -> None:
    assert refusal(changed(PACKET, *path, to=value)) == (Code.SIGNATURE_INVALID, 9)


@pytest.mark.requirement("PAM-2.2-6")
@pytest.mark.parametrize(
    "value",
    [
        "",
        "AAAA",
        "not base64",
        PACKET["signature"]["signature_value"][:-4],
        PACKET["signature"]["signature_value"] + "AAAA",
        PACKET["signature"]["signature_value"].replace("=", ""),
        "é" * 88,
    ],
)
def test_a_signature_of_another_length_or_alphabet_is_invalid(value: str) -> None:
    packet = changed(PACKET, "signature", "signature_value", to=value)
    assert refusal(packet) == (Code.SIGNATURE_INVALID, 9)


@given(st.integers(0, 64 * 8 - 1))
@settings(max_examples=40)
def test_every_bit_of_the_signature_counts(bit: int) -> None:
    raw = bytearray(b64decode(PACKET["signature"]["signature_value"]))
    raw[bit // 8] ^= 1 << bit % 8
    value = b64encode(raw).decode()
    packet = changed(PACKET, "signature", "signature_value", to=value)
    assert refusal(packet) == (Code.SIGNATURE_INVALID, 9)


@given(st.integers(0, len(DATA) * 8 - 1))
@settings(max_examples=200)
def test_no_bit_can_be_flipped(bit: int) -> None:
    data = bytearray(DATA)
    data[bit // 8] ^= 1 << bit % 8
    with pytest.raises(VerificationError):
        verify_packet(bytes(data), Keys(), now=NOW)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text(max_size=3) | st.floats(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)


def _paths(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    found = [path] if path else []
    if isinstance(value, dict):
        for name, member in value.items():
            found += _paths(member, (*path, name))
    elif isinstance(value, list):
        for index, member in enumerate(value):
            found += _paths(member, (*path, index))
    return found


@given(path=st.sampled_from(_paths(PACKET)), value=_JSON)
@settings(max_examples=300)
def test_any_value_in_any_place_is_judged_with_our_errors_alone(
    path: tuple[str | int, ...], value: Any
) -> None:
    data = json.dumps(changed(PACKET, *path, to=value)).encode()
    if json.loads(data) == PACKET:
        return
    _, step = refusal(data)
    assert 1 <= step <= 13


@given(path=st.sampled_from(_paths(PACKET)), value=_JSON)
@settings(max_examples=300)
def test_an_issuer_who_signs_nonsense_meets_our_errors_too(
    path: tuple[str | int, ...], value: Any
) -> None:
    packet = changed(PACKET, *path, to=value)
    try:
        packet = sign_anything(packet)
    except (UompError, KeyError, TypeError):
        return  # nothing that could be signed at all
    with suppress(VerificationError):
        verified(packet)


# ---- 11 time ----------------------------------------------------------------


@pytest.mark.requirement("PAM-3.2-9", "PAM-E-10")
def test_a_clock_may_be_four_minutes_ahead_and_not_an_hour() -> None:
    def dated(ahead: timedelta) -> dict[str, Any]:
        return unchecked({"text": "x"}, timestamp=format_time(NOW + ahead))

    verified(dated(timedelta(minutes=4)))
    verified(dated(timedelta(minutes=5)))
    refused = (Code.STALE_TIMESTAMP, 11)
    assert refusal(dated(timedelta(minutes=5, seconds=1))) == refused
    assert refusal(dated(timedelta(hours=1))) == refused
    verified(dated(timedelta(days=-36500)))  # an archive may be old


# ---- identity ---------------------------------------------------------------


def test_another_spelling_of_a_signature_does_not_change_what_was_signed() -> None:
    first = verified(PACKET)
    second = verified(changed(PACKET, "signature", "algorithm", to="EdDSA"))
    assert first.hash != second.hash
    assert first.signed_hash == second.signed_hash


def test_two_packets_that_differ_in_the_payload_alone_are_told_apart() -> None:
    first = verified(text_packet())
    second = verified(unchecked({"text": "Other."}))
    assert first.signed_hash != second.signed_hash


# ---- what is done when --------------------------------------------------------


def test_no_key_is_asked_for_before_the_packet_is_worth_it() -> None:
    for broken in (
        b"{",
        unchecked({"text": "x"}, protocol_version="2.0"),
        without(PACKET, "payload"),
        changed(PACKET, "signature", "algorithm", to="RS256"),
        changed(PACKET, "signature", "signed_data", to=["header"]),
        changed(PACKET, "header", "agent_id", to=BOB.did),
    ):
        keys = Keys()
        refusal(broken, keys)
        assert keys.asked == []


def test_nothing_is_unpacked_that_nobody_signed() -> None:
    grows = b64encode(gzip.compress(b'"' + bytes(2 << 20) + b'"')).decode()
    packet = unchecked(grows, payload_encoding="base64_encoded_gzip")
    assert refusal(packet) == (Code.PACKET_TOO_LARGE, 12)
    other = changed(packet, "header", "session_id", to="other")
    assert refusal(other) == (Code.SIGNATURE_INVALID, 9)
    swapped = changed(packet, "integrity_hash", to="sha256:" + "0" * 64)
    assert refusal(sign_header(swapped)) == (Code.INTEGRITY_MISMATCH, 10)


def sign_header(packet: dict[str, Any]) -> dict[str, Any]:
    """Sign a packet with the hash that it has."""
    signature = ALICE.signer.sign(signing_input(packet))
    value = b64encode(signature).decode()
    return changed(packet, "signature", "signature_value", to=value)


def test_a_verified_packet_tells_no_log_what_it_remembers() -> None:
    found = verified(PACKET)
    assert "Hello" not in repr(found)
    assert found.hash in repr(found)
