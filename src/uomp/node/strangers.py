"""How much peers that the owner has not dealt with may make this node do."""

from collections import Counter
from typing import Final

MINUTE: Final = 60  # seconds
PER_STRANGER: Final = 20  # messages of one stranger in a minute
ALL_STRANGERS: Final = 120  # of all of them together


class StrangerRate:
    """Counts strangers' messages in the minute that runs."""

    def __init__(self) -> None:
        self._minute = 0
        self._counts: Counter[str] = Counter()

    def allows(self, peer: str, now_s: int) -> bool:
        """Count one message; False if it is one too many in this minute."""
        if now_s // MINUTE != self._minute:
            self._minute = now_s // MINUTE
            self._counts.clear()
        if self._counts.total() >= ALL_STRANGERS or self._counts[peer] >= PER_STRANGER:
            return False
        self._counts[peer] += 1
        return True
