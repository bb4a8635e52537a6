"""Payloads: their shapes, their encodings, their items, and what a person is shown."""

import gzip
from base64 import b64encode
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.packets import (
    ALICE,
    NOW,
    SEED,
    Json,
    Keys,
    changed,
    data_of,
    header,
    item,
    items_packet,
    refusal,
    sign_anything,
    unchecked,
    verified,
)
from support.sealed import sealed
from uomp.errors import Code, VerificationError
from uomp.packets import canonical, merkle
from uomp.packets.build import PacketDraft, build_packet
from uomp.packets.encodings import FREE_BYTES, MAX_RATIO, compress
from uomp.packets.header import Attachment, check_attachment
from uomp.packets.multibase import b64_encode
from uomp.packets.payloads import (
    KNOWN_TYPES,
    items_payload,
    items_root,
    salt_of,
)
from uomp.packets.text import render_payload

CHAT = "conversation_history"
MESSAGE = {"role": "user", "content": "Hello."}
MISSHAPEN = (Code.SCHEMA_VIOLATION, 12)
GZIP = {"payload_encoding": "base64_encoded_gzip"}


def of_type(memory_type: str, payload: Any, **members: Any) -> Json:
    return unchecked(payload, **{"memory_type": memory_type, **members})


# ---- types ------------------------------------------------------------------


@pytest.mark.requirement("PAM-5.3-5", "PAM-2.1-7")
@pytest.mark.parametrize(
    "payload", [{}, {"text": 1}, {"text": "x", "more": 1}, [], "x", None, {"items": []}]
)
def test_a_plain_text_is_a_text_and_nothing_else(payload: Any) -> None:
    assert verified(of_type("basic_plain_text", {"text": ""})).understood
    assert refusal(of_type("basic_plain_text", payload)) == MISSHAPEN


@pytest.mark.requirement("PAM-3.1-3", "PAM-2.1-7")
def test_a_conversation_is_a_list_of_messages_with_role_and_content() -> None:
    parts = [{"type": "text", "text": "Hello."}]
    for content in ("Hello.", parts, [], None):
        message = {"role": "user", "content": content, "own": {"kept": True}}
        payload = {"messages": [message], "title": "A title"}
        assert verified(of_type(CHAT, payload)).payload == payload
    misshapen: list[Json] = [
        {},
        {"messages": {}},
        {"messages": ["Hello."]},
        {"messages": [{"content": "no role"}]},
        {"messages": [{"role": 1, "content": "x"}]},
        {"messages": [{"role": "", "content": "x"}]},
        {"messages": [{"role": "user"}]},
        {"messages": [{"role": "user", "content": 5}]},
        {"messages": [MESSAGE | {"at": 5}]},
    ]
    for bad in misshapen:
        assert refusal(of_type(CHAT, bad)) == MISSHAPEN, bad


@pytest.mark.requirement("PAM-2.1-7")
def test_a_snippet_has_a_text_or_items() -> None:
    good = {"text": "x", "citations": ["y"], "assumptions": [], "own": 1}
    assert verified(of_type("knowledge_snippet", good)).payload == good
    misshapen: list[Json] = [
        {},
        {"text": 1},
        {"text": "x", "citations": "y"},
        {"messages": []},
    ]
    for bad in misshapen:
        assert refusal(of_type("knowledge_snippet", bad)) == MISSHAPEN, bad


@pytest.mark.requirement("PAM-2.1-6", "PAM-5.3-1", "PAM-5.3-3", "PAM-E-2")
@pytest.mark.parametrize("memory_type", [*KNOWN_TYPES, "of_tomorrow", "custom/3d"])
def test_each_type_is_understood_or_kept_as_it_is(memory_type: str) -> None:
    payload = {"text": "x", "messages": [], "state": {"step": 1}}
    if memory_type == "basic_plain_text":
        payload = {"text": "x"}
    found = verified(of_type(memory_type, payload, schema_uri="urn:x"))
    known = {"basic_plain_text", CHAT, "knowledge_snippet"}
    assert found.understood == (memory_type in known)
    assert found.payload == payload
    if found.understood:
        found.require_understood()
    else:
        with pytest.raises(VerificationError) as refused:
            found.require_understood()
        assert refused.value.code == Code.UNSUPPORTED_MEMORY_TYPE


@pytest.mark.requirement("PAM-5.3-2")
def test_a_type_that_is_not_understood_has_its_fallback_text_if_any() -> None:
    made = {"header": header(memory_type="of_tomorrow"), "payload": {"rooms": 3}}
    text = {"fallback_text_representation": "Three rooms."}
    with_text = verified(sign_anything(made | text))
    assert not with_text.understood
    assert render_payload(with_text.payload, with_text.fallback_text) == "Three rooms."
    assert verified(sign_anything(made)).fallback_text is None


@pytest.mark.requirement("PAM-3.1-6")
@pytest.mark.parametrize("members", [{}, {"schema_uri": ""}])
def test_a_type_of_one_s_own_names_its_schema(members: Json) -> None:
    assert refusal(of_type("custom/x", {}, **members)) == MISSHAPEN


@pytest.mark.parametrize("name", ["", "custom/", "a b", "\x1b[2J", "é", "/x", "a//b"])
def test_the_name_of_a_type_is_plain(name: str) -> None:
    code, step = refusal(of_type(name, {}, schema_uri="urn:x"))
    assert code == Code.SCHEMA_VIOLATION
    assert step in (3, 12)


@pytest.mark.requirement("PAM-2.1-6", "PAM-5.3-7")
def test_the_aliases_of_the_header_are_read_and_two_spellings_refused() -> None:
    plain = header(type="basic_plain_text", confidence=1)
    del plain["memory_type"]
    found = verified(sign_anything({"header": plain, "payload": {"text": "x"}}))
    assert found.header.memory_type == "basic_plain_text"
    assert found.header.confidence_score == 1.0
    both = unchecked({"text": "x"}, type="basic_plain_text")
    assert refusal(both) == (Code.SCHEMA_VIOLATION, 3)


# ---- encodings --------------------------------------------------------------


@pytest.mark.requirement("PAM-5.1-7")
@pytest.mark.parametrize("encoding", ["zip", "", "RAW_JSON", "base64"])
def test_an_unknown_encoding_is_refused(encoding: str) -> None:
    packet = unchecked({"text": "x"}, payload_encoding=encoding)
    assert refusal(packet) == MISSHAPEN
    assert verified(unchecked({"text": "x"}, payload_encoding="raw_json")).understood


@pytest.mark.requirement("PAM-5.1-7", "PAM-2.2-1")
def test_a_compressed_payload_is_hashed_as_carried_and_read_unpacked() -> None:
    draft = PacketDraft(
        header=header(**GZIP, memory_type="knowledge_snippet"),
        items=[item(0), item(1)],
        items_seed=SEED,
    )
    packet = build_packet(draft, ALICE.signer)
    carried = packet["payload"]
    assert isinstance(carried, str)
    assert packet["integrity_hash"] == canonical.digest(carried)
    found = verified(packet)
    assert found.items == (item(0), item(1))
    assert found.header.items_root == items_root(found.payload)
    assert data_of(packet) == found.canonical


def compressed(raw: bytes) -> Json:
    return unchecked(b64encode(raw).decode(), **GZIP)


def test_a_compressed_payload_is_one_whole_gzip_member_of_strict_json() -> None:
    good = gzip.compress(b'{"text":"x"}')
    assert verified(compressed(good)).payload == {"text": "x"}
    for bad in (
        good[:-1],
        good[:5],
        b"",
        good + b"x",
        good + good,
        good[:-8] + bytes(8),
        b"plain",
        gzip.compress(b""),
        gzip.compress(b'{"text":"x","text":"y"}'),
        gzip.compress(b'{"text":9007199254740993}'),
        gzip.compress(b'{"text":"\xff"}'),
    ):
        assert refusal(compressed(bad)) == MISSHAPEN, bad
    for payload in ({"text": "x"}, "not base64", None):
        assert refusal(unchecked(payload, **GZIP)) == MISSHAPEN


@pytest.mark.requirement("PAM-E-12")
def test_a_bomb_is_refused_before_it_goes_off() -> None:
    too_large = (Code.PACKET_TOO_LARGE, 12)
    bomb = gzip.compress(b'{"text":"' + b"a" * (64 << 20) + b'"}')
    assert len(bomb) < FREE_BYTES // 10
    assert refusal(compressed(bomb)) == too_large
    # In proportion: a MiB is free, more must not be over a hundred times the packet.
    frame = b'{"text":"%s"}'
    free = frame % (b"a" * (FREE_BYTES - len(frame) + 2))
    assert len(free) == FREE_BYTES
    assert verified(compressed(gzip.compress(free))).understood
    more = frame % (b"a" * FREE_BYTES)
    assert len(more) > MAX_RATIO * len(gzip.compress(more))
    assert refusal(compressed(gzip.compress(more))) == too_large


@pytest.mark.requirement("PAM-5.1-7")
def test_a_sealed_payload_is_an_envelope_and_not_looked_into() -> None:
    found = verified(unchecked(sealed(), payload_encoding="x25519_aes256gcm"))
    assert (found.sealed, found.understood, found.items) == (True, False, None)
    for bad in ({"text": "x"}, "x", changed(sealed(), "size", to=1)):
        code, step = refusal(unchecked(bad, payload_encoding="x25519_aes256gcm"))
        assert step == 12
        assert code in (Code.SCHEMA_VIOLATION, Code.INTEGRITY_MISMATCH)


def test_a_sealed_payload_is_not_told_in_clear_beside_it() -> None:
    made = header(payload_encoding="x25519_aes256gcm")
    draft = PacketDraft(header=made, payload=sealed())
    assert verified(build_packet(draft, ALICE.signer)).sealed
    for bad in (
        PacketDraft(header=made, payload=sealed(), fallback_text="All of it."),
        PacketDraft(header=made, payload={"text": "x"}),
    ):
        with pytest.raises(VerificationError) as refused:
            build_packet(bad, ALICE.signer)
        assert refused.value.code == Code.SCHEMA_VIOLATION


# ---- items ------------------------------------------------------------------


def test_the_root_is_that_of_rfc_9162_over_salted_items() -> None:
    payload = items_payload([item(0), item(1), item(2)], SEED)
    leaves = [
        merkle.leaf_hash(salt_of(SEED, place) + canonical.encode(one))
        for place, one in enumerate(payload["items"])
    ]
    assert items_root(payload) == f"sha256:{merkle.root(leaves).hex()}"
    assert salt_of(SEED, 0) != salt_of(SEED, 1)


def of_items(payload: Any, **members: Any) -> Json:
    return of_type("knowledge_snippet", payload, **members)


def test_items_and_root_come_together() -> None:
    mismatch = (Code.ITEMS_ROOT_MISMATCH, 13)
    payload = items_payload([item(0), item(1)], SEED)
    root = items_root(payload)
    assert verified(of_items(payload, items_root=root)).items == (item(0), item(1))
    assert refusal(of_items(payload)) == mismatch
    assert refusal(of_items({"text": "x"}, items_root=root)) == mismatch
    for other in (
        payload | {"items": payload["items"][::-1]},
        payload | {"items": payload["items"][:1]},
        payload | {"items_seed": b64_encode(bytes(32))},
        changed(payload, "items", 0, "own", to=1),
    ):
        assert refusal(of_items(other, items_root=root)) == mismatch


def test_a_member_beside_items_is_kept_and_their_root_the_same() -> None:
    payload = items_payload([item(0)], SEED)
    more = payload | {"about": "facts"}
    found = verified(of_items(more, items_root=items_root(payload)))
    assert found.payload["about"] == "facts"
    draft = PacketDraft(
        header=header(memory_type="knowledge_snippet", items_root=items_root(more)),
        payload=more,
    )
    assert verified(build_packet(draft, ALICE.signer)).items == (item(0),)


@pytest.mark.parametrize(
    "change",
    [
        {"items": None},
        {"items": {}},
        {"items": ["x"]},
        {"items": [{"key": "alone"}]},
        {"items_seed": None},
        {"items_seed": "short"},
        {"items_seed": "AAAA"},
        {"text": "also a text"},
        {"messages": []},
    ],
)
def test_a_payload_made_of_items_is_that_alone(change: Json) -> None:
    payload = items_payload([item(0)], SEED) | change
    root = canonical.sha256(b"")
    assert refusal(of_items(payload, items_root=root)) == MISSHAPEN
    draft = PacketDraft(header=header(memory_type="knowledge_snippet"), payload=payload)
    with pytest.raises(VerificationError) as refused:
        build_packet(draft, ALICE.signer)
    assert refused.value.code == Code.SCHEMA_VIOLATION


@pytest.mark.parametrize(
    "change",
    [
        {"key": ""},
        {"key": "aggregate"},
        {"key": "a\nb"},
        {"tags": []},
        {"sensitivity": "secret"},
        {"source": "nobody"},
        {"created_at": "yesterday"},
        {"updated_at": "2026-07-14"},
    ],
)
def test_an_item_that_could_not_be_stored_is_refused(change: Json) -> None:
    payload = items_payload([item(0)], SEED)
    payload["items"][0] |= change
    assert refusal(of_items(payload, items_root=items_root(payload))) == MISSHAPEN


@pytest.mark.requirement("PAM-3.1-3")
def test_items_of_a_conversation_are_conversations() -> None:
    def packet(value: Any) -> Json:
        payload = items_payload([item(0, value)], SEED)
        return of_type(CHAT, payload, items_root=items_root(payload))

    assert verified(packet({"messages": [MESSAGE]})).items
    assert refusal(packet({"text": "x"})) == MISSHAPEN
    assert refusal(packet("x")) == MISSHAPEN


def test_no_items_are_items_too() -> None:
    assert verified(items_packet(0)).items == ()


@given(
    st.lists(
        st.recursive(
            st.none()
            | st.floats(allow_nan=False, allow_infinity=False, width=32)
            | st.text(st.characters(exclude_categories=["Cs"]), max_size=4),
            lambda inner: st.dictionaries(
                st.text(st.characters(exclude_categories=["Cs"]), max_size=3),
                inner,
                max_size=3,
            ),
            max_leaves=5,
        ),
        max_size=4,
    )
)
@settings(max_examples=60)
def test_items_written_once_are_what_would_be_written_whole(values: list[Any]) -> None:
    draft = PacketDraft(
        header=header(memory_type="knowledge_snippet"),
        items=[
            item(number, canonical_value(value)) for number, value in enumerate(values)
        ],
        items_seed=SEED,
    )
    packet = build_packet(draft, ALICE.signer)
    assert packet["integrity_hash"] == canonical.digest(packet["payload"])
    assert packet["header"]["items_root"] == items_root(packet["payload"])
    assert verified(packet).items is not None


def canonical_value(value: Any) -> Any:
    """Take floats beyond 2^53 out: packets do not carry them."""
    if isinstance(value, dict):
        return {name: canonical_value(member) for name, member in value.items()}
    return 0.5 if isinstance(value, float) and abs(value) > 2**53 - 1 else value


@pytest.mark.parametrize("payload", [{"n": 2.0**53}, {"n": [[-(2.0**60)]]}])
def test_a_number_that_no_reader_takes_is_not_signed(payload: Json) -> None:
    draft = PacketDraft(header=header(memory_type="task_trace"), payload=payload)
    with pytest.raises(VerificationError) as refused:
        build_packet(draft, ALICE.signer)
    assert refused.value.code == Code.SCHEMA_VIOLATION


def test_what_is_nested_too_deep_is_not_signed() -> None:
    def nested(depth: int) -> Json:
        value: Any = "x"
        for _ in range(depth):
            value = {"in": value}
        made = header(memory_type="task_trace")
        return build_packet(PacketDraft(header=made, payload=value), ALICE.signer)

    verified(nested(63))
    with pytest.raises(VerificationError) as refused:
        nested(64)
    assert refused.value.code == Code.SCHEMA_VIOLATION


@pytest.mark.requirement("PAM-E-12")
def test_a_packet_over_the_limit_is_not_signed() -> None:
    draft = PacketDraft(header=header(), payload={"text": "a" * (64 << 20)})
    with pytest.raises(VerificationError) as refused:
        build_packet(draft, ALICE.signer)
    assert refused.value.code == Code.PACKET_TOO_LARGE


# ---- attachments ------------------------------------------------------------


@pytest.mark.requirement("PAM-2.1-9")
def test_large_data_stays_outside_and_is_known_by_its_hash() -> None:
    large = bytes(10 << 20)
    hash_ = canonical.sha256(large)
    one = {"hash": hash_, "uri": "ipfs://x", "size": len(large)}
    draft = PacketDraft(header=header(), payload={"text": "x"}, attachments=[one])
    packet = build_packet(draft, ALICE.signer)
    assert len(data_of(packet)) < 2000
    assert verified(packet).value["attachments"] == [one]
    attachment = Attachment(hash=hash_, size=len(large))
    check_attachment(attachment, large)
    check_attachment(Attachment(hash=hash_), large)
    for other in (large[:-1], large[:-1] + b"x", b""):
        with pytest.raises(VerificationError) as refused:
            check_attachment(attachment, other)
        assert refused.value.code == Code.ATTACHMENT_HASH_MISMATCH


def test_the_keys_of_a_packet_are_asked_only_once() -> None:
    keys = Keys()
    verified(items_packet(3), keys, now=NOW)
    assert keys.asked == [ALICE.key_id]


def test_what_is_compressed_again_is_the_same() -> None:
    assert compress({"b": 1, "a": 2}) == compress({"a": 2, "b": 1})
