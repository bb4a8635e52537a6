"""What a file is taken for, and that everything else is refused."""

import hashlib
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from uomp.adapters.base import ImportOptions, Problem, no_progress
from uomp.adapters.detect import FORMATS, LOOKED_FOR, open_source
from uomp.errors import Code, LocalError

DATA = Path(__file__).parents[1] / "data"


def named(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def refused(path: Path, form: str | None = None) -> str:
    with pytest.raises(LocalError) as caught:
        open_source(path, form)
    assert caught.value.code is Code.IMPORT_REFUSED
    return str(caught.value)


@pytest.mark.requirement("UOMP-12.3-1", "UOMP-12.3-2")
@pytest.mark.parametrize(
    ("name", "form", "says"),
    [
        ("chatgpt-export", "chatgpt", "a folder, 2 files"),
        ("chatgpt-export/export.zip", "chatgpt", "a ZIP, 2 files"),
        ("chatgpt-export/conversations-001.json", "chatgpt", "a JSON file, 1 file"),
        ("uomp-import/items.csv", "uomp-csv", "CSV"),
        ("uomp-import/items.json", "uomp-json", "JSON"),
    ],
)
def test_the_samples_are_recognised(name: str, form: str, says: str) -> None:
    source = open_source(DATA / name, None)
    assert source.format == form
    assert says in source.describe()


@pytest.mark.parametrize(
    ("name", "text", "form"),
    [
        ("x.json", '{"title":"t","mapping":{}}', "chatgpt"),
        ("conversations.json", "[]", "chatgpt"),
        ("conversations-007.json", '[{"conversation_id":"x"}]', "chatgpt"),
        ("x.json", "[]", "uomp-json"),
        ("x.json", '\ufeff \n[{"key":"a"}]', "uomp-json"),
        ("x.json", '[1, {"item_id":"a"}]', "uomp-json"),
        ("x.json", '{"value":{"x":{"mapping":1}},"record_id":"a"}', "uomp-json"),
        ("x.json", '[{"\u952e":"a"}]', "uomp-json"),
        ("x.json", '[{"key":"a"},{"bro', "uomp-json"),
        ("x.json", '[{"key":"a","tags":[', "uomp-json"),
        ("x.csv", "anything\n1", "uomp-csv"),
        ("x.tsv", "key\ttags\n", "uomp-csv"),
        ("x.txt", "tags;key\na;b\n", "uomp-csv"),
        ("x.csv", "[key],tags", "uomp-csv"),
    ],
)
def test_files_are_told_apart_by_what_they_hold(
    tmp_path: Path, name: str, text: str, form: str
) -> None:
    assert open_source(named(tmp_path, name, text), None).format == form


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("empty", ""),
        ("notes.md", "# Notes\n"),
        ("x.json", '"text"'),
        ("x.json", '[{"uuid":"1","chat_messages":[]}]'),
        ("conversations.json", '[{"uuid":"1","chat_messages":[]}]'),
        ("message_feedback.json", '[{"conversation_id":"1","rating":"up"}]'),
        ("user.json", '{"id":"u","email":"e"}'),
        ("x.jsonl", '{"id":"a"}\n{"id":"b"}\n'),
        ("x.bin", b"\x00\x01\xff\xfe"),
        ("x.png", b"\x89PNG\r\n\x1a\n"),
        ("x.pdf", "%PDF-1.7 key"),
    ],
)
def test_anything_else_is_refused_with_what_was_looked_for(
    tmp_path: Path, name: str, text: str | bytes
) -> None:
    assert refused(named(tmp_path, name, text)) == LOOKED_FOR


@pytest.mark.requirement("UOMP-12.7-9")
def test_a_mapped_key_needs_no_member_of_that_name(tmp_path: Path) -> None:
    path = named(tmp_path, "x.json", '[{"symbol":"ABC"}]')
    assert refused(path) == LOOKED_FOR
    assert open_source(path, None, mapped=True).format == "uomp-json"


@pytest.mark.parametrize("form", FORMATS)
def test_a_named_format_is_taken_as_said(tmp_path: Path, form: str) -> None:
    assert open_source(named(tmp_path, "x.dat", "?"), form).format == form


def test_an_unknown_format_is_refused_with_those_known() -> None:
    assert ", ".join(FORMATS) in refused(DATA / "uomp-import" / "items.csv", "excel")


def test_a_folder_without_an_export_is_refused(tmp_path: Path) -> None:
    assert refused(tmp_path) == LOOKED_FOR
    assert refused(DATA / "chatgpt-export", "uomp-json") == LOOKED_FOR


def test_an_export_one_folder_down_is_found(tmp_path: Path) -> None:
    (tmp_path / "export").mkdir()
    named(tmp_path / "export", "conversations-0.json", "[]")
    assert open_source(tmp_path, None).format == "chatgpt"


def test_what_is_no_regular_file_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert "regular file" in refused(tmp_path / "pipe")
    assert "regular file" in refused(tmp_path / "missing.csv")


def test_the_digest_of_a_file_is_its_sha256() -> None:
    path = DATA / "chatgpt-export" / "export.zip"
    assert (
        open_source(path, None).digest == hashlib.sha256(path.read_bytes()).hexdigest()
    )


def test_the_digest_of_a_folder_shows_any_change(tmp_path: Path) -> None:
    first = named(tmp_path, "conversations-0.json", "[]")
    named(tmp_path, "conversations-1.json", "[] ")
    before = open_source(tmp_path, None).digest
    assert before == open_source(tmp_path, None).digest
    first.write_text("[] ")
    assert before != open_source(tmp_path, None).digest


def test_a_file_that_vanishes_is_a_refusal_or_a_problem(tmp_path: Path) -> None:
    options = ImportOptions(now=datetime(2026, 12, 1, tzinfo=UTC))
    path = named(tmp_path, "x.csv", "key\na")
    source = open_source(path, None)
    path.unlink()
    with pytest.raises(LocalError) as caught:
        _ = source.digest
    assert caught.value.code is Code.IMPORT_REFUSED
    outcomes = list(source.read(options, no_progress))
    assert [type(each) for each in outcomes] == [Problem]
