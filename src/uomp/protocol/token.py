"""The capability token (UOMP section 7): its claims, its making, its checks.

A token is a compact JWS signed with EdDSA. Its claims are written as canonical JSON,
so the same claims always give the same token.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal, NamedTuple

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from uomp.errors import Code, PeerError, UompError
from uomp.packets import canonical, strict
from uomp.packets.multibase import b64url_decode, b64url_encode
from uomp.packets.signing import Signer, verify_ed25519
from uomp.packets.times import parse_time
from uomp.protocol.scope import Scopes, parse_scopes

ACCESS_TYP = "uomp-cap+jwt"
REFRESH_TYP = "uomp-refresh+jwt"
VERSION = "1.0"
MAX_TOKEN_BYTES = 6 * 1024  # an HTTP header line must hold it
# The two spellings of a time in a token agree to the second.
TIME_TOLERANCE = 1

_HEADER_MEMBERS = {"alg", "kid", "typ"}
_ALGORITHMS = ("EdDSA", "Ed25519")


class Claims(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The claims of a capability token. `iat` and `exp` are Unix seconds.

    `issued_at` and `expires_at` say the same as ISO 8601. `aud` repeats `audience`
    for generic JWT libraries (A-09). `sub` and `iss` are DIDs in their short form.
    """

    version: str
    session_id: str
    agent_id: str
    jti: str
    iss: str
    sub: str
    iat: int
    exp: int
    issued_at: str
    expires_at: str
    epoch: int
    scopes: dict[str, Any]
    profile: Literal["local", "remote"] = "local"
    audience: str | None = None
    aud: str | None = None
    limits: dict[str, int] | None = None
    allowed_endpoints: tuple[str, ...] | None = None
    allowed_fields: tuple[str, ...] | None = None
    aggregation_only: bool = False
    task_bound: bool = False

    def granted(self) -> Scopes:
        """Return the scopes, parsed."""
        return parse_scopes(self.scopes)


def thumbprint(key: Ed25519PublicKey) -> str:
    """Return the RFC 7638 thumbprint: base64url of SHA-256, 43 characters."""
    digest = canonical.sha256(canonical.encode(jwk(key))).removeprefix("sha256:")
    return b64url_encode(bytes.fromhex(digest))


def jwk(key: Ed25519PublicKey) -> dict[str, str]:
    """Return the public key as a JWK with the members of its thumbprint."""
    return {"crv": "Ed25519", "kty": "OKP", "x": b64url_encode(key.public_bytes_raw())}


def issue(claims: Claims, signer: Signer, *, typ: str = ACCESS_TYP) -> str:
    """Sign the claims; `signer.key_id` is the thumbprint of its key.

    Raises:
        PeerError: `INVALID_REQUEST`, if the grant is too large for a token.
    """
    header = {"alg": "EdDSA", "kid": signer.key_id, "typ": typ}
    made = msgspec.to_builtins(claims)
    # Defaults are left out above; these are always said (UOMP-7.2).
    made.update(
        profile=claims.profile,
        aggregation_only=claims.aggregation_only,
        task_bound=claims.task_bound,
    )
    signed = f"{_segment(header)}.{_segment(made)}"
    token = f"{signed}.{b64url_encode(signer.sign(signed.encode()))}"
    if len(token) > MAX_TOKEN_BYTES:
        raise PeerError(
            Code.INVALID_REQUEST, "The grant names too much to fit into a token."
        )
    return token


def _segment(value: object) -> str:
    return b64url_encode(canonical.encode(value))


def token_hash(token: str) -> str:
    """Return `sha256:` and the hash of the compact token (A-44)."""
    return canonical.sha256(token.encode("ascii", "replace"))


def verify(
    token: str,
    keys: Mapping[str, Ed25519PublicKey],
    *,
    now: datetime,
    typ: str = ACCESS_TYP,
) -> Claims:
    """Check everything that the token alone can show (section 7.3, 1 and 2).

    `keys` maps thumbprints to the keys this node signs tokens with.

    Raises:
        PeerError: `INVALID_TOKEN` or `TOKEN_EXPIRED`.
    """
    # 1. The shape: three segments, a header with nothing that steers a library.
    parts = _check_shape(token, typ)
    # 2. The signature, under a key of ours and the one algorithm there is.
    key = keys.get(parts.kid)
    if key is None:
        raise _invalid("its key is unknown")
    if not verify_ed25519(key, parts.signature, parts.signed):
        raise _invalid("its signature is wrong")
    # 3. The structure of the claims.
    claims = _check_claims(parts.payload)
    # 4. Both ways of saying the times agree.
    _check_times(claims)
    # 5. It has not expired; the first second of expiry is already too late.
    seconds = now.timestamp()
    if seconds >= claims.exp or now >= parse_time(claims.expires_at):
        raise PeerError(Code.TOKEN_EXPIRED, "The token has expired.")
    if claims.iat > seconds + 30:  # seconds that two clocks may differ
        raise _invalid("it was issued in the future")
    return claims


class _Parts(NamedTuple):
    kid: str
    payload: object
    signed: bytes
    signature: bytes


def _check_shape(token: str, typ: str) -> _Parts:
    if len(token) > MAX_TOKEN_BYTES or not token.isascii():
        raise _invalid("it is too long or not ASCII")
    segments = token.split(".")
    if len(segments) != 3:  # noqa: PLR2004
        raise _invalid("it has not three segments")
    try:
        raw = [b64url_decode(segment) for segment in segments]
        header, payload = strict.loads(raw[0]).value, strict.loads(raw[1]).value
    except UompError as error:
        raise _invalid("a segment is malformed") from error
    if not isinstance(header, dict) or set(header) != _HEADER_MEMBERS:
        raise _invalid("its header has other members than alg, kid and typ")
    if header["alg"] not in _ALGORITHMS or header["typ"] != typ:
        raise _invalid("its algorithm or type is another")
    if not isinstance(header["kid"], str):
        raise _invalid("its key id is no string")
    signed = token.rpartition(".")[0].encode()
    return _Parts(header["kid"], payload, signed, raw[2])


def _check_claims(payload: object) -> Claims:
    try:
        claims = msgspec.convert(payload, Claims)
        parse_scopes(claims.scopes)
    except (msgspec.ValidationError, UompError) as error:
        raise _invalid("a claim is missing or malformed") from error
    if claims.version.partition(".")[0] != "1":
        raise _invalid("its version is unknown")
    if claims.aud is not None and claims.aud != claims.audience:
        raise _invalid("aud and audience differ")
    if claims.profile == "remote" and claims.audience is None:
        raise _invalid("a remote token has no audience")
    return claims


def _check_times(claims: Claims) -> None:
    try:
        issued = parse_time(claims.issued_at).timestamp()
        expires = parse_time(claims.expires_at).timestamp()
    except UompError as error:
        raise _invalid("a time is malformed") from error
    if abs(issued - claims.iat) > TIME_TOLERANCE:
        raise _invalid("iat and issued_at differ")
    if abs(expires - claims.exp) > TIME_TOLERANCE:
        raise _invalid("exp and expires_at differ")


def _invalid(why: str) -> PeerError:
    return PeerError(Code.INVALID_TOKEN, f"The token was refused: {why}.")
