"""One message of a ChatGPT export: what kind it is, and its portable form."""

from datetime import UTC, datetime
from enum import Enum, auto
from typing import Any

from uomp.adapters.chatgpt_text import lift_citations, listed_citations
from uomp.errors import LocalError
from uomp.packets.times import format_time, parse_time

MAX_SAFE = 2**53 - 1
LATEST_EPOCH = 253_402_300_800  # the year 10000, which ISO 8601 cannot write
ROLES = frozenset({"system", "user", "assistant", "tool"})
UNTRUSTED = "untrusted"  # the role of anything that states no known role

_PLAIN = frozenset({"text", "multimodal_text"})
_THOUGHTS = frozenset({"thoughts", "reasoning_recap"})
_TEXT_MEMBERS = ("text", "result", "content", "summary")
_ATTACHMENT_MEMBERS = ("id", "name", "mime_type", "size")
_PART_MEMBERS = ("size_bytes", "width", "height", "format", "direction")


class Kind(Enum):
    """What is to be done with a node's message."""

    NOTHING = auto()  # no message, hidden, or empty: plumbing of the export
    MALFORMED = auto()
    INSTRUCTIONS = auto()  # what the owner told ChatGPT to be; instruction-bearing
    MEMORY = auto()  # a sentence that the model wrote into its memory
    MEMORY_DUMP = auto()  # the whole memory, as it was put before a conversation
    THOUGHT = auto()
    MESSAGE = auto()


_CONTEXTS = {
    "user_editable_context": Kind.INSTRUCTIONS,
    "model_editable_context": Kind.MEMORY_DUMP,
}


def classify(message: object) -> Kind:
    """Say what a node's message is; the first rule that fits decides."""
    if message is None:
        return Kind.NOTHING
    if not isinstance(message, dict) or not isinstance(message.get("content"), dict):
        return Kind.MALFORMED
    content_type = _content_type(message)
    if isinstance(content_type, str) and content_type in _CONTEXTS:
        return _CONTEXTS[content_type]
    if message.get("recipient") == "bio":
        return Kind.MEMORY
    if (
        _members(message, "metadata").get("is_visually_hidden_from_conversation")
        is True
    ):
        return Kind.NOTHING
    thought = isinstance(content_type, str) and content_type in _THOUGHTS
    return Kind.THOUGHT if thought else Kind.MESSAGE


def read_moment(value: object) -> datetime | None:
    """Read epoch seconds or ISO 8601; zero, nonsense and far futures are None."""
    if isinstance(value, str):
        try:
            return parse_time(value)
        except LocalError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return datetime.fromtimestamp(value, UTC) if 0 < value < LATEST_EPOCH else None


def message_time(message: object) -> datetime | None:
    """Return when a message was written, if it says so."""
    return (
        read_moment(message.get("create_time")) if isinstance(message, dict) else None
    )


def memory_text(message: dict[str, Any]) -> str:
    """Return the sentences of a memory write or of a dump of the memory."""
    content = _members(message, "content")
    dumped = content.get("model_set_context")
    if isinstance(dumped, str):
        return dumped.strip()
    texts = [part for part in _list(content, "parts") if isinstance(part, str)]
    return "\n".join(texts or _first_text(content)).strip()


def instructions(message: dict[str, Any]) -> dict[str, str]:
    """Return what the owner said of themselves and how to answer, if anything."""
    content = _members(message, "content")
    found = {
        "about_user": content.get("user_profile"),
        "instructions": content.get("user_instructions"),
    }
    return {
        name: text for name, text in found.items() if isinstance(text, str) and text
    }


def portable(
    message: dict[str, Any], node_id: str, model: str | None
) -> tuple[dict[str, Any] | None, int]:
    """Return the message in the form of this project and its malformed parts.

    The first is None if there is nothing in it. `parent` is set by the caller.
    `model` is the default of the conversation and is taken for the assistant only.
    """
    role = _role(message)
    parts, malformed = _parts(message)
    citations: list[dict[str, str]] = []
    if role != "user":  # the owner's own words stay as they are
        citations = listed_citations(_members(message, "metadata"))
        for part in parts:
            if "text" in part:
                part["text"], lifted = lift_citations(part["text"])
                citations += lifted
    parts = [part for part in parts if part["type"] != "text" or part["text"].strip()]
    attachments = _attachments(message)
    if not parts and not attachments:
        return None, malformed
    moment = message_time(message)
    made: dict[str, Any] = {
        "id": node_id,
        "role": role,
        "at": format_time(moment) if moment else None,
        "content": _content(parts),
        **_labels(message, role, model),
    }
    if attachments:
        made["attachments"] = attachments
    if citations:
        made["citations"] = citations
    return made, malformed


def _role(message: dict[str, Any]) -> str:
    role = _members(message, "author").get("role")
    return role if isinstance(role, str) and role in ROLES else UNTRUSTED


def _labels(message: dict[str, Any], role: str, model: str | None) -> dict[str, str]:
    slug = _members(message, "metadata").get("model_slug")
    found = {
        "name": _members(message, "author").get("name"),
        "recipient": message.get("recipient"),
        "kind": _content_type(message),
        "model": (slug or model) if role == "assistant" else None,
    }
    if found["recipient"] == "all":
        del found["recipient"]
    if isinstance(found["kind"], str) and found["kind"] in _PLAIN:
        del found["kind"]
    return {
        name: text for name, text in found.items() if isinstance(text, str) and text
    }


def _content(parts: list[dict[str, Any]]) -> str | list[dict[str, Any]]:
    if all(part["type"] == "text" for part in parts):
        return "\n".join(part["text"] for part in parts)
    return parts


def _parts(message: dict[str, Any]) -> tuple[list[dict[str, Any]], int]:
    content = _members(message, "content")
    raw = content.get("parts")
    if not isinstance(raw, list):
        raw = _first_text(content) or _thoughts(content)
    made = [_part(part) for part in raw if part is not None]
    return [part for part in made if part], sum(part is None for part in made)


def _part(part: object) -> dict[str, Any] | None:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    if not isinstance(part, dict):
        return None
    kind = part.get("content_type")
    made: dict[str, Any] = {"type": kind if isinstance(kind, str) else "unknown"}
    pointer = part.get("asset_pointer")
    if not isinstance(pointer, str):
        pointer = _members(part, "audio_asset_pointer").get("asset_pointer")
    if isinstance(pointer, str):
        made["pointer"] = pointer
    if isinstance(text := part.get("text"), str):
        made["text"] = text
    elif kind == "text":
        return None
    return made | _scalars(part, _PART_MEMBERS)


def _scalars(holder: dict[str, Any], names: tuple[str, ...]) -> dict[str, str | int]:
    found = {name: holder.get(name) for name in names}
    return {
        name: value
        for name, value in found.items()
        if isinstance(value, str) or (type(value) is int and abs(value) <= MAX_SAFE)
    }


def _attachments(message: dict[str, Any]) -> list[dict[str, str | int]]:
    listed = _list(_members(message, "metadata"), "attachments")
    made = [
        _scalars(each, _ATTACHMENT_MEMBERS) for each in listed if isinstance(each, dict)
    ]
    return [each for each in made if each]


def _first_text(content: dict[str, Any]) -> list[str]:
    for name in _TEXT_MEMBERS:
        if isinstance(text := content.get(name), str) and text:
            return [text]
    return []


def _thoughts(content: dict[str, Any]) -> list[str]:
    texts = []
    for thought in _list(content, "thoughts"):
        if isinstance(thought, dict):
            lines = (thought.get("summary"), thought.get("content"))
            texts.append(": ".join(x for x in lines if isinstance(x, str) and x))
    return texts


def _content_type(message: dict[str, Any]) -> object:
    return _members(message, "content").get("content_type")


def _members(holder: dict[str, Any], name: str) -> dict[str, Any]:
    value = holder.get(name)
    return value if isinstance(value, dict) else {}


def _list(holder: dict[str, Any], name: str) -> list[Any]:
    value = holder.get(name)
    return value if isinstance(value, list) else []
