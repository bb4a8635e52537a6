"""The one way in for JSON bytes from elsewhere: I-JSON (RFC 7493), strictly read."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import orjson

from uomp.errors import Code, PeerError
from uomp.packets.canonical import (
    MAX_SAFE_INTEGER,
    CanonicalError,
    Survey,
    encode_surveyed,
    survey,
)

MAX_BYTES = 64 * 1024 * 1024  # the largest packet that this program moves
MAX_DEPTH = 64
# Tiny values cost a hundred times their bytes once they are Python objects. A packet of
# 100,000 items, each with a dozen values, has under 1,500,000.
MAX_VALUES = 2_000_000

_SMALL = 4096  # bytes; a larger text is surveyed faster, level by level
_SIMPLE = frozenset({str, bool, type(None)})
_SORTED = orjson.OPT_SORT_KEYS
_NO_STRUCTURE = bytes(set(range(256)).difference(b'",:[{'))


class MalformedJson(PeerError):  # noqa: N818
    """Bytes that are not JSON as this protocol takes it, or too many of them."""

    def __init__(self, message: str, code: Code = Code.INVALID_REQUEST) -> None:
        super().__init__(code, message)


@dataclass(frozen=True, slots=True)
class Loaded:
    """A JSON value; `canonical` if its bytes were the RFC 8785 bytes of the value."""

    value: Any
    canonical: bool


def loads(
    data: bytes,
    *,
    max_bytes: int = MAX_BYTES,
    max_depth: int = MAX_DEPTH,
    max_values: int = MAX_VALUES,
) -> Loaded:
    """Read one JSON value from UTF-8 bytes.

    Raises:
        MalformedJson: `PACKET_TOO_LARGE` over `max_bytes` or, as `check_values` counts,
            over `max_values`; `INVALID_REQUEST` for bytes that are not RFC 8259 JSON, a
            byte order mark, duplicate names, lone surrogates, numbers beyond 2^53-1 in
            magnitude (also written as decimals) and nesting over `max_depth`, which is
            at most `canonical.MAX_DEPTH`.
    """
    if len(data) > max_bytes:
        message = f"The JSON is over {max_bytes} bytes."
        raise MalformedJson(message, Code.PACKET_TOO_LARGE)
    if len(data) > max_values:
        check_values(data, max_values)
    try:
        # Refuses all that RFC 8259 has not, and nesting over 1024. It keeps the last
        # of duplicate names, and reads integers over 64 bits as floats.
        value = orjson.loads(data)
        if (
            _is_plain(data, value, max_depth)
            and orjson.dumps(value, option=_SORTED) == data
        ):
            return Loaded(value, canonical=True)
        found = survey(value)
        _check_limits(found, max_depth)
        canonical = encode_surveyed(value, found) == data
    except orjson.JSONDecodeError as error:
        raise MalformedJson("These bytes are not JSON in UTF-8.") from error
    except CanonicalError as error:
        raise MalformedJson(str(error)) from error
    # Canonical bytes cannot hide a duplicate: the parsed value would be shorter.
    if not canonical and _count_members(data) != found.members:
        raise MalformedJson("An object has two members of one name.")
    return Loaded(value, canonical)


def check_values(data: bytes, max_values: int) -> None:
    """Refuse JSON of too many values before any of them is made.

    Members count, their names do not; an empty array or object counts as two values.
    For bytes that are not JSON the count means nothing, and a parser must refuse them.

    Raises:
        MalformedJson: `PACKET_TOO_LARGE` over `max_values`.
    """
    # 1. No text has more values than bytes; most have far fewer commas and brackets.
    if len(data) <= max_values or _count_openings(data) <= max_values:
        return
    # 2. A string is a value or the name of one: two quotes each, twice as many strings.
    marks = _marks(data)
    # 3. What is left is counted where it stands outside of strings.
    if (
        marks.count(b'"') > 4 * max_values
        or _count_openings(_outside(marks)) > max_values
    ):
        message = f"The JSON has over {max_values} values."
        raise MalformedJson(message, Code.PACKET_TOO_LARGE)


def _is_plain(data: bytes, value: object, max_depth: int) -> bool:
    """Tell whether a small text holds nothing that would need a survey.

    That is: ASCII only, so that names sort alike in UTF-16, no fraction, no large
    integer, and not too deep.
    """
    return len(data) <= _SMALL and data.isascii() and _are_simple((value,), max_depth)


def _are_simple(values: Iterable[Any], depth: int) -> bool:
    for one in values:
        kind = type(one)
        if kind in _SIMPLE:
            continue
        if kind is int:
            simple = abs(one) <= MAX_SAFE_INTEGER
        elif kind is float or depth == 0:
            simple = False
        else:
            inside = one.values() if kind is dict else one
            simple = _are_simple(inside, depth - 1)
        if not simple:
            return False
    return True


def _check_limits(found: Survey, max_depth: int) -> None:
    if found.depth > max_depth:
        raise MalformedJson(f"The JSON is nested deeper than {max_depth}.")
    if found.largest_magnitude() > MAX_SAFE_INTEGER:
        raise MalformedJson("A number is beyond 2^53-1; such a number goes as text.")


def _count_members(data: bytes) -> int:
    """Count the object members of valid JSON: each has one colon outside of strings.

    A parsed value has fewer exactly if names were dropped because they came twice.
    """
    return _outside(_marks(data)).count(b":")


def _count_openings(text: bytes) -> int:
    """Count what begins a value: every one stands behind a bracket or a comma."""
    return 1 + text.count(b",") + text.count(b"[") + text.count(b"{")


def _marks(data: bytes) -> bytes:
    """Keep the marks of structure and the quotes of strings that hold such marks.

    In valid JSON two quotes side by side are one string: a colon, a comma or an opening
    bracket stands before each, and those are kept.
    """
    text = data.replace(rb"\\", b"").replace(rb"\"", b"")
    return text.translate(None, _NO_STRUCTURE).replace(b'""', b"")


def _outside(marks: bytes) -> bytes:
    """Keep the marks that stand outside of strings."""
    return b"".join(marks.split(b'"')[::2])
