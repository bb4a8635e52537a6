"""Authenticated envelopes from message to wire bytes, and back to a checked message.

The floor is what the algorithm asks of a library, called alone on ready keys and ready
bytes: one ephemeral key, two X25519 exchanges, SHA-256 for the key derivation, AES key
wrap, AES-256-CBC and HMAC-SHA-512. No JSON, no base64, no documents, no checks.

Between two peers who know each other one of the exchanges is of two long-lived keys:
its result is kept with our key. `first contact` is the same without that, with the
documents resolved already.
"""

import hashlib
import hmac
import secrets
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES256
from cryptography.hazmat.primitives.ciphers.modes import CBC
from cryptography.hazmat.primitives.keywrap import aes_key_unwrap, aes_key_wrap

from bench.harness import Result, rates, result
from uomp.packets.multibase import encode_multikey
from uomp.protocol.did import peer4
from uomp.protocol.did.document import DidDocument
from uomp.protocol.did.resolve import resolve_static
from uomp.protocol.didcomm.agreement import AgreementKey, RecipientKey
from uomp.protocol.didcomm.authcrypt import pack_authcrypt
from uomp.protocol.didcomm.build import plaintext
from uomp.protocol.didcomm.message import Message, Plaintext
from uomp.protocol.didcomm.policy import check
from uomp.protocol.didcomm.unpack import unpack

SIZES = (1_000, 1_000_000)
NOW = 1_800_000_000
HEADER = bytes(600)  # a protected header in base64url is about as long
INFO = bytes(160)  # so is the fixed input of the key derivation


class Node(NamedTuple):
    did: str
    long: str
    private: X25519PrivateKey

    @property
    def kid(self) -> str:
        return f"{self.did}#key-2"


def make_node(endpoint: str) -> Node:
    private = X25519PrivateKey.generate()
    signing = Ed25519PrivateKey.generate().public_key().public_bytes_raw()
    did = peer4.create(
        peer4.node_document(
            encode_multikey("Ed25519", signing),
            encode_multikey("X25519", private.public_key().public_bytes_raw()),
            endpoint,
        )
    )
    return Node(did.short, did.long, private)


class Pair:
    """A sender and a receiver who know the documents of each other."""

    def __init__(self, *, remember: bool) -> None:
        self.alice = make_node("https://alice.example/didcomm")
        self.bob = make_node("https://bob.example/didcomm")
        self.known = {node.did: node.long for node in (self.alice, self.bob)}
        self.remember = remember
        self.keys = {n.kid: AgreementKey(n.kid, n.private) for n in self.nodes()}

    def nodes(self) -> tuple[Node, Node]:
        return self.alice, self.bob

    def key(self, node: Node) -> AgreementKey:
        if self.remember:
            return self.keys[node.kid]
        return AgreementKey(node.kid, node.private)

    def resolve(self, did: str) -> DidDocument:
        return resolve_static(did, self.known)

    def message(self, size: int) -> Plaintext:
        return Plaintext(
            id="bench-0000000000000000",
            type="https://uomp.org/uomp/1.0/payload-ready",
            frm=self.alice.did,
            to=(self.bob.did,),
            created_time=NOW,
            expires_time=NOW + 3600,
            body={"text": "x" * size},
        )

    def pack(self, message: Plaintext) -> bytes:
        kid = self.bob.kid
        receiver = RecipientKey(kid, self.resolve(self.bob.did).agreement_key(kid))
        return pack_authcrypt(
            plaintext(message),
            sender=self.key(self.alice),
            recipients=[receiver],
            ephemeral=X25519PrivateKey.generate(),
            cek=secrets.token_bytes(64),
            iv=secrets.token_bytes(16),
        )

    def unpack(self, packed: bytes) -> Message:
        unpacked = unpack(
            packed,
            secrets={self.bob.kid: self.key(self.bob)},
            resolve=self.resolve,
        )
        return check(
            unpacked,
            our_dids=(self.bob.did,),
            now=NOW,
            require="authcrypt",
            max_bare=2 * max(SIZES),
        )


def pack_floor(
    data: bytes,
) -> tuple[Callable[[], tuple[bytes, ...]], tuple[bytes, ...]]:
    """Return the bare calls of a pack, and what they make once."""
    sender, receiver = X25519PrivateKey.generate(), X25519PrivateKey.generate()
    peer = receiver.public_key()
    padded = data + bytes(16 - len(data) % 16)

    def floor() -> tuple[bytes, ...]:
        ephemeral = X25519PrivateKey.generate()
        cek, iv = secrets.token_bytes(64), secrets.token_bytes(16)
        encryptor = Cipher(AES256(cek[32:]), CBC(iv)).encryptor()
        sealed = encryptor.update(padded) + encryptor.finalize()
        tag = hmac.digest(cek[:32], HEADER + iv + sealed, "sha512")[:32]
        secret = ephemeral.exchange(peer) + sender.exchange(peer)
        kek = hashlib.sha256(secret + INFO + tag).digest()
        return aes_key_wrap(kek, cek), iv, sealed, tag, kek

    return floor, floor()


def unpack_floor(made: tuple[bytes, ...]) -> Callable[[], bytes]:
    wrapped, iv, sealed, tag, kek = made
    receiver = X25519PrivateKey.generate()
    once = X25519PrivateKey.generate().public_key()
    sender = X25519PrivateKey.generate().public_key()

    def floor() -> bytes:
        secret = receiver.exchange(once) + receiver.exchange(sender)
        hashlib.sha256(secret + INFO + tag).digest()
        cek = aes_key_unwrap(kek, wrapped)
        hmac.digest(cek[:32], HEADER + iv + sealed, "sha512")
        decryptor = Cipher(AES256(cek[32:]), CBC(iv)).decryptor()
        return decryptor.update(sealed) + decryptor.finalize()

    return floor


def run() -> list[Result]:
    made: list[Result] = []
    friends, strangers = Pair(remember=True), Pair(remember=False)
    for size in SIZES:
        message, unknown = friends.message(size), strangers.message(size)
        data = plaintext(message)
        packing, once = pack_floor(data)
        for verb, ours, new, floor in (
            (
                "pack",
                partial(friends.pack, message),
                partial(strangers.pack, unknown),
                packing,
            ),
            (
                "unpack",
                partial(friends.unpack, friends.pack(message)),
                partial(strangers.unpack, strangers.pack(unknown)),
                unpack_floor(once),
            ),
        ):
            measured = rates({"ours": ours, "new": new, "floor": floor})
            first = {"ours": measured.pop("new"), "floor": measured["floor"]}
            made.append(result(f"authcrypt {verb}", size, measured))
            made.append(result(f"authcrypt {verb}, first contact", size, first))
    return made
