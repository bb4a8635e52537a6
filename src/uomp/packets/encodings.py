"""How a payload is carried: as JSON, compressed, or sealed (A-95)."""

import gzip
import zlib
from typing import Any, Final

from uomp.errors import Code, PeerError, VerificationError
from uomp.packets import canonical, strict
from uomp.packets.header import violation
from uomp.packets.multibase import EncodingError, b64_decode, b64_encode

RAW: Final = "raw_json"
GZIP: Final = "base64_encoded_gzip"
SEALED: Final = "x25519_aes256gcm"
ENCODINGS: Final = (RAW, GZIP, SEALED)

MAX_UNPACKED_BYTES: Final = 64 << 20
# A small packet must not cost a large memory (threat T30): over the first MiB, text may
# be a hundred times its compressed bytes. Real conversations reach about twenty.
FREE_BYTES: Final = 1 << 20
MAX_RATIO: Final = 100


def compress(payload: object) -> str:
    """Return the payload to carry for a JSON value.

    Raises:
        CanonicalError: for what JCS cannot write.
    """
    return b64_encode(gzip.compress(canonical.encode(payload), mtime=0))


def decompress(payload: object) -> Any:  # noqa: ANN401
    """Read a compressed payload: one gzip member, nothing behind it, within limits.

    Raises:
        VerificationError: `PACKET_TOO_LARGE` or `SCHEMA_VIOLATION`.
    """
    if not isinstance(payload, str):
        raise violation("a compressed payload is not base64")
    try:
        raw = b64_decode(payload)
    except EncodingError as error:
        raise violation("a compressed payload is not base64") from error
    try:
        # Tiny values cost far more than their bytes: their number is bounded as well.
        return strict.loads(_inflate(raw), max_bytes=MAX_UNPACKED_BYTES).value
    except VerificationError:
        raise
    except PeerError as error:
        if error.code is Code.PACKET_TOO_LARGE:
            message = "A compressed payload holds too many values."
            raise VerificationError(error.code, message) from error
        raise violation("a compressed payload is not strict JSON") from error


def _inflate(raw: bytes) -> bytes:
    most = min(MAX_UNPACKED_BYTES, max(FREE_BYTES, MAX_RATIO * len(raw)))
    machine = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    try:
        plain = machine.decompress(raw, most + 1)
    except zlib.error as error:
        raise violation("a compressed payload is not gzip") from error
    if len(plain) > most:
        raise VerificationError(
            Code.PACKET_TOO_LARGE, "A compressed payload unpacks to too much."
        )
    if not machine.eof:
        raise violation("a compressed payload is cut off")
    if machine.unused_data:
        raise violation("a compressed payload has something behind it")
    return plain
