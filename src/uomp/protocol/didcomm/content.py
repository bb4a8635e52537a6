"""Content encryption of a JWE: one that is written, and two that are only read.

`A256CBC-HS512` is the one that every DIDComm v2 agent must know.
"""

import hmac
from collections.abc import Callable
from typing import Final, NamedTuple

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305
from cryptography.hazmat.primitives.ciphers.algorithms import AES256
from cryptography.hazmat.primitives.ciphers.modes import CBC

from uomp.protocol.didcomm.refusal import Problem, RefusalError

CBC_HS512: Final = "A256CBC-HS512"
CEK_BYTES: Final = 64
IV_BYTES: Final = 16

_HALF: Final = 32  # of the CBC key: first the MAC key, then the AES key
_TAG_BYTES: Final = 32
_BLOCK: Final = 16

_SIGMA: Final = (0x61707865, 0x3320646E, 0x79622D32, 0x6B206574)
_WORD: Final = 0xFFFFFFFF
_DOUBLE_ROUNDS: Final = 10
_QUARTERS: Final = (
    (0, 4, 8, 12),
    (1, 5, 9, 13),
    (2, 6, 10, 14),
    (3, 7, 11, 15),
    (0, 5, 10, 15),
    (1, 6, 11, 12),
    (2, 7, 8, 13),
    (3, 4, 9, 14),
)


class Parts(NamedTuple):
    """What the receiver gets; `aad` is the protected header as it was received."""

    iv: bytes
    ciphertext: bytes
    tag: bytes
    aad: bytes


def encrypt(cek: bytes, iv: bytes, plaintext: bytes, aad: bytes) -> tuple[bytes, bytes]:
    """Return ciphertext and tag of A256CBC-HS512 (RFC 7518, 5.2.5)."""
    pad = _BLOCK - len(plaintext) % _BLOCK
    encryptor = Cipher(AES256(cek[_HALF:]), CBC(iv)).encryptor()
    ciphertext = encryptor.update(plaintext + bytes([pad]) * pad)
    return ciphertext, _cbc_tag(cek, Parts(iv, ciphertext, b"", aad))


def decrypt(enc: str, cek: bytes, parts: Parts) -> bytes:
    """Return the plaintext.

    Raises:
        RefusalError: if anything about it is not as the sender made it.
    """
    key_bytes, iv_bytes, tag_bytes, open_ = _CIPHERS[enc]
    sizes = (len(cek), len(parts.iv), len(parts.tag))
    if sizes != (key_bytes, iv_bytes, tag_bytes):
        raise cannot_open()
    try:
        return open_(cek, parts)
    except (InvalidTag, ValueError) as error:
        raise cannot_open() from error


def check_sizes(cek: bytes, iv: bytes) -> None:
    """Refuse our own key or IV if it has not the length that `encrypt` needs.

    Raises:
        ValueError: in that case.
    """
    if len(cek) != CEK_BYTES or len(iv) != IV_BYTES:
        raise ValueError("a content key has 64 bytes and an IV 16")


def cannot_open() -> RefusalError:
    """Return the one refusal for all that fails in decryption."""
    return RefusalError(Problem.CRYPTO, "The envelope cannot be opened.")


def _cbc_tag(cek: bytes, parts: Parts) -> bytes:
    bits = (len(parts.aad) * 8).to_bytes(8)
    signed = b"".join((parts.aad, parts.iv, parts.ciphertext, bits))
    return hmac.digest(cek[:_HALF], signed, "sha512")[:_TAG_BYTES]


def _open_cbc(cek: bytes, parts: Parts) -> bytes:
    if not hmac.compare_digest(_cbc_tag(cek, parts), parts.tag):
        raise InvalidTag
    decryptor = Cipher(AES256(cek[_HALF:]), CBC(parts.iv)).decryptor()
    padded = decryptor.update(parts.ciphertext) + decryptor.finalize()
    pad = padded[-1] if padded else 0
    if not 1 <= pad <= _BLOCK or padded[-pad:] != bytes([pad]) * pad:
        raise ValueError("padding")
    return padded[:-pad]


def _open_gcm(cek: bytes, parts: Parts) -> bytes:
    return AESGCM(cek).decrypt(parts.iv, parts.ciphertext + parts.tag, parts.aad)


def _open_xchacha(cek: bytes, parts: Parts) -> bytes:
    """Open XChaCha20-Poly1305 (draft-irtf-cfrg-xchacha-03, 2.3)."""
    key = hchacha20(cek, parts.iv[:16])
    nonce = bytes(4) + parts.iv[16:]
    sealed = parts.ciphertext + parts.tag
    return ChaCha20Poly1305(key).decrypt(nonce, sealed, parts.aad)


def hchacha20(key: bytes, nonce: bytes) -> bytes:
    """Derive the subkey of XChaCha20 from 32 bytes and the first 16 of the nonce."""
    data = key + nonce
    words = (int.from_bytes(data[i : i + 4], "little") for i in range(0, 48, 4))
    state = [*_SIGMA, *words]
    for _ in range(_DOUBLE_ROUNDS):
        for quarter in _QUARTERS:
            _quarter_round(state, *quarter)
    return b"".join(word.to_bytes(4, "little") for word in state[:4] + state[12:])


def _quarter_round(state: list[int], a: int, b: int, c: int, d: int) -> None:
    for into, other, mixed, turn in (
        (a, b, d, 16),
        (c, d, b, 12),
        (a, b, d, 8),
        (c, d, b, 7),
    ):
        state[into] = (state[into] + state[other]) & _WORD
        word = state[mixed] ^ state[into]
        state[mixed] = (word << turn | word >> (32 - turn)) & _WORD


# enc: bytes of key, iv and tag, and how it is opened
_CIPHERS: Final[dict[str, tuple[int, int, int, Callable[[bytes, Parts], bytes]]]] = {
    CBC_HS512: (CEK_BYTES, IV_BYTES, _TAG_BYTES, _open_cbc),
    "A256GCM": (32, 12, 16, _open_gcm),
    "XC20P": (32, 24, 16, _open_xchacha),
}
