"""Plaintext messages to be packed."""

from typing import Any

import msgspec

from uomp.packets.canonical import encode
from uomp.protocol.didcomm.message import MEDIA_TYPE, Plaintext


def plaintext(message: Plaintext) -> bytes:
    """Return the RFC 8785 bytes of a message; `typ` and an empty `body` are added.

    Raises:
        CanonicalError: if the body or an attachment holds what JCS cannot write.
    """
    value: dict[str, Any] = msgspec.to_builtins(message)
    value["typ"] = MEDIA_TYPE
    value.setdefault("body", {})
    return encode(value)
