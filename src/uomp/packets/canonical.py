"""Canonical JSON bytes (RFC 8785) and the hash strings made from them.

`rfc8785` is the reference and the slow path. The fast path is `orjson` with sorted
keys, which writes the same bytes unless

1. a key holds a character at or over U+E000 and another one an astral character
   (RFC 8785 sorts by UTF-16 code unit, `orjson` by code point),
2. a float is whole, very small or very large (ECMAScript writes it differently),
3. a number has no place in JCS (`orjson` writes NaN as null and integers of 64 bits),
4. a value is of a type that JSON does not have (`orjson` writes UUIDs and enums).

A survey of the tree finds all four. It goes level by level, so that the work per value
is done in C and no depth can exhaust the stack.
"""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from math import isfinite
from typing import Any

import orjson
import rfc8785

from uomp.errors import Code, LocalError, VerificationError

MAX_DEPTH = 128  # containers in containers; orjson itself stops at 254
MAX_SAFE_INTEGER = 2**53 - 1  # beyond it a double cannot hold every integer

_OPTIONS = (
    orjson.OPT_SORT_KEYS
    | orjson.OPT_PASSTHROUGH_SUBCLASS
    | orjson.OPT_PASSTHROUGH_DATACLASS
    | orjson.OPT_PASSTHROUGH_DATETIME
)
_CONTAINERS = frozenset({dict, list, tuple})
_TYPES = _CONTAINERS | {int, float, bool, type(None)}  # and str
_REWRITTEN = _CONTAINERS | {float}

# From here up, any writer of shortest digits writes a fraction without an exponent.
_PLAIN_FROM = 1e-4
_MAX_PLAIN_POINT = 21  # ECMAScript Number::toString: plain up to 21 digits
_MIN_PLAIN_POINT = -6  # and down to six zeros after the point

_HIGH_BMP = re.compile("[\ue000-\uffff]")
_ASTRAL = re.compile("[\U00010000-\U0010ffff]")
_SHA256 = re.compile(r"sha256:[0-9a-f]{64}", re.ASCII)
_OTHER_HASH = re.compile(r"[a-z0-9]+(?:[-_/][a-z0-9]+)*:[0-9A-Za-z+/=_-]+", re.ASCII)


class CanonicalError(LocalError):
    """A value that RFC 8785 cannot represent; the code is `INVALID_REQUEST`."""

    def __init__(self, message: str) -> None:
        super().__init__(Code.INVALID_REQUEST, message)


@dataclass(slots=True)
class Survey:
    """What one pass over a JSON value finds; a scalar alone has depth 0."""

    depth: int = 0
    members: int = 0
    largest_integer: int = 0
    keys: set[str] = field(default_factory=set)
    floats: list[float] = field(default_factory=list)

    def largest_magnitude(self) -> float:
        """Return the largest absolute value of all numbers, 0 if there are none."""
        return max(self.largest_integer, max(map(abs, self.floats), default=0))


def encode(value: object) -> bytes:
    """Return the RFC 8785 bytes of `value`, in UTF-8.

    Objects are `dict`, arrays are `list` or `tuple`; subclasses are not taken.

    Raises:
        CanonicalError: for NaN and infinities, integers beyond 2^53-1, lone
            surrogates, keys that are not `str`, types outside JSON, and nesting over
            `MAX_DEPTH`.
    """
    return encode_surveyed(value, survey(value))


def digest(value: object) -> str:
    """Return `sha256:` and the lower-case hex hash of the canonical bytes.

    Raises:
        CanonicalError: as `encode` does.
    """
    return sha256(encode(value))


def sha256(data: bytes) -> str:
    """Return `sha256:` and the lower-case hex hash of the bytes as they are."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def check_hash_string(text: object) -> str:
    """Return `text` if it is `sha256:` and 64 lower-case hex digits.

    Raises:
        VerificationError: `UNSUPPORTED_ALGORITHM` for a hash string of another
            algorithm, `SCHEMA_VIOLATION` for anything else.
    """
    if isinstance(text, str):
        if _SHA256.fullmatch(text):
            return text
        if not text.startswith("sha256:") and _OTHER_HASH.fullmatch(text):
            message = "A hash is made with an algorithm other than SHA-256."
            raise VerificationError(Code.UNSUPPORTED_ALGORITHM, message)
    message = "A hash is not sha256: and 64 lower-case hex digits."
    raise VerificationError(Code.SCHEMA_VIOLATION, message)


def survey(value: object) -> Survey:
    """Look at every value of a tree once.

    Raises:
        CanonicalError: for a type outside JSON or nesting over `MAX_DEPTH`.
    """
    found = Survey()
    level: list[Any] = [value]
    # Most values are text: it needs no closer look.
    while level := [x for x in level if type(x) is not str]:
        types = set(map(type, level))
        if not types <= _TYPES:
            raise CanonicalError("A value has a type that JSON does not have.")
        _note_numbers(found, types, level)
        if types.isdisjoint(_CONTAINERS):
            break
        found.depth += 1
        if found.depth > MAX_DEPTH:
            raise CanonicalError(f"The nesting is deeper than {MAX_DEPTH}.")
        level = _next_level(found, types, level)
    return found


def encode_surveyed(value: object, found: Survey) -> bytes:
    """Return the canonical bytes of `value`, given the survey of this same value.

    Raises:
        CanonicalError: as `encode` does.
    """
    return encode_each([value], found)[0]


def encode_each(values: Sequence[object], found: Survey) -> list[bytes]:
    """Return the canonical bytes of each value, given one survey over all of them.

    Raises:
        CanonicalError: as `encode` does.
    """
    if found.largest_integer > MAX_SAFE_INTEGER:
        raise CanonicalError("An integer is beyond 2^53-1; write it as text.")
    if not all(map(isfinite, found.floats)):
        raise CanonicalError("JSON has no NaN and no infinity.")
    try:
        differ = _floats_differ(found.floats)
        rewritten = map(_rewrite_member, values) if differ else values
        made = [orjson.dumps(value, option=_OPTIONS) for value in rewritten]
        if _order_differs(found.keys):
            return [rfc8785.dumps(value) for value in values]  # type: ignore[arg-type]
    except (TypeError, rfc8785.CanonicalizationError) as error:
        message = "A text holds half of a surrogate pair, or a key is not text."
        raise CanonicalError(message) from error
    except RecursionError as error:
        raise CanonicalError("There is no stack left for the nesting.") from error
    return made


def format_float(number: float) -> str:
    """Write a finite float as ECMAScript does (Number::toString, radix 10)."""
    if not number:
        return "0"  # also for -0.0
    sign = "-" if number < 0 else ""
    # repr gives the same shortest digits as ECMAScript: only the notation differs.
    mantissa, _, exponent = repr(abs(number)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    point = len(digits) - len(fraction) + int(exponent or 0)
    digits = digits.rstrip("0")
    return sign + _place_point(digits, point)


def _place_point(digits: str, point: int) -> str:
    """Write 0.`digits` times 10 to the power of `point`."""
    if len(digits) <= point <= _MAX_PLAIN_POINT:
        return digits.ljust(point, "0")
    if 0 < point <= _MAX_PLAIN_POINT:
        return f"{digits[:point]}.{digits[point:]}"
    if _MIN_PLAIN_POINT < point <= 0:
        return f"0.{'0' * -point}{digits}"
    fraction = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{digits[0]}{fraction}e{point - 1:+d}"


def _note_numbers(found: Survey, types: set[type], level: list[Any]) -> None:
    if int in types:
        largest = max([abs(x) for x in level if type(x) is int])
        found.largest_integer = max(found.largest_integer, largest)
    if float in types:
        found.floats += [x for x in level if type(x) is float]


def _next_level(found: Survey, types: set[type], level: list[Any]) -> list[Any]:
    below: list[Any] = []
    if dict in types:
        objects = [x for x in level if type(x) is dict]
        found.keys.update(*objects)
        found.members += sum(map(len, objects))
        below.extend(chain.from_iterable(map(dict.values, objects)))
    if list in types or tuple in types:
        arrays = [x for x in level if type(x) is list or type(x) is tuple]
        below.extend(chain.from_iterable(arrays))
    return below


def _floats_differ(floats: list[float]) -> bool:
    """Tell whether `orjson` might write one of them otherwise than ECMAScript."""
    return bool(floats) and (
        min(map(abs, floats)) < _PLAIN_FROM or any(map(float.is_integer, floats))
    )


def _order_differs(keys: set[str]) -> bool:
    """Tell whether UTF-16 order may differ from code point order for these keys."""
    text = "".join(keys)
    return (
        not text.isascii()
        and _ASTRAL.search(text) is not None
        and _HIGH_BMP.search(text) is not None
    )


def _rewrite_float(number: float) -> float | orjson.Fragment:
    if not number.is_integer() and abs(number) >= _PLAIN_FROM:
        return number
    if abs(number) <= MAX_SAFE_INTEGER and number.is_integer():
        return int(number)
    return orjson.Fragment(format_float(number))


def _rewrite(value: Any) -> Any:  # noqa: ANN401
    """Copy a float or container, with each float as ECMAScript writes it."""
    kind = type(value)
    if kind is float:
        return _rewrite_float(value)
    if kind is dict:
        return {
            key: _rewrite(member) if type(member) in _REWRITTEN else member
            for key, member in value.items()
        }
    return [
        _rewrite(member) if type(member) in _REWRITTEN else member for member in value
    ]


def _rewrite_member(value: Any) -> Any:  # noqa: ANN401
    return _rewrite(value) if type(value) in _REWRITTEN else value
