"""ChatGPT data exports: a folder, a ZIP, or one `conversations.json`.

Each conversation becomes one item, `chatgpt.<conversation id>`, whose value holds the
branch that was on the screen last. What the model wrote to its memory becomes items
of its own, `chatgpt.<conversation id>.memory.<message id>`, named in `memories` of the
conversation. Custom instructions become `chatgpt.profile`, and only if asked for:
they are written to steer a model. Old exports repeat the whole memory before each
conversation: the latest copy becomes `chatgpt.memory`.
"""

from collections.abc import Iterator
from functools import cached_property

from uomp.adapters.base import (
    ImportedItem,
    ImportOptions,
    Note,
    Outcome,
    Problem,
    Progress,
    Skipped,
    require_labels,
)
from uomp.adapters.chatgpt_conversation import (
    MEMORY_KEY,
    PROFILE_KEY,
    Latest,
    read_conversation,
)
from uomp.adapters.files import Input, Meter, Part, digest
from uomp.adapters.json_stream import Feed, read_records
from uomp.errors import LocalError

FORMAT = "chatgpt"
NOTHING_USABLE = "No usable conversation was found."
REPAIRED = "Halves of characters, cut by another program, were replaced by U+FFFD."


class ChatGptSource:
    """The conversations of an export in the order of its shards."""

    format = FORMAT
    atomic = False

    def __init__(self, found: Input, kind: str) -> None:
        self._input = found
        self._kind = kind

    @cached_property
    def digest(self) -> str:
        """SHA-256 in hex: of the file, or of the shards of a folder."""
        return digest(self._input.files)

    def describe(self) -> str:
        """Say what the file was taken for."""
        count = len(self._input.parts)
        files = "1 file" if count == 1 else f"{count} files"
        return f"ChatGPT export ({self._kind}, {files} of conversations)"

    def read(self, options: ImportOptions, progress: Progress) -> Iterator[Outcome]:
        """Check that tags and sensitivity are given, then read conversation by one.

        Raises:
            LocalError: `IMPORT_REFUSED`, if they are not (UOMP-12.8).
        """
        require_labels(options)
        return self._read(options, Meter(self._input.size, progress))

    def _read(self, options: ImportOptions, meter: Meter) -> Iterator[Outcome]:
        run = _Run(options)
        for part in self._input.parts:
            try:
                yield from run.part(part, meter)
            except LocalError as error:
                yield Problem(part.name, str(error))
        yield from run.end()


class _Run:
    """What must be remembered from one conversation to the next."""

    def __init__(self, options: ImportOptions) -> None:
        self._options = options
        self._keys = {PROFILE_KEY, MEMORY_KEY}
        self._latest: dict[str, ImportedItem] = {}
        self._imported = 0

    def part(self, part: Part, meter: Meter) -> Iterator[Outcome]:
        with part.open() as stream:
            feed = Feed(stream, meter)
            for record in read_records(feed, exact=False):
                place = f"conversation {record.number} of {part.name}"
                if record.fault:
                    yield Skipped(place, record.fault)
                    continue
                for made in read_conversation(record.value, place, self._options):
                    yield from self._once(made)
            if feed.repaired:
                yield Note(part.name, REPAIRED)

    def _once(self, made: Outcome | Latest) -> Iterator[Outcome]:
        if isinstance(made, Latest):
            known = self._latest.get(made.item.key)
            # Times of one form in UTC sort as text.
            if known is None or made.item.updated_at >= known.item.updated_at:
                self._latest[made.item.key] = ImportedItem(made.item, made.ref)
        elif not isinstance(made, ImportedItem):
            yield made
        elif made.item.key in self._keys:
            yield Skipped(made.ref, "Its id appeared before.")
        else:
            self._keys.add(made.item.key)
            self._imported += 1
            yield made

    def end(self) -> Iterator[Outcome]:
        yield from self._latest.values()
        if not self._imported:
            yield Problem("the export", NOTHING_USABLE)
