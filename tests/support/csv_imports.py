"""Imports of small CSV texts, and what they gave."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from uomp.adapters.base import (
    ImportedItem,
    ImportOptions,
    Note,
    Outcome,
    Problem,
    no_progress,
)
from uomp.adapters.detect import open_source
from uomp.packets.items import MemoryItem

OPTIONS = ImportOptions(now=datetime(2026, 12, 1, 9, 30, tzinfo=UTC))
LABELLED = msgspec.structs.replace(OPTIONS, tags=("t",), sensitivity="low")
TYPED = msgspec.structs.replace(LABELLED, types=True)


def read(
    folder: Path,
    data: str | bytes,
    options: ImportOptions = LABELLED,
    name: str = "x.csv",
) -> list[Outcome]:
    path = folder / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return list(open_source(path, "uomp-csv").read(options, no_progress))


def items(outcomes: list[Outcome]) -> list[MemoryItem]:
    return [each.item for each in outcomes if isinstance(each, ImportedItem)]


def faults(outcomes: list[Outcome]) -> list[str]:
    return [f"{x.ref}: {x.reason}" for x in outcomes if isinstance(x, Problem)]


def notes(outcomes: list[Outcome]) -> list[str]:
    return [f"{each.ref}: {each.text}" for each in outcomes if isinstance(each, Note)]


def value(
    folder: Path, header: str, row: str, options: ImportOptions = LABELLED
) -> Any:
    outcomes = read(folder, f"key,{header}\nk,{row}\n", options)
    assert faults(outcomes) == []
    return items(outcomes)[0].value
