"""What a person is shown of a payload: plain text, bounded, with no commands in it."""

import re
import unicodedata
from collections.abc import Iterator
from typing import Any, Final

from uomp.packets import canonical

MAX_RENDERED: Final = 200_000  # characters; more than a person reads
_NOTHING: Final = "(nothing that can be shown as text)"
_OMITTED: Final = "[\N{HORIZONTAL ELLIPSIS}]"
# Of the invisible characters: these two only join and part letters.
_HARMLESS: Final = "\n\t\u200c\u200d"
_LINE_END: Final = re.compile("\r\n?")


def render_payload(payload: object, fallback: str | None = None) -> str:
    """Return a payload as plain text, at most `MAX_RENDERED` characters, cleaned.

    The payload need not be verified, nor be of a type that is known. `fallback` is
    shown where nothing of the payload can be.
    """
    shown: list[str] = []
    room = MAX_RENDERED
    for piece in _pieces(payload):
        shown.append(piece[:room])
        room -= len(piece)
        if room <= 0:
            break
    return clean(("\n\n".join(shown) or fallback or _NOTHING)[:MAX_RENDERED])


def clean(text: str) -> str:
    """Take out what could command a terminal or turn the writing direction."""
    return "".join(
        "\ufffd" if _is_hidden(char) else char for char in _LINE_END.sub("\n", text)
    )


def _is_hidden(char: str) -> bool:
    if char.isprintable() or char in _HARMLESS:
        return False
    return unicodedata.category(char).startswith("C")


def _pieces(payload: object) -> Iterator[str]:
    if not isinstance(payload, dict):
        return
    items = payload.get("items")
    if isinstance(items, list):
        for item in items:
            yield _item(item)
    else:
        yield from _body(payload)


def _body(payload: dict[Any, Any]) -> Iterator[str]:
    if isinstance(payload.get("text"), str):
        yield payload["text"]
    elif isinstance(payload.get("messages"), list):
        if isinstance(payload.get("title"), str):
            yield f"# {payload['title']}"
        yield from map(_message, payload["messages"])


def _item(item: object) -> str:
    if not isinstance(item, dict):
        return _OMITTED
    value = item.get("value")
    body = "\n".join(_body(value)) if isinstance(value, dict) else ""
    return f"[{_plain(item.get('key'))}]\n{body or _plain(value)}"


def _message(message: object) -> str:
    if not isinstance(message, dict):
        return _OMITTED
    content = message.get("content")
    parts = content if isinstance(content, list) else [content]
    return f"{_plain(message.get('role'))}: {' '.join(map(_part, parts))}"


def _part(part: object) -> str:
    """Return the text of one part of a message; images and calls are left out."""
    if part is None:
        return ""
    text = part.get("text") if isinstance(part, dict) else part
    return text if isinstance(text, str) else _OMITTED


def _plain(value: object) -> str:
    """Return a text as it is and any other value as JSON."""
    if isinstance(value, str):
        return value
    try:
        return canonical.encode(value).decode()
    except canonical.CanonicalError:
        return _OMITTED
