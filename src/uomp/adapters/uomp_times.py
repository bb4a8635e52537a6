"""Times in imported files: ISO 8601 in the forms people write (A-59, UOMP-12.4-10)."""

import re
from datetime import UTC, datetime, timedelta, timezone

from uomp.adapters.base import refuse
from uomp.errors import LocalError
from uomp.packets.times import format_time, parse_time

NO_ZONE = "has no time zone and was taken as UTC"
NO_TIME = "has no time of day and was taken as midnight UTC"
REWRITTEN = "was rewritten in the form that is stored"

_HOUR = r"(?P<hour>[01]\d|2[0-3])"
_FRACTION = r"(?:[.,]\d{1,9})?"  # dropped: what is stored has whole seconds
_ZONE = r"(?P<zone>[Zz]|[+-]\d\d(?::?[0-5]\d)?)?"
_EXTENDED = re.compile(
    r"(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)"
    rf"(?:[Tt ]{_HOUR}:(?P<minute>\d\d)(?::(?P<second>\d\d){_FRACTION})?{_ZONE})?",
    re.ASCII,
)
_BASIC = re.compile(
    r"(?P<year>\d{4})(?P<month>\d\d)(?P<day>\d\d)"
    rf"(?:[Tt]{_HOUR}(?P<minute>\d\d)(?:(?P<second>\d\d){_FRACTION})?{_ZONE})?",
    re.ASCII,
)


def read_time(text: str) -> tuple[str, str | None]:
    """Return a time in UTC to the second, and what had to be decided, if anything.

    Raises:
        LocalError: `IMPORT_REFUSED`, if it is not ISO 8601 with a calendar date.
    """
    try:
        return format_time(parse_time(text)), None
    except LocalError:
        pass
    found = _EXTENDED.fullmatch(text) or _BASIC.fullmatch(text)
    if found is None:
        raise refuse("is not an ISO 8601 time")
    try:
        return format_time(_moment(found)), _decided(found)
    except (ValueError, OverflowError) as error:
        raise refuse("is not an ISO 8601 time") from error


def _moment(found: re.Match[str]) -> datetime:
    year, month, day = (int(found[name]) for name in ("year", "month", "day"))
    hour, minute, second = (
        int(found[name] or 0) for name in ("hour", "minute", "second")
    )
    zone = _zone(found["zone"])
    return datetime(year, month, day, hour, minute, second, tzinfo=zone)


def _zone(text: str | None) -> timezone:
    if text is None or text in {"Z", "z"}:
        return UTC
    minutes = int(text[1:3]) * 60 + int(text[3:].lstrip(":") or 0)
    return timezone(timedelta(minutes=-minutes if text[0] == "-" else minutes))


def _decided(found: re.Match[str]) -> str:
    if found["hour"] is None:
        return NO_TIME
    return NO_ZONE if found["zone"] is None else REWRITTEN
