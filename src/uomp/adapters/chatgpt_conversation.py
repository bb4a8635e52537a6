"""One ChatGPT conversation: from the object in the export to memory items."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import msgspec

from uomp.adapters.base import (
    ImportedItem,
    ImportOptions,
    Note,
    Outcome,
    Skipped,
    require_labels,
    shown,
)
from uomp.adapters.chatgpt_message import (
    Kind,
    classify,
    instructions,
    memory_text,
    message_time,
    portable,
    read_moment,
)
from uomp.adapters.chatgpt_tree import (
    Ancestors,
    Branch,
    abandoned,
    main_branch,
    message_of,
)
from uomp.errors import LocalError
from uomp.packets.items import MemoryItem, check_key
from uomp.packets.times import format_time

PROFILE_KEY = "chatgpt.profile"
MEMORY_KEY = "chatgpt.memory"

INSTRUCTIONS = "custom instructions, which would instruct whoever reads them"
THOUGHTS = "the model's thoughts"
ABANDONED = "a message on an abandoned branch"
BROKEN_MESSAGE = "a message is malformed"
BROKEN_PART = "a part of a message is malformed"
NO_TIME = "It states no time: the time of the import is used."


class Latest(msgspec.Struct, frozen=True):
    """Something that many conversations repeat; only the latest becomes an item."""

    item: MemoryItem
    ref: str


ConversationOutcome = Outcome | Latest


class _Reading:
    """Collects what one conversation gives, in the order of its branch."""

    def __init__(self, prefix: str, ref: str, options: ImportOptions) -> None:
        self.messages: list[dict[str, Any]] = []
        self.memories: list[tuple[str, str, datetime | None]] = []
        self.latest: dict[str, dict[str, Any]] = {}
        self.left_out: list[Skipped] = []
        self.times: list[datetime] = []
        self.prefix = prefix
        self.options = options
        self._ref = ref
        self._model: str | None = None

    def leave_out(self, node_id: str, reason: str) -> None:
        where = f"{self._ref}, message {shown(node_id)}"
        self.left_out.append(Skipped(where, reason, part=True))

    def take(self, record: dict[str, Any], mapping: dict[str, Any]) -> Branch:
        """Read the main branch and, if wanted, the rest; return the main branch."""
        slug = record.get("default_model_slug")
        self._model = slug if isinstance(slug, str) and slug else None
        main = main_branch(mapping, record.get("current_node"))
        parent: str | None = None
        for node_id in main.nodes:
            if self._node(mapping, node_id, parent):
                parent = node_id
        for node_id in abandoned(mapping, main):
            self._abandoned(mapping, node_id)
        self._link(Ancestors(mapping, {made["id"] for made in self.messages}))
        return main

    def _abandoned(self, mapping: dict[str, Any], node_id: str) -> None:
        if self.options.include_branches:
            if self._node(mapping, node_id, None):
                self.messages[-1]["branch"] = "abandoned"
        elif classify(message_of(mapping, node_id)) in {Kind.MESSAGE, Kind.MEMORY}:
            self.leave_out(node_id, ABANDONED)

    def _link(self, ancestors: Ancestors) -> None:
        for made in self.messages:
            if "branch" in made:
                made["parent"] = ancestors.nearest(made["id"])

    def _node(self, mapping: dict[str, Any], node_id: str, parent: str | None) -> bool:
        """Take one node; say whether it became a message."""
        message: Any = message_of(mapping, node_id)
        kind = classify(message)
        if kind is Kind.MESSAGE or (
            kind is Kind.THOUGHT and self.options.include_thoughts
        ):
            return self._message(message, node_id, parent)
        if kind is Kind.THOUGHT:
            self.leave_out(node_id, THOUGHTS)
        elif kind is Kind.MALFORMED:
            self.leave_out(node_id, BROKEN_MESSAGE)
        elif kind is Kind.INSTRUCTIONS:
            self._instructions(message, node_id)
        elif kind in {Kind.MEMORY, Kind.MEMORY_DUMP}:
            self._memory(kind, message, node_id)
        return False

    def _memory(self, kind: Kind, message: Any, node_id: str) -> None:  # noqa: ANN401
        text = memory_text(message)
        if text and kind is Kind.MEMORY:
            self.memories.append((node_id, text, message_time(message)))
        elif text:
            self.latest[MEMORY_KEY] = _snippet(text)

    def _message(self, message: Any, node_id: str, parent: str | None) -> bool:  # noqa: ANN401
        made, malformed = portable(message, node_id, self._model)
        for _ in range(malformed):
            self.leave_out(node_id, BROKEN_PART)
        if made is None:
            return False
        made["parent"] = parent
        self.messages.append(made)
        if moment := message_time(message):
            self.times.append(moment)
        return True

    def _instructions(self, message: Any, node_id: str) -> None:  # noqa: ANN401
        found = instructions(message)
        if found and self.options.include_instructions:
            marks = {"origin": "chatgpt", "instruction_bearing": True}
            self.latest[PROFILE_KEY] = found | marks
        elif found:
            self.leave_out(node_id, INSTRUCTIONS)


def read_conversation(
    record: object, place: str, options: ImportOptions
) -> Iterator[ConversationOutcome]:
    """Turn one element of the export into items; never raises for what it holds.

    `place` says where the element stands, for one that has no id. The conversation
    comes first, then what the model wrote to its memory there, then what was left out.

    Raises:
        LocalError: `IMPORT_REFUSED`, if the options lack tags or a sensitivity.
    """
    require_labels(options)
    if not isinstance(record, dict):
        yield Skipped(place, "It is not an object.")
        return
    identity = record.get("conversation_id") or record.get("id")
    if not isinstance(identity, str):
        yield Skipped(place, "It has no id.")
        return
    ref = f"conversation {shown(identity)}"
    key = f"chatgpt.{identity}"
    mapping = record.get("mapping")
    try:
        check_key(key)
    except LocalError as error:
        yield Skipped(ref, str(error))
        return
    if not isinstance(mapping, dict):
        yield Skipped(ref, "It has no messages (no mapping).")
        return
    reading = _Reading(key, ref, options)
    main = reading.take(record, mapping)
    yield from _outcomes(record, ref, reading)
    for note in main.notes:
        yield Note(ref, note)


def _outcomes(
    record: dict[str, Any], ref: str, reading: _Reading
) -> Iterator[ConversationOutcome]:
    created, updated, known = _times(record, reading)
    if reading.messages:
        value = _value(record, reading)
        yield ImportedItem(_item(reading, reading.prefix, value, created, updated), ref)
    else:
        yield Skipped(ref, "It has no visible message.")
    for node_id, text, moment in reading.memories:
        key = f"{reading.prefix}.memory.{node_id}"
        where = f"{ref}, memory {shown(node_id)}"
        at = moment or updated
        try:
            check_key(key)
        except LocalError as error:
            yield Skipped(where, str(error))
            continue
        yield ImportedItem(_item(reading, key, _snippet(text), at, at), where)
    for key, latest in reading.latest.items():
        yield Latest(_item(reading, key, latest, updated, updated), ref)
    yield from reading.left_out
    if not known and (reading.messages or reading.memories):
        yield Note(ref, NO_TIME)


def _snippet(text: str) -> dict[str, Any]:
    return {"text": text, "method": "llm_inference", "origin": "chatgpt"}


def _value(record: dict[str, Any], reading: _Reading) -> dict[str, Any]:
    title, model = record.get("title"), record.get("default_model_slug")
    value: dict[str, Any] = {
        "title": title if isinstance(title, str) else None,
        "source": "chatgpt",
        "model": model if isinstance(model, str) else None,
        "messages": reading.messages,
    }
    if reading.memories:
        value["memories"] = [node_id for node_id, _, _ in reading.memories]
    return value


def _times(
    record: dict[str, Any], reading: _Reading
) -> tuple[datetime, datetime, bool]:
    """Return created, updated, and whether the export stated any time at all."""
    times = reading.times
    created = read_moment(record.get("create_time")) or min(times, default=None)
    updated = read_moment(record.get("update_time")) or max(times, default=None)
    known = created or updated
    first = created or updated or reading.options.now
    return first, max(first, updated or first), known is not None


def _item(
    reading: _Reading, key: str, value: object, created: datetime, updated: datetime
) -> MemoryItem:
    return MemoryItem(
        key=key,
        value=value,
        tags=reading.options.tags,
        sensitivity=require_labels(reading.options),
        source="user",
        created_at=format_time(created),
        updated_at=format_time(updated),
    )
