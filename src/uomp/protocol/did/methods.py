"""The verification methods of a DID document: one key in any of its spellings."""

from collections.abc import Mapping
from typing import Any, Final, Literal, cast

import msgspec

from uomp.errors import PeerError
from uomp.packets.multibase import b64url_decode, base58_decode, decode_multikey
from uomp.protocol.did.syntax import DidError

KeyKind = Literal["Ed25519", "X25519", "P-256", "P-384", "P-521", "secp256k1"]

_ANY: Final = frozenset({"Ed25519", "X25519", "P-256", "P-384", "P-521", "secp256k1"})
# Type of method: the kinds of key that may stand in it. Types that are not here are
# passed over: a document may hold keys for purposes that are not ours.
_KINDS_OF_TYPE: Final = {
    "Multikey": _ANY,
    "JsonWebKey2020": _ANY,
    "JsonWebKey": _ANY,
    "Ed25519VerificationKey2018": frozenset({"Ed25519"}),
    "Ed25519VerificationKey2020": frozenset({"Ed25519"}),
    "X25519KeyAgreementKey2019": frozenset({"X25519"}),
    "X25519KeyAgreementKey2020": frozenset({"X25519"}),
    "EcdsaSecp256k1VerificationKey2019": frozenset({"secp256k1"}),
}
_KIND_OF_BASE58: Final = {
    "Ed25519VerificationKey2018": "Ed25519",
    "X25519KeyAgreementKey2019": "X25519",
    "EcdsaSecp256k1VerificationKey2019": "secp256k1",
}
_BASE58_BYTES: Final = {"Ed25519": 32, "X25519": 32, "secp256k1": 33}
_MATERIALS: Final = ("publicKeyMultibase", "publicKeyJwk", "publicKeyBase58")

# crv: (kty, bytes of one coordinate)
_CURVES: Final = {
    "Ed25519": ("OKP", 32),
    "X25519": ("OKP", 32),
    "P-256": ("EC", 32),
    "P-384": ("EC", 48),
    "P-521": ("EC", 66),
    "secp256k1": ("EC", 32),
}


class VerificationMethod(msgspec.Struct, frozen=True, kw_only=True):
    """One public key.

    `id` is an absolute DID URL. `public` is raw for the Edwards and Montgomery curves,
    a compressed SEC 1 point for the others. The key is not admitted yet.
    """

    id: str
    controller: str
    kind: KeyKind
    public: bytes


def read_key(method: Mapping[str, Any]) -> tuple[KeyKind, bytes] | None:
    """Return kind and public key of a method; None for a type that is not ours.

    Raises:
        DidError: if the type is ours and the key is missing, broken, of another kind
            than the type says, written twice, or beside its private half.
    """
    type_ = method.get("type")
    if not isinstance(type_, str) or type_ not in _KINDS_OF_TYPE:
        return None
    found = [name for name in _MATERIALS if name in method]
    if len(found) != 1:
        raise DidError("A verification method has no key, or more than one.")
    material = method[found[0]]
    try:
        kind, public = _read_material(found[0], material, type_)
    except DidError:
        raise
    except PeerError as error:
        raise DidError("A verification method has a broken key.") from error
    if kind not in _KINDS_OF_TYPE[type_]:
        raise DidError("A verification method has a key of another kind.")
    return cast("KeyKind", kind), public


def _read_material(name: str, material: object, type_: str) -> tuple[str, bytes]:
    if name == "publicKeyJwk":
        return _read_jwk(material)
    if not isinstance(material, str):
        raise DidError("A key is no text.")
    if name == "publicKeyMultibase":
        return decode_multikey(material)
    kind = _KIND_OF_BASE58.get(type_)
    if kind is None:
        raise DidError("A verification method of this type has no base58 key.")
    public = base58_decode(material)
    if len(public) != _BASE58_BYTES[kind]:
        raise DidError("A base58 key has not its length.")
    return kind, public


def _read_jwk(jwk: object) -> tuple[str, bytes]:
    if not isinstance(jwk, dict) or not isinstance(jwk.get("crv"), str):
        raise DidError("A JWK is no object, or names no curve.")
    if "d" in jwk:
        raise DidError("A JWK in a document has its private half.")
    curve = jwk["crv"]
    if curve not in _CURVES or jwk.get("kty") != _CURVES[curve][0]:
        raise DidError("A JWK is on a curve that is not known.")
    x = _coordinate(jwk, "x", curve)
    if _CURVES[curve][0] == "OKP":
        return curve, x
    y = _coordinate(jwk, "y", curve)
    return curve, bytes([2 + (y[-1] & 1)]) + x


def _coordinate(jwk: Mapping[str, Any], name: str, curve: str) -> bytes:
    text = jwk.get(name)
    if not isinstance(text, str):
        raise DidError("A JWK has a coordinate that is no text.")
    data = b64url_decode(text)
    if len(data) != _CURVES[curve][1]:
        raise DidError("A JWK has a coordinate of another length.")
    return data
