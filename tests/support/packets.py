"""Packets to test with: issuers, keys, and packets that no honest builder makes."""

import copy
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from uomp.errors import Code, UompError, VerificationError
from uomp.packets import canonical
from uomp.packets.build import PacketDraft, build_packet, signed_names, signing_input
from uomp.packets.issuers import SigningKey
from uomp.packets.items import MemoryItem
from uomp.packets.multibase import b64_encode, decode_multikey, encode_multikey
from uomp.packets.signing import Ed25519Signer
from uomp.packets.verify import VerifiedPacket, verify_packet

VECTORS = Path(__file__).parents[1] / "vectors"
WORKED = json.loads((VECTORS / "uomp-worked.json").read_bytes())
RFC8032_TEST_1 = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"

NOW = datetime(2026, 7, 14, 10, 15, tzinfo=UTC)
DATED = "2026-07-14T10:00:00Z"
SEED = bytes(range(32))
Json = dict[str, Any]


@dataclass(frozen=True)
class Issuer:
    """Somebody with one Ed25519 key."""

    did: str
    signer: Ed25519Signer

    @property
    def key_id(self) -> str:
        return self.signer.key_id

    @property
    def public(self) -> bytes:
        return self.signer.private_key.public_key().public_bytes_raw()


def issuer(secret: bytes, did: str = "") -> Issuer:
    """Return the issuer with this key; without a DID, that of the did:key."""
    private = Ed25519PrivateKey.from_private_bytes(secret)
    multikey = encode_multikey("Ed25519", private.public_key().public_bytes_raw())
    if did:
        return Issuer(did, Ed25519Signer(f"{did}#key-1", private))
    did = f"did:key:{multikey}"
    return Issuer(did, Ed25519Signer(f"{did}#{multikey}", private))


ALICE = issuer(bytes.fromhex(RFC8032_TEST_1))
BOB = issuer(bytes([2]) * 32)
CAROL = issuer(bytes([3]) * 32)
DAVE = issuer(bytes([4]) * 32)
WEB = issuer(bytes([5]) * 32, "did:web:issuer.example")


class Keys:
    """The keys of every did:key, and those of a table."""

    def __init__(self, *others: SigningKey) -> None:
        self._others = {key.key_id: key for key in others}
        self.asked: list[str] = []

    def signing_key(self, key_id: str, at: datetime) -> SigningKey:
        assert at.tzinfo is not None
        self.asked.append(key_id)
        if key_id in self._others:
            return self._others[key_id]
        did, _, fragment = key_id.partition("#")
        if did.startswith("did:key:") and did == f"did:key:{fragment}":
            kind, public = decode_multikey(fragment)
            return SigningKey(did=did, key_id=key_id, algorithm=kind, public=public)
        raise VerificationError(Code.KEY_NOT_FOUND, "Nobody knows this key.")


def key_of(someone: Issuer, **changes: Any) -> SigningKey:
    known = {
        "did": someone.did,
        "key_id": someone.key_id,
        "algorithm": "Ed25519",
        "public": someone.public,
    }
    return SigningKey(**(known | changes))


def header(someone: Issuer = ALICE, /, **members: Any) -> Json:
    return {
        "protocol_version": "1.0",
        "packet_id": "mem_1",
        "agent_id": someone.did,
        "session_id": "project_alpha",
        "timestamp": DATED,
        "memory_type": "basic_plain_text",
    } | members


def text_packet(someone: Issuer = ALICE, /, **members: Any) -> Json:
    """Return an honest packet with a text."""
    draft = PacketDraft(header=header(someone, **members), payload={"text": "Hello."})
    return build_packet(draft, someone.signer)


def item(number: int, value: Any = None, **members: Any) -> MemoryItem:
    known: Json = {
        "key": f"fact.{number}",
        "value": {"text": f"Fact {number}."} if value is None else value,
        "tags": ("facts",),
        "sensitivity": "low",
        "source": "user",
        "created_at": DATED,
        "updated_at": DATED,
    }
    return MemoryItem(**(known | members))


def items_packet(count: int = 3, someone: Issuer = ALICE, /, **members: Any) -> Json:
    """Return an honest packet made of `count` items."""
    made = header(someone, **({"memory_type": "knowledge_snippet"} | members))
    items = [item(number) for number in range(count)]
    draft = PacketDraft(header=made, items=items, items_seed=SEED)
    return build_packet(draft, someone.signer)


def sign_anything(packet: Mapping[str, Any], someone: Issuer = ALICE) -> Json:
    """Return the packet with the hash and the signature that it should have.

    Unlike a builder it checks nothing.
    """
    made = {name: copy.deepcopy(part) for name, part in packet.items()}
    made["integrity_hash"] = canonical.digest(made["payload"])
    made["signature"] = {
        "algorithm": "Ed25519",
        "public_key_id": someone.key_id,
        "signature_value": b64_encode(someone.signer.sign(signing_input(made))),
        "signed_data": signed_names(made),
    }
    return made


def unchecked(payload: Any, someone: Issuer = ALICE, /, **members: Any) -> Json:
    """Return a packet signed as it is, with header members of one's own."""
    made = header(someone, **members)
    return sign_anything({"header": made, "payload": payload}, someone)


def changed(packet: Json, *path: str | int, to: Any) -> Json:
    """Return a copy with the member at `path` replaced or added, not signed again."""
    made = copy.deepcopy(packet)
    place: Any = made
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = to
    return made


def without(packet: Json, *path: str | int) -> Json:
    """Return a copy that lacks the member at `path`, not signed again."""
    made = copy.deepcopy(packet)
    place: Any = made
    for step in path[:-1]:
        place = place[step]
    del place[path[-1]]
    return made


def data_of(packet: Any) -> bytes:
    return packet if isinstance(packet, bytes) else canonical.encode(packet)


def verified(packet: Any, keys: Keys | None = None, **options: Any) -> VerifiedPacket:
    options.setdefault("now", NOW)
    return verify_packet(data_of(packet), keys or Keys(), **options)


def refusal(packet: Any, keys: Keys | None = None, **options: Any) -> tuple[Code, int]:
    """Return the code of the refusal and the number of the step that failed."""
    with pytest.raises(UompError) as refused:
        verified(packet, keys, **options)
    assert type(refused.value) is VerificationError
    return refused.value.code, int(refused.value.step.split()[0])
