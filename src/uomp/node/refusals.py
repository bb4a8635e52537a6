"""Refusals of senders that nobody has authenticated: one count per source and minute.

A flood of garbage must not become a flood of audit rows (design section 4).
"""

from collections import Counter

from uomp.errors import Code
from uomp.node.stores.audit import Entry

MINUTE = 60  # seconds
# Sources counted apart within one minute; the rest share one count.
MAX_SOURCES = 256
OTHERS = "others"


class Refusals:
    """Counts by minute, source and code."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[int, str, Code]] = Counter()

    def count(self, source: str, code: Code, now_s: int) -> None:
        """Count one refusal."""
        known = (now_s // MINUTE, source, code)
        if known not in self._counts and len(self._counts) >= MAX_SOURCES:
            known = (now_s // MINUTE, OTHERS, code)
        self._counts[known] += 1

    def due(self, now_s: int | None) -> list[Entry]:
        """Return the entries of the minutes that are over; None: of all."""
        over = [
            known
            for known in self._counts
            if now_s is None or known[0] < now_s // MINUTE
        ]
        return [
            Entry(
                action="security_event",
                allowed=False,
                reason=f"{code}: refused before the sender was authenticated",
                peer=source,
                detail={"count": self._counts.pop((minute, source, code))},
            )
            for minute, source, code in over
        ]
