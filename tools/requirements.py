#!/usr/bin/env python3
"""Show how far the requirements of spec/requirements.toml are met."""

import tomllib
from collections import Counter
from pathlib import Path

from rich.console import Console
from rich.table import Table

MANIFEST = Path(__file__).parent.parent / "spec" / "requirements.toml"
LEVELS = ("MUST", "SHOULD", "MAY", "implied")


def main() -> None:
    """Print a table of done and known per group and level, then the ids done."""
    entries = tomllib.loads(MANIFEST.read_text("utf-8"))["requirement"]
    known: Counter[tuple[str, str]] = Counter()
    done: Counter[tuple[str, str]] = Counter()
    refused: Counter[str] = Counter()
    for id_, entry in entries.items():
        group = id_.partition("-")[0]
        for row in (group, "All"):
            for column in (entry["level"], "all"):
                known[row, column] += 1
                done[row, column] += entry["status"] == "done"
            refused[row] += entry["status"] == "refused"

    table = Table("done / known", *LEVELS, "all", "refused")
    for row in [*dict.fromkeys(id_.partition("-")[0] for id_ in entries), "All"]:
        cells = [f"{done[row, c]} / {known[row, c]}" for c in (*LEVELS, "all")]
        table.add_row(row, *cells, str(refused[row]))
    console = Console()
    console.print(table)
    for status in ("done", "refused"):
        ids = [id_ for id_, entry in entries.items() if entry["status"] == status]
        console.print(f"{status}: {' '.join(ids) or 'none'}", highlight=False)


if __name__ == "__main__":
    main()
