"""Verify a packet with nothing but its issuer's DID document.

    python examples/verify_packet.py packet.json did.json

Needs `cryptography` and `rfc8785`, and no line of this project: it shows what another
implementation has to do. docs/packets.md says what is left out here.
"""

import base64
import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import rfc8785
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
SIGNED = ("header", "integrity_hash", "attachments", "fallback_text_representation")


def read(data: bytes) -> Any:  # noqa: ANN401
    """Read JSON in UTF-8 in which no name comes twice."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) != len(pairs):
            raise ValueError("a name comes twice")
        return dict(pairs)

    return json.loads(data.decode(), object_pairs_hook=unique)


def key_of(document: dict[str, Any], key_id: str) -> Ed25519PublicKey:
    """Return the Ed25519 key that the document has under this DID URL."""
    for method in document["verificationMethod"]:
        did, _, fragment = method["id"].partition("#")
        if did in {"", document["id"]} and fragment == key_id.partition("#")[2]:
            number = 0
            for char in method["publicKeyMultibase"].removeprefix("z"):
                number = number * 58 + BASE58.index(char)
            raw = number.to_bytes(34)  # 0xed 0x01, then the key
            if raw[:2] == b"\xed\x01":
                return Ed25519PublicKey.from_public_bytes(raw[2:])
    raise ValueError("the document has no such key")


def verify(data: bytes, document: dict[str, Any]) -> dict[str, Any]:
    """Return the packet; raise an exception if any check fails."""
    packet = read(data)
    signature, names = packet["signature"], [name for name in SIGNED if name in packet]
    if packet["header"]["protocol_version"].partition(".")[0] != "1":
        raise ValueError("another version")
    if set(packet) != {*names, "payload", "signature"}:
        raise ValueError("something is not under the signature")
    if signature["signed_data"] != names:
        raise ValueError("something else is signed than must be")
    if signature["algorithm"] not in {"Ed25519", "EdDSA"}:
        raise ValueError("another algorithm")
    issuer = signature["public_key_id"].partition("#")[0]
    known = {document["id"], *document.get("alsoKnownAs", [])}
    if not {issuer, packet["header"]["agent_id"]} <= known:
        raise ValueError("signed by another")
    signed = rfc8785.dumps({name: packet[name] for name in names})
    value = base64.b64decode(signature["signature_value"], validate=True)
    key_of(document, signature["public_key_id"]).verify(value, signed)
    digest = hashlib.sha256(rfc8785.dumps(packet["payload"])).hexdigest()
    if packet["integrity_hash"] != f"sha256:{digest}":
        raise ValueError("the payload is not the one that was signed")
    return packet  # type: ignore[no-any-return]


if __name__ == "__main__":
    if len(sys.argv) != 3:  # noqa: PLR2004 - the two files
        sys.exit("usage: verify_packet.py PACKET.json DID_DOCUMENT.json")
    packet_file, did_file = map(Path, sys.argv[1:])
    header = verify(packet_file.read_bytes(), read(did_file.read_bytes()))["header"]
    print(f"Good: {header['packet_id']} of {header['agent_id'][:60]}")
