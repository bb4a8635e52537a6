"""A CSV header and the rows under it (UOMP sections 12.4, 12.6, 12.7, 12.10)."""

from collections import Counter
from itertools import pairwise
from typing import Any

import msgspec

from uomp.adapters.base import ImportOptions, shown
from uomp.adapters.uomp_cells import read_cell, read_json_cell
from uomp.adapters.uomp_fields import find_columns, value_path
from uomp.adapters.uomp_record import Draft
from uomp.errors import LocalError

MAX_COLUMNS = 2000  # wider tables are no list of memories
_VERBATIM = frozenset({"key", "description"})  # not stripped of blanks

Path = tuple[str, ...]


class Row(msgspec.Struct, frozen=True):
    """A row, counted from 1 as a spreadsheet does; the header has no draft."""

    number: int
    draft: Draft | None
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class Table:
    """The meaning of the columns. If it has `problems`, no row can be read."""

    def __init__(
        self, header: list[str], options: ImportOptions, delimiter: str
    ) -> None:
        self.problems: list[str] = []
        self.notes: list[str] = []
        self._types = options.types
        self._names = [cell.strip() for cell in header]
        self._fields: dict[int, str] = {}
        self._paths: dict[int, Path] = {}
        if len(self._names) > MAX_COLUMNS:
            self.problems.append(f"There are over {MAX_COLUMNS} columns.")
            return
        self._check_names(options)
        self._place(options)
        self._check_paths()
        if "key" not in self._fields.values():
            others = ", ".join(repr(each) for each in ";,\t|" if each != delimiter)
            self.problems.append(
                "The header has no key column. Name one with --map key=COLUMN, or "
                f"give the delimiter ({others}) with --delimiter."
            )

    def _check_names(self, options: ImportOptions) -> None:
        for name, count in Counter(self._names).items():
            if name and count > 1:
                self.problems.append(f'The column "{shown(name)}" is there twice.')
        for name in options.map.values():
            if name not in self._names:
                self.problems.append(
                    f'The mapping names a column "{shown(name)}", which is not there.'
                )

    def _place(self, options: ImportOptions) -> None:
        columns = find_columns(self._names, options.map)
        holders = {name: field for field, name in columns.fields.items()}
        for index, name in enumerate(self._names):
            if name in holders:
                self._fields[index] = holders[name]
            elif name in columns.paths:
                self._paths[index] = columns.paths[name]
            elif name in columns.overridden:
                self.notes.append(
                    f'The column "{name}" is left out: --map overrides it.'
                )
            elif name.startswith("value."):
                self._paths[index] = value_path(name) or ()
                if not self._paths[index]:
                    self.problems.append(f'The column "{shown(name)}" names no place.')
            elif name:
                self._paths[index] = (name,)

    def _check_paths(self) -> None:
        places = sorted(path for path in self._paths.values() if path)
        for path, following in pairwise(places):
            if following[: len(path)] == path:
                self.problems.append(
                    f'Two columns mean the same place, "{shown(".".join(path))}".'
                )

    def row(self, number: int, cells: list[str]) -> Row:
        """Read the cells of one row."""
        problems: list[str] = []
        notes: list[str] = []
        if len(cells) < len(self._names):
            notes.append("The row is short: the missing cells are taken as empty.")
            cells = cells + [""] * (len(self._names) - len(cells))
        for index, cell in enumerate(cells):
            if cell.strip() and (index >= len(self._names) or not self._names[index]):
                problems.append("A cell stands under no column name.")
                break
        fields = self._row_fields(cells, problems)
        values = self._row_values(cells, problems, notes)
        draft = Draft(fields, *self._nest(values, cells))
        return Row(number, draft, tuple(problems), tuple(notes))

    def _row_fields(self, cells: list[str], problems: list[str]) -> dict[str, object]:
        fields: dict[str, object] = {}
        for index, field in self._fields.items():
            cell = cells[index] if field in _VERBATIM else cells[index].strip()
            if not cell:
                continue
            try:
                fields[field] = _tags(cell) if field == "tags" else cell
            except LocalError as error:
                problems.append(f"The tags cell {error}.")
        return fields

    def _row_values(
        self, cells: list[str], problems: list[str], notes: list[str]
    ) -> dict[int, Any]:
        values: dict[int, Any] = {}
        for index in self._paths:
            where = f'The cell under "{shown(self._names[index])}"'
            try:
                values[index], note = read_cell(cells[index], types=self._types)
            except LocalError as error:
                problems.append(f"{where} {error}.")
                continue
            if note:
                notes.append(f"{where} {note}.")
        return values

    def _nest(
        self, values: dict[int, Any], cells: list[str]
    ) -> tuple[object, dict[str, object]]:
        """Return the value itself and what belongs into it.

        An empty cell cannot be told from an absent one. Where a table has a column
        for the value and others for its members, empty cells are absent.
        """
        whole = next((index for index, path in self._paths.items() if not path), None)
        inner = {index: path for index, path in self._paths.items() if path}
        value: object = msgspec.UNSET
        if whole is not None and (cells[whole] or not any(cells[i] for i in inner)):
            value = values.get(whole)
            inner = {index: path for index, path in inner.items() if cells[index]}
        extras: dict[str, object] = {}
        for index, path in inner.items():
            holder: dict[str, Any] = extras
            for name in path[:-1]:
                holder = holder.setdefault(name, {})
            holder[path[-1]] = values.get(index)
        return value, extras


def _tags(cell: str) -> object:
    """Read a JSON array, or split on semicolons and commas (A-58)."""
    if cell.startswith("["):
        return read_json_cell(cell)
    parts = (part.strip() for part in cell.replace(",", ";").split(";"))
    return [part for part in parts if part]
