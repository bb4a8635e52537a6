"""JSON records read one by one, with bounds on each.

A file holds one object, or an array of records. A record that breaks a bound is
yielded as a fault and the next one is read; bytes that are no JSON end the stream.
"""

from collections.abc import Iterator
from typing import IO, Any

import ijson  # type: ignore[import-untyped]
import msgspec

from uomp.adapters.base import refuse
from uomp.adapters.files import CHUNK_BYTES, Meter, chunks
from uomp.adapters.surrogates import SurrogateRepair
from uomp.errors import LocalError

MAX_DEPTH = 60  # a packet may be 64 deep and wraps an item in four levels
MAX_SAFE = 2**53 - 1  # the largest integer that RFC 8785 carries exactly
MAX_TOKEN_BYTES = 16 * 1024**2  # one string; the parser rescans it with each chunk
MAX_RECORD_COST = 128 * 1024**2  # characters plus NODE_COST per value, about its memory
NODE_COST = 64  # what an empty value weighs in memory, roughly

_BOM = b"\xef\xbb\xbf"
# What the parser raises on bad bytes: its own errors and decoding errors.
_FAULTS = (ijson.JSONError, ValueError)

Event = tuple[str, Any]


class Record(msgspec.Struct, frozen=True):
    """One record, counted from 1. If `fault` is set, `value` is None."""

    number: int
    value: object
    fault: str | None = None


class Feed:
    """The file object that the parser reads: no BOM, no half surrogates, bounded.

    `repaired` is the number of half surrogate pairs that became U+FFFD, since the
    parser would make them question marks without a word.
    """

    def __init__(self, stream: IO[bytes], meter: Meter) -> None:
        self._chunks = chunks(stream, meter)
        self._repair = SurrogateRepair()
        self._started = False
        self.ended = False
        self.quiet = 0

    @property
    def repaired(self) -> int:
        """Half surrogate pairs met so far."""
        return self._repair.count

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes, b"" at the end; `size` is ignored unless 0."""
        if size == 0:
            return b""
        while not self.ended:
            chunk = next(self._chunks, b"")
            if not self._started:
                self._started = True
                chunk = chunk.removeprefix(_BOM)
            self.ended = not chunk
            self.quiet += len(chunk)
            if self.quiet > MAX_TOKEN_BYTES:
                raise refuse(f"A string is over {MAX_TOKEN_BYTES // 1024**2} MiB.")
            if fixed := self._repair.flush() if self.ended else self._repair.add(chunk):
                return fixed
        return b""


def read_records(feed: Feed, *, exact: bool) -> Iterator[Record]:
    """Yield the record at the root, or each element of the array at the root.

    With `exact`, a number that RFC 8785 cannot carry is a fault of its record;
    without it, such a number is read as null.

    Raises:
        LocalError: `IMPORT_REFUSED`, if the bytes are no JSON from some point on, or
            the root is neither an object nor an array.
    """
    stream = events(feed)
    kind, _ = next(stream, ("end", None))
    if kind not in {"start_map", "start_array"}:
        raise refuse("The JSON is neither an object nor an array of objects.")
    number = 1
    try:
        if kind == "start_map":
            yield _take(number, (kind, None), stream, exact=exact)
        for number, event in enumerate(stream, 1):
            if event[0] != "end_array":
                yield _take(number, event, stream, exact=exact)
    except LocalError as error:
        raise refuse(f"{error} The fault is in or after record {number}.") from error


def events(feed: Feed) -> Iterator[Event]:
    """Yield the parser's events.

    Numbers are read as C does. Read as Decimal and int, one of over 4,300 digits ends
    the process: ijson 3.6 keeps the null pointer that CPython's digit limit gives it.

    Raises:
        LocalError: `IMPORT_REFUSED`, if the bytes are no JSON.
    """
    try:
        for event in ijson.basic_parse(feed, use_float=True, buf_size=CHUNK_BYTES):
            feed.quiet = 0
            yield event
    except LocalError:
        raise
    except _FAULTS as error:
        raise refuse(_explain(feed, error)) from error


def _explain(feed: Feed, error: BaseException) -> str:
    text = str(error)
    if feed.ended and ("premature EOF" in text or "Incomplete JSON" in text):
        return "The file ends in the middle of its JSON."
    if isinstance(error, UnicodeDecodeError) or "UTF8" in text or "utf-8" in text:
        return "The file is not UTF-8."
    return "The file is not valid JSON."


def _take(number: int, first: Event, stream: Iterator[Event], *, exact: bool) -> Record:
    builder = _Builder(exact=exact)
    builder.add(*first)
    while builder.depth:
        builder.add(*next(stream))
    if builder.fault:
        return Record(number, None, builder.fault)
    return Record(number, builder.result)


class _Builder:
    """Builds one value from events; after a fault it only counts the depth."""

    def __init__(self, *, exact: bool) -> None:
        self.depth = 0
        self.fault: str | None = None
        self.result: object = None
        self._exact = exact
        self._cost = 0
        self._stack: list[dict[str, object] | list[object]] = []
        self._names: list[str] = []

    def add(self, kind: str, value: Any) -> None:  # noqa: ANN401
        """Take one event."""
        if kind in {"start_map", "start_array"}:
            self.depth += 1
        elif kind in {"end_map", "end_array"}:
            self.depth -= 1
        if self.fault is None:
            self._build(kind, value)

    def _build(self, kind: str, value: Any) -> None:  # noqa: ANN401
        self._cost += NODE_COST + (len(value) if isinstance(value, str) else 0)
        if self._cost > MAX_RECORD_COST:
            self._fail("The record is too large.")
        elif kind == "map_key":
            self._name(value)
        elif kind in {"start_map", "start_array"}:
            self._open({} if kind == "start_map" else [])
        elif kind in {"end_map", "end_array"}:
            self._stack.pop()
            self._names.pop()
        else:
            self._put(self._number(value) if kind == "number" else value)

    def _fail(self, reason: str) -> None:
        self.fault = reason
        self.result = None
        self._stack.clear()
        self._names.clear()

    def _name(self, name: str) -> None:
        if name in self._stack[-1]:
            self._fail("A member name appears twice in one object.")
        else:
            self._names[-1] = name

    def _open(self, made: dict[str, object] | list[object]) -> None:
        if self.depth > MAX_DEPTH:
            self._fail(f"The record is nested over {MAX_DEPTH} levels deep.")
            return
        self._put(made)
        self._stack.append(made)
        self._names.append("")

    def _put(self, value: object) -> None:
        if not self._stack:
            self.result = value
            return
        holder = self._stack[-1]
        if isinstance(holder, list):
            holder.append(value)
        else:
            holder[self._names[-1]] = value

    def _number(self, value: float) -> int | float | None:
        if abs(value) <= MAX_SAFE:
            return value
        if self._exact:
            self._fail("A number is outside what JSON carries exactly (2^53 - 1).")
        return None
