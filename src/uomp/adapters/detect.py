"""Finding out what a file is, from its name and its first bytes."""

import re
from collections import defaultdict
from collections.abc import Iterable
from itertools import islice
from pathlib import Path, PurePath
from typing import TypeVar

from uomp.adapters.archives import list_members, zip_input
from uomp.adapters.base import Source, no_progress, refuse
from uomp.adapters.chatgpt import FORMAT as CHATGPT
from uomp.adapters.chatgpt import ChatGptSource
from uomp.adapters.files import CHUNK_BYTES, Meter, file_input
from uomp.adapters.json_stream import Feed, events
from uomp.adapters.uomp_fields import ALIASES
from uomp.adapters.uomp_items import CSV, JSON, UompSource
from uomp.errors import LocalError

FORMATS = (CHATGPT, CSV, JSON)

LOOKED_FOR = (
    "This is no format that can be imported. Looked for: a ChatGPT export (a folder, "
    "a ZIP, conversations.json or conversations-000.json and so on), and memory items "
    "as CSV or as JSON with a key in each. --format names one of "
    f"{', '.join(FORMATS)} where the file is one of them all the same."
)

MAX_PEEK_EVENTS = 100_000  # enough to reach past the first record's title and times

_SHARD = re.compile(r"conversations(?:-(\d{1,6}))?\.json", re.ASCII)
_CHATGPT_MEMBERS = frozenset({"mapping", "current_node"})
_COMPANIONS = frozenset(  # of a ChatGPT export; none of them holds memories
    {"user.json", "message_feedback.json", "shared_conversations.json"}
)
_LINES = frozenset({".jsonl", ".ndjson"})  # one value a line: other programs' formats
_KEY_MEMBERS = frozenset({"key", *ALIASES["key"]})
_STARTS = frozenset({"start_map", "start_array"})
_ENDS = frozenset({"end_map", "end_array"})
_TABLES = frozenset({".csv", ".tsv", ".tab"})
_ZIP_MAGICS = (b"PK\x03\x04", b"PK\x05\x06")  # with members, and without

_AnyPath = TypeVar("_AnyPath", bound=PurePath)


def open_source(path: Path, format: str | None, *, mapped: bool = False) -> Source:  # noqa: A002
    """Return the importer for a file or folder.

    `format` is one of `FORMATS`, or None to find out. `mapped` says that the owner
    names the key with `--map`, so that a JSON file need not have one by name.

    Raises:
        LocalError: `IMPORT_REFUSED`, with what was looked for, or why the file cannot
            be read.
    """
    if format is not None and format not in FORMATS:
        raise refuse(f"There is no such format. Formats: {', '.join(FORMATS)}.")
    if path.is_dir():
        return _folder(path, format)
    head = _head(path)
    if head.startswith(_ZIP_MAGICS) and format in {None, CHATGPT}:
        return _zip(path)
    found = format or _recognise(path, head, mapped=mapped)
    if found == CHATGPT:
        return ChatGptSource(file_input(path), "a JSON file")
    return UompSource(file_input(path), found)


def _head(path: Path) -> bytes:
    with file_input(path).parts[0].open() as stream:
        return stream.read(CHUNK_BYTES)


def _folder(path: Path, format: str | None) -> Source:  # noqa: A002
    try:
        files = [each for each in path.glob("*.json") if each.is_file()]
        files += [each for each in path.glob("*/*.json") if each.is_file()]
    except OSError as error:
        raise refuse("The folder cannot be read.") from error
    shards = _shards(files)
    if not shards or format not in {None, CHATGPT}:
        raise refuse(LOOKED_FOR)
    return ChatGptSource(file_input(*shards), "a folder")


def _zip(path: Path) -> Source:
    members = list_members(path)
    shards = _shards(members)
    if not shards:
        raise refuse(LOOKED_FOR)
    return ChatGptSource(zip_input(path, [members[each] for each in shards]), "a ZIP")


def _shards(paths: Iterable[_AnyPath]) -> list[_AnyPath]:
    """Return the shards of the one export among the paths, in numeric order.

    Raises:
        LocalError: `IMPORT_REFUSED`, if two folders of one level hold an export, or
            one folder holds both the whole file and shards.
    """
    found: dict[tuple[int, PurePath], list[tuple[int, _AnyPath]]] = defaultdict(list)
    for path in paths:
        if shard := _SHARD.fullmatch(path.name):
            number = -1 if shard[1] is None else int(shard[1])
            found[len(path.parts), path.parent].append((number, path))
    if not found:
        return []
    level = min(depth for depth, _ in found)
    groups = [group for (depth, _), group in found.items() if depth == level]
    if len(groups) > 1:
        raise refuse("Two folders in it hold an export: import them one by one.")
    numbered = sorted(groups[0], key=lambda each: (each[0], each[1].name))
    if len(numbered) > 1 and len({number for number, _ in numbered}) < len(numbered):
        raise refuse("Two files in it are the same shard of an export.")
    if len(numbered) > 1 and numbered[0][0] < 0:
        raise refuse("It holds conversations.json and shards of it: keep one of both.")
    return [path for _, path in numbered]


def _recognise(path: Path, head: bytes, *, mapped: bool) -> str:
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text[:1] in {b"{", b"["} and path.suffix.lower() not in _TABLES:
        return _recognise_json(path, mapped=mapped)
    if path.suffix.lower() in _TABLES or _has_header(text):
        return CSV
    raise refuse(LOOKED_FOR)


def _recognise_json(path: Path, *, mapped: bool) -> str:
    names = _first_members(path)
    shard = _SHARD.fullmatch(path.name) is not None
    if names is None:
        return CHATGPT if shard else JSON
    if names & _CHATGPT_MEMBERS or (shard and "conversation_id" in names):
        return CHATGPT
    if path.suffix.lower() in _LINES:
        raise refuse(LOOKED_FOR)
    if "key" in names or mapped:
        return JSON
    if names & _KEY_MEMBERS and path.name not in _COMPANIONS:
        return JSON
    raise refuse(LOOKED_FOR)


def _first_members(path: Path) -> set[str] | None:
    """Return the member names of the first object; None for an empty array."""
    part = file_input(path).parts[0]
    names: set[str] = set()
    level = depth = 0  # of the first object, and of the event
    try:
        with part.open() as stream:
            feed = Feed(stream, Meter(part.size, no_progress))
            for kind, value in islice(events(feed), MAX_PEEK_EVENTS):
                depth += (kind in _STARTS) - (kind in _ENDS)
                if kind == "start_map" and not level:
                    level = depth
                elif kind == "map_key" and depth == level:
                    names.add(value)
                elif kind in _ENDS and depth < max(level, 1):
                    return names if level else None
    except LocalError:  # broken further on: the import will say where
        pass
    return names


def _has_header(text: bytes) -> bool:
    line = text.splitlines()[0] if text else b""
    try:
        names = re.split(r"[,;\t|]", line.decode().replace('"', ""))
    except UnicodeDecodeError:
        return False
    return any(name.strip() in _KEY_MEMBERS for name in names)
