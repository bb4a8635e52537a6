"""From the fields of one record to a memory item (UOMP sections 12.5 to 12.9)."""

from collections.abc import Callable
from typing import Any, get_args

import msgspec

from uomp.adapters.base import ImportOptions, shown
from uomp.adapters.uomp_times import read_time
from uomp.errors import LocalError
from uomp.packets.items import (
    MemoryItem,
    Sensitivity,
    Source,
    check_key,
    check_tags,
)
from uomp.packets.times import format_time

LEVELS: tuple[Sensitivity, ...] = get_args(Sensitivity)  # from the least to the most
SOURCES: tuple[Source, ...] = get_args(Source)


class Draft(msgspec.Struct, frozen=True):
    """A record as it was found.

    `fields` holds what the reserved names hold, absent ones left out. `value` is
    UNSET if absent; `extras` is what else belongs to it.
    """

    fields: dict[str, object]
    value: object
    extras: dict[str, object]


class Checked(msgspec.Struct):
    """What came of a record: an item exactly if there are no problems."""

    item: MemoryItem | None = None
    problems: list[str] = msgspec.field(default_factory=list)
    notes: list[str] = msgspec.field(default_factory=list)


def check_draft(draft: Draft, options: ImportOptions) -> Checked:
    """Validate a record by the list of section 12.9 and find all its faults.

    That the key is unique (the second of the list) is for whoever has all records.
    """
    result = Checked()
    # 1. A key is present and not empty.
    key = _key(draft.fields.get("key"), result)
    # 4. Tags are not empty (before 3, since a level may come from a tag).
    tags = _tags(draft.fields.get("tags"), options, result)
    # 3. The sensitivity is one of three, and explicit (section 12.8).
    sensitivity = _sensitivity(draft.fields.get("sensitivity"), tags, options, result)
    # 5. Times, when present, are ISO 8601.
    now = format_time(options.now)
    created = _time("created_at", draft, result) or now
    updated = _time("updated_at", draft, result) or now
    # Section 11.2: the source and the description.
    source = _source(draft.fields.get("source", "user"), result)
    description = _description(draft.fields.get("description"), result)
    # Sections 12.5 and 12.6: the value.
    value = _value(draft, result)
    if not result.problems and sensitivity is not None:
        result.item = MemoryItem(
            key=key,
            value=value,
            tags=tags,
            sensitivity=sensitivity,
            source=source,
            created_at=created,
            updated_at=updated,
            description=description,
        )
    return result


def _key(found: object, result: Checked) -> str:
    if found is None or found == "" or (isinstance(found, str) and not found.strip()):
        result.problems.append("The key is missing or empty.")
    elif not isinstance(found, str):
        result.problems.append("The key is not text.")
    else:
        _guarded(check_key, found, result)
        return found
    return ""


def _tags(found: object, options: ImportOptions, result: Checked) -> tuple[str, ...]:
    if isinstance(found, str):
        found = [found] if found.strip() else []
    elif found is None:
        found = []
    if not isinstance(found, list) or not all(isinstance(tag, str) for tag in found):
        result.problems.append("The tags are neither a text nor a list of texts.")
        return ()
    tags = tuple(dict.fromkeys(found)) or options.tags
    if not tags:
        result.problems.append("It states no tags: state them or give --tag.")
        return ()
    _guarded(check_tags, tags, result)
    return tags


def _sensitivity(
    found: object, tags: tuple[str, ...], options: ImportOptions, result: Checked
) -> Sensitivity | None:
    for level in LEVELS:
        if found == level:
            return level
    if found is not None and found != "":
        result.problems.append("The sensitivity is not low, medium or high.")
        return None
    if options.sensitivity is not None:
        return options.sensitivity
    by_tag = {tag: options.sensitivity_by_tag.get(tag) for tag in tags}
    for level in reversed(LEVELS):  # the most careful of several defaults
        for tag, default in by_tag.items():
            if default == level:
                result.notes.append(
                    f'The sensitivity "{level}" is your default for the tag '
                    f'"{shown(tag)}".'
                )
                return level
    result.problems.append("It states no sensitivity: state one or give --sensitivity.")
    return None


def _time(name: str, draft: Draft, result: Checked) -> str | None:
    found = draft.fields.get(name)
    if found is None or found == "":
        return None
    try:
        if not isinstance(found, str):
            result.problems.append(f"{name} is not an ISO 8601 time.")
            return None
        time, decided = read_time(found)
    except LocalError as error:
        result.problems.append(f"{name} {error}.")
        return None
    if decided:
        result.notes.append(f"{name} {decided}.")
    return time


def _source(found: object, result: Checked) -> Source:
    for source in SOURCES:
        if found == source:
            return source
    if found is not None and found != "":
        result.problems.append("The source is not user or agent.")
    return "user"


def _description(found: object, result: Checked) -> str | None:
    if found is None or isinstance(found, str):
        return found or None
    result.problems.append("The description is not text.")
    return None


def _value(draft: Draft, result: Checked) -> object:
    if draft.value is msgspec.UNSET:
        return draft.extras
    if not draft.extras:
        return draft.value
    if not isinstance(draft.value, dict):
        result.problems.append(
            "There is a value that is no object, and other data that belongs into it."
        )
        return None
    if not draft.value.keys().isdisjoint(draft.extras):
        result.problems.append("A name is both inside the value and beside it.")
    return draft.value | draft.extras


def _guarded(check: Callable[[Any], None], found: object, result: Checked) -> None:
    try:
        check(found)
    except LocalError as error:
        result.problems.append(str(error))
