"""Binary as text: exact in both directions, one text for one value."""

import base64
import csv
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from uomp.errors import Code, VerificationError
from uomp.packets.multibase import (
    EncodingError,
    b64_decode,
    b64_decode_lenient,
    b64_encode,
    b64url_decode,
    b64url_encode,
    base58_decode,
    base58_encode,
    decode_multibase,
    decode_multikey,
    decode_varint,
    encode_multikey,
    encode_varint,
)

VECTORS = Path(__file__).parents[1] / "vectors" / "multiformats"
ED25519 = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"


def published(name: str) -> tuple[bytes, dict[str, str]]:
    path = VECTORS / "multibase" / f"{name}.csv"
    with path.open(newline="") as file:
        (_, value), *rows = csv.reader(file, skipinitialspace=True)
    data = value.encode().decode("unicode_escape").encode()
    return data, {row[0]: row[1] for row in rows}


@pytest.mark.parametrize("name", ["basic", "leading_zero", "two_leading_zeros"])
def test_the_published_multibase_texts_are_read_and_written(name: str) -> None:
    data, texts = published(name)
    assert decode_multibase(texts["base58btc"]) == data
    assert "z" + base58_encode(data) == texts["base58btc"]
    assert decode_multibase(texts["base64url"]) == data
    assert "u" + b64url_encode(data) == texts["base64url"]
    assert b64_decode(texts["base64pad"].removeprefix("M")) == data
    assert b64_encode(data) == texts["base64pad"].removeprefix("M")
    for base in set(texts) - {"base58btc", "base64url"}:
        with pytest.raises(EncodingError):
            decode_multibase(texts[base])


def test_the_prefixes_of_keys_are_those_of_the_published_table() -> None:
    with (VECTORS / "multicodec" / "table.csv").open(newline="") as file:
        table = {
            row[0]: int(row[2], 16)
            for row in csv.reader(file)
            if row[1].strip() == "key"
        }
    kinds = {
        "Ed25519": ("ed25519-pub", 32),
        "X25519": ("x25519-pub", 32),
        "secp256k1": ("secp256k1-pub", 33),
        "P-256": ("p256-pub", 33),
        "P-384": ("p384-pub", 49),
        "P-521": ("p521-pub", 67),
    }
    for kind, (name, size) in kinds.items():
        raw = bytes(range(size))
        text = encode_multikey(kind, raw)
        assert base58_decode(text[1:]) == encode_varint(table[name]) + raw
        assert decode_multikey(text) == (kind, raw)


def test_the_multikey_of_the_worked_vector() -> None:
    text = "z6MktwupdmLXVVqTzCw4i46r4uGyosGXRnR3XjN4Zq7oMMsw"
    assert encode_multikey("Ed25519", bytes.fromhex(ED25519)) == text
    assert decode_multikey(text) == ("Ed25519", bytes.fromhex(ED25519))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "z",
        "zI",
        "6MktwupdmLXVVqTzCw4i46r4uGyosGXRnR3XjN4Zq7oMMsw",
        "z6MktwupdmLXVVqTzCw4i46r4uGyosGXRnR3XjN4Zq7oMMs",
        "z6MktwupdmLXVVqTzCw4i46r4uGyosGXRnR3XjN4Zq7oMMsww",
        "z16MktwupdmLXVVqTzCw4i46r4uGyosGXRnR3XjN4Zq7oMMsw",
        "u7QHXWpgBgrEKt9VL_tPJZAc6DuFy89qmIyWvAhpo9wdRGg",
        "z" + base58_encode(b"\xed\x81\x00" + bytes(32)),
        "z" + base58_encode(b"\xed"),
        "z" + base58_encode(b"\xed\x01" + bytes(31)),
        "z" + base58_encode(b"\xed\x01" + bytes(33)),
        "z" + "1" * 10_000,
    ],
)
def test_malformed_multikeys_are_refused(text: str) -> None:
    with pytest.raises(VerificationError) as caught:
        decode_multikey(text)
    assert caught.value.code in {Code.SCHEMA_VIOLATION, Code.UNSUPPORTED_ALGORITHM}


def test_a_multikey_of_an_unknown_kind_is_unsupported() -> None:
    text = "z" + base58_encode(encode_varint(0x1205) + bytes(32))  # an RSA key
    with pytest.raises(VerificationError) as caught:
        decode_multikey(text)
    assert caught.value.code is Code.UNSUPPORTED_ALGORITHM


@pytest.mark.parametrize(("kind", "size"), [("Ed25519", 31), ("RSA", 32), ("", 0)])
def test_what_is_no_key_gets_no_multikey(kind: str, size: int) -> None:
    with pytest.raises(ValueError, match="kind"):
        encode_multikey(kind, bytes(size))


@given(st.binary(max_size=200))
@settings(max_examples=150)
def test_any_bytes_come_back_from_every_text(data: bytes) -> None:
    assert base58_decode(base58_encode(data), max_chars=300) == data
    assert b64url_decode(b64url_encode(data)) == data
    assert b64_decode(b64_encode(data)) == data
    assert b64_encode(data).encode() == base64.b64encode(data)
    assert b64url_encode(data).encode() == base64.urlsafe_b64encode(data).rstrip(b"=")
    for text in (
        b64_encode(data),
        b64url_encode(data),
        base64.urlsafe_b64encode(data).decode(),
    ):
        assert b64_decode_lenient(text) == data


@given(st.text("Az09+/-_=\n é", max_size=9))
@settings(max_examples=300)
def test_every_accepted_text_is_the_one_text_of_its_value(text: str) -> None:
    with suppress(EncodingError):
        assert b64_encode(b64_decode(text)) == text
    with suppress(EncodingError):
        assert b64url_encode(b64url_decode(text)) == text
    try:
        data = b64_decode_lenient(text)
    except EncodingError:
        return
    padded = base64.urlsafe_b64encode(data).decode()
    assert text in {b64_encode(data), padded, padded.rstrip("=")}


@given(
    st.text("123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz", max_size=60)
)
@settings(max_examples=150)
def test_every_base58_text_is_the_one_text_of_its_value(text: str) -> None:
    assert base58_encode(base58_decode(text)) == text


@pytest.mark.parametrize(
    "text",
    ["QQ", "QQ=", "QQ===", "QR==", "QUJ=", "Q", "QQ==QQ==", "QQ\n==", " QQ==", "-_8="],
)
def test_base64_is_strict(text: str) -> None:
    assert b64_decode("QQ==") == b"A"
    with pytest.raises(EncodingError):
        b64_decode(text)


@pytest.mark.parametrize(
    "text", ["-_+/", "QQ=", "Q", "QR", "QR==", "-_8\n", "=", "é", "/w", "+/8"]
)
def test_lenient_base64_is_not_loose(text: str) -> None:
    with pytest.raises(EncodingError):
        b64_decode_lenient(text)


@pytest.mark.parametrize("text", ["QQ==", "QR", "Q", "+/8", "-_8=", "-_9", "a b", "é"])
def test_base64url_is_strict(text: str) -> None:
    with pytest.raises(EncodingError):
        b64url_decode(text)


def test_text_may_be_empty() -> None:
    assert b64_decode("") == b64url_decode("") == b64_decode_lenient("") == b""
    assert base58_decode("") == b""


@pytest.mark.parametrize("text", ["0", "O", "I", "l", "a b", "é", "a\n", "1+"])
def test_base58_has_no_other_characters(text: str) -> None:
    with pytest.raises(EncodingError):
        base58_decode(text)


def test_the_length_of_base58_is_capped_before_any_work() -> None:
    assert base58_decode("2" * 10, max_chars=10)
    with pytest.raises(EncodingError):
        base58_decode("2" * 11, max_chars=10)
    with pytest.raises(EncodingError, match="over 256"):
        base58_decode("0" * 100_000_000)  # its first character would be refused
    with pytest.raises(EncodingError):
        decode_multibase("u" + "A" * 12, max_chars=10)


@given(st.integers(0, 2**63 - 1), st.binary(max_size=3))
@settings(max_examples=100)
def test_varints_come_back_with_their_length(number: int, rest: bytes) -> None:
    data = encode_varint(number)
    assert decode_varint(data + rest) == (number, len(data))


@pytest.mark.parametrize(
    "data",
    [b"", b"\x80", b"\xff" * 9, b"\x80" * 9 + b"\1", b"\x80\x00", b"\xed\x80\x00"],
)
def test_varints_that_are_cut_long_or_padded_are_refused(data: bytes) -> None:
    with pytest.raises(EncodingError):
        decode_varint(data)


def test_a_varint_has_no_sign() -> None:
    with pytest.raises(ValueError, match="negative"):
        encode_varint(-1)
