"""Peers for the tests of envelopes: keys from a number, documents with no network."""

import hashlib
import json
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from uomp.packets.multibase import encode_multikey
from uomp.packets.signing import Ed25519Signer
from uomp.protocol.did.document import DidDocument
from uomp.protocol.did.peer4 import PeerDid4, create, node_document
from uomp.protocol.did.resolve import resolve_static
from uomp.protocol.didcomm.agreement import AgreementKey, RecipientKey
from uomp.protocol.didcomm.anoncrypt import pack_anoncrypt
from uomp.protocol.didcomm.authcrypt import pack_authcrypt
from uomp.protocol.didcomm.message import Plaintext
from uomp.protocol.didcomm.unpack import Unpacked, unpack

VECTORS = Path(__file__).parent / "vectors"
NOW = 1_800_000_000
PING = "https://didcomm.org/trust-ping/2.0/ping"


def seed(label: str, size: int = 32) -> bytes:
    return hashlib.shake_256(label.encode()).digest(size)


def vector(name: str) -> Any:
    return json.loads((VECTORS / name).read_text("utf-8"))


class Peer:
    """A node's identity, the same for the same name."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.signing = Ed25519PrivateKey.from_private_bytes(seed(f"{name} signs"))
        self.private = X25519PrivateKey.from_private_bytes(seed(f"{name} agrees"))

    @cached_property
    def forms(self) -> PeerDid4:
        return create(self.input_document())

    def input_document(self) -> dict[str, Any]:
        return node_document(
            encode_multikey("Ed25519", self.signing.public_key().public_bytes_raw()),
            encode_multikey("X25519", self.private.public_key().public_bytes_raw()),
            f"https://{self.name}.example/didcomm",
        )

    @property
    def did(self) -> str:
        return self.forms.short

    @property
    def kid(self) -> str:
        return f"{self.did}#key-2"

    @property
    def key(self) -> AgreementKey:
        return AgreementKey(self.kid, self.private)

    @property
    def recipient(self) -> RecipientKey:
        return RecipientKey(self.kid, self.private.public_key())

    @property
    def signer(self) -> Ed25519Signer:
        return Ed25519Signer(f"{self.did}#key-1", self.signing)


ALICE, BOB, CAROL, MALLORY = map(Peer, ("alice", "bob", "carol", "mallory"))
KNOWN = {peer.did: peer.forms.long for peer in (ALICE, BOB, CAROL, MALLORY)}


def resolve(did: str) -> DidDocument:
    return resolve_static(did, KNOWN)


def auth(
    data: bytes,
    sender: Peer = ALICE,
    recipients: Sequence[RecipientKey] = (BOB.recipient,),
    salt: str = "",
) -> bytes:
    return pack_authcrypt(
        data,
        sender=sender.key,
        recipients=recipients,
        ephemeral=X25519PrivateKey.from_private_bytes(seed(f"ephemeral {salt}")),
        cek=seed(f"cek {salt}", 64),
        iv=seed(f"iv {salt}", 16),
    )


def anon(data: bytes, recipients: Sequence[RecipientKey] = (BOB.recipient,)) -> bytes:
    return pack_anoncrypt(
        data,
        recipients=recipients,
        ephemeral=X25519PrivateKey.from_private_bytes(seed("ephemeral anon")),
        cek=seed("cek anon", 64),
        iv=seed("iv anon", 16),
    )


def opened(data: bytes, receiver: Peer = BOB) -> Unpacked:
    return unpack(data, secrets={receiver.kid: receiver.key}, resolve=resolve)


def ping(**members: Any) -> Plaintext:
    fields: dict[str, Any] = {
        "id": "ping-1",
        "type": PING,
        "frm": ALICE.did,
        "to": (BOB.did,),
        "created_time": NOW,
        "expires_time": NOW + 3600,
        "body": {"response_requested": True},
    }
    return Plaintext(**fields | members)
