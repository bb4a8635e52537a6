"""What every importer is given and what it yields (UOMP section 12).

An importer turns a file into a stream of outcomes. It never touches the store and
keeps no state between two calls of `read`: reading the same bytes with the same
options gives the same outcomes in the same order, so that an import that was
interrupted can go on after the first N.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Protocol

import msgspec

from uomp.errors import Code, LocalError
from uomp.packets.items import MemoryItem, Sensitivity, check_tags

SHOWN_CHARS = 80  # enough to find a record, too few to fill a terminal

Progress = Callable[[int, int], None]
"""Told the bytes read so far and the bytes there are; for a ZIP, uncompressed."""


class ImportedItem(msgspec.Struct, frozen=True):
    """An item that may be stored. `ref` says where it came from, for a person."""

    item: MemoryItem
    ref: str


class Skipped(msgspec.Struct, frozen=True):
    """Something in the file that is not imported, and why.

    `part` is true if it is a piece of a record that is otherwise imported.
    """

    ref: str
    reason: str
    part: bool = False


class Problem(msgspec.Struct, frozen=True):
    """A fault of the file. If the source is `atomic`, nothing may be stored."""

    ref: str
    reason: str


class Note(msgspec.Struct, frozen=True):
    """Something that was read with a decision the owner should know of."""

    ref: str
    text: str


Outcome = ImportedItem | Skipped | Problem | Note


class ImportOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What the owner asked for.

    `tags` and `sensitivity` are for records that state none; a chat export states
    none at all. `map` goes from a field of the item (`key`, `tags`, `value.title`)
    to the name of the column or member that holds it. `types` reads the cells of a
    CSV as JSON numbers, booleans and null, and cleans currency and thousands signs.
    `sensitivity_by_tag` comes from the owner's configuration and is empty unless
    configured (A-61). `now` is the time of the import, with a zone.
    """

    now: datetime
    tags: tuple[str, ...] = ()
    sensitivity: Sensitivity | None = None
    sensitivity_by_tag: Mapping[str, Sensitivity] = {}
    replace: bool = False
    map: Mapping[str, str] = {}
    delimiter: str | None = None
    types: bool = False
    include_branches: bool = False
    include_instructions: bool = False
    include_thoughts: bool = False


class Source(Protocol):
    """A file that an importer understands."""

    @property
    def format(self) -> str:
        """The name that `--format` takes."""
        ...

    @property
    def atomic(self) -> bool:
        """Whether one `Problem` forbids storing anything of the file (12.9, A-60).

        If so, the caller reads it once with `report.check` and only then again to
        store. If not, what came before a `Problem` may be kept.
        """
        ...

    @property
    def digest(self) -> str:
        """SHA-256 in hex over the input; reads the whole of it at the first use."""
        ...

    def describe(self) -> str:
        """Say in one line what the file was taken for."""
        ...

    def read(self, options: ImportOptions, progress: Progress) -> Iterator[Outcome]:
        """Check the options now and read the file as the result is iterated.

        Raises:
            LocalError: `IMPORT_REFUSED`, if the options do not suffice. Faults of
                the file are never raised: they are outcomes.
        """
        ...


def no_progress(_done: int, _total: int) -> None:
    """Tell nobody."""


def refuse(message: str) -> LocalError:
    """Return the error with which an import is refused as a whole."""
    return LocalError(Code.IMPORT_REFUSED, message)


def require_labels(options: ImportOptions) -> Sensitivity:
    """Return the sensitivity for a file whose records state none (section 12.8).

    Raises:
        LocalError: `IMPORT_REFUSED`, if the options lack tags or a sensitivity.
    """
    if options.sensitivity is None:
        raise refuse("This file states no sensitivity: give one with --sensitivity.")
    if not options.tags:
        raise refuse("This file states no tags: give at least one with --tag.")
    try:
        check_tags(options.tags)
    except LocalError as error:
        raise refuse(str(error)) from error
    return options.sensitivity


def shown(text: str) -> str:
    """Shorten a text of the file for a terminal and drop what would move its cursor."""
    clean = "".join(char if char.isprintable() else "\N{WHITE SQUARE}" for char in text)
    return clean if len(clean) <= SHOWN_CHARS else clean[: SHOWN_CHARS - 1] + "…"
