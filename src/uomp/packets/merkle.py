"""The SHA-256 Merkle tree of RFC 9162 (and RFC 6962): roots, proofs, checks.

The tree is built level by level: hashes are paired, and an odd last one moves up as it
is. This gives the tree of RFC 9162, 2.1, which is defined from the top.
"""

from collections.abc import Sequence
from hashlib import sha256

HASH_BYTES = 32
EMPTY_ROOT = sha256(b"").digest()


def leaf_hash(data: bytes) -> bytes:
    """Return SHA-256(0x00 + data)."""
    return sha256(b"\0" + data).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Return SHA-256(0x01 + left + right)."""
    return sha256(b"\1" + left + right).digest()


def root(leaf_hashes: Sequence[bytes]) -> bytes:
    """Return the tree head; that of no leaves is SHA-256 of nothing."""
    return _levels(leaf_hashes)[-1][0] if leaf_hashes else EMPTY_ROOT


def inclusion_proof(leaf_hashes: Sequence[bytes], index: int) -> list[bytes]:
    """Return the audit path of one leaf, from the leaf up (RFC 9162, 2.1.3.1).

    Raises:
        IndexError: if there is no such leaf; indices start at 0.
    """
    if not 0 <= index < len(leaf_hashes):
        raise IndexError("there is no such leaf")
    return _path(_levels(leaf_hashes), index)


def inclusion_proofs(leaf_hashes: Sequence[bytes]) -> list[list[bytes]]:
    """Return the audit path of every leaf, hashing the tree only once."""
    if not leaf_hashes:
        return []
    levels = _levels(leaf_hashes)
    return [_path(levels, index) for index in range(len(leaf_hashes))]


def verify_inclusion(
    *, leaf: bytes, index: int, size: int, proof: Sequence[bytes], root: bytes
) -> bool:
    """Tell whether the leaf hash is at `index` in the tree (RFC 9162, 2.1.3.2)."""
    if not 0 <= index < size or not _are_hashes((leaf, root, *proof)):
        return False
    made, last = leaf, size - 1
    for sibling in proof:
        if not last:
            return False
        if index & 1 or index == last:
            made = node_hash(sibling, made)
            while not index & 1 and index:
                index, last = index >> 1, last >> 1
        else:
            made = node_hash(made, sibling)
        index, last = index >> 1, last >> 1
    return not last and made == root


def consistency_proof(leaf_hashes: Sequence[bytes], old_size: int) -> list[bytes]:
    """Return the proof that the first `old_size` leaves are a tree that only grew.

    The proof is empty for an old tree of no leaves or of all of them.

    Raises:
        IndexError: if the old tree is larger than the new one, or its size negative.
    """
    size = len(leaf_hashes)
    if not 0 <= old_size <= size:
        raise IndexError("the old tree is no part of the new one")
    if old_size in {0, size}:
        return []
    levels = _levels(leaf_hashes)
    level, index = 0, old_size - 1
    while index & 1:  # up to the largest whole subtree at the old right edge
        level, index = level + 1, index >> 1
    proof = [levels[level][index]] if index else []  # else it is the old root itself
    return proof + _path(levels[level:], index)


def verify_consistency(
    *,
    old_size: int,
    new_size: int,
    old_root: bytes,
    new_root: bytes,
    proof: Sequence[bytes],
) -> bool:
    """Tell whether the new tree only added to the old one (RFC 9162, 2.1.4.2).

    Any tree is consistent with that of no leaves, whose root is `EMPTY_ROOT`.
    """
    if not _are_hashes((old_root, new_root, *proof)):
        return False
    if old_size == new_size:
        return not proof and old_root == new_root
    if old_size == 0:
        return new_size > 0 and not proof and old_root == EMPTY_ROOT
    if not 0 < old_size < new_size or not proof:
        return False
    path = [old_root, *proof] if old_size & (old_size - 1) == 0 else list(proof)
    return _folds_to(path, (old_size - 1, new_size - 1), (old_root, new_root))


def _folds_to(
    path: list[bytes], edges: tuple[int, int], roots: tuple[bytes, bytes]
) -> bool:
    index, last = edges
    while index & 1:
        index, last = index >> 1, last >> 1
    old = new = path[0]
    for sibling in path[1:]:
        if not last:
            return False
        if index & 1 or index == last:
            old, new = node_hash(sibling, old), node_hash(sibling, new)
            while not index & 1 and index:
                index, last = index >> 1, last >> 1
        else:
            new = node_hash(new, sibling)
        index, last = index >> 1, last >> 1
    return not last and (old, new) == roots


def _levels(leaf_hashes: Sequence[bytes]) -> list[list[bytes]]:
    """Return all levels from the leaves up to the root; there is a leaf."""
    levels = [list(leaf_hashes)]
    while len(below := levels[-1]) > 1:
        pairs = zip(below[::2], below[1::2], strict=False)
        above = [sha256(b"\1" + left + right).digest() for left, right in pairs]
        if len(below) & 1:
            above.append(below[-1])
        levels.append(above)
    return levels


def _path(levels: list[list[bytes]], index: int) -> list[bytes]:
    """Return the siblings on the way up; an odd last hash has none on its level."""
    path: list[bytes] = []
    for level in levels[:-1]:
        sibling = index ^ 1
        if sibling < len(level):
            path.append(level[sibling])
        index >>= 1
    return path


def _are_hashes(values: Sequence[bytes]) -> bool:
    return all(len(value) == HASH_BYTES for value in values)
