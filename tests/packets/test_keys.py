"""Signatures (RFC 8032) and which foreign keys are admitted."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import (
    Ed25519PrivateKey,
    Ed25519PublicKey,
)
from cryptography.hazmat.primitives.asymmetric.x25519 import (
    X25519PrivateKey,
    X25519PublicKey,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from uomp.errors import Code, VerificationError
from uomp.packets.keys import admit_ed25519, admit_x25519
from uomp.packets.signing import Ed25519Signer, verify_ed25519

VECTORS = Path(__file__).parents[1] / "vectors"
RFC = VECTORS / "rfc8032-rfc7748"

# Affine arithmetic on edwards25519 as RFC 8032, 5.1 defines it, for the tests alone.
P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P
SQRT_M1 = pow(2, (P - 1) // 4, P)
Point = tuple[int, int]
IDENTITY: Point = (0, 1)


def add(a: Point, b: Point) -> Point:
    (x1, y1), (x2, y2) = a, b
    cross = D * x1 * x2 * y1 * y2 % P
    x = (x1 * y2 + x2 * y1) * pow(1 + cross, -1, P) % P
    y = (y1 * y2 + x1 * x2) * pow(1 - cross, -1, P) % P
    return x, y


def multiply(scalar: int, point: Point) -> Point:
    made = IDENTITY
    while scalar:
        if scalar & 1:
            made = add(made, point)
        point = add(point, point)
        scalar >>= 1
    return made


def decode(raw: bytes) -> Point | None:
    number = int.from_bytes(raw, "little")
    sign, y = number >> 255, number & (2**255 - 1)
    x_squared = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(x_squared, (P + 3) // 8, P)
    if (x * x - x_squared) % P:
        x = x * SQRT_M1 % P
    if y >= P or (x * x - x_squared) % P or (not x and sign):
        return None
    return (x if x & 1 == sign else P - x), y


def encode(point: Point) -> bytes:
    x, y = point
    return (y | (x & 1) << 255).to_bytes(32, "little")


def has_prime_order(raw: bytes) -> bool:
    point = decode(raw)
    return point not in (None, IDENTITY) and multiply(L, point) == IDENTITY


def torsion_points() -> list[Point]:
    """Return the eight points whose order divides 8."""
    seed = 2
    while True:
        point = decode(seed.to_bytes(32, "little"))
        if point:
            generator = multiply(L, point)
            if multiply(4, generator) != IDENTITY:
                return [multiply(n, generator) for n in range(8)]
        seed += 1


TORSION = torsion_points()


def is_admitted(raw: bytes, kind: str = "Ed25519") -> bool:
    admit = admit_ed25519 if kind == "Ed25519" else admit_x25519
    try:
        admitted = admit(raw).public_bytes_raw()
    except VerificationError as error:
        return error.code is not Code.KEY_REFUSED
    return admitted == raw


def public_key(seed: bytes) -> bytes:
    key = Ed25519PrivateKey.from_private_bytes(seed)
    return key.public_key().public_bytes_raw()


def wycheproof(name: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    document = json.loads((VECTORS / "wycheproof" / f"{name}_test.json").read_bytes())
    groups = document["testGroups"]
    return [(group, case) for group in groups for case in group["tests"]]


@pytest.mark.requirement("SYS-11")
def test_the_signatures_of_rfc_8032_come_out_byte_for_byte() -> None:
    cases = json.loads((RFC / "ed25519-rfc8032-7.1.json").read_bytes())
    assert len(cases) == 4
    for case in cases:
        secret, public, message, signature = (
            bytes.fromhex(case[name])
            for name in ("secret", "public", "message", "signature")
        )
        signer = Ed25519Signer("did:x#1", Ed25519PrivateKey.from_private_bytes(secret))
        assert signer.sign(message) == signature
        assert verify_ed25519(admit_ed25519(public), signature, message)


@pytest.mark.requirement("SYS-11")
def test_the_published_sign_input_lines_come_out_byte_for_byte() -> None:
    lines = (RFC / "ed25519-sign-input-first128.txt").read_text().split()
    lines += (RFC / "ed25519-1023-byte-message.txt").read_text().split()
    assert len(lines) == 129
    for line in lines:
        secret, public, message, signed = map(bytes.fromhex, line.split(":")[:4])
        key = Ed25519PrivateKey.from_private_bytes(secret[:32])
        signer = Ed25519Signer("did:x#1", key)
        assert signer.sign(message) + message == signed
        assert verify_ed25519(admit_ed25519(public), signed[:64], message)
        assert not verify_ed25519(admit_ed25519(public), signed[:64], message + b"\0")


@pytest.mark.requirement("SYS-11")
def test_all_wycheproof_ed25519_cases_are_judged_as_expected() -> None:
    cases = wycheproof("ed25519")
    for group, case in cases:
        key = admit_ed25519(bytes.fromhex(group["publicKey"]["pk"]))
        signature, message = bytes.fromhex(case["sig"]), bytes.fromhex(case["msg"])
        expected = case["result"] == "valid"
        assert verify_ed25519(key, signature, message) is expected, case["tcId"]
    assert Counter(case["result"] for _, case in cases) == {"valid": 88, "invalid": 63}


@pytest.mark.parametrize("size", [0, 1, 63, 65, 128])
def test_a_signature_of_another_length_is_just_invalid(size: int) -> None:
    key = admit_ed25519(public_key(bytes(32)))
    assert not verify_ed25519(key, bytes(size), b"message")


def test_a_signer_does_not_show_its_key() -> None:
    signer = Ed25519Signer("did:x#1", Ed25519PrivateKey.from_private_bytes(bytes(32)))
    assert repr(signer) == "Ed25519Signer(key_id='did:x#1')"


@pytest.mark.requirement("SYS-13")
def test_all_wycheproof_x25519_cases_are_judged_as_expected() -> None:
    judged: Counter[str] = Counter()
    for _, case in wycheproof("x25519"):
        raw = bytes.fromhex(case["public"])
        shared = bytes.fromhex(case["shared"])
        if is_admitted(raw, "X25519"):
            private = X25519PrivateKey.from_private_bytes(
                bytes.fromhex(case["private"])
            )
            assert private.exchange(admit_x25519(raw)) == shared, case["tcId"]
            judged["agreed, " + case["result"]] += 1
        elif not any(shared):
            assert "ZeroSharedSecret" in case["flags"]
            judged["refused, zero secret"] += 1
        else:
            # The exceptions: the value is over p - 1 or has the top bit. RFC 7748 would
            # reduce it. Two texts for one key would be two identities: refused.
            assert int.from_bytes(raw, "little") >= P
            assert case["result"] == "acceptable"
            judged["refused, not canonical"] += 1
    assert judged == {
        "agreed, valid": 264,
        "agreed, acceptable": 210,
        "refused, zero secret": 31,
        "refused, not canonical": 13,
    }


@pytest.mark.requirement("SYS-13")
def test_the_secrets_of_rfc_7748_are_agreed() -> None:
    text = (RFC / "x25519-rfc7748.txt").read_text()
    field = re.compile(r"(INPUT_SCALAR|INPUT_U|OUTPUT_U) = ([0-9a-f]{64})")
    values = [bytes.fromhex(value) for _, value in field.findall(text)]
    assert len(values) == 9
    admitted = 0
    for scalar, raw, shared in zip(
        values[::3], values[1::3], values[2::3], strict=True
    ):
        # The second has its top bit set, which RFC 7748 masks and we refuse.
        if is_admitted(raw, "X25519"):
            key = X25519PrivateKey.from_private_bytes(scalar)
            assert key.exchange(admit_x25519(raw)) == shared
            admitted += 1
    assert admitted == 2


def test_the_identity_as_key_would_verify_one_signature_for_any_message() -> None:
    """The reason for the admission check: the library alone takes this."""
    raw = encode(IDENTITY)
    forged = raw + bytes(32)
    key = Ed25519PublicKey.from_public_bytes(raw)
    assert all(verify_ed25519(key, forged, bytes([n])) for n in range(16))
    assert not is_admitted(raw)


def test_the_eight_points_of_small_order_are_refused_in_every_encoding() -> None:
    encodings = {encode(point) for point in TORSION}
    assert len(encodings) == 8
    for raw in encodings:
        number = int.from_bytes(raw, "little")
        variants = {number, number ^ 1 << 255}
        variants |= {v + P for v in (number, number & (2**255 - 1)) if v + P < 2**255}
        for variant in variants:
            assert not is_admitted(variant.to_bytes(32, "little"))


@given(st.binary(min_size=32, max_size=32))
@settings(max_examples=30)
def test_an_honest_key_is_admitted_and_never_with_torsion_added(seed: bytes) -> None:
    raw = public_key(seed)
    point = decode(raw)
    assert point is not None
    assert is_admitted(raw)
    for torsion in TORSION[1:]:
        mixed = encode(add(point, torsion))
        assert not is_admitted(mixed)


@given(st.binary(min_size=32, max_size=32))
@settings(max_examples=60)
def test_any_32_bytes_are_admitted_exactly_if_a_point_of_prime_order(
    raw: bytes,
) -> None:
    assert is_admitted(raw) == has_prime_order(raw)


@pytest.mark.parametrize("y", [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, P - 1, P - 2, P - 3])
@pytest.mark.parametrize("sign", [0, 1])
def test_small_values_of_y_are_judged_as_by_definition(y: int, sign: int) -> None:
    raw = (y | sign << 255).to_bytes(32, "little")
    assert is_admitted(raw) == has_prime_order(raw)


@pytest.mark.parametrize("kind", ["Ed25519", "X25519"])
@pytest.mark.parametrize("number", [P, P + 1, P + 9, P + 18, 2**255 - 1, 2**256 - 1])
def test_encodings_over_the_field_are_refused(kind: str, number: int) -> None:
    assert not is_admitted(number.to_bytes(32, "little"), kind)


@pytest.mark.parametrize("kind", ["Ed25519", "X25519"])
@pytest.mark.parametrize("size", [0, 1, 31, 33, 64])
def test_keys_of_another_length_are_refused(kind: str, size: int) -> None:
    assert not is_admitted(bytes([9] * size), kind)


def test_x25519_points_of_small_order_are_refused_as_the_library_would_agree() -> None:
    # u of the points of order 4 and 8 on the curve, and of order 4 on its twist.
    eights = {(1 + y) * pow(1 - y, -1, P) % P for _, y in TORSION if y != 1}
    for u in eights | {0, 1, P - 1}:
        raw = u.to_bytes(32, "little")
        assert not is_admitted(raw, "X25519")
        with pytest.raises(ValueError, match=r"[Ee]rror computing shared key"):
            X25519PrivateKey.from_private_bytes(bytes(range(32))).exchange(
                X25519PublicKey.from_public_bytes(raw)
            )


@given(st.binary(min_size=32, max_size=32))
@settings(max_examples=50)
def test_honest_x25519_keys_are_admitted(seed: bytes) -> None:
    key = X25519PrivateKey.from_private_bytes(seed).public_key()
    assert is_admitted(key.public_bytes_raw(), "X25519")
