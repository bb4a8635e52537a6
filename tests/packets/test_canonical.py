"""RFC 8785: our bytes are those of the RFC, of V8 and of the reference package."""

import dataclasses
import datetime as dt
import decimal
import enum
import hashlib
import json
import struct
import sys
import types
import uuid
from collections import OrderedDict
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import orjson
import pytest
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st

from uomp.errors import Code, LocalError, VerificationError
from uomp.packets.canonical import (
    MAX_DEPTH,
    CanonicalError,
    check_hash_string,
    digest,
    encode,
    format_float,
    sha256,
)

VECTORS = Path(__file__).parents[1] / "vectors"
JCS = VECTORS / "rfc8785"
RFC_FILES = sorted(path.stem for path in (JCS / "input").glob("*.json"))

# RFC 8785, Appendix B: IEEE 754 bits and the expected text.
APPENDIX_B = [
    ("0000000000000000", "0"),
    ("8000000000000000", "0"),
    ("0000000000000001", "5e-324"),
    ("8000000000000001", "-5e-324"),
    ("7fefffffffffffff", "1.7976931348623157e+308"),
    ("ffefffffffffffff", "-1.7976931348623157e+308"),
    ("4340000000000000", "9007199254740992"),
    ("c340000000000000", "-9007199254740992"),
    ("4430000000000000", "295147905179352830000"),
    ("44b52d02c7e14af5", "9.999999999999997e+22"),
    ("44b52d02c7e14af6", "1e+23"),
    ("44b52d02c7e14af7", "1.0000000000000001e+23"),
    ("444b1ae4d6e2ef4e", "999999999999999700000"),
    ("444b1ae4d6e2ef4f", "999999999999999900000"),
    ("444b1ae4d6e2ef50", "1e+21"),
    ("3eb0c6f7a0b5ed8c", "9.999999999999997e-7"),
    ("3eb0c6f7a0b5ed8d", "0.000001"),
    ("41b3de4355555553", "333333333.3333332"),
    ("41b3de4355555554", "333333333.33333325"),
    ("41b3de4355555555", "333333333.3333333"),
    ("41b3de4355555556", "333333333.3333334"),
    ("41b3de4355555557", "333333333.33333343"),
    ("becbf647612f3696", "-0.0000033333333333333333"),
    ("43143ff3c1cb0959", "1424953923781206.2"),
]


def from_bits(bits: str) -> float:
    number: float
    (number,) = struct.unpack(">d", bytes.fromhex(bits.rjust(16, "0")))
    return number


def reference(value: Any) -> bytes:
    return rfc8785.dumps(value)


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth - 1):
        value = [value]
    return value


@pytest.mark.requirement("SYS-9", "PAM-5.1-1")
@pytest.mark.parametrize("name", RFC_FILES)
def test_the_files_of_the_rfc_come_out_as_published(name: str) -> None:
    value = json.loads((JCS / "input" / f"{name}.json").read_bytes())
    expected = bytes.fromhex((JCS / "outhex" / f"{name}.txt").read_text())
    assert encode(value) == expected
    assert encode(value) == (JCS / "output" / f"{name}.json").read_bytes()


def test_there_are_six_files_of_the_rfc() -> None:
    assert len(RFC_FILES) == 6


@pytest.mark.requirement("SYS-9")
@pytest.mark.parametrize(("bits", "expected"), APPENDIX_B)
def test_the_numbers_of_appendix_b_are_written_so(bits: str, expected: str) -> None:
    number = from_bits(bits)
    assert encode(number).decode() == expected
    assert encode({"a": [number]}).decode() == f'{{"a":[{expected}]}}'


@pytest.mark.requirement("SYS-9")
def test_ten_thousand_numbers_are_written_as_v8_writes_them() -> None:
    lines = (JCS / "es6-numbers-10000.txt").read_text().split()
    pairs = [line.split(",") for line in lines]
    numbers = [from_bits(bits) for bits, _ in pairs]
    expected = [text for _, text in pairs]
    assert len(numbers) == 10_000
    assert [format_float(number) for number in numbers] == expected
    # One by one each takes its own path; together all take the slow one.
    assert [encode(number).decode() for number in numbers] == expected
    assert encode(numbers).decode() == f"[{','.join(expected)}]"


@pytest.mark.requirement("SYS-9")
def test_the_worked_vector_of_numbers_and_keys() -> None:
    worked = json.loads((VECTORS / "uomp-worked.json").read_bytes())
    value = json.loads(
        '{"n":[333333333.33333329,1e30,4.50,2e-3,1e-27,-0.0],'
        '"\\u20ac":"x","\\r":"y","1":"z"}'
    )
    # The vector lists its members in the order of their characters: \r, 1, n, EURO.
    assert encode(value) == worked["jcs numbers"].encode()


finite = st.floats(allow_nan=False, allow_infinity=False)
safe_integers = st.integers(min_value=-(2**53) + 1, max_value=2**53 - 1)
# Text that looks like JSON, and characters on both sides of the UTF-16 trouble.
texts = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    st.text(
        st.sampled_from('\\"{}[]:,.0e1-\0\n\x1f\x7f\ud7ff\ue000\uffff\U00010000😀é'),
        max_size=8,
    ),
)
json_values = st.recursive(
    st.none() | st.booleans() | safe_integers | finite | texts,
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(texts, inner, max_size=5)
    ),
    max_leaves=20,
)


@pytest.mark.requirement("SYS-9", "PAM-5.1-1")
@given(json_values)
@settings(max_examples=400)
def test_any_value_gives_the_bytes_of_the_reference(value: object) -> None:
    assert encode(value) == reference(value)


@given(st.lists(st.one_of(finite, st.integers(-400, 400).map(lambda n: n / 8))))
@settings(max_examples=200)
def test_any_floats_give_the_bytes_of_the_reference(numbers: list[float]) -> None:
    assert encode(numbers) == reference(numbers)


@given(st.dictionaries(st.text(st.sampled_from("a\ue000\uff0c\ufe0f😀𐀀")), st.none()))
@settings(max_examples=100)
def test_keys_are_sorted_by_utf_16_unit(value: dict[str, None]) -> None:
    order = sorted(value, key=lambda key: key.encode("utf-16-be"))
    assert list(json.loads(encode(value))) == order


@pytest.mark.parametrize(
    "value", [[1.0], [-0.0], [1e16], {"\U0001f600": 1, "\uff0c": 2}]
)
def test_orjson_alone_would_be_wrong_on_what_the_survey_looks_for(
    value: object,
) -> None:
    assert orjson.dumps(value, option=orjson.OPT_SORT_KEYS) != encode(value)


def test_the_value_itself_is_left_as_it_was() -> None:
    value = {"b": [1.0, {"c": (2.0, -0.0)}], "a": 1e300}
    before = repr(value)
    assert encode(value) == b'{"a":1e+300,"b":[1,{"c":[2,0]}]}'
    assert repr(value) == before


class Colour(enum.Enum):
    RED = 1


class Name(enum.StrEnum):
    RED = "red"


class Number(enum.IntEnum):
    ONE = 1


class Text(str):
    __slots__ = ()


class Whole(int):
    pass


class Real(float):
    pass


class Object(dict[str, int]):
    pass


class Array(list[int]):
    pass


class Pair(NamedTuple):
    a: int


@dataclasses.dataclass
class Data:
    a: int


class Struct(msgspec.Struct):
    a: int


NOW = dt.datetime(2026, 7, 14, tzinfo=dt.UTC)
REFUSED = [
    float("nan"),
    float("inf"),
    -float("inf"),
    2**53,
    -(2**53),
    2**63,
    2**64,
    10**400,
    "\ud800",
    "\udc00\ud800",
    {"\udfff": 1},
    {1: 2},
    {None: 2},
    {b"a": 1},
    {Name.RED: 1},
    {Text("a"): 1},
    {("a",): 1},
    uuid.UUID(int=1),
    Colour.RED,
    Name.RED,
    Number.ONE,
    Text("a"),
    Whole(1),
    Real(1.5),
    Object(a=1),
    OrderedDict(a=1),
    Array([1]),
    Pair(1),
    Data(1),
    Struct(1),
    orjson.Fragment(b"1"),
    decimal.Decimal(1),
    NOW,
    NOW.date(),
    NOW.time(),
    b"a",
    bytearray(b"a"),
    memoryview(b"a"),
    {1},
    frozenset({1}),
    range(2),
    types.MappingProxyType({"a": 1}),
    iter([1]),
    1j,
    object(),
    int,
]


@pytest.mark.requirement("SYS-10")
@pytest.mark.parametrize("value", REFUSED, ids=lambda value: repr(value)[:40])
@pytest.mark.parametrize("place", ["alone", "array", "object", "deep"])
def test_what_jcs_cannot_represent_is_refused(value: object, place: str) -> None:
    placed = {
        "alone": value,
        "array": [None, "a", value],
        "object": {"a": None, "b": value},
        "deep": [[1], {"a": ("x", [{"b": value, "c": 0.5}])}],
    }[place]
    with pytest.raises(CanonicalError) as caught:
        encode(placed)
    assert caught.value.code is Code.INVALID_REQUEST
    assert isinstance(caught.value, LocalError)


def test_a_surrogate_among_keys_that_need_the_slow_path_is_refused() -> None:
    with pytest.raises(CanonicalError):
        encode({"\U0001f600": 1, "\uff0c": 2, "\ud83d": 3})


@pytest.mark.requirement("SYS-10")
@pytest.mark.parametrize("value", [2**53 - 1, -(2**53) + 1])
def test_the_largest_safe_integers_are_written(value: int) -> None:
    assert encode([value]) == f"[{value}]".encode()


def test_nesting_is_bounded() -> None:
    assert encode(nested(MAX_DEPTH)) == b"[" * MAX_DEPTH + b"]" * MAX_DEPTH
    for depth in (MAX_DEPTH + 1, 1_000, 100_000):
        with pytest.raises(CanonicalError):
            encode(nested(depth))


def test_the_deepest_value_also_takes_both_slow_paths() -> None:
    deepest: Any = {"\U0001f600": 1.0, "\uff0c": 1e300}
    for _ in range(MAX_DEPTH - 1):
        deepest = [deepest]
    assert encode(deepest) == reference(deepest)


@pytest.mark.parametrize("inner", [1.0, {"\U0001f600": 1, "\uff0c": 2}])
def test_a_stack_nearly_full_gives_our_error(inner: object) -> None:
    value = inner
    for _ in range(MAX_DEPTH - 1):
        value = [value]
    assert encode(value)
    frames, frame = 0, sys._getframe()
    while frame := frame.f_back:  # type: ignore[assignment]
        frames += 1
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(frames + 60)
    try:
        with pytest.raises(CanonicalError):
            encode(value)
    finally:
        sys.setrecursionlimit(limit)


def test_a_value_that_holds_itself_is_refused() -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(CanonicalError):
        encode(loop)


def test_text_that_looks_like_numbers_stays_text() -> None:
    value = {"a": ":1.0,2e5,-0.0]null", "b": [',"x":1.0,', "1.0", 1.0]}
    assert encode(value) == reference(value)
    assert json.loads(encode(value)) == value


@pytest.mark.requirement("PAM-3.2-2", "PAM-3.2-4")
def test_digests_are_sha_256_and_say_so() -> None:
    assert digest({"text": "héllo"}) == (
        "sha256:87d1eca41f1807df7fdf4b049962a50bb34e9c0ebd12a66ad07b357502c6b34c"
    )
    assert sha256(b"abc") == f"sha256:{hashlib.sha256(b'abc').hexdigest()}"
    assert check_hash_string(sha256(b"")) == sha256(b"")


@pytest.mark.requirement("PAM-3.2-3", "PAM-3.2-4")
@pytest.mark.parametrize(
    "text",
    [
        "sha3-256:" + "a" * 64,
        "sha512:" + "a" * 128,
        "sha512/256:" + "a" * 64,
        "blake3:" + "a" * 64,
        "md5:" + "a" * 32,
    ],
)
def test_other_hash_algorithms_are_named_as_unsupported(text: str) -> None:
    with pytest.raises(VerificationError) as caught:
        check_hash_string(text)
    assert caught.value.code is Code.UNSUPPORTED_ALGORITHM


@pytest.mark.requirement("PAM-3.2-4")
@pytest.mark.parametrize(
    "text",
    [
        "",
        "a" * 64,
        "sha256:",
        "sha256:" + "a" * 63,
        "sha256:" + "a" * 65,
        "sha256:" + "A" * 64,
        "sha256:" + "g" * 64,
        "sha256:" + "a" * 64 + "\n",
        " sha256:" + "a" * 64,
        "SHA256:" + "a" * 64,
        "sha256:" + "\uff41" * 64,
        ":" + "a" * 64,
        None,
        1,
        b"sha256:" + b"a" * 64,
        ["sha256:" + "a" * 64],
    ],
)
def test_malformed_hash_strings_are_refused(text: object) -> None:
    with pytest.raises(VerificationError) as caught:
        check_hash_string(text)
    assert caught.value.code is Code.SCHEMA_VIOLATION
