"""Binary as text: base64, base64url, base58btc, and the multikeys of DID documents."""

import binascii
from typing import Final

import msgspec

from uomp.errors import Code, VerificationError

MAX_BASE58_CHARS = 256  # keys need 48; work grows with the square of the length

# kind: (multicodec number, bytes of the raw public key)
_KINDS: Final = {
    "Ed25519": (0xED, 32),
    "X25519": (0xEC, 32),
    "secp256k1": (0xE7, 33),
    "P-256": (0x1200, 33),
    "P-384": (0x1201, 49),
    "P-521": (0x1202, 67),
}
_BY_CODEC: Final = {codec: (kind, size) for kind, (codec, size) in _KINDS.items()}

_BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_BASE58_VALUES: Final = {char: value for value, char in enumerate(_BASE58)}
_BASE58_GROUP = 10  # digits handled at a time: 58^10 fits 64 bits

_TO_URL: Final = bytes.maketrans(b"+/", b"-_")
_FROM_URL: Final = bytes.maketrans(b"-_", b"+/")

# Reading base64url: the alphabet is turned into the standard one, all else into "!",
# and the text is read as a JSON string of bytes, which is the fastest strict decoder.
_ONLY_URL: Final = bytes(
    ord("+")
    if byte == ord("-")
    else ord("/")
    if byte == ord("_")
    else byte
    if chr(byte).isascii() and chr(byte).isalnum()
    else ord("!")
    for byte in range(256)
)
_BASE64_JSON: Final = msgspec.json.Decoder(bytes)
_PADDED_END: Final = (b'"', b'!"', b'=="', b'="')
# What the last character may be, by length modulo 4: its unused bits are zero.
_LAST: Final = (b"", b"", b"AQgw", b"AEIMQUYcgkosw048")

_MAX_VARINT_BYTES = 9  # the multiformats rule
_VARINT_MORE = 0x80
_VARINT_BITS = 0x7F


class EncodingError(VerificationError):
    """Text that does not decode; the code is `SCHEMA_VIOLATION`."""

    def __init__(self, message: str) -> None:
        super().__init__(Code.SCHEMA_VIOLATION, message)


def b64_encode(data: bytes) -> str:
    """Write standard base64 with padding (RFC 4648, 4)."""
    return binascii.b2a_base64(data, newline=False).decode()


def b64_decode(text: str) -> bytes:
    """Read standard base64: padded, without line breaks, unused bits zero.

    Raises:
        EncodingError: for any other text.
    """
    return _decode(_ascii(text), "A text is not standard base64.")


def b64_decode_lenient(text: str) -> bytes:
    """Read standard base64, or base64url with or without padding (A-39, A-71).

    Raises:
        EncodingError: for any other text, also for a mix of both alphabets.
    """
    message = "A text is not base64."
    data = _ascii(text)
    if b"+" in data or b"/" in data:
        return _decode(data, message)  # which refuses a mix
    if not data.endswith(b"="):
        data += b"=" * (-len(data) % 4)
    return _decode(data.translate(_FROM_URL), message)


def b64url_encode(data: bytes) -> str:
    """Write base64url without padding (RFC 7515, 2)."""
    encoded = binascii.b2a_base64(data, newline=False).translate(_TO_URL)
    return encoded.rstrip(b"=").decode()


def b64url_decode(text: str) -> bytes:
    """Read base64url without padding, unused bits zero.

    Raises:
        EncodingError: for any other text.
    """
    # Every byte outside the alphabet becomes one that no decoder takes.
    data = text.encode("utf-8", "replace").translate(_ONLY_URL)
    rest = len(data) % 4
    try:
        made: bytes = _BASE64_JSON.decode(b'"' + data + _PADDED_END[rest])
    except msgspec.DecodeError as error:
        raise EncodingError("A text is not base64url without padding.") from error
    if rest and data[-1] not in _LAST[rest]:
        raise EncodingError("A text is base64url with bits that are not used.")
    return made


def base58_encode(data: bytes) -> str:
    """Write base58btc without the multibase prefix; leading zero bytes become `1`."""
    number = int.from_bytes(data)
    groups: list[str] = []
    while number:
        number, group = divmod(number, 58**_BASE58_GROUP)
        digits = ""
        for _ in range(_BASE58_GROUP):
            group, digit = divmod(group, 58)
            digits = _BASE58[digit] + digits
        groups.append(digits)
    zeros = len(data) - len(data.lstrip(b"\0"))
    return "1" * zeros + "".join(reversed(groups)).lstrip("1")


def base58_decode(text: str, *, max_chars: int = MAX_BASE58_CHARS) -> bytes:
    """Read base58btc without the multibase prefix.

    Raises:
        EncodingError: for a text over `max_chars`, before any work, or with a character
            that base58 does not have.
    """
    if len(text) > max_chars:
        raise EncodingError(f"A base58 text is over {max_chars} characters.")
    number = 0
    try:
        for start in range(0, len(text), _BASE58_GROUP):
            group = 0
            part = text[start : start + _BASE58_GROUP]
            for char in part:
                group = group * 58 + _BASE58_VALUES[char]
            number = number * 58 ** len(part) + group
    except KeyError as error:
        raise EncodingError("A text is not base58btc.") from error
    zeros = len(text) - len(text.lstrip("1"))
    return bytes(zeros) + number.to_bytes((number.bit_length() + 7) // 8)


def decode_multibase(text: str, *, max_chars: int = MAX_BASE58_CHARS) -> bytes:
    """Read a multibase text in base58btc (`z`) or base64url without padding (`u`).

    Raises:
        EncodingError: for another base, over `max_chars` after the prefix, or for a
            text that is not in its base.
    """
    if text.startswith("z"):
        return base58_decode(text[1:], max_chars=max_chars)
    if text.startswith("u") and len(text) - 1 <= max_chars:
        return b64url_decode(text[1:])
    raise EncodingError("A multibase text is too long or in an unknown base.")


def encode_varint(number: int) -> bytes:
    """Write an unsigned multiformats varint, low 7 bits first."""
    if number < 0:
        raise ValueError("an unsigned varint has no negative numbers")
    made = bytearray()
    while number > _VARINT_BITS:
        made.append(number & _VARINT_BITS | _VARINT_MORE)
        number >>= 7
    made.append(number)
    return bytes(made)


def decode_varint(data: bytes) -> tuple[int, int]:
    """Read a varint at the start of `data`; return it and how many bytes it took.

    Raises:
        EncodingError: if it is cut, over 9 bytes, or not the shortest form.
    """
    number = 0
    for position, byte in enumerate(data[:_MAX_VARINT_BYTES]):
        number |= (byte & _VARINT_BITS) << (7 * position)
        if byte < _VARINT_MORE:
            if not byte and position:
                break
            return number, position + 1
    raise EncodingError("A varint is cut, too long, or not in its shortest form.")


def encode_multikey(kind: str, raw: bytes) -> str:
    """Write a public key as multibase `z`, multicodec prefix and raw bytes.

    Raises:
        ValueError: if `kind` is unknown or `raw` has not its length.
    """
    codec, size = _KINDS.get(kind, (0, 0))
    if not size or len(raw) != size:
        raise ValueError("not a kind of key, or not its length")
    return "z" + base58_encode(encode_varint(codec) + raw)


def decode_multikey(text: str) -> tuple[str, bytes]:
    """Read a multikey; return its kind, such as `Ed25519`, and the raw public key.

    The key is not admitted by this: see `keys`.

    Raises:
        EncodingError: if the text is not base58btc of the right length.
        VerificationError: `UNSUPPORTED_ALGORITHM` for an unknown kind of key.
    """
    if not text.startswith("z"):
        raise EncodingError("A multikey is not in base58btc.")
    data = base58_decode(text[1:])
    codec, start = decode_varint(data)
    if codec not in _BY_CODEC:
        message = "A multikey is of an unknown kind."
        raise VerificationError(Code.UNSUPPORTED_ALGORITHM, message)
    kind, size = _BY_CODEC[codec]
    raw = data[start:]
    if len(raw) != size:
        raise EncodingError("A multikey has not the length of its kind.")
    return kind, raw


def _ascii(text: str) -> bytes:
    try:
        return text.encode("ascii")
    except UnicodeEncodeError as error:
        raise EncodingError("A base64 text is not ASCII.") from error


def _decode(data: bytes, message: str) -> bytes:
    try:
        decoded = binascii.a2b_base64(data, strict_mode=True)
    except binascii.Error as error:
        raise EncodingError(message) from error
    # Unused bits of the last group are not checked by the library. A group is 3 bytes.
    rest = len(decoded) % 3 or 3
    if binascii.b2a_base64(decoded[-rest:], newline=False) != data[-4:]:
        raise EncodingError(message)
    return decoded
