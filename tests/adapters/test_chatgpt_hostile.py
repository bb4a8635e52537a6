"""Broken and hostile ChatGPT exports: a fault costs the one record it is in."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.chats import NOW, OPTIONS, conversation, message, node, one, only_messages
from uomp.adapters.base import (
    ImportedItem,
    ImportOptions,
    Note,
    Outcome,
    Problem,
    Skipped,
    no_progress,
)
from uomp.adapters.chatgpt import NOTHING_USABLE, REPAIRED
from uomp.adapters.chatgpt_conversation import Latest
from uomp.adapters.chatgpt_tree import LOOP, NO_CURRENT, NO_PARENT
from uomp.adapters.detect import open_source
from uomp.adapters.json_stream import MAX_DEPTH
from uomp.adapters.report import Summary
from uomp.packets.items import MAX_KEY_BYTES

EVERYTHING = ImportOptions(
    now=NOW,
    tags=("chats",),
    sensitivity="low",
    include_branches=True,
    include_instructions=True,
    include_thoughts=True,
)


def good(name: str = "good") -> dict[str, Any]:
    nodes = {"a": node(None, message("hi")), "b": node("a", message("ho", "assistant"))}
    return conversation(nodes, name)


def read_bytes(folder: Path, data: bytes) -> list[Outcome]:
    path = folder / "conversations.json"
    path.write_bytes(data)
    return list(open_source(path, "chatgpt").read(OPTIONS, no_progress))


def read_records(folder: Path, *records: object) -> list[Outcome]:
    return read_bytes(folder, json.dumps(records).encode())


def keys(outcomes: list[Outcome]) -> list[str]:
    return [each.item.key for each in outcomes if isinstance(each, ImportedItem)]


@pytest.mark.parametrize(
    "broken",
    [
        None,
        7,
        "text",
        [],
        {},
        {"id": 7, "mapping": {}},
        {"id": "x"},
        {"id": "x", "mapping": []},
        {"id": "x", "mapping": {}},
        {"id": "x", "mapping": {"a": 1, "b": "c"}},
        {"id": "x", "mapping": {"a": {"message": "text"}}, "current_node": "a"},
        {"id": "x\u0007", "mapping": {}},
        {"id": "x" * MAX_KEY_BYTES, "mapping": {}},
        {"id": "memory", "mapping": {}},
    ],
)
def test_a_broken_conversation_is_skipped_and_its_neighbours_are_kept(
    tmp_path: Path, broken: object
) -> None:
    outcomes = read_records(tmp_path, good("one"), broken, good("two"))
    assert keys(outcomes) == ["chatgpt.one", "chatgpt.two"]
    skipped = [each for each in outcomes if isinstance(each, Skipped) and not each.part]
    assert len(skipped) == 1
    assert skipped[0].reason
    assert not any(isinstance(each, Problem) for each in outcomes)


def test_without_metadata_and_times_a_conversation_is_complete() -> None:
    found = only_messages(good())
    assert [each["content"] for each in found] == ["hi", "ho"]
    assert [each["at"] for each in found] == [None, None]


def test_a_loop_of_parents_ends_and_is_reported() -> None:
    nodes = {"a": node("b", message("one")), "b": node("a", message("two"))}
    outcomes = one(conversation(nodes))
    assert [each["id"] for each in only_messages(conversation(nodes))] == ["a", "b"]
    assert Note("conversation c", LOOP) in outcomes


def test_a_node_that_is_its_own_parent_ends_and_is_reported() -> None:
    nodes = {"b": node("b", message("alone"))}
    assert only_messages(conversation(nodes))[0]["parent"] is None
    assert Note("conversation c", LOOP) in one(conversation(nodes))


def test_a_loop_off_the_main_branch_gets_no_parents_out_of_itself() -> None:
    nodes = {
        "b": node(None, message("main")),
        "x": node("y", message("off")),
        "y": node("x", None),
    }
    off = only_messages(conversation(nodes), EVERYTHING)[1]
    assert (off["id"], off["parent"], off["branch"]) == ("x", None, "abandoned")


def test_a_missing_parent_starts_the_branch_and_is_reported() -> None:
    nodes = {"b": node("gone", message("here"))}
    assert only_messages(conversation(nodes))[0]["content"] == "here"
    assert Note("conversation c", NO_PARENT) in one(conversation(nodes))


@pytest.mark.parametrize("current", [None, "gone", 7, ["b"]])
def test_without_a_current_node_the_latest_leaf_is_taken(current: object) -> None:
    nodes = {
        "a": node(None, message("root")),
        "late": node("a", message("late", create_time=1786000100)),
        "soon": node("a", message("soon", create_time=1786000000)),
    }
    record = conversation(nodes) | {"current_node": current}
    assert [each["id"] for each in only_messages(record)] == ["a", "late"]
    assert Note("conversation c", NO_CURRENT) in one(record)


def test_of_leaves_without_times_the_later_in_the_file_is_taken() -> None:
    nodes = {
        "a": node(None, message("root")),
        "x": node("a", message("first")),
        "y": node("a", message("second")),
    }
    record = conversation(nodes) | {"current_node": None}
    assert [each["id"] for each in only_messages(record)] == ["a", "y"]


def test_a_conversation_id_that_comes_twice_is_taken_once(tmp_path: Path) -> None:
    outcomes = read_records(tmp_path, good("x"), good("x"))
    assert keys(outcomes) == ["chatgpt.x"]
    assert Skipped("conversation x", "Its id appeared before.") in outcomes


def test_a_conversation_cannot_take_the_key_of_the_profile(tmp_path: Path) -> None:
    assert keys(read_records(tmp_path, good("profile"), good("y"))) == ["chatgpt.y"]


def test_a_conversation_cannot_take_the_key_of_a_memory(tmp_path: Path) -> None:
    nodes = {"m": node(None, message("I know", "assistant", recipient="bio"))}
    teller = conversation(nodes, "x") | {"current_node": "m"}
    outcomes = read_records(tmp_path, teller, good("x.memory.m"))
    assert keys(outcomes) == ["chatgpt.x.memory.m"]
    assert len([each for each in outcomes if isinstance(each, Skipped)]) == 2


def test_the_latest_copy_of_the_whole_memory_is_one_item(tmp_path: Path) -> None:
    def dumped(name: str, text: str, time: int) -> dict[str, Any]:
        content = {"content_type": "model_editable_context", "model_set_context": text}
        nodes = {
            "a": node(None, {"author": {"role": "system"}, "content": content}),
            "b": node("a", message("hi")),
        }
        return conversation(nodes, name, create_time=time)

    outcomes = read_records(
        tmp_path, dumped("new", "1. Cello", 1786000100), dumped("old", "", 1786000000)
    )
    last = outcomes[-1]
    assert isinstance(last, ImportedItem)
    assert last.item.key == "chatgpt.memory"
    assert last.item.value["text"] == "1. Cello"
    assert last.item.value["method"] == "llm_inference"


def test_a_memory_whose_key_would_be_too_long_is_skipped_alone() -> None:
    name = "m" * MAX_KEY_BYTES
    nodes = {
        name: node(None, message("I know", "assistant", recipient="bio")),
        "b": node(name, message("hi")),
    }
    outcomes = one(conversation(nodes))
    assert [type(each) for each in outcomes][:2] == [ImportedItem, Skipped]


def test_abandoned_messages_find_the_nearest_message_above_them() -> None:
    nodes = {
        "a": node(None, message("kept")),
        "b": node("a", message("main")),
        "x": node("a", None),
        "y": node("x", None),
        "p": node("y", message("one")),
        "q": node("y", message("two")),
    }
    found = only_messages(conversation(nodes), EVERYTHING)
    assert [(each["id"], each["parent"]) for each in found[2:]] == [
        ("p", "a"),
        ("q", "a"),
    ]


def test_a_truncated_file_gives_what_was_before_and_a_problem(tmp_path: Path) -> None:
    whole = json.dumps([good("one"), good("two"), good("three")]).encode()
    outcomes = read_bytes(tmp_path, whole[: whole.index(b"three")])
    assert keys(outcomes) == ["chatgpt.one", "chatgpt.two"]
    assert outcomes[-1] == Problem(
        "conversations.json",
        "The file ends in the middle of its JSON. The fault is in or after record 3.",
    )
    assert Summary(atomic=False).add_all(outcomes).verdict == "partial"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"null",
        b'"text"',
        b"[1, 2]",
        b"{}",
        b"not json",
        b'[{"id":"x"}]',
        b"\xff\xfe[\x00]\x00",
        b"[" * 100_000,
        b"[" + b"9" * 5000 + b"]",
        b"[1e99999999999999999999]",
    ],
)
def test_a_file_with_no_usable_conversation_is_an_error(
    tmp_path: Path, data: bytes
) -> None:
    outcomes = read_bytes(tmp_path, data)
    assert outcomes[-1] == Problem("the export", NOTHING_USABLE)
    assert Summary(atomic=False).add_all(outcomes).verdict == "failed"


def test_a_record_nested_too_deep_costs_only_itself(tmp_path: Path) -> None:
    deep = b'{"id":"deep","x":' + b"[" * MAX_DEPTH + b"]" * MAX_DEPTH + b"}"
    data = b"[" + json.dumps(good("one")).encode() + b"," + deep + b","
    outcomes = read_bytes(tmp_path, data + json.dumps(good("two")).encode() + b"]")
    assert keys(outcomes) == ["chatgpt.one", "chatgpt.two"]
    skipped = [each for each in outcomes if isinstance(each, Skipped)]
    assert [each.ref for each in skipped] == ["conversation 2 of conversations.json"]


def test_half_a_character_is_replaced_and_reported(tmp_path: Path) -> None:
    nodes = {"b": node(None, message("cut \ud83d"))}
    outcomes = read_records(tmp_path, conversation(nodes), good())
    first = outcomes[0]
    assert isinstance(first, ImportedItem)
    assert first.item.value["messages"][0]["content"] == "cut \ufffd"
    assert outcomes[-1] == Note("conversations.json", REPAIRED)


def test_large_exports_stream(tmp_path: Path) -> None:
    text = "A sentence that somebody wrote. " * 40
    path = tmp_path / "conversations.json"
    with path.open("w") as out:
        for number in range(1000):
            nodes = {
                f"n{i}": node(f"n{i - 1}" if i else None, message(text))
                for i in range(3)
            }
            record = conversation(nodes, f"c{number}") | {"current_node": "n2"}
            out.write("[" if not number else ",")
            json.dump(record, out)
        out.write("]")
    done: list[int] = []
    size = path.stat().st_size
    outcomes = open_source(path, None).read(OPTIONS, lambda read, _: done.append(read))
    assert isinstance(next(outcomes), ImportedItem)
    assert done[-1] < size // 10
    assert len([each for each in outcomes if isinstance(each, ImportedItem)]) == 999
    assert done[-1] == size
    assert done == sorted(done)


NAMES = st.sampled_from(["a", "b", "c", "\u0000", ""])
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | NAMES
    | st.sampled_from(
        ["user", "bio", "all", "text", "thoughts", "2026-08-06T07:06:40Z"]
    )
)
MEMBERS = st.sampled_from(
    [
        "id",
        "conversation_id",
        "title",
        "create_time",
        "update_time",
        "current_node",
        "mapping",
        "parent",
        "children",
        "message",
        "author",
        "role",
        "name",
        "recipient",
        "content",
        "content_type",
        "parts",
        "text",
        "thoughts",
        "metadata",
        "attachments",
        "citations",
        "asset_pointer",
        "audio_asset_pointer",
        "user_profile",
        "model_set_context",
        "model_slug",
        "default_model_slug",
        "is_visually_hidden_from_conversation",
        "a",
        "b",
        "c",
    ]
)
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(MEMBERS, inner, max_size=6)
    ),
    max_leaves=20,
)


def shaped(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    content = st.fixed_dictionaries(
        {
            "content_type": inner
            | st.sampled_from(
                ["text", "thoughts", "user_editable_context", "model_editable_context"]
            ),
            "parts": inner | st.lists(inner, max_size=3),
        },
        optional={"thoughts": st.lists(inner, max_size=2), "user_profile": inner},
    )
    made = st.fixed_dictionaries(
        {"author": inner, "content": content | inner, "create_time": inner},
        optional={"recipient": inner, "metadata": inner},
    )
    nodes = st.fixed_dictionaries({"parent": NAMES | inner, "message": made | inner})
    return st.fixed_dictionaries(
        {
            "id": inner | st.just("x"),
            "mapping": st.dictionaries(NAMES, nodes | inner, max_size=5),
            "current_node": NAMES | inner,
        },
        optional={"title": inner, "create_time": inner, "update_time": inner},
    )


@settings(max_examples=300)
@given(
    record=ANYTHING | shaped(ANYTHING), options=st.sampled_from([OPTIONS, EVERYTHING])
)
def test_no_conversation_whatever_it_holds_raises(
    record: object, options: ImportOptions
) -> None:
    outcomes = one(record, options)
    assert all(
        isinstance(each, ImportedItem | Skipped | Note | Latest) for each in outcomes
    )
    assert outcomes == one(record, options)


@settings(max_examples=200)
@given(cut=st.floats(0, 1), flip=st.integers(0, 255), where=st.floats(0, 1))
def test_no_damage_to_the_bytes_raises(
    tmp_path_factory: pytest.TempPathFactory, cut: float, flip: int, where: float
) -> None:
    whole = bytearray(json.dumps([good("one"), good("two")]).encode())
    whole[int(where * (len(whole) - 1))] = flip
    damaged = bytes(whole[: int(cut * len(whole))])
    outcomes = read_bytes(tmp_path_factory.mktemp("damaged"), damaged)
    assert outcomes
