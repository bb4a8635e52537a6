"""The stream under the importers: surrogates, bounds, and the summary."""

import io
import json
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from uomp.adapters.base import (
    ImportedItem,
    ImportOptions,
    Note,
    Outcome,
    Problem,
    Progress,
    Skipped,
    no_progress,
)
from uomp.adapters.files import Meter
from uomp.adapters.json_stream import (
    MAX_RECORD_COST,
    MAX_TOKEN_BYTES,
    NODE_COST,
    Feed,
    Record,
    read_records,
)
from uomp.adapters.report import MAX_LISTED, MAX_REASONS, Summary, check
from uomp.adapters.surrogates import SurrogateRepair
from uomp.errors import Code, LocalError
from uomp.packets.items import MemoryItem

ITEM = MemoryItem(
    key="k",
    value=1,
    tags=("t",),
    sensitivity="low",
    source="user",
    created_at="2026-12-01T00:00:00Z",
    updated_at="2026-12-01T00:00:00Z",
)


def repaired(data: bytes, sizes: list[int]) -> tuple[bytes, int]:
    repair = SurrogateRepair()
    made = b""
    while data:
        size = sizes.pop() if sizes else len(data)
        made += repair.add(data[:size])
        data = data[size:]
    return made + repair.flush(), repair.count


@pytest.mark.parametrize(
    ("text", "fixed", "count"),
    [
        (rb"plain \n \u00e9", rb"plain \n \u00e9", 0),
        (rb"\ud83d\ude00", rb"\ud83d\ude00", 0),
        (rb"\uD83D\uDE00", rb"\uD83D\uDE00", 0),
        (rb"\ud83d", rb"\ufffd", 1),
        (rb"\ude00", rb"\ufffd", 1),
        (rb"\ude00\ud83d", rb"\ufffd\ufffd", 2),
        (rb"\ud83d\ud83d\ude00", rb"\ufffd\ud83d\ude00", 1),
        (rb"\ud83dx\ude00", rb"\ufffdx\ufffd", 2),
        (rb"\\ud83d", rb"\\ud83d", 0),
        (rb"\\\ud83d", rb"\\\ufffd", 1),
        (rb"\ud83d\\ude00", rb"\ufffd\\ude00", 1),
        (rb"\ud83d\n", rb"\ufffd\n", 1),
    ],
)
def test_halves_are_repaired_and_whole_pairs_stay(
    text: bytes, fixed: bytes, count: int
) -> None:
    for size in range(1, len(text) + 1):
        assert repaired(text, [size] * len(text)) == (fixed, count)


UNITS = st.sampled_from(
    [rb"\ud83d", rb"\ude00", rb"\\", rb"\n", rb"\"", b"u", b"ud83d", b"x", rb"\u0041"]
)


@settings(max_examples=300)
@given(
    units=st.lists(UNITS, max_size=12), sizes=st.lists(st.integers(1, 9), max_size=40)
)
def test_the_size_of_the_pieces_changes_nothing_and_the_result_is_unicode(
    units: list[bytes], sizes: list[int]
) -> None:
    text = b"".join(units)
    whole = repaired(text, [])
    assert repaired(text, sizes) == whole
    meant = json.loads(b'"' + text + b'"')
    fixed = json.loads(b'"' + whole[0] + b'"')
    lone = sum(0xD800 <= ord(char) <= 0xDFFF for char in meant)
    assert whole[1] == lone
    assert fixed == "".join(
        "\ufffd" if 0xD800 <= ord(c) <= 0xDFFF else c for c in meant
    )


def records(data: bytes, *, exact: bool = True) -> list[Record]:
    feed = Feed(io.BytesIO(data), Meter(len(data), no_progress))
    return list(read_records(feed, exact=exact))


def test_a_string_without_an_end_is_stopped() -> None:
    told: list[int] = []
    data = b'["' + b"x" * (MAX_TOKEN_BYTES * 2)
    feed = Feed(io.BytesIO(data), Meter(len(data), lambda done, _: told.append(done)))
    with pytest.raises(LocalError, match="MiB") as caught:
        list(read_records(feed, exact=True))
    assert caught.value.code is Code.IMPORT_REFUSED
    assert told[-1] < MAX_TOKEN_BYTES * 1.1


def test_a_record_that_would_fill_the_memory_costs_only_itself() -> None:
    many = b"0," * (MAX_RECORD_COST // NODE_COST) + b"0"
    found = records(b'[{"a":1},[' + many + b'],{"a":2}]')
    assert [each.fault for each in found] == [None, "The record is too large.", None]
    assert found[2].value == {"a": 2}


def test_numbers_that_cannot_be_carried_are_null_where_that_does_not_matter() -> None:
    assert records(b"[[9007199254740993, 1e300, 1]]", exact=False)[0].value == [
        None,
        None,
        1,
    ]
    assert records(b"[[9007199254740993, 1e300, 1]]")[0].fault is not None


class Given:
    """A source whose outcomes are given."""

    format = "given"
    digest = ""

    def __init__(self, outcomes: list[Outcome], *, atomic: bool) -> None:
        self.atomic = atomic
        self._outcomes = outcomes

    def describe(self) -> str:
        return "given"

    def read(self, _options: ImportOptions, _progress: Progress) -> Iterator[Outcome]:
        return iter(self._outcomes)


OPTIONS = ImportOptions(now=datetime(2026, 12, 1, tzinfo=UTC))


@pytest.mark.parametrize(
    ("outcomes", "atomic", "verdict", "imported"),
    [
        ([ImportedItem(ITEM, "a")], True, "ok", 1),
        ([ImportedItem(ITEM, "a"), Problem("b", "bad")], True, "failed", 0),
        ([ImportedItem(ITEM, "a"), Problem("b", "bad")], False, "partial", 1),
        ([Problem("b", "bad")], False, "failed", 0),
        ([Skipped("b", "odd"), Note("c", "hm")], False, "ok", 0),
    ],
)
@pytest.mark.requirement("UOMP-12.9-6")
def test_the_verdict_says_what_may_be_kept(
    outcomes: list[Outcome], *, atomic: bool, verdict: str, imported: int
) -> None:
    summary = check(Given(outcomes, atomic=atomic), OPTIONS).to_json()
    assert summary["verdict"] == verdict
    assert summary["imported"] == imported
    assert summary["read"] == len(outcomes)
    assert json.loads(json.dumps(summary)) == summary


def test_the_summary_stays_small_and_its_counts_true() -> None:
    summary = Summary(atomic=True)
    for number in range(MAX_LISTED + 50):
        summary.add(Problem(f"row {number}", "bad"))
        summary.add(Note(f"row {number}", "hm"))
        summary.add(Skipped(f"row {number}", f"reason {number}"))
        summary.add(Skipped(f"row {number}", "part", part=True))
    made = summary.to_json()
    assert made["problem_count"] == made["warning_count"] == MAX_LISTED + 50
    assert made["skipped"] == made["left_out"] == MAX_LISTED + 50
    assert len(made["problems"]) == len(made["warnings"]) == MAX_LISTED
    assert len(made["skipped_records"]) == MAX_LISTED
    assert len(made["skipped_reasons"]) == MAX_REASONS + 1
    assert made["left_out_reasons"] == {"part": MAX_LISTED + 50}
