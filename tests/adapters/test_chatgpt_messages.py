"""Messages of a ChatGPT export: roles, times, contents, citations."""

from typing import Any

import pytest

from support.chats import conversation, message, node, one, only_messages
from uomp.adapters.base import (
    ImportedItem,
    Skipped,
)


@pytest.mark.parametrize(
    "time", [0, None, True, -5, 1e300, 1786000000123, "yesterday", [], {}]
)
def test_a_time_that_is_none_is_null_and_never_guessed(time: object) -> None:
    nodes = {"b": node(None, message(create_time=time))}
    assert only_messages(conversation(nodes))[0]["at"] is None


@pytest.mark.parametrize("time", [1786000000, 1786000000.5, "2026-08-06T07:06:40Z"])
def test_a_time_that_is_one_is_kept_in_utc(time: object) -> None:
    nodes = {"b": node(None, message(create_time=time))}
    assert only_messages(conversation(nodes))[0]["at"] == "2026-08-06T07:06:40Z"


def test_times_missing_from_a_conversation_are_those_of_its_messages() -> None:
    nodes = {
        "a": node(None, message(create_time=1786000000)),
        "b": node("a", message(create_time=1786000100)),
    }
    first = one(conversation(nodes))[0]
    assert isinstance(first, ImportedItem)
    assert first.item.created_at == "2026-08-06T07:06:40Z"
    assert first.item.updated_at == "2026-08-06T07:08:20Z"


@pytest.mark.parametrize(
    "role", ["root", "developer", "User", "", None, 7, ["user"], {"user": 1}]
)
def test_an_unknown_role_is_untrusted_and_never_the_user(role: object) -> None:
    nodes = {"b": node(None, message("x", role))}
    assert only_messages(conversation(nodes))[0]["role"] == "untrusted"


@pytest.mark.parametrize("role", ["user", "assistant", "tool", "system"])
def test_a_known_role_stays(role: str) -> None:
    nodes = {"b": node(None, message("x", role))}
    assert only_messages(conversation(nodes))[0]["role"] == role


def test_hidden_and_empty_nodes_are_walked_through() -> None:
    hidden = {"is_visually_hidden_from_conversation": True}
    nodes = {
        "r": node(None, None),
        "s": node("r", message("", "system")),
        "a": node("s", message("kept")),
        "h": node("a", message("secret", "system", metadata=hidden)),
        "n": node("h", None),
        "b": node("n", message("kept too", "assistant")),
    }
    found = only_messages(conversation(nodes))
    assert [(each["id"], each["parent"]) for each in found] == [("a", None), ("b", "a")]


@pytest.mark.parametrize(
    ("text", "kept", "markers"),
    [
        (
            "Rain\ue200cite\ue202turn0search1\ue202turn0news2\ue201.",
            "Rain.",
            ["cite turn0search1 turn0news2"],
        ),
        (
            "See \u301012\u2020source\u3011 and \u30104:0\u2020a.pdf\u3011",
            "See and",
            None,
        ),
        (
            "\u3010\u91cd\u8981\u3011 \u4eca\u65e5",
            "\u3010\u91cd\u8981\u3011 \u4eca\u65e5",
            [],
        ),
        ("half \ue200 open \ue203x\ue204", "half  open x", []),
        (" " * 100_000 + "x", " " * 100_000 + "x", []),
    ],
)
def test_only_citation_marks_are_lifted_from_an_answer(
    text: str, kept: str, markers: list[str] | None
) -> None:
    nodes = {"b": node(None, message(text, "assistant"))}
    found = only_messages(conversation(nodes))[0]
    assert found["content"] == kept
    if markers is not None:
        assert [each["marker"] for each in found.get("citations", [])] == markers


def test_marks_in_the_words_of_the_user_stay() -> None:
    nodes = {"b": node(None, message("I read \u3010turn0search1\u3011 there"))}
    assert "turn0search1" in only_messages(conversation(nodes))[0]["content"]


def test_citations_that_the_metadata_lists_are_kept_once() -> None:
    cited = {"metadata": {"title": "Trams", "url": "https://example.invalid/28"}}
    listed = {
        "citations": [cited, cited, {"metadata": {"title": 7}}, "odd"],
        "content_references": [{"url": "https://example.invalid/x"}, None],
    }
    nodes = {"b": node(None, message("x", "assistant", metadata=listed))}
    assert only_messages(conversation(nodes))[0]["citations"] == [
        cited["metadata"],
        {"url": "https://example.invalid/x"},
    ]


def test_speech_keeps_its_words_and_the_pointer_to_its_sound() -> None:
    said = message()
    said["content"]["parts"] = [
        {"content_type": "audio_transcription", "text": "hello", "direction": "in"},
        {
            "content_type": "real_time_user_audio_video_asset_pointer",
            "audio_asset_pointer": {"asset_pointer": "sediment://a"},
        },
        {"content_type": "text", "text": 7},
        {"text": "odd"},
    ]
    outcomes = one(conversation({"b": node(None, said)}))
    assert only_messages(conversation({"b": node(None, said)}))[0]["content"] == [
        {"type": "audio_transcription", "text": "hello", "direction": "in"},
        {
            "type": "real_time_user_audio_video_asset_pointer",
            "pointer": "sediment://a",
        },
        {"type": "unknown", "text": "odd"},
    ]
    assert len([each for each in outcomes if isinstance(each, Skipped)]) == 1


@pytest.mark.parametrize(
    ("content", "kept"),
    [
        ({"content_type": "code", "text": "print(1)"}, "print(1)"),
        ({"content_type": "execution_output", "text": "1"}, "1"),
        ({"content_type": "tether_browsing_display", "result": "page"}, "page"),
        ({"content_type": "brand_new", "parts": ["said"]}, "said"),
        ({"parts": ["no type"]}, "no type"),
        ({"content_type": ["odd"], "parts": ["odd type"]}, "odd type"),
    ],
)
def test_contents_of_other_types_keep_their_text(
    content: dict[str, Any], kept: str
) -> None:
    nodes = {"b": node(None, {"author": {"role": "tool"}, "content": content})}
    assert only_messages(conversation(nodes))[0]["content"] == kept


def test_malformed_messages_and_parts_are_counted_and_the_rest_is_kept() -> None:
    mixed = message()
    mixed["content"]["parts"] = ["kept", None, 7, ["x"]]
    nodes = {
        "a": node(None, "not an object"),
        "n": node("a", {"author": {"role": "user"}, "content": 7}),
        "b": node("n", mixed),
    }
    outcomes = one(conversation(nodes))
    assert only_messages(conversation(nodes))[0]["content"] == "kept"
    assert len([each for each in outcomes if isinstance(each, Skipped)]) == 4
