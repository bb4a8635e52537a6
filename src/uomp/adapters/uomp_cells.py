"""CSV cells: text unless types were asked for (A-58, UOMP-12.4-7, 12.4-8)."""

import re
from decimal import Decimal
from io import BytesIO
from typing import Any

from uomp.adapters.base import no_progress, refuse
from uomp.adapters.files import Meter
from uomp.adapters.json_stream import MAX_SAFE, Feed, read_records
from uomp.errors import LocalError

CURRENCIES = "$€£¥₹₩₽¢"
STORED_AS_IS = (
    "holds a currency sign or a thousands separator; it is stored as the text it is"
)
CLEANED = "held a currency sign or thousands separators, which were removed"

_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?", re.ASCII)
_WORDS: dict[str, bool | None] = {"true": True, "false": False, "null": None}
_MAX_NUMBER_CHARS = 40  # longer ones cannot be carried exactly anyhow

# A sign of money on either side, or groups of three digits; a point before decimals.
_AMOUNT = re.compile(
    rf"(?P<minus>-?)(?P<before>[{CURRENCIES}]?) ?(?P<minus2>-?)"
    r"(?P<number>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)"
    rf" ?(?P<after>[{CURRENCIES}]?)",
    re.ASCII,
)
# Amounts that people write, some of which nobody can read for sure: 1.000 €, 1'000.
_LOOKS_LIKE_MONEY = re.compile(
    rf"-?[{CURRENCIES}] ?-?\d[\d.,' ]*|-?\d[\d.,' ]* ?[{CURRENCIES}]"
    r"|-?\d{1,3}(?:[,' ]\d{3})+(?:\.\d+)?|-?\d{1,3}(?:\.\d{3}){2,}(?:,\d+)?",
    re.ASCII,
)
# With a currency sign, "1.000" may be a thousand; a point and three digits is unsure.
_UNSURE = re.compile(r"\d{1,3}\.\d{3}", re.ASCII)


def read_cell(text: str, *, types: bool) -> tuple[Any, str | None]:
    """Return the value of a cell and what the owner should know, if anything.

    Raises:
        LocalError: `IMPORT_REFUSED`, if types are wanted and the cell starts like a
            JSON array or object but is none.
    """
    stripped = text.strip()
    if types and stripped[:1] in {"[", "{"}:
        return read_json_cell(stripped), None
    if types and stripped in _WORDS:
        return _WORDS[stripped], None
    if types and (number := _exact(stripped)) is not None:
        return number, None
    if not _LOOKS_LIKE_MONEY.fullmatch(stripped[:_MAX_NUMBER_CHARS]):
        return text, None
    cleaned = _clean(stripped) if types else None
    return (text, STORED_AS_IS) if cleaned is None else (cleaned, CLEANED)


def read_json_cell(text: str) -> object:
    """Read a cell that holds a JSON array or object.

    Raises:
        LocalError: `IMPORT_REFUSED`, if it is no strict JSON or breaks a bound.
    """
    wrapped = f"[{text}]".encode()
    feed = Feed(BytesIO(wrapped), Meter(len(wrapped), no_progress))
    try:
        records = list(read_records(feed, exact=True))
    except LocalError as error:
        raise refuse("starts like JSON but is not") from error
    if len(records) != 1 or feed.repaired:
        raise refuse("starts like JSON but is not")
    if fault := records[0].fault:
        raise refuse(f"holds JSON that cannot be stored: {fault}")
    return records[0].value


def _exact(text: str) -> int | float | None:
    """Return a JSON number, or None where the number would not be the same text."""
    if len(text) > _MAX_NUMBER_CHARS or not _NUMBER.fullmatch(text):
        return None
    value = Decimal(text)
    if abs(value) > MAX_SAFE:
        return None
    if "." not in text and "e" not in text.lower():
        return int(text)
    number = float(text)
    return number if Decimal(repr(number)) == value else None


def _clean(text: str) -> int | float | None:
    found = _AMOUNT.fullmatch(text)
    if found is None or (found["minus"] and found["minus2"]):
        return None
    digits = found["number"]
    if (found["before"] or found["after"]) and _UNSURE.fullmatch(digits):
        return None
    sign = "-" if found["minus"] or found["minus2"] else ""
    return _exact(sign + digits.replace(",", ""))
