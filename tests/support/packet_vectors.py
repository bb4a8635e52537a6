"""The cases of the conformance vectors of single packets."""

import base64
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from support.packets import (
    ALICE,
    BOB,
    CAROL,
    DATED,
    WEB,
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
    unchecked,
    without,
)
from uomp.packets import canonical
from uomp.packets.build import PacketDraft, build_packet
from uomp.packets.issuers import SigningKey
from uomp.packets.signing import Ed25519Signer

HASH = "sha256:" + "0" * 64
OTHER = "sha256:" + "1" * 64
CHAT = {"memory_type": "conversation_history"}
FACTS = {"memory_type": "knowledge_snippet"}
# The generator of the curve: any key of this kind would do.
_SECP256K1 = "0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"


@dataclass(frozen=True)
class Vector:
    """One case; with a `code` it is one to be refused, at the step named."""

    text: str
    spec: tuple[str, ...]
    input: Any
    kind: str = "packet"
    code: str | None = None
    step: int | None = None
    options: Json = field(default_factory=dict)


def _key(name: str, **changes: Any) -> SigningKey:
    return key_of(WEB, key_id=f"{WEB.did}#{name}", **changes)


# Keys that cannot be read off a did:key. Who verifies the vectors finds them in
# keys.json.
KEYS = (
    _key("key-1"),
    _key("key-2", public=BOB.public),
    _key("revoked", revoked_at=datetime.fromisoformat("2026-07-14T09:00:00+00:00")),
    _key("ended", valid_until=datetime.fromisoformat("2026-07-14T10:10:00+00:00")),
    _key("weak", public=bytes(32)),
    _key("secp256k1", algorithm="secp256k1", public=bytes.fromhex(_SECP256K1)),
)


def resolver() -> Keys:
    return Keys(*KEYS)


# ---- what the packets are made of --------------------------------------------


def _member(deflated: bytes, plain: bytes) -> bytes:
    head = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
    check = zlib.crc32(plain).to_bytes(4, "little")
    return head + deflated + check + len(plain).to_bytes(4, "little")


def stored(plain: bytes) -> bytes:
    """Return a gzip member that stores the bytes, the same under every zlib."""
    size = len(plain)
    lengths = size.to_bytes(2, "little") + (size ^ 0xFFFF).to_bytes(2, "little")
    return _member(b"\1" + lengths + plain, plain)


def bomb(repeats: int) -> bytes:
    """Return a gzip member 158 times smaller than what is in it, in fixed codes."""

    def literals(text: bytes) -> str:
        return "".join(f"{0x30 + byte:08b}" for byte in text)

    plain = b'{"text":"' + b"a" * (repeats * 258 + 1) + b'"}'
    bits = "110" + literals(b'{"text":"a')  # the last block, with fixed codes
    bits += "1100010100000" * repeats  # length 258, distance 1
    bits += literals(b'"}') + "0000000"
    bits += "0" * (-len(bits) % 8)
    packed = bytes(int(bits[at : at + 8][::-1], 2) for at in range(0, len(bits), 8))
    return _member(packed, plain)


def compressed(raw: bytes) -> Json:
    text = base64.b64encode(raw).decode()
    return unchecked(text, payload_encoding="base64_encoded_gzip")


def text(**members: Any) -> Json:
    return unchecked({"text": "x"}, **members)


def by_key(name: str, secret: Issuer = WEB) -> Json:
    """Return a packet of the did:web issuer signed under one of its key ids."""
    signer = Ed25519Signer(f"{WEB.did}#{name}", secret.signer.private_key)
    return text_packet(Issuer(WEB.did, signer))


def relabelled(packet: Json, name: str, value: Any) -> Json:
    return changed(packet, "signature", name, to=value)


FULL = build_packet(
    PacketDraft(
        header=header(
            agent_name="Ada's node",
            intent="sharing an analysis",
            priority="high",
            confidence_score=0.75,
            audience=[BOB.did],
            reshare={"named": [CAROL.did]},
            sequence=1,
            previous=None,
        ),
        payload={"text": "Gr\xfc\xdfe, \u4e16\u754c \U0001f600 \ue000"},
        attachments=[{"hash": HASH, "uri": "ipfs://example", "size": 3}],
        fallback_text="Greetings.",
    ),
    ALICE.signer,
)
PLAIN = text_packet()
DATA = data_of(PLAIN).decode()
MESSAGES = [
    {"role": "user", "content": "Which?", "id": "1", "at": DATED},
    {"role": "assistant", "content": [{"type": "text", "text": "4.5"}]},
    {
        "role": "tool",
        "content": None,
        "values": [4.5, 0.002, 1e-27, 9007199254740991, 1.0],
    },
]


def _worked() -> Json:
    members = {
        "protocol_version": "1.0",
        "packet_id": "mem_abc123",
        "agent_id": ALICE.did,
        "session_id": "project_alpha_20231027",
        "timestamp": "2023-10-27T14:30:00Z",
        "memory_type": "basic_plain_text",
    }
    draft = PacketDraft(header=members, payload={"text": "h\xe9llo"})
    return build_packet(draft, ALICE.signer)


def _aliases() -> Json:
    packet = without(PLAIN, "header", "memory_type")
    packet["header"] |= {"type": "basic_plain_text", "confidence": 1}
    return sign_anything(packet)


def _hologram() -> Json:
    packet = unchecked({"a": 1}, memory_type="hologram")
    packet["fallback_text_representation"] = "A cube."
    return sign_anything(packet)


# ---- the cases -----------------------------------------------------------------

ACCEPTED: dict[str, tuple[Any, tuple[str, ...]]] = {
    "The worked packet V-8": (_worked(), ("PAM-2.2-3", "SYS-11")),
    "Every optional part": (FULL, ("PAM-2.1-1", "PAM-3.1-1")),
    "The same in another order and spacing": (
        json.dumps(FULL, indent=2, sort_keys=True),
        ("SYS-8",),
    ),
    "Messages and numbers": (
        unchecked({"title": "Numbers", "messages": MESSAGES}, **CHAT),
        ("PAM-3.1-3",),
    ),
    "A snippet": (
        unchecked({"text": "x", "citations": [], "own": 1}, **FACTS),
        ("PAM-2.1-6",),
    ),
    "Items under a root": (items_packet(3), ("PAM-3.1-2",)),
    "No items under the root of nothing": (items_packet(0), ("PAM-3.1-2",)),
    "Aliases of members": (_aliases(), ("PAM-2.1-6", "PAM-5.3-7")),
    "The other name of Ed25519": (
        relabelled(PLAIN, "algorithm", "EdDSA"),
        ("PAM-3.2-1",),
    ),
    "A newer minor version": (
        text(protocol_version="1.7", added={"a": [1]}),
        ("PAM-5.2-3",),
    ),
    "An unknown type with a fallback": (_hologram(), ("PAM-5.3-1", "PAM-5.3-2")),
    "An unknown type without a fallback": (
        unchecked({"a": 1}, memory_type="hologram"),
        ("PAM-5.3-1", "PAM-5.3-3"),
    ),
    "A type of one's own": (
        unchecked([1, 2], memory_type="custom/3d_model_edits", schema_uri="x:y"),
        ("PAM-3.1-6",),
    ),
    "A compressed payload": (compressed(stored(b'{"text":"x"}')), ("PAM-5.1-7",)),
    "A second key of a DID": (by_key("key-2", BOB), ("PAM-3.2-6",)),
    "Four minutes ahead": (text(timestamp="2026-07-14T10:19:00Z"), ("PAM-3.2-9",)),
    "A time with an offset": (
        text(timestamp="2026-07-14T12:00:00.25+02:00"),
        ("PAM-2.1-5",),
    ),
    "Demands what is understood": (
        text(must_understand=["audience", "reshare"]),
        ("PAM-5.2-3",),
    ),
}

# (code, step, ids): the packets that must be refused there.
REFUSED: dict[tuple[str, int, tuple[str, ...]], dict[str, Any]] = {
    ("SCHEMA_VIOLATION", 1, ("SYS-10", "PAM-E-3")): {
        "No JSON": "mem",
        "Nothing": "",
        "A list": "[]",
        "The last byte missing": DATA[:-1],
        "Something behind": DATA + "{}",
        "A byte order mark": "\ufeff" + DATA,
        "A byte that is not UTF-8": DATA.encode().replace(b"Hello", b"H\xffllo"),
        "A name twice": DATA.replace('"text":', '"text":"a","text":'),
        "Nested 70 deep": DATA.replace('"Hello."', "[" * 70 + "]" * 70),
        "An integer beyond 2^53": DATA.replace('"Hello."', "9007199254740993"),
        "Half a surrogate pair": DATA.replace("Hello.", "\\ud83d"),
    },
    ("UNSUPPORTED_PROTOCOL_VERSION", 2, ("PAM-5.2-1", "PAM-E-1")): {
        "Version 2.0": text(protocol_version="2.0"),
        "Version 9.9": text(protocol_version="9.9"),
        "Version 1": text(protocol_version="1"),
    },
    ("SCHEMA_VIOLATION", 2, ("PAM-2.1-2",)): {
        "No version": without(PLAIN, "header", "protocol_version"),
        "No header": without(PLAIN, "header"),
    },
    ("SCHEMA_VIOLATION", 3, ("PAM-2.1-1", "PAM-E-3")): {
        **{f"No {name}": without(PLAIN, name) for name in list(PLAIN)[1:]},
        **{
            f"No {name} in the header": sign_anything(without(PLAIN, "header", name))
            for name in list(header())[1:]
        },
        **{
            f"No {name} in the signature": without(PLAIN, "signature", name)
            for name in list(PLAIN["signature"])[:3]
        },
        "A member that no signature covers": PLAIN | {"extra": 1},
        "A second signature": PLAIN | {"signature": [PLAIN["signature"]] * 2},
        "An attachment without hash": sign_anything(
            PLAIN | {"attachments": [{"uri": "x:y"}]}
        ),
        "A time without zone": text(timestamp="2026-07-14T10:00:00"),
        "An agent without DID": text(agent_id="alice"),
        "A member and its alias": text(type="basic_plain_text"),
        "An audience of nobody": text(audience=[]),
        "A place zero": text(sequence=0),
    },
    ("UNSUPPORTED_ALGORITHM", 3, ("PAM-3.2-3",)): {
        "A hash of SHA-3": PLAIN | {"integrity_hash": "sha3-256:" + "0" * 64},
    },
    ("UNSUPPORTED_PROTOCOL_VERSION", 4, ("PAM-5.2-3",)): {
        "Demands what is not understood": text(must_understand=["new"], new=1),
        "A delegation": text(on_behalf_of={"did": BOB.did}),
    },
    ("UNSUPPORTED_ALGORITHM", 5, ("PAM-3.2-1", "PAM-E-8")): {
        "A label of RSA": relabelled(PLAIN, "algorithm", "RSA"),
    },
    ("ALGORITHM_MISMATCH", 5, ("PAM-5.1-4", "PAM-E-8")): {
        "A label of secp256k1": relabelled(PLAIN, "algorithm", "ECDSA-secp256k1"),
    },
    ("SCHEMA_VIOLATION", 6, ("PAM-2.2-7",)): {
        **{
            f"A list of signed names {what}": relabelled(FULL, "signed_data", names)
            for what, names in {
                "without one": FULL["signature"]["signed_data"][:3],
                "with one more": [*FULL["signature"]["signed_data"], "payload"],
                "turned round": FULL["signature"]["signed_data"][::-1],
                "with one twice": [*FULL["signature"]["signed_data"], "header"],
                "with none": [],
            }.items()
        },
        "Attachments taken out": without(FULL, "attachments"),
        "Attachments put in": PLAIN | {"attachments": FULL["attachments"]},
    },
    ("SIGNATURE_INVALID", 7, ("PAM-2.2-8",)): {
        "Signed by another": sign_anything(PLAIN, BOB),
    },
    ("KEY_NOT_FOUND", 8, ("PAM-E-6",)): {"An unknown key": by_key("unknown")},
    ("KEY_REVOKED", 8, ("PAM-E-7", "PAM-5.4-6")): {
        "A revoked key": by_key("revoked"),
        "A key that has ended": by_key("ended"),
    },
    ("KEY_REFUSED", 8, ("PAM-E-4",)): {"A weak key": by_key("weak")},
    ("ALGORITHM_MISMATCH", 8, ("PAM-5.1-4", "PAM-E-8")): {
        "A key of another kind": by_key("secp256k1"),
    },
    ("SIGNATURE_INVALID", 9, ("PAM-2.2-6", "PAM-E-4")): {
        "The signature of another packet": PLAIN | {"signature": text()["signature"]},
        "A short signature": relabelled(PLAIN, "signature_value", "AAAA"),
        "A signature without padding": relabelled(
            PLAIN, "signature_value", PLAIN["signature"]["signature_value"].rstrip("=")
        ),
        "Another session": changed(PLAIN, "header", "session_id", to="other"),
        "Another attachment": changed(FULL, "attachments", 0, "hash", to=OTHER),
        "Another hash": PLAIN | {"integrity_hash": OTHER},
        "Another key of the DID": by_key("key-2"),
    },
    ("INTEGRITY_MISMATCH", 10, ("PAM-2.2-2", "PAM-E-5", "SYS-12")): {
        "Another punctuation mark": changed(PLAIN, "payload", "text", to="Hello!"),
        "Another payload": PLAIN | {"payload": []},
    },
    ("STALE_TIMESTAMP", 11, ("PAM-3.2-9", "PAM-E-10")): {
        "An hour ahead": text(timestamp="2026-07-14T11:15:00Z"),
    },
    ("SCHEMA_VIOLATION", 12, ("PAM-2.1-7", "PAM-3.1-3", "PAM-5.1-7")): {
        "A text that is a number": unchecked({"text": 1}),
        "A message without role": unchecked({"messages": [{"content": "x"}]}, **CHAT),
        "A message without content": unchecked({"messages": [{"role": "x"}]}, **CHAT),
        "A snippet without text": unchecked({}, **FACTS),
        "An item without tags": unchecked(
            changed(items_packet(1)["payload"], "items", 0, "tags", to=[]),
            **FACTS,
            items_root=HASH,
        ),
        "Items without seed": unchecked({"items": []}, **FACTS, items_root=HASH),
        "Items beside a text": unchecked(
            items_packet(1)["payload"] | {"text": "x"}, **FACTS, items_root=HASH
        ),
        "Gzip with something behind": compressed(stored(b'{"text":"x"}') + b"x"),
        "Gzip cut off": compressed(stored(b'{"text":"x"}')[:-1]),
        "Gzip of a name twice": compressed(stored(b'{"text":"x","text":"y"}')),
    },
    ("PACKET_TOO_LARGE", 12, ("PAM-5.1-7", "PAM-E-12")): {
        "Thirteen KiB that grow to two MiB": compressed(bomb(8200)),
    },
    ("ITEMS_ROOT_MISMATCH", 13, ("PAM-3.1-2",)): {
        "Items in another order": unchecked(
            items_packet(2)["payload"]
            | {"items": items_packet(2)["payload"]["items"][::-1]},
            **FACTS,
            items_root=items_packet(2)["header"]["items_root"],
        ),
        "Items without root": unchecked(items_packet(2)["payload"], **FACTS),
        "A root without items": text(items_root=HASH),
    },
}


def packet_vectors() -> list[Vector]:
    made = [Vector(name, spec, given) for name, (given, spec) in ACCEPTED.items()]
    seen = {"seen_at": "2026-07-14T10:05:00Z"}
    late = Vector(
        "A key that ended after the packet was seen",
        ("PAM-2.2-10",),
        by_key("ended"),
        options=seen,
    )
    return [*made, late, *_refused(REFUSED)]


def _refused(
    table: Mapping[tuple[str, int, tuple[str, ...]], Mapping[str, Any]],
) -> list[Vector]:
    return [
        Vector(name, spec, given, code=code, step=step)
        for (code, step, spec), cases in table.items()
        for name, given in cases.items()
    ]


def hash_of(packet: Json) -> str:
    return canonical.digest(packet)
