"""Validation before anything is written (UOMP sections 12.7 to 12.9), in both forms."""

import json
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from uomp.adapters.base import (
    ImportedItem,
    ImportOptions,
    Note,
    Outcome,
    Problem,
    no_progress,
)
from uomp.adapters.detect import open_source
from uomp.adapters.report import check
from uomp.adapters.uomp_fields import ALIASES
from uomp.adapters.uomp_times import NO_TIME, NO_ZONE, REWRITTEN
from uomp.packets.items import MAX_KEY_BYTES, MemoryItem

OPTIONS = ImportOptions(now=datetime(2026, 12, 1, 9, 30, tzinfo=UTC))
LABELLED = msgspec.structs.replace(OPTIONS, tags=("t",), sensitivity="low")
Record = dict[str, str]
FULL = {
    "key": "k",
    "tags": "a",
    "sensitivity": "medium",
    "source": "agent",
    "description": "d",
    "created_at": "2026-07-01T10:00:00Z",
    "updated_at": "2026-07-02T10:00:00Z",
}


def path_of(folder: Path, form: str, records: list[Record]) -> Path:
    path = folder / f"x.{form}"
    if form == "json":
        path.write_text(json.dumps(records))
        return path
    names = list(dict.fromkeys(name for record in records for name in record))
    rows = [names, *([record.get(name, "") for name in names] for record in records)]
    quoted = [
        ",".join('"' + cell.replace('"', '""') + '"' for cell in row) for row in rows
    ]
    path.write_text("\n".join(quoted))
    return path


def read(
    folder: Path, form: str, records: list[Record], options: ImportOptions = LABELLED
) -> list[Outcome]:
    source = open_source(path_of(folder, form, records), f"uomp-{form}")
    return list(source.read(options, no_progress))


def items(outcomes: list[Outcome]) -> list[MemoryItem]:
    return [each.item for each in outcomes if isinstance(each, ImportedItem)]


def faults(outcomes: list[Outcome]) -> list[str]:
    return [each.reason for each in outcomes if isinstance(each, Problem)]


def notes(outcomes: list[Outcome]) -> list[str]:
    return [each.text for each in outcomes if isinstance(each, Note)]


both_forms = pytest.mark.parametrize("form", ["csv", "json"])


@both_forms
@pytest.mark.parametrize(
    ("field", "alias"),
    [(field, alias) for field in FULL for alias in ALIASES[field]],
)
@pytest.mark.requirement(
    "UOMP-12.7-1",
    "UOMP-12.7-2",
    "UOMP-12.7-3",
    "UOMP-12.7-4",
    "UOMP-12.7-5",
    "UOMP-12.7-6",
    "UOMP-12.7-7",
    "UOMP-12.7-8",
)
def test_an_alias_gives_what_the_name_itself_gives(
    tmp_path: Path, form: str, field: str, alias: str
) -> None:
    renamed = {alias if name == field else name: cell for name, cell in FULL.items()}
    expected = items(read(tmp_path, form, [FULL], OPTIONS))
    assert items(read(tmp_path, form, [renamed], OPTIONS)) == expected
    assert len(expected) == 1


@pytest.mark.requirement(
    "UOMP-12.7-1",
    "UOMP-12.7-2",
    "UOMP-12.7-3",
    "UOMP-12.7-4",
    "UOMP-12.7-5",
    "UOMP-12.7-6",
    "UOMP-12.7-7",
)
def test_the_aliases_of_the_specification_are_all_there() -> None:
    assert {field: names[:3] for field, names in ALIASES.items() if field == "key"} == {
        "key": ("id", "item_id", "record_id")
    }
    assert [ALIASES[field][0] for field in list(ALIASES)[1:]] == [
        "tag",
        "level",
        "origin",
        "desc",
        "created",
        "updated",
    ]


@both_forms
@pytest.mark.requirement("UOMP-12.7-1", "UOMP-12.6-2")
def test_an_alias_beside_the_name_itself_is_ordinary_data(
    tmp_path: Path, form: str
) -> None:
    record = {"key": "k", "id": "7", "level": "boss", "sensitivity": "low"}
    item = items(read(tmp_path, form, [record]))[0]
    assert (item.key, item.sensitivity) == ("k", "low")
    assert item.value == {"id": "7", "level": "boss"}


@both_forms
@pytest.mark.requirement("UOMP-12.7-1")
def test_of_two_aliases_the_first_of_the_table_counts(
    tmp_path: Path, form: str
) -> None:
    item = items(read(tmp_path, form, [{"record_id": "r", "item_id": "i"}]))[0]
    assert (item.key, item.value) == ("i", {"record_id": "r"})


@both_forms
@pytest.mark.requirement("UOMP-12.9-1")
@pytest.mark.parametrize("key", ["", "  "])
def test_a_record_without_a_key_is_refused(tmp_path: Path, form: str, key: str) -> None:
    outcomes = read(tmp_path, form, [{"key": "a", "x": "1"}, {"key": key, "x": "2"}])
    assert faults(outcomes) == ["The key is missing or empty."]
    last = outcomes[-1]
    assert isinstance(last, Problem)
    assert last.ref == {"csv": "row 3", "json": "record 2"}[form]


@both_forms
@pytest.mark.requirement("UOMP-11.2-1")
@pytest.mark.parametrize(
    "key", ["aggregate", "query", "a\x1bb", "a\nb", "x" * (MAX_KEY_BYTES + 1)]
)
def test_a_key_that_could_not_be_read_back_is_refused(
    tmp_path: Path, form: str, key: str
) -> None:
    assert len(faults(read(tmp_path, form, [{"key": key}]))) == 1


@pytest.mark.requirement("UOMP-11.2-1")
@pytest.mark.parametrize("key", [7, ["k"], {"a": "b"}, True])
def test_a_key_that_is_no_text_is_refused(tmp_path: Path, key: object) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps({"key": key}))
    outcomes = list(open_source(path, None).read(LABELLED, no_progress))
    assert faults(outcomes) == ["The key is not text."]


@both_forms
@pytest.mark.requirement("UOMP-12.9-2", "UOMP-11.2-1")
def test_a_key_that_comes_twice_is_refused_unless_it_may_replace(
    tmp_path: Path, form: str
) -> None:
    records = [{"key": "k", "x": "1"}, {"key": "other"}, {"key": "k", "x": "2"}]
    outcomes = read(tmp_path, form, records)
    first = {"csv": "row 2", "json": "record 1"}[form]
    assert faults(outcomes) == [f"Its key is that of {first}; --replace allows it."]
    assert len(items(outcomes)) == 2
    replacing = msgspec.structs.replace(LABELLED, replace=True)
    outcomes = read(tmp_path, form, records, replacing)
    assert [item.key for item in items(outcomes)] == ["k", "other", "k"]
    assert first in notes(outcomes)[0]


@both_forms
@pytest.mark.requirement("UOMP-12.9-3", "UOMP-11.2-4")
@pytest.mark.parametrize("level", ["High", "secret", "1", "low high"])
def test_a_sensitivity_that_is_none_of_three_is_refused(
    tmp_path: Path, form: str, level: str
) -> None:
    outcomes = read(tmp_path, form, [{"key": "k", "sensitivity": level}])
    assert faults(outcomes) == ["The sensitivity is not low, medium or high."]


@both_forms
@pytest.mark.requirement("UOMP-12.9-3", "UOMP-11.2-4")
@pytest.mark.parametrize("level", ["low", "medium", "high"])
def test_each_of_the_three_is_kept_and_no_option_changes_it(
    tmp_path: Path, form: str, level: str
) -> None:
    assert items(read(tmp_path, form, [{"key": "k", "sensitivity": level}]))[
        0
    ].sensitivity == (level)


@both_forms
@pytest.mark.requirement("UOMP-12.2-2", "UOMP-12.8-2")
def test_without_a_sensitivity_anywhere_nothing_is_imported(
    tmp_path: Path, form: str
) -> None:
    tagged = msgspec.structs.replace(OPTIONS, tags=("t",))
    source = open_source(path_of(tmp_path, form, [{"key": "k"}]), None)
    assert check(source, tagged).to_json()["imported"] == 0
    assert check(source, tagged).verdict == "failed"
    assert check(source, LABELLED).verdict == "ok"


@both_forms
@pytest.mark.requirement("UOMP-12.2-2", "UOMP-12.9-4", "UOMP-11.2-3")
def test_without_tags_anywhere_nothing_is_imported(tmp_path: Path, form: str) -> None:
    levelled = msgspec.structs.replace(OPTIONS, sensitivity="low")
    source = open_source(path_of(tmp_path, form, [{"key": "k"}]), None)
    assert check(source, levelled).verdict == "failed"
    assert check(source, LABELLED).verdict == "ok"


@both_forms
@pytest.mark.requirement("UOMP-12.8-3")
def test_no_level_comes_from_a_tag_unless_that_is_configured(
    tmp_path: Path, form: str
) -> None:
    records = [{"key": "k", "tags": "health"}]
    assert ImportOptions(now=OPTIONS.now).sensitivity_by_tag == {}
    assert len(faults(read(tmp_path, form, records, OPTIONS))) == 1


@pytest.mark.requirement("UOMP-12.8-3", "UOMP-12.8-4")
def test_a_configured_level_is_announced_with_record_tag_and_level(
    tmp_path: Path,
) -> None:
    options = msgspec.structs.replace(
        OPTIONS, sensitivity_by_tag={"health": "high", "notes": "low"}
    )
    records = [
        {"key": "a", "tags": "notes;health"},
        {"key": "b", "tags": "notes"},
        {"key": "c", "tags": "notes", "sensitivity": "medium"},
        {"key": "d", "tags": "other"},
    ]
    outcomes = read(tmp_path, "csv", records, options)
    assert [item.sensitivity for item in items(outcomes)] == ["high", "low", "medium"]
    assert [each for each in outcomes if isinstance(each, Note)] == [
        Note("row 2", 'The sensitivity "high" is your default for the tag "health".'),
        Note("row 3", 'The sensitivity "low" is your default for the tag "notes".'),
    ]
    assert len(faults(outcomes)) == 1


@both_forms
@pytest.mark.requirement("UOMP-12.9-5", "UOMP-12.4-9", "UOMP-11.2-7")
@pytest.mark.parametrize("field", ["created_at", "updated_at"])
@pytest.mark.parametrize(
    ("text", "time", "note"),
    [
        ("2026-07-01T10:00:00Z", "2026-07-01T10:00:00Z", None),
        ("2026-07-01T10:00:00.987654Z", "2026-07-01T10:00:00Z", None),
        ("2026-07-01T10:00:00+02:00", "2026-07-01T08:00:00Z", None),
        ("2026-07-01T10:00:00", "2026-07-01T10:00:00Z", NO_ZONE),
        ("2026-07-01", "2026-07-01T00:00:00Z", NO_TIME),
        ("2026-07-01 10:00:00Z", "2026-07-01T10:00:00Z", REWRITTEN),
        ("2026-07-01T10:00Z", "2026-07-01T10:00:00Z", REWRITTEN),
        ("2026-07-01T10:00:00,5-0330", "2026-07-01T13:30:00Z", REWRITTEN),
        ("20260701T100000+02", "2026-07-01T08:00:00Z", REWRITTEN),
        ("20260701", "2026-07-01T00:00:00Z", NO_TIME),
    ],
)
def test_times_are_read_as_iso_8601(
    tmp_path: Path, form: str, field: str, text: str, time: str, note: str | None
) -> None:
    outcomes = read(tmp_path, form, [{"key": "k", field: text}])
    assert getattr(items(outcomes)[0], field) == time
    assert notes(outcomes) == ([f"{field} {note}."] if note else [])


@both_forms
@pytest.mark.requirement("UOMP-12.4-10")
def test_a_time_in_another_form_is_converted_and_reported(
    tmp_path: Path, form: str
) -> None:
    record = {"key": "k", "created": "2026-07-01 10:00"}
    outcomes = read(tmp_path, form, [record])
    assert items(outcomes)[0].created_at == "2026-07-01T10:00:00Z"
    assert notes(outcomes) == [f"created_at {NO_ZONE}."]


@both_forms
@pytest.mark.requirement("UOMP-12.9-5")
@pytest.mark.parametrize(
    "text",
    [
        "yesterday",
        "01/07/2026",
        "2026-02-30",
        "2026-07-01T25:00:00Z",
        "2026-07-01T24:00:00Z",
        "2026-07-01T10:00:60Z",
        "2026-07-01T10:00:00+99:00",
        "0001-01-01T00:00:00+10:00",
        "2026-W27-3",
        "1786000000",
        "\u0662\u0660\u0662\u0666-07-01",
    ],
)
def test_a_time_that_is_none_is_refused(tmp_path: Path, form: str, text: str) -> None:
    outcomes = read(tmp_path, form, [{"key": "k", "updated_at": text}])
    assert faults(outcomes) == ["updated_at is not an ISO 8601 time."]


@both_forms
@pytest.mark.requirement("UOMP-11.2-6")
def test_times_that_are_not_there_are_those_of_the_import(
    tmp_path: Path, form: str
) -> None:
    item = items(read(tmp_path, form, [{"key": "k"}]))[0]
    assert item.created_at == item.updated_at == "2026-12-01T09:30:00Z"


@both_forms
@pytest.mark.requirement("UOMP-11.2-5", "UOMP-12.7-4")
def test_a_source_other_than_user_and_agent_is_refused(
    tmp_path: Path, form: str
) -> None:
    outcomes = read(tmp_path, form, [{"key": "k", "origin": "Lisbon"}])
    assert faults(outcomes) == ["The source is not user or agent."]
    assert items(read(tmp_path, form, [{"key": "k"}]))[0].source == "user"


@pytest.mark.requirement("UOMP-12.5-2")
@pytest.mark.parametrize(
    "member",
    [
        {"tags": 7},
        {"tags": {"a": 1}},
        {"tags": ["a", 1]},
        {"tags": ["a", ""]},
        {"tags": ["x" * 300]},
        {"sensitivity": ["low"]},
        {"source": 1},
        {"description": 1},
        {"created_at": 1786000000},
        {"updated_at": []},
    ],
)
def test_members_of_the_wrong_type_are_refused(
    tmp_path: Path, member: dict[str, object]
) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps({"key": "k", **member}))
    outcomes = list(open_source(path, None).read(LABELLED, no_progress))
    assert len(faults(outcomes)) == 1
    assert items(outcomes) == []


@both_forms
@pytest.mark.requirement("UOMP-12.9-6")
def test_one_bad_record_in_a_hundred_fails_the_whole_file(
    tmp_path: Path, form: str
) -> None:
    records = [{"key": f"k{number}", "x": "1"} for number in range(100)]
    good = check(open_source(path_of(tmp_path, form, records), None), LABELLED)
    assert (good.verdict, good.to_json()["imported"]) == ("ok", 100)
    records[60]["key"] = ""
    bad = check(open_source(path_of(tmp_path, form, records), None), LABELLED)
    assert (bad.verdict, bad.to_json()["imported"]) == ("failed", 0)


@both_forms
@pytest.mark.requirement("UOMP-12.9-6")
def test_all_faults_are_listed_not_only_the_first(tmp_path: Path, form: str) -> None:
    records = [
        {"key": "", "sensitivity": "High", "created_at": "soon", "source": "x"},
        {"key": "query", "sensitivity": "low", "created_at": "", "source": ""},
    ]
    outcomes = read(tmp_path, form, records, OPTIONS)
    assert len(faults(outcomes)) == 7


def test_nothing_of_the_file_moves_the_cursor_of_a_terminal(tmp_path: Path) -> None:
    options = msgspec.structs.replace(OPTIONS, map={"key": "\x1b[2J" + "x" * 500})
    path = path_of(tmp_path, "csv", [{"key": "k"}])
    outcomes = list(open_source(path, None).read(options, no_progress))
    assert all("\x1b" not in each and len(each) < 300 for each in faults(outcomes))
