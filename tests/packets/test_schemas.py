"""The JSON Schemas and the code agree on what a packet looks like."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from support.packets import (
    ALICE,
    BOB,
    changed,
    header,
    items_packet,
    sign_anything,
    text_packet,
    unchecked,
    verified,
    without,
)
from support.schemas import NAMES, SCHEMAS, SEALED, fits, is_taken, schemas
from uomp.errors import UompError
from uomp.packets.build import PacketDraft, build_packet
from uomp.packets.encodings import compress
from uomp.packets.nesting import hand_on

Case = tuple[str, Any, bool]


def resigned(packet: Any) -> Any:
    """Sign as it is, so that only the shape can be at fault."""
    try:
        return sign_anything(packet)
    except (UompError, KeyError, TypeError):
        return packet


@pytest.mark.requirement("PAM-3.1-2")
def test_every_schema_is_one_and_refers_to_what_is_there() -> None:
    assert sorted(path.name for path in SCHEMAS.iterdir()) == [
        f"{name}.schema.json" for name in NAMES
    ]
    for path in SCHEMAS.iterdir():
        schema = json.loads(path.read_bytes())
        Draft202012Validator.check_schema(schema)
        assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
        assert schema["$id"].endswith("/" + path.name)
        for reference in references(schema):
            resolver = schemas().resolver(schema["$id"])
            resolver.lookup(reference)


def references(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        if "$ref" in schema:
            yield schema["$ref"]
        for member in schema.values():
            yield from references(member)
    elif isinstance(schema, list):
        for member in schema:
            yield from references(member)


# ---- packets ----------------------------------------------------------------

HASH = "sha256:" + "0" * 64
CHAT = {"memory_type": "conversation_history"}
FACTS = {"memory_type": "knowledge_snippet"}
CUSTOM = {"memory_type": "custom/example"}
TEXT = {"text": "x"}
FULL = build_packet(
    PacketDraft(
        header=header(),
        payload=TEXT,
        attachments=[{"hash": HASH, "uri": "ipfs://x", "size": 3}],
        fallback_text="x",
    ),
    ALICE.signer,
)
OPEN = text_packet(reshare="any")


def with_header(**members: Any) -> Any:
    return unchecked(TEXT, **members)


def payload_of(payload: Any, **members: Any) -> Any:
    return unchecked(payload, **members)


def nested() -> Any:
    draft = hand_on(verified(OPEN), header(BOB), receiver=ALICE.did)
    return build_packet(draft, BOB.signer)


HEADER_CASES: list[tuple[str, Any, bool]] = [
    ("protocol_version", "1.0", True),
    ("protocol_version", "1.9", True),
    ("protocol_version", "1.01", False),
    ("protocol_version", "2.0", False),
    ("protocol_version", 1.0, False),
    ("packet_id", "", False),
    ("packet_id", "x" * 257, False),
    ("packet_id", "line\nbreak", False),
    ("agent_id", "alice", False),
    ("agent_id", ALICE.did + "#key", False),
    ("session_id", None, False),
    ("timestamp", "2026-07-14T10:00:00.5+02:00", True),
    ("timestamp", "2026-07-14 10:00:00Z", False),
    ("timestamp", "2026-07-14T10:00:00", False),
    ("timestamp", "2026-07-14", False),
    ("memory_type", "task_trace", True),
    ("memory_type", "unheard_of", True),
    ("memory_type", "", False),
    ("memory_type", "custom/", False),
    ("memory_type", "custom/x", False),
    ("type", "basic_plain_text", False),  # beside memory_type
    ("agent_name", "Ada", True),
    ("agent_name", 1, False),
    ("intent", "x" * 4000, True),
    ("intent", "x" * 4001, False),
    ("intent", None, True),
    ("priority", "high", True),
    ("priority", "urgent", False),
    ("priority", 100, True),
    ("priority", 101, False),
    ("priority", -1, False),
    ("priority", True, False),
    ("confidence_score", 0.5, True),
    ("confidence_score", 1, True),
    ("confidence_score", 1.5, False),
    ("confidence_score", "1", False),
    ("confidence", 0.5, True),
    ("payload_encoding", "raw_json", True),
    ("payload_encoding", "zip", False),
    ("schema_hash", HASH, True),
    ("schema_hash", "sha256:0", False),
    ("audience", BOB.did, True),
    ("audience", [BOB.did, ALICE.did], True),
    ("audience", [], False),
    ("audience", ["bob"], False),
    ("expires_at", "2027-01-01T00:00:00Z", True),
    ("expires_at", "soon", False),
    ("sequence", 1, True),
    ("sequence", 0, False),
    ("sequence", "1", False),
    ("previous", None, True),
    ("previous", "x", False),
    ("grant", {"session_id": "sess_1", "jti": "jti_1"}, True),
    ("grant", {"session_id": "sess_1"}, False),
    ("source_chain", [], True),
    ("source_chain", [{"agent_id": ALICE.did}], False),
    (
        "source_chain",
        [
            {
                "agent_id": ALICE.did,
                "packet_hash": HASH,
                "timestamp": "2026-07-14T10:00:00Z",
            }
        ],
        True,
    ),
    ("supersedes", HASH, True),
    ("supersedes", [HASH], True),
    ("supersedes", [], False),
    ("on_behalf_of", {"did": BOB.did}, False),
    ("must_understand", ["audience"], True),
    ("must_understand", ["timestamp_token"], False),
    ("must_understand", ["x-own"], False),
    ("reshare", "none", True),
    ("reshare", "any", True),
    ("reshare", {"named": [BOB.did]}, True),
    ("reshare", {"named": []}, False),
    ("reshare", {"named": [BOB.did], "more": 1}, False),
    ("reshare", "all", False),
    ("items_root", HASH, False),
    ("timestamp_token", "x", True),
    ("x-own", {"any": ["thing"]}, True),
]

SHAPES: list[Case] = [
    ("a text", text_packet(), True),
    ("all parts", FULL, True),
    ("items", items_packet(), True),
    ("no items", items_packet(0), True),
    ("handed on", nested(), True),
    ("sealed", payload_of(SEALED, payload_encoding="x25519_aes256gcm"), True),
    ("sealed, no envelope", payload_of({}, payload_encoding="x25519_aes256gcm"), False),
    (
        "compressed",
        payload_of(compress(TEXT), payload_encoding="base64_encoded_gzip"),
        True,
    ),
    ("not compressed", payload_of(TEXT, payload_encoding="base64_encoded_gzip"), False),
    ("custom", payload_of([1], **CUSTOM, schema_uri="https://example.org/s"), True),
    ("custom, no schema", payload_of([1], **CUSTOM), False),
    ("custom, null schema", payload_of([1], **CUSTOM, schema_uri=None), False),
    ("an unknown type", payload_of("anything", memory_type="hologram"), True),
    (
        "alias",
        sign_anything(
            changed(
                without(OPEN, "header", "memory_type"),
                "header",
                "type",
                to="basic_plain_text",
            )
        ),
        True,
    ),
    ("text and more", payload_of({"text": "x", "more": 1}), False),
    ("no text", payload_of({}), False),
    ("text of a number", payload_of({"text": 1}), False),
    ("messages", payload_of({"messages": []}, **CHAT), True),
    ("no messages", payload_of({}, **CHAT), False),
    ("two facts", payload_of({"text": "x", "citations": [], "x": 1}, **FACTS), True),
    ("citations", payload_of({"text": "x", "citations": "y"}, **FACTS), False),
    (
        "items without root",
        payload_of({"items": [], "items_seed": "A" * 43 + "="}, **FACTS),
        False,
    ),
    ("items without seed", payload_of({"items": []}, **FACTS, items_root=HASH), False),
    ("root without items", payload_of(TEXT, **FACTS, items_root=HASH), False),
    ("no attachments", changed(FULL, "attachments", to=[]), False),
    ("no hash", changed(FULL, "attachments", to=[{"uri": "x"}]), False),
    ("a foreign member", changed(FULL, "extra", to=1), False),
    ("EdDSA", changed(FULL, "signature", "algorithm", to="EdDSA"), True),
    ("RSA", changed(FULL, "signature", "algorithm", to="RS256"), False),
    ("no list", without(FULL, "signature", "signed_data"), False),
    ("short list", changed(FULL, "signature", "signed_data", to=["header"]), False),
    ("batch", changed(FULL, "signature", "batch", to={}), False),
    ("bad base64", changed(FULL, "signature", "signature_value", to="AAAA"), False),
    ("bare key", changed(FULL, "signature", "public_key_id", to=ALICE.did), False),
    *(
        (f"no {name}", without(FULL, name), False)
        for name in ("header", "payload", "integrity_hash", "signature")
    ),
    *(
        (f"no header.{name}", resigned(without(OPEN, "header", name)), False)
        for name in (
            "protocol_version",
            "packet_id",
            "agent_id",
            "session_id",
            "timestamp",
            "memory_type",
        )
    ),
]


@pytest.mark.requirement(
    "PAM-2.1-1",
    "PAM-2.1-2",
    "PAM-2.1-3",
    "PAM-2.1-4",
    "PAM-2.1-5",
    "PAM-2.1-6",
    "PAM-2.1-7",
)
@pytest.mark.parametrize(("name", "value", "good"), HEADER_CASES)
def test_the_schema_and_the_code_agree_on_headers(
    name: str,
    value: Any,
    good: bool,  # noqa: FBT001
) -> None:
    packet = with_header(**{name: value})
    assert (fits("packet", packet), is_taken(verified, packet)) == (good, good)


@pytest.mark.requirement("PAM-2.1-1", "PAM-2.1-7", "PAM-3.1-3", "PAM-3.1-6")
@pytest.mark.parametrize(
    ("packet", "good"),
    [pytest.param(packet, good, id=name) for name, packet, good in SHAPES],
)
def test_the_schema_and_the_code_agree_on_packets(
    packet: Any,
    good: bool,  # noqa: FBT001
) -> None:
    assert (fits("packet", packet), is_taken(verified, packet)) == (good, good)


# ---- messages ---------------------------------------------------------------

MESSAGES: list[tuple[Any, bool]] = [
    ({"role": "user", "content": "Hello."}, True),
    ({"role": "assistant", "content": [{"type": "text", "text": "x"}]}, True),
    ({"role": "tool", "content": None, "name": "search", "more": 1}, True),
    ({"role": "user", "content": "", "id": "1", "at": "", "parent": None}, True),
    ({"content": "Hello."}, False),
    ({"role": "user"}, False),
    ({"role": 1, "content": ""}, False),
    ({"role": "", "content": ""}, False),
    ({"role": "user", "content": 1}, False),
    ({"role": "user", "content": {}}, False),
    ({"role": "user", "content": "", "id": 1}, False),
    ({"role": "user", "content": "", "parent": []}, False),
    ("Hello.", False),
]


@pytest.mark.requirement("PAM-3.1-3")
@pytest.mark.parametrize(("message", "good"), MESSAGES)
def test_the_schema_and_the_code_agree_on_messages(
    message: Any,
    good: bool,  # noqa: FBT001
) -> None:
    packet = unchecked({"messages": [message]}, **CHAT)
    assert (fits("packet", packet), is_taken(verified, packet)) == (good, good)
