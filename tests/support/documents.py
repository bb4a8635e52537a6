"""DID documents as others write them, around one key."""

from typing import Any

from didcomm_peers import ALICE
from uomp.packets.multibase import b64url_encode, encode_multikey

DID = "did:web:example.org"
SIGNING = ALICE.signing.public_key().public_bytes_raw()
AGREEING = ALICE.private.public_key().public_bytes_raw()
MULTIKEY = encode_multikey("Ed25519", SIGNING)
AGREEMENT_MULTIKEY = encode_multikey("X25519", AGREEING)
JWK = {"kty": "OKP", "crv": "Ed25519", "x": b64url_encode(SIGNING)}


def method(id_: str = "#k", **members: Any) -> dict[str, Any]:
    made = {"id": id_, "controller": DID, "type": "Multikey"}
    if not any(name.startswith("publicKey") for name in members):
        made["publicKeyMultibase"] = MULTIKEY
    return made | members


def document(**members: Any) -> dict[str, Any]:
    return {"@context": ["https://www.w3.org/ns/did/v1"], "id": DID} | members
