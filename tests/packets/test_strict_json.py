"""The strict loader: what is let in, what is refused, what is called canonical."""

import gzip
import json
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from uomp.errors import Code, PeerError, VerificationError
from uomp.packets.canonical import encode
from uomp.packets.encodings import decompress
from uomp.packets.multibase import b64_encode
from uomp.packets.strict import (
    MAX_BYTES,
    MAX_DEPTH,
    MAX_VALUES,
    Loaded,
    MalformedJson,
    loads,
)

JCS = Path(__file__).parents[1] / "vectors" / "rfc8785"

NOT_JSON = [
    b"",
    b" ",
    b"\xef\xbb\xbf{}",
    "{}".encode("utf-16"),
    "{}".encode("utf-16-le"),
    "{}".encode("utf-32"),
    b'"\xff"',
    b'"\xc0\xaf"',
    b'"\xed\xa0\x80"',
    b'"\xf4\x90\x80\x80"',
    b'"\xe2\x82"',
    b'"\\ud800"',
    b'"\\udc00"',
    b'"\\ud800\\u0041"',
    b'{"\\ud800":1}',
    b"NaN",
    b"Infinity",
    b"-Infinity",
    b"[NaN]",
    b"1e400",
    b"-1e400",
    b"1" * 5_000,
    b"01",
    b"-01",
    b"1.",
    b".5",
    b"+1",
    b"1e",
    b"0x1",
    b"--1",
    b"1_000",
    b"'a'",
    b'"a',
    b'"\n"',
    b'"\t"',
    b'"\0"',
    b'"\\x41"',
    b'"\\u12"',
    b"[1,]",
    b"[,1]",
    b"[1 2]",
    b'{"a":1,}',
    b'{"a" 1}',
    b"{a:1}",
    b"{1:1}",
    b'{"a":1}}',
    b"[]]",
    b"{} {}",
    b"1 x",
    b"[1]//",
    b"/*a*/1",
    b"[",
    b'{"a":',
    b"]",
    b"True",
    b"nul",
    b"\x0b1",
    b"\xc2\xa01",
    b"\0",
]

DUPLICATES = [
    b'{"a":1,"a":1}',
    b'{"a":1,"a":2}',
    b'{"a":1,"\\u0061":2}',
    b'{"":1,"":2}',
    b'[{"b":{"a":1,"c":2,"a":1}}]',
    b'{"a":{"x":1,"y":2},"a":{"x":1,"y":2,"z":3}}',
    b'{ "a:" : ":" , "a:" : 1 }',
    b'{"\\"":1,"\\"":2}',
    b'{"\\\\":1,"\\\\":2}',
    b'{"\xc3\xa9":1,"\\u00e9":2}',
    b'{"a":' + b"[" * 500 + b"]" * 500 + b',"a":1}',
]


def refusal(data: bytes, **limits: int) -> MalformedJson:
    with pytest.raises(MalformedJson) as caught:
        loads(data, **limits)
    return caught.value


@pytest.mark.requirement("SYS-10")
@pytest.mark.parametrize("data", NOT_JSON, ids=lambda data: repr(data)[:40])
def test_what_is_not_json_is_refused(data: bytes) -> None:
    error = refusal(data)
    assert error.code is Code.INVALID_REQUEST
    assert isinstance(error, PeerError)


@pytest.mark.requirement("SYS-10")
@pytest.mark.parametrize("data", DUPLICATES, ids=lambda data: repr(data)[:40])
def test_duplicate_names_are_refused(data: bytes) -> None:
    assert refusal(data).code is Code.INVALID_REQUEST


@pytest.mark.parametrize(
    "data",
    [
        b'{"a":1,"b":{"a":1},"c":[{"a":1},{"a":1}]}',
        b'{"a":1,"A":2}',
        b'{ ":" : ":" , "\\"" : "\\":1,\\"" , "\\\\" : "\\\\" }',
        '{"é":1,"e\u0301":2}'.encode(),
    ],
)
def test_names_that_only_look_like_duplicates_are_let_in(data: bytes) -> None:
    assert loads(data).value == json.loads(data)


@pytest.mark.requirement("SYS-10")
@pytest.mark.parametrize(
    "number",
    [
        "9007199254740992",
        "-9007199254740992",
        "9007199254740993",
        "18446744073709551616",
        "123456789012345678901234567890",
        "9007199254740992.0",
        "1e16",
        "1e20",
        "-1e20",
        "1e300",
        "9.1E15",
    ],
)
def test_numbers_beyond_2_53_are_refused_however_they_are_written(number: str) -> None:
    assert refusal(f'{{"a":[{number}]}}'.encode()).code is Code.INVALID_REQUEST
    assert refusal(number.encode()).code is Code.INVALID_REQUEST


@pytest.mark.parametrize(
    ("data", "value", "canonical"),
    [
        (b"{}", {}, True),
        (b"null", None, True),
        (b'"a"', "a", True),
        (b"9007199254740991", 2**53 - 1, True),
        (b"-9007199254740991", -(2**53) + 1, True),
        (b'{"a":1.5,"b":[true,null]}', {"a": 1.5, "b": [True, None]}, True),
        (b"9007199254740991.0", 2.0**53 - 1, False),
        (b"1e15", 1e15, False),
        (b"-0", 0, False),
        (b"-0.0", 0.0, False),
        (b"1.0", 1.0, False),
        (b"1.50", 1.5, False),
        (b" {}", {}, False),
        (b"{}\n", {}, False),
        (b"[1, 2]", [1, 2], False),
        (b'{"b":1,"a":2}', {"a": 2, "b": 1}, False),
        (b'"\\u0061"', "a", False),
        (b'"\\/"', "/", False),
        (b'"\\u001F"', "\x1f", False),
        (b'"\\u001f"', "\x1f", True),
        (b'"\x7f"', "\x7f", True),
        (b'"\\ud83d\\ude00"', "\U0001f600", False),
        ('{"\uff0c":1,"😀":2}'.encode(), {"\uff0c": 1, "😀": 2}, False),
        ('{"😀":2,"\uff0c":1}'.encode(), {"\uff0c": 1, "😀": 2}, True),
    ],
)
def test_other_json_is_let_in_and_said_to_be_canonical_or_not(
    data: bytes, value: object, *, canonical: bool
) -> None:
    assert loads(data) == Loaded(value, canonical)


@pytest.mark.requirement("PAM-5.1-1")
@pytest.mark.parametrize("name", ["arrays", "french", "structures", "unicode", "weird"])
def test_published_canonical_files_are_recognised(name: str) -> None:
    made = loads((JCS / "output" / f"{name}.json").read_bytes())
    assert made.canonical
    assert not loads((JCS / "input" / f"{name}.json").read_bytes()).canonical


def test_too_many_bytes_are_refused_before_they_are_read() -> None:
    assert loads(b'"12"', max_bytes=4).value == "12"
    assert refusal(b'"123"', max_bytes=4).code is Code.PACKET_TOO_LARGE
    assert refusal(b"x" * 5, max_bytes=4).code is Code.PACKET_TOO_LARGE


@pytest.mark.parametrize(("start", "end"), [(b"[", b"]"), (b'{"a":', b"}")])
def test_nesting_is_bounded_for_arrays_and_objects(start: bytes, end: bytes) -> None:
    def deep(depth: int) -> bytes:
        return start * depth + b"1" + end * depth

    assert loads(deep(MAX_DEPTH)).canonical
    assert loads(b" " + deep(MAX_DEPTH)).canonical is False
    for depth in (MAX_DEPTH + 1, 200, 1_000, 1_024, 1_025, 100_000):
        assert refusal(deep(depth)).code is Code.INVALID_REQUEST
    assert refusal(start * 1_000_000).code is Code.INVALID_REQUEST
    assert refusal(deep(3), max_depth=2).code is Code.INVALID_REQUEST


def test_deep_nesting_does_no_harm_in_a_thread_with_a_small_stack() -> None:
    errors: list[MalformedJson] = []
    before = threading.stack_size(256 * 1024)
    try:
        thread = threading.Thread(
            target=lambda: errors.extend(
                refusal(opening * 1_000_000) for opening in (b"[", b'{"a":')
            )
        )
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    assert len(errors) == 2


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(-(2.0**53) + 1, 2.0**53 - 1)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=6),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text("a:\\\"\ue000😀{'", max_size=3), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(values)
@settings(max_examples=200)
def test_any_value_comes_back_from_its_canonical_bytes(value: object) -> None:
    data = encode(value)
    made = loads(data)
    assert made.canonical
    assert encode(made.value) == data


@given(values, st.booleans(), st.sampled_from([None, 1, "\t"]))
@settings(max_examples=200)
def test_any_other_writing_of_a_value_reads_the_same(
    value: object,
    ascii_only: bool,  # noqa: FBT001
    indent: str | int | None,
) -> None:
    data = json.dumps(value, ensure_ascii=ascii_only, indent=indent).encode()
    made = loads(data)
    assert encode(made.value) == encode(value)
    assert made.canonical == (data == encode(value))


def _has_duplicates(data: bytes) -> bool:
    seen: list[bool] = []

    def note(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        seen.append(len(made) < len(pairs))
        return made

    json.loads(data, object_pairs_hook=note)
    return any(seen)


@given(
    st.recursive(
        st.sampled_from(['""', '":"', "1", '"\\""', '"\\\\"']),
        lambda inner: st.one_of(
            st.lists(inner, max_size=3).map(lambda parts: f"[{','.join(parts)}]"),
            st.lists(
                st.tuples(
                    st.sampled_from(['"a"', '"\\u0061"', '"b:"', '"\\\\"']), inner
                ),
                max_size=3,
            ).map(lambda pairs: f"{{{','.join(f'{k} :{v}' for k, v in pairs)}}}"),
        ),
        max_leaves=8,
    )
)
@example('{"a" :1,"\\u0061" :1}')
@example('{"a" :1,"b:" :1}')
@settings(max_examples=300)
def test_duplicates_are_found_exactly_where_another_parser_finds_them(
    text: str,
) -> None:
    data = text.encode()
    if _has_duplicates(data):
        refusal(data)
    else:
        assert loads(data).value == json.loads(data)


@given(
    st.binary(max_size=40) | st.text('{}[]":,\\u0a1.e- ', max_size=30).map(str.encode)
)
@settings(max_examples=300)
def test_only_our_error_escapes(data: bytes) -> None:
    try:
        value = loads(data).value
    except MalformedJson:
        return
    assert encode(value) == encode(json.loads(data))


def test_an_error_never_quotes_what_was_sent() -> None:
    error = refusal(b'{"secret-canary":1,"secret-canary":2}')
    assert "canary" not in str(error)
    assert "canary" not in error.public


# ---- how many values -------------------------------------------------------


def many(count: int, one: bytes) -> bytes:
    return b"[" + b",".join([one] * count) + b"]"


def count_values(value: Any) -> int:
    """Count as the loader says it does: an empty container counts for two."""
    inside = value.values() if isinstance(value, dict) else value
    if not isinstance(value, dict | list):
        return 1
    return 1 + (sum(map(count_values, inside)) if value else 1)


@pytest.mark.requirement("SYS-10")
@pytest.mark.parametrize(
    "one",
    [b"[]", b'{"a":0}', b"0", b'""', b'"a\\"["', b'"\\\\"', b'{"":{"":""}}', b" [ ] "],
)
def test_too_many_values_are_refused_however_small_they_are(one: bytes) -> None:
    data = many(1_000, one)
    most = count_values(json.loads(data))
    assert len(loads(data, max_values=most).value) == 1_000
    assert refusal(data, max_values=most - 1).code is Code.PACKET_TOO_LARGE
    assert refusal(data + b"x", max_values=most - 1).code is Code.PACKET_TOO_LARGE


@pytest.mark.parametrize("text", ["[{,", '"[', "\\[", '\\","', ",:", '","', "é[,"])
def test_marks_inside_of_texts_and_names_are_no_values(text: str) -> None:
    value = {text * 500: text * 500, "a": [text, text, ""], text: ""}
    for data in (encode(value), json.dumps(value).encode()):
        assert loads(data, max_values=count_values(value)).value == value
        refused = refusal(data, max_values=count_values(value) - 1)
        assert refused.code is Code.PACKET_TOO_LARGE


@pytest.mark.requirement("SYS-10")
@pytest.mark.parametrize("one", [b"[]", b'{"a":0}', b'"a"', b"0"])
def test_a_large_text_of_tiny_values_is_refused(one: bytes) -> None:
    data = many(MAX_VALUES + 1, one)
    assert len(data) < MAX_BYTES
    assert refusal(data).code is Code.PACKET_TOO_LARGE


@given(values, st.booleans())
@settings(max_examples=200)
def test_values_are_counted_exactly(
    value: object,
    ascii_only: bool,  # noqa: FBT001
) -> None:
    # The text is longer than the limit, so that it is counted at all.
    data = json.dumps([value], ensure_ascii=ascii_only, indent=1).encode()
    most = count_values([value])
    assert loads(data, max_values=most).value == json.loads(data)
    assert refusal(data, max_values=most - 1).code is Code.PACKET_TOO_LARGE


@pytest.mark.requirement("SYS-10", "PAM-5.1-7")
def test_a_compressed_payload_of_too_many_tiny_values_is_refused() -> None:
    def packed(count: int) -> str:
        # Level 0 leaves out what the limits of size and ratio would refuse.
        return b64_encode(gzip.compress(many(count, b"[]"), compresslevel=0))

    assert decompress(packed(1_000)) == [[]] * 1_000
    with pytest.raises(VerificationError, match="too many values") as caught:
        decompress(packed(MAX_VALUES + 1))
    assert caught.value.code is Code.PACKET_TOO_LARGE
