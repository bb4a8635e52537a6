"""A packet of 1 MB sealed, signed, sent, verified and opened.

The floor is every call of that road that others wrote, called alone: JSON out and in,
SHA-256, Ed25519, X25519, AES-GCM and base64.
"""

import base64
import hashlib

import orjson
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from bench.canonical import conversation
from bench.harness import Result, rates, result
from uomp.packets.canonical import encode
from uomp.packets.sealing import (
    EnvelopeInfo,
    attach_signature,
    check_envelope,
    open_sealed,
    seal,
    verify_envelope_signature,
)
from uomp.packets.signing import Ed25519Signer
from uomp.packets.strict import loads

SIZE = 1_000_000
NONCE = bytes(12)
INFO = EnvelopeInfo(
    payload_id="pay_bench",
    session_id="sess_bench",
    agent_id="did:example:agent",
    timestamp="2026-07-14T10:15:00Z",
    format="application/uomp-packet+json",
)


def run() -> list[Result]:
    recipient = X25519PrivateKey.from_private_bytes(bytes([1] * 32))
    ephemeral = X25519PrivateKey.from_private_bytes(bytes([2] * 32))
    private = Ed25519PrivateKey.from_private_bytes(bytes([3] * 32))
    public, signer = private.public_key(), Ed25519Signer("did:example:agent#1", private)
    value = conversation(size=SIZE)
    plaintext = encode(value)

    def ours() -> None:
        envelope = seal(
            encode(value),
            INFO,
            recipient=recipient.public_key(),
            ephemeral=ephemeral,
            nonce=NONCE,
        )
        sent = orjson.dumps(attach_signature(envelope, signer))
        checked = check_envelope(loads(sent).value)
        verify_envelope_signature(checked, public)
        if loads(open_sealed(checked, recipient)).value != value:
            raise AssertionError("something else came out")

    aead = AESGCM(bytes(32))

    def floor() -> None:
        packet = orjson.dumps(value)
        ephemeral.exchange(recipient.public_key())
        sealed = aead.encrypt(NONCE, packet, b"")
        hashlib.sha256(sealed).digest()
        sent = orjson.dumps({"ciphertext": base64.b64encode(sealed).decode()})
        signature = private.sign(sent)
        text = orjson.loads(sent)["ciphertext"]
        received = base64.b64decode(text)
        hashlib.sha256(received).digest()
        public.verify(signature, sent)
        recipient.exchange(ephemeral.public_key())
        if orjson.loads(aead.decrypt(NONCE, received, b"")) != value:
            raise AssertionError("something else came out")

    measured = rates({"ours": ours, "floor": floor})
    return [result("seal, sign, verify and open", len(plaintext), measured)]
