"""Sealed envelopes to test with."""

import json
from base64 import b64encode
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import (
    X25519PrivateKey,
)

from uomp.errors import Code, VerificationError
from uomp.packets.sealing import (
    EnvelopeInfo,
    open_sealed,
    seal,
)
from uomp.packets.signing import Ed25519Signer

VECTORS = Path(__file__).parents[1] / "vectors"
WORKED = json.loads((VECTORS / "uomp-worked.json").read_bytes())

SENDER = X25519PrivateKey.from_private_bytes(bytes(range(32)))
RECIPIENT = X25519PrivateKey.from_private_bytes(bytes(range(32, 64)))
STRANGER = X25519PrivateKey.from_private_bytes(bytes(range(64, 96)))
NONCE = bytes(range(12))
PLAINTEXT = b"# Report\nOK\n"
INFO = EnvelopeInfo(
    payload_id="pay_xxx",
    session_id="sess_xxx",
    agent_id="stock-analyst",
    timestamp="2026-07-14T10:15:00Z",
    format="text/markdown",
)
# V-7 with the commitment: the design's values.
COMMITMENT = "100b6015455970ee7d64ffb0e37078009044512970f66f09006770c8098708aa"
COMMITTED_CIPHERTEXT = "3827gcSyy/dO4gVA4w6I0m++d45a4buxEL6FlQ=="

SIGNER = Ed25519Signer("did:x#1", Ed25519PrivateKey.from_private_bytes(bytes(32)))
SIGNER_KEY = SIGNER.private_key.public_key()
OTHER_KEY = Ed25519PrivateKey.from_private_bytes(bytes([1] * 32)).public_key()

Envelope = dict[str, Any]


def sealed(plaintext: bytes = PLAINTEXT) -> Envelope:
    return seal(
        plaintext,
        INFO,
        recipient=RECIPIENT.public_key(),
        ephemeral=SENDER,
        nonce=NONCE,
    )


def literal_v7() -> Envelope:
    envelope: Envelope = json.loads(WORKED["AAD"])
    return envelope | {
        "ciphertext": WORKED["ciphertext"],
        "hash": WORKED["envelope hash"],
        "size": WORKED["size"],
    }


def with_ciphertext(envelope: Envelope, ciphertext: bytes) -> Envelope:
    """Change the ciphertext as an attacker would, with hash and size to fit."""
    return envelope | {
        "ciphertext": b64encode(ciphertext).decode(),
        "hash": f"sha256:{sha256(ciphertext).hexdigest()}",
        "size": len(ciphertext) - 16,
    }


def refusal(act: Callable[[], object]) -> Code:
    with pytest.raises(VerificationError) as caught:
        act()
    return caught.value.code


def opening_refusal(envelope: Envelope, key: X25519PrivateKey = RECIPIENT) -> Code:
    return refusal(lambda: open_sealed(envelope, key))


def flipped(text: str) -> list[str]:
    """Return the text with one bit of one character changed, for every character."""
    return [
        text[:place] + chr(ord(char) ^ bit) + text[place + 1 :]
        for place, char in enumerate(text)
        for bit in (1, 2, 4)
    ]
