"""What a deletion proof says and signs (UOMP 19.3): pure bytes, no policy.

`memory_hash` tells what was read in a session. The draft's own formula joins keys and
values with nothing between them; `memory_hash_v2` hashes pairs, so that no two sets of
memory can have the same one.
"""

from collections.abc import Mapping
from typing import Any

from uomp.packets import canonical

_SIGNATURE = "proof_value"


def memory_hash(
    read: Mapping[str, Any], *, withheld: frozenset[str] = frozenset()
) -> str:
    """Return `sha256:` and the hash of every key with its value, sorted (A-01).

    `read` has each key that was read and its value as it was last returned. A key in
    `withheld` counts without its value, which was never shown. Nothing read gives the
    hash of nothing.

    Raises:
        CanonicalError: for a key or value that JSON cannot write.
    """
    return canonical.sha256(memory_preimage(read, withheld=withheld))


def memory_preimage(
    read: Mapping[str, Any], *, withheld: frozenset[str] = frozenset()
) -> bytes:
    """Return the bytes that `memory_hash` hashes.

    Raises:
        CanonicalError: for a key or value that JSON cannot write.
    """
    return b"".join(
        key + (b"" if name in withheld else canonical.encode(read[name]))
        for key, name in _sorted(read)
    )


def memory_hash_v2(
    read: Mapping[str, Any], *, withheld: frozenset[str] = frozenset()
) -> str:
    """Return `sha256:` and the hash of JCS of the list of keys and values (A-01).

    The arguments are those of `memory_hash`; a withheld value makes a pair of one.

    Raises:
        CanonicalError: for a key or value that JSON cannot write.
    """
    pairs = [
        [name] if name in withheld else [name, read[name]] for _, name in _sorted(read)
    ]
    return canonical.digest(pairs)


def proof_signing_input(proof: Mapping[str, Any]) -> bytes:
    """Return the bytes that are signed: JCS of the proof without `proof_value` (A-39).

    Raises:
        CanonicalError: for a proof that JSON cannot write.
    """
    return canonical.encode(
        {name: value for name, value in proof.items() if name != _SIGNATURE}
    )


def _sorted(read: Mapping[str, Any]) -> list[tuple[bytes, str]]:
    try:
        return sorted((name.encode(), name) for name in read)
    except UnicodeEncodeError as error:
        message = "A key holds half of a surrogate pair."
        raise canonical.CanonicalError(message) from error
