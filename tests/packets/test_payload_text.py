"""What a person is shown of a payload, verified or not."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.packets import SEED, item
from uomp.packets.payloads import items_payload
from uomp.packets.text import MAX_RENDERED, clean, render_payload

MESSAGE = {"role": "user", "content": "Hello."}


@pytest.mark.parametrize(
    ("payload", "shown"),
    [
        ({"text": "Hello."}, "Hello."),
        ({"messages": [MESSAGE], "title": "A title"}, "# A title\n\nuser: Hello."),
        ({"messages": [{"role": "tool", "content": None}]}, "tool: "),
        ({"messages": ["x", 5]}, "[…]\n\n[…]"),
        (
            {"messages": [{"role": 5, "content": ["a", {"text": "b"}, {"image": 1}]}]},
            "5: a b […]",
        ),
        (items_payload([item(1)], SEED), "[fact.1]\nFact 1."),
        (
            items_payload([item(1, {"messages": [MESSAGE]})], SEED),
            "[fact.1]\nuser: Hello.",
        ),
        (items_payload([item(1, 14)], SEED), "[fact.1]\n14"),
        (items_payload([item(1, "dark")], SEED), "[fact.1]\ndark"),
        (items_payload([item(1, {"a": [1]})], SEED), '[fact.1]\n{"a":[1]}'),
        ({"items": ["x", None]}, "[…]\n\n[…]"),
        ({"items": [{"value": {1: "no JSON"}}]}, "[null]\n[…]"),
    ],
)
def test_a_payload_is_shown_as_text(payload: Any, shown: str) -> None:
    assert render_payload(payload) == shown


@pytest.mark.parametrize(
    "payload", [None, [], "x", 5, {}, {"items": 5}, {"messages": 5}, {"text": 5}]
)
def test_what_has_no_text_is_shown_by_its_fallback(payload: Any) -> None:
    assert render_payload(payload, "Instead.") == "Instead."
    assert render_payload(payload) == "(nothing that can be shown as text)"


def test_hostile_text_commands_no_terminal_and_turns_no_direction() -> None:
    hostile = "a\x1b[2Jb\x07c\u202ed\u2066e\U000e0041f\r\ng\rh\ti\x9bj\ufeffk\ud800"
    shown = render_payload({"text": hostile})
    assert shown == "a�[2Jb�c�d�e�f\ng\nh\ti�j�k�"
    joined = "क्\u200dष 👩\u200d👧 a\u200cb"
    assert clean(joined) == joined


def test_a_huge_payload_is_shown_up_to_a_limit() -> None:
    many = {"messages": [MESSAGE] * 100_000}
    assert len(render_payload(many)) <= MAX_RENDERED
    assert len(render_payload({"text": "a" * (MAX_RENDERED + 5)})) == MAX_RENDERED
    assert len(render_payload(None, "a" * (MAX_RENDERED + 5))) == MAX_RENDERED


_ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["text", "messages", "items", "value", "content", "role"])
            | st.text(max_size=3),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(_ANYTHING)
@settings(max_examples=200)
def test_showing_never_fails_and_hides_nothing_invisible(payload: Any) -> None:
    shown = render_payload(payload)
    assert clean(shown) == shown
    assert "\x1b" not in shown
