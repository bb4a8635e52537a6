"""did:key for Ed25519 (with the X25519 key made from it) and X25519."""

from typing import Any, Final

from uomp.errors import PeerError
from uomp.packets.keys import admit_ed25519
from uomp.packets.multibase import decode_multikey, encode_multikey
from uomp.protocol.did.document import DidDocument, read
from uomp.protocol.did.syntax import DidError

PREFIX: Final = "did:key:"
_CONTEXT: Final = ["https://www.w3.org/ns/did/v1.1"]
_P: Final = 2**255 - 19  # the field of Curve25519
_Y_MASK: Final = 2**255 - 1  # the top bit of an Ed25519 key is the sign of x
_SIGNING_USES: Final = (
    "authentication",
    "assertionMethod",
    "capabilityDelegation",
    "capabilityInvocation",
)


def did_key(kind: str, public: bytes) -> str:
    """Write a raw public key as a did:key.

    Raises:
        ValueError: if `kind` is unknown or `public` has not its length.
    """
    return PREFIX + encode_multikey(kind, public)


def resolve_key(did: str) -> DidDocument:
    """Make the document of a did:key, in the Multikey form.

    Raises:
        DidError: if it is not a did:key of Ed25519 or X25519, or the key is weak.
    """
    multikey = did.removeprefix(PREFIX)
    try:
        kind, public = decode_multikey(multikey)
        if kind == "Ed25519":
            return read(_signing_document(did, multikey, public), did)
    except DidError:
        raise
    except PeerError as error:
        raise DidError("A did:key has a key that cannot be used.") from error
    if kind != "X25519":
        raise DidError("A did:key has a key of a kind that is not understood.")
    made = _document(did, multikey)
    return read({**made, "keyAgreement": [f"{did}#{multikey}"]}, did)


def _document(did: str, multikey: str) -> dict[str, Any]:
    methods = [_method(did, multikey)]
    return {"@context": _CONTEXT, "id": did, "verificationMethod": methods}


def _signing_document(did: str, multikey: str, public: bytes) -> dict[str, Any]:
    admit_ed25519(public)
    agreement = encode_multikey("X25519", to_x25519(public))
    uses = {use: [f"{did}#{multikey}"] for use in _SIGNING_USES}
    made = _document(did, multikey) | uses
    return {**made, "keyAgreement": [_method(did, agreement)]}


def _method(did: str, multikey: str) -> dict[str, str]:
    return {
        "id": f"{did}#{multikey}",
        "type": "Multikey",
        "controller": did,
        "publicKeyMultibase": multikey,
    }


def to_x25519(public: bytes) -> bytes:
    """Map an admitted Ed25519 public key to X25519 (RFC 7748, 4.1)."""
    y = int.from_bytes(public, "little") & _Y_MASK
    return ((1 + y) * pow(1 - y, -1, _P) % _P).to_bytes(32, "little")
