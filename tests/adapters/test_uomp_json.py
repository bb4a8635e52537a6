"""UOMP's JSON form (sections 12.3, 12.5, 12.6, 12.10)."""

import json
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from uomp.adapters.base import (
    ImportedItem,
    ImportOptions,
    Note,
    Outcome,
    Problem,
    no_progress,
)
from uomp.adapters.detect import open_source
from uomp.adapters.json_stream import MAX_DEPTH, MAX_SAFE
from uomp.adapters.report import check
from uomp.packets.items import MemoryItem

SAMPLE = Path(__file__).parents[1] / "data" / "uomp-import" / "items.json"
OPTIONS = ImportOptions(now=datetime(2026, 12, 1, 9, 30, tzinfo=UTC))
LABELLED = msgspec.structs.replace(OPTIONS, tags=("t",), sensitivity="low")


def read_bytes(
    folder: Path, data: bytes, options: ImportOptions = LABELLED
) -> list[Outcome]:
    path = folder / "x.json"
    path.write_bytes(data)
    return list(open_source(path, "uomp-json").read(options, no_progress))


def read(
    folder: Path, value: object, options: ImportOptions = LABELLED
) -> list[Outcome]:
    return read_bytes(folder, json.dumps(value).encode(), options)


def items(outcomes: list[Outcome]) -> list[MemoryItem]:
    return [each.item for each in outcomes if isinstance(each, ImportedItem)]


def faults(outcomes: list[Outcome]) -> list[str]:
    return [f"{x.ref}: {x.reason}" for x in outcomes if isinstance(x, Problem)]


@pytest.mark.requirement("UOMP-12.8-1", "UOMP-12.8-2", "UOMP-12.9-6")
def test_the_sample_is_refused_for_the_record_without_a_sensitivity() -> None:
    source = open_source(SAMPLE, None)
    outcomes = list(source.read(OPTIONS, no_progress))
    assert [item.sensitivity for item in items(outcomes)] == ["low", "high"]
    assert faults(outcomes) == [
        "record 3: It states no sensitivity: state one or give --sensitivity."
    ]
    summary = check(source, OPTIONS)
    assert (summary.verdict, summary.to_json()["imported"]) == ("failed", 0)


@pytest.mark.requirement("UOMP-12.8-1", "UOMP-11.2-4")
def test_a_default_is_for_those_records_only_that_state_none() -> None:
    options = msgspec.structs.replace(OPTIONS, sensitivity="medium")
    outcomes = list(open_source(SAMPLE, None).read(options, no_progress))
    assert [item.sensitivity for item in items(outcomes)] == ["low", "high", "medium"]
    assert faults(outcomes) == []


@pytest.mark.requirement("UOMP-12.10-2", "UOMP-12.3-2", "UOMP-12.1-1")
def test_the_example_of_the_specification_imports(tmp_path: Path) -> None:
    outcomes = read(
        tmp_path,
        [
            {
                "key": "note-1",
                "tags": ["notes"],
                "sensitivity": "low",
                "value": {"title": "Shopping list", "content": "Buy milk"},
            },
            {
                "key": "contact-1",
                "tags": ["contacts"],
                "sensitivity": "medium",
                "value": {"name": "Alice", "email": "alice@example.com"},
            },
        ],
        OPTIONS,
    )
    first, second = items(outcomes)
    assert (first.key, first.sensitivity) == ("note-1", "low")
    assert (second.key, second.sensitivity) == ("contact-1", "medium")
    assert first.value == {"title": "Shopping list", "content": "Buy milk"}


@pytest.mark.requirement("UOMP-12.3-2", "UOMP-12.5-1")
def test_one_object_and_an_array_of_one_give_the_same(tmp_path: Path) -> None:
    record = {"key": "k", "x": 1}
    assert read(tmp_path, record) == read(tmp_path, [record])


@pytest.mark.requirement("UOMP-12.5-1")
@pytest.mark.parametrize("data", [b'"text"', b"7", b"null", b"true", b"", b" ", b"[]"])
def test_any_other_root_and_an_empty_one_are_refused(
    tmp_path: Path, data: bytes
) -> None:
    outcomes = read_bytes(tmp_path, data)
    assert len(faults(outcomes)) == 1
    assert items(outcomes) == []


@pytest.mark.parametrize("record", [1, "x", None, ["key"]])
def test_an_element_that_is_no_object_is_a_problem(
    tmp_path: Path, record: object
) -> None:
    outcomes = read(tmp_path, [{"key": "a"}, record, {"key": "b"}])
    assert faults(outcomes) == ["record 2: It is not an object."]
    assert [item.key for item in items(outcomes)] == ["a", "b"]


@pytest.mark.requirement("UOMP-12.5-2", "UOMP-11.2-5", "UOMP-11.2-6", "UOMP-11.2-8")
def test_every_member_of_the_specification_is_taken(tmp_path: Path) -> None:
    record = {
        "key": "k",
        "value": {"a": 1},
        "tags": "notes",
        "sensitivity": "high",
        "source": "agent",
        "description": "d",
        "created_at": "2026-07-01T10:00:00Z",
        "updated_at": "2026-07-02T12:00:00+02:00",
    }
    assert items(read(tmp_path, record, OPTIONS)) == [
        MemoryItem(
            key="k",
            value={"a": 1},
            tags=("notes",),
            sensitivity="high",
            source="agent",
            description="d",
            created_at="2026-07-01T10:00:00Z",
            updated_at="2026-07-02T10:00:00Z",
        )
    ]


@pytest.mark.requirement("UOMP-12.5-3", "UOMP-12.6-2")
def test_without_a_value_all_other_members_are_the_value(tmp_path: Path) -> None:
    record = {"key": "k", "tags": ["t"], "sensitivity": "low", "title": "x", "a.b": [1]}
    assert items(read(tmp_path, record))[0].value == {"title": "x", "a.b": [1]}


@pytest.mark.requirement("UOMP-12.6-1")
def test_no_reserved_name_is_inside_the_value(tmp_path: Path) -> None:
    record = {
        "key": "k",
        "tags": ["t"],
        "sensitivity": "low",
        "source": "user",
        "description": "d",
        "created_at": "2026-07-01",
        "updated_at": None,
    }
    assert items(read(tmp_path, record))[0].value == {}


@pytest.mark.requirement("UOMP-12.5-3", "UOMP-12.6-2")
def test_members_beside_an_object_join_it(tmp_path: Path) -> None:
    assert items(read(tmp_path, {"key": "k", "value": {"a": 1}, "b": 2}))[0].value == {
        "a": 1,
        "b": 2,
    }


@pytest.mark.parametrize(
    "record",
    [
        {"key": "k", "value": {"a": 1}, "a": 2},
        {"key": "k", "value": 7, "a": 2},
        {"key": "k", "value": None, "a": 2},
    ],
)
def test_a_value_that_contradicts_its_neighbours_is_refused(
    tmp_path: Path, record: object
) -> None:
    assert len(faults(read(tmp_path, record))) == 1


@pytest.mark.requirement("UOMP-11.2-2")
@pytest.mark.parametrize(
    "value",
    [
        {},
        [],
        "",
        "text",
        0,
        -1.5,
        MAX_SAFE,
        -MAX_SAFE,
        True,
        False,
        None,
        [{"a": [None]}],
    ],
)
def test_any_json_value_is_kept(tmp_path: Path, value: object) -> None:
    found = items(read(tmp_path, {"key": "k", "value": value}))[0].value
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b'{"key":"b","x":1,"x":2}', "twice"),
        (b'{"key":"b","x":{"y":1,"y":2}}', "twice"),
        (b'{"key":"b","x":9007199254740992}', "2^53"),
        (b'{"key":"b","x":-9007199254740993}', "2^53"),
        (b'{"key":"b","x":1e300}', "2^53"),
        (b'{"key":"b","x":' + b"[" * MAX_DEPTH + b"]" * MAX_DEPTH + b"}", "deep"),
    ],
)
def test_what_could_not_be_packed_later_is_refused_by_record(
    tmp_path: Path, text: bytes, says: str
) -> None:
    outcomes = read_bytes(tmp_path, b'[{"key":"a"},' + text + b',{"key":"c"}]')
    assert len(faults(outcomes)) == 1
    assert faults(outcomes)[0].startswith("record 2: ")
    assert says in faults(outcomes)[0]
    assert [item.key for item in items(outcomes)] == ["a", "c"]


@pytest.mark.parametrize(
    "text",
    [
        b'{"key":"b","x":NaN}',
        b'{"key":"b","x":Infinity}',
        b'{"key":"b","x":1e400}',
        b'{"key":"b","x":' + b"9" * 5000 + b"}",
        b'{"key":"b","x":01}',
        b'{"key":"b",}',
        b"{'key':'b'}",
        b'{"key":"\xff"}',
        b'{"key":"\xed\xa0\x80"}',
        b'{"key":"a\tb"}',
        b'{"key":"b"} // note',
        b'{"key":"b"',
    ],
)
def test_what_is_no_json_ends_the_reading_where_it_is(
    tmp_path: Path, text: bytes
) -> None:
    outcomes = read_bytes(tmp_path, b'[{"key":"a"},' + text + b',{"key":"c"}]')
    assert [item.key for item in items(outcomes)][:1] == ["a"]
    assert "after record" in faults(outcomes)[-1]


def test_the_deepest_value_that_is_allowed_is_kept(tmp_path: Path) -> None:
    inner = b"[" * (MAX_DEPTH - 1) + b"]" * (MAX_DEPTH - 1)
    assert items(read_bytes(tmp_path, b'{"key":"k","value":' + inner + b"}"))


@pytest.mark.parametrize("after", [b"x", b"[]", b",", b"]"])
def test_nothing_may_follow_the_root(tmp_path: Path, after: bytes) -> None:
    assert faults(read_bytes(tmp_path, b'[{"key":"a"}] ' + after))
    assert faults(read_bytes(tmp_path, b'{"key":"a"} ' + after))


@pytest.mark.parametrize("text", ['"\\ud83d"', '"\\ude00 x"', '"\\ud83d\\\\ude00"'])
def test_half_a_surrogate_pair_is_refused(tmp_path: Path, text: str) -> None:
    data = f'[{{"key":"a","value":{text}}}]'
    assert "surrogate" in faults(read_bytes(tmp_path, data.encode()))[0]


def test_a_whole_pair_and_a_byte_order_mark_are_fine(tmp_path: Path) -> None:
    data = b'\xef\xbb\xbf[{"key":"a","value":"\\ud83d\\ude00 \\\\ud83d"}]'
    outcomes = read_bytes(tmp_path, data)
    assert faults(outcomes) == []
    assert items(outcomes)[0].value == "\U0001f600 \\ud83d"


@pytest.mark.requirement("UOMP-12.7-9")
def test_mapped_members_give_fields_and_places(tmp_path: Path) -> None:
    options = msgspec.structs.replace(
        LABELLED, map={"key": "symbol", "value.a.b": "n", "value": "data"}
    )
    record = {"symbol": "S", "id": 7, "n": 1, "data": {"c": 2}, "value": "v"}
    assert items(read(tmp_path, record, options))[0].value == {
        "id": 7,
        "a": {"b": 1},
        "c": 2,
        "value": "v",
    }


@pytest.mark.requirement("UOMP-12.7-9", "UOMP-12.6-1")
def test_a_mapping_overrides_a_reserved_member_and_says_so(tmp_path: Path) -> None:
    options = msgspec.structs.replace(LABELLED, map={"key": "symbol"})
    outcomes = read(tmp_path, {"key": "a", "symbol": "S"}, options)
    assert items(outcomes)[0].key == "S"
    assert items(outcomes)[0].value == {}
    assert [each.ref for each in outcomes if isinstance(each, Note)] == ["record 1"]


@pytest.mark.parametrize(
    "record",
    [
        {"k": "S", "n": 1, "a": 2},
        {"k": "S", "a": {"b": 2}, "n": 1},
        {"k": "S", "a": 1, "n": 1},
    ],
)
def test_two_members_for_one_place_are_refused(tmp_path: Path, record: object) -> None:
    options = msgspec.structs.replace(LABELLED, map={"key": "k", "value.a.b": "n"})
    assert "same place" in faults(read(tmp_path, record, options))[0]


def test_large_files_stream(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    records = [{"key": f"k{n}", "value": "text " * 20} for n in range(20_000)]
    path.write_text(json.dumps(records))
    done: list[int] = []
    outcomes = open_source(path, None).read(LABELLED, lambda read, _: done.append(read))
    assert isinstance(next(outcomes), ImportedItem)
    assert done[-1] < path.stat().st_size // 10
    assert sum(isinstance(each, ImportedItem) for each in outcomes) == 19_999
    assert done[-1] == path.stat().st_size


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-MAX_SAFE, MAX_SAFE)
    | st.floats(-1e15, 1e15)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.text(st.characters(codec="utf-8"), max_size=5), inner, max_size=4
        )
    ),
    max_leaves=20,
)


@given(value=VALUES)
def test_every_value_that_can_be_packed_survives(
    tmp_path_factory: pytest.TempPathFactory, value: object
) -> None:
    outcomes = read(tmp_path_factory.mktemp("json"), [{"key": "k", "value": value}])
    assert faults(outcomes) == []
    assert items(outcomes)[0].value == value


FIELDS = st.sampled_from(
    ["key", "id", "tags", "tag", "sensitivity", "source", "created", "value", "x"]
)


@settings(max_examples=200)
@given(
    records=st.lists(st.dictionaries(FIELDS, VALUES, max_size=6), max_size=4) | VALUES,
    cut=st.floats(0.5, 1),
)
def test_no_json_raises_anything(
    tmp_path_factory: pytest.TempPathFactory, records: object, cut: float
) -> None:
    data = json.dumps(records).encode()
    folder = tmp_path_factory.mktemp("json")
    assert read_bytes(folder, data[: int(cut * len(data))])
    assert read_bytes(folder, data)
