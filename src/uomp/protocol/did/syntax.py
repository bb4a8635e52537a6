"""DIDs and DID URLs as text (DID Core 3), and when two name the same subject."""

import hashlib
import re
from functools import lru_cache
from typing import Final

from uomp.errors import Code, PeerError
from uomp.packets.multibase import base58_encode

# A long-form did:peer:4 carries its document; base58 work grows with the square.
MAX_DID_CHARS: Final = 8_192
MAX_FRAGMENT_CHARS: Final = 256  # a did:key fragment has 48
_CACHED_FORMS: Final = 1_024

_ID = r"(?:[A-Za-z0-9._-]|%[0-9A-Fa-f]{2})"
_DID = re.compile(rf"did:[a-z0-9]+:(?:{_ID}*:)*{_ID}+", re.ASCII)
_FRAGMENT = re.compile(r"(?:[A-Za-z0-9._~!$&'()*+,;=:@/?-]|%[0-9A-Fa-f]{2})+", re.ASCII)
PEER4: Final = "did:peer:4"
_PEER4_SHORT = re.compile(r"did:peer:4z[1-9A-HJ-NP-Za-km-z]{1,64}", re.ASCII)
_MULTIHASH_SHA256: Final = b"\x12\x20"


class DidError(PeerError):
    """A DID or its document cannot be used; the code is `DID_NOT_RESOLVED`."""

    def __init__(self, message: str) -> None:
        super().__init__(Code.DID_NOT_RESOLVED, message)


def check_did(did: object) -> str:
    """Return `did` if it is a DID of at most `MAX_DID_CHARS`.

    Raises:
        DidError: for anything else.
    """
    if not isinstance(did, str) or len(did) > MAX_DID_CHARS:
        raise DidError("A DID is no text, or too long.")
    if not _DID.fullmatch(did):
        raise DidError("A text is not a DID.")
    return did


def split_key_id(did_url: object) -> tuple[str, str]:
    """Return the DID and the fragment of `did:…#fragment`, with no path or query.

    Raises:
        DidError: for anything else.
    """
    if not isinstance(did_url, str):
        raise DidError("A key id is no text.")
    did, _, fragment = did_url.partition("#")
    if len(fragment) > MAX_FRAGMENT_CHARS or not _FRAGMENT.fullmatch(fragment):
        raise DidError("A key id is not a DID with a fragment.")
    return check_did(did), fragment


@lru_cache(maxsize=_CACHED_FORMS)
def did_of(did_url: str) -> str:
    """Return the DID of a DID URL that is a DID alone or has only a fragment.

    Raises:
        DidError: if it is neither.
    """
    return split_key_id(did_url)[0] if "#" in did_url else check_did(did_url)


def short_form(did: str) -> str:
    """Return the form to compare and store by: the short one of a did:peer:4.

    The hash of a long form is not checked here; `same_did` and resolving do that.
    """
    if not did.startswith(PEER4):
        return did
    short, _, _ = did.removeprefix(PEER4).partition(":")
    return PEER4 + short


def same_did(one: str, other: str) -> bool:
    """Tell whether both name one subject: equal, or forms of the same did:peer:4.

    A long form counts only if its hash is the hash of what it carries.
    """
    if one == other:
        return True
    if short_form(one) != short_form(other):
        return False
    return all(is_short_form(did) or hash_fits(did) for did in (one, other))


def is_short_form(did: str) -> bool:
    """Tell whether this is a did:peer:4 without its document."""
    return _PEER4_SHORT.fullmatch(did) is not None


@lru_cache(maxsize=_CACHED_FORMS)
def hash_fits(long: str) -> bool:
    """Tell whether a long-form did:peer:4 bears the hash of its encoded document."""
    if len(long) > MAX_DID_CHARS or not long.startswith(PEER4):
        return False
    claimed, colon, encoded = long.removeprefix(PEER4).partition(":")
    return bool(colon) and encoded.isascii() and claimed == hash_text(encoded)


def hash_text(encoded: str) -> str:
    """Return the multibase `z` of the SHA-256 multihash of ASCII text."""
    digest = hashlib.sha256(encoded.encode("ascii")).digest()
    return "z" + base58_encode(_MULTIHASH_SHA256 + digest)
