"""Conversations as ChatGPT exports hold them."""

from datetime import UTC, datetime
from typing import Any

from uomp.adapters.base import ImportedItem, ImportOptions, Outcome
from uomp.adapters.chatgpt_conversation import Latest, read_conversation

NOW = datetime(2026, 12, 1, tzinfo=UTC)
OPTIONS = ImportOptions(now=NOW, tags=("chats",), sensitivity="low")


def message(
    text: object = "hello", role: object = "user", **more: object
) -> dict[str, Any]:
    content = {"content_type": "text", "parts": [text]}
    return {"author": {"role": role}, "content": content, **more}


def node(parent: object, made: object) -> dict[str, Any]:
    return {"parent": parent, "message": made}


def conversation(mapping: object, name: str = "c", **more: object) -> dict[str, Any]:
    return {"id": name, "current_node": "b", "mapping": mapping, **more}


def one(record: object, options: ImportOptions = OPTIONS) -> list[Outcome | Latest]:
    return list(read_conversation(record, "here", options))


def only_messages(
    record: object, options: ImportOptions = OPTIONS
) -> list[dict[str, Any]]:
    first = one(record, options)[0]
    assert isinstance(first, ImportedItem)
    found: list[dict[str, Any]] = first.item.value["messages"]
    return found
