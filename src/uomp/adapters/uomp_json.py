"""JSON as UOMP section 12.5 has it: one object or an array of objects."""

from collections.abc import Mapping
from typing import Any

import msgspec

from uomp.adapters.base import shown
from uomp.adapters.uomp_fields import find_columns
from uomp.adapters.uomp_record import Draft


class Parsed(msgspec.Struct, frozen=True):
    """A record, or why it is none, and what was left out."""

    draft: Draft | None
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def read_object(record: object, mapping: Mapping[str, str]) -> Parsed:
    """Sort the members of an object into fields, value and the rest of the value.

    A member that is null is taken as absent, except the value.
    """
    if not isinstance(record, dict):
        return Parsed(None, ("It is not an object.",))
    columns = find_columns(record.keys(), mapping)
    fields = {
        field: record[name]
        for field, name in columns.fields.items()
        if record[name] is not None
    }
    used = {*columns.fields.values(), *columns.overridden}
    value: object = msgspec.UNSET
    extras: dict[str, Any] = {}
    problems: list[str] = []
    for name, member in record.items():
        if name in used:
            continue
        path = columns.paths.get(name, (name,))
        if not path:
            value = member
        elif not _put(extras, path, member):
            problems.append(f'Two members mean the same place as "{shown(name)}".')
    notes = tuple(
        f'The member "{name}" is left out: --map overrides it.'
        for name in columns.overridden
    )
    return Parsed(Draft(fields, value, extras), tuple(problems), notes)


def _put(holder: dict[str, Any], path: tuple[str, ...], member: object) -> bool:
    """Store a member at its place; say whether the place was free."""
    for name in path[:-1]:
        inner = holder.setdefault(name, {})
        if not isinstance(inner, dict):
            return False
        holder = inner
    if path[-1] in holder:
        return False
    holder[path[-1]] = member
    return True
