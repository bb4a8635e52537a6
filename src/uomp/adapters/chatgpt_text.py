"""Citation marks inside the text of a ChatGPT message.

Two forms are known: `cite` and its targets between the private-use characters U+E200
and U+E201, parted by U+E202, and 【turn0search1】 or 【12†source】. Lenticular brackets
around anything else are ordinary Chinese and Japanese punctuation and stay.
"""

import re
from typing import Any

MAX_CITATIONS = 200  # of one message; the rest say nothing new

_MARK = re.compile(
    "[ \t]{0,3}(?:"  # bounded, since a long run of blanks would be searched over again
    "\ue200([^\ue200\ue201]{0,2000})\ue201"
    "|【(turn[0-9]{1,4}[a-z_]{1,20}[0-9]{1,4}|[0-9]{1,4}(?::[0-9]{1,4})?†[^【】]{0,200})】"
    ")"
)
_PRIVATE = re.compile("[\ue200-\ue20f]")


def lift_citations(text: str) -> tuple[str, list[dict[str, str]]]:
    """Return the text without its marks, and the marks in order."""
    found: list[dict[str, str]] = []

    def lift(mark: re.Match[str]) -> str:
        if len(found) < MAX_CITATIONS:
            inner = (mark[1] or mark[2] or "").replace("\ue202", " ")
            found.append({"marker": _PRIVATE.sub("", inner)})
        return ""

    return _PRIVATE.sub("", _MARK.sub(lift, text)), found


def listed_citations(metadata: dict[str, Any]) -> list[dict[str, str]]:
    """Return title and URL of the citations that the metadata lists."""
    listed: list[dict[str, str]] = []
    for name in ("citations", "content_references"):
        entries = metadata.get(name)
        for entry in entries if isinstance(entries, list) else []:
            cited = _cited(entry)
            if cited and cited not in listed and len(listed) < MAX_CITATIONS:
                listed.append(cited)
    return listed


def _cited(entry: object) -> dict[str, str]:
    if not isinstance(entry, dict):
        return {}
    inner = entry.get("metadata")
    holder = inner if isinstance(inner, dict) else entry
    found = {name: holder.get(name) for name in ("title", "url")}
    return {
        name: text for name, text in found.items() if isinstance(text, str) and text
    }
