r"""Half surrogate pairs in JSON text, repaired before a parser can hide them.

JavaScript programs that cut a text by length leave `\ud83d` without its other half.
No UTF-8 text can hold it. Some parsers refuse the file, some put a question mark
there in silence; here it becomes `\ufffd`, which has the same length, and is counted.
"""

import re

_CANDIDATE = re.compile(rb"\\u[dD][89a-fA-F]")
# In this order: an escaped backslash (so that the next one is read right), a whole
# pair, one half.
_UNIT = re.compile(
    rb"\\\\"
    rb"|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
)
_HIGH = re.compile(rb"\\u[dD][89abAB][0-9a-fA-F]{2}")
_ESCAPE_BYTES = 6
_WINDOW = 2 * _ESCAPE_BYTES - 1  # the longest pair that is not whole yet


class SurrogateRepair:
    """A filter over the bytes of a JSON text, fed in pieces of any size."""

    def __init__(self) -> None:
        self.count = 0
        self._tail = b""

    def add(self, piece: bytes) -> bytes:
        """Return the repaired bytes up to the last point that is safe to cut at."""
        text = self._tail + piece
        cut = _safe_cut(text)
        self._tail = text[cut:]
        return self._fix(text[:cut])

    def flush(self) -> bytes:
        """Return what was held back, at the end of the text."""
        text, self._tail = self._tail, b""
        return self._fix(text)

    def _fix(self, text: bytes) -> bytes:
        if not _CANDIDATE.search(text):
            return text
        return _UNIT.sub(self._replace, text)

    def _replace(self, found: re.Match[bytes]) -> bytes:
        if found[1] is None:
            return found[0]
        self.count += 1
        return rb"\ufffd"


def _safe_cut(text: bytes) -> int:
    """Return where no escape, run of backslashes or surrogate pair is cut."""
    cut = text.find(b"\\", max(0, len(text) - _WINDOW))
    if cut < 0:
        return len(text)
    if cut >= _ESCAPE_BYTES and _HIGH.fullmatch(text, cut - _ESCAPE_BYTES, cut):
        cut -= _ESCAPE_BYTES
    while cut and text[cut - 1] == ord("\\"):
        cut -= 1
    return cut
