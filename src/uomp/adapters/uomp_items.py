"""UOMP's own import format, CSV and JSON (UOMP section 12).

Whole or not at all: the caller stores nothing of a file that has a `Problem` (12.9).
"""

from collections.abc import Iterable, Iterator
from functools import cached_property
from hashlib import blake2b

from uomp.adapters.base import (
    ImportedItem,
    ImportOptions,
    Note,
    Outcome,
    Problem,
    Progress,
)
from uomp.adapters.files import Input, Meter, digest
from uomp.adapters.json_stream import Feed, read_records
from uomp.adapters.uomp_csv import check_delimiter, read_rows
from uomp.adapters.uomp_fields import check_map
from uomp.adapters.uomp_json import read_object
from uomp.adapters.uomp_record import Draft, check_draft
from uomp.errors import LocalError

CSV = "uomp-csv"
JSON = "uomp-json"
EMPTY = "It holds no records."
HALF = "A text holds half of a surrogate pair, which no UTF-8 text can hold."


class UompSource:
    """A file of memory items; `format` is one of the two forms."""

    atomic = True

    def __init__(self, found: Input, form: str) -> None:
        self.format = form
        self._input = found

    @cached_property
    def digest(self) -> str:
        """SHA-256 in hex of the file."""
        return digest(self._input.files)

    def describe(self) -> str:
        """Say what the file was taken for."""
        kind = "CSV" if self.format == CSV else "JSON"
        return f"memory items in {kind} (UOMP section 12)"

    def read(self, options: ImportOptions, progress: Progress) -> Iterator[Outcome]:
        """Check mapping and delimiter now, then read record by record.

        Raises:
            LocalError: `IMPORT_REFUSED`, if a mapping or the delimiter is no such.
        """
        check_map(options.map)
        meter = Meter(self._input.size, progress)
        run = _Run(options)
        if self.format == JSON:
            return self._guarded(self._read_json(run, meter), run)
        tabbed = self._input.parts[0].name.lower().endswith((".tsv", ".tab"))
        delimiter = check_delimiter(options.delimiter or ("\t" if tabbed else ","))
        return self._guarded(self._read_csv(run, meter, delimiter), run)

    def _guarded(self, outcomes: Iterator[Outcome], run: "_Run") -> Iterator[Outcome]:
        name = self._input.parts[0].name
        try:
            yield from outcomes
        except LocalError as error:
            yield Problem(name, str(error))
            return
        if not run.records:
            yield Problem(name, EMPTY)

    def _read_csv(self, run: "_Run", meter: Meter, delimiter: str) -> Iterator[Outcome]:
        with self._input.parts[0].open() as stream:
            for row in read_rows(stream, meter, delimiter, run.options):
                ref = f"row {row.number}"
                yield from run.notes(ref, row.notes)
                yield from run.record(ref, row.draft, row.problems)

    def _read_json(self, run: "_Run", meter: Meter) -> Iterator[Outcome]:
        with self._input.parts[0].open() as stream:
            feed = Feed(stream, meter)
            for record in read_records(feed, exact=True):
                ref = f"record {record.number}"
                if record.fault:
                    yield from run.record(ref, None, (record.fault,))
                    continue
                parsed = read_object(record.value, run.options.map)
                yield from run.notes(ref, parsed.notes)
                yield from run.record(ref, parsed.draft, parsed.problems)
            if feed.repaired:
                yield Problem(self._input.parts[0].name, HALF)


class _Run:
    """What must be remembered from one record to the next."""

    def __init__(self, options: ImportOptions) -> None:
        self.options = options
        self.records = 0
        # Digests of the keys, so that a million long keys fit into memory.
        self._seen: dict[bytes, str] = {}

    def notes(self, ref: str, notes: Iterable[str]) -> Iterator[Outcome]:
        for text in notes:
            yield Note(ref, text)

    def record(
        self, ref: str, draft: Draft | None, problems: tuple[str, ...]
    ) -> Iterator[Outcome]:
        """Validate one record; a record with any problem gives no item."""
        if draft is None:
            for reason in problems:
                self.records += 1
                yield Problem(ref, reason)
            return
        self.records += 1
        checked = check_draft(draft, self.options)
        yield from self.notes(ref, checked.notes)
        for reason in (*problems, *checked.problems):
            yield Problem(ref, reason)
        repeated = self._repeated(ref, draft.fields.get("key"))
        if repeated and self.options.replace:
            yield Note(ref, f"It replaces {repeated}, which has the same key.")
        elif repeated:
            yield Problem(ref, f"Its key is that of {repeated}; --replace allows it.")
        if checked.item and not problems and (not repeated or self.options.replace):
            yield ImportedItem(checked.item, ref)

    def _repeated(self, ref: str, key: object) -> str | None:
        """Return the record that had this key before (section 12.9, second rule)."""
        if not isinstance(key, str) or not key:
            return None
        mark = blake2b(key.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        earlier = self._seen.get(mark)
        self._seen[mark] = ref
        return earlier
