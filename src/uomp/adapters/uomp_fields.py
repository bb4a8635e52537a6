"""Which column or member holds which field of an item (UOMP sections 12.6, 12.7)."""

from collections.abc import Collection, Mapping

import msgspec

from uomp.adapters.base import refuse

FIELDS = (
    "key",
    "tags",
    "sensitivity",
    "source",
    "description",
    "created_at",
    "updated_at",
)
"""Reserved names, in the order of section 12.6."""

# In the order of section 12.7, then the Chinese names. The first one present counts.
ALIASES: Mapping[str, tuple[str, ...]] = {
    "key": ("id", "item_id", "record_id", "键", "键名", "编号"),
    "tags": ("tag", "标签"),
    "sensitivity": ("level", "敏感度", "敏感级别"),
    "source": ("origin", "来源"),
    "description": ("desc", "描述", "说明"),
    "created_at": ("created", "创建时间"),
    "updated_at": ("updated", "更新时间"),
}

MAX_PATH = 32  # `value.a.b…`: deeper than any table needs


class Columns(msgspec.Struct, frozen=True):
    """What each name means.

    `fields` goes from a field to the name that holds it, `paths` from a name to its
    place inside `value` (empty for the value itself). `overridden` are reserved names
    that a mapping made useless: they are neither field nor value.
    """

    fields: dict[str, str]
    paths: dict[str, tuple[str, ...]]
    overridden: tuple[str, ...]


def check_map(mapping: Mapping[str, str]) -> None:
    """Refuse a `--map` to something that is no field of an item.

    Raises:
        LocalError: `IMPORT_REFUSED`.
    """
    for target in mapping:
        if target not in FIELDS and value_path(target) is None:
            raise refuse(
                "A mapping goes from key, tags, sensitivity, source, description, "
                "created_at, updated_at, value or value.NAME to a column."
            )


def find_columns(names: Collection[str], mapping: Mapping[str, str]) -> Columns:
    """Give every name that is not ordinary value data its meaning.

    A mapping comes first, then the reserved name itself, then its aliases in order.
    An alias beside the reserved name is ordinary value data (A-57).
    """
    mapped = {target: name for target, name in mapping.items() if name in names}
    taken = set(mapped.values())
    fields = {target: name for target, name in mapped.items() if target in FIELDS}
    for field in FIELDS:
        if field not in mapping and (name := _first(field, names, taken)):
            fields[field] = name
    placed = {name: value_path(target) for target, name in mapped.items()}
    paths = {name: path for name, path in placed.items() if path is not None}
    if "value" in names and "value" not in mapping and "value" not in taken:
        paths["value"] = ()
    used = taken | set(fields.values())
    overridden = tuple(name for name in names if name in FIELDS and name not in used)
    return Columns(fields=fields, paths=paths, overridden=overridden)


def _first(field: str, names: Collection[str], taken: set[str]) -> str | None:
    for name in (field, *ALIASES[field]):
        if name in names and name not in taken:
            return name
    return None


def value_path(target: str) -> tuple[str, ...] | None:
    """Return the place that `value` or `value.a.b` means, None if it means none."""
    head, *path = target.split(".")
    good = head == "value" and all(path) and len(path) <= MAX_PATH
    return tuple(path) if good else None
