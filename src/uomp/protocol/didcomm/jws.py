"""Signed messages: JWS in JSON with EdDSA, and JWTs of the same making.

The key id stands in the protected header and beside it: some agents look only at one
place. Only keys of the signer's document count, never keys that a header brings.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import orjson
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from uomp.packets.multibase import b64url_decode, b64url_encode
from uomp.packets.signing import Signer, verify_ed25519
from uomp.packets.strict import loads
from uomp.protocol.didcomm.refusal import Problem, RefusalError, malformed

MEDIA_TYPE: Final = "application/didcomm-signed+json"
ALGORITHM: Final = "EdDSA"  # the name that every DIDComm agent knows
MAX_SIGNATURES: Final = 8  # each costs a verification

_ALGORITHMS: Final = frozenset({ALGORITHM, "Ed25519"})  # RFC 8037, RFC 9864
_HEADER_DEPTH: Final = 4
_MAX_HEADER_CHARS: Final = 32 * 1024
_REFUSED: Final = frozenset({"crit", "b64"})
_IN_BOTH: Final = frozenset({"kid"})

KeyOf = Callable[[str], Ed25519PublicKey]


class Signature(NamedTuple):
    """One signature, its headers checked, not yet verified."""

    kid: str
    protected: str
    body: str
    value: bytes

    @property
    def signed(self) -> bytes:
        """The bytes under the signature, made anew: several may be over 30 MB each."""
        return f"{self.protected}.{self.body}".encode()


class Signed(NamedTuple):
    """A JWS whose form is checked; `payload` is not to be trusted before `verify`."""

    payload: bytes
    signatures: tuple[Signature, ...]


def sign_message(payload: bytes, signer: Signer) -> bytes:
    """Return the signed message around plaintext bytes, in general JSON."""
    header = {"alg": ALGORITHM, "kid": signer.key_id, "typ": MEDIA_TYPE}
    protected = b64url_encode(orjson.dumps(header))
    body = b64url_encode(payload)
    value = signer.sign(f"{protected}.{body}".encode())
    signature = {
        "header": {"kid": signer.key_id},
        "protected": protected,
        "signature": b64url_encode(value),
    }
    return orjson.dumps({"payload": body, "signatures": [signature]})


def read_jws(value: Mapping[str, Any]) -> Signed:
    """Read a strictly read JSON value as a JWS, general or flattened.

    Raises:
        RefusalError: if it is not one, or not as DIDComm wants it.
        EncodingError, MalformedJson: for a broken part.
    """
    entries = value.get("signatures", [value])
    if not isinstance(entries, list) or not 1 <= len(entries) <= MAX_SIGNATURES:
        raise malformed("A signed message has no signatures, or too many.")
    if "signatures" in value and "signature" in value:
        raise malformed("A signed message is general and flattened at once.")
    body = _text(value, "payload")
    signatures = tuple(_read_signature(entry, body) for entry in entries)
    return Signed(b64url_decode(body), signatures)


def verify(signed: Signed, key_of: KeyOf) -> str:
    """Verify all signatures and return the key id of the first.

    Raises:
        RefusalError: if one does not verify.
    """
    for signature in signed.signatures:
        check_signature(signature, key_of(signature.kid))
    return signed.signatures[0].kid


def check_signature(signature: Signature, key: Ed25519PublicKey) -> None:
    """Verify one signature with an admitted key.

    Raises:
        RefusalError: if it does not verify.
    """
    if not verify_ed25519(key, signature.value, signature.signed):
        raise RefusalError(Problem.CRYPTO, "A signature does not verify.")


def sign_jwt(claims: Mapping[str, Any], signer: Signer) -> str:
    """Return a compact JWT (RFC 7519) with the signer's key id in its header."""
    header = {"alg": ALGORITHM, "kid": signer.key_id, "typ": "JWT"}
    parts = [b64url_encode(orjson.dumps(part)) for part in (header, claims)]
    signed = ".".join(parts)
    return f"{signed}.{b64url_encode(signer.sign(signed.encode()))}"


def read_jwt(text: str) -> tuple[dict[str, Any], Signature]:
    """Return the claims of a compact JWT, not to be trusted yet, and its signature.

    Raises:
        RefusalError: if it is not one, or not as DIDComm wants it.
        EncodingError, MalformedJson: for a broken part.
    """
    protected, _, rest = text.partition(".")
    body, _, value = rest.partition(".")
    entry = {"protected": protected, "signature": value}
    signature = _read_signature(entry, body)
    claims = loads(b64url_decode(body), max_depth=_HEADER_DEPTH).value
    if not isinstance(claims, dict):
        raise malformed("The claims of a JWT are no object.")
    return claims, signature


def _read_signature(entry: object, body: str) -> Signature:
    if not isinstance(entry, dict):
        raise malformed("A signature is no object.")
    text = _text(entry, "protected")
    if len(text) > _MAX_HEADER_CHARS:
        raise malformed("A header is too long.")
    protected = loads(b64url_decode(text), max_depth=_HEADER_DEPTH).value
    beside = entry.get("header", {})
    if not isinstance(protected, dict) or not isinstance(beside, dict):
        raise malformed("A header is no object.")
    # 1. No extension that must be understood, and names in one place, `kid` apart.
    if not _REFUSED.isdisjoint({*protected, *beside}):
        raise malformed("Critical extensions are not understood.")
    if not (protected.keys() & beside.keys()) <= _IN_BOTH or "alg" in beside:
        raise malformed("A header name stands in two places, or in a wrong one.")
    # 2. One list of algorithms.
    if not isinstance(alg := protected.get("alg"), str) or alg not in _ALGORITHMS:
        raise RefusalError(Problem.CRYPTO, "The signature is not one we verify.")
    # 3. One signer, wherever it is named.
    kid = protected.get("kid", beside.get("kid"))
    if not isinstance(kid, str) or beside.get("kid", kid) != kid:
        raise malformed("A signature names no signer, or two.")
    value = b64url_decode(_text(entry, "signature"))
    return Signature(kid, text, body, value)


def _text(value: Mapping[str, Any], name: str) -> str:
    text = value.get(name)
    if not isinstance(text, str):
        raise malformed("A part of a signed message is no text.")
    return text
