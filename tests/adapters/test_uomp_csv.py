"""UOMP's CSV form (sections 12.3, 12.4, 12.7, 12.10)."""

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.csv_imports import (
    LABELLED,
    OPTIONS,
    TYPED,
    faults,
    items,
    notes,
    read,
    value,
)
from uomp.adapters.base import (
    ImportedItem,
    no_progress,
)
from uomp.adapters.detect import open_source
from uomp.adapters.files import CHUNK_BYTES
from uomp.adapters.report import check
from uomp.adapters.uomp_csv import MAX_LINE_CHARS
from uomp.adapters.uomp_table import MAX_COLUMNS
from uomp.errors import Code, LocalError

SAMPLE = Path(__file__).parents[1] / "data" / "uomp-import" / "items.csv"


@pytest.mark.requirement("UOMP-12.1-1", "UOMP-12.2-1", "UOMP-12.8-1", "UOMP-11.2-6")
def test_the_sample_imports_as_its_source_says() -> None:
    outcomes = list(open_source(SAMPLE, None).read(OPTIONS, no_progress))
    assert [type(each) for each in outcomes] == [ImportedItem] * 3
    first, second, third = items(outcomes)
    assert first.value == {"title": "Shopping list", "content": "Buy milk, eggs"}
    assert (first.key, first.tags, first.sensitivity) == ("note-1", ("notes",), "low")
    assert (second.tags, second.sensitivity) == (("contacts", "pii"), "high")
    assert third.value == {"title": "formula", "content": "x"}
    assert first.source == "user"
    assert first.created_at == first.updated_at == "2026-12-01T09:30:00Z"


def test_a_key_that_is_a_spreadsheet_formula_is_data_and_nothing_else() -> None:
    outcomes = list(open_source(SAMPLE, None).read(OPTIONS, no_progress))
    assert items(outcomes)[2].key == "=cmd|' /C calc'!A0"


@pytest.mark.requirement("UOMP-12.3-1", "UOMP-12.10-1", "UOMP-12.4-3")
def test_the_example_of_the_specification_imports(tmp_path: Path) -> None:
    outcomes = read(
        tmp_path,
        "key,tags,sensitivity,value.title,value.content\n"
        "note-1,notes,low,Shopping list,Buy milk\n"
        "contact-1,contacts,medium,Alice,alice@example.com\n",
        OPTIONS,
    )
    first, second = items(outcomes)
    assert first.value == {"title": "Shopping list", "content": "Buy milk"}
    assert second.value == {"title": "Alice", "content": "alice@example.com"}
    assert second.sensitivity == "medium"


@pytest.mark.requirement("UOMP-12.4-1", "UOMP-12.9-6")
@pytest.mark.parametrize(
    "data",
    [
        "key,text\na,caf\u00e9\n".encode("latin-1"),
        "key,text\na,\u4e0a\u6d77\n".encode("gbk"),
        "key,text\na,b\n".encode("utf-16"),
        "key,text\na,b\n".encode("utf-16-le"),
        b"key,text\na,\xed\xa0\x80\n",
        b"key,text\na,\xc0\x80\n",
        b"key,text\na,cut\xe2\x82",
    ],
)
def test_a_file_that_is_not_utf8_is_refused(tmp_path: Path, data: bytes) -> None:
    outcomes = read(tmp_path, data)
    assert "UTF-8" in faults(outcomes)[-1]
    assert check(open_source(tmp_path / "x.csv", None), LABELLED).verdict == "failed"


@pytest.mark.requirement("UOMP-12.4-1")
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_utf8_is_read_with_and_without_a_byte_order_mark(
    tmp_path: Path, mark: bytes
) -> None:
    outcomes = read(tmp_path, mark + "key,text\na,caf\u00e9 \U0001f600\n".encode())
    assert items(outcomes)[0].value == {"text": "caf\u00e9 \U0001f600"}


@pytest.mark.requirement("UOMP-12.4-2", "UOMP-12.9-1")
@pytest.mark.parametrize("header", ["title,text", "Key,text", "key;text", ""])
def test_a_header_without_a_key_column_is_refused(tmp_path: Path, header: str) -> None:
    outcomes = read(tmp_path, f"{header}\na,b\n")
    assert "no key column" in faults(outcomes)[0]
    assert items(outcomes) == []


@pytest.mark.requirement("UOMP-12.4-4")
@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_another_delimiter_can_be_named(tmp_path: Path, delimiter: str) -> None:
    data = delimiter.join(["key", "text"]) + "\n" + delimiter.join(["a", "b, c"]) + "\n"
    options = msgspec.structs.replace(LABELLED, delimiter=delimiter)
    assert items(read(tmp_path, data, options))[0].value == {"text": "b, c"}


@pytest.mark.requirement("UOMP-12.4-4")
@pytest.mark.parametrize("delimiter", ["", "ab", '"', "\n", "x", "7", " "])
def test_a_delimiter_that_cannot_part_cells_is_refused(
    tmp_path: Path, delimiter: str
) -> None:
    options = msgspec.structs.replace(LABELLED, delimiter=delimiter or "::")
    with pytest.raises(LocalError) as caught:
        read(tmp_path, "key\na\n", options)
    assert caught.value.code is Code.IMPORT_REFUSED


def test_a_tab_file_needs_no_delimiter_and_a_tab_can_be_spelt(tmp_path: Path) -> None:
    assert items(read(tmp_path, "key\ttext\na\tb\n", name="x.tsv"))
    options = msgspec.structs.replace(LABELLED, delimiter="\\t")
    assert items(read(tmp_path, "key\ttext\na\tb\n", options))


@pytest.mark.requirement("UOMP-12.4-5")
@pytest.mark.parametrize(
    ("cell", "text"),
    [
        ('"a, b"', "a, b"),
        ('"say ""hi"""', 'say "hi"'),
        ('"two\nlines"', "two\nlines"),
        ('"two\r\nlines"', "two\r\nlines"),
        ('""', ""),
        ("\u2028", "\u2028"),
    ],
)
def test_quoted_cells_hold_delimiters_quotes_and_line_ends(
    tmp_path: Path, cell: str, text: str
) -> None:
    assert value(tmp_path, "text", cell) == {"text": text}


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_every_line_end_is_understood(tmp_path: Path, end: str) -> None:
    outcomes = read(tmp_path, f"key,x{end}a,1{end}b,2{end}")
    assert [item.key for item in items(outcomes)] == ["a", "b"]
    assert faults(outcomes) == []


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ('b,"open', "row 3|never closed"),
        ('b,"x"y', "row 3|closing quote"),
        ("b,x\0y", "NUL"),
        ("b,x,y", "row 3: A cell stands under no column name."),
    ],
)
def test_broken_rows_are_refused_by_number(tmp_path: Path, row: str, says: str) -> None:
    outcomes = read(tmp_path, f"key,x\na,1\n{row}\n")
    text = " ".join(faults(outcomes))
    for word in says.split("|"):
        assert word.lower() in text.lower()


@pytest.mark.requirement("UOMP-12.4-6")
def test_empty_lines_are_ignored_and_counted_like_a_spreadsheet_does(
    tmp_path: Path,
) -> None:
    outcomes = read(tmp_path, "\n\nkey,x\n\na,1\n,\n  \nb,2\n\n,3\n\n")
    assert [each.ref for each in outcomes if isinstance(each, ImportedItem)] == [
        "row 5",
        "row 8",
    ]
    assert faults(outcomes) == ["row 10: The key is missing or empty."]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_line_end_may_fall_between_two_pieces_of_the_file(
    tmp_path: Path, end: str
) -> None:
    for shift in range(4):
        first = f"key,x{end}a,".ljust(CHUNK_BYTES - 2 + shift, "x")
        outcomes = read(tmp_path, f"{first}{end}b,\u00e91{end}")
        assert [item.key for item in items(outcomes)] == ["a", "b"]
        assert [each.ref for each in outcomes if isinstance(each, ImportedItem)] == [
            "row 2",
            "row 3",
        ]


def test_a_short_row_is_filled_up_and_reported(tmp_path: Path) -> None:
    outcomes = read(tmp_path, "key,x,y\na,1\n")
    assert items(outcomes)[0].value == {"x": "1", "y": ""}
    assert "row 2: The row is short" in notes(outcomes)[0]


@pytest.mark.parametrize(
    ("header", "row", "found"),
    [
        ("value", "x", "x"),
        ("value", "", ""),
        ("value.a.b,value.a.c,d", "1,2,3", {"a": {"b": "1", "c": "2"}, "d": "3"}),
        ("title", "x", {"title": "x"}),
        ("a.b", "x", {"a.b": "x"}),
        ("value,value.a", "x,", "x"),
        ("value,value.a", ",y", {"a": "y"}),
        ("x,", "1,", {"x": "1"}),
        ("source", "user", {}),
    ],
)
@pytest.mark.requirement("UOMP-12.10-1", "UOMP-12.6-2")
def test_columns_build_the_value(
    tmp_path: Path, header: str, row: str, found: object
) -> None:
    assert value(tmp_path, header, row) == found


def test_with_types_an_object_takes_in_the_other_columns(tmp_path: Path) -> None:
    found = value(tmp_path, "value,b", '"{""a"":1}",2', TYPED)
    assert found == {"a": 1, "b": 2}


@pytest.mark.parametrize(
    ("header", "row", "says"),
    [
        ("value,x", "a,b", "no object"),
        ("x,x", "a,b", "twice"),
        ("x,value.x", "a,b", "same place"),
        ("value.x,value.x.y", "a,b", "same place"),
        ("value.,x", "a,b", "no place"),
        ("value..y,x", "a,b", "no place"),
        (",x", "a,b", "no column name"),
        (",".join(f"c{n}" for n in range(MAX_COLUMNS)), "a", "columns"),
    ],
)
def test_columns_that_contradict_each_other_are_refused(
    tmp_path: Path, header: str, row: str, says: str
) -> None:
    outcomes = read(tmp_path, f"key,{header}\nk,{row}\n")
    assert says in " ".join(faults(outcomes))
    assert items(outcomes) == []


@pytest.mark.requirement("UOMP-12.7-9")
def test_a_mapped_column_gives_the_field(tmp_path: Path) -> None:
    options = msgspec.structs.replace(
        LABELLED, map={"key": "symbol", "value.place.city": "town", "tags": "kind"}
    )
    outcomes = read(tmp_path, "symbol,id,town,kind\nABC,7,Porto,stock\n", options)
    assert items(outcomes)[0].key == "ABC"
    assert items(outcomes)[0].tags == ("stock",)
    assert items(outcomes)[0].value == {"id": "7", "place": {"city": "Porto"}}


@pytest.mark.requirement("UOMP-12.7-9", "UOMP-12.6-1")
def test_a_mapping_overrides_the_column_of_that_name_and_says_so(
    tmp_path: Path,
) -> None:
    options = msgspec.structs.replace(LABELLED, map={"key": "symbol"})
    outcomes = read(tmp_path, "key,symbol,x\na,ABC,1\n", options)
    assert items(outcomes)[0].key == "ABC"
    assert items(outcomes)[0].value == {"x": "1"}
    assert notes(outcomes) == [
        'row 1: The column "key" is left out: --map overrides it.'
    ]


@pytest.mark.requirement("UOMP-12.7-9")
def test_a_mapping_to_a_column_that_is_not_there_is_refused(tmp_path: Path) -> None:
    options = msgspec.structs.replace(LABELLED, map={"key": "symbol"})
    outcomes = read(tmp_path, "key,x\na,1\n", options)
    assert "not there" in faults(outcomes)[0]


@pytest.mark.requirement("UOMP-12.7-9")
@pytest.mark.parametrize("target", ["keys", "value.", "", "id"])
def test_a_mapping_to_no_field_is_refused(tmp_path: Path, target: str) -> None:
    options = msgspec.structs.replace(LABELLED, map={target: "x"})
    with pytest.raises(LocalError) as caught:
        read(tmp_path, "key,x\na,1\n", options)
    assert caught.value.code is Code.IMPORT_REFUSED


@pytest.mark.requirement("UOMP-12.7-8")
def test_chinese_column_names_import(tmp_path: Path) -> None:
    outcomes = read(
        tmp_path,
        "\u952e,\u6807\u7b7e,\u654f\u611f\u5ea6,\u6765\u6e90,\u63cf\u8ff0,"
        "\u521b\u5efa\u65f6\u95f4,\u66f4\u65b0\u65f6\u95f4,\u57ce\u5e02\n"
        "k,t,high,agent,d,2026-07-01T10:00:00Z,2026-07-02T10:00:00Z,\u4e0a\u6d77\n",
        OPTIONS,
    )
    item = items(outcomes)[0]
    assert (item.key, item.tags, item.sensitivity) == ("k", ("t",), "high")
    assert (item.source, item.description) == ("agent", "d")
    assert item.created_at == "2026-07-01T10:00:00Z"
    assert item.updated_at == "2026-07-02T10:00:00Z"
    assert item.value == {"\u57ce\u5e02": "\u4e0a\u6d77"}


@pytest.mark.parametrize("line", ["x" * 65_536, ("x" * 1023 + "\n") * 64])
def test_a_cell_that_never_ends_is_stopped(tmp_path: Path, line: str) -> None:
    path = tmp_path / "x.csv"
    path.write_text('key,x\na,"' + line * (2 * MAX_LINE_CHARS // 65_536))
    done: list[int] = []
    source = open_source(path, None)
    outcomes = list(source.read(LABELLED, lambda read, _: done.append(read)))
    assert "too long" in faults(outcomes)[-1]
    assert done[-1] < 1.1 * MAX_LINE_CHARS


def test_a_file_without_a_row_is_a_problem(tmp_path: Path) -> None:
    assert len(faults(read(tmp_path, "key,x\n"))) == 1
    assert len(faults(read(tmp_path, ""))) == 1


def test_large_files_stream(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    rows = "".join(f"k{n},{'text ' * 20}\n" for n in range(20_000))
    path.write_text("key,x\n" + rows)
    done: list[int] = []
    outcomes = open_source(path, None).read(LABELLED, lambda read, _: done.append(read))
    assert isinstance(next(outcomes), ImportedItem)
    assert done[-1] < path.stat().st_size // 10
    assert sum(isinstance(each, ImportedItem) for each in outcomes) == 19_999
    assert done[-1] == path.stat().st_size


@given(data=st.binary(max_size=200) | st.text(alphabet='key,\n\r"a;[]{}', max_size=60))
def test_no_bytes_raise_anything(
    tmp_path_factory: pytest.TempPathFactory, data: bytes | str
) -> None:
    folder = tmp_path_factory.mktemp("csv")
    header = b"key,x\n" if isinstance(data, bytes) else "key,x\n"
    for form in (data, header + data):  # type: ignore[operator]
        for options in (LABELLED, TYPED):
            outcomes = read(folder, form, options)
            assert outcomes


@given(
    cells=st.lists(
        st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20),
        min_size=1,
        max_size=4,
    )
)
def test_every_text_survives_a_quoted_cell(
    tmp_path_factory: pytest.TempPathFactory, cells: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("csv")
    header = ",".join(f"c{n}" for n in range(len(cells)))
    row = ",".join('"' + cell.replace('"', '""') + '"' for cell in cells)
    found = items(read(folder, f"key,{header}\nk,{row}\n"))[0].value
    assert found == {f"c{n}": cell for n, cell in enumerate(cells)}
