"""The Merkle tree of RFC 9162 against its definition, and proofs against forgery."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from uomp.packets.merkle import (
    EMPTY_ROOT,
    consistency_proof,
    inclusion_proof,
    inclusion_proofs,
    leaf_hash,
    node_hash,
    root,
    verify_consistency,
    verify_inclusion,
)

VECTORS = Path(__file__).parents[1] / "vectors"
SIZES = 40  # every tree up to here, every leaf, every older tree
OTHER = leaf_hash(b"another")


def leaves(size: int) -> list[bytes]:
    return [leaf_hash(b"leaf %d" % number) for number in range(size)]


# The definitions of RFC 9162, 2.1.1, 2.1.3.1 and 2.1.4.1, word for word from the top.
def split(size: int) -> int:
    return 1 << (size - 1).bit_length() - 1


def defined_root(hashes: list[bytes]) -> bytes:
    if len(hashes) == 1:
        return hashes[0]
    k = split(len(hashes))
    return node_hash(defined_root(hashes[:k]), defined_root(hashes[k:]))


def defined_path(m: int, hashes: list[bytes]) -> list[bytes]:
    if len(hashes) == 1:
        return []
    k = split(len(hashes))
    if m < k:
        return [*defined_path(m, hashes[:k]), defined_root(hashes[k:])]
    return [*defined_path(m - k, hashes[k:]), defined_root(hashes[:k])]


def defined_proof(m: int, hashes: list[bytes], *, known: bool = True) -> list[bytes]:
    if m == len(hashes):
        return [] if known else [defined_root(hashes)]
    k = split(len(hashes))
    if m <= k:
        return [*defined_proof(m, hashes[:k], known=known), defined_root(hashes[k:])]
    return [
        *defined_proof(m - k, hashes[k:], known=False),
        defined_root(hashes[:k]),
    ]


def includes(
    hashes: list[bytes], index: int, proof: list[bytes], leaf: bytes | None = None
) -> bool:
    return verify_inclusion(
        leaf=leaf or hashes[index],
        index=index,
        size=len(hashes),
        proof=proof,
        root=root(hashes),
    )


def grew(hashes: list[bytes], old: int, proof: list[bytes]) -> bool:
    return verify_consistency(
        old_size=old,
        new_size=len(hashes),
        old_root=root(hashes[:old]),
        new_root=root(hashes),
        proof=proof,
    )


def test_the_worked_vector_v_9() -> None:
    worked = json.loads((VECTORS / "uomp-worked.json").read_bytes())
    made = root([leaf_hash(data) for data in (b"a", b"b", b"c")])
    assert made.hex() == worked["merkle root RFC6962 [a,b,c]"]


def test_the_roots_that_rfc_6962_implementations_agree_on() -> None:
    # The inputs of the Certificate Transparency reference tests.
    inputs = [
        "",
        "00",
        "10",
        "2021",
        "3031",
        "40414243",
        "5051525354555657",
        "606162636465666768696a6b6c6d6e6f",
    ]
    hashes = [leaf_hash(bytes.fromhex(text)) for text in inputs]
    assert root([]).hex().startswith("e3b0c44298fc1c14")
    assert root(hashes[:1]).hex().startswith("6e340b9cffb37a98")
    assert root(hashes).hex().startswith("5dc9da79a70659a9")


@pytest.mark.parametrize("size", range(1, SIZES + 1))
def test_roots_and_proofs_are_as_defined_and_verify(size: int) -> None:
    hashes = leaves(size)
    assert root(hashes) == defined_root(hashes)
    assert inclusion_proofs(hashes) == [inclusion_proof(hashes, i) for i in range(size)]
    for index in range(size):
        proof = inclusion_proof(hashes, index)
        assert proof == defined_path(index, hashes)
        assert includes(hashes, index, proof)
    for old in range(1, size + 1):
        proof = consistency_proof(hashes, old)
        assert proof == defined_proof(old, hashes)
        assert grew(hashes, old, proof)
    assert consistency_proof(hashes, 0) == []
    assert grew(hashes, 0, [])


@given(st.data())
@settings(max_examples=150)
def test_no_changed_inclusion_proof_verifies(data: st.DataObject) -> None:
    size = data.draw(st.integers(2, 70))
    index = data.draw(st.integers(0, size - 1))
    hashes = leaves(size)
    proof = inclusion_proof(hashes, index)
    place = data.draw(st.integers(0, len(proof) - 1))
    assert not includes(hashes, index, [*proof[:place], OTHER, *proof[place + 1 :]])
    assert not includes(hashes, index, proof[:place] + proof[place + 1 :])
    assert not includes(hashes, index, [*proof[:place], OTHER, *proof[place:]])
    assert not includes(hashes, index, [*proof, proof[-1]])
    assert not includes(hashes, index, proof, leaf=OTHER)
    other = data.draw(st.integers(0, size - 1).filter(lambda n: n != index))
    assert not includes(hashes, other, proof)
    assert not includes(hashes, index, proof, leaf=hashes[other])


@given(st.data())
@settings(max_examples=150)
def test_no_changed_consistency_proof_verifies(data: st.DataObject) -> None:
    size = data.draw(st.integers(2, 70))
    old = data.draw(st.integers(1, size - 1))
    hashes = leaves(size)
    proof = consistency_proof(hashes, old)
    place = data.draw(st.integers(0, len(proof) - 1))
    assert not grew(hashes, old, [*proof[:place], OTHER, *proof[place + 1 :]])
    assert not grew(hashes, old, proof[:place] + proof[place + 1 :])
    assert not grew(hashes, old, [*proof, proof[-1]])
    # The old tree held something else at one place.
    forged = list(hashes)
    forged[data.draw(st.integers(0, old - 1))] = OTHER
    assert not verify_consistency(
        old_size=old,
        new_size=size,
        old_root=root(forged[:old]),
        new_root=root(hashes),
        proof=proof,
    )


def test_a_node_is_no_leaf_and_an_odd_leaf_is_not_doubled() -> None:
    a, b, c = leaves(3)
    assert node_hash(a, b) != leaf_hash(a + b)
    assert root([a, b, c]) != root([a, b, c, c])


def test_proofs_of_impossible_places_are_refused() -> None:
    hashes = leaves(3)
    for index in (-1, 3):
        with pytest.raises(IndexError):
            inclusion_proof(hashes, index)
        assert not verify_inclusion(
            leaf=hashes[0], index=index, size=3, proof=[], root=root(hashes)
        )
    for old in (-1, 4):
        with pytest.raises(IndexError):
            consistency_proof(hashes, old)
    assert inclusion_proofs([]) == []
    assert root([]) == EMPTY_ROOT


@pytest.mark.parametrize(
    ("old_size", "new_size", "proof"),
    [
        (-1, 3, []),
        (4, 3, [OTHER]),
        (1, 3, []),
        (3, 3, [OTHER]),
        (0, 3, [OTHER]),
        (0, -1, []),
    ],
)
def test_consistency_of_impossible_sizes_does_not_verify(
    old_size: int, new_size: int, proof: list[bytes]
) -> None:
    assert not verify_consistency(
        old_size=old_size,
        new_size=new_size,
        old_root=EMPTY_ROOT,
        new_root=EMPTY_ROOT if old_size == new_size else root(leaves(3)),
        proof=proof,
    )


def test_hashes_of_another_length_do_not_verify() -> None:
    hashes = leaves(2)
    short, proof = hashes[0][:31], inclusion_proof(hashes, 0)
    assert includes(hashes, 0, proof)
    assert not includes(hashes, 0, proof, leaf=short)
    assert not includes(hashes, 0, [proof[0] + b"\0"])
    assert not grew(hashes, 1, [proof[0][:31]])


def test_a_tree_of_a_hundred_thousand_leaves_gives_short_proofs() -> None:
    hashes = [number.to_bytes(32) for number in range(100_001)]
    proof = inclusion_proof(hashes, 77_777)
    assert len(proof) == 17
    assert includes(hashes, 77_777, proof)
    assert grew(hashes, 65_537, consistency_proof(hashes, 65_537))
