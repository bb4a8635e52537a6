"""DIDs whose documents are in the DID: no network, no registry."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final

from uomp.protocol.did import key, peer2, peer4
from uomp.protocol.did.document import DidDocument
from uomp.protocol.did.syntax import (
    PEER4,
    DidError,
    check_did,
    did_of,
    is_short_form,
    same_did,
    short_form,
)

__all__ = [
    "DidError",
    "KnownForms",
    "did_of",
    "is_static",
    "resolve_static",
    "same_did",
    "short_form",
]

KnownForms = Mapping[str, str] | Callable[[str], str | None]
_CACHED_DIDS: Final = 512  # with their documents about 3 MB


def resolve_static(did: str, known_long_forms: KnownForms) -> DidDocument:
    """Return the document of a did:key, did:peer:2 or did:peer:4.

    `known_long_forms` gives the long did:peer:4 of a short one; what it gives is
    checked against the hash.

    Raises:
        DidError: for another method, a broken DID, or a short form without a long one.
    """
    if not is_short_form(did):
        check_did(did)
        return _resolve(did)
    known = known_long_forms
    long = known(did) if callable(known) else known.get(did)
    if long is None:
        raise DidError("The long form of a did:peer:4 is not known.")
    return _resolve_short(did, long)


def is_static(did: str) -> bool:
    """Tell whether `resolve_static` knows the method of this DID."""
    return did.startswith((key.PREFIX, peer2.PREFIX + ".", PEER4))


@lru_cache(maxsize=_CACHED_DIDS)
def _resolve(did: str) -> DidDocument:
    if did.startswith(key.PREFIX):
        return key.resolve_key(did)
    if did.startswith(peer2.PREFIX + "."):
        return peer2.resolve_peer2(did)
    if did.startswith(PEER4):
        return peer4.resolve_long(did)
    raise DidError("A DID is of a method that needs a registry.")


@lru_cache(maxsize=_CACHED_DIDS)
def _resolve_short(did: str, long: str) -> DidDocument:
    return peer4.resolve_short(did, long)
