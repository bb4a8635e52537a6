"""Refusals of senders that nobody knows are counted, so that no flood fills the log."""

from collections import Counter

import pytest

from uomp.errors import Code
from uomp.node.refusals import MAX_SOURCES, MINUTE, OTHERS, Refusals
from uomp.node.stores.audit import Entry

NOON = 1_800_000_000 // MINUTE * MINUTE
REFUSED = Code.ENVELOPE_REFUSED


def counts(entries: list[Entry]) -> dict[str | None, int]:
    found: Counter[str | None] = Counter()
    for entry in entries:
        assert entry.detail is not None
        found[entry.peer] += int(entry.detail["count"])
    return dict(found)


@pytest.mark.requirement("DER-11")
def test_one_entry_for_each_minute_source_and_code() -> None:
    refusals = Refusals()
    for second in (0, 1, 59):
        refusals.count("10.0.0.1", REFUSED, NOON + second)
    refusals.count("10.0.0.2", REFUSED, NOON)
    refusals.count("10.0.0.1", Code.PACKET_TOO_LARGE, NOON)
    refusals.count("10.0.0.1", REFUSED, NOON + MINUTE)
    assert refusals.due(NOON + 59) == []  # the minute is not over
    due = refusals.due(NOON + MINUTE)
    assert len(due) == 3
    assert counts(due) == {"10.0.0.1": 4, "10.0.0.2": 1}
    assert all(entry.action == "security_event" for entry in due)
    assert not any(entry.allowed for entry in due)
    assert refusals.due(NOON + MINUTE) == []
    assert counts(refusals.due(None)) == {"10.0.0.1": 1}


def test_many_sources_share_one_count() -> None:
    refusals = Refusals()
    for number in range(MAX_SOURCES + 100):
        refusals.count(f"source {number}", REFUSED, NOON)
    refusals.count("source 0", REFUSED, NOON)
    due = refusals.due(None)
    assert len(due) == MAX_SOURCES + 1
    found = counts(due)
    assert found[OTHERS] == 100
    assert found["source 0"] == 2
