"""ISO 8601 times: UTC out, any offset in (requirement DER-21)."""

import re
from datetime import UTC, datetime

from uomp.errors import Code, LocalError

# A date, "T", a time with optional fraction, and a zone. `fromisoformat` alone also
# takes week dates and other forms that no peer expects.
_FORM = re.compile(
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)", re.ASCII
)


def format_time(moment: datetime) -> str:
    """Write an aware time as UTC with `Z`, whole seconds."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse_time(text: str) -> datetime:
    """Read an ISO 8601 time with a zone and return it in UTC.

    Raises:
        LocalError: `INVALID_REQUEST`, if the text is not such a time.
    """
    if _FORM.fullmatch(text):
        try:
            return datetime.fromisoformat(text).astimezone(UTC)
        except (ValueError, OverflowError):
            pass
    raise LocalError(Code.INVALID_REQUEST, "A time is not ISO 8601 with a zone.")
