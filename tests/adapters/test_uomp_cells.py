"""CSV cells: money, types and lists of tags (UOMP-12.4, A-58)."""

from pathlib import Path

import pytest

from support.csv_imports import TYPED, faults, items, notes, read, value
from uomp.adapters.uomp_cells import CLEANED, STORED_AS_IS


@pytest.mark.requirement("UOMP-12.4-7")
@pytest.mark.parametrize(
    "cell",
    ["$1,000", "1,000", "\u20ac 5", "5\u20ac", "-$3.50", "1'000", "\u20ac1.000,50"],
)
def test_money_is_stored_as_it_stands_with_a_warning(tmp_path: Path, cell: str) -> None:
    outcomes = read(tmp_path, f'key,x\na,"{cell}"\n')
    assert items(outcomes)[0].value == {"x": cell}
    assert notes(outcomes) == [f'row 2: The cell under "x" {STORED_AS_IS}.']


@pytest.mark.parametrize(
    "cell", ["1000", "1.000", "a, b", "1,2", "12,34,567", "$", "a$1"]
)
def test_other_text_gives_no_such_warning(tmp_path: Path, cell: str) -> None:
    assert notes(read(tmp_path, f'key,x\na,"{cell}"\n')) == []


@pytest.mark.requirement("UOMP-12.4-8")
@pytest.mark.parametrize(
    ("cell", "number"),
    [
        ("$1,000", 1000),
        ("1,234,567", 1234567),
        ("-\u20ac2,500.50", -2500.5),
        ("$-7", -7),
        ("9.25 \u20ac", 9.25),
    ],
)
def test_money_is_cleaned_and_reported_with_types(
    tmp_path: Path, cell: str, number: float
) -> None:
    outcomes = read(tmp_path, f'key,x\na,"{cell}"\n', TYPED)
    assert items(outcomes)[0].value == {"x": number}
    assert notes(outcomes) == [f'row 2: The cell under "x" {CLEANED}.']


@pytest.mark.parametrize("cell", ["\u20ac1.000", "1'000", "\u20ac1.000,50", "$1,00"])
def test_money_that_can_be_read_two_ways_is_never_cleaned(
    tmp_path: Path, cell: str
) -> None:
    outcomes = read(tmp_path, f'key,x\na,"{cell}"\n', TYPED)
    assert items(outcomes)[0].value == {"x": cell}
    assert notes(outcomes) == [f'row 2: The cell under "x" {STORED_AS_IS}.']


@pytest.mark.parametrize("cell", ["1", "1.50", "true", "null", "007", "", " x "])
def test_cells_stay_the_text_they_are_without_types(tmp_path: Path, cell: str) -> None:
    assert value(tmp_path, "x", cell) == {"x": cell}


@pytest.mark.requirement("UOMP-11.2-2")
@pytest.mark.parametrize(
    ("cell", "found"),
    [
        ("1", 1),
        ("-2.5", -2.5),
        ("1e3", 1000.0),
        ("true", True),
        ("false", False),
        ("null", None),
        ("007", "007"),
        ("+1", "+1"),
        ("True", "True"),
        ("NaN", "NaN"),
        ("9007199254740991", 9007199254740991),
        ("9007199254740993", "9007199254740993"),
        ("1e400", "1e400"),
        ("0.1234567890123456789", "0.1234567890123456789"),
        ('"[1, ""a""]"', [1, "a"]),
        ('"{""a"": {""b"": null}}"', {"a": {"b": None}}),
        ("", ""),
    ],
)
def test_with_types_cells_become_json_where_nothing_is_lost(
    tmp_path: Path, cell: str, found: object
) -> None:
    read_back = value(tmp_path, "x", cell, TYPED)["x"]
    assert read_back == found
    assert type(read_back) is type(found)


@pytest.mark.parametrize(
    "cell",
    [
        "[1",
        "[1] 2",
        '"{""a"":1,""a"":2}"',
        "[NaN]",
        "[9007199254740993]",
        '"[""\\ud800""]"',
    ],
)
def test_with_types_a_cell_that_only_starts_like_json_is_refused(
    tmp_path: Path, cell: str
) -> None:
    outcomes = read(tmp_path, f"key,x\na,{cell}\n", TYPED)
    assert len(faults(outcomes)) == 1
    assert faults(outcomes)[0].startswith('row 2: The cell under "x"')


@pytest.mark.parametrize(
    ("cell", "tags"),
    [
        ("notes", ("notes",)),
        ("a;b", ("a", "b")),
        ('"a, b"', ("a", "b")),
        ("a;;a; ", ("a",)),
        ('"[""a;b"", ""c,d""]"', ("a;b", "c,d")),
        ("", ("t",)),
        ("[]", ("t",)),
    ],
)
@pytest.mark.requirement("UOMP-11.2-3")
def test_several_tags_fit_into_one_cell(
    tmp_path: Path, cell: str, tags: tuple[str, ...]
) -> None:
    assert items(read(tmp_path, f"key,tags\na,{cell}\n"))[0].tags == tags


@pytest.mark.requirement("UOMP-12.9-4")
@pytest.mark.parametrize("cell", ["[1]", "[a", '"[""""]"', '"{""a"":1}"'])
def test_a_tags_cell_that_is_no_list_of_texts_is_refused(
    tmp_path: Path, cell: str
) -> None:
    outcomes = read(tmp_path, f"key,tags\na,{cell}\n")
    if cell.startswith('"{'):  # no array, so it is text, and a strange tag
        assert items(outcomes)[0].tags == ('{"a":1}',)
    else:
        assert len(faults(outcomes)) == 1
