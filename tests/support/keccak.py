"""Keccak-256 as the chain formulas use it: the padding of 2011, not that of SHA-3.

Written from FIPS 202 for the tests alone; the program itself needs no Keccak yet.
"""

from functools import reduce
from operator import xor

RATE = 136  # bytes taken in at a time: 1600 bits less two times 256
MASK = (1 << 64) - 1
Lanes = dict[tuple[int, int], int]


def _round_constants() -> list[int]:
    """FIPS 202, 3.2.5: bits of a linear feedback shift register."""
    made, register = [], 1
    for _ in range(24):
        constant = 0
        for j in range(7):
            constant |= (register & 1) << ((1 << j) - 1)
            register <<= 1
            register ^= 0x171 if register >> 8 else 0
        made.append(constant)
    return made


def _rotations() -> Lanes:
    """FIPS 202, 3.2.2: the offsets along the walk that starts at (1, 0)."""
    x, y, made = 1, 0, {(0, 0): 0}
    for t in range(24):
        made[x, y] = (t + 1) * (t + 2) // 2 % 64
        x, y = y, (2 * x + 3 * y) % 5
    return made


ROUND_CONSTANTS = _round_constants()
ROTATIONS = _rotations()


def _rotate(lane: int, by: int) -> int:
    return (lane << by | lane >> (64 - by)) & MASK


def _permute(lanes: Lanes) -> Lanes:
    for constant in ROUND_CONSTANTS:
        columns = [reduce(xor, (lanes[x, y] for y in range(5))) for x in range(5)]
        theta = [
            columns[(x - 1) % 5] ^ _rotate(columns[(x + 1) % 5], 1) for x in range(5)
        ]
        moved = {
            (y, (2 * x + 3 * y) % 5): _rotate(lane ^ theta[x], ROTATIONS[x, y])
            for (x, y), lane in lanes.items()
        }
        lanes = {
            (x, y): lane ^ (~moved[(x + 1) % 5, y] & moved[(x + 2) % 5, y])
            for (x, y), lane in moved.items()
        }
        lanes[0, 0] ^= constant
    return lanes


def keccak256(data: bytes, *, domain: int = 0x01) -> bytes:
    """Return the 32-byte hash; with `domain` 0x06 it is SHA3-256."""
    padded = bytearray(data + bytes(RATE - len(data) % RATE))
    padded[len(data)] ^= domain
    padded[-1] ^= 0x80
    lanes: Lanes = {(x, y): 0 for x in range(5) for y in range(5)}
    for start in range(0, len(padded), RATE):
        for place in range(RATE // 8):
            at = start + 8 * place
            lane = int.from_bytes(padded[at : at + 8], "little")
            lanes[place % 5, place // 5] ^= lane
        lanes = _permute(lanes)
    return b"".join(lanes[x, 0].to_bytes(8, "little") for x in range(4))
