"""Keys, tags and ids: what could not be read back is not written."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from uomp.errors import Code, LocalError
from uomp.packets.ids import ID_BYTES, make_id
from uomp.packets.items import (
    MAX_KEY_BYTES,
    MAX_TAG_BYTES,
    MAX_TAGS,
    RESERVED_KEYS,
    check_key,
    check_tags,
)


@pytest.mark.parametrize(
    "key", ["a", "preference.theme", "a/b c", "名前", "a" * MAX_KEY_BYTES, "🙂" * 128]
)
def test_a_key_may_be_any_printable_text(key: str) -> None:
    check_key(key)


@pytest.mark.parametrize(
    "key",
    [
        *("", "a" * (MAX_KEY_BYTES + 1), "🙂" * 129, "a\nb", "\x7f", "\ud800"),
        *sorted(RESERVED_KEYS),
    ],
)
def test_a_key_that_could_not_be_read_back_is_refused(key: str) -> None:
    with pytest.raises(LocalError) as refused:
        check_key(key)
    assert refused.value.code == Code.INVALID_REQUEST


def test_tags_are_some_and_not_too_many() -> None:
    check_tags(("a",) * MAX_TAGS)
    check_tags(("a" * MAX_TAG_BYTES,))
    for tags in ((), ("a",) * (MAX_TAGS + 1), ("",), ("a" * 257,), ("a", "b\0")):
        with pytest.raises(LocalError) as refused:
            check_tags(tags)
        assert refused.value.code == Code.INVALID_REQUEST


@given(st.binary(min_size=ID_BYTES, max_size=ID_BYTES))
@settings(max_examples=20)
def test_an_id_is_its_kind_and_24_characters_for_a_url(random: bytes) -> None:
    made = make_id("mem", random)
    kind, _, text = made.partition("_")
    assert (kind, len(text)) == ("mem", 24)
    assert text.replace("-", "").replace("_", "").isalnum()


def test_an_id_takes_all_its_bytes() -> None:
    with pytest.raises(ValueError, match="18 random bytes"):
        make_id("mem", bytes(17))
