"""DID rotation: the old DID says, in a JWT of its own, which DID comes after it."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from uomp.packets.signing import Signer
from uomp.protocol.did.document import DidDocument
from uomp.protocol.did.syntax import did_of, same_did
from uomp.protocol.didcomm import jws
from uomp.protocol.didcomm.refusal import Problem, RefusalError, malformed

MAX_JWT_CHARS: Final = 64 * 1024  # it may name two long-form DIDs, one of them twice
MAX_AHEAD_SECONDS: Final = 120  # how far another clock may be ahead of ours
_MAX_TIME: Final = 2**53 - 1


class FromPrior(msgspec.Struct, frozen=True, kw_only=True):
    """A rotation that `iss` has signed with its key `kid`.

    `sub` is the DID that comes after it, None if the relation ends. Times are in epoch
    seconds; the receiver keeps `iat`, and takes no rotation of `iss` that is older.
    """

    iss: str
    kid: str
    iat: int
    sub: str | None = None
    exp: int | None = None


def sign_prior(*, iss: str, sub: str | None, iat: int, signer: Signer) -> str:
    """Return the JWT that says `iss` is now `sub`; `signer` is a key of `iss`.

    `iat` is in epoch seconds. Without `sub` it ends the relation.
    """
    claims: dict[str, Any] = {"iss": iss, "iat": iat}
    return jws.sign_jwt(claims if sub is None else claims | {"sub": sub}, signer)


def verify_prior(
    text: object, sender: str | None, resolve: Callable[[str], DidDocument]
) -> FromPrior:
    """Verify `from_prior` of a message whose sender is `sender`; times apart.

    Nothing is resolved for a rotation that could not be right anyway.

    Raises:
        RefusalError: if `iss` did not sign it, or it is not about the sender.
        PeerError: if `resolve` fails, or `iss` has no such key.
    """
    if not isinstance(text, str) or len(text) > MAX_JWT_CHARS:
        raise malformed("A rotation is no text, or too long.")
    claims, signature = jws.read_jwt(text)
    iss, sub = _read_names(claims)
    # 1. It is about the sender; one that ends a relation comes without sender.
    if not (sub == sender or (sub and sender and same_did(sub, sender))):
        raise RefusalError(Problem.UNTRUSTED, "A rotation is to another DID.")
    # 2. It goes from one DID to another.
    if sub is not None and same_did(iss, sub):
        raise RefusalError(Problem.UNTRUSTED, "A rotation leads to where it began.")
    # 3. The key is one of the old DID.
    if not same_did(did_of(signature.kid), iss):
        raise RefusalError(Problem.UNTRUSTED, "A rotation is signed by another DID.")
    key = resolve(iss).authentication_key(signature.kid)
    # 4. The signature verifies.
    jws.check_signature(signature, key)
    # 5. It says when it was made.
    iat, exp = _read_times(claims)
    return FromPrior(iss=iss, sub=sub, kid=signature.kid, iat=iat, exp=exp)


def check_times(prior: FromPrior, now: int) -> None:
    """Refuse a rotation that has expired or was signed in the future.

    Raises:
        RefusalError: in these cases.
    """
    if prior.iat > now + MAX_AHEAD_SECONDS:
        raise RefusalError(Problem.TIME, "A rotation comes from the future.")
    if prior.exp is not None and prior.exp <= now:
        raise RefusalError(Problem.TIME, "A rotation has expired.")


def _read_names(claims: Mapping[str, Any]) -> tuple[str, str | None]:
    iss, sub = claims.get("iss"), claims.get("sub")
    if not isinstance(iss, str) or not isinstance(sub, str | None):
        raise malformed("A rotation does not name its DIDs.")
    return iss, sub


def _read_times(claims: Mapping[str, Any]) -> tuple[int, int | None]:
    """Return when it begins to hold, and when it ends if it does."""
    times = [claims.get("iat"), claims.get("exp", _MAX_TIME), claims.get("nbf", 0)]
    if not all(type(time) is int and 0 <= time <= _MAX_TIME for time in times):
        raise malformed("A rotation has a time that is no whole number.")
    return max(claims["iat"], claims.get("nbf", 0)), claims.get("exp")
