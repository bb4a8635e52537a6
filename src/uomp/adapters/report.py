"""Counting the outcomes of an import, for the owner and for `--json`."""

from collections import Counter
from collections.abc import Iterable
from typing import Any, TypeVar

from uomp.adapters.base import (
    ImportedItem,
    ImportOptions,
    Note,
    Outcome,
    Problem,
    Progress,
    Skipped,
    Source,
    no_progress,
)

_Kept = TypeVar("_Kept")

MAX_LISTED = 1000  # problems and warnings kept in full; the rest are only counted
MAX_REASONS = 100  # reasons are ours and few; this bounds a mistake of ours


class Summary:
    """What came of an import so far. `read` is the number of outcomes seen.

    A resumed import skips that many outcomes of the same source.
    """

    def __init__(self, *, atomic: bool) -> None:
        self.atomic = atomic
        self.read = 0
        self.imported = 0
        self.skipped = 0
        self.left_out = 0
        self.problems = 0
        self.warnings = 0
        self._skipped_reasons: Counter[str] = Counter()
        self._left_out_reasons: Counter[str] = Counter()
        self._problems: list[Problem] = []
        self._warnings: list[Note] = []
        self._skipped: list[Skipped] = []

    @classmethod
    def of(cls, source: Source) -> "Summary":
        """Start a summary for a source."""
        return cls(atomic=source.atomic)

    def add(self, outcome: Outcome) -> None:
        """Count one outcome; at most `MAX_LISTED` of a kind are kept in full."""
        self.read += 1
        match outcome:
            case ImportedItem():
                self.imported += 1
            case Skipped(part=True):
                self.left_out += 1
                _count(self._left_out_reasons, outcome.reason)
            case Skipped():
                self.skipped += 1
                _count(self._skipped_reasons, outcome.reason)
                _keep(self._skipped, outcome)
            case Problem():
                self.problems += 1
                _keep(self._problems, outcome)
            case Note():
                self.warnings += 1
                _keep(self._warnings, outcome)

    def add_all(self, outcomes: Iterable[Outcome]) -> "Summary":
        """Count every outcome and return this summary."""
        for outcome in outcomes:
            self.add(outcome)
        return self

    @property
    def verdict(self) -> str:
        """`ok`, `partial` (some was lost to a fault) or `failed` (nothing is kept)."""
        if not self.problems:
            return "ok"
        return "failed" if self.atomic or not self.imported else "partial"

    def to_json(self) -> dict[str, Any]:
        """Return counts, reasons and the listed details as a JSON object.

        `imported` is what may be stored: 0 if the verdict is `failed`.
        """
        return {
            "verdict": self.verdict,
            "read": self.read,
            "imported": 0 if self.verdict == "failed" else self.imported,
            "skipped": self.skipped,
            "skipped_reasons": dict(self._skipped_reasons),
            "skipped_records": [
                {"ref": each.ref, "reason": each.reason} for each in self._skipped
            ],
            "left_out": self.left_out,
            "left_out_reasons": dict(self._left_out_reasons),
            "problem_count": self.problems,
            "problems": [
                {"ref": each.ref, "reason": each.reason} for each in self._problems
            ],
            "warning_count": self.warnings,
            "warnings": [
                {"ref": each.ref, "text": each.text} for each in self._warnings
            ],
        }


def check(
    source: Source, options: ImportOptions, progress: Progress = no_progress
) -> Summary:
    """Read a whole source without keeping its items (UOMP-12.9-6, `--dry-run`).

    Raises:
        LocalError: `IMPORT_REFUSED`, if the options do not suffice.
    """
    return Summary.of(source).add_all(source.read(options, progress))


def _count(reasons: Counter[str], reason: str) -> None:
    known = reason in reasons or len(reasons) < MAX_REASONS
    reasons[reason if known else "other reasons"] += 1


def _keep(kept: list[_Kept], outcome: _Kept) -> None:
    if len(kept) < MAX_LISTED:
        kept.append(outcome)
