"""CSV as UOMP section 12.4 has it: UTF-8, a header row, RFC 4180 quoting."""

import codecs
import csv
import re
from collections.abc import Iterator
from typing import IO

from uomp.adapters.base import ImportOptions, refuse
from uomp.adapters.files import Meter, chunks
from uomp.adapters.uomp_table import Row, Table
from uomp.errors import LocalError

MAX_LINE_CHARS = 16 * 1024**2  # also of one quoted cell

_END = re.compile(r"\r\n|\n|\r")

# The module's own limit of 128 KiB is one for all its users; it is only ever raised.
csv.field_size_limit(max(csv.field_size_limit(), MAX_LINE_CHARS))


def check_delimiter(text: str) -> str:
    r"""Return the delimiter; `\t` and `tab` mean a tabulator.

    Raises:
        LocalError: `IMPORT_REFUSED`, if it is not one character fit for the purpose.
    """
    delimiter = "\t" if text in {"\\t", "tab"} else text
    if len(delimiter) != 1 or delimiter in '"\r\n\0 ' or delimiter.isalnum():
        raise refuse("A delimiter is one character that is no letter, digit or quote.")
    return delimiter


def read_rows(
    stream: IO[bytes], meter: Meter, delimiter: str, options: ImportOptions
) -> Iterator[Row]:
    """Yield the data rows. A problem with the header is the problem of its row.

    Raises:
        LocalError: `IMPORT_REFUSED`, where the file cannot be read any further; the
            message says from which row on.
    """
    number = 0
    table: Table | None = None
    reader = csv.reader(_lines(stream, meter), delimiter=delimiter, strict=True)
    while True:
        number += 1
        try:
            cells = next(reader, None)
        except (csv.Error, LocalError) as error:
            reason = _explain(error)
            raise refuse(f"Row {number} and what follows: {reason}") from error
        if cells is None:
            return
        if not any(cell.strip() for cell in cells):
            continue
        if table is None:
            table = Table(cells, options, delimiter)
            yield Row(number, None, tuple(table.problems), tuple(table.notes))
            if table.problems:
                return
        else:
            yield table.row(number, cells)


def _explain(error: Exception) -> str:
    text = str(error)
    if isinstance(error, LocalError):
        return text
    if "unexpected end" in text:
        return "a quote is never closed."
    if "expected after" in text:
        return "text follows a closing quote."
    return "a cell is too long." if "limit" in text else "its quoting is wrong."


def _lines(stream: IO[bytes], meter: Meter) -> Iterator[str]:
    """Yield the text in pieces that end with a line end, quoted ones too.

    Raises:
        LocalError: `IMPORT_REFUSED`, if the bytes are not UTF-8 or a line is too long.
    """
    held: list[str] = []  # the start of a line, in pieces that are searched once
    size = 0
    for text in _texts(stream, meter):
        start = 0
        for end in _END.finditer(text):
            yield "".join(held) + text[start : end.end()]
            held.clear()
            start = end.end()
            size = 0
        held.append(text[start:])
        size += len(text) - start
        if size > MAX_LINE_CHARS:
            raise refuse("a line is too long.")
    if size:
        yield "".join(held)


def _texts(stream: IO[bytes], meter: Meter) -> Iterator[str]:
    """Yield the decoded text in pieces that never part a CR from its LF."""
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    carry = ""
    try:
        for chunk in chunks(stream, meter):
            text = carry + _text(decoder.decode(chunk))
            carry = "\r" if text.endswith("\r") else ""
            yield text.removesuffix(carry)
        yield carry + _text(decoder.decode(b"", final=True))
    except UnicodeDecodeError as error:
        raise refuse("the file is not UTF-8.") from error


def _text(text: str) -> str:
    if "\0" in text:
        raise refuse("the file is not UTF-8 text (it holds NUL).")
    return text
